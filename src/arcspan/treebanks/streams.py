"""Reading and writing of text files: plain, gzip, xz, standard input and output.

`read_text` yields text as it arrives, `read_lines` whole lines; neither holds more of a file than a
block, or a line of at most `LONGEST_LINE` characters. Compression is recognised by the first bytes,
so that pipes and files with the wrong ending work too. A byte that is not UTF-8 is reported with
its line, which Python's own text files cannot do. This module knows nothing of trees.
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
from typing import IO, Any, cast

from arcspan.errors import FileError
from arcspan.files import atomic_write, naming, printable_name

PathLike = str | os.PathLike[str]
"""A file's name; "-" is standard input or standard output."""

LONGEST_LINE = 10_000_000  # characters
_BLOCK = 1 << 18  # bytes
_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\x00"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def name_of(path: PathLike) -> str:
    """Return the name of a file in messages.

    >>> name_of("-"), name_of("train.ptb")
    ('<stdin>', 'train.ptb')
    """
    return "<stdin>" if os.fspath(path) == "-" else printable_name(os.fspath(path))


def read_lines(path: PathLike, encoding: str = "utf-8") -> Iterator[str]:
    """Yield every line of a file without its end (LF or CRLF); a byte order mark is dropped.

    Raises FileError with the line for bytes that are not text and for a line of more than
    `LONGEST_LINE` characters, and what open() raises where there is no file.
    """
    return (line.removesuffix("\r") for line in split_lines(read_text(path, encoding), path))


def split_lines(pieces: Iterable[str], path: PathLike = "-") -> Iterator[str]:
    """Yield the lines of a text that comes in pieces, cut at LF alone; `path` is for errors."""
    begun: list[str] = []  # of a line whose end has not come yet
    length = 0
    number = 1
    for piece in pieces:
        first, *others = piece.split("\n")
        begun.append(first)
        length += len(first)
        if length > LONGEST_LINE:
            raise FileError(
                f"a line of more than {LONGEST_LINE:,} characters, the most that is read; "
                "is this the right file?",
                path=name_of(path),
                line=number,
            )
        if others:
            number += len(others)
            yield "".join(begun)
            yield from others[:-1]
            begun = [others[-1]]
            length = len(others[-1])
    if line := "".join(begun):
        yield line


def read_text(path: PathLike, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the text of a file in pieces, as they arrive; errors are those of `read_lines`."""
    # "utf-8-sig" drops a byte order mark.
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    decode = codecs.getincrementaldecoder(codec)().decode
    name = name_of(path)
    # The position of the byte that the decoder begins with.
    line = 1
    column = 0
    # The empty block ends the text: bytes of an incomplete character are an error then.
    for block in itertools.chain(_read_bytes(path), (b"",)):
        problem: FileError | None = None
        try:
            text = decode(block, final=not block)
        except UnicodeDecodeError as error:
            problem = _encoding_error(error, encoding, name, line, column)
            text = error.object[: error.start].decode(encoding)
            if (line, column) == (1, 0):
                text = text.removeprefix("\ufeff")
        # No text has zero bytes, but UTF-8 allows them.
        if "\x00" in text:
            text = text[: text.index("\x00")]
            message = "a zero byte: this is a binary file, not text"
            problem = FileError(message, path=name, line=line + text.count("\n"))
        if problem is not None:
            # The lines before it are good.
            yield text[: text.rfind("\n") + 1]
            raise problem
        _, newline, last_line = text.rpartition("\n")
        line += text.count("\n")
        if newline:
            column = 0
        column += len(last_line.encode(encoding))
        if text:
            yield text


def _encoding_error(
    error: UnicodeDecodeError, encoding: str, name: str, line: int, column: int
) -> FileError:
    """Describe bytes that are not text, of which the first is byte `column` + 1 of a line."""
    if encoding == "utf-8" and (line, column) == (1, 0) and error.object.startswith(_UTF16_BOMS):
        return FileError("the file is in UTF-16, not UTF-8; convert it", path=name, line=1)
    before = error.object[: error.start]
    # In the first line of the block, the bytes of that line in earlier blocks count, too.
    line_start = before.rfind(b"\n") if b"\n" in before else -column - 1
    return FileError(
        f"byte 0x{error.object[error.start]:02x} (byte {error.start - line_start} of the line) "
        f"is not {encoding.upper()}; convert the file, or give the right one if this is not text",
        path=name,
        line=line + before.count(b"\n"),
    )


def _read_bytes(path: PathLike) -> Iterator[bytes]:
    """Yield a file's bytes, decompressed, as they arrive; FileError for a damaged archive."""
    with contextlib.ExitStack() as stack:
        raw = _open_bytes(path, stack)
        # The bytes stay in the buffer, so that pipes work, too.
        start = raw.peek(len(_XZ))
        try:
            if start.startswith(_XZ):
                yield from _read_xz(raw)
                return
            suffix = Path(path).suffix
            if start.startswith(_GZIP):
                raw = stack.enter_context(gzip.GzipFile(fileobj=raw))
            elif start and suffix in (".gz", ".xz"):
                raise FileError(
                    f"the name ends in {suffix}, but the content is not so compressed", path=path
                )
            while block := raw.read1(_BLOCK):
                yield block
        except (lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError) as error:
            message = f"the compressed file is damaged or cut off ({error})"
            raise FileError(message, path=name_of(path)) from None


def _open_bytes(path: PathLike, stack: contextlib.ExitStack) -> Any:
    """Open a file or standard input as a buffered reader, which `stack` closes."""
    if os.fspath(path) != "-":
        return stack.enter_context(Path(path).open("rb"))
    if sys.stdin is None:
        raise FileError("standard input is closed", path=name_of(path))
    if isinstance(sys.stdin.buffer, io.BufferedReader):
        return sys.stdin.buffer
    # A replacement of standard input, such as a test's, need not have peek().
    raw = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))
    stack.callback(raw.detach)  # closing it would close standard input
    return raw


