"""The code blocks of a Markdown page, and how each kind is run.

python              run, all blocks of a page in one namespace; a block of `>>>` lines also has its output compared
console             lines that begin with "$ " are run; output below them, where there is some, is
                    compared
bash                every line is run
any other kind      not run; with title="NAME" it is written to the file NAME first, so that
                    commands can read it

A block below the comment `<!-- not run: REASON -->` is left alone. Blocks that use the English
model are left out, and those that use names from them too, where the package has no model inside.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arcspan.cli import run

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+)\s*(?P<info>[^`]*)$")
_NOT_RUN = re.compile(r"<!-- not run: \S.*-->")
_LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_SHELL = ("|", "<", ">", "&&", ";", "$(")
_ALIASES = {"sh": "bash", "shell": "bash", "py": "python", "pycon": "python"}
_MODEL_COMMANDS = ("parse", "serve")


@dataclass(frozen=True)
class Block:
    """A fenced block: where its first line stands, its language, its title and whether it is to be
    run.
    """

    page: Path
    line: int
    language: str
    title: str
    code: str
    run: bool

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The commands of a console or bash block, each with the output that the page shows for it."""
        commands: list[tuple[str, str]] = []
        for line in self.code.replace("\\\n", " ").splitlines():
            if self.language == "bash":
                if line.strip() and not line.startswith("#"):
                    commands.append((line, ""))
            elif line.startswith("$ "):
                commands.append((line[2:], ""))
            elif commands:
                command, output = commands.pop()
                commands.append((command, f"{output}{line}\n"))
            else:
                raise AssertionError(
                    f"{self.place}: a console block begins with a line '$ command'"
                )
        return commands

    @property
    def needs_model(self) -> bool:
        if self.language == "python":
            return (
                re.search(r"\bload\(\)|\bParser\(\)|add_pipe\(\"arcspan\"\)", self.code) is not None
            )
        return any(
            re.search(rf"\barcspan (-q )?({'|'.join(_MODEL_COMMANDS)})\b", command)
            and not re.search(r" (-m|--model) ", command)
            for command, _ in self.commands
        )


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page in order."""
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), 1))
    above = ""
    for number, line in lines:
        opened = _FENCE.match(line)
        if not opened:
            above = line if line.strip() else above
            continue
        info, fence, indent = opened["info"].strip(), opened["fence"], len(opened["indent"])
        body = []
        for _, inside in lines:
            if inside.strip() == fence:
                break
            body.append(inside[indent:] if inside[:indent].isspace() else inside)
        else:
            raise AssertionError(f"{page.name}:{number}: the block is not closed")
        title = re.search(r'title="([^"]+)"', info)
        yield Block(
            page,
            number + 1,
            _ALIASES.get(language := info.split()[0] if info else "", language),
            title[1] if title else "",
            "\n".join(body) + "\n",
            not _NOT_RUN.search(above),
        )
        above = ""


class Page:
    """Runs the blocks of a page, in order, in the current folder."""

    def __init__(self, has_model: bool) -> None:
        self.has_model = has_model
        self.namespace: dict[str, Any] = {"__name__": "__docs__"}
        self.lost: set[str] = set()  # names that blocks which were left out would have given
        self.left_out: list[str] = []

    def run(self, block: Block) -> None:
        if block.title:
            Path(block.title).write_text(block.code, encoding="utf-8")
        if not block.run or block.language not in ("python", "console", "bash"):
            return
        defined, used = _names(block) if block.language == "python" else (set(), set())
        if not self.has_model and (block.needs_model or used & self.lost):
            self.lost |= defined
            self.left_out.append(block.place)
        elif block.language == "python":
            self._run_python(block)
        else:
            for command, expected in block.commands:
                _run_command(command, expected, block.place)

    def _run_python(self, block: Block) -> None:
        if not block.code.lstrip().startswith(">>>"):
            exec(compile(block.code, block.place, "exec", dont_inherit=True), self.namespace)
            return
        test = doctest.DocTestParser().get_doctest(
            block.code, {}, block.place, str(block.page), block.line - 1
        )
        test.globs = self.namespace
        report = io.StringIO()
        result = doctest.DocTestRunner(optionflags=_LENIENT, verbose=False).run(
            test, out=report.write, clear_globs=False
        )
        assert not result.failed, report.getvalue()


def _names(block: Block) -> tuple[set[str], set[str]]:
    """The names that a python block gives to the page, and those that it uses."""
    code = block.code
    if code.lstrip().startswith(">>>"):
        code = "\n".join(example.source for example in doctest.DocTestParser().get_examples(code))
    defined: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else defined).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.alias):
            defined.add((node.asname or node.name).split(".")[0])
    return defined, used - defined


def _run_command(command: str, expected: str, location: str) -> None:
    """Run one command; it must succeed, and print what is expected of it where that is said."""
    arguments = shlex.split(command, comments=True)
    if arguments[0] == "arcspan" and not any(sign in command for sign in _SHELL):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = run(arguments[1:])
        shown = output.getvalue()
    else:
        shell = f'python() {{ "{sys.executable}" "$@"; }}\narcspan() {{ python -m arcspan "$@"; }}\nset -eo pipefail\n'
        done = subprocess.run(
            ["bash", "-c", shell + command], capture_output=True, text=True, check=False
        )
        code, shown = done.returncode, done.stdout
        sys.stderr.write(done.stderr)
    assert code == 0, f"{location}: exit code {code}: {command}"
    if expected.strip():
        output_matches = doctest.OutputChecker().check_output(expected, shown, _LENIENT)
        assert output_matches, (
            f"{location}: {command}\nshould print\n{expected}\nbut printed\n{shown}"
        )
