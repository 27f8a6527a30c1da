"""Paired treebanks: a bracket file and a CoNLL file with the same sentences in the same order, or one of both.

The n-th tree of one file goes with the n-th sentence of the other, whatever happens to the others: a pair is
checked, and kept or dropped, as a whole. The words must be the same up to the ways in which treebanks write
brackets, quotes and slashes. Both trees of a pair carry the words of the CoNLL file, which are nearer to the
text, with -LRB- and the like undone; brackets are still written with the bracket file's own forms.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from arcspan.errors import FileError
from arcspan.treebanks.brackets import Unit, read_trees
from arcspan.treebanks.conll import Block, block_columns, parse_block, read_blocks
from arcspan.treebanks.streams import Source, name_of, open_outputs
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.conllu import format_conllu
from arcspan.trees.words import escape, unescape

# What treebanks write for one character. The Penn Treebank turns " into `` and '', and some of its heirs turn
# typographic quotes into these or into plain ones.
_SAME = {
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
_VARIANT = re.compile("|".join(re.escape(written) for written in sorted(_SAME, key=len, reverse=True)))


class Pair(NamedTuple):
    """A constituency tree and a dependency tree of the same words.

    One of them is None where a treebank has one layer only; only who reads a single file has to expect that.
    """

    constituency: ConstituencyTree
    dependencies: DependencyTree

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the sentence, of whichever tree is there."""
        return self.constituency.words if self.dependencies is None else self.dependencies.words


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
        """Count a place that is not a pair."""
        # Text between the trees is a problem, but no sentence.
        self.skipped += place.block is not None or bool(place.unit and place.unit.text)
        for problem in place.problems:
            self.reasons[problem.kind] += 1
            if len(self.problems) < 100:
                self.problems.append(str(problem))


class Problem(NamedTuple):
    """Something wrong with a sentence: its kind (a key of `checks.KINDS`), the file, the line and what it is."""

    kind: str
    path: str
    line: int | None
    what: str

    def __str__(self) -> str:
        return str(self.error())

    def error(self) -> FileError:
        """The problem as the error to raise."""
        return FileError(self.what, path=self.path, line=self.line)


class Aligned(NamedTuple):
    """One place of both files: what stands there and, where it is not a pair, why.

    `pair` is None exactly when `problems` is not empty.
    """

    unit: Unit | None
    block: Block | None
    pair: Pair | None
    problems: tuple[Problem, ...]


def read_pairs(
    brackets: Source | None,
    conll: Source | None,
    *,
    mismatch: Literal["strict", "skip"] = "strict",
    limit: int | None = None,
    report: ReadingReport | Callable[[str], object] | None = None,
    keep: Callable[[Sequence[str]], bool] | None = None,
    roots: Literal["one", "any"] = "one",
    **options: Any,
) -> Iterator[Pair]:
    r"""The pairs of a bracket file and a CoNLL file, streamed in order; of one layer where one of them is None.

    strict: the first difference, with the line in both files, is a FileError. skip: what is not a pair is left
    out, and `report` (a `ReadingReport`, or a function that takes each message) hears of it; the others stay
    aligned. `limit` stops after so many pairs, before the rest of the files is looked at. `keep` is asked about
    each sentence's lines in the CoNLL file, in order (see `DocumentFilter`). With `roots` "any", heads with several
    roots are read as they are: nothing can be learnt from them, but gold ones must be scored. `options` go to
    `ConstituencyTree.from_brackets`: empties="strip" reads a bracket file that still has its traces.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.ptb").write_text("(TOP (S (VP (VB Go))))")
    >>> _ = (folder / "a.conllu").write_text("1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n")
    >>> pairs = read_pairs(folder / "a.ptb", folder / "a.conllu")
    >>> [(pair.constituency.spans, pair.dependencies.heads) for pair in pairs]
    [(((0, 1, 'TOP'), (0, 1, 'S'), (0, 1, 'VP')), (0,))]
    >>> [pair.constituency for pair in read_pairs(None, folder / "a.conllu")]
    [None]
    """
    if mismatch not in ("strict", "skip"):
        raise ValueError(f"mismatch is 'strict' or 'skip', not {mismatch!r}")
    places = read_aligned(brackets, conll, roots=roots, **options)
    pairs = _pairs_of(places, mismatch == "strict", report, keep)
    return itertools.islice(pairs, None if limit is None else max(0, limit))


def _pairs_of(
    places: Iterable[Aligned],
    strict: bool,
    report: ReadingReport | Callable[[str], object] | None,
    keep: Callable[[Sequence[str]], bool] | None,
) -> Iterator[Pair]:
    for place in places:
        if keep is not None and place.block is not None and not keep(place.block.lines):
            continue
        if place.pair is not None:
            if isinstance(report, ReadingReport):
                report.read += 1
            yield place.pair
        elif strict:
            raise place.problems[0].error()
        elif isinstance(report, ReadingReport):
            report.skip(place)
        elif report is not None:
            for problem in place.problems:
                report(str(problem))


