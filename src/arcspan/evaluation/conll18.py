"""Scores of raw text, as the CoNLL 2018 shared task on Universal Dependencies defined them (Zeman et al. 2018).

A system that starts from raw text has tokens, words and sentences of its own, so its words are aligned with the gold
words before anything is compared. Both files must spell the same text, spaces aside.

- Tokens and Sentences are right where the other file has one of exactly the same characters.
- Words are aligned by the characters of their tokens, or inside multiword tokens by their forms (see `alignment`).
- UPOS, XPOS, UFeats (universal features), AllTags, Lemmas, UAS and LAS compare aligned words. A head is right where
  the predicted head is aligned with the gold head. Subtypes of relations never count; punctuation always does.
- CLAS, MLAS and BLEX do so for words with a content relation only: head and relation; these with UPOS, features and
  function words; these with lemmas.

Enhanced dependencies are not scored. Heads need not form a tree.
"""

from __future__ import annotations

import math
import os
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from arcspan._version import __version__
from arcspan.errors import FileError
from arcspan.evaluation.alignment import ROOT, RawWord, Span, align
from arcspan.evaluation.attachment import main_relation
from arcspan.evaluation.tables import Printable, columns, shown
from arcspan.treebanks import ConlluSentence, read_conllu
from arcspan.treebanks.conll import Token, is_number
from arcspan.treebanks.streams import name_of

# fmt: off
CONTENT_RELATIONS = frozenset({
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl", "advmod",
    "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound", "list", "parataxis",
    "orphan", "goeswith", "reparandum", "root", "dep",
})
FUNCTION_RELATIONS = frozenset({"aux", "cop", "mark", "det", "clf", "case", "cc"})
UNIVERSAL_FEATURES = frozenset({
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case", "Definite",
    "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person", "Polite",
})
# fmt: on

UNALIGNED = -2  # the place of a head that no gold word is aligned with


class HasConllu(Protocol):
    """Something that writes itself as a CoNLL-U sentence, such as a Parse."""

    def conllu(self) -> str:
        """The lines of the sentence."""


#: A CoNLL-U file, or sentences.
Raw = str | os.PathLike[str] | Iterable[ConlluSentence | HasConllu]


@dataclass
class RawFile:
    """A file: its characters without spaces, and its tokens, sentences and words by their place in them."""

    name: str
    forms: list[str] = field(default_factory=list)  # of the tokens, without spaces
    tokens: list[Span] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # of the tokens
    sentences: list[Span] = field(default_factory=list)
    words: list[RawWord] = field(default_factory=list)
    function_words: dict[int, list[int]] = field(default_factory=dict)  # by the position of their head

    @classmethod
    def read(cls, source: Raw, name: str) -> RawFile:
        """Read a file, or take sentences, which messages call `name`."""
        if isinstance(source, str | os.PathLike):
            name, sentences = name_of(source), read_conllu(source)
        else:
            sentences = map(_sentence, source)
        file = cls(name)
        for sentence in sentences:
            file._add(sentence)
        return file

    def _add(self, sentence: ConlluSentence) -> None:
        lines = [k for k, line in enumerate(sentence.lines, sentence.line) if not line.startswith("#")]
        start, before = self._end, len(self.words)
        words = covered = 0  # words read so far; the last word of a multiword token
        for line, token in zip(lines, sentence.tokens, strict=True):
            if "." in token.id:  # an empty node
                continue
            first, dash, last = token.id.partition("-")
            if first != str(words + 1):
                raise self._error(f"the ID is {token.id!r} where {words + 1} should follow", line)
            if dash:
                if words < covered or not is_number(last) or int(last) <= words:
                    raise self._error(
                        f"the multiword token {token.id} overlaps another or has no words", line
                    )
                covered = int(last)
            if dash or words >= covered:
                self._add_token(token, line)
            if not dash:
                words += 1
                self.words.append(self._word(token, before, words <= covered, line))
        if words < max(covered, 1):
            raise self._error(f"the sentence ends after word {words}, before its tokens do", lines[-1])
        self.sentences.append((start, self._end))
        for m, word in enumerate(self.words[before:], before):
            if word.head >= len(self.words):
                what = (
                    f"word {m + 1 - before} has head {word.head + 1 - before} in a sentence of {words} words"
                )
                raise self._error(what, lines[0])
            if word.relation in FUNCTION_RELATIONS:
                self.function_words.setdefault(word.head, []).append(m)

    def line_of(self, place: int) -> int:
        """The line of the token with this character, or of the last token."""
        k = bisect_right(self.tokens, (place, math.inf)) - 1
        return self.lines[k] if self.lines else 1

    @property
    def _end(self) -> int:
        return self.tokens[-1][1] if self.tokens else 0

    def _error(self, what: str, line: int) -> FileError:
        return FileError(what, path=self.name, line=line)

    def _add_token(self, token: Token, line: int) -> None:
        form = _without_spaces(token.form)
        if not form:
            raise self._error("the FORM is empty", line)
        self.tokens.append((self._end, self._end + len(form)))
        self.forms.append(form)
        self.lines.append(line)

    def _word(self, token: Token, before: int, multiword: bool, line: int) -> RawWord:
        """A word of the token that was added last; `before` words stand in the sentences before."""
        if not is_number(token.head):
            raise self._error(f"the HEAD (column 7) is {token.head!r}, not a number", line)
        features = [one for one in token.feats.split("|") if one.partition("=")[0] in UNIVERSAL_FEATURES]
        return RawWord(
            *self.tokens[-1],
            multiword,
            (token.form if multiword else self.forms[-1]).lower(),
            token.lemma,
            token.upos,
            token.xpos,
            "|".join(sorted(features)),
            main_relation(token.deprel),
            before + int(token.head) - 1 if int(token.head) else ROOT,
        )


