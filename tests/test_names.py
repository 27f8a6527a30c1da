"""Names that hold nothing for a reader, such as `found` or `given`, stay rare in every part of the
repository.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Each says that a thing was found, given or meant, but not what it is.
_WORDS = """
    found one own given said asked wanted known place places kind what here there thing things ready left
    much made seen taken kept chosen named several again told mine another both rest whole such some
"""
VAGUE = frozenset(_WORDS.split())
# Uses per 1,000 lines of code; a few are right, such as `kind` where a format calls it so.
CEILINGS = {"src": 15.0, "tests": 40.0, "studies": 40.0, "benchmarks": 40.0}
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def vague_uses(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every vague variable and parameter.

    >>> list(vague_uses("found = [one for one in words]"))
    [(1, 'found'), (1, 'one'), (1, 'one')]
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id in VAGUE:
            yield node.lineno, node.id
        elif isinstance(node, ast.arg) and node.arg in VAGUE:
            yield node.lineno, node.arg


def code_lines(source: str) -> int:
    r"""Count the lines that hold code: no blank lines, comments or docstrings.

    >>> code_lines("def double(n):\n    'Return twice n.'\n\n    # Why not.\n    return 2 * n\n")
    2
    """
    lines: set[int] = set()
    at_statement_start = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_docstring = token.type == tokenize.STRING and at_statement_start
        if token.type in LAYOUT:
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                at_statement_start = True
            continue
        at_statement_start = False
        if not is_docstring:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


@pytest.mark.parametrize("folder", CEILINGS)
def test_vague_names_are_rare(folder: str) -> None:
    uses: list[str] = []
    lines = 0
    for path in sorted((ROOT / folder).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        lines += code_lines(source)
        name = path.relative_to(ROOT)
        uses += [f"{name}:{line}: {word}" for line, word in vague_uses(source)]
    assert lines > 100
    rate = 1000 * len(uses) / lines
    shown = "\n".join(uses[:40])
    assert rate <= CEILINGS[folder], f"{rate:.1f} vague names per 1,000 lines, such as\n{shown}"
