"""What a bundle's configuration must be, checked as a whole before anything of it is used.

Configurations come from people: they are cut, edited and put together from several. Everything that a parser reads is
described here once, and what does not fit is named by its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arcspan.prediction.outputs import LAYERS, NAMED_OUTPUTS, OUTPUTS

Check = Callable[[Any, str], None]
MOST = 1 << 31  # no number, and no list, of a configuration is larger


class SchemaError(ValueError):
    """A value that does not fit, and where it stands."""


def check(config: Mapping[str, Any]) -> None:
    """Raise SchemaError for the first thing that does not fit."""
    _table(config, "", _FIELDS, _OPTIONAL, others=True)
    names = config["inventories"]
    for output in NAMED_OUTPUTS:
        known = names.get(output.names, [])
        if len(set(map(str, known))) < len(known):
            _refuse(f"inventories.{output.names}", known, "a list without repetitions")
    if names["labels"] and names["labels"][0] != []:
        _refuse("inventories.labels[0]", names["labels"][0], "[]: no constituent")
    parts = [component["part"] for component in config["components"]]
    if parts not in (["both"], ["constituency"], ["dependency"], list(LAYERS)):
        _refuse("components", parts, "one model, or the two of a SEP parser, constituents first")
    for place, component in enumerate(config["components"]):
        needed = {"constituency": {"span", "label"}, "dependency": {"arc", "relation"}}
        needed["both"] = needed["constituency"] | needed["dependency"]
        if not {"hidden", *needed[component["part"]]} <= set(component["outputs"]):
            _refuse(
                f"components[{place}].outputs", component["outputs"], f"all that {component['part']} needs"
            )
        for output in NAMED_OUTPUTS:
            if output.name in component["outputs"] and not names.get(output.names):
                _refuse(
                    f"inventories.{output.names}", [], f"not empty: the model has the output {output.name}"
                )
    for name, style in config.get("styles", {}).items():
        if not all(number < len(names.get("styles", [])) for number in style):
            _refuse(f"styles.{name}", style, "numbers of inventories.styles")
    for name, styles in names.get("unused", {}).items():
        own = {output.name: len(names.get(output.names, [])) for output in NAMED_OUTPUTS}.get(name, 0)
        if len(styles) != len(names.get("styles", [])) or any(k >= own for one in styles for k in one):
            _refuse(f"inventories.unused.{name}", "...", "a list for each style, of numbers of names")


def _refuse(where: str, value: Any, wanted: str) -> None:
    shown = repr(value)
    raise SchemaError(
        f"{where} is {shown if len(shown) <= 60 else shown[:57] + '...'}, and should be {wanted}"
    )


def _table(
    value: Any,
    where: str,
    fields: Mapping[str, Check],
    optional: Mapping[str, Check],
    *,
    others: bool = False,
) -> None:
    if not isinstance(value, dict):
        _refuse(where or "the whole", value, "a table")
    dot = f"{where}." if where else ""
    for name, rule in fields.items():
        if name not in value:
            raise SchemaError(f"{dot}{name} is missing")
        rule(value[name], dot + name)
    for name, rule in optional.items():
        if name in value:
            rule(value[name], dot + name)
    if not others:
        for name in value:
            if name not in fields and name not in optional:
                raise SchemaError(f"{dot}{name} is unknown: is this bundle of a newer arcspan?")


def _text(value: Any, where: str) -> None:
    if not isinstance(value, str):
        _refuse(where, value, "a text")


def _file(value: Any, where: str) -> None:
    if not isinstance(value, str) or value in ("", ".", "..") or set(value) & set("/\\:\0"):
        _refuse(where, value, "the name of a file in the bundle")


def _number(low: float, *, whole: bool = False, high: float = MOST) -> Check:
    def rule(value: Any, where: str) -> None:
        kind = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
        if not kind or not math.isfinite(value) or not low <= value <= high:
            what = "a whole number" if whole else "a number"
            _refuse(where, value, f"{what} from {low:g} to {high:g}")

    return rule


def _one_of(choices: Sequence[Any]) -> Check:
    def rule(value: Any, where: str) -> None:
        if isinstance(value, bool) != (choices == (False, True)) or value not in choices:
            _refuse(where, value, f"one of {', '.join(map(str, choices))}")

    return rule


def _list(of: Check, *, length: int | None = None, least: int = 0) -> Check:
    def rule(value: Any, where: str) -> None:
        if not isinstance(value, list) or len(value) < least or (length is not None and len(value) != length):
            size = f" of {length}" if length is not None else f" of at least {least}" if least else ""
            _refuse(where, value, f"a list{size}")
        for place, one in enumerate(value):
            of(one, f"{where}[{place}]")

    return rule


def _map(of: Check) -> Check:
    def rule(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            _refuse(where, value, "a table")
        for name, one in value.items():
            of(one, f"{where}.{name}")

    return rule


_BOOL = _one_of((False, True))
_COUNT = _number(0, whole=True)
_TEXTS = _list(_text)
_TEMPERATURE = _number(1e-6)
_TEMPERATURES = dict.fromkeys(
    (f"{name}_temperature" for name in ("structure", "label", "relation", "span", "arc", "sentence")),
    _TEMPERATURE,
)


def _component(value: Any, where: str) -> None:
    outputs = _list(_one_of(("hidden", *(output.name for output in OUTPUTS))), least=1)
    fields = {"part": _one_of(("both", *LAYERS)), "score": _file, "label": _file, "outputs": outputs}
    _table(value, where, fields, {"gold_tags": _BOOL}, others=True)


def _inventories(value: Any, where: str) -> None:
    fields = {"labels": _list(_TEXTS), "relations": _TEXTS, "tags": _TEXTS, "upos": _TEXTS}
    unused = _map(_list(_list(_COUNT)))
    names = dict.fromkeys(("lemmas", "features", "styles"), _TEXTS)
    _table(value, where, fields, {**names, "unused": unused, "seen_lemmas": _map(_map(_TEXTS))})


def _inputs(value: Any, where: str) -> None:
    if isinstance(value, dict) and value.get("kind") == "words":
        _table(value, where, {"kind": _text, "words": _TEXTS, "characters": _TEXTS}, {})
        return
    fields = {
        "kind": _one_of(("pieces", "words")),
        **dict.fromkeys(("begin", "end", "padding", "unknown"), _COUNT),
        "window": _number(3, whole=True),
        "overlap": _COUNT,
        "pooling": _one_of(("mean", "first")),
        "pieces_per_word": _number(1, whole=True),
    }
    _table(value, where, fields, {})


def _calibration(value: Any, where: str) -> None:
    _table(value, where, {}, {**_TEMPERATURES, "sentences": _COUNT}, others=True)


def _labelling(value: Any, where: str) -> None:
    fields = {"rules": _file, "weight": _number(0)}
    options = {"on": _BOOL, "labels_only": _BOOL, "candidates": _number(1, whole=True)}
    _table(value, where, fields, options, others=True)


_FIELDS: dict[str, Check] = {
    "format": _number(1, whole=True),
    "components": _list(_component, least=1),
    "inventories": _inventories,
    "inputs": _inputs,
}
_OPTIONAL: dict[str, Check] = {
    **dict.fromkeys(("name", "language", "licence", "system", "precision", "arcspan"), _text),
    "styles": _map(_list(_COUNT, length=2)),
    "calibration": _calibration,
    "labelling": _labelling,
    "guidelines": _BOOL,
}
