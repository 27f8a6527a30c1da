from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from arcspan.errors import ArcspanError
from arcspan.files import atomic_write, short_name


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


KILLED = """
import os, sys
from arcspan.files import atomic_write
with atomic_write(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    os._exit(1)
"""
needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="drafts stay on Windows")


@needs_locks
def test_the_next_run_removes_the_draft_of_a_killed_one(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
        assert [entry.name for entry in tmp_path.iterdir()] == [".result.txt.0.part"]
    with atomic_write(path) as file:
        file.write("whole")
    assert list(tmp_path.iterdir()) == [path]


@needs_locks
def test_the_draft_of_a_run_that_still_writes_stays(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    with atomic_write(path) as slow:
        slow.write("slow")
        with atomic_write(path) as fast:
            fast.write("fast")
        assert path.read_text() == "fast"
        assert (tmp_path / ".result.txt.0.part").exists()
    assert path.read_text() == "slow"
    assert list(tmp_path.iterdir()) == [path]


@needs_locks
def test_two_drafts_that_were_left_at_once_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    for number in (0, 1):
        (tmp_path / f".result.txt.{number}.part").write_text("half")
    with atomic_write(path) as file:
        file.write("whole")
    assert list(tmp_path.iterdir()) == [path]


@needs_locks
def test_a_link_or_pipe_in_the_place_of_a_draft_is_left_alone(tmp_path: Path) -> None:
    path, other = tmp_path / "result.txt", tmp_path / "other.txt"
    other.write_text("other")
    (tmp_path / ".result.txt.0.part").symlink_to(other)
    os.mkfifo(tmp_path / ".result.txt.1.part")
    with atomic_write(path) as file:
        file.write("whole")
    assert (path.read_text(), other.read_text()) == ("whole", "other")
    assert (tmp_path / ".result.txt.0.part").is_symlink()


@needs_locks
def test_many_threads_may_write_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"

    def write(number: int) -> None:
        for _ in range(50):
            with atomic_write(path) as file:
                file.write(str(number) * 100)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in {str(number) * 100 for number in range(4)}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("letter", ["a", "é"])
def test_a_name_as_long_as_a_name_can_be_is_written(tmp_path: Path, letter: str) -> None:
    """Its draft had a name that was longer than the file system allows."""
    path = tmp_path / (letter * (251 // len(letter.encode())) + ".txt")
    with atomic_write(path) as file:
        file.write("text")
    assert list(tmp_path.iterdir()) == [path]


def test_short_names_of_different_files_differ() -> None:
    names = {short_name("a" * length, ".part") for length in range(240, 300)}
    assert len(names) == 60
    assert max(map(len, names)) == 255


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_a_full_disk_is_named_with_the_file(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="No space left on device: '/dev/full'"),
        atomic_write("/dev/full") as file,
    ):
        file.write("text")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of the size of files")
def test_a_file_that_grows_too_large_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    code = """
import resource, sys
from arcspan.files import atomic_write
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    with atomic_write(sys.argv[1]) as file:
        file.write("x" * 1000)
except OSError as error:
    print(error.filename)
"""
    path = tmp_path / "result.txt"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{path}\n"
    assert list(tmp_path.iterdir()) == []
