"""The outputs of a model: which there are, the names they predict, and the scores that carry them.

Everything that predicts, learns, stores or merges outputs reads the list `OUTPUTS`. To add an
output of words, add it there, with a function that reads its gold names from an annotated tree, and
a field of `Inventories` for these names. The network, training, bundles, ensembles and results
follow; `Parse.prediction.column` reads it.

This module computes nothing: a `Scorer` (torch in `neural.Model`, ONNX in `runtime.Session`) makes
`Scores`, and `prediction.search` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from arcspan.errors import ScoreError
from arcspan.lazy import lazy
from arcspan.prediction.inputs import Arrays
from arcspan.prediction.lexicon import Lexicon, lexicon_from_json, lexicon_to_json
from arcspan.trees import DependencyTree


class Output(NamedTuple):
    """One output of a model.

    name     as scores, modules and graphs call it
    of       what is scored: "structure" (all spans, arcs or headed spans), "nodes" and "arcs" that
             the search chose, or "words"
    names    the field of `Inventories` whose entries are scored; "" for structure
    layer    the tree it belongs to. Of the two models of SEP, that tree's model predicts it, and it
             follows the style of that tree
    group    outputs that settings switch on and weigh together: "structure", "labels", "tags" or
             "rows"
    gold     for an output of words that is no column of d-trees: its names for the words of a
             d-tree, "" where one has none
    """

    name: str
    of: str
    names: str
    layer: str
    group: str
    gold: Callable[[DependencyTree], Sequence[str]] | None = None


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
# The outputs of words that d-trees have as columns, in the order of these columns.
COLUMN_OUTPUTS = tuple(output for output in WORD_OUTPUTS if output.gold is None)
NAMED_OUTPUTS = tuple(output for output in OUTPUTS if output.names)
LAYERS = ("constituency", "dependency")
_INVENTORY_FIELDS = {output.name: output.names for output in NAMED_OUTPUTS}


class Scores(NamedTuple):
    """The scores of a batch before the search; None for outputs that the model does not have.

    hidden  [B, n+2, D]: words' vectors, which only the scorer's own `label` reads
    span    float32 [B, n+1, n+1]: span[b, i, j] for the words i+1..j
    arc     float32 [B, n+1, n+1]: arc[b, m, h] for h as the head of m, 0 the root
    headed  float32 [B, pairs, n+1]: a row for each i < j, in the order of `np.triu_indices`, with a
            score for each h (the searches read the cube [B, n+1, n+1, n+1] as well)
    words   by output of words: float32 [B, n+2, names], position 0 is the beginning

    A training loss puts tensors in place of the arrays.
    """

    hidden: Any
    span: Any = None
    arc: Any = None
    headed: Any = None
    words: Mapping[str, Any] = MappingProxyType({})


Indices = Sequence[np.ndarray]
"""One array for each axis: (b, i, j) of spans or (b, m, h) of arcs."""


class Scorer(Protocol):
    """A network: scores from the arrays of a batch, and labels for the parts that a search
    chose.
    """

    @property
    def outputs(self) -> frozenset[str]:
        """Return the names of its outputs (`OUTPUTS`)."""

    @property
    def reads_tags(self) -> bool:
        """Return whether `score` takes `gold_tags`, part-of-speech tags as input."""

    def score(self, arrays: Arrays, *, headed: bool = True) -> Scores:
        """Score a batch; without `headed`, second-order scores are left out."""

    def label(
        self, hidden: Any, nodes: Indices, words: Indices
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return scores of labels [K, labels] at nodes and of relations [W, relations] at words.

        nodes are (b, i, j), words (b, m, h). None for an output that the network does not have.
        """

    def reset_after_fork(self) -> None:
        """Drop what a forked process cannot use."""


def on_host(scores: Any) -> np.ndarray:
    """Return scores as a numpy array; half precision becomes single."""
    if isinstance(scores, np.ndarray):
        return scores
    return scores.detach().float().cpu().numpy()


class Style(NamedTuple):
    """The conventions to follow in each tree, as numbers of `Inventories.styles`."""

    constituency: int = 0
    dependency: int = 0


