"""Scores of raw text, as defined by the CoNLL 2018 shared task (Zeman et al. 2018).

A system that starts from raw text has tokens, words and sentences of its own, so its words are
aligned with the gold words before anything is compared. `udtools.udeval`, the scorer that UD's
maintainers keep, does the counting; this module reads the files (compressed ones and parses too),
names the file and line of what is wrong, and holds the figures. Subtypes of relations never count;
punctuation always does. Heads may have several roots, but no cycles. Enhanced dependencies are not
scored.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, NamedTuple, Protocol

from arcspan._version import __version__
from arcspan.errors import FileError, MissingExtraError
from arcspan.evaluation.tables import Printable, columns, two_decimals
from arcspan.treebanks import ConlluSentence, read_conllu
from arcspan.treebanks.streams import PathLike, name_of

_METRICS = (
    *("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"),
    *("UAS", "LAS", "CLAS", "MLAS", "BLEX"),
)
# The line number in a message of udeval.
_LINE = re.compile(r"(?: in the sentence that ends)? at (?:line )?(?P<line>\d+)")


class HasConllu(Protocol):
    """An object that writes itself as a CoNLL-U sentence, such as a Parse."""

    def conllu(self) -> str:
        """Return the lines of the sentence."""


RawSource = PathLike | Iterable[ConlluSentence | HasConllu]
"""A CoNLL-U file, or sentences."""


class RawScore(NamedTuple):
    """A metric with its counts in the gold file and in the prediction, and of right ones."""

    precision: float
    recall: float
    f1: float  # the score of the shared task
    # Share of the aligned words; None for Tokens, Sentences and Words.
    aligned_accuracy: float | None
    gold: int
    predicted: int
    right: int
    aligned: int | None

    @classmethod
    def of(cls, score: Any) -> RawScore:
        """Convert one of udeval's scores; shares become percentages."""
        return cls(
            precision=100 * score.precision,
            recall=100 * score.recall,
            f1=100 * score.f1,
            aligned_accuracy=100 * score.aligned_accuracy if score.aligned_total else None,
            gold=score.gold_total,
            predicted=score.system_total,
            right=score.correct,
            aligned=score.aligned_total,
        )


@dataclass(frozen=True, repr=False)
class RawReport(Printable):
    """The CoNLL 2018 scores by name: Tokens, Sentences, Words, UPOS ... LAS, CLAS, MLAS, BLEX."""

    scores: dict[str, RawScore]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> RawScore:
        return self.scores[name]

    def figures(self) -> dict[str, float]:
        """Return the F1 of every metric."""
        return {name: score.f1 for name, score in self.scores.items()}

    @property
    def signature(self) -> str:
        """Return the rules and versions by which the figures were made."""
        versions = f"udtools:{version('udtools')}|arcspan:{__version__}"
        return f"conll18|words:aligned|subtypes:ignored|{versions}"

    def to_dict(self) -> dict[str, Any]:
        """Return figures and counts of every metric, and their signature."""
        scores = {name: score._asdict() for name, score in self.scores.items()}
        return {**scores, "signature": self.signature, "notes": list(self.notes)}

    def __str__(self) -> str:
        rows = [["", "precision", "recall", "F1", "aligned accuracy"]]
        for name, score in self.scores.items():
            rows.append([name, *map(two_decimals, score[:4])])
        notes = [f"Note: {text}" for text in self.notes]
        return "\n\n".join([f"Raw text  [{self.signature}]\n{columns(rows)}", *notes])

    def __repr__(self) -> str:
        names = ("Words", "Sentences", "UAS", "LAS")
        return f"<RawReport: {', '.join(f'{name} {self[name].f1:.2f}' for name in names)}>"


