"""What files say cannot give the terminal orders."""

from __future__ import annotations

import io
import sys

import pytest

from arcspan.cli.terminal import complain_error, own_colours, protect_terminals, write_visible


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(text: str) -> str:
    stream = io.StringIO()
    write_visible(stream.write, text)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("\x1b[8mhidden\x1b[0m", "␛[8mhidden␛[0m"),
        ("\x1b[31mred", "␛[31mred"),
        ("over\rwritten", "over␍written"),
        ("a\u202eb\u2066c\ufeff", "a<U+202E>b<U+2066>c<U+FEFF>"),
        ("\x9b31m\x07", "\ufffd31m␇"),
        ("\U000e0041", "<U+E0041>"),
    ],
)
def test_controls_and_marks_that_mislead_are_shown(text: str, signs: str) -> None:
    assert shown(text) == signs


@pytest.mark.parametrize(
    "text",
    ["one\ttwo\nthree\r\n", "\r 50% ███", "漢字 é می\u200cخواهم", "👩\u200d🚀", "\u200eשלום\u200e"],
)
def test_text_and_progress_bars_pass(text: str) -> None:
    assert shown(text) == text


def test_only_colours_of_our_own_pass_and_only_where_they_are_written() -> None:
    with own_colours():
        assert (
            shown("\x1b[1;31mS\x1b[0m \x1b[8mhidden\u202e")
            == "\x1b[1;31mS\x1b[0m ␛[8mhidden<U+202E>"
        )
    assert shown("\x1b[1;31mS") == "␛[1;31mS"


def test_the_word_error_is_red_and_the_message_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    protect_terminals()
    complain_error("a\x1b[31mb: no such file")
    assert terminal.getvalue() == "\x1b[31merror: \x1b[0ma␛[31mb: no such file\n"