def _read_xz(raw: Any) -> Iterator[bytes]:
    """Yield the content of an xz file of one or more streams.

    LZMAFile would ignore anything but a stream after the first one.
    """
    compressed = raw.read1(_BLOCK)
    while compressed:
        engine = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        while not engine.eof:
            if block := engine.decompress(compressed, _BLOCK):
                yield block
            compressed = b""
            if engine.needs_input and not engine.eof:
                compressed = raw.read1(_BLOCK)
                if not compressed:
                    raise EOFError("the end is missing")
        compressed = engine.unused_data.lstrip(b"\x00")
        # Streams may be padded with zeros.
        while not compressed:
            block = raw.read1(_BLOCK)
            if not block:
                return
            compressed = block.lstrip(b"\x00")


def peek_input() -> bytes:
    """Return the beginning of standard input, decompressed and still to be read; or b""."""
    peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
    start: bytes = peek(1) if peek is not None else b""
    try:
        if start.startswith(_GZIP):
            # 16: with the header of gzip
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(start)
        return lzma.LZMADecompressor().decompress(start) if start.startswith(_XZ) else start
    except (zlib.error, lzma.LZMAError):
        return b""


@contextlib.contextmanager
def open_output(path: PathLike) -> Iterator[IO[str]]:
    """Open a text file for writing, compressed as its name says (.gz, .xz); "-" is standard output.

    The file is written whole or not at all.
    """
    if os.fspath(path) == "-":
        with naming("standard output"):
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
        # Otherwise the wrapper would close the file before it is renamed.
        text.detach()


@contextlib.contextmanager
def open_outputs(*paths: PathLike | None) -> Iterator[list[IO[str] | None]]:
    """Open several outputs, all or none of which are written; None for a path that is None."""
    targets = [os.path.realpath(path) for path in paths if path is not None]
    for target in targets:
        # Two layers may go to the same pipe or device.
        is_file = os.path.isfile(target) or not os.path.exists(target)
        if is_file and targets.count(target) > 1:
            raise FileError("is named for two outputs, one of which would be lost", path=target)
    with contextlib.ExitStack() as stack:
        yield [None if path is None else stack.enter_context(open_output(path)) for path in paths]


def write_texts(texts: Iterable[str], path: PathLike) -> int:
    """Write texts one after the other to an `open_output`; return their number."""
    count = 0
    with open_output(path) as file:
        for text in texts:
            file.write(text)
            count += 1
    return count
