"""Many files at once: one output for each, or all in one; what is done is not done again."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arcspan
from arcspan.cli import run
from arcspan.cli.documents import find_documents
from arcspan.cli.hints import Hints
from arcspan.cli.reading import Item
from arcspan.cli.resuming import STARTS, ResumableOutput
from arcspan.errors import ArcspanError
from arcspan.parser import MODELS, Parser
from arcspan.treebanks import read_conllu, read_pairs

Parse = Callable[..., tuple[int, str, str]]


@pytest.fixture
def parse(toy_bundle: Path, capsys: pytest.CaptureFixture[str]) -> Parse:
    def call(*args: object) -> tuple[int, str, str]:
        code = run(["parse", "--model", str(toy_bundle), *map(str, args)])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "deep").mkdir(parents=True)
    (folder / "01_prose.txt").write_text("Ada sees Kurt. Every dog plays.\n\nKurt plays.\n")
    (folder / "02 bad.txt").write_bytes(b"Ada plays.\n\n\xff\n")
    (folder / "03_empty.txt").write_text("\n")
    (folder / "deep" / "04.txt").write_text("Ada plays.\n")
    (folder / "_notes.txt").write_text("Kurt.\n")
    return folder


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def names(*sources: Path | str) -> list[str]:
    return [document.name for document in find_documents(map(str, sources))]


def test_files_folders_and_patterns_name_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(
        tmp_path,
        "b.txt",
        "a.b.txt.gz",
        "deep/er/c d.txt",
        "deep/d.md",
        "_SUCCESS",
        ".hidden",
        "_tmp/e.txt",
    )
    assert names(tmp_path) == ["a.b", "b", "deep/d", "deep/er/c_d"]
    assert names(tmp_path / "b.txt", tmp_path / "deep" / "d.md", tmp_path / "b.txt") == ["b", "d"]
    assert names(f"{tmp_path}/**/*.txt") == ["b", "deep/er/c_d"]
    monkeypatch.chdir(tmp_path)
    assert names("*.txt") == ["b"]
    for source in ("none.txt", "*.none", "_tmp/none"):
        with pytest.raises(ArcspanError, match="no file"):
            names(source)
    touch(tmp_path, "deep/b.txt", "deep/er/b.txt")
    assert names("b.txt", "deep/b.txt") == ["b", "b.txt"]
    with pytest.raises(ArcspanError, match="both be called b"):
        names("b.txt", "deep/b.txt", "deep/er/b.txt")


def test_an_output_that_ends_with_a_slash_is_a_folder_for_one_file_too(
    parse: Parse, corpus: Path, tmp_path: Path
) -> None:
    assert parse(corpus / "01_prose.txt", "-o", f"{tmp_path}/out/")[0] == 0
    assert (tmp_path / "out" / "01_prose.conllu").is_file()


def test_each_file_gets_its_output_and_a_bad_one_is_named_while_the_rest_goes_on(
    parse: Parse, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    code, _, error = parse(corpus, "-o", out, "-f", "conllu")
    assert code == 2 and "02 bad.txt:3: byte 0xff" in error and "files: 3 parsed, 1 not" in error
    found = [path.relative_to(out).as_posix() for path in out.rglob("*.conllu")]
    assert sorted(found) == ["01_prose.conllu", "03_empty.conllu", "deep/04.conllu"]
    sentences = list(read_conllu(out / "01_prose.conllu"))
    assert sentences[0].comments[0] == "# newdoc id = 01_prose"
    assert [one.sent_id for one in sentences] == ["01_prose-1", "01_prose-2", "01_prose-3"]
    (one,) = read_conllu(out / "deep/04.conllu")
    assert one.sent_id == "deep/04-1"
    assert (out / "03_empty.conllu").read_text() == ""


def test_what_is_done_is_not_done_again_until_its_source_changes(
    parse: Parse, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, bad = tmp_path / "out", corpus / "02 bad.txt"
    call = (corpus, "-o", out, "-f", "brackets")
    parse(*call)
    before = {path: path.stat() for path in out.rglob("*.ptb")}
    bad.write_text("Ada plays.\n")
    code, _, error = parse(*call)
    assert code == 0 and error == "3 of 4 files are done already\nfiles: 1 parsed\n"
    assert all(path.stat() == stat for path, stat in before.items())
    bad.write_text("Ada plays. Kurt plays.\n")
    (out / "01_prose.ptb").unlink()
    assert parse(*call)[2] == "2 of 4 files are done already\nfiles: 2 parsed\n"
    assert len((out / "02_bad.ptb").read_text().splitlines()) == 2
    code, _, error = parse(*call, "-k", 2)
    assert code == 2 and "other settings (k)" in error
    (out / ".arcspan" / "01_prose.ptb.json").unlink()
    code, _, error = parse(*call)
    assert code == 2 and "01_prose.ptb: exists, but no note" in error


def test_an_interrupted_run_continues_in_the_middle_of_a_file(
    parse: Parse, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (corpus / "02 bad.txt").write_text("Ada plays.\n" * 30)
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert parse(corpus, "-o", whole)[0] == 0
    calls = iter(range(15))
    conllu = arcspan.Parse.conllu

    def stop(self: arcspan.Parse, **columns: Any) -> str:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return conllu(self, **columns)

    with monkeypatch.context() as patch:
        patch.setattr(arcspan.Parse, "conllu", stop)
        assert parse(corpus, "-o", out)[0] == 1
    assert (out / ".arcspan" / "02_bad.conllu.part").exists()
    (out / ".arcspan" / "02_bad.conllu.draft").write_text('{"settings"')  # as a kill leaves it
    code, _, error = parse(corpus, "-o", out)
    assert code == 0 and "1 of 4 files are done already" in error
    for path in whole.rglob("*.conllu"):
        assert (out / path.relative_to(whole)).read_bytes() == path.read_bytes()
    assert not [*out.rglob("*.part"), *out.rglob("*.draft")]


@pytest.mark.parametrize("resume", [True, False])
def test_a_file_that_kills_its_workers_is_given_up(tmp_path: Path, resume: bool) -> None:
    """Also one that is written as a whole (html, Parquet), which no run continues."""
    path = tmp_path / "a.ptb"
    for _ in range(STARTS):
        again = resume and (tmp_path / ".arcspan/a.ptb.json").exists()
        output = ResumableOutput(path, {}, resume=again, keep=True)
        output.count_start()
        output.open().close()  # as a kill does
    output = ResumableOutput(path, {}, resume=resume, keep=True)
    with pytest.raises(ArcspanError, match="3 runs were killed at the same place"):
        output.count_start()
    output.close()
    assert not (tmp_path / ".arcspan").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_over_files_is_shown_on_a_terminal(
    corpus: Path, toy_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arcspan.cli.progress.DELAY", 0)
    call = ["parse", str(corpus), "--model", str(toy_bundle), "-o", str(tmp_path / "out")]
    for quiet, shown in (([], True), (["--quiet"], False)):
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        assert run([*quiet, *call]) == 2
        assert ("| 4/4 [" in terminal.getvalue() or "| 1/1 [" in terminal.getvalue()) is shown
        assert "02 bad.txt:3: byte 0xff" in terminal.getvalue()


def test_thousands_of_small_files_are_not_open_at_once(parse: Parse, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="Windows has other limits")
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    corpus.mkdir()
    for number in range(300):
        (corpus / f"{number:03}.txt").write_text("" if number % 3 == 0 else "Ada plays .\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 30, hard))
    try:
        code, _, error = parse(corpus, "-o", out, "-f", "brackets")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert code == 0 and error == "files: 300 parsed\n"
    assert len(list(out.glob("*.ptb"))) == 300 and not list(out.rglob("*.part"))


def test_several_files_go_into_one_output(parse: Parse, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "all.jsonl"
    code, _, error = parse(
        corpus / "01_prose.txt", corpus / "02 bad.txt", corpus / "deep" / "04.txt", "-o", out
    )
    assert code == 2 and "02 bad.txt:3" in error
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["document"] for record in records] == ["01_prose"] * 3 + ["02_bad", "04"]
    code, shown, _ = parse(corpus / "01_prose.txt", corpus / "deep" / "04.txt", "-f", "conllu")
    ids = [line for line in shown.splitlines() if line.startswith(("# newdoc", "# sent_id"))]
    assert code == 0 and ids == [
        *("# newdoc id = 01_prose", "# sent_id = 01_prose-1", "# sent_id = 01_prose-2"),
        *("# sent_id = 01_prose-3", "# newdoc id = 04", "# sent_id = 04-1"),
    ]


def test_words_and_constituents_are_tables_whose_offsets_lead_back_to_the_text(
    parse: Parse, corpus: Path, tmp_path: Path
) -> None:
    source = corpus / "01_prose.txt"
    text = source.read_text()
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        code, out, _ = parse(source, corpus / "deep" / "04.txt", "-f", form)
        rows = list(csv.DictReader(io.StringIO(out), delimiter=delimiter))
        own = [row for row in rows if row["document"] == "01_prose"]
        assert code == 0 and len(own) < len(rows)
        assert [text[int(row["start"]) : int(row["end"])] for row in own] == [
            row["word"] for row in own
        ]
        assert [row["sentence"] for row in own if row["head"] == "0"] == ["1", "2", "3"]
    spans = tmp_path / "spans.csv"
    assert parse(source, "--table", "constituents", "-o", spans)[0] == 0
    rows = list(csv.DictReader(spans.open()))
    assert {row["label"] for row in rows} >= {"S", "NP"}
    for row in rows:
        written = text[int(row["start_char"]) : int(row["end_char"])]
        assert written.replace(".", "").split() == row["text"].replace(".", "").split()
    assert parse(corpus / "03_empty.txt", "-o", tmp_path / "none.csv")[0] == 0
    assert (tmp_path / "none.csv").read_text().startswith("document,sentence,position,word")


def test_one_conllu_file_holds_both_trees(parse: Parse, tmp_path: Path, toy_bundle: Path) -> None:
    out = tmp_path / "both.conllu"
    assert parse("Ada sees Kurt. Every dog plays.", "-o", out, "--constituency")[0] == 0
    pairs = list(read_pairs(str(out)))
    expected = Parser(toy_bundle)("Ada sees Kurt. Every dog plays.")
    assert [pair.constituency.spans for pair in pairs] == [
        tree_parse.constituency.spans for tree_parse in expected
    ]
    assert [pair.dependencies.heads for pair in pairs] == [
        tree_parse.heads for tree_parse in expected
    ]
    again = tmp_path / "again.conllu"
    assert parse(out, "-o", again, "--constituency")[0] == 0
    assert again.read_text() == out.read_text()


def test_a_page_and_parquet_of_every_file(parse: Parse, corpus: Path, tmp_path: Path) -> None:
    (corpus / "02 bad.txt").unlink()
    out = tmp_path / "pages"
    assert parse(corpus, "-o", out, "-f", "html")[0] == 0
    assert "Ada" in (out / "deep" / "04.html").read_text()
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (arcspan[ray])")
    tables = tmp_path / "tables"
    assert parse(corpus, "-o", tables, "-f", "parquet")[0] == 0
    assert pq.read_table(tables / "01_prose.parquet").column("words").to_pylist()[2] == [
        "Kurt",
        "plays",
        ".",
    ]
    assert os.listdir(tables / "deep" / ".arcspan") == ["04.parquet.json"]
    code, _, error = parse(corpus, "-o", out, "-f", "svg")
    assert code == 2 and "not svg" in error


def test_a_row_that_is_not_words_is_named_and_the_other_files_are_parsed(
    parse: Parse, tmp_path: Path
) -> None:
    """A null among the words of a Parquet file ended the run of all files, and no file was named."""
    pa = pytest.importorskip("pyarrow", reason="needs the extra ray")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": [["Ada", None], ["Ada"]]}), tmp_path / "a.parquet")
    (tmp_path / "b.txt").write_text("Ada sees Kurt.")
    code, _, error = parse(
        tmp_path / "a.parquet", tmp_path / "b.txt", "-f", "conllu", "-o", tmp_path / "out"
    )
    assert code == 1 and "a: sentence 1: item 1: word 2 is NoneType" in error
    assert len(list(read_conllu(tmp_path / "out" / "b.conllu"))) == 1


def test_markup_is_taken_out_and_offsets_stay(parse: Parse, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>Ada <b>sees</b> Kurt.</p><p>Every dog plays.</p>")
    code, out, error = parse(page, "--clean", "html,hyphens", "-f", "json")
    records = [json.loads(line) for line in out.splitlines()]
    assert (code, error) == (0, "") and [record["words"][1] for record in records] == [
        "sees",
        "dog",
    ]
    assert [page.read_text()[i:j] for record in records for i, j in record["offsets"]] == [
        word for record in records for word in record["words"]
    ]
    assert "--clean html takes them out" in parse(page, "-f", "json")[2]
    code, _, error = parse(page, "--clean", "html,tex")
    assert code == 2 and "'tex' is not one of html, hyphens, subtitles, chat" in error


@pytest.mark.skipif(not (MODELS / "en").is_dir(), reason="this checkout has no English model")
def test_a_text_in_another_language_is_noticed() -> None:
    parser = Parser(threads=1)
    german = "Die Logik spielt hier eine sehr große Rolle, und wir messen das mit unseren kleinen Versuchen. "
    english = "Logic plays a very great part here, and we measure it with the help of our small experiments. "
    for text, expected in (
        (german * 5, 1),
        (english * 5, 0),
        ((english * 3 + german) * 2, 0),
        (german, 0),
    ):
        hints = Hints(parser)
        assert sum(1 for _ in hints.watch(map(Item, parser.split(text)))) > 0
        assert sum("language (en)" in hint for hint in hints.notes()) == expected


def test_names_of_files_are_escaped_and_their_outputs_read_back(
    parse: Parse, tmp_path: Path
) -> None:
    """A folder named `d\\nir\\n1\\tEVIL` once added lines of its own to the CoNLL-U file."""
    corpus = tmp_path / "corpus"
    odd_names = ["d\nir\n1\tEVIL/a.txt", "esc\x1b[8m.txt", "rev\u202etxt.txt", "tab\there.txt"]
    odd_names += [os.fsdecode(b"\xff.txt"), os.fsdecode(b"\xfe.txt")]
    for name in odd_names:
        (corpus / name).parent.mkdir(parents=True, exist_ok=True)
        (corpus / name).write_text("Ada plays.\n", encoding="utf-8")
    joined = tmp_path / "all.conllu"
    assert parse(corpus, "-o", joined)[0] == 0
    sentences = list(read_conllu(joined))
    ids = {sentence.comment("newdoc id") for sentence in sentences}
    assert len(ids) == len(sentences) == len(odd_names)
    assert not {"\x1b", "\u202e"} & set(joined.read_text(encoding="utf-8"))
    assert parse(corpus, "-o", tmp_path / "folder/")[0] == 0
    outputs = list((tmp_path / "folder").rglob("*.conllu"))
    assert len(outputs) == len(odd_names)
    assert all(len(list(read_conllu(output))) == 1 for output in outputs)


def test_an_output_folder_inside_the_input_is_not_read(parse: Parse, corpus: Path) -> None:
    """The same call three times once left out/out/out."""
    (corpus / "02 bad.txt").unlink()

    def files() -> list[str]:
        return sorted(str(path.relative_to(corpus)) for path in corpus.rglob("*"))

    assert parse(corpus, "-o", corpus / "out/")[0] == 0
    after_first = files()
    for _ in range(2):
        assert parse(corpus, "-o", corpus / "out/")[0] == 0
        assert files() == after_first
    code, _, message = parse(corpus, "-o", f"{corpus}/")
    assert code == 2
    assert "choose a folder that is not also the input" in message


def test_files_that_differ_in_their_suffix_get_distinct_names(tmp_path: Path) -> None:
    touch(tmp_path, "data.json", "data.jsonl", "data.jsonl.gz")
    assert names(tmp_path) == ["data", "data.jsonl", "data.jsonl.gz"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_out_of_a_folder_are_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder from somebody else had its reader's own files parsed into the output."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("secret")
    folder = tmp_path / "others"
    folder.mkdir()
    (folder / "a.txt").write_text("text")
    (folder / "b.txt").symlink_to("../secret/key.txt")
    (folder / "c.txt").symlink_to("a.txt")
    (folder / "d").symlink_to("../secret")
    for pattern in (str(folder), str(folder / "**" / "*.txt")):
        names = [document.name for document in find_documents([pattern])]
        assert names == ["a", "c"]
        assert "links that lead out of the folder are not followed: " in capsys.readouterr().err
    # What is named itself is read, and a folder may be named by a link.
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    assert [document.name for document in find_documents(["link"])] == ["a", "c"]
    assert [document.name for document in find_documents([str(folder / "b.txt")])] == ["b"]


def test_documents_with_very_long_names_are_written_and_done(
    parse: Parse, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The names of the output, its draft and its note were longer than a name can be."""
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    corpus.mkdir()
    for letter in "ab":
        (corpus / ("x" * 250 + letter + ".txt")).write_text("Ada plays .\n")
    code, _, error = parse(corpus, "-o", out)
    assert code == 0, error
    written = {path: path.read_bytes() for path in out.glob("*.conllu")}
    assert len(written) == 2
    code, _, error = parse(corpus, "-o", out)
    assert code == 0 and "2 of 2 files are done already" in error
    assert {path: path.read_bytes() for path in out.glob("*.conllu")} == written
