"""What the study runs: treebanks, rows (a system with its settings and seed) and what is compared
with what.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arcspan.errors import ConfigError
from arcspan.training.config import Config, config_from_dict, read_config, recipe_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SYSTEM_TITLES = {"sep": "SEP", "mtl": "MTL", "joint1o": "Joint1o", "joint2o": "Joint2o"}
# The paper's systems learn by the margin, no lemmas and features, and search in two stages; a row's
# own settings come after these.
AS_IN_PAPER = ("model.loss=margin", "model.rows=false", "model.search=two-stage")
# What decides the method: commands name these settings, even where they are a recipe's own or the
# default.
METHOD = (
    "data.incompatible",
    "data.missing",
    "data.binarization",
    "model.system",
    "model.loss",
    "model.cost",
    "model.labeller",
    "model.intermediate",
    "model.separate_hooked",
    "model.tags",
    "model.rows",
    "model.gold_tags",
    "training.precision",
    "training.batch_pieces",
    "training.batch_words",
    "seed",
)
# What changes nothing in a model.
APART = (
    "output",
    "language",
    "licence",
    "data.root",
    "training.checkpoint_minutes",
    "training.tensorboard",
)
KINDS = ("train", "apart", "labelled", "convert", "converter")


@dataclass(frozen=True)
class Treebank:
    """A treebank, how its models are trained, and the column of the paper that stands beside it
    ("": none).

    resource    "rich" or "low": how much there is to train on, as in the paper's Table 1; "": a
                second encoder for a language, which no average counts
    converter   what made its dependencies from constituents: a head table of arcspan, or a command
                (`conversion`)
    """

    name: str
    title: str
    recipe: str
    settings: tuple[str, ...]
    paper: str
    minutes: float
    resource: str = ""
    converter: str = ""


@dataclass(frozen=True)
class Row:
    """One line of a table for one seed: a model that is trained, or trees made from those of
    another row.
    """

    treebank: Treebank
    name: str
    title: str
    seed: int
    system: str
    settings: tuple[str, ...] = ()
    kind: str = "train"
    source: Row | None = None

    @property
    def id(self) -> str:
        """Also the path of its files, under the folders of runs and of results."""
        return f"{self.treebank.name}/{self.name}-{self.seed}"

    @property
    def trained(self) -> Row:
        """The row whose model this one uses."""
        return self.source or self

    @property
    def models(self) -> int:
        """How many models are trained for it."""
        return 0 if self.kind != "train" else 2 if self.system == "sep" else 1

    def overrides(self) -> list[str]:
        """What is set on top of the recipe, as `arcspan train --set` takes it."""
        trained = self.trained
        return [
            *trained.treebank.settings,
            *trained.settings,
            f"model.system={trained.system}",
            f"seed={trained.seed}",
        ]


@dataclass(frozen=True)
class Plan:
    """The plan file, read and checked."""

    path: Path
    title: str
    note: str
    reading: str
    changes: str
    results: Path
    page: Path
    samples: int
    treebanks: dict[str, Treebank]
    rows: tuple[Row, ...]
    comparisons: tuple[tuple[str, str], ...]
    figure: tuple[str, ...]
    speed: dict[str, Any]
    same: bool  # whether the treebanks are the paper's own, so that levels can be compared
    widths: (
        tuple[int, ...] | None
    )  # upper ends of Figure 4's bins, by the paper's width; None: in words

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """Read a plan; paths in it are relative to its folder."""
        path = Path(path).absolute()
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        treebanks = {
            name: Treebank(
                name,
                fields["title"],
                fields["recipe"],
                tuple(fields.get("settings", ())),
                fields.get("paper", ""),
                fields["minutes"],
                fields.get("resource", ""),
                os.environ.get(f"ARCSPAN_CONVERTER_{name.upper()}", fields.get("converter", "")),
            )
            for name, fields in data["treebanks"].items()
        }
        rows = list(_rows(data, treebanks))
        rows += [row for entry in data.get("derived", ()) for row in _derived(entry, rows)]
        names = {row.id for row in rows}
        if len(names) < len(rows):
            raise ConfigError(f"{path}: two rows with one name: give a variant a name of its own")
        return cls(
            path=path,
            title=data["title"],
            note=data.get("note", "").strip(),
            reading=data.get("reading", "").strip(),
            changes=data.get("changes", "").strip(),
            results=path.parent / data["results"],
            page=path.parent / data["page"],
            samples=data["samples"],
            treebanks=treebanks,
            rows=tuple(rows),
            comparisons=tuple((a, b) for a, b in data["comparisons"]["pairs"]),
            figure=tuple(data["figure"]["rows"]),
            speed=data["speed"],
            same=data.get("same", False),
            widths=tuple(data["figure"]["widths"]) if "widths" in data["figure"] else None,
        )

    def recipe(self, row: Row) -> str:
        """The name of an included recipe, or the path of a file beside the plan."""
        recipe_file = self.path.parent / row.treebank.recipe
        return str(recipe_file) if recipe_file.is_file() else row.treebank.recipe

    def config(self, row: Row, output: Path) -> Config:
        """The configuration of a row's model; the treebank's files must be there."""
        settings = [*AS_IN_PAPER, *row.overrides(), f"output={json.dumps(str(output))}"]
        return read_config(self.recipe(row), settings)

    def settings(self, row: Row) -> dict[str, Any]:
        """What a row means: its kind, and every setting of its model, as resolved from recipe, plan
        and defaults.
        """
        settings = resolved(self.recipe(row), (*AS_IN_PAPER, *row.overrides()))
        settings = {name: value for name, value in settings.items() if name not in APART}
        return {
            "kind": row.kind,
            **settings,
            **({"converter": row.treebank.converter} if row.kind == "converter" else {}),
        }

    def command(self, row: Row) -> str:
        """The command that trains the row's model by itself, with every setting that decides the
        method.
        """
        set_texts = dict(
            assignment.split("=", 1) for assignment in (*AS_IN_PAPER, *row.overrides())
        )
        settings = self.settings(row)
        set_texts |= {
            name: _shown(settings[name])
            for name in METHOD
            if name in settings and name not in set_texts
        }
        return " ".join(
            [
                "arcspan train",
                row.treebank.recipe,
                *(f"--set {name}={text}" for name, text in set_texts.items()),
            ]
        )


def is_same(stored: Any, now: Any) -> bool:
    """Whether a result was made with the present settings; settings that were not there then do not
    count.

    >>> is_same({"seed": 1, "gone": 2}, {"seed": 1, "new": 3}), is_same({"seed": 1}, {"seed": 2})
    (True, False)
    >>> is_same({"train": [{"every": 1}]}, {"train": [{"every": 1, "new": 0}]}), is_same(None, {})
    (True, False)
    """
    if isinstance(stored, dict) and isinstance(now, dict):
        return all(is_same(value, now[name]) for name, value in stored.items() if name in now)
    if isinstance(stored, list) and isinstance(now, list):
        return len(stored) == len(now) and all(map(is_same, stored, now))
    return bool(stored == now)


@functools.cache
def resolved(recipe: str, overrides: tuple[str, ...]) -> dict[str, Any]:
    """Every setting of a recipe with overrides, by its name; the files that it names need not be
    there.
    """
    data = copy.deepcopy(_recipe(recipe))
    for assignment in ["output=unused", *overrides]:
        name, _, text = assignment.partition("=")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except ValueError:
            value = text
        *sections, last = name.split(".")
        table = data
        for section in sections:
            table = table.setdefault(section, {})
        table[last] = value
    config = json.loads(json.dumps(config_from_dict(data, recipe).to_json()))
    config.pop("segmenter")
    return {
        name if not isinstance(content, dict) or name == "styles" else f"{name}.{key}": value
        for name, content in config.items()
        for key, value in (
            content.items() if isinstance(content, dict) and name != "styles" else [("", content)]
        )
    }


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@functools.lru_cache
def _recipe(name: str) -> dict[str, Any]:
    path = Path(name)
    text = path.read_text(encoding="utf-8") if path.is_file() else recipe_text(name)
    data: dict[str, Any] = tomllib.loads(text)
    data.pop("output", None)
    return data


def _rows(data: dict[str, Any], treebanks: dict[str, Treebank]) -> Iterator[Row]:
    for entry in data["rows"]:
        for treebank in entry["treebanks"]:
            for seed in entry["seeds"]:
                for system in entry["systems"]:
                    yield Row(
                        treebanks[treebank],
                        entry.get("name", system),
                        entry.get("title", SYSTEM_TITLES[system]),
                        seed,
                        system,
                        tuple(entry.get("settings", ())),
                    )


def _derived(entry: dict[str, Any], rows: list[Row]) -> Iterator[Row]:
    if entry["kind"] not in KINDS[1:]:
        raise ConfigError(
            f"derived row {entry['name']}: kind {entry['kind']!r}: choose {', '.join(KINDS[1:])}"
        )
    for source in rows:
        if source.treebank.name not in entry.get("treebanks", [source.treebank.name]):
            continue
        if source.name == entry["from"] and (
            entry["kind"] != "converter" or source.treebank.converter
        ):
            yield Row(
                source.treebank,
                entry["name"],
                entry["title"],
                source.seed,
                source.system,
                kind=entry["kind"],
                source=source,
            )
