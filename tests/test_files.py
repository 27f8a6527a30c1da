from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from arcspan.errors import ArcspanError
from arcspan.files import atomic_write


def test_a_failure_in_the_middle_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(path) as file:
        file.write("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_line_ends_and_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    path.write_text("old")
    path.chmod(0o640)
    with atomic_write(path) as file:
        file.write("a\nb\n")
    assert path.read_bytes() == b"a\nb\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_is_on_the_disk_before_it_takes_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result.txt"
    path.write_text("old")
    at_synchronization: list[tuple[int, str]] = []

    def synchronized(descriptor: int) -> None:
        at_synchronization.append((os.fstat(descriptor).st_size, path.read_text()))

    monkeypatch.setattr(os, "fsync", synchronized)
    with atomic_write(path) as file:
        file.write("newer")
    assert at_synchronization == [(5, "old")]
    assert path.read_text() == "newer"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_write(tmp_path / "link") as file:
        file.write("text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_that_form_a_loop_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ArcspanError, match="links that form a loop"), atomic_write(tmp_path / "a"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_symlink()) == ["a", "b"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are another matter there")
def test_files_written_by_several_threads_keep_to_the_umask(tmp_path: Path) -> None:
    """The umask was read by setting it to 0, and files of other threads were open to everybody."""
    before = os.umask(0o077)
    try:
        folders = [tmp_path / str(number) for number in range(4)]
        for folder in folders:
            folder.mkdir()

        def write(folder: Path) -> None:
            for number in range(200):
                with atomic_write(folder / f"{number}.txt") as file:
                    file.write("private")

        threads = [threading.Thread(target=write, args=(folder,)) for folder in folders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        assert os.umask(before) == 0o077
    modes = {stat.S_IMODE(file.stat().st_mode) for folder in folders for file in folder.iterdir()}
    assert modes == {0o600}


def test_writing_needs_nothing_that_windows_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no os.fchmod there."""
    monkeypatch.delattr(os, "fchmod", raising=False)
    monkeypatch.delattr(os, "umask")
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("text")
    assert (tmp_path / "a.txt").read_text() == "text"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(ArcspanError, match="none: no such folder"),
        atomic_write(tmp_path / "none" / "a.txt"),
    ):
        pass
