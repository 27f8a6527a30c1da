"""Bracketed text: from a text to words, tags and spans, and back.

Reading brackets is the hot path of reading a treebank. One regular expression takes a whole `(TAG word)))`
at a time; only a text that this expression cannot follow (bare words, stray brackets) goes through the
slower reader, which also finds the words for an error message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

from arcspan.errors import TreeError
from arcspan.trees.words import escape, unescape

LabelledSpan = tuple[int, int, str]
"""A fencepost span with its label: covers words i+1..j."""

_FAST = re.compile(r"\(\s*([^\s()]*)(?:\s+([^\s()]+)\s*(\)[\s)]*))?\s*|(\S)", re.ASCII)
_TOKEN = re.compile(r"\(\s*|\)|[^\s()]+", re.ASCII)
Columns = tuple[list[str], list[str], list[LabelledSpan]]
"""Words, tags, and spans in pre-order."""


def read_text(text: str, *, allow_empty: bool = False) -> Columns:
    """One bracketed tree as its parts; TreeError says why it is not one. Words are as written.

    >>> read_text("(S (NP (NN Logic)) (VP (VBZ plays)))")
    (['Logic', 'plays'], ['NN', 'VBZ'], [(0, 2, 'S'), (0, 1, 'NP'), (1, 2, 'VP')])
    """
    return _read_fast(text) or _read_any(text, allow_empty=allow_empty)


def unescape_all(words: list[str]) -> tuple[list[str], dict[int, str] | None]:
    """Unescaped words, and how the source wrote those that `escape` would write otherwise."""
    plain, written = [], {}
    for index, word in enumerate(words):
        if "B-" in word or "\\" in word:
            form, word = word, unescape(word)
            if form is not word and escape(word) != form:
                written[index] = form
        plain.append(word)
    return plain, written or None


def _read_fast(text: str) -> Columns | None:
    """Words, tags and spans of a tree whose every word has a tag; None where the text is anything else."""
    words: list[str] = []
    tags: list[str] = []
    spans: list[Any] = []
    opened: list[int] = []
    n = 0
    for label, word, closing, other in _FAST.findall(text):
        if word:
            words.append(word)
            tags.append(label)
            n += 1
            for _ in range(closing.count(")") - 1):
                if not opened:
                    return None
                index = opened.pop()
                i, constituent = spans[index]
                spans[index] = (i, n, constituent)
        elif other:
            return None
        else:
            opened.append(len(spans))
            spans.append((n, intern(label)))
    one_root = spans[0][:2] == (0, n) if spans and not opened else n == 1
    return (words, tags, spans) if one_root and not opened else None


@dataclass(slots=True)
class _Bracket:
    """A bracket: its label, the words i+1..j in it, how many children it has, and how many of them are bare words."""

    label: str
    i: int
    j: int = 0
    children: int = 0
    bare: int = 0


def _read_any(text: str, *, allow_empty: bool) -> Columns:
    """Read any bracketed tree token by token, or say why it is not one."""
    words, brackets = _scan(text)
    untagged = any(bracket.bare and bracket.children > 1 for bracket in brackets)
    tags, spans = [""] * len(words), list[LabelledSpan]()
    for place, one in enumerate(brackets):
        if one.bare == one.children == 1 and not untagged:
            tags[one.i] = one.label
        elif one.i < one.j:
            spans.append((one.i, one.j, one.label))
        elif not (allow_empty or one.children) and (place or one.label):
            raise TreeError(f"constituent ({one.label}) holds no words: {_excerpt(text)}")
    return words, tags, spans


def _scan(text: str) -> tuple[list[str], list[_Bracket]]:
    """The words and the brackets of a tree in the order in which they open; refused unless they are balanced."""
    tokens = _TOKEN.findall(text)
    words: list[str] = []
    brackets: list[_Bracket] = []
    opened: list[_Bracket] = []
    place, problem = 0, ""
    while place < len(tokens) and not problem:
        token = tokens[place]
        place += 1
        if not opened and token == ")":
            problem = "a closing bracket without its opening one"
        elif not opened and (brackets or token[0] != "("):
            problem = "more text after the tree" if brackets else "not a bracketed tree"
        elif token == ")":
            opened.pop().j = len(words)
        else:
            if opened:
                opened[-1].children += 1
            if token[0] == "(":
                following, after, *_ = *tokens[place : place + 2], ")", ")"
                # "( word)" is a word whose tag is empty, "(LABEL" and "( LABEL (" are brackets with a label.
                labelled = following[0] not in "()" and not (len(token) > 1 and after == ")")
                place += labelled
                opened.append(_Bracket(following if labelled else "", len(words)))
                brackets.append(opened[-1])
            else:
                opened[-1].bare += 1
                words.append(token)
    if not problem and (opened or not brackets):
        problem = f"{len(opened)} bracket(s) not closed" if opened else "not a bracketed tree"
    if problem:
        raise TreeError(f"{problem}: {_excerpt(text)}")
    return words, brackets


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "..."


def write_pieces(
    words: Sequence[str], tags: Sequence[str], spans: Sequence[LabelledSpan]
) -> Iterator[str]:
    """The parts of a tree as pieces of one line of brackets, left to right; the words must be escaped."""
    if not words:
        yield "()"
        return
    # Words without tags stand bare where they are not taken for tags when read back.
    alone = {i for i, j, _ in spans if j == i + 1}
    bare = (
        not any(tags) and spans and all(label for _, _, label in spans) and len(alone) < len(words)
    )
    ends: list[int] = []
    following = 0
    for k in range(len(words)):
        opening = ""
        while following < len(spans) and spans[following][0] == k:
            _, j, label = spans[following]
            opening += f"{' ' if k or following else ''}({escape(label)}"
            ends.append(j)
            following += 1
        yield opening
        space = " " if ends else ""
        # NLTK takes a backslash before a bracket for an escape.
        word = words[k] + (" " if words[k][-1] == "\\" else "")
        yield f"{space}{word}" if bare else f"{space}({escape(tags[k])} {word})"
        while ends and ends[-1] == k + 1:
            yield ")"
            ends.pop()