def _sentence(given: ConlluSentence | HasConllu) -> ConlluSentence:
    if isinstance(given, ConlluSentence):
        return given
    return ConlluSentence([line for line in given.conllu().splitlines() if line])


def _without_spaces(form: str) -> str:
    if form.isascii():
        return form.replace(" ", "")
    return "".join(character for character in form if unicodedata.category(character) != "Zs")


class RawScore(NamedTuple):
    """One metric: how many there are in the gold file, in the prediction, how many are right, and aligned words."""

    gold: int
    predicted: int
    right: int
    aligned: int | None = None

    @property
    def precision(self) -> float:
        """Share of the predicted ones that are right, in percent."""
        return 100 * self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold ones that were found, in percent."""
        return 100 * self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both: the score of the shared task."""
        return 200 * self.right / (self.gold + self.predicted) if self.gold + self.predicted else 0.0

    @property
    def aligned_accuracy(self) -> float | None:
        """Share of the aligned words that are right, in percent; None for Tokens, Sentences and Words."""
        return 100 * self.right / self.aligned if self.aligned else None


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
        return f"conll18|words:aligned|subtypes:ignored|arcspan:{__version__}"

    def to_dict(self) -> dict[str, Any]:
        """Figures and counts of every metric, and how they were made."""
        shares = ("precision", "recall", "f1", "aligned_accuracy")
        return {
            **{
                name: {**{share: getattr(score, share) for share in shares}, **score._asdict()}
                for name, score in self.scores.items()
            },
            "signature": self.signature,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        rows = [["", "precision", "recall", "F1", "aligned accuracy"]]
        for name, score in self.scores.items():
            values = (score.precision, score.recall, score.f1, score.aligned_accuracy)
            rows.append([name, *map(shown, values)])
        notes = [f"Note: {text}" for text in self.notes]
        return "\n\n".join([f"Raw text  [{self.signature}]\n{columns(rows)}", *notes])

    def __repr__(self) -> str:
        text = ", ".join(f"{name} {self[name].f1:.2f}" for name in ("Words", "Sentences", "UAS", "LAS"))
        return f"<RawReport: {text}>"


def evaluate_raw(gold: Raw, predicted: Raw) -> RawReport:
    r"""Score a system's words, sentences and trees for raw text against gold ones, as CoNLL 2018 did.

    gold, predicted: CoNLL-U files (also .gz, .xz), or sentences: `ConlluSentence`s, parses. The sentences may be
        split at other places, but must have the same characters, spaces aside.

    Raises FileError where the texts differ, naming the first place in both.

    >>> gold = [ConlluSentence(["1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_", "1\tde\tde\tADP\t_\t_\t0\troot\t_\t_",
    ...     "2\tle\tle\tDET\t_\t_\t1\tdet\t_\t_"])]
    >>> one_word = [ConlluSentence(["1\tdu\tdu\tADP\t_\t_\t0\troot\t_\t_"])]
    >>> report = evaluate_raw(gold, one_word)
    >>> report["Tokens"].f1, report["Words"].recall
    (100.0, 0.0)
    """
    one, other = RawFile.read(gold, "the gold sentences"), RawFile.read(predicted, "the predicted sentences")
    _check_same_text(one, other)
    pairs = align(one.words, other.words)
    partner = {p: g for g, p in pairs} | {ROOT: ROOT}
    right = Counter[str]()
    for g, p in pairs:
        right.update(_right(one, other, g, p, partner))
    words = len(one.words), len(other.words)
    content = _content_words(one.words), _content_words(other.words)
    content_pairs = _content_words(one.words[g] for g, _ in pairs)
    return RawReport(
        {
            "Tokens": _spans(one.tokens, other.tokens),
            "Sentences": _spans(one.sentences, other.sentences),
            "Words": RawScore(*words, len(pairs)),
            **{name: RawScore(*words, right[name], len(pairs)) for name in _OF_WORDS},
            **{name: RawScore(*content, right[name], content_pairs) for name in _OF_CONTENT_WORDS},
        },
        tuple(_notes(one, other)),
    )


_OF_WORDS = ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS")
_OF_CONTENT_WORDS = ("CLAS", "MLAS", "BLEX")


def _content_words(words: Iterable[RawWord]) -> int:
    return sum(word.relation in CONTENT_RELATIONS for word in words)


def _spans(gold: Sequence[Span], predicted: Sequence[Span]) -> RawScore:
    return RawScore(len(gold), len(predicted), len({*gold} & {*predicted}))


def _right(one: RawFile, other: RawFile, g: int, p: int, partner: Mapping[int, int]) -> Iterator[str]:
    """The metrics for which an aligned word is right; `partner` is the gold word of a predicted one."""
    a, b = one.words[g], other.words[p]
    upos, xpos, features = a.upos == b.upos, a.xpos == b.xpos, a.features == b.features
    lemma = a.lemma in ("_", b.lemma)
    head = a.head == partner.get(b.head, UNALIGNED)
    arc = head and a.relation == b.relation
    content = arc and a.relation in CONTENT_RELATIONS
    found = {
        "UPOS": upos,
        "XPOS": xpos,
        "UFeats": features,
        "AllTags": upos and xpos and features,
        "Lemmas": lemma,
        "UAS": head,
        "LAS": arc,
        "CLAS": content,
        "MLAS": content and upos and features and _same_function_words(one, other, g, p, partner),
        "BLEX": content and lemma,
    }
    return (name for name, is_right in found.items() if is_right)


def _same_function_words(one: RawFile, other: RawFile, g: int, p: int, partner: Mapping[int, int]) -> bool:
    def described(file: RawFile, m: int, gold_word: int) -> tuple[int, str, str, str]:
        word = file.words[m]
        return gold_word, word.relation, word.upos, word.features

    ours = [described(one, m, m) for m in one.function_words.get(g, ())]
    theirs = [described(other, m, partner.get(m, UNALIGNED)) for m in other.function_words.get(p, ())]
    return ours == theirs


def _check_same_text(gold: RawFile, predicted: RawFile) -> None:
    """Refuse files with different characters, naming the first place that differs."""
    texts = ["".join(file.forms) for file in (gold, predicted)]
    if texts[0] == texts[1]:
        return
    place = next((k for k, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    lines = [file.line_of(place) for file in (gold, predicted)]
    shown = [repr(text[place : place + 20]) if place < len(text) else "the end" for text in texts]
    after = f"after {texts[0][max(0, place - 20) : place]!r}" if place else "at the start"
    raise FileError(
        f"the text differs from {gold.name}:{lines[0]}: {after} comes {shown[0]} there and {shown[1]} here; "
        "both must have the same characters, spaces aside",
        path=predicted.name,
        line=lines[1],
    )


def _notes(gold: RawFile, predicted: RawFile) -> Iterator[str]:
    """What the prediction lacks altogether, so that nobody takes its zeros for errors of a tagger."""
    for column, empty in (("lemma", "_"), ("upos", "_"), ("xpos", "_"), ("features", "")):
        has = [any(getattr(word, column) != empty for word in file.words) for file in (gold, predicted)]
        if has == [True, False]:
            yield f"the prediction has no {_COLUMNS[column]}"


_COLUMNS = {"lemma": "lemmas", "upos": "UPOS tags", "xpos": "XPOS tags", "features": "features"}
