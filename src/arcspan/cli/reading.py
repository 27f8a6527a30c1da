"""Text for `arcspan parse`, as a stream: paragraphs of raw text, or lines of words.

Lines come from a file or standard input as they arrive, so that a pipe that is still being written to is
parsed as it grows. Nothing holds more than one paragraph, and no paragraph is longer than `LONGEST`.
"""

from __future__ import annotations

import codecs
import queue
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple

from arcspan.errors import FileError
from arcspan.treebanks.streams import name_of, read_lines

LONGEST = 200_000  # characters of a paragraph that are looked at together
_READ = 1 << 16
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ\x00")


class Item(NamedTuple):
    """Something to parse: a text, or the words of a sentence, and where it begins in the input."""

    content: str | list[str]
    start: int


def items_of(lines: Iterable[str], words: bool) -> Iterator[Item]:
    r"""Lines (with their ends) to items: a sentence a line where `words`, otherwise a paragraph of text.

    >>> [item.content for item in items_of(["One two.\n", "Three.\n", "\n", "Four."], words=False)]
    ['One two.\nThree.\n', 'Four.']
    >>> [item.content for item in items_of(["One two\n", "\n", "Three"], words=True)]
    [['One', 'two'], ['Three']]
    """
    return _sentences(lines) if words else _paragraphs(lines)


def _sentences(lines: Iterable[str]) -> Iterator[Item]:
    start = 0
    line = ""
    for part in lines:  # a long line comes in parts
        line += part
        if part.endswith("\n"):
            if found := _words(line):
                yield Item(found, start)
            start += len(line)
            line = ""
    if found := _words(line):
        yield Item(found, start)


def _words(line: str) -> list[str]:
    """The words of a line; other white space than blanks and tabs may be part of a word."""
    return [word for word in re.split(r"[ \t]+", line.rstrip("\r\n")) if word]


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
    if path != "-" or _standard_input_starts().startswith(_COMPRESSED):
        if path == "-" or _file_starts(path).startswith(_COMPRESSED):
            for line in read_lines(path):
                yield line + "\n"
            return
        with open(path, "rb") as file:
            yield from _decoded(file, path)
    else:
        yield from _decoded(sys.stdin.buffer, path)


def _standard_input_starts() -> bytes:
    stream: Any = sys.stdin.buffer
    found: bytes = stream.peek(6) if hasattr(stream, "peek") else b""
    return found


def _file_starts(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(6)


def _decoded(file: IO[bytes], path: str) -> Iterator[str]:
    decode = codecs.getincrementaldecoder("utf-8")().decode
    number = 1
    while raw := file.readline(_READ):
        if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise FileError("the file is in UTF-16, not UTF-8; convert it", path=name_of(path), line=1)
        try:
            line = decode(raw)
        except UnicodeDecodeError as error:
            what = f"byte 0x{error.object[error.start]:02x} is not UTF-8; convert the file if it is text"
            raise FileError(what, path=name_of(path), line=number) from None
        if "\x00" in line:
            what = "a zero byte: this is a binary file, not text"
            raise FileError(what, path=name_of(path), line=number)
        if line:
            yield line.removeprefix("\ufeff") if number == 1 else line
        number += raw.endswith(b"\n")
    try:
        decode(b"", True)
    except UnicodeDecodeError:
        raise FileError("the last character is cut off", path=name_of(path), line=number) from None


def as_they_come(items: Iterator[Item], most: int) -> Iterator[list[Item]]:
    """Lists of up to `most` items: those that are there, without waiting for more than the first."""
    arrived: queue.Queue[Item | BaseException | None] = queue.Queue(2 * most)

    def read() -> None:
        try:
            for item in items:
                arrived.put(item)
            arrived.put(None)
        except BaseException as error:
            arrived.put(error)

    threading.Thread(target=read, daemon=True, name="arcspan-read").start()
    while True:
        found: list[Item] = []
        last = arrived.get()
        while isinstance(last, Item):
            found.append(last)
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
