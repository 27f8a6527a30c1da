"""One report on predicted trees: every figure, how it was made, and the sentences it was made of.

The report keeps its counts sentence by sentence, so that significance tests can resample sentences without
scoring anything again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from arcspan._version import __version__
from arcspan.errors import ArcspanError, FileError
from arcspan.evaluation.attachment import Punctuation, is_punctuation, main_relation
from arcspan.evaluation.brackets import OK
from arcspan.evaluation.metrics import METRICS, AllFigures, Confusion, Tally, tallies
from arcspan.evaluation.rules import BracketRules, as_rules
from arcspan.evaluation.scoring import (
    ANNOTATIONS,
    LAYERS,
    AnyPair,
    Scoring,
    SentenceScore,
    annotated,
    count,
    score_all,
)
from arcspan.evaluation.tables import Printable, report_table
from arcspan.treebanks import Pair, read_pairs
from arcspan.treebanks.tree_files import TreeFiles

Scored = TypeVar("Scored")


@dataclass(frozen=True, repr=False, eq=False)
class Report(AllFigures, Printable):
    """Every figure on one set of predicted trees, in percent; None where there are no trees of that kind.

    Attributes named as in METRICS (`las`, `uas`, `f1`, `precision`, `recall`, `lcm_con`, `lcm_dep`,
    `lcm_both`, `compatible` ...) are the figures. `counts` has what they are made of, by name: an array
    [sentences] each. `label_confusion[gold, predicted, matched]` counts constituents of the same span, None standing
    for a span that only one tree has; `relation_confusion[gold, predicted, head is right]` counts words. `problems`
    names sentences that EVALB leaves out.
    """

    counts: Mapping[str, NDArray[np.int64]]
    rules: BracketRules
    punctuation: str
    subtypes: bool
    tags: str
    label_confusion: Confusion = field(default_factory=Counter)
    relation_confusion: Confusion = field(default_factory=Counter)
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def labels(self) -> dict[str, Tally]:
        """Precision and recall of each label, the most frequent first."""
        return tallies(self.label_confusion)

    @cached_property
    def relations(self) -> dict[str, Tally]:
        """Precision and recall of each relation; only a word with the right head is right."""
        return self._relations(str)

    @cached_property
    def main_relations(self) -> dict[str, Tally]:
        """The same without subtypes."""
        return self._relations(main_relation)

    def _relations(self, name_of: Callable[[str], str]) -> dict[str, Tally]:
        confusion: Confusion = Counter()
        for (gold, predicted, at_head), times in self.relation_confusion.items():
            a, b = name_of(gold or ""), name_of(predicted or "")
            confusion[a, b, at_head and a == b] += times
        return tallies(confusion)

    @cached_property
    def totals(self) -> Counter[str]:
        """The counts summed over sentences, by name."""
        return Counter({name: int(values.sum()) for name, values in self.counts.items()})

    @property
    def sentences(self) -> int:
        """How many sentences were scored."""
        return len(next(iter(self.counts.values()), ()))

    def figures(self) -> dict[str, float]:
        """The figures that there are, by name."""
        values = {name: self.figure(metric) for name, metric in METRICS.items()}
        return {name: value for name, value in values.items() if value is not None}

    def signature(self, name: str) -> str:
        """How a figure was made: rules, punctuation, version.

        >>> evaluate([], []).signature("las")  # doctest: +ELLIPSIS
        'las|punctuation:ptb|subtypes:kept|arcspan:...'
        """
        how = {
            "brackets": f"{self.rules.signature}|tags:{self.tags}",
            "attachment": f"punctuation:{self.punctuation}|subtypes:{'kept' if self.subtypes else 'ignored'}",
            "main": f"punctuation:{self.punctuation}|subtypes:ignored",
            "tags": "words:all",
        }
        return "|".join(
            [name, *(how[kind] for kind in METRICS[name].depends_on), f"arcspan:{__version__}"]
        )

    def signatures(self) -> dict[str, str]:
        """The signatures of the figures that there are, by name."""
        return {name: self.signature(name) for name in self.figures()}

    def to_dict(self) -> dict[str, Any]:
        """The report for machines: figures, their signatures, counts, and every relation and label."""
        return {
            **{name: self.figure(metric) for name, metric in METRICS.items()},
            "sentences": self.sentences,
            "signatures": self.signatures(),
            "counts": dict(self.totals),
            **{
                what: {name: tally.to_dict() for name, tally in getattr(self, what).items()}
                for what in ("relations", "main_relations", "labels")
            },
            "problems": list(self.problems),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return report_table(self)

    def __repr__(self) -> str:
        values = self.figures()
        shown = [name for name in ("las", "uas", "f1", "lcm_both") if name in values]
        text = ", ".join(f"{METRICS[name].title} {values[name]:.2f}" for name in shown)
        return f"<Report on {self.sentences} sentences: {text}>"


def evaluate(
    gold: Iterable[AnyPair],
    predicted: Iterable[AnyPair],
    *,
    punctuation: Punctuation = "auto",
    rules: BracketRules | str | os.PathLike[str] | None = None,
    subtypes: bool = True,
    tags: Literal["predicted", "gold"] = "predicted",
) -> Report:
    """Score predicted pairs of trees against gold pairs.

    gold, predicted: pairs (constituency, dependencies), as `read_pairs` gives them, or parses; one tree of a pair
        may be None.
    punctuation: which words do not count for attachment: "ptb", "ctb", "unicode", "upos" or "none"; "auto" is "upos"
        where gold trees have universal tags, otherwise "ptb".
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
    return make_report(gold, predicted, Scoring(punctuation, as_rules(rules), subtypes, tags))


