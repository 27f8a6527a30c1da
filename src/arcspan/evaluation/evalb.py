"""Bracket scores as EVALB (Sekine and Collins) computes them, to the last rule.

A sentence is read as the C program reads it: one line, leaves with their tags, brackets as ranges
of leaves. Leaves whose tag is deleted are removed first, which moves the spans of all brackets;
brackets without words or with a deleted label do not count; the others are matched one to one, gold
brackets in order, each with the first free predicted bracket of the same span and an equal label. A
sentence counts only if both trees then have the same words:

- no words left in the prediction: a skipped sentence (status 2);
- another number of words, another word, or unbalanced brackets: an error sentence (status 1).

Both are left out of every figure but the number of sentences. Unlike in the C program, lines,
sentences and labels may have any length, and a file on which it would loop is refused with its
line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, zip_longest
from typing import NamedTuple

from arcspan._version import __version__
from arcspan.errors import FileError
from arcspan.evaluation.bracket_rules import BracketRules, as_rules
from arcspan.evaluation.metrics import BracketFigures, EvalbFigures, Metric
from arcspan.treebanks.streams import PathLike, name_of, read_lines
from arcspan.trees.bracketed_text import LabelledSpan

# The numbers of EVALB's column "Stat.".
OK = 0
ERROR = 1
SKIPPED = 2

BracketPair = tuple[LabelledSpan | None, LabelledSpan | None, bool]
"""A gold and a predicted bracket of the same span, or None, and True if they match."""

# EVALB knows ASCII white space only: a no-break space is part of a word.
_TOKEN = re.compile(
    r"\((?P<label>[^\s()]*)(?:\s+(?P<word>[^\s()]*)(?P<leaf_end>\)))?"
    r"|(?P<closing>\))|\s+|(?P<stray>[^\s()])",
    re.ASCII,
)


class FlatTree(NamedTuple):
    """A tree in EVALB: leaves, and brackets over leaves in the order in which they open.

    A `problem` with the brackets makes the sentence an error sentence.
    """

    words: Sequence[str]
    tags: Sequence[str]
    spans: Sequence[LabelledSpan]
    problem: str | None = None


def read_flat(line: str) -> FlatTree:
    """Read a line of a bracket file; any bracket with one element is a word and its tag.

    Raises ValueError for text outside of brackets, on which the C program never ends.

    >>> read_flat("(TOP (NP (NN dogs)))")
    FlatTree(words=['dogs'], tags=['NN'], spans=[(0, 1, 'TOP'), (0, 1, 'NP')], problem=None)
    """
    words: list[str] = []
    tags: list[str] = []
    spans: list[LabelledSpan] = []
    opened: list[int] = []
    problem = None
    for match in _TOKEN.finditer(line):
        label, word, leaf_end, closing, stray = match.groups()
        if leaf_end:
            tags.append(label)
            words.append(word)
        elif label is not None:
            opened.append(len(spans))
            # The end is filled in when the bracket closes.
            spans.append((len(words), -1, label))
        elif closing and opened:
            index = opened.pop()
            start, _, label = spans[index]
            spans[index] = (start, len(words), label)
        elif closing:
            problem = "a closing bracket too many"
        elif stray:
            excerpt = line[match.start() : match.start() + 40]
            raise ValueError(f"text outside of brackets: {excerpt!r}")
    if opened:
        problem = f"{len(opened)} closing brackets too few"
    return FlatTree(words, tags, spans, problem)


class SentenceBrackets(NamedTuple):
    """The counts of one sentence after deletions; `pairs` has the spans and labels that count."""

    status: int
    length: int  # words of the gold tree, for the cut-off
    words: int = 0
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
        """Return True if the predicted brackets are the gold ones."""
        return self.status == OK and self.gold == self.predicted == self.matched


def bracket_counts(sentence: SentenceBrackets) -> dict[str, int]:
    """Return the counts of a sentence by their names in `metrics`."""
    is_valid = sentence.status == OK
    return {
        "sentences": 1,
        "valid": int(is_valid),
        "error": int(sentence.status == ERROR),
        "skipped": int(sentence.status == SKIPPED),
        "gold": sentence.gold,
        "predicted": sentence.predicted,
        "matched": sentence.matched,
        "matched_spans": sentence.matched_spans,
        "complete": int(sentence.complete),
        "crossing": sentence.crossing,
        "without_crossing": int(is_valid and sentence.crossing == 0),
        "with_two_or_less": int(is_valid and sentence.crossing <= 2),
        "bracket_words": sentence.words,
        "bracket_tags": sentence.correct_tags,
    }


def counted_brackets(
    gold: FlatTree, predicted: FlatTree, rules: BracketRules
) -> tuple[FlatTree, FlatTree]:
    """Return both trees after all deletions.

    >>> from arcspan.evaluation.bracket_rules import COLLINS
    >>> tree = read_flat("(TOP (S (, ,) (NP (NN dogs)) (. .)))")
    >>> counted_brackets(tree, tree, COLLINS)[0].spans
    [(0, 1, 'S'), (0, 1, 'NP')]
    """
    # How often each leaf counts: 0 if it is deleted, 1 if not, 2 if it is put back twice.
    gold_times = [int(tag not in rules.deleted) for tag in gold.tags]
    predicted_times = [int(tag not in rules.deleted) for tag in predicted.tags]
    # The C program puts marks back only if the numbers of words differ.
    if rules.quotes and 0 != sum(predicted_times) != sum(gold_times):
        _restore_quotes(gold, predicted, gold_times, predicted_times, rules)
    return _delete(gold, gold_times, rules), _delete(predicted, predicted_times, rules)


def _delete(tree: FlatTree, times: list[int], rules: BracketRules) -> FlatTree:
    """Return the tree with each leaf as often as `times` says, and the brackets that count."""
    new_fence = list(accumulate(times, initial=0))
    words: list[str] = []
    tags: list[str] = []
    for word, tag, repetitions in zip(tree.words, tree.tags, times, strict=True):
        words += [word] * repetitions
        tags += [tag] * repetitions
    spans = []
    for i, j, label in tree.spans:
        counted_label = rules.counted_label(label)
        if new_fence[i] != new_fence[j] and counted_label is not None:
            spans.append((new_fence[i], new_fence[j], counted_label))
    return FlatTree(words, tags, spans, tree.problem)


def _restore_quotes(
    gold: FlatTree,
    predicted: FlatTree,
    gold_times: list[int],
    predicted_times: list[int],
    rules: BracketRules,
) -> None:
    """Put back a quotation mark that is deleted in one tree only (EVALB's fix_quote).

    The same mark is recognised by the number of remaining words before it, which grows as marks are
    put back. So counted, a mark can meet two of the other tree, and the C program puts it back
    twice; so does this function.
    """
    gold_marks = _quotes(gold, gold_times, rules)
    predicted_marks = _quotes(predicted, predicted_times, rules)
    for b in range(len(predicted_marks)):
        # The C program reads this position once, before marks are put back.
        predicted_leaf, predicted_position = predicted_marks[b]
        for a in range(len(gold_marks)):
            gold_leaf, gold_position = gold_marks[a]
            is_gold_deleted = gold.tags[gold_leaf] in rules.deleted
            is_predicted_deleted = predicted.tags[predicted_leaf] in rules.deleted
            if gold_position != predicted_position or is_gold_deleted == is_predicted_deleted:
                continue
            if is_gold_deleted:
                _put_back(gold_marks, a, gold_times)
            else:
                _put_back(predicted_marks, b, predicted_times)


def _put_back(marks: list[tuple[int, int]], first: int, times: list[int]) -> None:
    """Put back a mark, which moves it and the later ones by a word."""
    times[marks[first][0]] += 1
    for index in range(first, len(marks)):
        leaf, position = marks[index]
        marks[index] = (leaf, position + 1)


def _quotes(tree: FlatTree, times: list[int], rules: BracketRules) -> list[tuple[int, int]]:
    """Return (leaf, remaining words before it) of the leaves to which QUOTE_LABEL applies."""
    before = list(accumulate(times, initial=0))
    marks = []
    for leaf, (tag, word) in enumerate(zip(tree.tags, tree.words, strict=True)):
        if tag in rules.quotes and word in ("'", '"', "/"):
            marks.append((leaf, before[leaf]))
    return marks


def match_brackets(
    gold: Sequence[LabelledSpan], predicted: Sequence[LabelledSpan], rules: BracketRules
) -> list[BracketPair]:
    """Pair all brackets: equal ones, then others of the same span, then those without partner.

    Equal brackets match one to one, in order.

    >>> from arcspan.evaluation.bracket_rules import COLLINS
    >>> match_brackets([(0, 1, "NP"), (0, 1, "NP")], [(0, 1, "NP")], COLLINS)
    [((0, 1, 'NP'), (0, 1, 'NP'), True), ((0, 1, 'NP'), None, False)]
    """
    free: dict[tuple[int, int], list[LabelledSpan]] = {}
    for span in predicted:
        free.setdefault(span[:2], []).append(span)
    pairs: list[BracketPair] = []
    unmatched = []
    # In the order of the C program: the first free bracket with an equal label.
    for gold_span in gold:
        candidates = free.get(gold_span[:2], [])
        for candidate in candidates:
            if not rules.labelled or rules.same_label(gold_span[2], candidate[2]):
                pairs.append((gold_span, candidate, True))
                candidates.remove(candidate)
                break
        else:
            unmatched.append(gold_span)
    # Only now, so that no equal bracket is taken as a wrong one.
    for gold_span in unmatched:
        candidates = free.get(gold_span[:2], [])
        pairs.append((gold_span, candidates.pop(0) if candidates else None, False))
    for candidates in free.values():
        pairs += [(None, candidate, False) for candidate in candidates]
    return pairs


def count_crossing(gold: Sequence[LabelledSpan], predicted: Sequence[LabelledSpan]) -> int:
    """Count the predicted brackets that cross a gold bracket.

    >>> count_crossing([(0, 2, "NP"), (2, 3, "VP")], [(0, 1, "NP"), (1, 3, "VP")])
    1
    """
    gold_spans = {(i, j) for i, j, _ in gold}
    count = 0
    for i, j, _ in predicted:
        # A span of the gold tree crosses nothing in it.
        if (i, j) not in gold_spans:
            count += any(s < i < t < j or i < s < j < t for s, t in gold_spans)
    return count


def align(gold: FlatTree, predicted: FlatTree, rules: BracketRules) -> SentenceBrackets:
    """Delete, check, match and count the brackets of one sentence.

    >>> from arcspan.evaluation.bracket_rules import COLLINS
    >>> a = read_flat("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))")
    >>> b = read_flat("(TOP (S (NP (DT the)) (VP (NN dog) (VBZ barks)) (. .)))")
    >>> sentence = align(a, b, COLLINS)
    >>> sentence.matched, sentence.gold, sentence.crossing, sentence.pairs[0]
    (1, 3, 1, ((0, 3, 'S'), (0, 3, 'S'), True))
    """
    # The cut-off is for the gold sentence before deletions.
    length = sum(tag not in rules.deleted_for_length for tag in gold.tags)
    gold, predicted = counted_brackets(gold, predicted, rules)
    if not predicted.words:
        return SentenceBrackets(SKIPPED, length, problem="the prediction has no words that count")
    problem = gold.problem or predicted.problem or _difference(gold.words, predicted.words, rules)
    if problem:
        return SentenceBrackets(ERROR, length, problem=problem)
    pairs = match_brackets(gold.spans, predicted.spans, rules)
    gold_spans = Counter((i, j) for i, j, _ in gold.spans)
    predicted_spans = Counter((i, j) for i, j, _ in predicted.spans)
    return SentenceBrackets(
        OK,
        length,
        words=len(gold.words),
        correct_tags=sum(map(rules.same_label, gold.tags, predicted.tags)),
        gold=len(gold.spans),
        predicted=len(predicted.spans),
        matched=sum(is_match for _, _, is_match in pairs),
        matched_spans=(gold_spans & predicted_spans).total(),
        crossing=count_crossing(gold.spans, predicted.spans),
        pairs=pairs,
    )


def _difference(gold: Sequence[str], predicted: Sequence[str], rules: BracketRules) -> str | None:
    """Describe the difference between the words of the two trees, or return None."""
    if len(gold) != len(predicted):
        return (
            f"{len(gold)} words that count in the gold tree, {len(predicted)} in the predicted one"
        )
    for gold_word, predicted_word in zip(gold, predicted, strict=True):
        if not rules.same_word(gold_word, predicted_word):
            return f"the gold word {gold_word!r} is {predicted_word!r} in the prediction"
    return None


@dataclass(frozen=True)
class BracketScores(EvalbFigures):
    """Figures over many sentences, unrounded."""

    sentences: Sequence[SentenceBrackets]

    @cached_property
    def totals(self) -> Counter[str]:
        """Return the counts summed over sentences, by name."""
        totals = Counter[str]()
        for sentence in self.sentences:
            totals.update(bracket_counts(sentence))
        return totals


# The lines of EVALB's summary with their counts and figures.
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
    """EVALB's report on two files: every sentence, and the summary.

    The figures are percentages rounded to two decimals, as EVALB prints them; `all` and `short`
    (sentences up to the cut-off) hold the counts and the figures unrounded.
    """

    rules: BracketRules

    @cached_property
    def all(self) -> BracketScores:
        """Return the scores of all sentences."""
        return BracketScores(self.sentences)

    @cached_property
    def short(self) -> BracketScores:
        """Return the scores of sentences whose gold tree is not longer than the cut-off."""
        cutoff = self.rules.cutoff
        return BracketScores([sentence for sentence in self.sentences if sentence.length <= cutoff])

    def figure(self, metric: Metric) -> float:
        """Return the value of one figure, as EVALB prints it."""
        # Unrounded figures are in `all`.
        return round(super().figure(metric), 2)

    @property
    def gives_up_at(self) -> int | None:
        """Return the line at which the C program gives up for too many errors, or None."""
        # It gives up at the first error beyond MAX_ERROR plus one.
        tolerated = self.rules.max_errors + 1
        for number, sentence in enumerate(self.sentences, 1):
            if sentence.status == ERROR:
                if tolerated <= 0:
                    return number
                tolerated -= 1
        return None

    @property
    def signature(self) -> str:
        """Return the rules and versions by which the figures were made."""
        return f"brackets|{self.rules.signature}|tags:predicted|arcspan:{__version__}"

    def __str__(self) -> str:
        """Return the summary in EVALB's layout.

        >>> print(str(BracketReport((), BracketRules())).splitlines()[0])
        === Summary ===
        """
        lines = ["=== Summary ==="]
        for title, scores in (("All", self.all), (f"len<={self.rules.cutoff}", self.short)):
            lines += ["", f"-- {title} --"]
            for name, count in _NUMBERS.items():
                lines.append(f"Number of {name:<15} = {scores.totals[count]:6d}")
            for name, metric in _SUMMARY.items():
                lines.append(f"{name:<25} = {scores.figure(metric):6.2f}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<BracketReport F1 {self.f1:.2f} (P {self.precision:.2f}, R {self.recall:.2f}), "
            f"{self.totals['valid']} of {len(self.sentences)} sentences, {self.signature}>"
        )


def evaluate_brackets(
    gold_path: PathLike, predicted_path: PathLike, prm: BracketRules | PathLike | None = None
) -> BracketReport:
    """Score a file of predicted trees against a gold file, like `evalb -p prm gold predicted`.

    Files have one tree per line. `prm` is a parameter file, a BracketRules, or None for the rules
    of COLLINS.prm. Sentences with different words are counted as error sentences, however many;
    `gives_up_at` is the line at which the C program would have stopped for good (MAX_ERROR). Raises
    FileError for files with different numbers of sentences and for a line that is not a tree.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "gold").write_text("(TOP (S (NP (NNP Logic)) (VP (VBZ plays)) (. .)))")
    >>> _ = (folder / "predicted").write_text("(TOP (S (NP (NNP Logic)) (VBZ plays) (. .)))")
    >>> evaluate_brackets(folder / "gold", folder / "predicted").f1
    80.0
    """
    rules = as_rules(prm)
    sentences: list[SentenceBrackets] = []
    lines = zip_longest(read_lines(gold_path), read_lines(predicted_path))
    for number, (gold_line, predicted_line) in enumerate(lines, 1):
        if gold_line is not None and predicted_line is not None:
            gold = _read_line(gold_line, gold_path, number)
            predicted = _read_line(predicted_line, predicted_path, number)
            # Millions of pairs would fill the memory.
            sentences.append(align(gold, predicted, rules)._replace(pairs=()))
        # Beyond the end of one file, the other may have blank lines only.
        elif (gold_line or predicted_line or "").strip():
            longer, shorter = gold_path, predicted_path
            if gold_line is None:
                longer, shorter = predicted_path, gold_path
            raise FileError(
                f"a tree without a partner: {name_of(shorter)} ends after {len(sentences)} lines",
                path=name_of(longer),
                line=number,
            )
    return BracketReport(tuple(sentences), rules)


def _read_line(line: str, path: PathLike, number: int) -> FlatTree:
    try:
        return read_flat(line)
    except ValueError as error:
        message = f"{error}; EVALB reads one tree per line"
        raise FileError(message, path=name_of(path), line=number) from None
