"""Paired treebanks: a bracket file and a CoNLL file with the same sentences in the same order.

The n-th tree of one file goes with the n-th sentence of the other, whatever happens to the others: a pair is
checked, and kept or dropped, as a whole. The words must be the same up to the ways in which treebanks write
brackets, quotes and slashes. Both trees of a pair carry the words of the CoNLL file, which are nearer to the
text, with -LRB- and the like undone; brackets are still written with the bracket file's own forms.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from arcspan.errors import FileError
from arcspan.treebanks.brackets import Unit, read_trees
from arcspan.treebanks.conll import Block, format_conllu, parse_block, read_blocks
from arcspan.treebanks.streams import Source, name_of, open_output
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.constituency import escape, unescape

# What treebanks write for one character. The Penn Treebank turns " into `` and '', and some of its heirs turn
# typographic quotes into these or into plain ones.
_SAME = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "\\/": "/",
    "\\*": "*",
    "``": '"',
    "''": '"',
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "`": "'",
    "--": "—",
    "–": "—",
    "...": "…",
    " ": "_",
    "\N{NO-BREAK SPACE}": "_",
}
_ESCAPE = re.compile("|".join(re.escape(written) for written in sorted(_SAME, key=len, reverse=True)))


class Pair(NamedTuple):
    """A constituency tree and a dependency tree of the same words."""

    constituency: ConstituencyTree
    dependencies: DependencyTree


@dataclasses.dataclass
class ReadingReport:
    """What `read_pairs` read and left out; filled while the pairs are being read.

    `problems` keeps the first hundred messages, `reasons` counts them all by kind.
    """

    read: int = 0
    skipped: int = 0
    problems: list[str] = dataclasses.field(default_factory=list)
    reasons: Counter[str] = dataclasses.field(default_factory=Counter)

    def skip(self, place: Aligned) -> None:
        """Count a place that is no pair."""
        # Text between the trees is a problem, but no sentence.
        self.skipped += place.block is not None or bool(place.unit and place.unit.text)
        for problem in place.problems:
            self.reasons[problem.kind] += 1
            if len(self.problems) < 100:
                self.problems.append(problem.message)


class Problem(NamedTuple):
    """Something wrong with one pair: its kind, where (path, line) and what."""

    kind: Literal["brackets", "columns", "words", "missing"]
    path: str
    line: int | None
    what: str

    @property
    def message(self) -> str:
        """One line, `file:line: what`."""
        return str(self.error())

    def error(self) -> FileError:
        """The problem as the error to raise."""
        return FileError(self.what, path=self.path, line=self.line)


class Aligned(NamedTuple):
    """One place of both files: what stands there and, where it is no pair, why.

    `pair` is None exactly when `problems` is not empty.
    """

    unit: Unit | None
    block: Block | None
    pair: Pair | None
    problems: tuple[Problem, ...]


def read_pairs(
    brackets_path: Source,
    conll_path: Source,
    *,
    mismatch: Literal["strict", "skip"] = "strict",
    limit: int | None = None,
    report: ReadingReport | Callable[[str], object] | None = None,
    **options: Any,
) -> Iterator[Pair]:
    r"""The pairs of a bracket file and a CoNLL file, streamed in order.

    strict: the first difference, with the line in both files, is a FileError. skip: what is no pair is left
    out, and `report` (a `ReadingReport`, or a function that takes each message) hears of it; the others stay
    aligned. `limit` stops after so many pairs, before the rest of the files is looked at. `options` go to
    `ConstituencyTree.from_brackets`: empties="strip" reads a bracket file that still has its traces.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.ptb").write_text("(TOP (S (VP (VB Go))))")
    >>> _ = (folder / "a.conllu").write_text("1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n")
    >>> pairs = read_pairs(folder / "a.ptb", folder / "a.conllu")
    >>> [(pair.constituency.spans, pair.dependencies.heads) for pair in pairs]
    [(((0, 1, 'TOP'), (0, 1, 'S'), (0, 1, 'VP')), (0,))]
    """
    if mismatch not in ("strict", "skip"):
        raise ValueError(f"mismatch is 'strict' or 'skip', not {mismatch!r}")
    return _read_pairs(brackets_path, conll_path, mismatch == "strict", limit, report, options)


def _read_pairs(
    brackets_path: Source,
    conll_path: Source,
    strict: bool,
    limit: int | None,
    report: ReadingReport | Callable[[str], object] | None,
    options: dict[str, Any],
) -> Iterator[Pair]:
    if limit is not None and limit <= 0:
        return
    count = 0
    for place in read_aligned(brackets_path, conll_path, **options):
        if place.pair is not None:
            count += 1
            if isinstance(report, ReadingReport):
                report.read += 1
            yield place.pair
            if count == limit:
                return
            continue
        if strict:
            raise place.problems[0].error()
        if isinstance(report, ReadingReport):
            report.skip(place)
        elif report is not None:
            for problem in place.problems:
                report(problem.message)


def read_aligned(brackets_path: Source, conll_path: Source, **options: Any) -> Iterator[Aligned]:
    """Every place of both files, with its problems rather than an error at the first of them."""
    names = name_of(brackets_path), name_of(conll_path)
    if names[0] == names[1]:
        raise FileError("the bracket file and the CoNLL file are the same", path=names[0])
    parsed, blocks = read_trees(brackets_path, **options), read_blocks(conll_path)
    trees = sentences = 0
    while True:
        unit, tree = next(parsed, (None, None))
        if unit is not None and not unit.text:
            problem = Problem("brackets", names[0], unit.line, unit.problem or "")
            yield Aligned(unit, None, None, (problem,))
            continue
        block = next(blocks, None)
        if unit is None and block is None:
            return
        trees += unit is not None
        sentences += block is not None
        if not trees:
            raise FileError("no tree in this file", path=names[0])
        if unit is not None and block is not None:
            pair, problems = _align(unit, tree, block, names)
            yield Aligned(unit, block, pair, problems)
        else:
            yield Aligned(unit, block, None, (_left_over(unit, block, trees, sentences, names),))


def _align(
    unit: Unit, constituency: ConstituencyTree | None, block: Block, names: tuple[str, str]
) -> tuple[Pair | None, tuple[Problem, ...]]:
    """The pair of a unit and a block, or what is wrong with either or between them."""
    problems = []
    if constituency is None:
        problems.append(Problem("brackets", names[0], unit.line, unit.problem or ""))
    try:
        dependencies = parse_block(block, names[1])
    except FileError as error:
        problems.append(Problem("columns", names[1], error.line, error.what))
    if problems or constituency is None:
        return None, tuple(problems)
    if constituency.words != dependencies.words:
        what = _difference(constituency.words, dependencies.words, block, names[1])
        if what is not None:
            return None, (Problem("words", names[0], unit.line, what),)
        words = tuple(map(unescape, dependencies.words))
        constituency = _with_words(constituency, words)
        if words != dependencies.words:
            d = dependencies
            dependencies = DependencyTree(d.heads, d.relations, words, d.tags, d.upos)
    return Pair(constituency, dependencies), ()


def _with_words(tree: ConstituencyTree, words: tuple[str, ...]) -> ConstituencyTree:
    """The tree over the other file's words, still written out with its own: `` stays `` in brackets."""
    written = dict(tree._written or {})
    for index, (own, other) in enumerate(zip(tree.words, words, strict=True)):
        if own != other:
            written.setdefault(index, escape(own))
    return ConstituencyTree._trusted(words, tree.tags, tree.spans, written)


