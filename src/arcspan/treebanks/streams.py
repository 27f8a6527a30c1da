"""Lines of text in and out of files of every kind: plain, gzip, xz, standard input and output.

Readers get decoded lines one at a time and never hold more than one block of the file. The kind of
compression is told from the first bytes, so that `xz -dc`-less pipes and files with the wrong ending work
too. A byte that is not UTF-8 is reported with the line it stands on, which Python's own text files cannot do.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from arcspan.errors import FileError
from arcspan.files import atomic_write

#: A file's name; "-" is standard input or standard output.
Source = str | os.PathLike[str]

_BLOCK = 1 << 18
_GZIP, _XZ, _UTF8_BOM = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def name_of(path: Source) -> str:
    """What messages call a file.

    >>> name_of("-"), name_of("train.ptb")
    ('<stdin>', 'train.ptb')
    """
    return "<stdin>" if os.fspath(path) == "-" else os.fspath(path)


def read_lines(path: Source, encoding: str = "utf-8") -> Iterator[str]:
    """Every line of a file without its end (LF or CRLF), streamed; a byte order mark is dropped.

    Raises FileError with the line for bytes that are not text, and what open() raises where there is no file.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> _ = path.write_bytes(b"\\xef\\xbb\\xbfone\\r\\ntwo")
    >>> list(read_lines(path))
    ['one', 'two']
    """
    name = name_of(path)
    with open_bytes(path) as file:
        line, rest = 1, b""
        first = file.read(_BLOCK)
        _refuse_other_encodings(first, name, encoding)
        block = first.removeprefix(_UTF8_BOM)
        while block:
            end = block.rfind(b"\n") + 1
            if end:
                for text in _decode(rest + block[:end], name, line, encoding)[:-1]:
                    yield text
                    line += 1
                rest = block[end:]
            else:
                rest += block
            block = file.read(_BLOCK)
        if rest:
            yield _decode(rest, name, line, encoding)[0]


def _decode(block: bytes, name: str, line: int, encoding: str) -> list[str]:
    """The lines of a block that starts at the given line; the last one is what follows the last line end."""
    try:
        text = block.decode(encoding)
    except UnicodeDecodeError as error:
        before = block[: error.start]
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise FileError(
            f"byte 0x{block[error.start]:02x} (byte {column} of the line) is not {encoding.upper()}; "
            "convert the file, or give the right one if this is not text",
            path=name,
            line=line + before.count(b"\n"),
        ) from None
    if "\x00" in text:
        raise FileError(
            "a zero byte: this is a binary file, not text",
            path=name,
            line=line + text[: text.index("\x00")].count("\n"),
        )
    lines = text.split("\n")
    if "\r" in text:
        lines = [text.removesuffix("\r") for text in lines]
    return lines


def _refuse_other_encodings(first: bytes, name: str, encoding: str) -> None:
    if encoding == "utf-8" and first.startswith(_UTF16_BOMS):
        raise FileError("the file is in UTF-16, not UTF-8; convert it", path=name, line=1)


@contextlib.contextmanager
def open_bytes(path: Source) -> Iterator[IO[bytes]]:
    """A file's bytes, decompressed, opened once; "-" is standard input. FileError where an archive is damaged."""
    with contextlib.ExitStack() as stack:
        if os.fspath(path) != "-":
            raw = cast("io.BufferedReader[io.RawIOBase]", stack.enter_context(Path(path).open("rb")))
        elif sys.stdin is None:
            raise FileError("standard input is closed", path=name_of(path))
        elif isinstance(sys.stdin.buffer, io.BufferedReader):
            raw = sys.stdin.buffer
        else:
            raw = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))
            stack.callback(raw.detach)  # closing it would close standard input
        start = raw.peek(len(_XZ))
        file: Any = raw
        if start.startswith(_GZIP):
            file = stack.enter_context(gzip.GzipFile(fileobj=raw))
        elif start.startswith(_XZ):
            file = stack.enter_context(lzma.LZMAFile(raw))
        elif start and (suffix := Path(path).suffix) in (".gz", ".xz"):
            raise FileError(f"the name ends in {suffix}, but the content is not so compressed", path=path)
        try:
            yield file
        except (lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError) as error:
            message = f"the compressed file is damaged or cut off ({error})"
            raise FileError(message, path=name_of(path)) from None


def peek_input() -> bytes:
    """The beginning of standard input, decompressed and still to be read; b"" where it cannot be looked at."""
    peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
    start: bytes = peek(1) if peek is not None else b""
    try:
        if start.startswith(_GZIP):
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(start)  # 16: with the header of gzip
        return lzma.LZMADecompressor().decompress(start) if start.startswith(_XZ) else start
    except (zlib.error, lzma.LZMAError):
        return b""


@contextlib.contextmanager
def open_output(path: Source) -> Iterator[IO[str]]:
    """A text file to write, compressed as its name says (.gz, .xz), whole or not at all; "-" is stdout.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.txt.xz"
    >>> with open_output(path) as file:
    ...     _ = file.write("one\\ntwo\\n")
    >>> list(read_lines(path))
    ['one', 'two']
    """
    if os.fspath(path) == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    path = Path(path)
    suffix = path.suffix
    with contextlib.ExitStack() as stack:
        # A device or a named pipe (/dev/null, >(less)) is written to, never replaced.
        special = path.exists() and not path.is_file()
        opened: Any = path.open("wb") if special else atomic_write(path, "wb")
        raw = cast(IO[bytes], stack.enter_context(opened))
        binary: IO[bytes] = raw
        if suffix == ".gz":
            # No name and no time in the header: the same trees give the same bytes.
            binary = cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", 6, raw, mtime=0)))
        elif suffix == ".xz":
            binary = cast(IO[bytes], stack.enter_context(lzma.LZMAFile(raw, "wb")))
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="\n", write_through=False)
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
