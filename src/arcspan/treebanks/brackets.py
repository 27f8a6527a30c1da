"""Bracket files: trees in any layout, one or several lines each, several trees a line.

A file is first cut into units, the text of one tree each, by counting brackets; then each unit is parsed on
its own. A unit that is no tree is kept as one, with the reason: whoever reads a file together with another
can drop it without losing step with the other file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from arcspan.errors import FileError, TreeError
from arcspan.treebanks.streams import Source, name_of, open_output, read_lines
from arcspan.trees import ConstituencyTree

_BRACKET = re.compile(r"[()]")
# A wrapper never stands inside a tree: one at the start of a line shows that the tree before it was not
# closed.
_WRAPPER = re.compile(r"\(\s*(?:(?:TOP|ROOT|S1|VROOT)?\s*\()")


class Unit(NamedTuple):
    """The text of one tree and the line where it starts; `problem` says why it is no tree.

    A unit without text is something between the trees that belongs to none of them.
    """

    line: int
    text: str
    problem: str | None = None


def read_brackets(path: Source, **options: Any) -> Iterator[ConstituencyTree]:
    """The trees of a bracket file, streamed; `options` go to `ConstituencyTree.from_brackets`.

    `path` may be compressed (.gz, .xz) or "-" for standard input. Raises FileError with the line of the first
    tree that is not one, and for a file without any tree.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.ptb"
    >>> _ = path.write_text("(S (NP (NNP Logic))\\n   (VP (VBZ plays)))")
    >>> [tree.brackets() for tree in read_brackets(path)]
    ['(S (NP (NNP Logic)) (VP (VBZ plays)))']
    """
    unit = None
    for unit in read_units(path):
        yield parse_unit(unit, path, **options)
    if unit is None:
        raise FileError("no tree in this file", path=name_of(path))


def parse_unit(unit: Unit, path: Source, **options: Any) -> ConstituencyTree:
    """The tree of a unit, or a FileError that names its line."""
    if unit.problem is not None:
        raise FileError(unit.problem, path=name_of(path), line=unit.line)
    try:
        return ConstituencyTree.from_brackets(unit.text, **options)
    except TreeError as error:
        raise FileError(str(error), path=name_of(path), line=unit.line) from None


def write_brackets(trees: Iterable[ConstituencyTree], path: Source, *, escape: bool = True) -> int:
    """Write trees one a line, compressed as the name says; how many were written.

    >>> from arcspan.trees import ConstituencyTree
    >>> write_brackets([ConstituencyTree.from_brackets("(NP (NN logic))")], "-")
    (NP (NN logic))
    1
    """
    count = 0
    with open_output(path) as file:
        for tree in trees:
            file.write(tree.brackets(escape=escape) + "\n")
            count += 1
    return count


def read_units(path: Source, encoding: str = "utf-8") -> Iterator[Unit]:
    """Cut a bracket file into units."""
    return cut_units(enumerate(read_lines(path, encoding), 1))


def cut_units(lines: Iterable[tuple[int, str]]) -> Iterator[Unit]:
    """Cut numbered lines into units.

    >>> [unit.text for unit in cut_units([(1, "(A a) (B"), (2, "b)")])]
    ['(A a)', '(B\\nb)']
    """
    # The tree that is still open: its first line, its text, its open brackets.
    started, depth = 0, 0
    parts: list[str] = []
    for number, line in lines:
        if not depth and line.startswith("(") and _is_one_tree(line):
            yield Unit(number, line)
            continue
        if not line or line.isspace():
            continue
        if depth and _WRAPPER.match(line) and _WRAPPER.match(parts[0]):
            yield Unit(started, "\n".join(parts), _unclosed(depth))
            parts, depth = [], 0
            if _is_one_tree(line):
                yield Unit(number, line)
                continue
        position, last = (
            0,
            None,
        )  # last: a tree that ended on this line, held back until the line's end is seen
        for match in _BRACKET.finditer(line):
            if match.group() == "(":
                if not depth:
                    if last is not None:
                        yield last
                        last = None
                    if stray := line[position : match.start()].strip():
                        yield Unit(number, "", _outside(stray))
                    started, parts, position = number, [], match.start()
                depth += 1
            elif depth:
                depth -= 1
                if not depth:
                    parts.append(line[position : match.end()])
                    position = match.end()
                    last = Unit(started, "\n".join(parts))
            else:
                # A closing bracket too many belongs to the tree that ended just before it.
                problem = "a closing bracket too many"
                if last is None:
                    yield Unit(number, "", f"{problem}: no tree is open here")
                else:
                    last = last._replace(line=number if "\n" in last.text else last.line, problem=problem)
                position = match.end()
        if depth:
            parts.append(line[position:])
        elif stray := line[position:].strip():
            if last is not None:
                yield last
                last = None
            yield Unit(number, "", _outside(stray))
        if last is not None:
            yield last
    if depth:
        yield Unit(started, "\n".join(parts), _unclosed(depth))


def _is_one_tree(line: str) -> bool:
    """Whether a line that starts with a bracket holds one tree: balanced, and closed at its end only."""
    if line.count("(") != line.count(")"):
        return False
    depth = 0
    # Runs of brackets are few where brackets are many: ")))" counts at once.
    for run in _RUN.finditer(line):
        text = run.group()
        if text[0] == "(":
            depth += len(text)
        else:
            depth -= len(text)
            if depth <= 0:
                return depth == 0 and not line[run.end() :].strip()
    return False


_RUN = re.compile(r"\(+|\)+")


def _unclosed(depth: int) -> str:
    brackets = "a closing bracket is" if depth == 1 else f"{depth} closing brackets are"
    return f"the tree that starts here is not closed: {brackets} missing"


def _outside(text: str) -> str:
    shown = text if len(text) <= 40 else text[:40] + "..."
    return f"text outside of any bracket: {shown!r}"
