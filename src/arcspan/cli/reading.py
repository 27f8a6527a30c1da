"""Inputs of `arcspan parse`, as streams: raw text, lines, words, or sentences of treebanks.

Text is read from a file, a pipe or standard input as it arrives, so that a pipe that is still being
written to is parsed as it grows. It goes through the same segmenter as in `parser(text)`. A path is
opened once, for a pipe can be read only once.
"""

from __future__ import annotations

import itertools
import os
import queue
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from arcspan.treebanks.brackets import parse_lines, trees_of
from arcspan.treebanks.conll import cut_sentences
from arcspan.treebanks.streams import PathLike, read_text, split_lines
from arcspan.treebanks.tree_files import named_kind
from arcspan.trees.words import unescape_brackets

if TYPE_CHECKING:
    from arcspan.parser import Parser
    from arcspan.segmenting import Sentence

_LOOK_AHEAD = 1 << 20  # characters in which the kind of input must show
_LOOK_AHEAD_LINES = 50
_WORD_LINE = re.compile(r"\d+(?:[-.]\d+)?(?:\t[^\t]*){9}")
# A damaged treebank must not be parsed as prose, so its name counts more than its beginning.
_INPUT_OF_LAYOUT = {"conll": "conllu", "brackets": "brackets"}
_T = TypeVar("_T")


class Item(NamedTuple):
    """A sentence to parse: from the segmenter, or a list of words.

    lines     of CoNLL-U, that it stands in
    document  the name of its document, if it has one
    number    its number in the document, from 1
    """

    content: Sentence | list[str]
    lines: tuple[str, ...] = ()
    document: str | None = None
    number: int = 1


@dataclass(frozen=True)
class Reader:
    """Reads the sentences of inputs.

    input_kind  text, lines, words, conllu or brackets; None: by a file's name or its beginning
    clean       the rules by which running text is cleaned
    column      of Parquet files, which has texts or lists of words
    """

    input_kind: str | None = None
    clean: tuple[str, ...] = ()
    column: str = "text"

    def read(
        self,
        parser: Parser,
        source: PathLike,
        *,
        text: str | None = None,
        document: str | None = None,
    ) -> tuple[str, Iterator[Item]]:
        """Return the kind of an input, and its sentences; a `text` replaces the source."""
        suffix = Path(os.fspath(source).removesuffix(".gz").removesuffix(".xz")).suffix
        input_kind = self.input_kind
        pieces: Iterator[str] = read_text(source) if text is None else iter((text,))
        if suffix == ".parquet":
            input_kind = "parquet"
        elif input_kind is None and text is None:
            recognised_kind, pieces = recognised(pieces)
            layout = named_kind(f"_{suffix}") or ""
            input_kind = _INPUT_OF_LAYOUT.get(layout, recognised_kind)
        input_kind = input_kind or "text"
        sentences = enumerate(self._items(parser, input_kind, pieces, source), 1)
        return input_kind, (
            item._replace(document=document, number=number) for number, item in sentences
        )

    def _items(
        self, parser: Parser, input_kind: str, pieces: Iterator[str], path: PathLike
    ) -> Iterator[Item]:
        if input_kind == "parquet":
            return _cells(parser, os.fspath(path), self.column)
        if input_kind == "text" and self.clean:
            from arcspan.segmenting.cleaning import CleanText

            return map(Item, CleanText("".join(pieces), self.clean).sentences(parser.segmenter))
        if input_kind == "text":
            return map(Item, parser.segmenter.stream(pieces))
        lines = split_lines(pieces, path)
        if input_kind == "lines":
            return _lines(parser, lines)
        lines = (line.rstrip("\r") for line in lines)
        if input_kind == "words":
            return _word_lists(lines)
        if input_kind == "conllu":
            return _conllu_sentences(lines, path)
        trees = trees_of(parse_lines(enumerate(lines, 1), empties="strip"), path)
        return (Item(list(tree.words)) for tree in trees)


def _cells(parser: Parser, path: str, column: str) -> Iterator[Item]:
    from arcspan.integrations.parquet import read_column

    for contents, _ in read_column(path, column):
        for content in contents:
            yield from map(Item, parser.split(content) if isinstance(content, str) else [content])


