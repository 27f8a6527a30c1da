"""Bracket scores as EVALB (Sekine and Collins) computes them, to the last rule.

A sentence is read as the C program reads it: one line, leaves with their tags, brackets as ranges of leaves.
Leaves whose tag is deleted go first, which moves the spans of all brackets; brackets left without words or
with a deleted label do not count; the rest is matched one to one, gold brackets in order, each with the first
free predicted bracket of the same span and an equal label. A sentence counts only if both trees then have the
same words:

- no words left in the prediction: a skipped sentence (status 2);
- another number of words, another word, or unbalanced brackets: an error sentence (status 1).

Both are left out of every figure but the number of sentences. Unlike in the C program, lines, sentences and labels
may have any length, and a file on which it would loop is refused with its line.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, zip_longest
from typing import NamedTuple

from arcspan._version import __version__
from arcspan.errors import FileError
from arcspan.evaluation.metrics import BracketFigures, EvalbFigures, Metric
from arcspan.evaluation.rules import BracketRules, as_rules
from arcspan.treebanks.streams import name_of, read_lines
from arcspan.trees.bracketed_text import LabelledSpan

OK, ERROR, SKIPPED = 0, 1, 2

BracketPair = tuple[LabelledSpan | None, LabelledSpan | None, bool]
"""A gold and a predicted bracket of the same span, one of them None where there is none; whether they match."""

# EVALB knows ASCII white space only: a no-break space is part of a word.
_TOKEN = re.compile(r"\(([^\s()]*)(?:\s+([^\s()]*)(\)))?|(\))|\s+|([^\s()])", re.ASCII)


class FlatTree(NamedTuple):
    """A tree as EVALB sees it: leaves, and brackets over leaves in the order in which they open.

    `problem` says what is wrong with the brackets; such a sentence is an error sentence.
    """

    words: Sequence[str]
    tags: Sequence[str]
    spans: Sequence[LabelledSpan]
    problem: str | None = None


def read_flat(line: str) -> FlatTree:
    """One line of a bracket file; a bracket with one element is a word and its tag, whatever the tag.

    Raises ValueError for text outside of brackets, on which the C program never ends.

    >>> read_flat("(TOP (NP (NN dogs)))")
    FlatTree(words=['dogs'], tags=['NN'], spans=[(0, 1, 'TOP'), (0, 1, 'NP')], problem=None)
    """
    words: list[str] = []
    tags: list[str] = []
    spans: list[LabelledSpan] = []
    stack: list[int] = []
    problem = None
    for match in _TOKEN.finditer(line):
        label, word, leaf, closing, stray = match.groups()
        if leaf:
            tags.append(label)
            words.append(word)
        elif label is not None:
            stack.append(len(spans))
            spans.append((len(words), -1, label))
        elif closing and stack:
            opened = stack.pop()
            start, _, label = spans[opened]
            spans[opened] = (start, len(words), label)
        elif closing:
            problem = "a closing bracket too many"
        elif stray:
            raise ValueError(
                f"text outside of brackets: {line[match.start() : match.start() + 40]!r}"
            )
    if stack:
        problem = f"{len(stack)} closing brackets too few"
    return FlatTree(words, tags, spans, problem)


class SentenceBrackets(NamedTuple):
    """The counts of one sentence. Spans and labels are those that counted, over the words that were left."""

    status: int
    length: int  # words of the gold tree, for the cut-off
    words: int = 0  # words that were left
    correct_tags: int = 0
    gold: int = 0
    predicted: int = 0
    matched: int = 0
    matched_spans: int = 0  # whatever the label
    crossing: int = 0
    problem: str | None = None
    pairs: Sequence[BracketPair] = ()  # none of a sentence that does not count

    @property
    def complete(self) -> bool:
        """Whether every bracket was found and none was invented."""
        return self.status == OK and self.gold == self.predicted == self.matched


def bracket_counts(one: SentenceBrackets) -> dict[str, int]:
    """What is counted in a sentence, by the names that `metrics` uses."""
    valid = one.status == OK
    return {
        "sentences": 1,
        "valid": int(valid),
        "error": int(one.status == ERROR),
        "skipped": int(one.status == SKIPPED),
        "gold": one.gold,
        "predicted": one.predicted,
        "matched": one.matched,
        "matched_spans": one.matched_spans,
        "complete": int(one.complete),
        "crossing": one.crossing,
        "without_crossing": int(valid and one.crossing == 0),
        "with_two_or_less": int(valid and one.crossing <= 2),
        "bracket_words": one.words,
        "bracket_tags": one.correct_tags,
    }


def counted_brackets(
    gold: FlatTree, predicted: FlatTree, rules: BracketRules
) -> tuple[FlatTree, FlatTree]:
    """What is left of both trees to count, after all deletions.

    >>> from arcspan.evaluation.rules import COLLINS
    >>> tree = read_flat("(TOP (S (, ,) (NP (NN dogs)) (. .)))")
    >>> counted_brackets(tree, tree, COLLINS)[0].spans
    [(0, 1, 'S'), (0, 1, 'NP')]
    """
    keep1, keep2 = (
        [int(tag not in rules.deleted) for tag in tree.tags] for tree in (gold, predicted)
    )
    if rules.quotes and 0 != sum(keep2) != sum(keep1):
        _restore_quotes(gold, predicted, keep1, keep2, rules)
    return _left(gold, keep1, rules), _left(predicted, keep2, rules)


def _left(tree: FlatTree, keep: list[int], rules: BracketRules) -> FlatTree:
    """The words that are kept, and the brackets that count with their spans over these words."""
    at = [*accumulate(keep, initial=0)]
    words, tags = (
        [item for item, times in zip(items, keep, strict=True) for _ in range(times)]
        for items in (tree.words, tree.tags)
    )
    spans = [
        (at[i], at[j], label)
        for i, j, written in tree.spans
        if at[i] != at[j] and (label := rules.counted_label(written)) is not None
    ]
    return FlatTree(words, tags, spans, tree.problem)


def _restore_quotes(
    gold: FlatTree, predicted: FlatTree, keep1: list[int], keep2: list[int], rules: BracketRules
) -> None:
    """Put back a quotation mark that one side deletes and the other keeps (EVALB's fix_quote).

    The same mark is recognised by the number of kept words before it, which grows as marks are put back. So
    counted, a mark can meet two of the other side, and the C program puts it back twice; so does this.
    """
    marks1, marks2 = _quotes(gold, keep1, rules), _quotes(predicted, keep2, rules)
    for b, (leaf2, before) in enumerate(marks2):
        for a, (leaf1, position) in enumerate(marks1):
            gone1, gone2 = gold.tags[leaf1] in rules.deleted, predicted.tags[leaf2] in rules.deleted
            if position == before and gone1 != gone2:
                keep, marks, leaf, at = (
                    (keep1, marks1, leaf1, a) if gone1 else (keep2, marks2, leaf2, b)
                )
                keep[leaf] += 1
                marks[at:] = [(other, place + 1) for other, place in marks[at:]]


def _quotes(tree: FlatTree, keep: list[int], rules: BracketRules) -> list[tuple[int, int]]:
    """(leaf, number of kept words before it) of every leaf that QUOTE_LABEL is about."""
    before = [*accumulate(keep, initial=0)]
    return [
        (leaf, before[leaf])
        for leaf, (tag, word) in enumerate(zip(tree.tags, tree.words, strict=True))
        if tag in rules.quotes and word in ("'", '"', "/")
    ]


def match_brackets(
    gold: Sequence[LabelledSpan], predicted: Sequence[LabelledSpan], rules: BracketRules
) -> list[BracketPair]:
    """All brackets in pairs: equal ones first, then the others of the same span, then those without a partner.

    Equal brackets match one to one, first come first served.

    >>> from arcspan.evaluation.rules import COLLINS
    >>> match_brackets([(0, 1, "NP"), (0, 1, "NP")], [(0, 1, "NP")], COLLINS)
    [((0, 1, 'NP'), (0, 1, 'NP'), True), ((0, 1, 'NP'), None, False)]
    """
    free: dict[tuple[int, int], list[LabelledSpan]] = {}
    for span in predicted:
        free.setdefault(span[:2], []).append(span)
    pairs: list[BracketPair] = []
    unmatched = []
    for one in gold:
        candidates = free.get(one[:2], [])
        for other in candidates:
            if not rules.labelled or rules.same_label(one[2], other[2]):
                pairs.append((one, other, True))
                candidates.remove(other)
                break
        else:
            unmatched.append((one, candidates))
    pairs += [(one, rest.pop(0) if rest else None, False) for one, rest in unmatched]
    return pairs + [(None, other, False) for rest in free.values() for other in rest]


def count_crossing(gold: Sequence[LabelledSpan], predicted: Sequence[LabelledSpan]) -> int:
    """How many predicted brackets cross a gold bracket.

    >>> count_crossing([(0, 2, "NP"), (2, 3, "VP")], [(0, 1, "NP"), (1, 3, "VP")])
    1
    """
    spans = {(i, j) for i, j, _ in gold}
    # A span that the gold tree has crosses nothing in it.
    return sum(
        any(s < i < t < j or i < s < j < t for s, t in spans)
        for i, j, _ in predicted
        if (i, j) not in spans
    )


def align(gold: FlatTree, predicted: FlatTree, rules: BracketRules) -> SentenceBrackets:
    """Delete, check, match and count one sentence.

    >>> from arcspan.evaluation.rules import COLLINS
    >>> a = read_flat("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))")
    >>> b = read_flat("(TOP (S (NP (DT the)) (VP (NN dog) (VBZ barks)) (. .)))")
    >>> found = align(a, b, COLLINS)
    >>> found.matched, found.gold, found.crossing, found.pairs[0]
    (1, 3, 1, ((0, 3, 'S'), (0, 3, 'S'), True))
    """
    length = sum(tag not in rules.deleted_for_length for tag in gold.tags)
    gold, predicted = counted_brackets(gold, predicted, rules)
    if not predicted.words:
        return SentenceBrackets(SKIPPED, length, problem="the prediction has no words that count")
    problem = gold.problem or predicted.problem or _difference(gold.words, predicted.words, rules)
    if problem:
        return SentenceBrackets(ERROR, length, problem=problem)
    pairs = match_brackets(gold.spans, predicted.spans, rules)
    spans = [Counter((i, j) for i, j, _ in tree.spans) for tree in (gold, predicted)]
    return SentenceBrackets(
        OK,
        length,
        words=len(gold.words),
        correct_tags=sum(map(rules.same_label, gold.tags, predicted.tags)),
        gold=len(gold.spans),
        predicted=len(predicted.spans),
        matched=sum(matched for _, _, matched in pairs),
        matched_spans=(spans[0] & spans[1]).total(),
        crossing=count_crossing(gold.spans, predicted.spans),
        pairs=pairs,
    )


def _difference(gold: Sequence[str], predicted: Sequence[str], rules: BracketRules) -> str | None:
    """Why the words of the two trees do not fit, or None."""
    if len(gold) != len(predicted):
        return (
            f"{len(gold)} words that count in the gold tree, {len(predicted)} in the predicted one"
        )
    for a, b in zip(gold, predicted, strict=True):
        if not rules.same_word(a, b):
            return f"the gold word {a!r} is {b!r} in the prediction"
    return None


@dataclass(frozen=True)
class BracketScores(EvalbFigures):
    """Figures over many sentences, unrounded."""

    sentences: Sequence[SentenceBrackets]

    @cached_property
    def totals(self) -> Counter[str]:
        """The counts summed over sentences, by name."""
        totals = Counter[str]()
        for one in self.sentences:
            totals.update(bracket_counts(one))
        return totals


# The lines of EVALB's summary, and the count or the figure of each.
_NUMBERS = {
    "sentence": "sentences",
    "Error sentence": "error",
    "Skip  sentence": "skipped",
    "Valid sentence": "valid",
}
_SUMMARY = {
    "Bracketing Recall": BracketFigures.recall,
    "Bracketing Precision": BracketFigures.precision,
    "Bracketing FMeasure": BracketFigures.f1,
    "Complete match": BracketFigures.complete_match,
    "Average crossing": BracketFigures.average_crossing,
    "No crossing": BracketFigures.no_crossing,
    "2 or less crossing": BracketFigures.two_or_less_crossing,
    "Tagging accuracy": BracketFigures.tagging_accuracy,
}


@dataclass(frozen=True, repr=False)
class BracketReport(BracketScores):
    """What EVALB reports on two files: every sentence, and the summary.

    The figures are percentages rounded to two decimals, as EVALB prints them; `all` and `short` (sentences up
    to the cut-off) hold the counts and the figures unrounded.
    """

    rules: BracketRules

    @cached_property
    def all(self) -> BracketScores:
        """All sentences."""
        return BracketScores(self.sentences)

    @cached_property
    def short(self) -> BracketScores:
        """The sentences whose gold tree is not longer than the cut-off."""
        return BracketScores([one for one in self.sentences if one.length <= self.rules.cutoff])

    def figure(self, metric: Metric) -> float:
        """The value of one figure, as EVALB prints it."""
        return round(super().figure(metric), 2)

    @property
    def gives_up_at(self) -> int | None:
        """The line at which the C program gives up for too many errors (its MAX_ERROR plus two), or None."""
        errors = [number for number, one in enumerate(self.sentences, 1) if one.status == ERROR]
        return (
            errors[self.rules.max_errors + 1] if len(errors) > self.rules.max_errors + 1 else None
        )

    @property
    def signature(self) -> str:
        """How the figures were made."""
        return f"brackets|{self.rules.signature}|tags:predicted|arcspan:{__version__}"

    def __str__(self) -> str:
        """The summary in EVALB's own layout.

        >>> print(str(BracketReport((), BracketRules())).splitlines()[0])
        === Summary ===
        """
        lines = ["=== Summary ==="]
        for title, scores in (("All", self.all), (f"len<={self.rules.cutoff}", self.short)):
            lines += ["", f"-- {title} --"]
            lines += [
                f"Number of {name:<15} = {scores.totals[count]:6d}"
                for name, count in _NUMBERS.items()
            ]
            lines += [
                f"{name:<25} = {scores.figure(metric):6.2f}" for name, metric in _SUMMARY.items()
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<BracketReport F1 {self.f1:.2f} (P {self.precision:.2f}, R {self.recall:.2f}), "
            f"{self.totals['valid']} of {len(self.sentences)} sentences, {self.signature}>"
        )


def evaluate_brackets(
    gold_path: str | os.PathLike[str],
    predicted_path: str | os.PathLike[str],
    prm: BracketRules | str | os.PathLike[str] | None = None,
) -> BracketReport:
    """Score a file of predicted trees against a gold file, one tree per line, as `evalb -p prm gold predicted`.

    `prm` is a parameter file, a BracketRules, or None for the rules of COLLINS.prm. Sentences that do not fit are
    error sentences and counted as such, however many; `gives_up_at` says where the C program would have stopped
    for good (MAX_ERROR). Raises FileError where the files have different numbers of sentences and where a line is
    not a tree.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "gold").write_text("(TOP (S (NP (NNP Logic)) (VP (VBZ plays)) (. .)))")
    >>> _ = (folder / "predicted").write_text("(TOP (S (NP (NNP Logic)) (VBZ plays) (. .)))")
    >>> evaluate_brackets(folder / "gold", folder / "predicted").f1
    80.0
    """
    rules = as_rules(prm)
    sentences: list[SentenceBrackets] = []
    for number, (a, b) in enumerate(
        zip_longest(read_lines(gold_path), read_lines(predicted_path)), 1
    ):
        if a is not None and b is not None:
            one = align(_flat(a, gold_path, number), _flat(b, predicted_path, number), rules)
            sentences.append(one._replace(pairs=()))
        elif (
            a or b or ""
        ).strip():  # where one file ends first, the other may have blank lines only
            path, ended = (gold_path, predicted_path) if b is None else (predicted_path, gold_path)
            raise FileError(
                f"a tree without a partner: {name_of(ended)} ends after {len(sentences)} lines",
                path=name_of(path),
                line=number,
            )
    return BracketReport(tuple(sentences), rules)


def _flat(line: str, path: str | os.PathLike[str], number: int) -> FlatTree:
    try:
        return read_flat(line)
    except ValueError as error:
        raise FileError(
            f"{error}; EVALB reads one tree per line", path=name_of(path), line=number
        ) from None