def _difference(c_words: tuple[str, ...], d_words: tuple[str, ...], block: Block, conll: str) -> str | None:
    """What differs between the words of both files, up to escapes; None where nothing does."""
    for m, (one, other) in enumerate(zip(c_words, d_words, strict=False), 1):
        if one != other and plain(one) != plain(other):
            first = f"word {m} is {one!r} here and {other!r} at {conll}:{word_line(block, m)}"
            break
    else:
        if len(c_words) == len(d_words):
            return None
        m = min(len(c_words), len(d_words)) + 1
        longer = max(c_words, d_words, key=len)
        first = f"word {m}, {longer[m - 1]!r}, is in one of them only"
    if len(c_words) != len(d_words):
        first = f"{len(c_words)} words here and {len(d_words)} at {conll}:{word_line(block, 1)}; {first}"
    return first


def _left_over(
    unit: Unit | None, block: Block | None, trees: int, sentences: int, names: tuple[str, str]
) -> Problem:
    if block is not None:
        what = f"a sentence with no tree: {names[0]} ends after {trees} trees"
        return Problem("missing", names[1], block.line, what)
    assert unit is not None
    return Problem(
        "missing",
        names[0],
        unit.line,
        f"a tree with no sentence: {names[1]} ends after {sentences} sentences",
    )


def plain(word: str) -> str:
    r"""A word with every escape undone and every quote and dash in one shape: for comparing only.

    >>> plain("-LRB-a-RRB-") == plain("(a)"), plain("``") == plain('"'), plain("1\\/2") == plain("1/2")
    (True, True, True)
    """
    return _ESCAPE.sub(lambda match: _SAME[match.group()], word)


def word_line(block: Block, m: int) -> int:
    r"""The line of word m in a CoNLL file.

    >>> word_line(Block(7, ("# text = Go", "1\tGo")), 1)
    8
    """
    for offset, line in enumerate(block.lines):
        if line.split("\t", 1)[0] == str(m):
            return block.line + offset
    return block.line


def write_pairs(pairs: Iterable[Pair], brackets_path: Source, conll_path: Source) -> int:
    """Write pairs to a bracket file and a CoNLL-U file, both or none; how many."""
    count = 0
    with open_output(brackets_path) as brackets, open_output(conll_path) as conll:
        for pair in pairs:
            brackets.write(pair.constituency.brackets() + "\n")
            conll.write(format_conllu(pair.dependencies))
            count += 1
    return count
