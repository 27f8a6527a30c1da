"""Bracket scores as EVALB (Sekine and Collins) computes them, to the last rule.

A sentence is read as the C program reads it: one line, leaves with their tags, brackets as ranges of leaves.
Leaves whose tag is deleted go first, which moves the spans of all brackets; brackets left without words or
with a deleted label do not count; the rest is matched one to one, gold brackets in order, each with the first
free predicted bracket of the same span and an equal label. A sentence counts only if both trees then have the
same words:

- no words left in the prediction: a skipped sentence (status 2);
- another number of words, another word, or unbalanced brackets: an error sentence (status 1).

Both are left out of every figure but the number of sentences. Unlike the C program this one knows no longest
line, sentence or label, and a file that C would loop on is refused with its line.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate, zip_longest
from typing import NamedTuple

from arcspan._version import __version__
from arcspan.errors import FileError
from arcspan.evaluation.rules import BracketRules, as_rules
from arcspan.treebanks.streams import name_of, read_lines

Bracket = tuple[int, int, str]

OK, ERROR, SKIPPED = 0, 1, 2

# EVALB knows ASCII white space only: a no-break space is part of a word.
_TOKEN = re.compile(r"\(([^\s()]*)(?:\s+([^\s()]*)(\)))?|(\))|\s+|([^\s()])", re.ASCII)
# The words that QUOTE_LABEL is about.
_QUOTES = frozenset({"'", '"', "/"})


class FlatTree(NamedTuple):
    """A tree as EVALB sees it: leaves, and brackets over leaves in the order in which they open.

    `problem` says what is wrong with the brackets; such a sentence is an error sentence.
    """

    words: Sequence[str]
    tags: Sequence[str]
    spans: Sequence[Bracket]
    problem: str | None = None


def read_flat(line: str) -> FlatTree:
    """One line of a bracket file; a bracket with one element is a word and its tag, whatever the tag.

    Raises ValueError for text outside of brackets, on which the C program never ends.

    >>> read_flat("(TOP (NP (NN dogs)))")
    FlatTree(words=['dogs'], tags=['NN'], spans=[(0, 1, 'TOP'), (0, 1, 'NP')], problem=None)
    """
    words: list[str] = []
    tags: list[str] = []
    spans: list[Bracket] = []
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
        elif closing:
            if stack:
                opened = stack.pop()
                start, _, label = spans[opened]
                spans[opened] = (start, len(words), label)
            else:
                problem = "a closing bracket too many"
        elif stray:
            raise ValueError(f"text outside of brackets: {line[match.start() : match.start() + 40]!r}")
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

    @property
    def complete(self) -> bool:
        """Whether every bracket was found and none was invented."""
        return self.status == OK and self.gold == self.predicted == self.matched


class CountedBrackets(NamedTuple):
    """What is left of a sentence to count: words and tags and brackets of both trees after all deletions."""

    gold_words: list[str]
    predicted_words: list[str]
    gold_tags: list[str]
    predicted_tags: list[str]
    gold: list[Bracket]
    predicted: list[Bracket]


def counted_brackets(gold: FlatTree, predicted: FlatTree, rules: BracketRules) -> CountedBrackets:
    """Take out what does not count.

    >>> from arcspan.evaluation.rules import COLLINS
    >>> tree = read_flat("(TOP (S (, ,) (NP (NN dogs)) (. .)))")
    >>> counted_brackets(tree, tree, COLLINS).gold
    [(0, 1, 'S'), (0, 1, 'NP')]
    """
    deleted = rules.deleted
    keep1 = [int(tag not in deleted) for tag in gold.tags]
    keep2 = [int(tag not in deleted) for tag in predicted.tags]
    if rules.quotes and 0 != sum(keep2) != sum(keep1):
        _restore_quotes(gold, predicted, keep1, keep2, rules)
    return CountedBrackets(
        _kept(gold.words, keep1),
        _kept(predicted.words, keep2),
        _kept(gold.tags, keep1),
        _kept(predicted.tags, keep2),
        _moved(gold.spans, keep1, rules),
        _moved(predicted.spans, keep2, rules),
    )


def _kept(items: Sequence[str], keep: list[int]) -> list[str]:
    return [item for item, times in zip(items, keep, strict=True) for _ in range(times)]


def _moved(spans: Sequence[Bracket], keep: list[int], rules: BracketRules) -> list[Bracket]:
    """The brackets that count, with their spans over the kept words."""
    at = [*accumulate(keep, initial=0)]
    label_of = rules.counted_label
    return [
        (at[i], at[j], label)
        for i, j, written in spans
        if at[i] != at[j] and (label := label_of(written)) is not None
    ]


def _restore_quotes(
    gold: FlatTree, predicted: FlatTree, keep1: list[int], keep2: list[int], rules: BracketRules
) -> None:
    """Put back a quotation mark that one side deletes and the other keeps (EVALB's fix_quote).

    The same mark is recognised by the number of kept words before it, which grows as marks are put back. So
    counted, a mark can meet two of the other side, and the C program puts it back twice; so does this.
    """
    marks1, marks2 = _quotes(gold, keep1, rules), _quotes(predicted, keep2, rules)
    for b, (leaf2, _) in enumerate(marks2):
        before = marks2[b][1]
        for a, (leaf1, position) in enumerate(marks1):
            tag1, tag2 = gold.tags[leaf1], predicted.tags[leaf2]
            if position != before or tag1 == tag2:
                continue
            gone1, gone2 = tag1 in rules.deleted, tag2 in rules.deleted
            if gone1 and not gone2:
                keep1[leaf1] += 1
                marks1[a:] = [(leaf, at + 1) for leaf, at in marks1[a:]]
            elif gone2 and not gone1:
                keep2[leaf2] += 1
                marks2[b:] = [(leaf, at + 1) for leaf, at in marks2[b:]]


def _quotes(tree: FlatTree, keep: list[int], rules: BracketRules) -> list[tuple[int, int]]:
    """(leaf, number of kept words before it) of every leaf that QUOTE_LABEL is about."""
    before = [*accumulate(keep, initial=0)]
    return [
        (leaf, before[leaf])
        for leaf, (tag, word) in enumerate(zip(tree.tags, tree.words, strict=True))
        if tag in rules.quotes and word in _QUOTES
    ]


def match_brackets(
    gold: Sequence[Bracket], predicted: Sequence[Bracket], rules: BracketRules
) -> list[tuple[int, int]]:
    """Pairs (gold, predicted) of positions of equal brackets, one to one, first come first served.

    >>> from arcspan.evaluation.rules import COLLINS
    >>> match_brackets([(0, 1, "NP"), (0, 1, "NP")], [(0, 1, "NP")], COLLINS)
    [(0, 0)]
    """
    free: dict[tuple[int, int], list[int]] = {}
    for b, (i, j, _) in enumerate(predicted):
        free.setdefault((i, j), []).append(b)
    pairs = []
    for a, (i, j, label) in enumerate(gold):
        candidates = free.get((i, j))
        if not candidates:
            continue
        for place, b in enumerate(candidates):
            if not rules.labelled or rules.same_label(label, predicted[b][2]):
                pairs.append((a, b))
                del candidates[place]
                break
    return pairs


def count_crossing(gold: Sequence[Bracket], predicted: Sequence[Bracket]) -> int:
    """How many predicted brackets cross a gold bracket.

    >>> count_crossing([(0, 2, "NP"), (2, 3, "VP")], [(0, 1, "NP"), (1, 3, "VP")])
    1
    """
    spans = {(i, j) for i, j, _ in gold}
    # A span that the gold tree has crosses nothing in it.
    return sum(
        any(s < i < t < j or i < s < j < t for s, t in spans) for i, j, _ in predicted if (i, j) not in spans
    )


class Alignment(NamedTuple):
    """A sentence's counts, the brackets that counted in both trees, and which of them match (by position).

    No brackets are given for a sentence that does not count.
    """

    counts: SentenceBrackets
    gold: Sequence[Bracket] = ()
    predicted: Sequence[Bracket] = ()
    pairs: Sequence[tuple[int, int]] = ()


def align(gold: FlatTree, predicted: FlatTree, rules: BracketRules) -> Alignment:
    """Delete, check, match and count one sentence.

    >>> from arcspan.evaluation.rules import COLLINS
    >>> a = read_flat("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))")
    >>> b = read_flat("(TOP (S (NP (DT the)) (VP (NN dog) (VBZ barks)) (. .)))")
    >>> found = align(a, b, COLLINS)
    >>> found.counts.matched, found.counts.gold, found.counts.crossing, found.pairs
    (1, 3, 1, [(0, 0)])
    """
    unmeasured = rules.deleted_for_length
    length = sum(tag not in unmeasured for tag in gold.tags)
    left = counted_brackets(gold, predicted, rules)
    if not left.predicted_words:
        return Alignment(SentenceBrackets(SKIPPED, length, problem="the prediction has no words that count"))
    problem = gold.problem or predicted.problem or _difference(left, rules)
    if problem:
        return Alignment(SentenceBrackets(ERROR, length, problem=problem))
    pairs = match_brackets(left.gold, left.predicted, rules)
    spans = Counter((i, j) for i, j, _ in left.gold)
    counts = SentenceBrackets(
        OK,
        length,
        words=len(left.gold_words),
        correct_tags=sum(map(rules.same_label, left.gold_tags, left.predicted_tags)),
        gold=len(left.gold),
        predicted=len(left.predicted),
        matched=len(pairs),
        matched_spans=(spans & Counter((i, j) for i, j, _ in left.predicted)).total(),
        crossing=count_crossing(left.gold, left.predicted),
    )
    return Alignment(counts, left.gold, left.predicted, pairs)


def _difference(left: CountedBrackets, rules: BracketRules) -> str | None:
    """Why the words of the two trees do not fit, or None."""
    if len(left.gold_words) != len(left.predicted_words):
        n, k = len(left.gold_words), len(left.predicted_words)
        return f"{n} words that count in the gold tree, {k} in the predicted one"
    if left.gold_words != left.predicted_words:
        for a, b in zip(left.gold_words, left.predicted_words, strict=True):
            if not rules.same_word(a, b):
                return f"the gold word {a!r} is {b!r} in the prediction"
    return None


@dataclass(frozen=True)
class BracketScores:
    """Counts over many sentences and the figures they make, in percent."""

    sentences: int = 0
    errors: int = 0
    skipped: int = 0
    words: int = 0
    correct_tags: int = 0
    gold: int = 0
    predicted: int = 0
    matched: int = 0
    matched_spans: int = 0
    complete: int = 0
    crossing: int = 0
    without_crossing: int = 0
    with_two_or_less: int = 0

    @classmethod
    def total(cls, sentences: Iterable[SentenceBrackets]) -> BracketScores:
        """Add up sentences."""
        counts = dict.fromkeys((field.name for field in fields(cls)), 0)
        for one in sentences:
            counts["sentences"] += 1
            counts["errors"] += one.status == ERROR
            counts["skipped"] += one.status == SKIPPED
            if one.status != OK:
                continue
            for name in (
                "words",
                "correct_tags",
                "gold",
                "predicted",
                "matched",
                "matched_spans",
                "crossing",
            ):
                counts[name] += getattr(one, name)
            counts["complete"] += one.complete
            counts["without_crossing"] += one.crossing == 0
            counts["with_two_or_less"] += one.crossing <= 2
        return cls(**counts)

    @property
    def valid(self) -> int:
        """Sentences that counted."""
        return self.sentences - self.errors - self.skipped

    @property
    def recall(self) -> float:
        """Share of the gold brackets that were found."""
        return _percent(self.matched, self.gold)

    @property
    def precision(self) -> float:
        """Share of the predicted brackets that are right."""
        return _percent(self.matched, self.predicted)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where nothing matched."""
        return _harmonic(self.precision, self.recall)

    @property
    def unlabelled_recall(self) -> float:
        """Share of the gold spans that were found, under whatever label."""
        return _percent(self.matched_spans, self.gold)

    @property
    def unlabelled_precision(self) -> float:
        """Share of the predicted spans that are right, under whatever label."""
        return _percent(self.matched_spans, self.predicted)

    @property
    def unlabelled_f1(self) -> float:
        """Harmonic mean of unlabelled precision and recall."""
        return _harmonic(self.unlabelled_precision, self.unlabelled_recall)

    @property
    def complete_match(self) -> float:
        """Share of the valid sentences whose every bracket is right."""
        return _percent(self.complete, self.valid)

    @property
    def average_crossing(self) -> float:
        """Predicted brackets that cross a gold bracket, a valid sentence."""
        return self.crossing / self.valid if self.valid else 0.0

    @property
    def no_crossing(self) -> float:
        """Share of the valid sentences without crossing brackets."""
        return _percent(self.without_crossing, self.valid)

    @property
    def two_or_less_crossing(self) -> float:
        """Share of the valid sentences with at most two crossing brackets."""
        return _percent(self.with_two_or_less, self.valid)

    @property
    def tagging_accuracy(self) -> float:
        """Share of the words that count whose tag is right."""
        return _percent(self.correct_tags, self.words)


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


# Line of EVALB's summary -> the attribute that holds it.
_SUMMARY = {
    "Bracketing Recall": "recall",
    "Bracketing Precision": "precision",
    "Bracketing FMeasure": "f1",
    "Complete match": "complete_match",
    "Average crossing": "average_crossing",
    "No crossing": "no_crossing",
    "2 or less crossing": "two_or_less_crossing",
    "Tagging accuracy": "tagging_accuracy",
}


@dataclass(frozen=True, repr=False)
class BracketReport:
    """What EVALB reports on two files: every sentence, and the summary.

    The figures are percentages rounded to two decimals, as EVALB prints them; `all` and `short` (sentences up
    to the cut-off) hold the counts and the figures unrounded.
    """

    sentences: tuple[SentenceBrackets, ...]
    rules: BracketRules

    @cached_property
    def all(self) -> BracketScores:
        """Totals over all sentences."""
        return BracketScores.total(self.sentences)

    @cached_property
    def short(self) -> BracketScores:
        """Totals over the sentences whose gold tree is not longer than the cut-off."""
        return BracketScores.total(one for one in self.sentences if one.length <= self.rules.cutoff)

    @property
    def precision(self) -> float:
        """Bracketing precision."""
        return round(self.all.precision, 2)

    @property
    def recall(self) -> float:
        """Bracketing recall."""
        return round(self.all.recall, 2)

    @property
    def f1(self) -> float:
        """Bracketing F-measure."""
        return round(self.all.f1, 2)

    @property
    def unlabelled_precision(self) -> float:
        """Precision of spans, whatever their labels."""
        return round(self.all.unlabelled_precision, 2)

    @property
    def unlabelled_recall(self) -> float:
        """Recall of spans, whatever their labels."""
        return round(self.all.unlabelled_recall, 2)

    @property
    def unlabelled_f1(self) -> float:
        """F-measure of spans, whatever their labels."""
        return round(self.all.unlabelled_f1, 2)

    @property
    def complete_match(self) -> float:
        """Share of the valid sentences that are right in every bracket."""
        return round(self.all.complete_match, 2)

    @property
    def average_crossing(self) -> float:
        """Crossing brackets a valid sentence."""
        return round(self.all.average_crossing, 2)

    @property
    def no_crossing(self) -> float:
        """Share of the valid sentences without crossing brackets."""
        return round(self.all.no_crossing, 2)

    @property
    def two_or_less_crossing(self) -> float:
        """Share of the valid sentences with at most two crossing brackets."""
        return round(self.all.two_or_less_crossing, 2)

    @property
    def tagging_accuracy(self) -> float:
        """Share of the words that count whose tag is right."""
        return round(self.all.tagging_accuracy, 2)

    @property
    def gives_up_at(self) -> int | None:
        """The line at which the C program gives up for too many errors (its MAX_ERROR plus two), or None."""
        errors = [number for number, one in enumerate(self.sentences, 1) if one.status == ERROR]
        return errors[self.rules.max_errors + 1] if len(errors) > self.rules.max_errors + 1 else None

    @property
    def signature(self) -> str:
        """How the figures were made."""
        return f"brackets|{self.rules.signature}|tags:predicted|arcspan:{__version__}"

    def __str__(self) -> str:
        """The summary in EVALB's own layout.

        >>> print(str(BracketReport((), BracketRules())).splitlines()[0])
        === Summary ===
        """
        parts = [("-- All --", self.all), (f"-- len<={self.rules.cutoff} --", self.short)]
        lines = ["=== Summary ==="]
        for title, scores in parts:
            lines += ["", title]
            counts = {
                "sentence": scores.sentences,
                "Error sentence": scores.errors,
                "Skip  sentence": scores.skipped,
                "Valid sentence": scores.valid,
            }
            lines += [f"{'Number of ' + name:<25} = {count:6d}" for name, count in counts.items()]
            lines += [
                f"{name:<25} = {getattr(scores, attribute):6.2f}" for name, attribute in _SUMMARY.items()
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<BracketReport F1 {self.f1:.2f} (P {self.precision:.2f}, R {self.recall:.2f}), "
            f"{self.all.valid} of {self.all.sentences} sentences, {self.signature}>"
        )


def evaluate_brackets(
    gold_path: str | os.PathLike[str],
    predicted_path: str | os.PathLike[str],
    prm: BracketRules | str | os.PathLike[str] | None = None,
) -> BracketReport:
    """Score a file of predicted trees against a gold file, one tree a line, as `evalb -p prm gold predicted`.

    `prm` is a parameter file, a BracketRules, or None for the rules of COLLINS.prm. Sentences that do not fit are
    error sentences and counted as such, however many; `gives_up_at` says where the C program would have stopped
    for good (MAX_ERROR). Raises FileError where the files have different numbers of sentences and where a line is
    no tree.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "gold").write_text("(TOP (S (NP (NNP Logic)) (VP (VBZ plays)) (. .)))")
    >>> _ = (folder / "predicted").write_text("(TOP (S (NP (NNP Logic)) (VBZ plays) (. .)))")
    >>> evaluate_brackets(folder / "gold", folder / "predicted").f1
    80.0
    """
    rules = as_rules(prm)
    sentences: list[SentenceBrackets] = []
    golds, predictions = read_lines(gold_path), read_lines(predicted_path)
    for number, (a, b) in enumerate(zip_longest(golds, predictions), 1):
        if a is None or b is None:
            _refuse_surplus(gold_path, predicted_path, number, a, golds, b, predictions)
            break
        one = align(_flat(a, gold_path, number), _flat(b, predicted_path, number), rules).counts
        sentences.append(one)
    return BracketReport(tuple(sentences), rules)


def _flat(line: str, path: str | os.PathLike[str], number: int) -> FlatTree:
    try:
        return read_flat(line)
    except ValueError as error:
        raise FileError(f"{error}; EVALB reads one tree a line", path=name_of(path), line=number) from None


def _refuse_surplus(
    gold_path: str | os.PathLike[str],
    predicted_path: str | os.PathLike[str],
    number: int,
    gold_line: str | None,
    golds: Iterable[str],
    predicted_line: str | None,
    predictions: Iterable[str],
) -> None:
    """Where one file ends first, the other may have blank lines only."""
    path, line, rest = (gold_path, gold_line, golds)
    if gold_line is None:
        path, line, rest = (predicted_path, predicted_line, predictions)
    for place, text in enumerate([line or "", *rest], number):
        if text.strip():
            other = predicted_path if gold_line is not None else gold_path
            raise FileError(
                f"a tree without partner: {name_of(other)} ends after {number - 1} lines",
                path=name_of(path),
                line=place,
            )
