"""Bracket files: trees in any layout, one or several lines each, several trees per line.

A file is first cut into units, the text of one tree each, by counting brackets; then each unit is
parsed on its own by `trees`. A unit that is not a tree is kept as one, with the reason: whoever
reads a file together with another can drop it without losing step with the other file.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from arcspan.errors import FileError, TreeError
from arcspan.treebanks.streams import PathLike, name_of, read_lines, write_texts
from arcspan.trees import ConstituencyTree

_BRACKET = re.compile(r"[()]")
# A wrapper never stands inside a tree: one at the start of a line shows that the tree before it was
# not closed.
_WRAPPER = re.compile(r"\(\s*(?:(?:TOP|ROOT|S1|VROOT)\s*)?\(")


class Unit(NamedTuple):
    """The text of one tree and the line where it starts, with the tree or the `problem` with it.

    A unit without text is something between the trees that belongs to none of them.
    """

    line: int
    text: str
    problem: str | None = None
    tree: ConstituencyTree | None = None

    def on_one_line(self) -> str:
        """Return the text on a line; between brackets all white space is the same."""
        return self.text.replace("\n", " ") + "\n"


def read_brackets(path: PathLike, **options: Any) -> Iterator[ConstituencyTree]:
    """Yield the trees of a bracket file; `options` go to `ConstituencyTree.from_brackets`.

    `path` may be compressed (.gz, .xz) or "-" for standard input. Raises FileError with the line of
    the first tree that is not one, and for a file without any tree.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.ptb"
    >>> _ = path.write_text("(S (NP (NNP Logic))\\n   (VP (VBZ plays)))")
    >>> [tree.brackets() for tree in read_brackets(path)]
    ['(S (NP (NNP Logic)) (VP (VBZ plays)))']
    """
    return trees_of(read_units(path, **options), path)


def trees_of(units: Iterable[Unit], path: PathLike) -> Iterator[ConstituencyTree]:
    """Yield the trees of units; FileError for the first unit that is not a tree."""
    for unit in units:
        if unit.tree is None:
            raise FileError(unit.problem or "", path=name_of(path), line=unit.line)
        yield unit.tree


def write_brackets(trees: Iterable[ConstituencyTree], path: PathLike) -> int:
    """Write trees, one per line, compressed as the name says; return their number.

    >>> from arcspan.trees import ConstituencyTree
    >>> write_brackets([ConstituencyTree.from_brackets("(NP (NN logic))")], "-")
    (NP (NN logic))
    1
    """
    return write_texts((tree.brackets() + "\n" for tree in trees), path)


def read_units(
    path: PathLike, *, edit: Callable[[str], str] | None = None, **options: Any
) -> Iterator[Unit]:
    """Yield the units of a bracket file; FileError for a file without trees.

    `edit` changes each line before it is parsed.
    """
    lines = read_lines(path)
    is_empty = True
    for unit in parse_lines(enumerate(lines if edit is None else map(edit, lines), 1), **options):
        # Text between trees alone does not make a treebank.
        is_empty = is_empty and not unit.text
        yield unit
    if is_empty:
        raise FileError("no tree in this file", path=name_of(path))


def parse_lines(lines: Iterable[tuple[int, str]], **options: Any) -> Iterator[Unit]:
    """Yield the units of numbered lines with their trees."""
    for unit in cut_units(lines, quick=True):
        yield from _parse(unit, options)


def _parse(unit: Unit, options: dict[str, Any]) -> Iterator[Unit]:
    """Yield a unit with its tree, or the trees that a quick cut has not separated."""
    if unit.problem is not None:
        yield unit
        return
    try:
        tree = ConstituencyTree.from_brackets(unit.text, **options)
    except TreeError as error:
        # The quick cut may have taken several trees of a line for one.
        pieces = list(cut_units(enumerate(unit.text.split("\n"), unit.line)))
        if len(pieces) == 1:
            yield pieces[0]._replace(problem=pieces[0].problem or str(error))
        else:
            for piece in pieces:
                yield from _parse(piece, options)
    else:
        yield unit._replace(tree=tree)


def cut_units(lines: Iterable[tuple[int, str]], *, quick: bool = False) -> Iterator[Unit]:
    """Cut numbered lines into units.

    `quick` takes a line with as many opening as closing brackets for one tree; parsing it shows if
    it is.

    >>> [unit.text for unit in cut_units([(1, "(A a) (B"), (2, "b)")])]
    ['(A a)', '(B\\nb)']
    """
    # The tree that is still open: its first line, its open brackets, and its text.
    start = 0
    depth = 0
    parts: list[str] = []
    # None marks the end of the file, where an open tree is reported.
    for number, line in itertools.chain(lines, [(0, None)]):
        if depth and (line is None or (_WRAPPER.match(line) and _WRAPPER.match(parts[0]))):
            brackets = "a closing bracket is" if depth == 1 else f"{depth} closing brackets are"
            problem = f"the tree that starts here is not closed: {brackets} missing"
            yield Unit(start, "\n".join(parts), problem)
            depth = 0
        if not line or line.isspace():
            continue
        if quick and not depth and line.startswith("(") and line.count("(") == line.count(")"):
            yield Unit(number, line)
            continue
        units: list[Unit] = []  # that end in this line
        position = 0
        for bracket in _BRACKET.finditer(line):
            if bracket.group() == "(":
                if not depth:
                    units += _text_between(number, line[position : bracket.start()])
                    start = number
                    parts = []
                    position = bracket.start()
                depth += 1
            elif depth > 1:
                depth -= 1
            else:
                if depth:
                    parts.append(line[position : bracket.end()])
                    units.append(Unit(start, "\n".join(parts)))
                else:
                    _blame_unmatched(number, units)
                position = bracket.end()
                depth = 0
        if depth:
            parts.append(line[position:])
        else:
            units += _text_between(number, line[position:])
        yield from units


def _text_between(number: int, text: str) -> list[Unit]:
    """Return a unit for text outside of any tree, if there is any."""
    text = text.strip()
    if not text:
        return []
    excerpt = text if len(text) <= 40 else text[:40] + "..."
    return [Unit(number, "", f"text outside of any bracket: {excerpt!r}")]


def _blame_unmatched(number: int, units: list[Unit]) -> None:
    """Report an unmatched closing bracket with the tree that ended before it, if any."""
    problem = "a closing bracket too many"
    if units and units[-1].text:
        line = number if "\n" in units[-1].text else units[-1].line
        units[-1] = units[-1]._replace(line=line, problem=problem)
    else:
        units.append(Unit(number, "", f"{problem}: no tree is open here"))
