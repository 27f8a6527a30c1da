"""What `arcspan parse` reads, as a stream: raw text, lines, words, or the sentences of treebank files.

Text comes from a file, a pipe or standard input as it arrives, so that a pipe that is still being written to is parsed
as it grows, and goes through the same segmenter as in `parser(text)`. A path is opened once, for a pipe can be read
only once.
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
_WORD_LINE = re.compile(r"\d+(?:[-.]\d+)?(?:\t[^\t]*){9}")
_NAMED = {
    "conll": "conllu",
    "brackets": "brackets",
}  # a damaged treebank must not be parsed as prose
_Thing = TypeVar("_Thing")


class Item(NamedTuple):
    """A sentence to parse, as the segmenter found it or as words; `number` is its place in its document, from 1."""

    content: Sentence | list[str]
    lines: tuple[str, ...] = ()  # of CoNLL-U, that it stands in
    document: str | None = None
    number: int = 1


@dataclass(frozen=True)
class Reader:
    """How inputs are read.

    kind    text, lines, words, conllu or brackets; None: what a file is named for, or looks like
    clean   what is taken out of running text
    column  of Parquet files, which has texts or lists of words
    """

    kind: str | None = None
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
        """The kind of an input and the sentences in it; a `text` stands for itself."""
        path, kind = Path(os.fspath(source).removesuffix(".gz").removesuffix(".xz")), self.kind
        pieces: Iterator[str] = read_text(source) if text is None else iter((text,))
        if path.suffix == ".parquet":
            kind = "parquet"
        elif kind is None and text is None:
            seen, pieces = recognised(pieces)
            kind = _NAMED.get(named_kind(f"_{path.suffix}") or "", seen)
        found = self._items(parser, kind or "text", pieces, source)
        items = (
            item._replace(document=document, number=number) for number, item in enumerate(found, 1)
        )
        return kind or "text", items

    def _items(
        self, parser: Parser, kind: str, pieces: Iterator[str], path: PathLike
    ) -> Iterator[Item]:
        if kind == "parquet":
            return _cells(parser, os.fspath(path), self.column)
        if kind == "text" and self.clean:
            from arcspan.segmenting.cleaning import CleanText

            return map(Item, CleanText("".join(pieces), self.clean).sentences(parser.segmenter))
        if kind == "text":
            return map(Item, parser.segmenter.stream(pieces))
        lines = split_lines(pieces, path)
        if kind == "lines":
            return _lines(parser, lines)
        lines = (line.rstrip("\r") for line in lines)
        if kind == "words":  # other white space than blanks and tabs may be part of a word
            cut = ([word for word in re.split(r"[ \t]+", line) if word] for line in lines)
            return (Item(words) for words in cut if words)
        if kind == "conllu":
            sentences = cut_sentences(lines, path)
            return (
                Item([unescape_brackets(word.form) for word in one.words], one.lines)
                for one in sentences
            )
        trees = trees_of(parse_lines(enumerate(lines, 1), empties="strip"), path)
        return (Item(list(tree.words)) for tree in trees)


def _cells(parser: Parser, path: str, column: str) -> Iterator[Item]:
    from arcspan.integrations.parquet import read_column

    for rows, _ in read_column(path, column):
        for row in rows:
            yield from map(Item, parser.split(row) if isinstance(row, str) else [row])


def _lines(parser: Parser, lines: Iterator[str]) -> Iterator[Item]:
    start = 0
    for line in lines:
        yield from map(Item, parser.segmenter.split(line, one_sentence=True, start=start))
        start += len(line) + 1


def recognised(pieces: Iterable[str]) -> tuple[str, Iterator[str]]:
    r"""The kind of input that a text looks like, "conllu", "brackets" or "text", and the same text.

    >>> recognised(["# text = Go\n", "1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n"])[0], recognised(["(S (VP (VB Go)))"])[0]
    ('conllu', 'brackets')
    >>> recognised(["(IBM (NYSE) fell.)\n"])[0], recognised(["# Title\n", "Go.\n"])[0]
    ('text', 'text')
    """
    pieces = iter(pieces)
    ahead: list[str] = []

    def beginning() -> Iterator[str]:
        left = _LOOK_AHEAD
        while left > 0 and (piece := next(pieces, None)) is not None:
            left -= len(piece)
            ahead.append(piece)
            yield piece

    found = ""
    for line in itertools.islice(split_lines(beginning()), 50):
        if found or (line.strip() and not line.startswith("#")):
            found += line + "\n"
            if not found.lstrip().startswith("(") or found.count("(") <= found.count(")"):
                break
    if _WORD_LINE.fullmatch(found.rstrip("\r\n")):
        kind = "conllu"
    else:
        kind = "brackets" if _is_tree(found) else "text"
    return kind, itertools.chain(ahead, pieces)


def _is_tree(text: str) -> bool:
    """Whether brackets stand as in a treebank: every word in its own pair of them, after a tag."""
    parts = re.findall(r"[()]|[^()\s]+", text)
    return (
        parts[:1] == ["("]
        and parts.count("(") > 1
        and all(
            part in "()"
            or parts[k - 1] == "("
            or (parts[k - 2] == "(" and parts[k + 1 : k + 2] in ([")"], []))
            for k, part in enumerate(parts)
        )
    )


def as_they_come(things: Iterator[_Thing], most: int) -> Iterator[list[_Thing]]:
    """Lists of up to `most` things: those that another thread has got, without waiting for more than the first.

    While it waits, the calling thread can be interrupted, whatever the other one is busy with.
    """
    arrived: queue.SimpleQueue[tuple[_Thing] | BaseException | None] = queue.SimpleQueue()
    places = threading.Semaphore(most)
    stopped = threading.Event()

    def read() -> None:
        try:
            for thing in things:
                places.acquire()
                if stopped.is_set():
                    return
                arrived.put((thing,))
            arrived.put(None)
        except BaseException as error:
            arrived.put(error)

    threading.Thread(target=read, daemon=True, name="arcspan-read").start()
    try:
        while True:
            batch = [arrived.get()]
            while len(batch) < most and not arrived.empty():
                batch.append(arrived.get())
            if found := [one[0] for one in batch if isinstance(one, tuple)]:
                places.release(len(found))
                yield found
            if isinstance(batch[-1], BaseException):
                raise batch[-1]
            if batch[-1] is None:
                return
    finally:
        stopped.set()
        places.release()
