from __future__ import annotations

import os
from pathlib import Path

import pytest

from arcspan.errors import ArcspanError, FileError
from arcspan.integrations.shards import TRIES, Done, Shard, attempt, find_shards, prepare, remaining, sweep
from arcspan.parser import Parser


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def targets(source: Path | str, suffix: str = ".conllu") -> list[str]:
    return [os.path.relpath(shard.target, "out") for shard in find_shards(str(source), "out", suffix)]


def test_a_file_a_folder_or_a_pattern_names_the_shards(tmp_path: Path) -> None:
    touch(tmp_path, "b.txt", "a.txt.gz", "deep/er/c.txt", "deep/d.md", "_SUCCESS", ".hidden", "_tmp/e.txt")
    assert targets(tmp_path) == ["a.conllu", "b.conllu", "deep/d.conllu", "deep/er/c.conllu"]
    assert targets(tmp_path / "b.txt") == ["b.conllu"]
    assert targets(tmp_path / "*.txt") == ["b.conllu"]
    assert targets(f"{tmp_path}/**/*.txt", ".ptb") == ["b.ptb", "deep/er/c.ptb"]


def test_a_pattern_without_a_folder_is_of_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path, "a.txt", "b.txt")
    monkeypatch.chdir(tmp_path)
    assert targets("*.txt") == ["a.conllu", "b.conllu"]
    assert all(os.path.isabs(path) for shard in find_shards("*.txt", "out", ".ptb") for path in shard)


def test_nothing_to_parse_is_an_error(tmp_path: Path) -> None:
    for source in (tmp_path, tmp_path / "none.txt", tmp_path / "*.txt"):
        with pytest.raises(ArcspanError, match="no file"):
            targets(source)


def test_two_shards_cannot_have_one_target(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "a.md")
    with pytest.raises(ArcspanError, match="both"):
        targets(tmp_path)


def test_what_is_written_is_done_unless_its_source_was_exchanged(tmp_path: Path, parser: Parser) -> None:
    def write(parser: Parser, shard: Shard) -> Done:
        Path(shard.target).touch()
        return Done(shard, 1)

    touch(tmp_path, "in/a.txt", "in/b.txt", "in/c.txt", "in/d.txt")
    shards = find_shards(str(tmp_path / "in"), tmp_path / "out", ".ptb")
    prepare(shards, tmp_path / "out", {"format": "brackets"})
    assert remaining(shards) == shards
    for shard in shards[:3]:
        attempt(write, parser, shard)
    os.utime(tmp_path / "in/b.txt", (2e9, 2e9))  # edited
    os.utime(tmp_path / "in/c.txt", (1e9, 1e9))  # another file, older than what was written
    assert [os.path.basename(shard.source) for shard in remaining(shards)] == ["b.txt", "c.txt", "d.txt"]


def test_a_folder_made_with_other_settings_is_refused(tmp_path: Path) -> None:
    prepare([], tmp_path / "out", {"format": "brackets", "words": False})
    prepare([], tmp_path / "out", {"format": "brackets", "words": False})
    with pytest.raises(ArcspanError, match=r"other settings \(words\)"):
        prepare([], tmp_path / "out", {"format": "brackets", "words": True})
    touch(tmp_path, "file")
    with pytest.raises(ArcspanError, match="is a file"):
        prepare([], tmp_path / "file", {})


def test_a_bad_shard_is_told_and_one_that_kills_workers_is_given_up(tmp_path: Path, parser: Parser) -> None:
    def refuse(parser: Parser, shard: Shard) -> Done:
        raise FileError("not UTF-8", path=shard.source, line=3)

    touch(tmp_path, "in/a.txt", "out/a.ptb")
    shard = Shard(str(tmp_path / "in" / "a.txt"), str(tmp_path / "out" / "a.ptb"))
    assert attempt(refuse, parser, shard).error == f"{shard.source}:3: not UTF-8"
    touch(tmp_path, *(f"out/.a.ptb.{k}.part" for k in range(TRIES)), "out/other.part")
    error = attempt(refuse, parser, shard).error
    assert error is not None and "given up" in error
    sweep([shard])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.ptb", "other.part"]
    assert attempt(lambda parser, shard: Done(shard, 7), parser, shard) == Done(shard, 7)
    os.unlink(shard.source)
    assert "No such file" in str(attempt(refuse, parser, shard).error)
