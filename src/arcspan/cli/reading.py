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
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from arcspan.treebanks.streams import Source, read_text, split_lines

if TYPE_CHECKING:
    from arcspan.segmenting import BaseSegmenter, Sentence

BRACKETS, CONLLU = (".ptb", ".mrg", ".brackets"), (".conllu", ".conll")
_LOOK_AHEAD = 1 << 20  # characters in which the kind of input must show
_WORD_LINE = re.compile(r"\d+(?:[-.]\d+)?(?:\t[^\t]*){9}")
_Thing = TypeVar("_Thing")


class Item(NamedTuple):
    """A sentence to parse, as the segmenter found it or as words; `number` is its place in its document, from 1."""

    content: Sentence | list[str]
    lines: tuple[str, ...] = ()  # of CoNLL-U, that it stands in
    document: str | None = None
    number: int = 1


def read_items(
    source: Source,
    kind: str | None,
    segmenter: Callable[[], BaseSegmenter],
    *,
    text: str | None = None,
    document: str | None = None,
    clean: Sequence[str] = (),
) -> tuple[str, Iterator[Item]]:
    """The kind of an input, as given or recognised, and the sentences in it; a `text` stands for itself.

    What is to be taken out of running text (`clean`) is looked for in the whole of it.
    """
    pieces: Iterator[str] = read_text(source) if text is None else iter((text,))
    if kind is None and text is None:
        kind, pieces = recognised(pieces)
        kind = named_kind(source) or kind
    kind = kind or "text"
    if clean and kind == "text":
        from arcspan.segmenting.cleaning import CleanText

        found: Iterator[Item] = map(Item, CleanText("".join(pieces), clean).sentences(segmenter()))
    else:
        found = items_of(pieces, kind, segmenter, source)
    return kind, (item._replace(document=document, number=number) for number, item in enumerate(found, 1))


def document_name(path: Source) -> str:
    """What a document is called in CoNLL-U and tables: its file without folder and suffixes, and without blanks.

    >>> document_name("corpus/01 prose.txt.gz")
    '01_prose'
    """
    name = Path(os.fspath(path).removesuffix(".gz").removesuffix(".xz")).stem
    return re.sub(r"\s+", "_", name)


def named_kind(path: Source) -> str | None:
    """The kind of treebank file that a name stands for: a damaged one must not be parsed as prose.

    >>> named_kind("a/dev.conllu.xz"), named_kind("dev.ptb"), named_kind("dev.txt")
    ('conllu', 'brackets', None)
    """
    suffix = Path(os.fspath(path).removesuffix(".gz").removesuffix(".xz")).suffix.lower()
    return {**dict.fromkeys(CONLLU, "conllu"), **dict.fromkeys(BRACKETS, "brackets")}.get(suffix)


def items_of(
    pieces: Iterable[str], kind: str, segmenter: Callable[[], BaseSegmenter], path: Source = "-"
) -> Iterator[Item]:
    r"""The sentences of a text that comes in pieces, by the kind of input; `path` is named in errors.

    >>> from arcspan.segmenting import RuleSegmenter
    >>> [item.content.words for item in items_of(["One two.\nThr", "ee.\n\nFour."], "text", RuleSegmenter)]
    [('One', 'two', '.'), ('Three', '.'), ('Four', '.')]
    >>> [item.content for item in items_of(["One two\n\nThr", "ee"], "words", RuleSegmenter)]
    [['One', 'two'], ['Three']]
    """
    if kind == "text":
        return map(Item, segmenter().stream(pieces))
    lines = split_lines(pieces, path)
    if kind == "lines":
        return _lines(lines, segmenter())
    return {"words": _words, "conllu": _conllu, "brackets": _trees}[kind](lines, path)


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


def _lines(lines: Iterator[str], segmenter: BaseSegmenter) -> Iterator[Item]:
    start = 0
    for line in lines:
        yield from map(Item, segmenter.split(line, one_sentence=True, start=start))
        start += len(line) + 1


def _words(lines: Iterator[str], path: Source) -> Iterator[Item]:
    for line in lines:
        # Other white space than blanks and tabs may be part of a word.
        if words := [word for word in re.split(r"[ \t]+", line.rstrip("\r")) if word]:
            yield Item(words)


def _conllu(lines: Iterator[str], path: Source) -> Iterator[Item]:
    from arcspan.treebanks.conll import cut_sentences
    from arcspan.trees.words import unescape_brackets

    for sentence in cut_sentences((line.rstrip("\r") for line in lines), path):
        yield Item([unescape_brackets(word.form) for word in sentence.words], sentence.lines)


def _trees(lines: Iterator[str], path: Source) -> Iterator[Item]:
    from arcspan.treebanks.brackets import parse_lines, trees_of

    numbered = ((number, line.rstrip("\r")) for number, line in enumerate(lines, 1))
    for tree in trees_of(parse_lines(numbered, empties="strip"), path):
        yield Item(list(tree.words))


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
