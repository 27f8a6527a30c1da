"""Comparison of the gold and the predicted trees of a sentence, by rules that the caller chooses.

The words are compared first: sentences that differ are refused, with the first different word.
`count` lists the counts of a sentence; the figures made of these counts are in `metrics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, zip_longest
from typing import Any, Literal, NamedTuple

from arcspan.errors import ArcspanError
from arcspan.evaluation.attachment import Punctuation, ScoredArc, score_attachment, words_that_count
from arcspan.evaluation.bracket_rules import BracketRules, as_rules
from arcspan.evaluation.evalb import FlatTree, SentenceBrackets, align, bracket_counts
from arcspan.treebanks.pairs import Pair, plain
from arcspan.trees import ConstituencyTree, DependencyTree, compatible

LAYERS = ("constituency", "dependency")
"""The names of the two trees of a sentence."""

ANNOTATIONS = ("tags", "upos", "lemmas", "features")
"""Annotations of words: columns of trees, each counted, and its right ones."""

AnyPair = tuple[ConstituencyTree | None, DependencyTree | None] | Any
"""A pair of trees, or an object with `constituency` and `dependencies`, such as a Parse."""


def as_pair(pair: AnyPair) -> Pair:
    """Return the pair (constituency, dependencies) of a pair or of an object that has both."""
    if isinstance(pair, tuple | list):
        return Pair(*pair)
    return Pair(pair.constituency, pair.dependencies)


class SentenceScore(NamedTuple):
    """A scored sentence: its trees, the aligned brackets, and the arcs of the words that count.

    `has_punctuation_column` is False if the gold tree lacks the tags or words that the punctuation
    rule uses.
    """

    gold: Pair
    predicted: Pair
    brackets: SentenceBrackets | None
    arcs: list[ScoredArc] | None
    has_punctuation_column: bool


@dataclass(frozen=True)
class Scoring:
    """Options of scoring; see `evaluate`."""

    punctuation: Punctuation = "auto"
    rules: BracketRules = field(default_factory=lambda: as_rules(None))
    subtypes: bool = True
    tags: Literal["predicted", "gold"] = "predicted"

    def settled(self, gold: Iterable[AnyPair]) -> tuple[Scoring, Iterator[AnyPair]]:
        """Settle the rule "auto" by the first gold trees; return the scoring and all gold trees."""
        gold = iter(gold)
        if self.punctuation != "auto":
            return self, gold
        # The pairs may be a stream: those read here are put back.
        first_pairs = list(islice(gold, 100))
        rule: Punctuation = "ptb"
        for pair in first_pairs:
            tree = as_pair(pair).dependencies
            if tree is not None and any(tree.upos):
                rule = "upos"
        return replace(self, punctuation=rule), chain(first_pairs, gold)

    def score(self, gold: AnyPair, predicted: AnyPair, number: int) -> SentenceScore:
        """Score one sentence; its `number` is for messages."""
        gold = as_pair(gold)
        predicted = as_pair(predicted)
        brackets = None
        arcs = None
        has_column = False
        if gold.constituency is not None and predicted.constituency is not None:
            brackets = self._brackets(gold.constituency, predicted.constituency, number)
        if gold.dependencies is not None and predicted.dependencies is not None:
            same_words(gold.dependencies.words, predicted.dependencies.words, number)
            words, tags = _gold_columns(gold)
            counts, has_column = words_that_count(
                self.punctuation, words, tags, gold.dependencies.upos
            )
            arcs = score_attachment(
                gold.dependencies, predicted.dependencies, counts, subtypes=self.subtypes
            )
        return SentenceScore(gold, predicted, brackets, arcs, has_column)

    def _brackets(
        self, gold: ConstituencyTree, predicted: ConstituencyTree, number: int
    ) -> SentenceBrackets:
        # Predictions seldom have the traces of gold trees.
        if gold.words != predicted.words:
            same_words(gold.without_empties().words, predicted.without_empties().words, number)
        words = predicted.words
        tags = predicted.tags
        if len(gold) == len(predicted):
            # The words were compared above, up to escapes: from here on only deletions by tags may
            # differ.
            words = gold.words
            tags = gold.tags if self.tags == "gold" else predicted.tags
        gold_flat = FlatTree(gold.words, gold.tags, gold.spans)
        return align(gold_flat, FlatTree(words, tags, predicted.spans), self.rules)


def _gold_columns(gold: Pair) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words and tags that punctuation rules use.

    The tags are those of the constituency tree, for which the rule ptb was made, if it has any; the
    words those of the dependency tree, if it has any.
    """
    c, d = gold
    if c is None or len(c) != len(d):
        return d.words, d.tags
    return (d.words if any(d.words) else c.words), (c.tags if any(c.tags) else d.tags)


