"""One report on predicted trees: every figure, how it was made, and the sentences it was made of.

Every figure is a ratio of counts that add up over sentences. The report keeps these counts sentence by
sentence, so that significance tests can resample sentences without scoring anything again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from arcspan._version import __version__
from arcspan.errors import ArcspanError
from arcspan.evaluation.attachment import (
    Arcs,
    Punctuation,
    SentenceAttachment,
    relations_of,
    score_attachment,
    words_that_count,
)
from arcspan.evaluation.brackets import ERROR, OK, SKIPPED, Alignment, FlatTree, SentenceBrackets, align
from arcspan.evaluation.complete_match import complete_match, trees_fit
from arcspan.evaluation.rules import BracketRules, as_rules
from arcspan.treebanks.pairs import plain
from arcspan.trees import ConstituencyTree, DependencyTree

Counts = Mapping[str, Any]

#: What is counted in every sentence; the columns of `Report.counts`.
COLUMNS = (
    "sentences",
    # brackets, in the sentences that EVALB counts
    "valid",
    "error",
    "skipped",
    "gold",
    "predicted",
    "matched",
    "matched_spans",
    "complete",
    "crossing",
    "without_crossing",
    "with_two_or_less",
    "bracket_words",
    "bracket_tags",
    # dependencies
    "arcs",
    "right_heads",
    "right_relations",
    "right_arcs",
    # whole sentences
    "complete_con",
    "complete_dep",
    "complete_both",
    "fitting",
    # tags
    "tags",
    "right_tags",
    "upos",
    "right_upos",
)


class Metric(NamedTuple):
    """A figure: its title, what it scores, and the counts it is the ratio of.

    `kind` is "brackets", "attachment", "complete" or "tags". A figure without counts is a harmonic mean of
    two others.
    """

    title: str
    kind: str
    part: str
    whole: str
    scale: float = 100.0
    lower_is_better: bool = False


METRICS: dict[str, Metric] = {
    "uas": Metric("UAS", "attachment", "right_heads", "arcs"),
    "las": Metric("LAS", "attachment", "right_arcs", "arcs"),
    "relation_accuracy": Metric("relation accuracy", "attachment", "right_relations", "arcs"),
    "precision": Metric("precision", "brackets", "matched", "predicted"),
    "recall": Metric("recall", "brackets", "matched", "gold"),
    "f1": Metric("F1", "brackets", "precision", "recall"),
    "unlabelled_precision": Metric("unlabelled precision", "brackets", "matched_spans", "predicted"),
    "unlabelled_recall": Metric("unlabelled recall", "brackets", "matched_spans", "gold"),
    "unlabelled_f1": Metric("unlabelled F1", "brackets", "unlabelled_precision", "unlabelled_recall"),
    "complete_match": Metric("complete match", "brackets", "complete", "valid"),
    "average_crossing": Metric("average crossing", "brackets", "crossing", "valid", 1.0, True),
    "no_crossing": Metric("no crossing", "brackets", "without_crossing", "valid"),
    "two_or_less_crossing": Metric("2 or less crossing", "brackets", "with_two_or_less", "valid"),
    "tagging_accuracy": Metric("tagging accuracy", "brackets", "bracket_tags", "bracket_words"),
    "lcm_con": Metric("LCM con", "complete", "complete_con", "sentences"),
    "lcm_dep": Metric("LCM dep", "complete", "complete_dep", "sentences"),
    "lcm_both": Metric("LCM con+dep", "complete", "complete_both", "sentences"),
    "compatible": Metric("compatible", "complete", "fitting", "sentences"),
    "tag_accuracy": Metric("tag accuracy, all words", "tags", "right_tags", "tags"),
    "upos_accuracy": Metric("UPOS accuracy, all words", "tags", "right_upos", "upos"),
}


def figures(counts: Counts, names: Iterable[str] = METRICS) -> dict[str, Any]:
    """Metrics from summed counts: numbers, or arrays with an entry a resample; 0 where nothing counts.

    >>> figures({"right_heads": 3, "arcs": 4}, ["uas"])["uas"].item()
    75.0
    """
    values: dict[str, Any] = {}
    for name in names:
        metric = METRICS[name]
        if metric.part in METRICS:
            found = figures(counts, [metric.part, metric.whole])
            p, r = found[metric.part], found[metric.whole]
            values[name] = _ratio(2 * p * r, p + r, 1.0)
        else:
            values[name] = _ratio(counts[metric.part], counts[metric.whole], metric.scale)
    return values


def _ratio(part: Any, whole: Any, scale: float) -> NDArray[np.float64]:
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    out: NDArray[np.float64] = np.zeros(np.broadcast(part, whole).shape)
    np.divide(scale * part, whole, out=out, where=whole != 0)
    return out


class Tally(NamedTuple):
    """How often a label or relation stands in gold trees and in predicted ones, and how often rightly."""

    gold: int = 0
    predicted: int = 0
    found: int = 0  # of the gold ones
    right: int = 0  # of the predicted ones; differs from `found` where rules take two labels for the same

    @property
    def precision(self) -> float:
        """Share of the predicted ones that are right, in percent."""
        return 100.0 * self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold ones that were found, in percent."""
        return 100.0 * self.found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True, repr=False)
