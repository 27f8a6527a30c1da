"""Types of constraints: one class with its entry in the table is one in Python, the shell and HTTP."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.errors import ArcspanError
from arcspan.parser import Parser
from arcspan.prediction.constraints import FORMS, Arc, Constraint, Form, Part, list_forms
from arcspan.serving import create_app
from tests.serving.conftest import Running

WORDS = ["Ada", "sees", "Kurt", "in", "Rome", "."]


@dataclass(frozen=True)
class LeftHead(Constraint):
    """The head of the word stands to its left; the root counts as such."""

    word: int
    needs = ("arc",)

    def __str__(self) -> str:
        return f"left head of word {self.word}"

    def structure(self, n: int, required: bool) -> tuple[Sequence[Part], Sequence[Part]]:
        heads = range(self.word + 1, n + 1) if required else range(self.word)
        return [], [Arc(head, self.word) for head in heads]

    def preferred_parts(self, n: int) -> Sequence[Part]:
        return [Arc(head, self.word) for head in range(self.word)]


@pytest.fixture(autouse=True)
def new_type(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add a type, as the table describes it."""
    monkeypatch.setitem(FORMS, "left", Form(LeftHead, {"word": int}, "WORD"))
    # These modules show the forms in their help, which is made when they are imported.
    shown_in = ("arcspan.cli.parse", "arcspan.serving.messages")
    for module in shown_in:
        monkeypatch.delitem(sys.modules, module, raising=False)
    yield
    for module in shown_in:
        sys.modules.pop(module, None)


@pytest.fixture(scope="module")
def parser(toy_bundle: Path) -> Parser:
    return Parser(toy_bundle, threads=1)


def stands_left(heads: Sequence[int], word: int) -> bool:
    return heads[word - 1] < word


@pytest.mark.parametrize("word", range(1, 7))
def test_a_new_type_is_required_forbidden_and_preferred(parser: Parser, word: int) -> None:
    for constraint in (LeftHead(word), ("left", word), ["left", word]):
        assert stands_left(parser.parse(WORDS, require=[constraint]).heads, word)
        assert stands_left(parser.parse(WORDS, prefer=[(constraint, 1e6)]).heads, word)
        if word < len(WORDS):
            assert not stands_left(parser.parse(WORDS, forbid=[constraint]).heads, word)
    (parse, *_) = parser.parse(WORDS, k=2, require=[("left", word)], confidence=True)
    assert stands_left(parse.heads, word)


def test_a_wrong_use_of_a_new_type_is_an_error(parser: Parser) -> None:
    with pytest.raises(ArcspanError, match=r"LeftHead\(word\)"):
        parser.parse(WORDS, require=[("left", "Ada")])
    assert '["left", word]' in list_forms("json")


def test_a_new_type_is_an_argument_of_the_command_line(
    toy_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option, value in (("--forbid", "left,3"), ("--prefer", "left, 3=-1e6")):
        args = ["parse", "--model", str(toy_bundle), "--words", "-f", "conllu", option, value]
        assert run([*args, " ".join(WORDS)]) == 0
        rows = [line.split("\t") for line in capsys.readouterr().out.splitlines() if "\t" in line]
        assert not stands_left([int(row[6]) for row in rows], 3)
    assert run([*args[:-1], "left,x=1", "Ada"]) == 2
    assert "'left,WORD'" in capsys.readouterr().err
    run(["parse", "--help"])
    assert "'left,WORD'" in " ".join(capsys.readouterr().out.split())


def test_a_new_type_is_json_over_http(parser: Parser) -> None:
    server = Running(create_app(parser))
    with contextlib.ExitStack() as stack:
        stack.callback(server.stop)
        request = {"words": WORDS, "forbid": [["left", 3]], "prefer": [[["left", 2], -1000]]}
        answer = server.client.post("/parse", json=request)
        assert answer.status_code == 200
        (tree,) = answer.json()["sentences"]
        heads = tree["heads"]
        assert not stands_left(heads, 3)
