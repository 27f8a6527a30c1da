"""Ray on this machine: a cluster of two workers, started once for all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed (arcspan[ray])")

import pyarrow as pa
import pyarrow.parquet as pq
import ray

from arcspan.cli import run
from arcspan.cli.documents import Document, ParseCommand, find_documents
from arcspan.integrations.parquet import parse_column
from arcspan.integrations.ray import ParseBatches, run_tasks
from arcspan.parser import Parser
from tests.toy import toy_pairs

SENTENCES = [" ".join(pair.constituency.words[:-1]).capitalize() + "." for pair in toy_pairs(60)]


@pytest.fixture(scope="module", autouse=True)
def two_workers() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for k in range(4):
        sentences = SENTENCES[15 * k : 15 * k + 15]
        text = "\n\n".join(" ".join(sentences[m : m + 3]) for m in range(0, 15, 3))
        (folder / f"part-{k}.txt").write_text(text + "\n", encoding="utf-8")
    return folder


def test_two_workers_write_what_one_process_writes_and_go_on_where_a_run_stopped(
    corpus: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    call = [
        "parse",
        "--engine",
        "ray",
        "--workers",
        "2",
        "-m",
        str(bundle),
        "-f",
        "json",
        "-o",
        str(out),
    ]
    (corpus / "part-9.txt").write_bytes(b"Ada plays.\n\xff\n")
    assert run([*call, str(corpus)]) == 2
    assert "part-9.txt:2: byte 0xff (byte 1 of the line) is not UTF-8" in capsys.readouterr().err
    written = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix == ".jsonl"}
    local = tmp_path / "local"
    assert run(["parse", "-m", str(bundle), str(corpus), "-f", "json", "-o", str(local)]) == 2
    plain = {path.name: path.read_bytes() for path in local.iterdir() if path.suffix == ".jsonl"}
    assert written == plain and len(plain) == 4

    (corpus / "part-9.txt").write_bytes(b"Ada plays.\n")
    (out / "part-2.jsonl").unlink()
    before = (out / "part-1.jsonl").stat()
    assert run([*call, str(corpus)]) == 0
    assert "3 of 5 files are done already" in capsys.readouterr().err
    assert (out / "part-1.jsonl").stat() == before
    assert (out / "part-2.jsonl").read_bytes() == plain["part-2.jsonl"]
    assert (out / "part-9.jsonl").read_bytes().count(b"\n") == 1


def test_a_folder_that_is_no_model_is_told_before_anything_is_written(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = [
        "parse",
        "--engine",
        "ray",
        str(corpus),
        "-o",
        str(tmp_path / "out"),
        "-m",
        str(tmp_path / "none"),
    ]
    assert run(call) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


class DiesOnce:
    """Parses a document; the worker that gets the victim first is killed in the middle of it."""

    def __init__(self, call: ParseCommand, victim: str, mark: Path) -> None:
        self.call, self.victim, self.mark = call, victim, mark

    def __call__(self, parser: Parser, document: dict[str, Any]) -> dict[str, Any]:
        if document["name"] == self.victim and not self.mark.exists():
            stream = parser.stream

            def killed(*args: Any, **options: Any) -> Iterator[Any]:
                for number, parses in enumerate(stream(*args, **options)):
                    if number == 700:
                        self.mark.touch()
                        os.kill(os.getpid(), signal.SIGKILL)
                    yield parses

            parser.stream = killed  # type: ignore[method-assign, assignment]
        (ended,) = self.call.parse(parser, [Document(**document)])
        return ended.outcome()


def test_a_worker_killed_in_the_middle_loses_nothing(
    corpus: Path, bundle: Path, parser: Parser, tmp_path: Path
) -> None:
    (corpus / "part-1.txt").write_text(
        "\n\n".join(SENTENCES[k % 60] for k in range(720)), encoding="utf-8"
    )
    documents = find_documents([str(corpus)])
    ours, theirs = (
        ParseCommand("conllu", output=str(tmp_path / name), engine="ray") for name in ("one", "out")
    )
    work = DiesOnce(theirs, "part-1", tmp_path / "killed")
    tasks = [document._asdict() for document in documents]
    done = list(run_tasks(work, tasks, workers=2, path=str(bundle)))
    assert (tmp_path / "killed").exists() and not any(outcome["error"] for outcome in done)
    assert all(ended.error is None for ended in ours.parse(parser, documents))
    for document in documents:
        assert (
            Path(ours.output_path(document)).read_bytes()
            == Path(theirs.output_path(document)).read_bytes()
        )
    assert not list((tmp_path / "out").rglob("*.part"))


def test_parquet_goes_in_and_out_byte_for_byte(
    bundle: Path, parser: Parser, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for k in range(2):
        table = pa.table(
            {"id": [f"{k}-{m}" for m in range(10)], "body": SENTENCES[10 * k : 10 * k + 10]}
        )
        pq.write_table(table, tmp_path / "in" / f"part-{k}.parquet")
    source, out = str(tmp_path / "in"), tmp_path / "out"
    call = ["parse", "--engine", "ray", "--workers", "2", "--column", "body", "-m", str(bundle)]
    assert run([*call, source, "-o", str(out)]) == 0
    for k in range(2):
        alone = tmp_path / f"alone-{k}.parquet"
        parse_column(parser, f"{source}/part-{k}.parquet", str(alone), "body")
        assert (out / f"part-{k}.parquet").read_bytes() == alone.read_bytes()


def test_a_dataset_of_ones_own_is_mapped_by_batches(bundle: Path, parser: Parser) -> None:
    dataset = ray.data.from_items([{"text": sentence} for sentence in SENTENCES[:20]])
    parsed = dataset.map_batches(
        ParseBatches,
        fn_constructor_kwargs={"path": str(bundle)},
        batch_size=5,
        compute=ray.data.ActorPoolStrategy(size=2),
    )
    rows: list[Any] = parsed.take_all()
    assert sorted(row["brackets"] for row in rows) == sorted(
        parse.brackets() for parse in parser.pipe(SENTENCES[:20])
    )


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (["-", "-o", "out"], "standard input"),
        (["tests/toy.py"], "give a folder"),
        (["tests/toy.py", "-o", "out", "-f", "svg"], "not svg"),
        (["nowhere", "-o", "out"], "no file"),
    ],
)
def test_calls_that_make_no_sense_are_told_why(
    call: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["parse", "--engine", "ray", *call]) == 2
    assert reason in capsys.readouterr().err
