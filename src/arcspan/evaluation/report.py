"""One report on predicted trees: every figure, how it was made, and the sentences it was made of.

The report keeps its counts sentence by sentence, so that significance tests can resample sentences without
scoring anything again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from arcspan._version import __version__
from arcspan.errors import ArcspanError
from arcspan.evaluation.attachment import Punctuation, is_punctuation, main_relation
from arcspan.evaluation.brackets import OK
from arcspan.evaluation.metrics import METRICS, AllFigures, Tallies, Tally
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


@dataclass(frozen=True, repr=False, eq=False)
class Report(AllFigures, Printable):
    """Every figure on one set of predicted trees, in percent; None where there are no trees of that kind.

    Attributes named as in METRICS (`las`, `uas`, `f1`, `precision`, `recall`, `lcm_con`, `lcm_dep`,
    `lcm_both`, `compatible` ...) are the figures. `counts` has what they are made of, by name: an array
    [sentences] each. `relations`, `main_relations` (without subtypes) and `labels` have precision and recall of
    each. `problems` names sentences that EVALB leaves out.
    """

    counts: Mapping[str, NDArray[np.int64]]
    relations: dict[str, Tally]
    main_relations: dict[str, Tally]
    labels: dict[str, Tally]
    rules: BracketRules
    punctuation: str
    subtypes: bool
    tags: str
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
        return "|".join([name, *(how[kind] for kind in METRICS[name].depends_on), f"arcspan:{__version__}"])

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
    scoring, gold = Scoring(punctuation, as_rules(rules), subtypes, tags).settled(gold)
    return make_report(score_all(gold, predicted, scoring), scoring)


def make_report(scored: Iterable[SentenceScore], scoring: Scoring) -> Report:
    """The report on scored sentences."""
    rows: list[dict[str, int]] = []
    problems: list[str] = []
    labels, relations, main_relations = Tallies(), Tallies(), Tallies()
    seen = _Coverage()
    for number, one in enumerate(scored, 1):
        rows.append(count(one))
        seen.see(one)
        if one.alignment is not None:
            counts, gold, predicted, pairs = one.alignment
            labels.add(
                [label for _, _, label in gold],
                [label for _, _, label in predicted],
                [gold[a][2] for a, _ in pairs],
                [predicted[b][2] for _, b in pairs],
            )
            if counts.status != OK:
                problems.append(f"sentence {number}: {counts.problem}")
        if one.arcs is not None:
            gold_relations = [arc.gold_relation for arc in one.arcs]
            predicted_relations = [arc.predicted_relation for arc in one.arcs]
            right = [arc.gold_relation for arc in one.arcs if arc.right]
            relations.add(gold_relations, predicted_relations, right, right)
            right = [
                main_relation(arc.gold_relation) for arc in one.arcs if arc.right_head and arc.right_main
            ]
            main_relations.add(
                map(main_relation, gold_relations), map(main_relation, predicted_relations), right, right
            )
    columns = {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}
    for name in seen.unknown:
        for column in {name, f"right_{name}"} & {*columns}:
            columns[column] *= 0
    return Report(
        counts=columns,
        relations=relations.result(),
        main_relations=main_relations.result(),
        labels=labels.result(),
        rules=scoring.rules,
        punctuation="none-for-lack-of-tags" if seen.untagged else scoring.punctuation,
        subtypes=scoring.subtypes,
        tags=scoring.tags,
        problems=tuple(problems),
        notes=tuple(seen.notes(scoring.punctuation)),
    )


@dataclass
class _Coverage:
    """What the reader of a report should know of the sentences that it is about."""

    missing: dict[str, None] = field(default_factory=dict)  # layers without predictions
    scored: bool = False  # there were dependency trees
    tagged: bool = False  # with what the punctuation rule looks at
    left_out: bool = False  # and words that it left out
    punctuation: bool = False  # and words that look as if it should have
    gold: set[str] = field(default_factory=set)  # annotations that gold trees have
    predicted: set[str] = field(default_factory=set)

    def see(self, one: SentenceScore) -> None:
        for name, gold, predicted in annotated(one):
            if any(gold):
                self.gold.add(name)
            if any(predicted):
                self.predicted.add(name)
        for layer, tree, other in zip(LAYERS, one.gold, one.predicted, strict=True):
            if tree is not None and other is None:
                self.missing[layer] = None
        if one.arcs is not None and one.gold.dependencies is not None:
            tree = one.gold.dependencies
            self.scored = True
            self.tagged = self.tagged or one.punctuation_known
            self.left_out = self.left_out or len(one.arcs) < len(tree.heads)
            self.punctuation = self.punctuation or (
                not self.left_out and ("PUNCT" in tree.upos or any(map(is_punctuation, tree.words)))
            )

    @property
    def unknown(self) -> set[str]:
        """Annotations that one side has nowhere, so that there is nothing to compare."""
        return {*ANNOTATIONS} - (self.gold & self.predicted)

    @property
    def untagged(self) -> bool:
        return self.scored and not self.tagged

    def notes(self, rule: str) -> Iterator[str]:
        for layer in self.missing:
            yield f"there are no predicted {layer} trees"
        if self.untagged:
            yield (
                f"the gold trees lack the tags or words that the punctuation rule {rule!r} looks at, so every word "
                "counts; choose another rule"
            )
        elif rule != "none" and self.punctuation and not self.left_out:
            yield (
                f"the punctuation rule {rule!r} fits no word of the gold trees, though they have punctuation, so every "
                "word counts; choose another rule"
            )


def check_comparable(reports: Mapping[str, Report]) -> list[str]:
    """The figures that all of these reports have; ArcspanError where they are not made in the same way."""
    (one, first), *others = reports.items()
    shared = list(first.figures())
    for other, report in others:
        if first.sentences != report.sentences:
            raise ArcspanError(f"{one} has {first.sentences} sentences, {other} has {report.sentences}")
        known = report.figures()
        shared = [name for name in shared if name in known]
        for name in shared:
            if first.signature(name) != report.signature(name):
                raise ArcspanError(f"{one} has {first.signature(name)}, {other} has {report.signature(name)}")
    return shared
