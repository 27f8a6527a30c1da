"""Scores of raw text, as the CoNLL 2018 shared task on Universal Dependencies defined them (Zeman et al. 2018).

A system that starts from raw text has tokens, words and sentences of its own, so its words are aligned with the gold
words before anything is compared. `udtools.udeval`, the scorer that UD's maintainers keep, does the counting; this
module reads the files (compressed ones and parses too), names the file and line of what is wrong, and holds the
figures. Subtypes of relations never count; punctuation always does. Heads may have several roots, but no cycles.
Enhanced dependencies are not scored.
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
from arcspan.evaluation.tables import Printable, columns, shown
from arcspan.treebanks import ConlluSentence, read_conllu
from arcspan.treebanks.streams import name_of

METRICS = ["Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"]
METRICS += ["UAS", "LAS", "CLAS", "MLAS", "BLEX"]

_LINE = re.compile(r"(?: in the sentence that ends)? at (?:line )?(\d+)|$")


class HasConllu(Protocol):
    """Something that writes itself as a CoNLL-U sentence, such as a Parse."""

    def conllu(self) -> str:
        """The lines of the sentence."""


#: A CoNLL-U file, or sentences.
RawSource = str | os.PathLike[str] | Iterable[ConlluSentence | HasConllu]


class RawScore(NamedTuple):
    """One metric: how many there are in the gold file, in the prediction, how many are right, and aligned words."""

    precision: float
    recall: float
    f1: float  # the score of the shared task
    aligned_accuracy: (
        float | None
    )  # share of the aligned words; None for Tokens, Sentences and Words
    gold: int
    predicted: int
    right: int
    aligned: int | None

    @classmethod
    def of(cls, score: Any) -> RawScore:
        """One of udeval's scores; its shares are in percent here."""
        p, r, f1 = (100 * share for share in (score.precision, score.recall, score.f1))
        accuracy = 100 * score.aligned_accuracy if score.aligned_total else None
        counts = score.gold_total, score.system_total, score.correct, score.aligned_total
        return cls(p, r, f1, accuracy, *counts)


@dataclass(frozen=True, repr=False)
class RawReport(Printable):
    """The CoNLL 2018 scores by name: Tokens, Sentences, Words, UPOS, XPOS, UFeats ... LAS, CLAS, MLAS, BLEX."""

    scores: dict[str, RawScore]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> RawScore:
        return self.scores[name]

    def figures(self) -> dict[str, float]:
        """The F1 of every metric."""
        return {name: score.f1 for name, score in self.scores.items()}

    @property
    def signature(self) -> str:
        """How the figures were made."""
        return f"conll18|words:aligned|subtypes:ignored|udtools:{version('udtools')}|arcspan:{__version__}"

    def to_dict(self) -> dict[str, Any]:
        """Figures and counts of every metric, and how they were made."""
        scores = {name: score._asdict() for name, score in self.scores.items()}
        return {**scores, "signature": self.signature, "notes": list(self.notes)}

    def __str__(self) -> str:
        rows = [["", "precision", "recall", "F1", "aligned accuracy"]]
        for name, score in self.scores.items():
            rows.append([name, *map(shown, score[:4])])
        notes = [f"Note: {text}" for text in self.notes]
        return "\n\n".join([f"Raw text  [{self.signature}]\n{columns(rows)}", *notes])

    def __repr__(self) -> str:
        text = ", ".join(
            f"{name} {self[name].f1:.2f}" for name in ("Words", "Sentences", "UAS", "LAS")
        )
        return f"<RawReport: {text}>"


