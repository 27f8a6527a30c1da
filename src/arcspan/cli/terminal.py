"""Writing to a terminal what words, labels and names of files cannot turn into orders to it.

A terminal obeys control characters: they hide text, change the title of the window or move the
cursor. So every stream that is a terminal shows them as signs. Colours of arcspan's own pass where
the text around them is arcspan's own too (`own_colours`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import click

# Whether the thread is writing colours of its own.
_COLOURS_PASS: ContextVar[bool] = ContextVar("_COLOURS_PASS", default=False)
# The selections of colour that a drawing or a heading makes; none of them hides text.
_COLOUR = r"\x1b\[(?:0|1|2|31|34|36|1;31)m"
# Not ASCII, or a control character. A progress bar begins with a carriage return, some lines end in
# one; U+200E stands around right-to-left words in drawings and changes nothing else.
_SUSPECT = r"(?:(?!\A\r|\r\n)[^\n\t\x20-\x7e\u200e])+"
_SUSPECTS = re.compile(_SUSPECT)
_COLOURS_AND_SUSPECTS = re.compile(rf"(?P<colour>{_COLOUR})|(?:(?!{_COLOUR}){_SUSPECT})")


def protect_terminals() -> None:
    """Show control and format characters on standard streams that are terminals."""
    for stream in (sys.stdout, sys.stderr):
        if stream.isatty():
            stream.write = partial(write_visible, stream.write)  # type: ignore[method-assign]


def write_visible(write: Callable[[str], int], text: str) -> int:
    """Write a text in which control and format characters are replaced by signs."""
    pattern = _COLOURS_AND_SUSPECTS if _COLOURS_PASS.get() else _SUSPECTS
    return write(pattern.sub(_sign, text))


def _sign(match: re.Match[str]) -> str:
    # Most commands write ASCII alone, and drawing takes long to import.
    from arcspan.rendering.layout import visible

    text = match[0]
    return text if match.groupdict().get("colour") else visible(text, longest=len(text))


@contextmanager
def own_colours(allowed: bool = True) -> Iterator[None]:
    """Let colours pass in the block, where nothing is written that files say, unless escaped."""
    token = _COLOURS_PASS.set(allowed)
    try:
        yield
    finally:
        _COLOURS_PASS.reset(token)


def complain_error(message: str) -> None:
    """Write an error on standard error, its first word in red on a terminal."""
    with own_colours():
        click.secho("error: ", fg="red", err=True, nl=False)
    click.echo(message, err=True)
