"""Two sentences of trees compared: gold and predicted, by the rules that the caller chose.

The words are compared first: sentences that differ are refused, with the place. What is counted in a sentence is
listed in `count`, the figures made of these counts in `metrics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, zip_longest
from typing import Any, Literal, NamedTuple

from arcspan.errors import ArcspanError
from arcspan.evaluation.attachment import Punctuation, ScoredArc, score_attachment, words_that_count
from arcspan.evaluation.brackets import FlatTree, SentenceBrackets, align, bracket_counts
from arcspan.evaluation.rules import BracketRules, as_rules
from arcspan.treebanks.pairs import Pair, plain
from arcspan.trees import ConstituencyTree, DependencyTree, compatible

#: What the two trees of a sentence are called.
LAYERS = ("constituency", "dependency")


#: A pair of trees, or something with attributes `constituency` and `dependencies`, such as a Parse.
AnyPair = tuple[ConstituencyTree | None, DependencyTree | None] | Any


def as_pair(pair: AnyPair) -> Pair:
    """A pair (constituency, dependencies), or the trees of anything that has them, such as a Parse."""
    if isinstance(pair, tuple | list):
        return Pair(*pair)
    return Pair(pair.constituency, pair.dependencies)


class SentenceScore(NamedTuple):
    """One sentence scored: its trees, the aligned brackets, and the arcs of the words that count."""

    gold: Pair
    predicted: Pair
    brackets: SentenceBrackets | None
    arcs: list[ScoredArc] | None
    punctuation_known: bool


@dataclass(frozen=True)
class Scoring:
    """How sentences are scored; see `evaluate`."""

    punctuation: Punctuation = "auto"
    rules: BracketRules = field(default_factory=lambda: as_rules(None))
    subtypes: bool = True
    tags: Literal["predicted", "gold"] = "predicted"

    def settled(self, gold: Iterable[AnyPair]) -> tuple[Scoring, Iterator[AnyPair]]:
        """The scoring whose punctuation rule, where it is left open, fits the first gold trees; and all gold trees."""
        gold = iter(gold)
        if self.punctuation != "auto":
            return self, gold
        first = list(islice(gold, 100))
        trees = [
            tree for tree in (as_pair(pair).dependencies for pair in first) if tree is not None
        ]
        rule: Punctuation = "upos" if any(any(tree.upos) for tree in trees) else "ptb"
        return replace(self, punctuation=rule), chain(first, gold)

    def score(self, gold: AnyPair, predicted: AnyPair, number: int) -> SentenceScore:
        """Score one sentence; `number` is for messages."""
        gold, predicted = as_pair(gold), as_pair(predicted)
        brackets = arcs = None
        known = False
        if gold.constituency is not None and predicted.constituency is not None:
            brackets = self._brackets(gold.constituency, predicted.constituency, number)
        if gold.dependencies is not None and predicted.dependencies is not None:
            same_words(gold.dependencies.words, predicted.dependencies.words, number)
            counts, known = words_that_count(
                self.punctuation, *_gold_columns(gold), gold.dependencies.upos
            )
            arcs = score_attachment(
                gold.dependencies, predicted.dependencies, counts, subtypes=self.subtypes
            )
        return SentenceScore(gold, predicted, brackets, arcs, known)

    def _brackets(
        self, gold: ConstituencyTree, predicted: ConstituencyTree, number: int
    ) -> SentenceBrackets:
        if gold.words != predicted.words:
            same_words(gold.without_empties().words, predicted.without_empties().words, number)
        same = len(gold) == len(predicted)
        # Words were compared above, where their escapes are known; only those that tags delete can differ now.
        words = gold.words if same else predicted.words
        tags = gold.tags if same and self.tags == "gold" else predicted.tags
        other = FlatTree(words, tags, predicted.spans)
        return align(FlatTree(gold.words, gold.tags, gold.spans), other, self.rules)


def _gold_columns(gold: Pair) -> tuple[Sequence[str], Sequence[str]]:
    """The words and tags that punctuation rules look at.

    The tags are those of the constituency tree, which the rule ptb comes from, where it has any; the words those of the
    dependency tree, where it was made with any.
    """
    c, d = gold
    if c is None or len(c) != len(d):
        return d.words, d.tags
    return (d.words if any(d.words) else c.words), (c.tags if any(c.tags) else d.tags)


def same_words(first: Sequence[str], second: Sequence[str], number: int) -> None:
    """Refuse sentences that differ in more than the way a word is written in treebanks.

    >>> same_words(["(", "a"], ["-LRB-", "a"], 1)
    >>> same_words(["a", "b"], ["a", "c"], 7)
    Traceback (most recent call last):
    arcspan.errors.ArcspanError: sentence 7, word 2: 'b' in the gold tree, 'c' in the predicted tree
    """
    if first == second:
        return
    n, k = len(first), len(second)
    if n == k and not (any(first) and any(second)):
        return
    for m, (a, b) in enumerate(zip_longest(first, second), 1):
        if a is None or b is None:
            what = f"sentence {number}: {n} words in the gold tree, {k} in the predicted tree"
            where = "gold" if b is None else "predicted"
            raise ArcspanError(f"{what}: word {m}, {a or b!r}, is in the {where} tree only")
        if a != b and plain(a) != plain(b):
            what = f"{a!r} in the gold tree, {b!r} in the predicted tree"
            raise ArcspanError(f"sentence {number}, word {m}: {what}")


def score_all(
    gold: Iterable[AnyPair], predicted: Iterable[AnyPair], scoring: Scoring
) -> Iterator[SentenceScore]:
    """Score sentence by sentence; ArcspanError at the first place that does not fit.

    Of each layer, the predictions must have a tree for every gold tree or for none: no gold tree is left out of a
    score because nothing was predicted for it.
    """
    missing = object()
    predicted_layers: dict[str, str] = {}
    for number, (a, b) in enumerate(zip_longest(gold, predicted, fillvalue=missing), 1):
        if a is missing or b is missing:
            short, long = ("gold", "predicted") if a is missing else ("predicted", "gold")
            what = f"the {short} trees end after sentence {number - 1}, the {long} ones do not"
            raise ArcspanError(f"{what}: sentence {number} has no partner")
        one = scoring.score(a, b, number)
        for layer, tree, other in zip(LAYERS, one.gold, one.predicted, strict=True):
            some = "no" if other is None else "a"
            if tree is not None and predicted_layers.setdefault(layer, some) != some:
                what = f"there is {some} predicted {layer} tree, unlike in the sentences before"
                raise ArcspanError(f"sentence {number}: {what}")
        yield one


def count(one: SentenceScore) -> dict[str, int]:
    """What is counted in a sentence, by the names that `metrics` uses."""
    arcs = one.arcs or []
    brackets = one.brackets or SentenceBrackets(-1, 0)
    has_con, has_dep = one.brackets is not None, one.arcs is not None
    complete_dep = has_dep and all(arc.right for arc in arcs)
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
        "complete_dep": int(complete_dep),
        "complete_both": int(brackets.complete and complete_dep),
        "predicted_pairs": int(None not in one.predicted),
        # Heads that do not form a tree fit nothing.
        "fitting": int(
            None not in one.predicted and one.predicted[1].is_tree and compatible(*one.predicted)
        ),
        **_annotation_counts(one),
    }


#: What words may be annotated with: columns of trees, each with a count of its own and one of the right ones.
ANNOTATIONS = ("tags", "upos", "lemmas", "features")


def annotated(one: SentenceScore) -> Iterator[tuple[str, Sequence[str], Sequence[str]]]:
    """The annotations of all words: name, gold, predicted. Tags are those of the constituents, where there are any."""
    (gold_c, gold), (predicted_c, predicted) = one.gold, one.predicted
    if gold_c is not None and predicted_c is not None and len(gold_c) == len(predicted_c):
        yield "tags", gold_c.tags, predicted_c.tags
    if gold is not None and predicted is not None:
        if gold_c is None or predicted_c is None:
            yield "tags", gold.tags, predicted.tags
        for name in ANNOTATIONS[1:]:
            yield name, getattr(gold, name), getattr(predicted, name)


def _annotation_counts(one: SentenceScore) -> dict[str, int]:
    """Gold annotations and right ones; a word without features counts too, since it must not be given any."""
    counts = {prefix + name: 0 for name in ANNOTATIONS for prefix in ("", "right_")}
    for name, gold, predicted in annotated(one):
        pairs = [(a, b) for a, b in zip(gold, predicted, strict=True) if a or name == "features"]
        counts[name] = len(pairs)
        # Features may be written in any order.
        counts["right_" + name] = sum(
            a == b or (name == "features" and sorted(a.split("|")) == sorted(b.split("|")))
            for a, b in pairs
        )
    return counts
