"""Output formats: one entry in the table is a format of the command line, of folders and of HTTP."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.errors import ArcspanError
from arcspan.formats import FORMATS, Entry, Format, OutputOptions, write
from arcspan.parser import Parser
from arcspan.serving import create_app
from tests.serving.conftest import Running

Call = Callable[..., tuple[int, str, str]]


def write_arcs(entry: Entry, options: OutputOptions) -> str:
    """Write a sentence as its arcs, such as play(Ada)."""
    words = ["root", *entry.parse.words]
    arcs = [
        f"{words[head]}({word})" for word, head in zip(words[1:], entry.parse.heads, strict=True)
    ]
    return " ".join(arcs) + "\n"


@pytest.fixture
def arcs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Format]:
    """Add a format, as CONTRIBUTING describes it."""
    new = Format("arcs", (".arcs",), write_arcs, options=("syntax",), media_type="text/x-arcs")
    monkeypatch.setitem(FORMATS, "arcs", new)
    # The command reads the names of formats when it is imported.
    monkeypatch.delitem(sys.modules, "arcspan.cli.parse", raising=False)
    yield new
    sys.modules.pop("arcspan.cli.parse", None)


@pytest.fixture
def call(toy_bundle: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    def run_parse(*args: object) -> tuple[int, str, str]:
        code = run(["parse", "--model", str(toy_bundle), *map(str, args)])
        return code, *capsys.readouterr()

    return run_parse


@pytest.mark.usefixtures("arcs")
def test_a_new_format_is_written_of_a_text_and_of_a_folder(call: Call, tmp_path: Path) -> None:
    code, arcs, _ = call("Ada plays. Kurt plays.", "-f", "arcs")
    assert code == 0 and len(arcs.splitlines()) == 2 and "(Ada)" in arcs and "root(" in arcs
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.txt").write_text("Ada plays. Kurt plays.")
    assert call(tmp_path / "in", "-f", "arcs", "-o", tmp_path / "out")[0] == 0
    assert (tmp_path / "out" / "one.arcs").read_text() == arcs
    assert call(tmp_path / "in" / "one.txt", "-o", tmp_path / "two.arcs", "--resume")[0] == 0
    assert (tmp_path / "two.arcs").read_text() == arcs
    assert "(json, arcs)" in " ".join(call("--help")[1].split())
    assert call("Ada plays.", "-f", "arcs", "--syntax")[0] == 0
    assert "--offsets needs --format conllu, not arcs" in call("Ada", "-f", "arcs", "--offsets")[2]


@pytest.mark.usefixtures("arcs")
def test_a_new_format_is_served_over_http(toy_bundle: Path) -> None:
    parser = Parser(toy_bundle, threads=1)
    text = "Ada plays. Kurt plays."
    server = Running(create_app(parser))
    with contextlib.ExitStack() as stack:
        stack.callback(server.stop)
        headers = {"Accept": "text/x-arcs"}
        answer = server.client.post("/parse", json={"text": text}, headers=headers)
        assert answer.headers["Content-Type"].startswith("text/x-arcs")
        assert answer.text == "".join(str(write(parse, "arcs")) for parse in parser(text))
        assert "text/x-arcs" in server.client.get("/health").json()["formats"]
        assert "text/x-arcs" in server.client.get("/openapi.json").text
        request = {"text": text, "confidence": True}
        refusal = server.client.post("/parse", json=request, headers=headers)
        assert refusal.status_code == 400 and "confidence" in refusal.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-f", "tikz", "--no-heads"], "--no-heads needs --format svg or png or pdf or html"),
        (["-f", "pretty", "--no-heads"], "--no-heads needs"),
        (["-f", "pretty", "--colours", "black"], "--colours needs"),
        (["-f", "conllu", "--layout", "tall"], "--layout needs"),
        (["-f", "brackets", "--layers", "dependency"], "--layers needs"),
        (["-f", "tikz", "--confidence"], "--confidence needs"),
    ],
)
def test_an_option_that_the_format_does_not_take_is_an_error(
    call: Call, options: list[str], message: str
) -> None:
    code, output, error = call("Ada plays.", *options)
    assert (code, output) == (2, "")
    assert message in error and f"not {options[1]}" in error


def test_parquet_cannot_tell_the_best_parses_apart(call: Call, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Ada plays.")
    folder = f"{tmp_path}/out/"
    code, _, error = call(tmp_path / "one.txt", "-f", "parquet", "-k", 2, "-o", folder)
    assert code == 2 and "-k cannot be used with --format parquet" in error


def test_a_program_writes_a_parse_in_any_format(toy_bundle: Path) -> None:
    (parse,) = Parser(toy_bundle)("Ada plays.")
    assert write(parse, "conllu", constituency=True) == parse.conllu(constituency=True)
    assert write(parse, "svg", layout="tall") == parse.to_svg(layout="tall")
    assert b"<svg" in write(parse, "html")  # type: ignore[operator]
    with pytest.raises(ArcspanError, match="heads is not an option of the format tikz"):
        write(parse, "tikz", heads=False)
    with pytest.raises(ArcspanError, match="no format 'word'; there are pretty"):
        write(parse, "word")
