"""`arcspan serve` from the command line: what it says, what it refuses, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.serving import bind


def test_it_says_where_it_listens_answers_there_and_ends_well(
    toy_bundle: Path, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    command = [sys.executable, "-m", "arcspan", "serve", "--port", "0", "--model", str(toy_bundle)]
    command += ["--token-file", str(token), "--max-k", "3"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith("serving toy at http://127.0.0.1:")
        address = said.split(" at ")[1].split(" ")[0]
        with urllib.request.urlopen(f"{address}/health", timeout=300) as answer:
            health = json.load(answer)
        request = urllib.request.Request(
            f"{address}/parse",
            data=b'{"text": "Logic plays a role here."}',
            headers={"Content-Type": "application/json", "Authorization": "Bearer s3cret"},
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            (sentence,) = json.load(answer)["sentences"]
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0
        assert process.stderr.read() == ""
    assert health["limits"]["max_k"] == 3
    assert health["token"] is True
    assert sentence["words"] == ["Logic", "plays", "a", "role", "here", "."]


def test_a_port_that_is_taken_is_one_line_and_code_2(
    toy_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with bind("127.0.0.1", 0) as other:
        other.listen()
        port = str(other.getsockname()[1])
        assert run(["serve", "--port", port, "--model", str(toy_bundle)]) == 2
    assert (
        capsys.readouterr().err
        == f"error: cannot listen on 127.0.0.1 port {port}: Address already in use\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "no/such/bundle"], "no/such/bundle: no such folder"),
        (["--token-file", "no/such/file"], "no/such/file: No such file"),
        (["--max-words", "0"], "max_words should be a whole number, at least 1, not 0"),
        (["--time-limit", "-1"], "time_limit should be a number, at least 0, not -1.0"),
        (["--port", "70000"], "70000 is not in the range"),
    ],
)
def test_a_wrong_call_is_code_2_and_names_what_is_wrong(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "--port", "0", *options]) == 2
    assert message in capsys.readouterr().err


def test_an_empty_token_file_is_no_open_door(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("\n")
    assert run(["serve", "--token-file", str(tmp_path / "token")]) == 2
    assert "no token in this file" in capsys.readouterr().err
    (tmp_path / "token").write_text("secret", encoding="utf-16")
    assert run(["serve", "--token-file", str(tmp_path / "token")]) == 2
    assert "token:1: the file is in UTF-16" in capsys.readouterr().err
