"""Conversion between bracketed text and words, tags and spans; files are read in `treebanks`.

Reading brackets is the hot path of reading a treebank. One regular expression takes a whole `(TAG
word)))` at a time; only a text that this expression cannot follow (bare words, stray brackets) goes
through the slower reader, which also finds the words for an error message.
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

Columns = tuple[list[str], list[str], list[LabelledSpan]]
"""Words, tags, and spans in pre-order."""

# Groups: label, word and closing brackets of "(TAG word))"; the last one is anything unexpected.
_FAST = re.compile(r"\(\s*([^\s()]*)(?:\s+([^\s()]+)\s*(\)[\s)]*))?\s*|(\S)", re.ASCII)
_TOKEN = re.compile(r"\(\s*|\)|[^\s()]+", re.ASCII)


def read_text(text: str, *, allow_empty: bool = False) -> Columns:
    """Read one bracketed tree; words stay as written. TreeError for text that is not a tree.

    >>> read_text("(S (NP (NN Logic)) (VP (VBZ plays)))")
    (['Logic', 'plays'], ['NN', 'VBZ'], [(0, 2, 'S'), (0, 1, 'NP'), (1, 2, 'VP')])
    """
    return _read_fast(text) or _read_any(text, allow_empty=allow_empty)


def unescape_all(words: list[str]) -> tuple[list[str], dict[int, str] | None]:
    """Return unescaped words, and the forms of those that `escape` would write otherwise."""
    plain = list(words)
    written = {}
    for index, form in enumerate(words):
        if "B-" in form or "\\" in form:
            plain[index] = unescape(form)
            if escape(plain[index]) != form:
                written[index] = form
    return plain, written or None


def _read_fast(text: str) -> Columns | None:
    """Read a tree whose words all have tags; None for any other text."""
    words: list[str] = []
    tags: list[str] = []
    # (i, label) while the bracket is open, then (i, j, label).
    spans: list[Any] = []
    opened: list[int] = []
    n = 0
    for label, word, closing, unexpected in _FAST.findall(text):
        if word:
            words.append(word)
            tags.append(label)
            n += 1
            # The first closing bracket is the word's.
            for _ in range(closing.count(")") - 1):
                if not opened:
                    return None
                index = opened.pop()
                i, constituent = spans[index]
                spans[index] = (i, n, constituent)
        elif unexpected:
            return None
        else:
            opened.append(len(spans))
            spans.append((n, intern(label)))
    if opened:
        return None
    has_one_root = spans[0][:2] == (0, n) if spans else n == 1
    return (words, tags, spans) if has_one_root else None


@dataclass(slots=True)
class _Bracket:
    """A bracket over the words i+1..j; `bare` of its `children` are words without tags."""

    label: str
    i: int
    j: int = 0
    children: int = 0
    bare: int = 0


def _read_any(text: str, *, allow_empty: bool) -> Columns:
    """Read any bracketed tree token by token; TreeError says why it is not one."""
    words, brackets = _scan(text)
    # A bare word with siblings shows that brackets around single words are constituents, not tags.
    is_untagged = any(bracket.bare and bracket.children > 1 for bracket in brackets)
    tags = [""] * len(words)
    spans: list[LabelledSpan] = []
    for index, bracket in enumerate(brackets):
        if bracket.bare == bracket.children == 1 and not is_untagged:
            tags[bracket.i] = bracket.label
        elif bracket.i < bracket.j:
            spans.append((bracket.i, bracket.j, bracket.label))
        # "()" is the tree without words.
        elif not (allow_empty or bracket.children) and (index or bracket.label):
            raise _error(f"constituent ({bracket.label}) holds no words", text)
    return words, tags, spans


def _scan(text: str) -> tuple[list[str], list[_Bracket]]:
    """Return the words, and the brackets in the order of opening; TreeError if unbalanced."""
    # Padded, so that the two tokens after an opening bracket always exist.
    tokens = [*_TOKEN.findall(text), ")", ")"]
    words: list[str] = []
    brackets: list[_Bracket] = []
    opened: list[_Bracket] = []
    position = 0
    while position < len(tokens) - 2:
        token = tokens[position]
        position += 1
        if not opened and token == ")":
            raise _error("a closing bracket without its opening one", text)
        if not opened and brackets:
            raise _error("more text after the tree", text)
        if token == ")":
            opened.pop().j = len(words)
            continue
        if opened:
            opened[-1].children += 1
        if token[0] == "(":
            following = tokens[position]
            # "( word)" is a word whose tag is empty, "(LABEL" and "( LABEL (" are brackets with a
            # label.
            is_untagged_word = len(token) > 1 and tokens[position + 1] == ")"
            label = ""
            if following[0] not in "()" and not is_untagged_word:
                label = following
                position += 1
            bracket = _Bracket(label, len(words))
            opened.append(bracket)
            brackets.append(bracket)
        elif opened:
            opened[-1].bare += 1
            words.append(token)
        else:
            break
    if opened:
        raise _error(f"{len(opened)} bracket(s) not closed", text)
    if not brackets:
        raise _error("not a bracketed tree", text)
    return words, brackets


def _error(problem: str, text: str) -> TreeError:
    """Return an error with an excerpt of the text."""
    flat = " ".join(text.split())
    excerpt = flat if len(flat) <= 60 else flat[:57] + "..."
    return TreeError(f"{problem}: {excerpt}")


def write_pieces(
    words: Sequence[str], tags: Sequence[str], spans: Sequence[LabelledSpan]
) -> Iterator[str]:
    """Yield the pieces of one line of brackets, left to right; the words must be escaped."""
    if not words:
        yield "()"
        return
    # Words without tags are written bare if a reader will not take their brackets for tags.
    single_words = {i for i, j, _ in spans if j == i + 1}
    has_plain_labels = bool(spans) and all(label for _, _, label in spans)
    is_bare = not any(tags) and has_plain_labels and len(single_words) < len(words)
    ends: list[int] = []
    next_span = 0
    for k, word in enumerate(words):
        opening = ""
        while next_span < len(spans) and spans[next_span][0] == k:
            _, j, label = spans[next_span]
            separator = " " if next_span else ""
            opening += f"{separator}({escape(label)}"
            ends.append(j)
            next_span += 1
        yield opening
        space = " " if ends else ""
        # NLTK takes a backslash before a bracket for an escape.
        padding = " " if word[-1] == "\\" else ""
        yield (
            f"{space}{word}{padding}" if is_bare else f"{space}({escape(tags[k])} {word}{padding})"
        )
        while ends and ends[-1] == k + 1:
            yield ")"
            ends.pop()
