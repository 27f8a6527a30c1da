"""Writes the page `command-line.md`: what `arcspan ... --help` says of every command, from the
commands themselves.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from arcspan.cli import arcspan

PAGE = Path(__file__).parent / "command-line.md"
BEFORE = """# Command line

This page is made by `docs/command_line.py` from the commands themselves; `arcspan COMMAND --help` shows the same.

Exit codes: 0 done; 2 the input or the call is wrong (the message names the place and the reason); 1 anything else.
`arcspan -q COMMAND ...` shows no progress and no notes. `python -m arcspan` is the same as `arcspan`.

Your shell completes commands and options after one line in its start-up file:

| shell | file | line |
|---|---|---|
| bash | `~/.bashrc` | `eval "$(_ARCSPAN_COMPLETE=bash_source arcspan)"` |
| zsh | `~/.zshrc` | `eval "$(_ARCSPAN_COMPLETE=zsh_source arcspan)"` |
| fish | `~/.config/fish/completions/arcspan.fish` | `_ARCSPAN_COMPLETE=fish_source arcspan \\| source` |
"""


def page() -> str:
    """Return the whole page."""
    return BEFORE + "".join(f"\n{section}" for section in _sections(arcspan, "arcspan"))


def _sections(group: click.Group, path: str) -> Iterator[str]:
    context = click.Context(group, info_name=path, show_default=True)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield _section(command, f"{path} {name}")
        if isinstance(command, click.Group):
            yield from _sections(command, f"{path} {name}")


def _section(command: click.Command, path: str) -> str:
    context = click.Context(command, info_name=path, show_default=True)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    parts = [
        f"{'#' * path.count(' ')}# {path}",
        f"```text\n{usage}\n```",
        _prose(command.help or ""),
    ]
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record and "--help" not in parameter.opts:
            rows.append(f"| `{_cell(record[0])}` | {_cell(record[1])} |")
    if rows:
        parts.append("\n".join(["| option | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _prose(text: str) -> str:
    """Return a help text as Markdown; a paragraph that begins with the mark \\b is kept as it is."""
    found = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if paragraph.startswith("\b"):
            found.append("```text\n" + inspect.cleandoc(paragraph.removeprefix("\b")) + "\n```")
        else:
            found.append(" ".join(paragraph.split()))
    return "\n\n".join(found)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