def read_aligned(
    brackets: Source | None, conll: Source | None, *, roots: Literal["one", "any"] = "one", **options: Any
) -> Iterator[Aligned]:
    """Every place of both files, or of the one that is given, with its problems rather than an error at the first."""
    if brackets is None or conll is None:
        yield from _read_one_layer(brackets, conll, roots, options)
        return
    names = name_of(brackets), name_of(conll)
    if names[0] == names[1]:
        raise FileError("the bracket file and the CoNLL file are the same", path=names[0])
    parsed, blocks = read_trees(brackets, **options), read_blocks(conll)
    trees = sentences = 0
    while True:
        unit, tree = next(parsed, (None, None))
        if unit is not None and not unit.text:
            yield Aligned(unit, None, None, _tree_problems(unit, names[0]))
            continue
        block = next(blocks, None)
        if unit is None and block is None:
            return
        trees += unit is not None
        sentences += block is not None
        if not trees:
            raise FileError("no tree in this file", path=names[0])
        if unit is not None and block is not None:
            pair, problems = _align(unit, tree, block, names, roots)
            yield Aligned(unit, block, pair, problems)
        else:
            yield Aligned(unit, block, None, (_left_over(unit, block, trees, sentences, names),))


def _read_one_layer(
    brackets: Source | None, conll: Source | None, roots: str, options: dict[str, Any]
) -> Iterator[Aligned]:
    nothing: Any = None
    if brackets is not None:
        name, empty = name_of(brackets), True
        for unit, tree in read_trees(brackets, **options):
            empty = empty and not unit.text
            if tree is None:
                yield Aligned(unit, None, None, _tree_problems(unit, name))
            else:
                yield Aligned(unit, None, Pair(tree, nothing), ())
        if empty:
            raise FileError("no tree in this file", path=name)
    elif conll is not None:
        name = name_of(conll)
        for block in read_blocks(conll):
            dependencies, problems = _dependencies(block, name, roots)
            pair = None if dependencies is None else Pair(nothing, dependencies)
            yield Aligned(None, block, pair, problems)
    else:
        raise ValueError("a bracket file or a CoNLL file is needed, or both")


def _tree_problems(unit: Unit, name: str) -> tuple[Problem, ...]:
    return () if unit.problem is None else (Problem("brackets", name, unit.line, unit.problem),)


def _dependencies(block: Block, name: str, roots: str) -> tuple[DependencyTree | None, tuple[Problem, ...]]:
    try:
        return parse_block(block, name), ()
    except FileError as error:
        loose = _with_several_roots(block) if roots == "any" else None
        if loose is not None:
            return loose, ()
        return None, (Problem("columns", name, error.line, error.what),)


def _with_several_roots(block: Block) -> DependencyTree | None:
    """The heads of a block whose only fault is that several of them are 0."""
    try:
        heads, *columns = block_columns(block)
        first = heads.index(0) + 1  # as the head of the other roots it must make a tree of them
        DependencyTree([head or (0 if m == first else first) for m, head in enumerate(heads, 1)], columns[0])
    except ValueError:
        return None
    return DependencyTree._trusted(heads, *columns)


def _align(
    unit: Unit, constituency: ConstituencyTree | None, block: Block, names: tuple[str, str], roots: str
) -> tuple[Pair | None, tuple[Problem, ...]]:
    """The pair of a unit and a block, or what is wrong with either or between them."""
    dependencies, problems = _dependencies(block, names[1], roots)
    if constituency is None or dependencies is None:
        return None, _tree_problems(unit, names[0]) + problems
    if constituency.words != dependencies.words:
        what = _difference(constituency.words, dependencies.words, block, names[1])
        if what is not None:
            return None, (Problem("words", names[0], unit.line, what),)
        words = tuple(map(unescape, dependencies.words))
        constituency = _with_words(constituency, words)
        if words != dependencies.words:
            dependencies = dependencies.with_words(words)
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
    return _VARIANT.sub(lambda match: _SAME[match.group()], unescape(word))


def word_line(block: Block, m: int) -> int:
    r"""The line of word m in a CoNLL file.

    >>> word_line(Block(7, ("# text = Go", "1\tGo")), 1)
    8
    """
    for offset, line in enumerate(block.lines):
        if line.split("\t", 1)[0] == str(m):
            return block.line + offset
    return block.line


def write_pairs(pairs: Iterable[Pair], brackets: Source | None, conll: Source | None) -> int:
    """Write pairs to a bracket file and a CoNLL-U file, both or none; how many. None for a layer that is missing."""
    count = 0
    with open_outputs(brackets, conll) as (trees, rows):
        for pair in pairs:
            if trees is not None:
                trees.write(pair.constituency.brackets() + "\n")
            if rows is not None:
                rows.write(format_conllu(pair.dependencies))
            count += 1
    return count
