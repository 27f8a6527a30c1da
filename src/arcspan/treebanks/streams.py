"""Text in and out of files of every kind: plain, gzip, xz, standard input and output.

`read_text` gives what has arrived, `read_lines` whole lines; neither holds more of a file than a block, or a line of
at most `LONGEST_LINE` characters. Compression is recognised by the first bytes, so that pipes and files with the
wrong ending work too. A byte that is not UTF-8 is reported with the line it stands on, which Python's own text files
cannot do.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import itertools
import lzma
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from arcspan.errors import FileError
from arcspan.files import atomic_write

#: A file's name; "-" is standard input or standard output.
Source = str | os.PathLike[str]

LONGEST_LINE = 10_000_000  # characters
_BLOCK = 1 << 18  # bytes
_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def name_of(path: Source) -> str:
    """What messages call a file.

    >>> name_of("-"), name_of("train.ptb")
    ('<stdin>', 'train.ptb')
    """
    return "<stdin>" if os.fspath(path) == "-" else os.fspath(path)


def read_lines(path: Source, encoding: str = "utf-8") -> Iterator[str]:
    """Every line of a file without its end (LF or CRLF), streamed; a byte order mark is dropped.

    Raises FileError with the line for bytes that are not text and for a line of more than `LONGEST_LINE`
    characters, and what open() raises where there is no file.
    """
    return (line.removesuffix("\r") for line in split_lines(read_text(path, encoding), path))


def split_lines(pieces: Iterable[str], path: Source = "-") -> Iterator[str]:
    """The lines of a text that comes in pieces, cut at LF alone; `path` is named in errors."""
    begun: list[str] = []  # of a line whose end has not come yet
    length, number = 0, 1
    for piece in pieces:
        first, *others = piece.split("\n")
        begun.append(first)
        length += len(first)
        if length > LONGEST_LINE:
            message = f"a line of more than {LONGEST_LINE:,} characters, the most that is read; is this the right file?"
            raise FileError(message, path=name_of(path), line=number)
        if others:
            number += len(others)
            *whole, last = others
            yield "".join(begun)
            yield from whole
            begun, length = [last], len(last)
    if line := "".join(begun):
        yield line


def read_text(path: Source, encoding: str = "utf-8") -> Iterator[str]:
    """The text of a file in pieces, as they arrive; a byte order mark is dropped. Errors are those of `read_lines`."""
    decode = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)().decode
    name, line, column = name_of(path), 1, 0  # of the byte that the decoder begins with
    for block in itertools.chain(_read_bytes(path), (b"",)):
        problem: FileError | None = None
        try:
            text = decode(block, final=not block)
        except UnicodeDecodeError as error:
            problem = _not_text(error, encoding, name, line, column)
            text = error.object[: error.start].decode(encoding)
            text = text.removeprefix("\ufeff") if (line, column) == (1, 0) else text
        if "\x00" in text:
            text = text[: text.index("\x00")]
            place = line + text.count("\n")
            problem = FileError(
                "a zero byte: this is a binary file, not text", path=name, line=place
            )
        if problem is not None:
            yield text[: text.rfind("\n") + 1]  # the lines before it are good
            raise problem
        _, newline, last = text.rpartition("\n")
        line += text.count("\n")
        column = (0 if newline else column) + len(last.encode(encoding))
        if text:
            yield text


def _not_text(
    error: UnicodeDecodeError, encoding: str, name: str, line: int, column: int
) -> FileError:
    """What is wrong with bytes, of which the first is byte `column` + 1 of a line."""
    before = error.object[: error.start]
    if encoding == "utf-8" and (line, column) == (1, 0) and error.object.startswith(_UTF16_BOMS):
        return FileError("the file is in UTF-16, not UTF-8; convert it", path=name, line=1)
    byte = error.start - before.rfind(b"\n") if b"\n" in before else column + error.start + 1
    return FileError(
        f"byte 0x{error.object[error.start]:02x} (byte {byte} of the line) is not {encoding.upper()}; "
        "convert the file, or give the right one if this is not text",
        path=name,
        line=line + before.count(b"\n"),
    )


def _read_bytes(path: Source) -> Iterator[bytes]:
    """A file's bytes, decompressed, as they arrive; "-" is standard input. FileError where an archive is damaged."""
    with contextlib.ExitStack() as stack:
        if os.fspath(path) != "-":
            raw = cast(
                "io.BufferedReader[io.RawIOBase]", stack.enter_context(Path(path).open("rb"))
            )
        elif sys.stdin is None:
            raise FileError("standard input is closed", path=name_of(path))
        elif isinstance(sys.stdin.buffer, io.BufferedReader):
            raw = sys.stdin.buffer
        else:
            raw = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))
            stack.callback(raw.detach)  # closing it would close standard input
        start = raw.peek(len(_XZ))
        try:
            if start.startswith(_XZ):
                yield from _read_xz(raw)
                return
            if start.startswith(_GZIP):
                raw = cast(
                    "io.BufferedReader[io.RawIOBase]",
                    stack.enter_context(gzip.GzipFile(fileobj=raw)),
                )
            elif start and (suffix := Path(path).suffix) in (".gz", ".xz"):
                raise FileError(
                    f"the name ends in {suffix}, but the content is not so compressed", path=path
                )
            while block := raw.read1(_BLOCK):
                yield block
        except (lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError) as error:
            message = f"the compressed file is damaged or cut off ({error})"
            raise FileError(message, path=name_of(path)) from None