def same_words(gold: Sequence[str], predicted: Sequence[str], number: int) -> None:
    """Raise ArcspanError for sentences that differ in more than treebanks' ways to write words.

    >>> same_words(["(", "a"], ["-LRB-", "a"], 1)
    >>> same_words(["a", "b"], ["a", "c"], 7)
    Traceback (most recent call last):
    arcspan.errors.ArcspanError: sentence 7, word 2: 'b' in the gold tree, 'c' in the predicted tree
    """
    if gold == predicted:
        return
    # A tree may have no words, only their number.
    if len(gold) == len(predicted) and not (any(gold) and any(predicted)):
        return
    for m, (gold_word, predicted_word) in enumerate(zip_longest(gold, predicted), 1):
        if gold_word is None or predicted_word is None:
            tree = "gold" if predicted_word is None else "predicted"
            raise ArcspanError(
                f"sentence {number}: {len(gold)} words in the gold tree, "
                f"{len(predicted)} in the predicted tree: "
                f"word {m}, {gold_word or predicted_word!r}, is in the {tree} tree only"
            )
        if gold_word != predicted_word and plain(gold_word) != plain(predicted_word):
            raise ArcspanError(
                f"sentence {number}, word {m}: {gold_word!r} in the gold tree, "
                f"{predicted_word!r} in the predicted tree"
            )


def score_all(
    gold: Iterable[AnyPair], predicted: Iterable[AnyPair], scoring: Scoring
) -> Iterator[SentenceScore]:
    """Score sentence by sentence; ArcspanError at the first sentence that does not match.

    Of each layer, the predictions must have a tree for every gold tree or for none: no gold tree is
    left out of a score because nothing was predicted for it.
    """
    missing = object()
    predicted_layers: dict[str, str] = {}
    pairs = zip_longest(gold, predicted, fillvalue=missing)
    for number, (gold_pair, predicted_pair) in enumerate(pairs, 1):
        if gold_pair is missing or predicted_pair is missing:
            short, long = ("gold", "predicted")
            if predicted_pair is missing:
                short, long = long, short
            raise ArcspanError(
                f"the {short} trees end after sentence {number - 1}, the {long} ones do not: "
                f"sentence {number} has no partner"
            )
        score = scoring.score(gold_pair, predicted_pair, number)
        for layer, gold_tree, predicted_tree in zip(
            LAYERS, score.gold, score.predicted, strict=True
        ):
            article = "no" if predicted_tree is None else "a"
            if gold_tree is not None and predicted_layers.setdefault(layer, article) != article:
                raise ArcspanError(
                    f"sentence {number}: there is {article} predicted {layer} tree, "
                    "unlike in the sentences before"
                )
        yield score


def count(score: SentenceScore) -> dict[str, int]:
    """Return the counts of a sentence by their names in `metrics`."""
    arcs = score.arcs or []
    # -1 is none of EVALB's states.
    brackets = score.brackets or SentenceBrackets(-1, 0)
    has_con = score.brackets is not None
    has_dep = score.arcs is not None
    is_complete_dep = has_dep and all(arc.right for arc in arcs)
    has_pair = None not in score.predicted
    return {
        **bracket_counts(brackets),
        "arcs": len(arcs),
        "right_heads": sum(arc.right_head for arc in arcs),
        "right_relations": sum(arc.right_relation for arc in arcs),
        "right_main_relations": sum(arc.right_main for arc in arcs),
        "right_arcs": sum(arc.right for arc in arcs),
        "right_main_arcs": sum(arc.right_head and arc.right_main for arc in arcs),
        "con_sentences": int(has_con),
        "dep_sentences": int(has_dep),
        "both_sentences": int(has_con and has_dep),
        "complete_con": int(brackets.complete),
        "complete_dep": int(is_complete_dep),
        "complete_both": int(brackets.complete and is_complete_dep),
        "predicted_pairs": int(has_pair),
        # Heads that do not form a tree are compatible with nothing.
        "fitting": int(
            has_pair and score.predicted.dependencies.is_tree and compatible(*score.predicted)
        ),
        **_annotation_counts(score),
    }


def annotated(score: SentenceScore) -> Iterator[tuple[str, Sequence[str], Sequence[str]]]:
    """Yield name, gold and predicted column of each annotation of words.

    Tags are those of the constituency trees, if there are any.
    """
    gold_c, gold_d = score.gold
    predicted_c, predicted_d = score.predicted
    if gold_c is not None and predicted_c is not None and len(gold_c) == len(predicted_c):
        yield "tags", gold_c.tags, predicted_c.tags
    if gold_d is not None and predicted_d is not None:
        if gold_c is None or predicted_c is None:
            yield "tags", gold_d.tags, predicted_d.tags
        for name in ANNOTATIONS[1:]:
            yield name, getattr(gold_d, name), getattr(predicted_d, name)


def _annotation_counts(score: SentenceScore) -> dict[str, int]:
    """Count gold annotations and right ones."""
    counts = {}
    for name in ANNOTATIONS:
        counts[name] = 0
        counts[f"right_{name}"] = 0
    for name, gold, predicted in annotated(score):
        for gold_cell, predicted_cell in zip(gold, predicted, strict=True):
            if name == "features":
                # Features may be written in any order; a word without any must not get any.
                counts[name] += 1
                counts["right_features"] += gold_cell == predicted_cell or (
                    sorted(gold_cell.split("|")) == sorted(predicted_cell.split("|"))
                )
            elif gold_cell:
                counts[name] += 1
                counts[f"right_{name}"] += gold_cell == predicted_cell
    return counts
