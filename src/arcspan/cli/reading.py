"""What `arcspan parse` reads, as a stream: paragraphs of raw text, lines, words, or the sentences of treebank files.

Lines come from a file, a pipe or standard input as they arrive, so that a pipe that is still being written to is
parsed as it grows. A path is opened once, for a pipe can be read only once. Nothing holds more than one paragraph or
sentence, and no paragraph is longer than `LONGEST`.
"""

from __future__ import annotations

import codecs
import itertools
import queue
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from arcspan.errors import FileError
from arcspan.treebanks.streams import name_of, open_bytes

LONGEST = 200_000  # characters of a paragraph that are looked at together
_READ = 1 << 16
_WORD_LINE = re.compile(r"\d+(?:[-.]\d+)?(?:\t[^\t]*){9}")
_Thing = TypeVar("_Thing")


class Item(NamedTuple):
    """Something to parse: a text, or the words of a sentence, and where it begins in the input."""

    content: str | list[str]
    start: int = 0
    alone: bool = False  # a text that is one sentence
    lines: tuple[str, ...] = ()  # of the CoNLL-U sentence that has these words


def items_of(lines: Iterable[str], kind: str, path: str = "-") -> Iterator[Item]:
    r"""Lines (with their ends) to items, by the kind of input; `path` is named in errors.

    >>> [item.content for item in items_of(["One two.\n", "Three.\n", "\n", "Four."], "text")]
    ['One two.\nThree.\n', 'Four.']
    >>> [item.content for item in items_of(["One two\n", "\n", "Three"], "words")]
    [['One', 'two'], ['Three']]
    """
    if kind == "text":
        return _paragraphs(lines)
    read: dict[str, Callable[[Iterator[str], str], Iterator[Item]]] = {
        "lines": _texts,
        "words": _sentences,
        "conllu": _conllu,
        "brackets": _trees,
    }
    return read[kind](_joined(lines), path)


def recognised(lines: Iterable[str]) -> tuple[str, Iterator[str]]:
    r"""The kind of input that lines look like, "conllu", "brackets" or "text", and the same lines.

    >>> recognised(["# text = Go\n", "1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n"])[0], recognised(["(S (VP (VB Go)))"])[0]
    ('conllu', 'brackets')
    >>> recognised(["(IBM (NYSE) fell.)\n"])[0], recognised(["# Title\n", "Go.\n"])[0]
    ('text', 'text')
    """
    lines = iter(lines)
    ahead: list[str] = []
    found = ""
    for line in itertools.islice(lines, 50):
        ahead.append(line)
        if found or (line.strip() and not line.startswith("#")):
            found += line
            if not found.lstrip().startswith("(") or found.count("(") <= found.count(")"):
                break
    if _WORD_LINE.fullmatch(found.rstrip("\r\n")):
        kind = "conllu"
    else:
        kind = "brackets" if _is_tree(found) else "text"
    return kind, itertools.chain(ahead, lines)


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


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """Whole lines: a long one comes in parts."""
    line = ""
    for part in lines:
        line += part
        if part.endswith("\n"):
            yield line
            line = ""
    if line:
        yield line


def _texts(lines: Iterator[str], path: str) -> Iterator[Item]:
    start = 0
    for line in lines:
        if line.strip():
            yield Item(line, start, alone=True)
        start += len(line)


def _sentences(lines: Iterator[str], path: str) -> Iterator[Item]:
    start = 0
    for line in lines:
        # Other white space than blanks and tabs may be part of a word.
        if words := [word for word in re.split(r"[ \t]+", line.rstrip("\r\n")) if word]:
            yield Item(words, start)
        start += len(line)


def _conllu(lines: Iterator[str], path: str) -> Iterator[Item]:
    from arcspan.treebanks import ConlluSentence

    block: list[str] = []
    first = 1
    for number, line in enumerate(itertools.chain(lines, ["\n"]), 1):
        if line.strip():
            first = first if block else number
            block.append(line.rstrip("\r\n"))
        elif block and not block[-1].startswith("#"):
            sentence = ConlluSentence(block, line=first, path=name_of(path))
            yield Item([word.form for word in sentence.words], lines=sentence.lines)
            block = []


def _trees(lines: Iterator[str], path: str) -> Iterator[Item]:
    from arcspan.treebanks.brackets import parse_lines

    numbered = ((number, line.rstrip("\r\n")) for number, line in enumerate(lines, 1))
    for unit, tree in parse_lines(numbered, empties="strip"):
        if tree is None:
            raise FileError(unit.problem or "not a tree", path=name_of(path), line=unit.line)
        yield Item(list(tree.words))


def _paragraphs(lines: Iterable[str]) -> Iterator[Item]:
    start, length = 0, 0
    paragraph: list[str] = []
    for line in lines:
        if not line.strip() and line.endswith("\n"):
            if paragraph:
                yield Item("".join(paragraph), start)
            start += length + len(line)
            paragraph, length = [], 0
            continue
        paragraph.append(line)
        length += len(line)
        if length > LONGEST:
            text = "".join(paragraph)
            end = max(text.rfind(" "), text.rfind("\n")) + 1 or length
            yield Item(text[:end], start)
            start += end
            paragraph, length = ([text[end:]] if end < length else []), length - end
    if length:
        yield Item("".join(paragraph), start)


def lines_of(path: str) -> Iterator[str]:
    """Lines with their ends, of a file or standard input ("-"); FileError names a line that is not UTF-8."""
    decode = codecs.getincrementaldecoder("utf-8")().decode
    name, number = name_of(path), 1
    with open_bytes(path) as file:
        while True:
            raw = file.readline(_READ)
            if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise FileError("the file is in UTF-16, not UTF-8; convert it", path=name, line=1)
            try:
                line = decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                what = f"byte 0x{error.object[error.start]:02x} is not UTF-8; convert the file if it is text"
                raise FileError(
                    what if raw else "the last character is cut off", path=name, line=number
                ) from None
            if "\x00" in line:
                raise FileError("a zero byte: this is a binary file, not text", path=name, line=number)
            if line:
                yield line.removeprefix("\ufeff") if number == 1 else line
            if not raw:
                return
            number += raw.endswith(b"\n")


def as_they_come(things: Iterator[_Thing], most: int) -> Iterator[list[_Thing]]:
    """Lists of up to `most` things: those that another thread has got, without waiting for more than the first.

    While it waits, the calling thread can be interrupted, whatever the other one is busy with.
    """
    arrived: queue.Queue[tuple[_Thing] | BaseException | None] = queue.Queue(most)
    stopped = threading.Event()

    def put(found: tuple[_Thing] | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                return arrived.put(found, timeout=0.1)
            except queue.Full:
                pass

    def read() -> None:
        try:
            for thing in things:
                put((thing,))
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    threading.Thread(target=read, daemon=True, name="arcspan-read").start()
    try:
        while True:
            found: list[_Thing] = []
            last = arrived.get()
            while isinstance(last, tuple):
                found += last
                if len(found) == most:
                    break
                try:
                    last = arrived.get_nowait()
                except queue.Empty:
                    break
            if found:
                yield found
            if isinstance(last, BaseException):
                raise last
            if last is None:
                return
    finally:
        stopped.set()