def evaluate_raw(gold: RawSource, predicted: RawSource) -> RawReport:
    r"""Score a system's words, sentences and trees for raw text, as CoNLL 2018 did.

    gold, predicted: CoNLL-U files (also .gz, .xz), or sentences: `ConlluSentence`s, parses. The
    sentences may be split differently, but must have the same characters, spaces aside.

    Needs udtools (`pip install 'arcspan[ud]'`). Raises FileError for different texts, with the
    first different line of both.

    >>> gold = [ConlluSentence(["1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_",
    ...     "1\tde\tde\tADP\t_\t_\t0\troot\t_\t_", "2\tle\tle\tDET\t_\t_\t1\tdet\t_\t_"])]
    >>> one_word = [ConlluSentence(["1\tdu\tdu\tADP\t_\t_\t0\troot\t_\t_"])]
    >>> report = evaluate_raw(gold, one_word)
    >>> report["Tokens"].f1, report["Words"].recall
    (100.0, 0.0)
    """
    try:
        from udtools import udeval
    except ImportError:
        raise MissingExtraError("scoring raw text", "ud") from None
    gold_file = _load(udeval, gold, "the gold sentences")
    predicted_file = _load(udeval, predicted, "the predicted sentences")
    _check_same_text(gold_file, predicted_file)
    scores = udeval.evaluate(gold_file, predicted_file)
    notes = tuple(_notes(gold_file, predicted_file))
    return RawReport({name: RawScore.of(scores[name]) for name in _METRICS}, notes)


def _load(udeval: Any, source: RawSource, name: str) -> Any:
    """Load a file or sentences into udeval; `name` is that of sentences in messages."""
    if isinstance(source, str | os.PathLike):
        name = name_of(source)
        sentences = read_conllu(source)
    else:
        sentences = map(_as_sentence, source)
    text = io.StringIO("".join(_numbered_lines(sentences, name)))
    try:
        # As in the shared task, several roots are not an error.
        return udeval.load_conllu(text, name, {"multiple_roots_okay": True})
    except udeval.UDError as error:
        message = str(error)
        position = _LINE.search(message)
        line = int(position["line"]) if position else None
        raise FileError(_LINE.sub("", message, count=1), path=name, line=line) from None
    except RecursionError:
        message = "a sentence in which too many words in a row depend on one another"
        raise FileError(message, path=name) from None


def _as_sentence(sentence: ConlluSentence | HasConllu) -> ConlluSentence:
    if isinstance(sentence, ConlluSentence):
        return sentence
    return ConlluSentence([line for line in sentence.conllu().splitlines() if line])


def _numbered_lines(sentences: Iterable[ConlluSentence], name: str) -> Iterator[str]:
    """Yield the lines for udeval, each at its number in the file.

    Comments come first in a sentence, DEPS is empty, and IDs and heads are checked to be numbers.
    """
    number = 1
    for sentence in sentences:
        # FileError for a mistake in the columns.
        ConlluSentence(sentence.lines, line=sentence.line, path=name).columns()
        rows = [line.split("\t") for line in sentence.lines if not line.startswith("#")]
        # Blank lines and comments become comments.
        padding = max(0, sentence.line - number) + len(sentence.lines) - len(rows)
        yield "#\n" * padding
        for row in rows:
            # Enhanced dependencies are not scored, and their mistakes not reported.
            row[8] = "_"
            yield "\t".join(row) + "\n"
        yield "\n"
        number += padding + len(rows) + 1


def _check_same_text(gold: Any, predicted: Any) -> None:
    """Raise FileError for files with different characters, naming the first difference."""
    if gold.characters == predicted.characters:
        return
    position = 0
    for gold_character, character in zip(gold.characters, predicted.characters, strict=False):
        if gold_character != character:
            break
        position += 1
    text = "".join(gold.characters[max(0, position - 20) : position])
    before = f"after {text!r}" if text else "at the start"
    gold_line, gold_excerpt = _line_and_excerpt(gold, position)
    line, excerpt = _line_and_excerpt(predicted, position)
    raise FileError(
        f"the text differs from {gold.path}:{gold_line}: {before} comes {gold_excerpt} there and "
        f"{excerpt} here; both must have the same characters, spaces aside",
        path=predicted.path,
        line=line,
    )


def _line_and_excerpt(file: Any, position: int) -> tuple[int, str]:
    """Return the line of a character, or the last one, and the text from there."""
    line = next((token.line for token in file.tokens if position < token.end), file.tokens[-1].line)
    excerpt = "".join(file.characters[position : position + 20])
    return line, repr(excerpt) if excerpt else "the end"


def _notes(gold: Any, predicted: Any) -> Iterator[str]:
    """Yield the columns that the prediction lacks: their zeros are not errors of a tagger."""
    for column, name in enumerate(("lemmas", "UPOS tags", "XPOS tags", "features"), 2):
        gold_cells = {word.columns[column] for word in gold.words}
        predicted_cells = {word.columns[column] for word in predicted.words}
        if gold_cells - {"", "_"} and not predicted_cells - {"", "_"}:
            yield f"the prediction has no {name}"