def words_to_edits(table: Mapping[str, Mapping[str, list[str]]]) -> dict[str, dict[str, str]]:
    """Return `Inventories.seen_lemmas` from the table of a file, which has the words by tag and
    edit.

    >>> words_to_edits({"NNS": {"l|0+|3+y": ["flies", "tries"]}})
    {'NNS': {'flies': 'l|0+|3+y', 'tries': 'l|0+|3+y'}}
    """
    edit_of_words: dict[str, dict[str, str]] = {}
    for tag, edits in table.items():
        edit_of_words[tag] = {word: edit for edit, words in edits.items() for word in words}
    return edit_of_words


@dataclass(frozen=True)
class Inventories:
    """The names that can be predicted; predictions are numbers of them.

    labels    unary chains, outermost first; 0 is no constituent
    lemmas    edits that make a lemma of a word (`prediction.lemmas`)
    features  whole bundles, as CoNLL-U writes them
    styles    the conventions of treebanks that the model has learnt; () for a single one
    unused    by output: for each style, the numbers of the names that it does not use
    seen_lemmas  by tag: words that training saw with it and with one lemma, and the edits that make
                 it
    lexicon   the lemmas of the language, where the model has them (`prediction.lexicon`)
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
    lexicon: Lexicon | None = None

    def __repr__(self) -> str:
        """Return the number of entries of each field: all of them would be a megabyte.

        >>> Inventories(((), ("NP",)), ("root",), ("NN",), ("NOUN",))
        Inventories(2 labels, 1 relations, 1 tags, 1 upos)
        """
        counts = []
        for attribute in fields(self):
            entries = getattr(self, attribute.name)
            if attribute.name != "lexicon" and (count := len(entries)):
                counts.append(f"{count} {attribute.name}")
        return f"Inventories({', '.join(counts)})"

    def names(self, output: str) -> Sequence[Any]:
        """Return the names of an output, such as all relations of "relation"."""
        names: Sequence[Any] = getattr(self, _INVENTORY_FIELDS[output])
        return names

    def to_json(self) -> dict[str, Any]:
        """Return lists and tables only, as JSON has them."""
        data: dict[str, Any] = {
            field.name: list(getattr(self, field.name))
            for field in fields(self)
            if field.name != "lexicon"
        }
        data["labels"] = [list(chain) for chain in self.labels]
        data["unused"] = {name: list(map(list, styles)) for name, styles in self.unused.items()}
        # By tag and edit: most words of a tag share a few edits.
        seen: dict[str, dict[str, list[str]]] = {}
        for tag, words in sorted(self.seen_lemmas.items()):
            edits = seen[tag] = {}
            for word, edit in sorted(words.items()):
                edits.setdefault(edit, []).append(word)
        data["seen_lemmas"] = seen
        if self.lexicon is not None:
            data["lexicon"] = lexicon_to_json(self.lexicon)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Inventories:
        """Return the inverse of `to_json`; fields that an older version did not write are empty."""
        values: dict[str, Any] = {
            field.name: tuple(data[field.name]) for field in fields(cls) if field.name in data
        }
        values["labels"] = tuple(map(tuple, data["labels"]))
        unused = data.get("unused", {})
        values["unused"] = {name: tuple(map(tuple, styles)) for name, styles in unused.items()}
        values["seen_lemmas"] = words_to_edits(data.get("seen_lemmas", {}))
        if "lexicon" in data:
            values["lexicon"] = Lexicon(lexicon_from_json(**data["lexicon"]))
        return cls(**values)

    def forbid_unused(self, output: str, scores: np.ndarray, styles: np.ndarray) -> np.ndarray:
        """Add -inf, in place, to the names of an output that a row's style does not use.

        scores  [K, names]; styles  [K], the style of each row

        All names are chosen from these scores. Scores of NaN come from damaged weights: an error is
        better than a parse made of them.
        """
        # The sum is NaN if any score is; it is cheaper than a test of each.
        if np.isnan(scores.sum()):
            raise ScoreError(f"the model's scores of {output!r} are NaN: its weights are damaged")
        if output in self.unused and len(styles):
            penalties = self._penalties[output]
            # Most batches have one style: adding one row is faster than gathering K of them.
            is_uniform = (styles == styles[0]).all()
            scores += penalties[styles[0]] if is_uniform else penalties[styles]
        return scores

    @lazy
    def _penalties(self) -> dict[str, np.ndarray]:
        """Return [styles, names] by output: -inf for a name that the style does not use, else 0."""
        tables = {}
        for output, styles in self.unused.items():
            tables[output] = np.zeros((len(styles), len(self.names(output))), np.float32)
            for style, numbers in enumerate(styles):
                tables[output][style, list(numbers)] = -np.inf
        return tables