class Report:
    """Every figure on one set of predicted trees, in percent; NaN where there are no trees of that kind.

    Attributes named as in METRICS (`las`, `uas`, `f1`, `precision`, `recall`, `lcm_con`, `lcm_dep`,
    `lcm_both`, `compatible` ...) are the figures. `counts` [sentences, len(COLUMNS)] is what they are made
    of; `relations` and `labels` have precision and recall of each. `problems` names sentences that EVALB
    leaves out.
    """

    uas: float
    las: float
    relation_accuracy: float
    precision: float
    recall: float
    f1: float
    unlabelled_precision: float
    unlabelled_recall: float
    unlabelled_f1: float
    complete_match: float
    average_crossing: float
    no_crossing: float
    two_or_less_crossing: float
    tagging_accuracy: float
    lcm_con: float
    lcm_dep: float
    lcm_both: float
    compatible: float
    tag_accuracy: float
    upos_accuracy: float
    counts: NDArray[np.int64] = field(compare=False)
    relations: dict[str, Tally]
    labels: dict[str, Tally]
    rules: BracketRules
    punctuation: str
    subtypes: bool
    tags: str
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def totals(self) -> dict[str, int]:
        """The counts summed over sentences."""
        return dict(zip(COLUMNS, self.counts.sum(axis=0).tolist(), strict=True))

    @property
    def sentences(self) -> int:
        """How many sentences were scored."""
        return len(self.counts)

    def figures(self) -> dict[str, float]:
        """The figures that there are, by name."""
        values = {name: float(getattr(self, name)) for name in METRICS}
        return {name: value for name, value in values.items() if not math.isnan(value)}

    def signature(self, name: str) -> str:
        """How a figure was made: rules, punctuation, version.

        >>> evaluate([], []).signature("las")  # doctest: +ELLIPSIS
        'las|punctuation:ptb|subtypes:kept|arcspan:...'
        """
        kind = METRICS[name].kind
        brackets = f"{self.rules.signature}|tags:{self.tags}"
        arcs = f"punctuation:{self.punctuation}|subtypes:{'kept' if self.subtypes else 'ignored'}"
        how = {
            "brackets": [brackets],
            "attachment": [arcs],
            "complete": {"lcm_con": [brackets], "lcm_dep": [arcs], "lcm_both": [brackets, arcs]}.get(
                name, []
            ),
            "tags": ["words:all"],
        }[kind]
        return "|".join([name, *how, f"arcspan:{__version__}"])

    def to_dict(self) -> dict[str, Any]:
        """The report for machines: figures, their signatures, counts, and every relation and label."""
        values = self.figures()
        return {
            **values,
            "sentences": self.sentences,
            "signatures": {name: self.signature(name) for name in values},
            "counts": self.totals,
            "relations": {name: _tally_dict(tally) for name, tally in self.relations.items()},
            "labels": {name: _tally_dict(tally) for name, tally in self.labels.items()},
            "problems": list(self.problems),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def __str__(self) -> str:
        from arcspan.evaluation.tables import report_table

        return report_table(self)

    def __repr__(self) -> str:
        shown = [("LAS", self.las), ("UAS", self.uas), ("F1", self.f1), ("LCM con+dep", self.lcm_both)]
        text = ", ".join(f"{title} {value:.2f}" for title, value in shown if not math.isnan(value))
        return f"<Report on {self.sentences} sentences: {text}>"


def _tally_dict(tally: Tally) -> dict[str, float]:
    return {**tally._asdict(), "precision": tally.precision, "recall": tally.recall, "f1": tally.f1}


class Parts(NamedTuple):
    """The two trees of a sentence, either of which may be missing; a `treebanks.Pair` serves as well."""

    constituency: ConstituencyTree | None
    dependencies: Arcs | None

    @classmethod
    def of(cls, pair: AnyPair) -> Parts:
        """From a pair (constituency, dependencies), or anything with attributes of these names, such as a Parse."""
        if isinstance(pair, tuple | list):
            return cls(*pair)
        return cls(pair.constituency, pair.dependencies)


class HasTrees(Protocol):
    """Something that carries both trees, such as a Parse."""

    @property
    def constituency(self) -> ConstituencyTree:
        """The constituency tree."""

    @property
    def dependencies(self) -> DependencyTree:
        """The dependency tree."""


AnyPair = tuple[ConstituencyTree | None, Arcs | None] | HasTrees


class Scored(NamedTuple):
    """One sentence scored: its trees, the aligned brackets, and the words that count."""

    gold: Parts
    predicted: Parts
    alignment: Alignment | None
    counts: list[bool] | None
    attachment: SentenceAttachment | None
    punctuation_known: bool


@dataclass(frozen=True)
class Scoring:
    """How sentences are scored; see `evaluate`."""

    punctuation: Punctuation = "ptb"
    rules: BracketRules = field(default_factory=lambda: as_rules(None))
    subtypes: bool = True
    tags: Literal["predicted", "gold"] = "predicted"

    def score(self, gold: AnyPair, predicted: AnyPair, number: int) -> Scored:
        """Score one sentence; `number` is for messages."""
        gold, predicted = Parts.of(gold), Parts.of(predicted)
        alignment = attachment = counts = None
        known = False
        if gold.constituency is not None:
            if predicted.constituency is None:
                raise ArcspanError(f"sentence {number}: no predicted constituency tree")
            alignment = self._brackets(gold.constituency, predicted.constituency, number)
        if gold.dependencies is not None:
            if predicted.dependencies is None:
                raise ArcspanError(f"sentence {number}: no predicted dependency tree")
            same_words(gold.dependencies.words, predicted.dependencies.words, number)
            counts, known = words_that_count(
                self.punctuation, _gold_words(gold), _gold_tags(gold), gold.dependencies.upos
            )
            attachment = score_attachment(
                gold.dependencies, predicted.dependencies, counts, subtypes=self.subtypes
            )
        return Scored(gold, predicted, alignment, counts, attachment, known)

    def _brackets(self, gold: ConstituencyTree, predicted: ConstituencyTree, number: int) -> Alignment:
        if gold.words != predicted.words:
            same_words(_spoken(gold), _spoken(predicted), number)
        # Words were compared above, where their escapes are known; only those that tags delete can differ
        # now.
        words = gold.words if len(gold) == len(predicted) else predicted.words
        tags = predicted.tags
        if self.tags == "gold" and len(gold) == len(predicted):
            tags = gold.tags
        return align(
            FlatTree(gold.words, gold.tags, gold.spans), FlatTree(words, tags, predicted.spans), self.rules
        )


def _gold_tags(gold: Parts) -> Sequence[str]:
    """The tags that the rule ptb looks at: those of the constituency tree, which it comes from."""
    assert gold.dependencies is not None
    if gold.constituency is not None and len(gold.constituency.words) == len(gold.dependencies.heads):
        return gold.constituency.tags if any(gold.constituency.tags) else gold.dependencies.tags
    return gold.dependencies.tags


def _gold_words(gold: Parts) -> Sequence[str]:
    """The words of the dependency tree, or where it was made without any, of the constituency tree."""
    assert gold.dependencies is not None
    if gold.constituency is not None and not any(gold.dependencies.words):
        return gold.constituency.words
    return gold.dependencies.words


def _spoken(tree: ConstituencyTree) -> tuple[str, ...]:
    return tree.without_empties().words


def same_words(
    first: Sequence[str],
    second: Sequence[str],
    number: int,
    names: tuple[str, str] = ("the gold tree", "the predicted tree"),
) -> None:
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
            raise ArcspanError(
                f"sentence {number}: {n} words in {names[0]}, {k} in {names[1]}: "
                f"word {m}, {a or b!r}, is in {names[b is not None]} only"
            )
        if a != b and plain(a) != plain(b):
            raise ArcspanError(f"sentence {number}, word {m}: {a!r} in {names[0]}, {b!r} in {names[1]}")


def score_all(gold: Iterable[AnyPair], predicted: Iterable[AnyPair], scoring: Scoring) -> Iterator[Scored]:
    """Score sentence by sentence; ArcspanError at the first place that does not fit."""
    missing = object()
    number = 0
    for number, (a, b) in enumerate(zip_longest(gold, predicted, fillvalue=missing), 1):
        if a is missing or b is missing:
            short, long = ("gold", "predicted") if a is missing else ("predicted", "gold")
            raise ArcspanError(
                f"the {short} trees end after sentence {number - 1}, the {long} ones do not: "
                f"sentence {number} has no partner"
            )
        yield scoring.score(a, b, number)  # type: ignore[arg-type]


def evaluate(
    gold: Iterable[AnyPair],
    predicted: Iterable[AnyPair],
    *,
    punctuation: Punctuation = "ptb",
    rules: BracketRules | str | os.PathLike[str] | None = None,
    subtypes: bool = True,
    tags: Literal["predicted", "gold"] = "predicted",
) -> Report:
    """Score predicted pairs of trees against gold pairs.

    gold, predicted: pairs (constituency, dependencies), as `read_pairs` gives them, or parses; one tree of a pair
        may be None.
    punctuation: which words do not count for attachment: "ptb", "unicode", "upos" or "none".
    rules: how brackets are counted: None for COLLINS.prm, the path of a .prm file, or a BracketRules.
    subtypes: False compares relations up to their subtype (nsubj:pass = nsubj).
    tags: "predicted" deletes punctuation from predicted trees by their own tags, as EVALB does; a sentence
        where that leaves other words than in the gold tree is then an error sentence. "gold" takes the gold
        tags for both.

    Raises ArcspanError where numbers of sentences or words differ, naming the first place.

    >>> from arcspan.trees import ConstituencyTree, DependencyTree
    >>> c = ConstituencyTree.from_brackets("(S (NP (NNP Logic)) (VP (VBZ plays)) (. .))")
    >>> d = DependencyTree([2, 0, 2], ["nsubj", "root", "punct"])
    >>> wrong = DependencyTree([2, 0, 1], ["obj", "root", "punct"])
    >>> report = evaluate([(c, d)], [(c, wrong)])
    >>> report
    <Report on 1 sentences: LAS 50.00, UAS 100.00, F1 100.00, LCM con+dep 0.00>
    """
    if tags not in ("predicted", "gold"):
        raise ArcspanError(f"tags is 'predicted' or 'gold', not {tags!r}")
    scoring = Scoring(punctuation, as_rules(rules), subtypes, tags)
    return make_report(score_all(gold, predicted, scoring), scoring)


def make_report(scored: Iterable[Scored], scoring: Scoring) -> Report:
    """The report on scored sentences."""
    rows: list[tuple[int, ...]] = []
    problems: list[str] = []
    labels, relations = _Tallies(), _Tallies()
    known = False
    for number, one in enumerate(scored, 1):
        rows.append(_row(one))
        if one.alignment is not None:
            _add_labels(labels, one.alignment)
            if one.alignment.counts.status != OK:
                problems.append(f"sentence {number}: {one.alignment.counts.problem}")
        if one.counts is not None:
            known = known or one.punctuation_known
            _add_relations(relations, one, scoring.subtypes)
    untagged = bool(relations.gold) and not known
    counts = np.array(rows, dtype=np.int64).reshape(len(rows), len(COLUMNS))
    totals = dict(zip(COLUMNS, counts.sum(axis=0).tolist(), strict=True))
    return Report(
        **{name: value if _known(name, totals) else math.nan for name, value in _floats(totals).items()},
        counts=counts,
        relations=relations.result(),
        labels=labels.result(),
        rules=scoring.rules,
        punctuation="none-for-lack-of-tags" if untagged else scoring.punctuation,
        subtypes=scoring.subtypes,
        tags=scoring.tags,
        problems=tuple(problems),
        notes=(_UNTAGGED.format(scoring.punctuation),) if untagged else (),
    )


_UNTAGGED = (
    "the gold trees lack the tags or words that the punctuation rule {!r} looks at, so every word counts; "
    "choose another rule"
)


def _floats(totals: Counts) -> dict[str, float]:
    return {name: float(value) for name, value in figures(totals).items()}


def _known(name: str, totals: Counts) -> bool:
    """Whether there were trees or tags to make a figure of."""
    brackets = bool(totals["valid"] + totals["error"] + totals["skipped"])
    arcs = bool(totals["arcs"])
    metric = METRICS[name]
    if metric.kind == "brackets":
        return brackets
    if metric.kind == "attachment" or name == "lcm_dep":
        return arcs
    if metric.kind == "tags":
        return bool(totals[metric.whole])
    return brackets and (arcs or name == "lcm_con")


def _row(one: Scored) -> tuple[int, ...]:
    """The counts of a sentence, in the order of COLUMNS."""
    b = SentenceBrackets(-1, 0) if one.alignment is None else one.alignment.counts
    a = one.attachment or SentenceAttachment()
    match = complete_match(b if one.alignment else None, one.attachment)
    fit = (
        one.predicted.constituency is not None
        and one.predicted.dependencies is not None
        and trees_fit(one.predicted.constituency, one.predicted.dependencies)
    )
    ok = b.status == OK
    return (
        1,
        int(ok),
        int(b.status == ERROR),
        int(b.status == SKIPPED),
        b.gold,
        b.predicted,
        b.matched,
        b.matched_spans,
        int(b.complete),
        b.crossing,
        int(ok and b.crossing == 0),
        int(ok and b.crossing <= 2),
        b.words,
        b.correct_tags,
        a.words,
        a.heads,
        a.relations,
        a.arcs,
        int(bool(match.constituency)),
        int(bool(match.dependencies)),
        int(match.both),
        int(fit),
        *_tag_counts(one.gold, one.predicted),
    )


def _tag_counts(gold: Parts, predicted: Parts) -> tuple[int, int, int, int]:
    """Gold tags and right tags, of the treebank's own tag set and of UPOS, over all words."""
    own = universal = (0, 0)
    a, b = gold.constituency or gold.dependencies, predicted.constituency or predicted.dependencies
    if a is not None and b is not None and len(a.words) == len(b.words) and any(b.tags):
        own = _equal(a.tags, b.tags)
    if (
        gold.dependencies is not None
        and predicted.dependencies is not None
        and any(predicted.dependencies.upos)
    ):
        universal = _equal(gold.dependencies.upos, predicted.dependencies.upos)
    return (*own, *universal)


def _equal(gold: Sequence[str], predicted: Sequence[str]) -> tuple[int, int]:
    if gold == predicted and "" not in gold:
        return len(gold), len(gold)
    pairs = [(a, b) for a, b in zip(gold, predicted, strict=True) if a]
    return len(pairs), sum(a == b for a, b in pairs)


class _Tallies:
    """Tallies being filled."""

    def __init__(self) -> None:
        self.gold: dict[str, int] = {}
        self.predicted: dict[str, int] = {}
        self.found: dict[str, int] = {}
        self.right: dict[str, int] = {}

    def result(self) -> dict[str, Tally]:
        """Tallies by name, the most frequent in gold first."""
        names = sorted({*self.gold, *self.predicted}, key=lambda name: (-self.gold.get(name, 0), name))
        parts = (self.gold, self.predicted, self.found, self.right)
        return {name: Tally(*(part.get(name, 0) for part in parts)) for name in names}


def _add(counter: dict[str, int], names: Iterable[str]) -> None:
    for name in names:
        counter[name] = counter.get(name, 0) + 1


def _add_labels(tallies: _Tallies, alignment: Alignment) -> None:
    _, gold, predicted, pairs = alignment
    _add(tallies.gold, (label for _, _, label in gold))
    _add(tallies.predicted, (label for _, _, label in predicted))
    _add(tallies.found, (gold[a][2] for a, _ in pairs))
    _add(tallies.right, (predicted[b][2] for _, b in pairs))


def _add_relations(tallies: _Tallies, one: Scored, subtypes: bool) -> None:
    gold, predicted = one.gold.dependencies, one.predicted.dependencies
    assert gold is not None and predicted is not None and one.counts is not None
    rows = zip(
        one.counts,
        gold.heads,
        predicted.heads,
        relations_of(gold, subtypes),
        relations_of(predicted, subtypes),
        strict=True,
    )
    for counts, a, b, r, s in rows:
        if counts:
            tallies.gold[r] = tallies.gold.get(r, 0) + 1
            tallies.predicted[s] = tallies.predicted.get(s, 0) + 1
            if a == b and r == s:
                tallies.found[r] = tallies.found.get(r, 0) + 1
                tallies.right[r] = tallies.right.get(r, 0) + 1
