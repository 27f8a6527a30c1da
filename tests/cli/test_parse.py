"""`arcspan parse`: inputs of every kind, six formats, files that survive an interruption."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arcspan
from arcspan.cli import run
from arcspan.parser import Parser
from arcspan.treebanks import read_brackets, read_conllu, read_pairs

TEXT = "Logic plays a maximal role here. Ada sees Kurt.\n\nEvery dog often plays.\n"
BRACKETS = 3

Parse = Callable[..., tuple[int, str, str]]


@pytest.fixture
def parse(toy_bundle: Path, capsys: pytest.CaptureFixture[str]) -> Parse:
    """Call the command; returns exit code, standard output, standard error."""

    def call(*args: object) -> tuple[int, str, str]:
        code = run(["parse", "--model", str(toy_bundle), *map(str, args)])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    def give(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))  # type: ignore[arg-type]

    return give


def test_a_text_is_drawn(parse: Parse) -> None:
    code, out, error = parse("Logic plays a maximal role here.")
    assert (code, error) == (0, "")
    for part in ("Logic", "nsubj", "NP", "VBZ", "│"):
        assert part in out
    assert "\x1b[" not in out


def test_workers_are_those_of_ray(parse: Parse) -> None:
    code, _, error = parse("Logic plays.", "--workers", "2")
    assert code == 2 and "needs --engine ray" in error


def test_brackets_in_forms_are_parsed_as_such_and_written_as_they_were(
    parse: Parse, tmp_path: Path
) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("1\tAda\t_\t_\t_\t_\t_\t_\t_\t_\n2\t-LRB-\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    assert "2\t-LRB-\t" in parse(path, "-f", "conllu")[1]
    assert json.loads(parse(path, "-f", "json")[1])["words"] == ["Ada", "("]


def test_one_conllu_file_holds_both_trees(parse: Parse, tmp_path: Path) -> None:
    out = tmp_path / "both.conllu"
    assert parse("Ada sees the dog.", "-o", str(out), "--constituency", "--offsets")[0] == 0
    (pair,) = read_pairs(out)
    assert pair.constituency.brackets() == parse("Ada sees the dog.", "-f", "brackets")[1].strip()
    assert (
        "TokenRange=0:3" in out.read_text() and "SpaceAfter=No|TokenRange=13:16" in out.read_text()
    )
    assert parse("Ada sees.", "-f", "json", "--constituency")[0] == 2


def test_brackets_conllu_and_json_say_the_same(parse: Parse, tmp_path: Path) -> None:
    (tmp_path / "a.ptb").write_text(parse(TEXT, "-f", "brackets")[1], encoding="utf-8")
    (tmp_path / "a.conllu").write_text(parse(TEXT, "-f", "conllu")[1], encoding="utf-8")
    c_trees = list(read_brackets(tmp_path / "a.ptb"))
    sentences = list(read_conllu(tmp_path / "a.conllu"))
    objects = [json.loads(line) for line in parse(TEXT, "-f", "json")[1].splitlines()]
    assert len(c_trees) == len(sentences) == len(objects) == 3
    for c_tree, sentence, record in zip(c_trees, sentences, objects, strict=True):
        assert c_tree.brackets() == record["brackets"]
        assert list(sentence.tree.heads) == record["heads"]
        assert list(c_tree.words) == list(sentence.tree.words) == record["words"]
        # Offsets count from the beginning of the input, paragraphs or not.
        assert [TEXT[start:end] for start, end in record["offsets"]] == record["words"]


def test_a_file_is_read_in_paragraphs(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    objects = [json.loads(line) for line in parse(path, "-f", "json")[1].splitlines()]
    text = path.read_bytes().decode()
    assert [len(record["words"]) for record in objects] == [7, 4, 5]
    for record in objects:
        assert [text[start:end] for start, end in record["offsets"]] == record["words"]


def test_a_compressed_file_is_read(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    assert parse(path, "-f", "brackets")[1] == parse(TEXT, "-f", "brackets")[1]


def test_words_are_taken_as_they_are(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("Ada didn't  see\tKurt.\n\nOne\u00a0word .\n", encoding="utf-8")
    objects = [json.loads(line) for line in parse(path, "--words", "-f", "json")[1].splitlines()]
    assert [record["words"] for record in objects] == [
        ["Ada", "didn't", "see", "Kurt."],
        ["One\u00a0word", "."],
    ]


@pytest.mark.parametrize("named", [True, False])
def test_standard_input_is_read(
    parse: Parse, standard_input: Callable[[bytes], None], named: bool
) -> None:
    standard_input(TEXT.encode())
    code, out, _ = parse(*(["-"] if named else []), "-f", "brackets")
    assert code == 0
    assert out == parse(TEXT, "-f", "brackets")[1]


def test_lines_are_parsed_as_they_arrive(toy_bundle: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "arcspan",
        "parse",
        "-m",
        str(toy_bundle),
        "--words",
        "-f",
        "brackets",
        "-",
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for _ in range(3):
            process.stdin.write("Ada sees Kurt .\n")
            # The answer comes although the input has not ended.
            assert process.stdout.readline().startswith("(TOP ")
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.ptb", "(TOP (S"),
        ("A.PTB", "(TOP (S"),
        ("a.conllu", "# newdoc\n# sent_id = 1\n# newpar\n# text = Logic"),
        ("a.jsonl", '{"text"'),
        ("a.html", "<!doctype html>"),
    ],
)
def test_the_outputs_suffix_chooses_the_format(
    parse: Parse, tmp_path: Path, name: str, start: str
) -> None:
    code, out, _ = parse(TEXT, "-o", tmp_path / name)
    assert (code, out) == (0, "")
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    assert os.listdir(tmp_path) == [name]


def test_each_sentence_has_a_picture_of_its_own(parse: Parse, tmp_path: Path) -> None:
    assert parse("Ada sees Kurt.", "-o", tmp_path / "one.svg")[0] == 0
    assert parse(TEXT, "-o", tmp_path / "all.svg")[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["all-1.svg", "all-2.svg", "all-3.svg", "one.svg"]
    assert (tmp_path / "all-3.svg").read_text(encoding="utf-8").startswith("<svg")
    assert parse("Ada sees Kurt.", "-f", "svg")[1].startswith("<svg")


def test_a_text_may_have_the_name_of_a_file(
    parse: Parse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Ada").write_text("Kurt plays.")
    assert "Kurt" in parse("Ada", "-f", "brackets")[1]
    assert "Ada" in parse("Ada", "--text", "-f", "brackets")[1]


class Interrupted:
    """A parser's stream that is interrupted after some items."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        stream = Parser.stream

        def interrupted(self: Parser, *args: Any, **options: Any) -> Any:
            for number, parses in enumerate(stream(self, *args, **options)):
                if number == after:
                    raise KeyboardInterrupt
                yield parses

        monkeypatch.setattr(Parser, "stream", interrupted)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"Ada sees {'a dog and ' * n}Kurt .\n" for n in range(8)))
    return path


