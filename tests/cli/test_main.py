"""The frame of the command line: help, version, exit codes, and never a traceback."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import arcspan.cli
from arcspan import __version__
from arcspan.cli import COMMANDS, run
from arcspan.errors import FileError


def test_help_names_every_command_and_imports_none_of_them() -> None:
    code = (
        "import sys; from arcspan.cli import run; run(['--help']); "
        "print([name for name in ('numpy', 'onnxruntime', 'torch', 'tqdm') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name, what in COMMANDS.items():
        assert name in done.stdout
        assert what[:30] in done.stdout
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_the_packages(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([flag]) == 0
    assert capsys.readouterr().out == f"arcspan, version {__version__}\n"


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert f"Usage: arcspan {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "call",
    [
        ["no-such-command"],
        ["--no-such-option"],
        ["treebank", "no-such-command"],
        ["treebank", "filter", "one.ptb"],
    ],
)
def test_a_wrong_call_is_exit_code_2_with_a_hint(
    call: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(call) == 2
    error = capsys.readouterr().err
    assert "Error: " in error
    assert "Usage: arcspan" in error


@pytest.mark.parametrize("path", ["no/such/file.ptb", "."])
def test_a_wrong_path_is_one_line_without_traceback(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["treebank", "check", path, "x.conllu"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (
            FileError("no closing bracket", path="a.ptb", line=7),
            2,
            "error: a.ptb:7: no closing bracket\n",
        ),
        (
            PermissionError(13, "Permission denied", "secret"),
            2,
            "error: secret: Permission denied\n",
        ),
        (KeyboardInterrupt(), 1, "error: interrupted\n"),
        (MemoryError(), 1, "error: out of memory\n"),
        (
            RuntimeError("odd"),
            1,
            "error: RuntimeError: odd (set ARCSPAN_TRACEBACK=1 to see where)\n",
        ),
    ],
)
def test_what_a_command_raises_becomes_one_line_and_a_code(
    raised: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @click.command()
    def command() -> None:
        raise raised

    monkeypatch.delenv("ARCSPAN_TRACEBACK", raising=False)
    monkeypatch.setattr(arcspan.cli.arcspan, "get_command", lambda context, name: command)
    assert run(["anything"]) == code
    assert capsys.readouterr().err.lstrip("\n") == message


def test_a_traceback_is_there_for_those_who_ask(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def command() -> None:
        raise RuntimeError("odd")

    monkeypatch.setenv("ARCSPAN_TRACEBACK", "1")
    monkeypatch.setattr(arcspan.cli.arcspan, "get_command", lambda context, name: command)
    assert run(["anything"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_quiet_leaves_results_and_drops_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.ptb").write_text("(TOP (NP (NN dog)))\n")
    (tmp_path / "a.conllu").write_text("1\tdog\t_\t_\tNN\t_\t0\troot\t_\t_\n")
    call = [
        "treebank",
        "filter",
        *(str(tmp_path / name) for name in ("a.ptb", "a.conllu", "b.ptb", "b.conllu")),
    ]
    assert run(call) == 0
    assert "1 of 1 sentences written" in capsys.readouterr().err
    assert run(["--quiet", *call]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_warning_is_a_note_without_a_place_in_the_source(tmp_path: Path) -> None:
    """People were shown `rules.py:155: UserWarning: ...` and a line of the source."""
    (tmp_path / "a.ptb").write_text("(TOP (NP (NN dog)))\n")
    (tmp_path / "my.prm").write_text("LABELED 1\nCOLOUR red\n")
    call = ["evaluate", *[str(tmp_path / "a.ptb")] * 2, "--prm", str(tmp_path / "my.prm")]
    for options, told in (
        ([], f"warning: {tmp_path}/my.prm:2: EVALB has no keyword COLOUR; ignored\n"),
        (["-q"], ""),
    ):
        command = [sys.executable, "-m", "arcspan", *options, *call]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr == told


def test_no_colour_off_a_terminal_and_no_noise_when_the_reader_leaves(tmp_path: Path) -> None:
    brackets, conll = tmp_path / "a.ptb", tmp_path / "a.conllu"
    brackets.write_text("(TOP (NP (NN dog)))\n" * 20_000)
    conll.write_text("1\tdog\t_\t_\tNNS\t_\t0\troot\t_\t_\n\n" * 20_000)
    call = [sys.executable, "-m", "arcspan", "treebank", "check", str(brackets), str(conll)]
    with subprocess.Popen(
        call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read()
    assert first.startswith(f"{conll}:1: word 1, 'dog', has tag NNS here")
    assert "\x1b" not in first
    assert "Traceback" not in error


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    "call", [["treebank", "stats"], ["treebank", "check"], ["search", "__"], ["measure"]]
)
def test_a_terminal_is_not_told_what_to_do_by_files(tmp_path: Path, call: list[str]) -> None:
    """Labels, names of files, and errors that quote either gave a window another title."""
    # A title, text that is concealed, and text that runs backwards.
    acts = "\x1b]0;title\x07\x1b[8m\u202e"
    for name, text in ((f"{acts}.ptb", f"(S{acts} (NN{acts} a) (VB b))"), ("a.ptb", f"(A{acts})")):
        (tmp_path / name).write_text(text + "\n")
        above, below = os.openpty()
        command = [sys.executable, "-m", "arcspan", *call, str(tmp_path / name)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=below, stderr=below)
        os.close(below)
        shown = b""
        with contextlib.suppress(OSError):  # the end
            while block := os.read(above, 1 << 16):
                shown += block
        os.close(above)
        assert done.returncode == (2 if name == "a.ptb" else 0)
        # Headings and the word "error" have colours of their own.
        own = (b"\x1b[1m", b"\x1b[31m", b"\x1b[0m")
        foreign = functools.reduce(lambda text, colour: text.replace(colour, b""), own, shown)
        assert b"\x1b" not in foreign and b"\x07" not in foreign
        assert "\u202e".encode() not in foreign
        signs = ("␛]0;title␇␛[8m<U+202E>", "%1B]0;title%07%1B[8m%E2%80%AE")
        assert any(sign.encode() in shown for sign in signs) or call[-1] == "check"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize(
    "call", [["search", "__", "-o"], ["measure", "-o"], ["breakdown", "--no-plots", "{}", "-o"]]
)
def test_a_name_that_is_not_utf_8_is_written_as_far_as_it_goes(
    tmp_path: Path, call: list[str]
) -> None:
    """It ended in a UnicodeEncodeError."""
    path = os.fsdecode(bytes(tmp_path) + b"/a\xff.ptb")
    Path(path).write_text("(TOP (NP (NN dog)))\n")
    out = tmp_path / "out"
    assert run([*(part.replace("{}", path) for part in call), str(out), path]) == 0
    written = (out / "curves.csv" if call[0] == "breakdown" else out).read_text(encoding="utf-8")
    assert "a%FF" in written
