"""The report on predicted trees: every figure, its signature, and the counts of each sentence.

The counts of each sentence are kept, so that significance tests can resample sentences without
scoring anything again. Sentences are scored in `sentence_scoring`, tables written in `tables`.
"""

from __future__ import annotations

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
from arcspan.evaluation.bracket_rules import BracketRules, as_rules
from arcspan.evaluation.evalb import OK
from arcspan.evaluation.metrics import METRICS, AllFigures, Confusion, Tally, tallies
from arcspan.evaluation.sentence_scoring import (
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
from arcspan.treebanks.streams import PathLike
from arcspan.treebanks.tree_files import TreeFiles

FileReport = TypeVar("FileReport")


@dataclass(frozen=True, repr=False, eq=False)
class Report(AllFigures, Printable):
    """Every figure on one set of predicted trees, in percent; None without trees of that kind.

    Attributes named as in METRICS (`las`, `uas`, `f1`, `precision`, `recall`, `lcm_con`, `lcm_dep`,
    `lcm_both`, `compatible` ...) are the figures. `counts` are the counts of which they are ratios,
    by name: an array [sentences] each. `label_confusion[gold, predicted, matched]` counts
    constituents of the same span, None standing for a span that only one tree has;
    `relation_confusion[gold, predicted, head is right]` counts words. `problems` names sentences
    that EVALB leaves out.
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
        """Return precision and recall of each label, the most frequent first."""
        return tallies(self.label_confusion)

    @cached_property
    def relations(self) -> dict[str, Tally]:
        """Return precision and recall of each relation; a wrong head makes a word wrong."""
        return self._relations(str)

    @cached_property
    def main_relations(self) -> dict[str, Tally]:
        """Return precision and recall of each relation without its subtype."""
        return self._relations(main_relation)

    def _relations(self, name_of: Callable[[str], str]) -> dict[str, Tally]:
        confusion: Confusion = Counter()
        for (gold, predicted, is_right_head), times in self.relation_confusion.items():
            gold_name = name_of(gold or "")
            predicted_name = name_of(predicted or "")
            is_right = is_right_head and gold_name == predicted_name
            confusion[gold_name, predicted_name, is_right] += times
        return tallies(confusion)

    @cached_property
    def totals(self) -> Counter[str]:
        """Return the counts summed over sentences, by name."""
        return Counter({name: int(values.sum()) for name, values in self.counts.items()})

    @property
    def sentences(self) -> int:
        """Return the number of sentences that were scored."""
        return len(next(iter(self.counts.values()), ()))

    def figures(self) -> dict[str, float]:
        """Return the figures that are not None, by name."""
        figures = {}
        for name, metric in METRICS.items():
            value = self.figure(metric)
            if value is not None:
                figures[name] = value
        return figures

    def signature(self, name: str) -> str:
        """Return the options by which a figure was made: rules, punctuation, version.

        >>> evaluate([], []).signature("las")  # doctest: +ELLIPSIS
        'las|punctuation:ptb|subtypes:kept|arcspan:...'
        """
        subtypes = "kept" if self.subtypes else "ignored"
        options = {
            "brackets": f"{self.rules.signature}|tags:{self.tags}",
            "attachment": f"punctuation:{self.punctuation}|subtypes:{subtypes}",
            "main": f"punctuation:{self.punctuation}|subtypes:ignored",
            "tags": "words:all",
        }
        parts = [options[rule] for rule in METRICS[name].depends_on]
        return "|".join([name, *parts, f"arcspan:{__version__}"])

    def signatures(self) -> dict[str, str]:
        """Return the signatures of the figures, by name."""
        return {name: self.signature(name) for name in self.figures()}

    def to_dict(self) -> dict[str, Any]:
        """Return figures, signatures, counts, and every relation and label as plain values."""
        return {
            **{name: self.figure(metric) for name, metric in METRICS.items()},
            "sentences": self.sentences,
            "signatures": self.signatures(),
            "counts": dict(self.totals),
            "relations": _to_dicts(self.relations),
            "main_relations": _to_dicts(self.main_relations),
            "labels": _to_dicts(self.labels),
            "problems": list(self.problems),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return report_table(self)

    def __repr__(self) -> str:
        values = self.figures()
        figures = []
        for name in ("las", "uas", "f1", "lcm_both"):
            if name in values:
                figures.append(f"{METRICS[name].title} {values[name]:.2f}")
        return f"<Report on {self.sentences} sentences: {', '.join(figures)}>"


def _to_dicts(tallies: Mapping[str, Tally]) -> dict[str, dict[str, float]]:
    return {name: tally.to_dict() for name, tally in tallies.items()}


def evaluate(
    gold: Iterable[AnyPair],
    predicted: Iterable[AnyPair],
    *,
    punctuation: Punctuation = "auto",
    rules: BracketRules | PathLike | None = None,
    subtypes: bool = True,
    tags: Literal["predicted", "gold"] = "predicted",
) -> Report:
    """Score predicted pairs of trees against gold pairs.

    gold, predicted: pairs (constituency, dependencies), such as `read_pairs` yields, or parses; one
    tree of a pair may be None. punctuation: the words that do not count for attachment: "ptb",
    "ctb", "unicode", "upos" or "none"; "auto" is "upos" if gold trees have universal tags,
    otherwise "ptb". rules: for counting brackets: None for COLLINS.prm, the path of a .prm file, or
    a BracketRules. subtypes: False compares relations up to their subtype (nsubj:pass = nsubj).
    tags: "predicted" deletes punctuation from predicted trees by the predicted tags, as EVALB does;
    a sentence with other words than the gold tree after that is an error sentence. "gold" takes the
    gold tags for both.

    Raises ArcspanError at the first sentence whose words or number differ.

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
    observe: Callable[[SentenceScore], None] | None = None,
) -> Report:
    """Score sentences and report on them; `observe` is called with each score."""
    # The rule must be the same for all sentences.
    scoring, gold = scoring.settled(gold)
    rows: list[dict[str, int]] = []
    problems: list[str] = []
    labels: Confusion = Counter()
    relations: Confusion = Counter()
    # A dictionary without values is an ordered set: the notes keep their order.
    facts: dict[str, None] = {}
    for number, score in enumerate(score_all(gold, predicted, scoring), 1):
        if observe is not None:
            observe(score)
        rows.append(count(score))
        facts |= dict.fromkeys(_facts(score))
        if score.brackets is not None:
            for gold_span, predicted_span, is_match in score.brackets.pairs:
                gold_label = gold_span and gold_span[2]
                labels[gold_label, predicted_span and predicted_span[2], is_match] += 1
            if score.brackets.status != OK:
                problems.append(f"sentence {number}: {score.brackets.problem}")
        for arc in score.arcs or ():
            relations[arc.gold_relation, arc.predicted_relation, arc.right_head] += 1
    columns = {}
    for name in rows[0] if rows else ():
        columns[name] = np.array([row[name] for row in rows])
        annotation = name.removeprefix("right_")
        if annotation in ANNOTATIONS and not (
            f"gold {annotation}" in facts and f"predicted {annotation}" in facts
        ):
            # Annotations that only one side has are not compared.
            columns[name] *= 0
    lacks_tags = "arcs" in facts and "tagged" not in facts
    return Report(
        counts=columns,
        rules=scoring.rules,
        punctuation="none-for-lack-of-tags" if lacks_tags else scoring.punctuation,
        subtypes=scoring.subtypes,
        tags=scoring.tags,
        label_confusion=labels,
        relation_confusion=relations,
        problems=tuple(problems),
        notes=tuple(_notes(facts, scoring.punctuation)),
    )


