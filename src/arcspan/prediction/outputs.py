"""What a model can say, as a list: everything that predicts, learns, keeps or merges outputs reads it.

To add an output, add it to `OUTPUTS` (with a field of `Inventories` for its names), give the network a scorer for it
(`neural.model`) and a gold answer to learn it from (`training.instances`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from arcspan.errors import ScoreError


class Output(NamedTuple):
    """One of the things that a model can say.

    name     as scores, modules and graphs call it
    of       what is scored: "structure" (all spans, arcs or headed spans), "nodes" and "arcs" that the search
             chose, or "words"
    names    the field of `Inventories` whose entries are scored; "" for structure
    layer    the tree it belongs to: of a SEP parser's two models, the one that is asked; its style is that tree's
    group    outputs that settings switch on and weigh together: "structure", "labels", "tags" or "rows"
    """

    name: str
    of: str
    names: str
    layer: str
    group: str


OUTPUTS = (
    Output("span", "structure", "", "constituency", "structure"),
    Output("arc", "structure", "", "dependency", "structure"),
    Output("headed", "structure", "", "both", "structure"),
    Output("label", "nodes", "labels", "constituency", "labels"),
    Output("relation", "arcs", "relations", "dependency", "labels"),
    Output("tag", "words", "tags", "dependency", "tags"),
    Output("upos", "words", "upos", "dependency", "tags"),
    Output("lemma", "words", "lemmas", "dependency", "rows"),
    Output("feature", "words", "features", "dependency", "rows"),
)
WORD_OUTPUTS = tuple(output for output in OUTPUTS if output.of == "words")
NAMED_OUTPUTS = tuple(output for output in OUTPUTS if output.names)
LAYERS = ("constituency", "dependency")


class Style(NamedTuple):
    """Whose conventions to follow, as numbers of `Inventories.styles`: for constituents and for dependencies."""

    constituency: int = 0
    dependency: int = 0


def words_to_edits(table: Mapping[str, Mapping[str, list[str]]]) -> dict[str, dict[str, str]]:
    """`Inventories.seen_lemmas` from the table of a file: by tag and edit, the words.

    >>> words_to_edits({"NNS": {"l|0+|3+y": ["flies", "tries"]}})
    {'NNS': {'flies': 'l|0+|3+y', 'tries': 'l|0+|3+y'}}
    """
    return {
        tag: {word: edit for edit, words in edits.items() for word in words}
        for tag, edits in table.items()
    }


@dataclass(frozen=True)
class Inventories:
    """What can be predicted, by number.

    labels    unary chains, outermost first; 0 is no constituent
    lemmas    edits that make a lemma of a word (`prediction.lemmas`)
    features  whole bundles, as CoNLL-U writes them
    styles    the treebanks' conventions that the model knows; () where it knows one only
    unused    by output: for each style, the numbers of the names that it does not use
    seen_lemmas  by tag: words that training saw with it and with one lemma, and the edits that make it
    """

    labels: tuple[tuple[str, ...], ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...]
    upos: tuple[str, ...]
    lemmas: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()
    unused: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    seen_lemmas: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """How many there are of each kind: all of them would be a megabyte.

        >>> Inventories(((), ("NP",)), ("root",), ("NN",), ("NOUN",))
        Inventories(2 labels, 1 relations, 1 tags, 1 upos)
        """
        counts = ((len(getattr(self, one.name)), one.name) for one in fields(self))
        return f"Inventories({', '.join(f'{count} {name}' for count, name in counts if count)})"

    def to_json(self) -> dict[str, Any]:
        """Lists and tables only, as JSON has them."""
        out = {one.name: list(getattr(self, one.name)) for one in fields(self)}
        unused = {name: [list(own) for own in styles] for name, styles in self.unused.items()}
        labels = [list(chain) for chain in self.labels]
        seen: dict[str, dict[str, list[str]]] = {}  # by tag and edit
        for tag, words in sorted(self.seen_lemmas.items()):
            edits = seen[tag] = {}
            for word, edit in sorted(words.items()):
                edits.setdefault(edit, []).append(word)
        return {**out, "labels": labels, "unused": unused, "seen_lemmas": seen}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Inventories:
        """The inverse of `to_json`; fields that an older version did not write are empty."""
        known: dict[str, Any] = {
            one.name: tuple(data[one.name]) for one in fields(cls) if one.name in data
        }
        unused = {
            name: tuple(tuple(own) for own in styles)
            for name, styles in data.get("unused", {}).items()
        }
        seen = words_to_edits(data.get("seen_lemmas", {}))
        labels = tuple(tuple(chain) for chain in data["labels"])
        return cls(**{**known, "labels": labels, "unused": unused, "seen_lemmas": seen})

    def forbid_unused(self, name: str, scores: np.ndarray, styles: np.ndarray) -> np.ndarray:
        """Scores [K, names] of an output, -inf where a row's style (of `styles`, [K]) does not use the name.

        All names are chosen from these. A model whose weights are damaged says NaN: no answer is better than one made
        of that.
        """
        if np.isnan(scores.sum()):  # all are finite, or one of them is not a number
            raise ScoreError(f"the model's scores of {name!r} are NaN: its weights are damaged")
        if name in self.unused and len(styles):
            known: dict[str, np.ndarray] = self.__dict__.setdefault("_known", {})
            if (
                name not in known
            ):  # -inf for what a style does not use, 0 for the others: [styles, names]
                table = np.zeros((len(self.unused[name]), scores.shape[1]), np.float32)
                for number, unused in enumerate(self.unused[name]):
                    table[number, list(unused)] = -np.inf
                known[name] = table
            alike = (styles == styles[0]).all()
            scores += known[name][styles[0]] if alike else known[name][styles]
        return scores