def make_report(
    gold: Iterable[AnyPair],
    predicted: Iterable[AnyPair],
    scoring: Scoring,
    see: Callable[[SentenceScore], None] = lambda one: None,
) -> Report:
    """Score sentences and report on them; `see` is shown each one."""
    scoring, gold = scoring.settled(gold)
    rows: list[dict[str, int]] = []
    problems: list[str] = []
    labels: Confusion = Counter()
    relations: Confusion = Counter()
    facts: dict[str, None] = {}
    for number, one in enumerate(score_all(gold, predicted, scoring), 1):
        see(one)
        rows.append(count(one))
        facts |= dict.fromkeys(_facts(one))
        if one.brackets is not None:
            labels.update((a and a[2], b and b[2], same) for a, b, same in one.brackets.pairs)
            if one.brackets.status != OK:
                problems.append(f"sentence {number}: {one.brackets.problem}")
        for arc in one.arcs or ():
            relations[arc.gold_relation, arc.predicted_relation, arc.right_head] += 1
    columns = {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}
    for name in ANNOTATIONS:
        if not {f"gold {name}", f"predicted {name}"} <= {*facts}:  # there is nothing to compare
            columns |= {own: columns[own] * 0 for own in (name, f"right_{name}") if own in columns}
    untagged = "arcs" in facts and "tagged" not in facts
    return Report(
        counts=columns,
        rules=scoring.rules,
        punctuation="none-for-lack-of-tags" if untagged else scoring.punctuation,
        subtypes=scoring.subtypes,
        tags=scoring.tags,
        label_confusion=labels,
        relation_confusion=relations,
        problems=tuple(problems),
        notes=tuple(_notes(facts, scoring.punctuation)),
    )


def _facts(one: SentenceScore) -> Iterator[str]:
    """What the reader of a report should know of the sentences that it is about."""
    for name, gold, predicted in annotated(one):
        if any(gold):
            yield f"gold {name}"
        if any(predicted):
            yield f"predicted {name}"
    for layer, tree, other in zip(LAYERS, one.gold, one.predicted, strict=True):
        if tree is not None and other is None:
            yield f"there are no predicted {layer} trees"
    if one.arcs is not None:
        tree = one.gold.dependencies
        yield "arcs"
        if one.punctuation_known:
            yield "tagged"
        if len(one.arcs) < len(tree.heads):
            yield "left out"
        elif "PUNCT" in tree.upos or any(map(is_punctuation, tree.words)):
            yield "punctuation"


def _notes(facts: Collection[str], rule: str) -> Iterator[str]:
    yield from (fact for fact in facts if fact.startswith("there are no predicted"))
    why = ""
    if "arcs" in facts and "tagged" not in facts:
        why = f"the gold trees lack the tags or words that the punctuation rule {rule!r} looks at"
    elif rule != "none" and "punctuation" in facts and "left out" not in facts:
        why = f"the punctuation rule {rule!r} fits no word of the gold trees, though they have punctuation"
    if why:
        yield f"{why}, so every word counts; choose another rule"


def evaluate_files(gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None = None) -> Report:
    """Score files of any parser; a difference between them is a FileError that names the prediction and the place.

    Heads with several roots or a cycle do not form a tree, but they are scored: some treebanks have them, and some
    parsers write them. Empty elements (-NONE-) are left out.
    """
    return score_files(make_report, gold, predicted, scoring)


def score_files(
    score: Callable[..., Scored], gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None
) -> Scored:
    """What `score` makes of the trees of files; errors name the prediction that they are about."""
    try:
        return score(read_files(gold), read_files(predicted), scoring or Scoring())
    except FileError:
        raise
    except ArcspanError as error:
        raise FileError(str(error), path=str(predicted)) from None


def read_files(files: TreeFiles) -> Iterator[Pair]:
    """The trees of files, streamed."""
    return read_pairs(*files, heads="any", empties="strip")


def check_comparable(reports: Mapping[str, Report]) -> list[str]:
    """The figures that all of these reports have; ArcspanError where they are not made in the same way."""
    (one, first), *others = reports.items()
    shared = list(first.figures())
    for other, report in others:
        if first.sentences != report.sentences:
            raise ArcspanError(
                f"{one} has {first.sentences} sentences, {other} has {report.sentences}"
            )
        known = report.figures()
        shared = [name for name in shared if name in known]
        for name in shared:
            if first.signature(name) != report.signature(name):
                raise ArcspanError(
                    f"{one} has {first.signature(name)}, {other} has {report.signature(name)}"
                )
    return shared