def test_an_interrupted_run_keeps_what_is_done_and_goes_on(
    parse: Parse, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = parse(lines, "--words", "-f", "brackets")[1]
    out = tmp_path / "out.ptb"
    with monkeypatch.context() as patch:
        Interrupted(patch, after=5)
        code, _, error = parse(lines, "--words", "-o", out)
    assert code == 1
    assert "5 sentences are kept" in error and "--resume" in error
    assert not out.exists()
    part = tmp_path / ".arcspan" / "out.ptb.part"
    assert part.read_text() == "".join(wanted.splitlines(keepends=True)[:5])
    with part.open("a") as file:  # a kill may leave more than was noted
        file.write("(TOP (S half")
    code, _, error = parse(lines, "--words", "-o", out, "--resume")
    assert code == 0 and "continuing after 5 sentences" in error
    assert out.read_text() == wanted
    assert sorted(os.listdir(tmp_path)) == [".arcspan", "in.txt", "out.ptb"]
    assert os.listdir(tmp_path / ".arcspan") == ["out.ptb.json"]
    code, _, error = parse(lines, "--words", "-o", out, "--resume")
    assert code == 0 and "complete" in error
    assert parse(lines, "--words", "-o", out)[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "out.ptb"]


@pytest.fixture
def interrupted(
    parse: Parse, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Three of the eight sentences are parsed; then the run is called again with --resume and other options."""
    out = tmp_path / "out.txt"
    with monkeypatch.context() as patch:
        Interrupted(patch, after=3)
        parse(lines, "--words", "-f", "brackets", "-o", out)

    def again(*options: object) -> tuple[int, str, str]:
        return parse(lines, "--words", "-f", "brackets", "-o", out, "--resume", *options)

    return again


def test_a_run_continues_only_with_the_same_settings(interrupted: Parse) -> None:
    assert "other settings (format)" in interrupted("-f", "conllu")[2]
    code, _, error = interrupted("-k", 2, "--memory", "1GB")
    assert code == 2 and "other settings (memory, k)" in error
    assert interrupted()[0] == 0


def test_a_run_continues_only_with_the_same_input(interrupted: Parse, lines: Path) -> None:
    text = lines.read_text()
    lines.write_text(text.replace("sees", "plays", 1))
    code, _, error = interrupted()
    assert code == 2 and "made from another input" in error
    lines.write_text(text)
    assert interrupted()[0] == 0


def test_a_run_does_not_continue_with_a_shorter_input(
    interrupted: Parse, lines: Path, tmp_path: Path
) -> None:
    """The sentences that were covered were written, though they were no longer in the input."""
    lines.write_text("".join(lines.read_text().splitlines(keepends=True)[:2]))
    code, _, error = interrupted()
    assert code == 2 and "made from a longer input (3 sentences, now 2)" in error
    assert not (tmp_path / "out.txt").exists()


def test_a_run_does_not_continue_with_an_output_that_somebody_changed(
    interrupted: Parse, tmp_path: Path
) -> None:
    part = tmp_path / ".arcspan" / "out.txt.part"
    part.write_text(part.read_text().replace("(NNP Ada)", "(NNP Eva)"))
    code, _, error = interrupted()
    assert code == 2 and "changed since" in error


def test_an_output_is_complete_only_for_the_input_and_settings_that_made_it(
    parse: Parse, lines: Path, tmp_path: Path
) -> None:
    """An output that another input had made was called complete."""
    out, other = tmp_path / "out.ptb", tmp_path / "other.txt"
    other.write_text("Kurt plays .\n")
    call = ("--words", "-o", out, "--resume")
    assert parse(lines, *call)[0] == 0
    text = out.read_text()
    assert parse(lines, *call)[2] == f"{out} is complete: nothing left to do\n"
    code, _, error = parse(other, *call)
    assert code == 2 and "made from" in error
    code, _, error = parse(lines, *call, "--memory", "1GB")
    assert code == 2 and "other settings (memory)" in error
    with lines.open("a") as file:
        file.write("Ada plays .\n")
    code, _, error = parse(lines, *call)
    assert code == 2 and "made from a shorter input" in error
    assert out.read_text() == text
    out.write_text("something else")
    code, _, error = parse(lines, *call)
    assert code == 2 and "changed since" in error
    (tmp_path / ".arcspan" / "out.ptb.json").unlink()
    code, _, error = parse(lines, *call)
    assert code == 2 and "no note in .arcspan" in error and out.read_text() == "something else"


def test_files_of_the_user_beside_the_output_are_not_touched(
    parse: Parse, lines: Path, tmp_path: Path
) -> None:
    """OUT.part, OUT.part.json and OUT.done.json were overwritten or deleted, whoever had made them."""
    names = [f"out.ptb{suffix}" for suffix in (".part", ".part.json", ".done.json")]
    for name in names:
        (tmp_path / name).write_text("Ada sees Kurt .\n")
    assert parse(tmp_path / names[0], "--words", "-o", tmp_path / "out.ptb")[0] == 0
    assert parse(lines, "--words", "-o", tmp_path / "other.ptb", "--resume")[0] == 0
    assert [(tmp_path / name).read_text() for name in names] == ["Ada sees Kurt .\n"] * 3


@pytest.mark.parametrize("link", ["symbolic", "hard", "folder", "file"])
def test_an_unfinished_output_that_leads_elsewhere_is_refused(
    parse: Parse, lines: Path, tmp_path: Path, link: str
) -> None:
    precious, folder = tmp_path / "precious", tmp_path / ".arcspan"
    precious.write_text("precious")
    if link == "file":
        folder.write_text("precious")
    elif link == "folder":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir()
        part = folder / "out.ptb.part"
        part.symlink_to(precious) if link == "symbolic" else os.link(precious, part)
    for options in ((), ("--resume",)):
        code, _, error = parse(lines, "--words", "-o", tmp_path / "out.ptb", *options)
        assert code == 2 and ".arcspan" in error and ("link" in error or "not a folder" in error)
    assert precious.read_text() == "precious" and not (tmp_path / "out.ptb").exists()
    assert not (tmp_path / "elsewhere").exists() or not os.listdir(tmp_path / "elsewhere")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device")
def test_a_device_without_end_is_refused(parse: Parse, tmp_path: Path) -> None:
    for kind in ("text", "lines", "conllu"):
        code, _, error = parse("/dev/zero", "--input", kind, "-o", tmp_path / "out.ptb")
        assert code == 2 and "/dev/zero:1: a zero byte" in error


def test_pictures_do_not_replace_their_input(parse: Parse, tmp_path: Path) -> None:
    """`parse q-1.svg -o q.svg` numbered its pictures q-1.svg, q-2.svg."""
    source = tmp_path / "q-2.svg"
    source.write_text("Ada sees Kurt .\nKurt sees Ada .\n")
    code, _, error = parse(source, "--words", "-o", tmp_path / "q.svg")
    assert code == 2 and "is also the input" in error
    assert source.read_text().startswith("Ada")


@pytest.mark.parametrize("name", ["out.ptb", "out.ptb.gz", "out.svg", "out.html"])
def test_links_that_form_a_loop_are_not_replaced(parse: Parse, tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / name)
    code, _, error = parse("Ada sees Kurt .", "-o", tmp_path / name)
    assert code == 2 and name in error and "symbolic links" in error
    assert (tmp_path / name).is_symlink()


def test_a_file_on_standard_input_is_not_destroyed(toy_bundle: Path, tmp_path: Path) -> None:
    source = tmp_path / "out.ptb"
    source.write_text("Ada sees Kurt .\n")
    command = [sys.executable, "-m", "arcspan", "parse", "-", "-m", str(toy_bundle), "--words"]
    with source.open() as file:
        done = subprocess.run(
            [*command, "-o", tmp_path / "out.ptb"], stdin=file, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2 and "is also the input" in done.stderr
    assert source.read_text() == "Ada sees Kurt .\n"


def test_a_second_run_to_the_same_output_is_refused(
    parse: Parse, lines: Path, tmp_path: Path
) -> None:
    """Two runs shared OUT.part, and the wrong one won."""
    from arcspan.cli.resuming import ResumableOutput

    out = tmp_path / "out.ptb"
    first = ResumableOutput(str(out), {}, resume=False)
    first.open()
    for options in ((), ("--resume",)):
        code, _, error = parse(lines, "--words", "-o", out, *options)
        assert code == 2 and "another run is writing to" in error
    first._input_hashes.append("")
    first.write("the first run's\n")
    first.finish()
    assert out.read_text() == "the first run's\n"
    assert parse(lines, "--words", "-o", out)[0] == 0


def test_what_an_interrupted_run_has_left_is_not_thrown_away_where_resume_is_forgotten(
    parse: Parse, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.ptb"
    with monkeypatch.context() as patch:
        Interrupted(patch, after=3)
        parse(lines, "--words", "-o", out)
    code, _, error = parse(lines, "--words", "-o", out)
    assert code == 2 and "has left 3 sentences: continue it with --resume, or delete" in error
    (tmp_path / ".arcspan" / "out.ptb.json").unlink()
    assert parse(lines, "--words", "-o", out)[0] == 0
    assert len(out.read_text().splitlines()) == 8
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "out.ptb"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"Ada sees Kurt.\n\xff\n", "in.txt:2: byte 0xff (byte 1 of the line) is not UTF-8"),
        (b"Ada sees Kurt.\n\xc3", "in.txt:2: byte 0xc3 (byte 1 of the line) is not UTF-8"),
        (b"Ada sees\x00 Kurt.\n", "in.txt:1: a zero byte"),
        ("Ada".encode("utf-16"), "in.txt:1: the file is in UTF-16"),
        (gzip.compress(os.urandom(2000).hex().encode())[:-500], "damaged or cut off"),
    ],
)
def test_a_file_that_is_not_text_is_named(
    parse: Parse, tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(content)
    code, _, error = parse(path, "-f", "brackets")
    assert code == 2
    assert reason in error
    assert "Traceback" not in error


def test_what_stands_before_a_bad_line_is_parsed(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"Ada sees Kurt .\n" * 3 + b"\xff\n")
    code, out, _ = parse(path, "--words", "-f", "brackets")
    assert code == 2
    assert len(out.splitlines()) == 3


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["nowhere.txt"], "no such file"),
        (["Ada", "-o", "."], "Ada: no file to parse there"),
        (["Ada", "sees"], "Ada: no file to parse there"),
        (["Ada", "--memory", "0"], "'--memory': charts need some memory"),
        (["Ada", "-f", "parquet"], "is written to a folder"),
        (["Ada", "--table", "constituents"], "--table needs"),
        (["Ada", "--constituency"], "--constituency needs --format conllu"),
        (["Ada", "--resume"], "--resume"),
        (["Ada", "--memory", "much"], "is not a size"),
        (["Ada", "--memory", "9" * 400], "is not a size"),
        (["Ada", "--require", "root," + "9" * 5000], "is not 'span,2,6'"),
        (["Ada", "-o", "out/"], "Ada: no file to parse there"),
        (["Ada", "--threads", "0"], "--threads"),
        (["Ada", "-o", "no/such/folder/out.ptb"], "no such folder"),
        (["Ada", "--model", "no-model"], "no such folder"),
    ],
)
def test_a_wrong_call_is_one_message(parse: Parse, args: list[str], reason: str) -> None:
    code, _, error = parse(*args)
    assert code == 2
    assert reason in error
    assert "Traceback" not in error


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_nothing_to_parse_is_no_error(parse: Parse, text: str) -> None:
    code, out, error = parse(text, "-f", "brackets")
    assert (code, out) == (0, "")
    assert "no sentence" in error


def test_a_hundred_thousand_characters_without_a_space_are_one_word(
    parse: Parse, tmp_path: Path
) -> None:
    path = tmp_path / "in.txt"
    path.write_text("x" * 100_000 + "\n\nAda sees Kurt.")
    code, out, _ = parse(path, "-f", "json")
    assert code == 0
    first, second = map(json.loads, out.splitlines())
    assert first["words"] == ["x" * 100_000]
    assert second["words"] == ["Ada", "sees", "Kurt", "."]


def test_a_small_memory_limit_marks_long_sentences(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("Ada sees Kurt .\n" + "a dog and " * 100 + "Ada\n")
    code, out, error = parse(path, "--words", "-f", "json", "--memory", "1MB")
    assert code == 0
    short, long = map(json.loads, out.splitlines())
    assert (short["approximate"], long["approximate"]) == (False, True)
    # Brackets and drawings have no mark for it, so a note says it.
    assert error == "sentences not searched exactly, too long for --memory or very repetitive: 1\n"


def test_the_command_line_splits_a_text_as_the_api_does(
    parse: Parse, tmp_path: Path, toy_bundle: Path
) -> None:
    """Long lines, white space after a block of bytes, and byte order marks inside the first line did not."""
    path = tmp_path / "in.txt"
    text = (
        "\ufeff"
        + "Ada sees a dog . " * 13_000
        + "Kurt\n"
        + " " * 70_000
        + "sees Ada\ufeffx .\n"
        + " " * 70_000
        + "\nEnd ."
    )
    path.write_text("\ufeff" + text, encoding="utf-8")
    code, out, _ = parse(path, "-f", "json")
    records = [json.loads(line) for line in out.splitlines()]
    expected = arcspan.load(toy_bundle)(text)
    assert code == 0 and len(records) == len(expected) > 13_000
    assert [sentence["words"] for sentence in records] == [
        list(sentence.words) for sentence in expected
    ]
    assert [sentence["paragraph"] for sentence in records] == [
        sentence.paragraph for sentence in expected
    ]
    assert [sentence["offsets"] for sentence in records] == [
        [list(place) for place in sentence.offsets or ()] for sentence in expected
    ]


def test_the_input_is_not_overwritten(parse: Parse, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXT, encoding="utf-8")
    code, out, err = parse(text, "-o", text, "-f", "brackets")
    assert code == 2 and "is also the input" in err and not out
    assert text.read_text(encoding="utf-8") == TEXT


def test_another_model_of_the_same_name_does_not_go_on(
    parse: Parse, toy_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, output = tmp_path / "text.txt", tmp_path / "out.ptb"
    text.write_text(TEXT * 50, encoding="utf-8")
    calls = iter(range(20))

    def stop(*_: object) -> str:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return "(TOP (X x))"

    with monkeypatch.context() as patch:
        patch.setattr("arcspan.parser.Parse.brackets", stop)
        code, _, err = parse(text, "-o", output)
    assert code != 0 and "--resume continues" in err
    noted = json.loads((tmp_path / ".arcspan" / "out.ptb.json").read_text(encoding="utf-8"))
    noted["settings"]["model"][1] = "another"
    (tmp_path / ".arcspan" / "out.ptb.json").write_text(json.dumps(noted), encoding="utf-8")
    code, _, err = parse(text, "-o", output, "--resume")
    assert code == 2 and "other settings (model)" in err


def test_pictures_to_standard_output_make_no_files(
    parse: Parse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = parse("Ada sees Kurt. Every dog plays.", "--text", "-f", "svg", "-o", "-")
    assert code == 0 and out.count("<svg") == 2
    assert not list(tmp_path.iterdir())


def test_k_needs_a_model_of_both_trees_at_once(parse: Parse) -> None:
    """Each sentence of a file failed, and its words were written under a tree that nobody had found."""
    sep = Path(__file__).parents[1] / "runtime" / "bundles" / "sep"
    code, out, error = parse(TEXT, "-k", 2, "-f", "brackets", "--model", sep)
    assert (code, out) == (2, "")
    assert "-k needs a model that finds both trees at once" in error


def test_several_pictures_are_not_put_into_one_image(parse: Parse) -> None:
    """Two PNG files one after the other went to standard output, of which programs show the first."""
    code, out, error = parse("Ada sees Kurt. Every dog plays.", "-f", "png")
    assert (code, out) == (2, "")
    assert "several pictures do not fit into one png: name a file with -o" in error


@pytest.mark.parametrize("name", ["gone.conllu", "data/gone.ptb", "gone.mrg.xz", "gone.jsonl"])
def test_the_name_of_a_treebank_that_is_not_there_is_not_parsed(parse: Parse, name: str) -> None:
    """`arcspan parse gone.conllu` gave the tree of the word "gone.conllu"."""
    code, out, error = parse(name, "-f", "brackets")
    assert (code, out) == (2, "")
    assert f"{name}: no such file" in error


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.conllu", "1\tAda\n2\tsees\n", "2 columns where CoNLL has 10"),
        ("a.ptb", "Ada sees Kurt.\n", "text outside of any bracket"),
    ],
)
def test_a_treebank_file_is_not_parsed_as_prose(
    parse: Parse, tmp_path: Path, name: str, content: str, what: str
) -> None:
    """Files called .conllu or .ptb whose first line was damaged were split into words as running text."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    code, out, error = parse(path, "-f", "brackets")
    assert (code, out) == (2, "")
    assert f"{path}:1: {what}" in error
    assert parse(path, "-f", "brackets", "--input", "text")[0] == 0


def test_what_an_earlier_parse_said_of_itself_is_not_kept(parse: Parse, tmp_path: Path) -> None:
    """The k best parses, parsed again, had the ranks and scores of before beside the new ones."""
    path = tmp_path / "best.conllu"
    assert parse("Ada sees Kurt.", "-k", 2, "-o", path)[0] == 0
    comments = "# approximate = yes\n# error = too long\n# source = Ada\n"
    path.write_text(comments + path.read_text(encoding="utf-8"), encoding="utf-8")
    output = parse(path, "-f", "conllu")[1]
    for name in ("rank", "score", "approximate", "error"):
        assert f"# {name} =" not in output
    assert "# source = Ada\n" in output
    ranked = parse(path, "-f", "conllu", "-k", 1)[1]
    assert ranked.count("# rank = 1\n") == ranked.count("# rank") == 2


def test_output_is_utf8_whatever_the_terminal_was_taken_for(toy_bundle: Path) -> None:
    call = [
        sys.executable,
        "-m",
        "arcspan",
        "parse",
        "--model",
        str(toy_bundle),
        "--text",
        "Ada sees Kurt.",
    ]
    done = subprocess.run(
        call, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0, done.stderr.decode()
    assert "▲" in done.stdout.decode("utf-8")


def test_words_with_white_space_of_any_kind_make_a_pair_that_fits(
    parse: Parse, tmp_path: Path
) -> None:
    text = tmp_path / "words.txt"
    text.write_text("c\u3000d e f\nfoo \x85 z\nx\u2028y z\n", encoding="utf-8")
    pair = tmp_path / "out.ptb", tmp_path / "out.conllu"
    for path in pair:
        assert parse(text, "--words", "-o", path)[0] == 0
    assert run(["treebank", "check", *map(str, pair)]) == 0


PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


@PIPES
@pytest.mark.parametrize("options", [(), ("--words",)])
def test_a_pipe_is_read_as_a_file_is(
    parse: Parse, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """What a first look had read was lost, or opening the pipe again hung."""
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    file.write_text(TEXT)
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_text, args=(TEXT,))
    thread.start()
    result = parse(pipe, *options, "-f", "brackets")
    thread.join()
    assert result == parse(file, *options, "-f", "brackets")
    assert result[1]


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="needs /dev/stdin")
def test_standard_input_has_a_name_too(toy_bundle: Path) -> None:
    """A first look at it loses nothing."""
    command = [
        sys.executable,
        "-m",
        "arcspan",
        "parse",
        "-m",
        str(toy_bundle),
        "/dev/stdin",
        "-f",
        "brackets",
    ]
    done = subprocess.run(command, input=TEXT, capture_output=True, text=True)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3


def test_a_closed_standard_output_is_said_so(toy_bundle: Path, tmp_path: Path) -> None:
    """`>&-` ended in an AttributeError."""
    command = f"{sys.executable} -m arcspan parse -m {toy_bundle} 'Ada sees Kurt.' -f brackets"
    done = subprocess.run(["bash", "-c", f"{command} >&-"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "error: standard output is closed\n")
    silent = subprocess.run(["bash", "-c", f"{command} -o {tmp_path}/a.ptb <&- >&- 2>&-"])
    assert silent.returncode == 0 and (tmp_path / "a.ptb").read_text().startswith("(TOP")


def test_a_closed_standard_input_is_said_so(toy_bundle: Path) -> None:
    """`<&-` ended in an AttributeError."""
    command = f"{sys.executable} -m arcspan parse - -m {toy_bundle} <&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "error: <stdin>: standard input is closed\n")


BUSY = """
import signal, sys, threading
from arcspan.cli import main
from arcspan.parser import Parser

stream = Parser.stream

def busy(self, *args, **options):
    yield from list(stream(self, *args, **options))[:1]
    threading.Thread(target=threading.Event().wait).start()  # a batch that takes for ever
    print("busy", flush=True)
    while True:  # as compiled code is, which no signal interrupts
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass

Parser.stream = busy
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job ignores
main()
"""


def test_an_interrupt_does_not_wait_for_a_batch(
    toy_bundle: Path, lines: Path, tmp_path: Path
) -> None:
    """Ctrl-C waited until the batch was done."""
    out = tmp_path / "out.ptb"
    command = [
        sys.executable,
        "-c",
        BUSY,
        "parse",
        "-m",
        str(toy_bundle),
        str(lines),
        "--words",
        "-o",
        str(out),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "busy\n"
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 1
    # The signal may come before or after the first sentence is written.
    assert "interrupted" in error
    assert ("sentences are kept" in error) == (tmp_path / ".arcspan" / "out.ptb.part").exists()


CONLLU = """# sent_id = a
# text = Let's go.
1-2\tLet's\t_\t_\t_\t_\t_\t_\t_\t_
1\tLet\tlet\tVERB\tVB\t_\t_\t_\t_\t_
2\t's\tus\tPRON\tPRP\t_\t_\t_\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\tSpaceAfter=No
3.1\tnow\t_\t_\t_\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t.\t_\t_\t_\t_\t_

# a comment
1\tAda\t_\t_\t_\t_\t_\t_\t_\t_
2\tplays\t_\t_\t_\t_\t_\t_\t_\t_

"""


def test_a_conllu_file_is_recognised_and_its_words_comments_and_tokens_are_kept(
    parse: Parse, tmp_path: Path
) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out.conllu"
    path.write_text(CONLLU)
    code, _, error = parse(path, "-o", out)
    assert code == 0 and f"{path}: looks like conllu" in error
    first, second = read_conllu(out)
    assert first.comments == ("# sent_id = a", "# text = Let's go.")
    assert [token.id for token in first.tokens] == ["1-2", "1", "2", "3", "4"]
    assert first.text == first.spell() == "Let's go."
    assert first.tree.words == ("Let", "'s", "go", ".")
    assert second.comments == ("# a comment", "# text = Ada plays")
    assert parse(path, "--input", "conllu", "-o", out)[2] == ""


def test_a_bracket_file_is_recognised_and_its_words_are_parsed(
    parse: Parse, tmp_path: Path, standard_input: Callable[[bytes], None]
) -> None:
    trees = "(TOP\n  (S (NP (NNP Ada)) (VP (VBZ sees) (NP (-NONE- *)) (NP (-LRB- -LRB-) (NNP Kurt)))))\n(S (UH No))\n"
    path = tmp_path / "in.ptb"
    path.write_text(trees)
    code, out, error = parse(path, "-f", "json")
    assert code == 0 and "looks like brackets" in error
    assert [json.loads(line)["words"] for line in out.splitlines()] == [
        ["Ada", "sees", "(", "Kurt"],
        ["No"],
    ]
    standard_input(trees.encode())
    assert parse("-", "-f", "json") == (0, out, "<stdin>: looks like brackets: its words are parsed "
                                        "(--input text takes it as prose)\n")  # fmt: skip
    path.write_text(trees + "(S (NP")
    code, _, error = parse(path, "-f", "json")
    assert code == 2 and "in.ptb:4: " in error


def test_prose_that_begins_with_a_bracket_is_prose(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("(Ada (a dog) sees Kurt.)\n")
    code, out, error = parse(path, "-f", "json")
    assert (code, error) == (0, "") and json.loads(out)["words"][0] == "("


def test_a_line_is_one_sentence_whatever_is_in_it(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("Ada plays. Kurt plays.\n\nEvery dog plays\n")
    sentences = [
        json.loads(line) for line in parse(path, "--input", "lines", "-f", "json")[1].splitlines()
    ]
    words = [["Ada", "plays", ".", "Kurt", "plays", "."], ["Every", "dog", "plays"]]
    assert [parse["words"] for parse in sentences] == words
    assert [[path.read_text()[i:j] for i, j in parse["offsets"]] for parse in sentences] == words
    assert [parse["text"] for parse in sentences] == ["Ada plays. Kurt plays.", "Every dog plays"]


def test_conllu_numbers_sentences_and_marks_the_document_its_paragraphs_and_multiword_tokens(
    parse: Parse, tmp_path: Path
) -> None:
    path = tmp_path / "in.txt"
    path.write_text("Ada can't play. Kurt plays.\n\nEvery dog plays.\n")
    lines = parse(path, "-f", "conllu")[1].splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        *("# newdoc", "# sent_id = 1", "# newpar", "# text = Ada can't play."),
        *("# sent_id = 2", "# text = Kurt plays."),
        *("# sent_id = 3", "# newpar", "# text = Every dog plays."),
    ]
    assert "2-3\tcan't" + "\t_" * 8 in lines


def test_of_the_best_parses_in_conllu_the_first_alone_begins_a_document_and_ids_are_unique(
    parse: Parse, tmp_path: Path
) -> None:
    """Every rank repeated `# newdoc`, `# newpar` and the same `# sent_id`."""
    path = tmp_path / "in.txt"
    path.write_text("Ada sees Kurt.\n\nEvery dog plays.\n")
    for _ in range(2):  # of a text, then of a CoNLL-U file
        out = parse(path, "-f", "conllu", "-k", 2)[1]
        parses = [arcspan.Parse.from_conllu(block) for block in out.strip().split("\n\n")]
        assert [(best_parse.rank, best_parse.paragraph) for best_parse in parses] == [
            (1, True),
            (2, False),
        ] * 2
        lines = [line for line in out.splitlines() if line.startswith(("# newdoc", "# sent_id"))]
        assert lines == ["# newdoc", *(f"# sent_id = {name}" for name in ("1", "1-2", "2", "2-2"))]
        best = [best_parse.conllu() for best_parse in parses if best_parse.rank == 1]
        path = tmp_path / "in.conllu"
        path.write_text("# newdoc\n# sent_id = 1\n" + "# sent_id = 2\n".join(best))


def test_the_trees_of_a_sentence_are_followed_by_a_blank_line(parse: Parse) -> None:
    blocks = parse("Ada sees Kurt. Every dog plays.", "-k", 2, "-f", "brackets")[1].split("\n\n")
    assert [len(block.splitlines()) for block in blocks] == [2, 2, 0]


def test_constraints_hold_for_the_one_sentence(
    parse: Parse, standard_input: Callable[[bytes], None], tmp_path: Path
) -> None:
    plain, bound = (
        [
            line.split("\t")[6]
            for line in parse("Ada sees Kurt", "-f", "conllu", *options)[1].splitlines()
            if "\t" in line
        ]
        for options in ((), ("--forbid", "root,2", "--require", "arc,1,3"))
    )
    assert plain == ["2", "0", "2"] and bound[1] != "0" and bound[2] == "1"
    code, _, error = parse("Ada plays. Kurt plays.", "--require", "span,0,2")
    assert code == 2 and "one sentence, but here are 2" in error
    code, _, error = parse("Ada plays.", "--require", "tree,0,2")
    assert code == 2 and "'tree,0,2' is not 'span,2,6'" in error and "Span(" not in error
    impossible = ("--require", "root,1", "--require", "root,2", "-f", "conllu")
    code, out, error = parse("Ada plays.", *impossible)
    assert (code, out) == (2, "") and "root" in error
    standard_input(b"Ada plays.")
    assert parse("-", *impossible) == (code, out, error), (
        "a pipe wrote a sentence with an error, and ended with 1"
    )
    path = tmp_path / "in.txt"
    path.write_text("Ada plays.")
    assert parse(path, *impossible) == (code, out, error), "a file ends as a text and a pipe do"
    text = "  Ada  plays."
    record = json.loads(parse(text, "--require", "root,1", "-f", "json")[1])
    assert [text[start:end] for start, end in record["offsets"]] == ["Ada", "plays", "."]


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["Ada", "-o", "out.foo"], "no format is known by .foo"),
        (["Ada", "-o", "/nonexistent/x.svg"], "error: /nonexistent: no such folder"),
        (["Ada", "-o", "/nonexistent/x.ptb.gz"], "error: /nonexistent: no such folder"),
        (["Ada", "--words", "--input", "lines"], "contradict"),
        (["Ada", "--confidence", "-f", "brackets"], "--confidence needs"),
        (["Ada", "-o", "a.png.gz"], "compressed already"),
        (["Ada", "--style", "gum"], "no style 'gum'"),
        (["Ada", "--style", "gum", "--require", "root,1"], "no style 'gum'"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_anything_is_parsed(
    parse: Parse, args: list[str], reason: str
) -> None:
    code, out, error = parse(*args)
    assert (code, out) == (2, "") and reason in error


def test_several_pictures_are_numbered_and_named(parse: Parse, tmp_path: Path) -> None:
    _, _, error = parse("Ada sees Kurt. Every dog plays.", "-k", 2, "-o", tmp_path / "a.svg")
    assert sorted(os.listdir(tmp_path)) == ["a-1-1.svg", "a-1-2.svg", "a-2-1.svg", "a-2-2.svg"]
    assert error == f"4 pictures, one per parse: {tmp_path}/a-1-1.svg to {tmp_path}/a-2-2.svg\n"


def test_pictures_have_layouts_probabilities_and_other_formats(
    parse: Parse, tmp_path: Path
) -> None:
    text = "Ada sees every tree."
    wide, tall = (parse(text, "-f", "svg", "--layout", layout)[1] for layout in ("wide", "tall"))
    assert wide != tall
    assert parse(text, "-f", "svg", "--layout", "wide", "--confidence")[1] != wide
    assert "\\begin{dependency}" in parse(text, "-f", "tikz")[1]
    assert parse(text, "-f", "pretty", "--layout", "indented")[1] != parse(text, "-f", "pretty")[1]
    arcs = parse(text, "-f", "svg", "--layers", "dependency", "--colours", "black")[1]
    assert 'class="arc"' in arcs and 'class="constituent"' not in arcs and "#b3392b" not in arcs
    assert (
        'class="spine"' in wide and 'class="spine"' not in parse(text, "-f", "svg", "--no-heads")[1]
    )
    assert "▲" not in parse(text, "-f", "pretty", "--layers", "constituency")[1]
    assert (
        "forest" not in parse(text, "-f", "tikz", "--layers", "dependency")[1].split("document}")[1]
    )
    page = parse(text, "-k", 2, "--confidence", "-f", "html")[1]
    assert text in page and "1. score" in page and "probability" in page


def test_a_png_is_one(parse: Parse, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="needs the extra pictures")
    assert parse("Ada sees Kurt.", "-o", tmp_path / "a.png")[0] == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_clauses_are_written_as_json_and_as_a_table(parse: Parse) -> None:
    text = "Ada sees the old tree and the dog."
    syntax = json.loads(parse(text, "--format", "json", "--syntax", "--confidence")[1])["syntax"]
    assert {phrase["text"] for phrase in syntax["noun_phrases"]} and all(
        0 <= phrase["probability"] <= 1 for phrase in syntax["noun_phrases"]
    )
    head, *_ = parse(text, "--format", "csv", "--table", "clauses")[1].splitlines()
    assert head.split(",")[-6:] == [
        "subject",
        "objects",
        "parent",
        "text",
        "start_char",
        "end_char",
    ]
    assert "--syntax needs --format json" in parse(text, "--format", "conllu", "--syntax")[2]


@PIPES
def test_a_picture_goes_through_a_pipe_and_does_not_replace_it(
    parse: Parse, tmp_path: Path
) -> None:
    """PNG and PDF were put in the place of a pipe, or of a device such as /dev/null."""
    pytest.importorskip("vl_convert", reason="needs the extra pictures")
    os.mkfifo(tmp_path / "a.png")
    reader = os.open(tmp_path / "a.png", os.O_RDONLY | os.O_NONBLOCK)
    assert parse("Ada sees Kurt.", "-o", tmp_path / "a.png")[0] == 0
    assert os.read(reader, 4) == b"\x89PNG"
    os.close(reader)
    assert (tmp_path / "a.png").is_fifo()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_is_found_whose_name_is_not_utf_8(parse: Parse, tmp_path: Path) -> None:
    """Its name was taken for a text."""
    path = os.fsdecode(bytes(tmp_path) + b"/a\xff.txt")
    Path(path).write_text("Ada sees Kurt.")
    assert parse(path, "-f", "brackets") == parse("Ada sees Kurt.", "-f", "brackets")


def test_one_file_goes_into_a_folder_whose_name_ends_so(parse: Parse, tmp_path: Path) -> None:
    """It became a file without the slash."""
    (tmp_path / "a.txt").write_text("Ada sees Kurt.")
    assert parse(tmp_path / "a.txt", "-o", f"{tmp_path}/out/")[0] == 0
    assert len(list(read_conllu(tmp_path / "out" / "a.conllu"))) == 1


def test_sentences_are_not_said_to_be_kept_that_are_not(
    parse: Parse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the disk was full, there was no note of them to continue from."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("arcspan.cli.resuming.ResumableOutput._save", full)
    code, _, error = parse("Ada sees Kurt.", "-o", tmp_path / "a.conllu")
    assert (code, error) == (1, "error: No space left on device\n")
