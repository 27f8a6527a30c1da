"""Copies of CoNLL-U sentences that are wrong in the ways of a system that starts from raw text.

The characters stay the same, spaces aside; tokens, multiword tokens, sentences, heads and
everything else change. What comes out is a valid CoNLL-U file: every sentence has a tree with one
root.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from arcspan.treebanks import ConlluSentence

RELATIONS = (
    "nsubj",
    "obj",
    "obl:tmod",
    "det",
    "case",
    "aux:pass",
    "cc",
    "mark",
    "punct",
    "root",
    "nmod:poss",
)


@dataclass(eq=False)
class Word:
    form: str
    columns: list[str]  # LEMMA, UPOS, XPOS, FEATS
    relation: str
    head: Word | None = None


@dataclass(eq=False)
class Surface:
    """A token and its words: one, or those of a multiword token."""

    form: str
    words: list[Word] = field(default_factory=list)
    multiword: bool = False


def surfaces(sentence: ConlluSentence) -> list[Surface]:
    tokens: list[Surface] = []
    words: list[Word] = []
    covered = 0
    for token in sentence.tokens:
        first, dash, last = token.id.partition("-")
        if dash:
            tokens.append(Surface(token.form, multiword=True))
            covered = int(last)
        elif token.is_word:
            words.append(Word(token.form, list(token[2:6]), token.deprel))
            if int(first) > covered:
                tokens.append(Surface(token.form))
            tokens[-1].words.append(words[-1])
    for word, token in zip(words, sentence.words, strict=True):
        word.head = words[int(token.head) - 1] if int(token.head) else None
    return tokens


def damaged(sentences: Iterable[ConlluSentence], rate: float, draw: random.Random) -> str:
    """A damaged copy as the text of a CoNLL-U file; `rate` of the tokens and words are touched in
    each way.
    """
    tokens: list[list[Surface]] = [
        _retokenized(surfaces(sentence), rate, draw) for sentence in sentences
    ]
    for sentence_tokens in tokens:
        for word in (word for surface in sentence_tokens for word in surface.words):
            _mislead(
                word, [other for surface in sentence_tokens for other in surface.words], rate, draw
            )
    return "".join(
        _conllu(sentence_tokens, draw) for sentence_tokens in _resplit(tokens, rate, draw)
    )


def _retokenized(tokens: list[Surface], rate: float, draw: random.Random) -> list[Surface]:
    new_tokens: list[Surface] = []
    for token in tokens:
        fate = draw.random() / rate
        letters = token.form.replace(" ", "").replace("\N{NO-BREAK SPACE}", "")
        cut = draw.randrange(1, len(letters)) if len(letters) > 1 else 0
        if fate < 0.2 and new_tokens:  # joined to the one before
            before = new_tokens.pop()
            joined = Surface(before.form + token.form, before.words[:1])
            if draw.random() < 0.5:
                joined.words, joined.multiword = before.words + token.words, True
            elif not before.multiword:
                before.words[0].form = joined.form
            new_tokens.append(joined)
        elif fate < 0.4 and cut:  # cut in two tokens
            new = Word(letters[cut:], ["_", "X", "_", "_"], "dep", token.words[0])
            new_tokens += [Surface(letters[:cut], token.words[:1]), Surface(letters[cut:], [new])]
        elif fate < 0.6 and cut:  # made a multiword token, with its letters or others
            forms = [letters[:cut], letters[cut:]] if draw.random() < 0.7 else [letters, "zu", "a"]
            words = [
                Word(form, list(token.words[0].columns), draw.choice(RELATIONS)) for form in forms
            ]
            words[0] = token.words[0]
            new_tokens.append(Surface(token.form, words, multiword=True))
        elif fate < 0.8 and token.multiword:  # no longer one
            new_tokens.append(Surface(token.form, token.words[:1]))
        elif fate < 0.9 and token.multiword:  # its words in another order, or one of them lost
            words = token.words[::-1] if draw.random() < 0.5 else token.words[1:] or token.words
            new_tokens.append(Surface(token.form, words, multiword=True))
        else:
            new_tokens.append(token)
    return new_tokens


def _mislead(word: Word, others: list[Word], rate: float, draw: random.Random) -> None:
    for column in range(4):
        if draw.random() < rate / 3:
            word.columns[column] = draw.choice(
                ["_", "Number=Sing", "NOUN", "Foo=Bar|Case=Nom", "the"]
            )
    if draw.random() < rate:
        word.head = draw.choice([None, *others])
    if draw.random() < rate / 2:
        word.relation = draw.choice(RELATIONS)


def _resplit(
    sentences: list[list[Surface]], rate: float, draw: random.Random
) -> Iterator[list[Surface]]:
    waiting: list[Surface] = []
    for tokens in sentences:
        waiting = waiting + tokens
        if draw.random() < rate:  # goes on in the next sentence
            continue
        if draw.random() < rate and len(waiting) > 1:
            cut = draw.randrange(1, len(waiting))
            yield waiting[:cut]
            waiting = waiting[cut:]
        yield waiting
        waiting = []
    if waiting:
        yield waiting


def _conllu(tokens: list[Surface], draw: random.Random) -> str:
    words = [word for token in tokens for word in token.words]
    heads = _tree(words, draw)
    lines, number = [], 0
    for token in tokens:
        if token.multiword:
            last = number + len(token.words)
            lines.append("\t".join([f"{number + 1}-{last}", token.form, *"________"]))
        for word in token.words:
            form = word.form if token.multiword else token.form
            row = [form, *word.columns, str(heads[number]), word.relation, "_", "_"]
            number += 1
            lines.append("\t".join([str(number), *row]))
    return "\n".join(lines) + "\n\n"


def _tree(words: list[Word], draw: random.Random) -> list[int]:
    """The words' own heads where they are in the sentence, and something else where these do not
    form a tree.
    """
    position_of = {word: m for m, word in enumerate(words, 1)}
    heads = [0 if word.head is None else position_of.get(word.head, -1) for word in words]
    root = heads.index(0) + 1 if 0 in heads else draw.randrange(len(words)) + 1
    heads = [0 if m == root else (h if h > 0 else root) for m, h in enumerate(heads, 1)]
    for m in range(1, len(words) + 1):
        visited, at = {m}, heads[m - 1]
        while at and at not in visited:
            visited.add(at)
            at = heads[at - 1]
        if at:
            heads[at - 1] = root  # breaks the cycle
    return heads
