from __future__ import annotations

import gzip
import io
import itertools
import lzma
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from arcspan.errors import FileError
from arcspan.treebanks import streams
from arcspan.treebanks.streams import open_output, read_lines, read_text


@pytest.mark.parametrize(
    "compress", [bytes, gzip.compress, lzma.compress], ids=["plain", "gzip", "xz"]
)
@pytest.mark.parametrize("name", ["a.txt", "-"])
def test_lines_come_out_the_same_from_every_kind_of_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: type[bytes], name: str
) -> None:
    data = compress("\ufefføne\r\ntwo\u2028still two\n\nlast".encode())
    if name == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        path: str | Path = "-"
    else:
        path = tmp_path / name
        path.write_bytes(data)
    assert list(read_lines(path)) == ["øne", "two\u2028still two", "", "last"]


def test_standard_input_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"one\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert list(read_lines("-")) == ["one"]
    assert not stdin.buffer.closed


def test_a_byte_that_is_not_utf8_is_named_by_its_line_even_far_into_the_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"0123456789\n" * 100_000 + b"caf\xe9\n")
    with pytest.raises(
        FileError, match=r"a\.txt:100001: byte 0xe9 \(byte 4 of the line\) is not UTF-8"
    ):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x89PNG\r\n\x1a\n\x00", "a.txt:1: byte 0x89"),
        (b"one\ntwo\x00\n", "a.txt:2: a zero byte: this is a binary file"),
        ("one".encode("utf-16"), "a.txt:1: the file is in UTF-16"),
        (lzma.compress(b"one\n" * 1000)[:-20], "a.txt: the compressed file is damaged or cut off"),
        (
            gzip.compress(b"one\n" * 1000, mtime=0)[:-20],
            "a.txt: the compressed file is damaged or cut off",
        ),
    ],
)
def test_what_is_no_text_is_refused_with_the_place(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(FileError) as error:
        list(read_lines(path))
    assert f"{tmp_path}/{message}" in str(error.value)


def test_a_name_that_promises_compression_must_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "a.ptb.xz"
    path.write_bytes(b"(NP (NN dog))\n")
    with pytest.raises(FileError, match=r"a\.ptb\.xz: the name ends in \.xz"):
        list(read_lines(path))


def test_other_encodings_are_read_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.fid"
    path.write_bytes("中文\n".encode("gb18030"))
    assert list(read_lines(path, "gb18030")) == ["中文"]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"0123456789" * 10 + b"\n")
    size = 40_000_000
    with open(path, "wb") as file:
        file.writelines(itertools.repeat(b"0123456789" * 10 + b"\n", size // 101))
    tracemalloc.start()
    count = sum(1 for _ in read_lines(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == size // 101
    assert peak < size / 10


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz"])
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    with open_output(tmp_path / name) as file:
        file.write("eins\nzwei ß\n")
    assert list(read_lines(tmp_path / name)) == ["eins", "zwei ß"]


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz"])
def test_a_failure_while_writing_leaves_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(RuntimeError), open_output(tmp_path / name) as file:
        file.write("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_the_same_text_is_compressed_to_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with open_output(tmp_path / name) as file:
            file.write("same")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with open_output(pipe) as file:
        file.write("through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_line_that_is_too_long_is_refused_with_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line of 300 MB in a small archive was joined block by block, each time from its
    beginning.
    """
    monkeypatch.setattr(streams, "LONGEST_LINE", 1_000_000)
    path = tmp_path / "a.conllu.gz"
    path.write_bytes(gzip.compress(b"short\n" + b" " * 50_000_000))
    tracemalloc.start()
    with pytest.raises(
        FileError, match=r"a\.conllu\.gz:2: a line of more than 1,000,000 characters"
    ):
        list(read_lines(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def test_an_xz_file_of_several_streams_is_read_and_trailing_bytes_are_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.xz"
    path.write_bytes(
        lzma.compress(b"one\n") + b"\x00" * 8 + lzma.compress(b"two\n" * 500_000) + b"\x00" * 4
    )
    assert sum(1 for _ in read_lines(path)) == 500_001
    for more in (b"garbage", b"\x00\x00\x00\x00garbage", lzma.compress(b"three")[:20]):
        path.write_bytes(lzma.compress(b"one\n") + more)
        with pytest.raises(FileError, match=r"a\.xz: the compressed file is damaged or cut off"):
            list(read_lines(path))


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_text_is_the_same_in_whatever_blocks_it_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(streams, "_BLOCK", size)
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeff\ufeffé\r\n\ufeff漢字 \n\nend".encode())
    assert "".join(read_text(path)) == "\ufeffé\r\n\ufeff漢字 \n\nend"
    assert list(read_lines(path)) == ["\ufeffé", "\ufeff漢字 ", "", "end"]
    path.write_bytes("é\nab漢".encode() + b"\xff")
    with pytest.raises(FileError, match=r"a\.txt:2: byte 0xff \(byte 6 of the line\) is not UTF-8"):
        list(read_text(path))
