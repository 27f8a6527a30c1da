"""The schema of a bundle's configuration, checked as a whole before anything of it is used.

Configurations come from people: they are cut, edited and put together from several. Everything that
a parser reads is described here once, and what does not fit is named by its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, make_dataclass
from typing import TYPE_CHECKING, Any

from arcspan.errors import ConfigError
from arcspan.prediction.outputs import LAYERS, NAMED_OUTPUTS, OUTPUTS
from arcspan.settings import described, read

LEMMAS = "lemmas.json"
LEXICON = "lexicon.json.xz"
# No number of a configuration is larger.
MOST = 1 << 31


def _count(default: Any = MISSING, least: int = 0) -> Any:
    return described(default, least=least, most=MOST)


def _file(default: Any = MISSING) -> Any:
    return described(
        default, matches=r"(?!\.\.?$)[^/\\:\0]+", expected="the name of a file in the bundle"
    )


def _temperature() -> Any:
    return described(1.0, least=1e-6, most=MOST)


@dataclass(frozen=True)
class Component:
    """One model and its two graphs."""

    part: str = described(choices=("both", *LAYERS))
    score: str = _file()
    label: str = _file()
    outputs: list[str] = described(
        choices=("hidden", *(output.name for output in OUTPUTS)), shortest=1
    )
    gold_tags: bool = False


@dataclass(frozen=True)
class _CommonNames:
    """`prediction.outputs.Inventories` as JSON has them, without optional outputs."""

    labels: list[list[str]]
    relations: list[str]
    tags: list[str]
    upos: list[str]
    styles: list[str] = described([])
    unused: dict[str, list[list[int]]] = _count({})
    seen_lemmas: dict[str, dict[str, list[str]]] = described({})


if TYPE_CHECKING:
    Names = _CommonNames
else:
    # Bundles may lack the names of an output that was added to `OUTPUTS` after the first format.
    Names = make_dataclass(
        "Names",
        [
            (output.names, list[str], described([]))
            for output in NAMED_OUTPUTS
            if output.names not in _CommonNames.__dataclass_fields__
        ],
        bases=(_CommonNames,),
        frozen=True,
    )


@dataclass(frozen=True)
class Pieces:
    """`prediction.inputs.PieceInputs`."""

    kind: str = described(choices=("pieces", "words"))
    pooling: str = described(choices=("mean", "first"))
    begin: int = _count()
    end: int = _count()
    padding: int = _count()
    unknown: int = _count()
    window: int = _count(least=3)
    overlap: int = _count()
    pieces_per_word: int = _count(least=1)


@dataclass(frozen=True)
class Words:
    """`prediction.inputs.WordInputs`."""

    kind: str
    words: list[str]
    characters: list[str]


@dataclass(frozen=True)
class Temperatures:
    """`prediction.confidence.Calibration`, and the number of sentences that it was fitted on."""

    structure_temperature: float = _temperature()
    label_temperature: float = _temperature()
    relation_temperature: float = _temperature()
    span_temperature: float = _temperature()
    arc_temperature: float = _temperature()
    sentence_temperature: float = _temperature()
    label_weight: float = _temperature()  # of earlier bundles, and likewise:
    relation_weight: float = _temperature()
    sentences: int = _count(0)


@dataclass(frozen=True)
class Bundle:
    """The whole configuration; fields that are not here are kept for people."""

    format: int = described(least=1, most=MOST)
    components: list[Component] = described(shortest=1, others=True)
    inventories: Names = described()
    inputs: dict[str, Any] = described()
    name: str = ""
    version: str = ""
    language: str = ""
    licence: str = ""
    system: str = ""
    precision: str = ""
    arcspan: str = ""
    styles: dict[str, tuple[int, int]] = _count({})
    calibration: Temperatures = described(None, others=True)
    seen_lemmas: str = _file(LEMMAS)
    lexicon: str = _file(LEXICON)
    decoder: str = ""
    guidelines: bool = True
    search: str = described("labelled", choices=("labelled", "two-stage"))


@dataclass(frozen=True)
class Lemmas:
    """The file of seen lemmas."""

    seen_lemmas: dict[str, dict[str, list[str]]]


@dataclass(frozen=True)
class LexiconContent:
    """The file of a lexicon (`prediction.lexicon`), which has the seen lemmas, too."""

    lemmas: dict[str, list[str]]
    endings: dict[str, dict[str, list[str]]]
    seen_lemmas: dict[str, dict[str, list[str]]]


def check(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for the first thing that does not fit."""
    bundle = read(Bundle, config, others=True)
    inputs = read(
        Words if bundle.inputs.get("kind") == "words" else Pieces, bundle.inputs, "inputs"
    )
    if isinstance(inputs, Pieces):
        _check_windows(inputs)
    names = bundle.inventories
    for output in NAMED_OUTPUTS:
        entries = getattr(names, output.names)
        # Chains of labels are lists, which a set cannot hold.
        if len(set(map(str, entries))) < len(entries):
            raise ConfigError(f"inventories.{output.names} has a name twice")
    if names.labels and names.labels[0]:
        raise ConfigError(
            f"inventories.labels[0] should be [], no constituent, not {names.labels[0]}"
        )
    parts = [component.part for component in bundle.components]
    if parts not in (["both"], ["constituency"], ["dependency"], list(LAYERS)):
        raise ConfigError(
            "components should be one model, or the two of a SEP parser, constituents first"
        )
    for index, component in enumerate(bundle.components):
        _check_outputs(component, names, f"components[{index}].outputs")
    sizes = {output.name: len(getattr(names, output.names)) for output in NAMED_OUTPUTS}
    for name, unused in names.unused.items():
        size = sizes.get(name, 0)
        largest = max((number for numbers in unused for number in numbers), default=-1)
        if len(unused) != len(names.styles) or largest >= size:
            raise ConfigError(
                f"inventories.unused.{name} should have a list of numbers for each style"
            )
    for name, style in bundle.styles.items():
        if max(style) >= len(names.styles):
            raise ConfigError(
                f"styles.{name} should be two numbers of inventories.styles, not {style}"
            )


def _check_windows(inputs: Pieces) -> None:
    # Two positions of a window are those of special pieces; windows that share more than half of
    # the others would hardly move on.
    most = (inputs.window - 2) // 2
    if inputs.overlap > most:
        raise ConfigError(
            f"inputs.overlap should be at most {most} for a window of {inputs.window}, "
            f"not {inputs.overlap}"
        )


def _check_outputs(component: Component, names: Names, field: str) -> None:
    needed = {"constituency": {"span", "label"}, "dependency": {"arc", "relation"}}
    layers = LAYERS if component.part == "both" else (component.part,)
    if not {"hidden"}.union(*(needed[layer] for layer in layers)) <= set(component.outputs):
        raise ConfigError(
            f"{field} should have all that {component.part} needs, not {component.outputs}"
        )
    for output in NAMED_OUTPUTS:
        if output.name in component.outputs and not getattr(names, output.names):
            raise ConfigError(
                f"inventories.{output.names} is empty, but the model has the output {output.name}"
            )