def _facts(score: SentenceScore) -> Iterator[str]:
    """Yield facts about a sentence, from which the notes of a report follow."""
    for name, gold, predicted in annotated(score):
        if any(gold):
            yield f"gold {name}"
        if any(predicted):
            yield f"predicted {name}"
    trees = zip(LAYERS, score.gold, score.predicted, strict=True)
    for layer, gold_tree, predicted_tree in trees:
        if gold_tree is not None and predicted_tree is None:
            yield f"there are no predicted {layer} trees"
    if score.arcs is not None:
        tree = score.gold.dependencies
        yield "arcs"
        if score.has_punctuation_column:
            yield "tagged"
        if len(score.arcs) < len(tree.heads):
            yield "left out"
        elif "PUNCT" in tree.upos or any(map(is_punctuation, tree.words)):
            yield "punctuation"


def _notes(facts: Collection[str], rule: str) -> Iterator[str]:
    """Yield what a reader of the report should know."""
    for fact in facts:
        if fact.startswith("there are no predicted"):
            yield fact
    consequence = "so every word counts; choose another rule"
    if "arcs" in facts and "tagged" not in facts:
        reason = (
            f"the gold trees lack the tags or words that the punctuation rule {rule!r} looks at"
        )
        yield f"{reason}, {consequence}"
    elif rule != "none" and "punctuation" in facts and "left out" not in facts:
        reason = f"the punctuation rule {rule!r} fits no word of the gold trees"
        yield f"{reason}, though they have punctuation, {consequence}"


def evaluate_files(gold: TreeFiles, predicted: TreeFiles, scoring: Scoring | None = None) -> Report:
    """Score files of any parser; FileError names the first sentence with other words.

    Heads with several roots or a cycle do not form a tree, but they are scored: some treebanks have
    them, and some parsers write them. Empty elements (-NONE-) are left out.
    """
    return score_files(make_report, gold, predicted, scoring)


def score_files(
    report: Callable[..., FileReport],
    gold: TreeFiles,
    predicted: TreeFiles,
    scoring: Scoring | None,
) -> FileReport:
    """Call `report` with the trees of files; errors name the predicted file."""
    try:
        return report(read_files(gold), read_files(predicted), scoring or Scoring())
    # It names its own file.
    except FileError:
        raise
    except ArcspanError as error:
        raise FileError(str(error), path=str(predicted)) from None


def read_files(files: TreeFiles) -> Iterator[Pair]:
    """Return an iterator over the trees of files."""
    return read_pairs(*files, heads="any", empties="strip")


def check_comparable(reports: Mapping[str, Report]) -> list[str]:
    """Return the figures that all reports have; ArcspanError if their signatures differ."""
    (first_name, first), *others = reports.items()
    # In the order of the first report.
    shared = list(first.figures())
    for report_name, report in others:
        if first.sentences != report.sentences:
            raise ArcspanError(
                f"{first_name} has {first.sentences} sentences, "
                f"{report_name} has {report.sentences}"
            )
        figures = report.figures()
        shared = [name for name in shared if name in figures]
        for name in shared:
            if first.signature(name) != report.signature(name):
                raise ArcspanError(
                    f"{first_name} has {first.signature(name)}, "
                    f"{report_name} has {report.signature(name)}"
                )
    return shared