def evaluate_raw(gold: RawSource, predicted: RawSource) -> RawReport:
    r"""Score a system's words, sentences and trees for raw text against gold ones, as CoNLL 2018 did.

    gold, predicted: CoNLL-U files (also .gz, .xz), or sentences: `ConlluSentence`s, parses. The sentences may be
        split at other places, but must have the same characters, spaces aside.

    Needs udtools (`pip install 'arcspan[ud]'`). Raises FileError where the texts differ, naming the first place in
    both.

    >>> gold = [ConlluSentence(["1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_", "1\tde\tde\tADP\t_\t_\t0\troot\t_\t_",
    ...     "2\tle\tle\tDET\t_\t_\t1\tdet\t_\t_"])]
    >>> one_word = [ConlluSentence(["1\tdu\tdu\tADP\t_\t_\t0\troot\t_\t_"])]
    >>> report = evaluate_raw(gold, one_word)
    >>> report["Tokens"].f1, report["Words"].recall
    (100.0, 0.0)
    """
    try:
        from udtools import udeval
    except ImportError:
        raise MissingExtraError("scoring raw text", "ud") from None
    one = _load(udeval, gold, "the gold sentences")
    other = _load(udeval, predicted, "the predicted sentences")
    _check_same_text(one, other)
    found = udeval.evaluate(one, other)
    return RawReport(
        {name: RawScore.of(found[name]) for name in METRICS}, tuple(_notes(one, other))
    )


def _load(udeval: Any, source: RawSource, name: str) -> Any:
    """A file or sentences as udeval holds them; messages call sentences `name`."""
    if isinstance(source, str | os.PathLike):
        name, sentences = name_of(source), read_conllu(source)
    else:
        sentences = (
            one
            if isinstance(one, ConlluSentence)
            else ConlluSentence([*filter(None, one.conllu().splitlines())])
            for one in source
        )
    text = io.StringIO("".join(_numbered_lines(sentences, name)))
    try:
        return udeval.load_conllu(text, name, {"multiple_roots_okay": True})
    except udeval.UDError as error:
        message = str(error)
        place = _LINE.search(message)
        line = int(place[1]) if place and place[1] else None
        what = message.replace(place[0], "", 1) if place else message
        raise FileError(what, path=name, line=line) from None
    except RecursionError:
        what = "a sentence in which too many words in a row depend on one another"
        raise FileError(what, path=name) from None


def _numbered_lines(sentences: Iterable[ConlluSentence], name: str) -> Iterator[str]:
    """The sentences as udeval wants them, each line at its number in the file.

    Comments stand where the first words might, DEPS is empty, and IDs and heads are known to be numbers.
    """
    number = 1
    for sentence in sentences:
        ConlluSentence(sentence.lines, line=sentence.line, path=name).columns()
        rows = [line.split("\t") for line in sentence.lines if not line.startswith("#")]
        padding = max(0, sentence.line - number) + len(sentence.lines) - len(rows)
        yield "#\n" * padding
        for row in rows:
            row[8] = "_"
            yield "\t".join(row) + "\n"
        yield "\n"
        number += padding + len(rows) + 1


def _check_same_text(gold: Any, predicted: Any) -> None:
    """Refuse files with different characters, naming the first place that differs."""
    if gold.characters == predicted.characters:
        return
    texts = ["".join(file.characters) for file in (gold, predicted)]
    place = next(
        (k for k, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts))
    )
    lines = [
        next((token.line for token in file.tokens if place < token.end), file.tokens[-1].line)
        for file in (gold, predicted)
    ]
    excerpts = [
        repr(text[place : place + 20]) if place < len(text) else "the end" for text in texts
    ]
    after = f"after {texts[0][max(0, place - 20) : place]!r}" if place else "at the start"
    raise FileError(
        f"the text differs from {gold.path}:{lines[0]}: {after} comes {excerpts[0]} there and {excerpts[1]} here; "
        "both must have the same characters, spaces aside",
        path=predicted.path,
        line=lines[1],
    )


def _notes(gold: Any, predicted: Any) -> Iterator[str]:
    """What the prediction lacks altogether, so that nobody takes its zeros for a tagger's errors."""
    for column, name in enumerate(("lemmas", "UPOS tags", "XPOS tags", "features"), 2):
        one, other = ({word.columns[column] for word in file.words} for file in (gold, predicted))
        if one - {"", "_"} and not other - {"", "_"}:
            yield f"the prediction has no {name}"
