"""`arcspan parse`: inputs of every kind, six formats, files that survive an interruption."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arcspan.cli import run
from arcspan.cli.reading import LONGEST, items_of
from arcspan.parser import Parser
from arcspan.treebanks import read_brackets, read_conllu

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


def test_brackets_conllu_and_json_say_the_same(parse: Parse, tmp_path: Path) -> None:
    (tmp_path / "a.ptb").write_text(parse(TEXT, "-f", "brackets")[1], encoding="utf-8")
    (tmp_path / "a.conllu").write_text(parse(TEXT, "-f", "conllu")[1], encoding="utf-8")
    c_trees = list(read_brackets(tmp_path / "a.ptb"))
    sentences = list(read_conllu(tmp_path / "a.conllu"))
    objects = [json.loads(line) for line in parse(TEXT, "-f", "json")[1].splitlines()]
    assert len(c_trees) == len(sentences) == len(objects) == 3
    for c_tree, sentence, found in zip(c_trees, sentences, objects, strict=True):
        assert c_tree.brackets() == found["brackets"]
        assert list(sentence.tree.heads) == found["heads"]
        assert list(c_tree.words) == list(sentence.tree.words) == found["words"]
        # Offsets count from the beginning of the input, paragraphs or not.
        assert [TEXT[start:end] for start, end in found["offsets"]] == found["words"]


def test_a_file_is_read_in_paragraphs(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    objects = [json.loads(line) for line in parse(path, "-f", "json")[1].splitlines()]
    text = path.read_bytes().decode()
    assert [len(found["words"]) for found in objects] == [7, 4, 5]
    for found in objects:
        assert [text[start:end] for start, end in found["offsets"]] == found["words"]


def test_a_compressed_file_is_read(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(TEXT.encode()))
    assert parse(path, "-f", "brackets")[1] == parse(TEXT, "-f", "brackets")[1]


def test_words_are_taken_as_they_are(parse: Parse, tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("Ada didn't  see\tKurt.\n\nOne\u00a0word .\n", encoding="utf-8")
    objects = [json.loads(line) for line in parse(path, "--words", "-f", "json")[1].splitlines()]
    assert [found["words"] for found in objects] == [
        ["Ada", "didn't", "see", "Kurt."],
        ["One\u00a0word", "."],
    ]


@pytest.mark.parametrize("named", [True, False])
def test_standard_input_is_read(parse: Parse, standard_input: Callable[[bytes], None], named: bool) -> None:
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
        ("a.conllu", "# text = Logic"),
        ("a.jsonl", '{"text"'),
        ("a.html", "<!doctype html>"),
    ],
)
def test_the_outputs_suffix_chooses_the_format(parse: Parse, tmp_path: Path, name: str, start: str) -> None:
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
    part = Path(f"{out}.part")
    assert part.read_text() == "".join(wanted.splitlines(keepends=True)[:5])
    with part.open("a") as file:  # a kill may leave more than was noted
        file.write("(TOP (S half")
    code, _, error = parse(lines, "--words", "-o", out, "--resume")
    assert code == 0 and "going on after 5 sentences" in error
    assert out.read_text() == wanted
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "out.ptb"]
    code, _, error = parse(lines, "--words", "-o", out, "--resume")
    assert code == 0 and "complete" in error


def test_a_run_goes_on_only_with_the_same_input_and_settings(
    parse: Parse, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.txt"
    with monkeypatch.context() as patch:
        Interrupted(patch, after=3)
        parse(lines, "--words", "-f", "brackets", "-o", out)
    code, _, error = parse(lines, "--words", "-f", "conllu", "-o", out, "--resume")
    assert code == 2 and "other settings (format)" in error
    lines.write_text(lines.read_text().replace("sees", "plays", 1))
    code, _, error = parse(lines, "--words", "-f", "brackets", "-o", out, "--resume")
    assert code == 2 and "the input has changed" in error


def test_without_resume_a_run_begins_anew(
    parse: Parse, lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.ptb"
    with monkeypatch.context() as patch:
        Interrupted(patch, after=3)
        parse(lines, "--words", "-o", out)
    assert parse(lines, "--words", "-o", out)[0] == 0
    assert len(out.read_text().splitlines()) == 8


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"Ada sees Kurt.\n\xff\n", "in.txt:2: byte 0xff is not UTF-8"),
        (b"Ada sees Kurt.\n\xc3", "in.txt:2: the last character is cut off"),
        (b"Ada sees\x00 Kurt.\n", "in.txt:1: a zero byte"),
        ("Ada".encode("utf-16"), "in.txt:1: the file is in UTF-16"),
        (gzip.compress(os.urandom(2000))[:-500], "damaged or cut off"),
    ],
)
def test_a_file_that_is_not_text_is_named(parse: Parse, tmp_path: Path, content: bytes, reason: str) -> None:
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
        (["."], "is a folder"),
        (["Ada", "--resume"], "--resume"),
        (["Ada", "--memory", "much"], "is not a size"),
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


def test_a_hundred_thousand_characters_without_a_space_are_one_word(parse: Parse, tmp_path: Path) -> None:
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
    code, out, _ = parse(path, "--words", "-f", "json", "--memory", "1MB")
    assert code == 0
    short, long = map(json.loads, out.splitlines())
    assert (short["approximate"], long["approximate"]) == (False, True)


def test_a_paragraph_without_end_is_read_in_parts() -> None:
    text = "a dog " * (LONGEST // 4)
    items = list(items_of([text[k : k + 9999] for k in range(0, len(text), 9999)], words=False))
    assert len(items) == 2
    assert "".join(str(item.content) for item in items) == text
    assert items[1].start == len(str(items[0].content))
    assert str(items[0].content).endswith("dog ") or str(items[0].content).endswith("a ")


def test_the_input_is_not_overwritten(parse: Parse, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXT, encoding="utf-8")
    code, out, err = parse(text, "-o", text, "-f", "brackets")
    assert code == 2 and "is the input too" in err and not out
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
    assert code != 0 and "--resume goes on" in err
    noted = json.loads(Path(f"{output}.part.json").read_text(encoding="utf-8"))
    noted["settings"]["model"][1] = "another"
    Path(f"{output}.part.json").write_text(json.dumps(noted), encoding="utf-8")
    code, _, err = parse(text, "-o", output, "--resume")
    assert code == 2 and "other settings (model)" in err


def test_pictures_to_standard_output_make_no_files(
    parse: Parse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = parse("Ada sees Kurt. Every dog plays.", "--text", "-f", "svg", "-o", "-")
    assert code == 0 and out.count("<svg") == 2
    assert not list(tmp_path.iterdir())


def test_minimum_bayes_risk_takes_no_k(parse: Parse) -> None:
    code, _, err = parse("Ada sees Kurt.", "--text", "--mbr", "-k", 2)
    assert code == 2 and "--mbr" in err


def test_output_is_utf8_whatever_the_terminal_was_taken_for(toy_bundle: Path) -> None:
    call = [sys.executable, "-m", "arcspan", "parse", "--model", str(toy_bundle), "--text", "Ada sees Kurt."]
    done = subprocess.run(call, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr.decode()
    assert "▲" in done.stdout.decode("utf-8")


def test_words_with_white_space_of_any_kind_make_a_pair_that_fits(parse: Parse, tmp_path: Path) -> None:
    text = tmp_path / "words.txt"
    text.write_text("c\u3000d e f\nfoo \x85 z\nx\u2028y z\n", encoding="utf-8")
    pair = tmp_path / "out.ptb", tmp_path / "out.conllu"
    for path in pair:
        assert parse(text, "--words", "-o", path)[0] == 0
    assert run(["treebank", "check", *map(str, pair)]) == 0