def _read_xz(raw: io.BufferedReader[io.RawIOBase]) -> Iterator[bytes]:
    """The content of an xz file of one or more streams; LZMAFile would ignore what else stands after the first."""
    data = raw.read1(_BLOCK)
    while data:
        engine = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not engine.eof:
            if block := engine.decompress(data, _BLOCK):
                yield block
            data = b""
            if engine.needs_input and not engine.eof and not (data := raw.read1(_BLOCK)):
                raise EOFError("the end is missing")
        data = engine.unused_data
        while not (data := data.lstrip(b"\x00")) and (
            more := raw.read1(_BLOCK)
        ):  # streams may be padded
            data = more


def peek_input() -> bytes:
    """The beginning of standard input, decompressed and still to be read; b"" where it cannot be looked at."""
    peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
    start: bytes = peek(1) if peek is not None else b""
    try:
        if start.startswith(_GZIP):
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(
                start
            )  # 16: with the header of gzip
        return lzma.LZMADecompressor().decompress(start) if start.startswith(_XZ) else start
    except (zlib.error, lzma.LZMAError):
        return b""


@contextlib.contextmanager
def open_output(path: Source) -> Iterator[IO[str]]:
    """A text file to write, compressed as its name says (.gz, .xz), whole or not at all; "-" is stdout."""
    if os.fspath(path) == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    suffix = Path(path).suffix
    with contextlib.ExitStack() as stack:
        raw = binary = stack.enter_context(atomic_write(path, "wb"))
        if suffix == ".gz":
            # No name and no time in the header: the same trees give the same bytes.
            binary = cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", 6, raw, mtime=0)))
        elif suffix == ".xz":
            binary = cast(IO[bytes], stack.enter_context(lzma.LZMAFile(raw, "wb")))
        text = io.TextIOWrapper(binary, encoding="utf-8", errors="replace", newline="\n")
        yield text
        text.flush()
        text.detach()


@contextlib.contextmanager
def open_outputs(*paths: Source | None) -> Iterator[list[IO[str] | None]]:
    """Several outputs, all or none of which are written; None for a path that is None."""
    given = [os.path.realpath(path) for path in paths if path is not None]
    for path in given:
        if given.count(path) > 1 and (os.path.isfile(path) or not os.path.exists(path)):
            raise FileError("is named for two outputs, one of which would be lost", path=path)
    with contextlib.ExitStack() as stack:
        yield [None if path is None else stack.enter_context(open_output(path)) for path in paths]


def write_texts(texts: Iterable[str], path: Source) -> int:
    """Write texts one after the other as `open_output` does; how many."""
    count = 0
    with open_output(path) as file:
        for text in texts:
            file.write(text)
            count += 1
    return count