def _lines(parser: Parser, lines: Iterator[str]) -> Iterator[Item]:
    # Offsets are those of the whole input.
    start = 0
    for line in lines:
        yield from map(Item, parser.segmenter.split(line, one_sentence=True, start=start))
        start += len(line) + 1


def _word_lists(lines: Iterable[str]) -> Iterator[Item]:
    for line in lines:
        # Other white space than blanks and tabs may be part of a word.
        words = [word for word in re.split(r"[ \t]+", line) if word]
        if words:
            yield Item(words)


def _conllu_sentences(lines: Iterable[str], path: PathLike) -> Iterator[Item]:
    for sentence in cut_sentences(lines, path):
        words = [unescape_brackets(word.form) for word in sentence.words]
        yield Item(words, sentence.lines)


def recognised(pieces: Iterable[str]) -> tuple[str, Iterator[str]]:
    r"""Return what a text looks like, "conllu", "brackets" or "text", and the same text.

    >>> recognised(["# text = Go\n", "1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n"])[0]
    'conllu'
    >>> recognised(["(S (VP (VB Go)))"])[0], recognised(["(IBM (NYSE) fell.)\n"])[0]
    ('brackets', 'text')
    >>> recognised(["# Title\n", "Go.\n"])[0]
    'text'
    """
    pieces = iter(pieces)
    ahead: list[str] = []

    def read_ahead() -> Iterator[str]:
        size = 0
        for piece in pieces:
            size += len(piece)
            ahead.append(piece)
            yield piece
            if size >= _LOOK_AHEAD:
                return

    beginning = ""
    for line in itertools.islice(split_lines(read_ahead()), _LOOK_AHEAD_LINES):
        # Comments and blank lines stand before the first sentence.
        if not beginning and (not line.strip() or line.startswith("#")):
            continue
        beginning += line + "\n"
        is_bracketed = beginning.lstrip().startswith("(")
        # A tree in brackets may have several lines.
        if not is_bracketed or beginning.count("(") <= beginning.count(")"):
            break
    if _WORD_LINE.fullmatch(beginning.rstrip("\r\n")):
        input_kind = "conllu"
    else:
        input_kind = "brackets" if _is_tree(beginning) else "text"
    return input_kind, itertools.chain(ahead, pieces)


def _is_tree(text: str) -> bool:
    """Return whether brackets stand as in a treebank: each word in its own pair, after a tag."""
    tokens = re.findall(r"[()]|[^()\s]+", text)
    if tokens[:1] != ["("] or tokens.count("(") < 2:
        return False
    for k, token in enumerate(tokens):
        if token in "()" or tokens[k - 1] == "(":
            continue
        # A word follows its tag, and its bracket follows, unless the text ends there.
        if tokens[k - 2] != "(" or tokens[k + 1 : k + 2] not in ([")"], []):
            return False
    return True


def as_they_come(items: Iterator[_T], limit: int) -> Iterator[list[_T]]:
    """Yield lists of up to `limit` items that another thread has; wait for the first alone.

    While it waits, the calling thread can be interrupted, whatever the other one is doing.
    """
    # An item in a tuple, the end (None), or the error that ended the items.
    arrivals: queue.SimpleQueue[tuple[_T] | BaseException | None] = queue.SimpleQueue()
    free_slots = threading.Semaphore(limit)
    stopped = threading.Event()

    def read() -> None:
        try:
            for item in items:
                free_slots.acquire()
                if stopped.is_set():
                    return
                arrivals.put((item,))
            arrivals.put(None)
        except BaseException as error:
            arrivals.put(error)

    threading.Thread(target=read, daemon=True, name="arcspan-read").start()
    try:
        while True:
            batch = [arrivals.get()]
            while len(batch) < limit and not arrivals.empty():
                batch.append(arrivals.get())
            arrived = [arrival[0] for arrival in batch if isinstance(arrival, tuple)]
            if arrived:
                free_slots.release(len(arrived))
                yield arrived
            if isinstance(batch[-1], BaseException):
                raise batch[-1]
            if batch[-1] is None:
                return
    finally:
        # The reading thread may be waiting for a slot.
        stopped.set()
        free_slots.release()
