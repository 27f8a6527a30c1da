"""Paired treebanks: a bracket file and a CoNLL file with the same sentences in the same order, or one file.

A single CoNLL-U file may hold both trees: the comment `# constituency = (TOP ...)` of a sentence is its constituency
tree, as Stanza writes it. Of two files, the n-th tree of one goes with the n-th sentence of the other, whatever
happens to the others: a pair is checked, and kept or dropped, as a whole. The words must be the same up to the ways
in which treebanks write brackets, quotes and slashes. Both trees of a pair carry the words of the CoNLL file, which
are nearer to the text, with -LRB- and the like undone; brackets are still written with the bracket file's own forms.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from arcspan.errors import FileError
from arcspan.treebanks.brackets import Unit, parse_lines, read_trees
from arcspan.treebanks.conll import Block, ConlluSentence, Heads, parse_block, read_blocks
from arcspan.treebanks.files import named_kind
from arcspan.treebanks.streams import Source, name_of, open_outputs
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.conllu import constituency_comment, format_conllu
from arcspan.trees.words import escape, unescape, unescape_brackets

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

    One of them is None where a treebank has one layer only, which can happen where a single file is read.
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

    def skip(self, place: Place) -> None:
        """Count a place that is not a pair."""
        # Text between the trees is a problem, but not a sentence.
        self.skipped += place.block is not None or bool(place.unit and place.unit.text)
        for problem in place.problems:
            self.reasons[problem.kind] += 1
            if len(self.problems) < 100:
                self.problems.append(str(problem))


class Finding(NamedTuple):
    """Something wrong with a sentence: its kind (a key of `checks.KINDS`), the file, the line and what it is."""

    kind: str
    path: str
    line: int | None
    what: str

    def __str__(self) -> str:
        return str(self.error())

    def error(self) -> FileError:
        """The problem as the error to raise."""
        return FileError(self.what, path=self.path or None, line=self.line)


class Place(NamedTuple):
    """One place of the files: what stands there and, where it is not a pair, why.

    `pair` is None exactly when `problems` is not empty.
    """

    unit: Unit | None
    block: Block | None
    pair: Pair | None
    problems: tuple[Finding, ...]


def read_pairs(
    brackets: Source | None,
    conll: Source | None = None,
    *,
    mismatch: Literal["strict", "skip"] = "strict",
    limit: int | None = None,
    report: ReadingReport | Callable[[str], object] | None = None,
    keep: Callable[[Sequence[str]], bool] | None = None,
    heads: Heads = "tree",
    **options: Any,
) -> Iterator[Pair]:
    r"""The pairs of a bracket file and a CoNLL file, or of one file, streamed in order.

    brackets, conll  a bracket file, a CoNLL file, or both. A CoNLL-U file may stand alone, in either place: sentences
                     with a comment `# constituency = (TOP ...)` have both trees, the others one
    mismatch  "strict": the first difference, with the line in both files, is a FileError; "skip": what is not a
              pair is left out, and the others stay aligned
    limit     stops after so many pairs, before the rest of the files is looked at
    report    hears of what is left out: a `ReadingReport`, or a function that takes each message
    keep      is asked about each sentence's lines in the CoNLL file, in order (see `DocumentFilter`)
    heads     "tree"; "any" for heads that may have several roots or cycles: nothing can be learnt from them, but gold
              ones must be scored; "partial" for trees with "_" where a head is not annotated (-1 in `heads`)
    options   go to `ConstituencyTree.from_brackets`: empties="strip" reads trees that still have their traces

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.ptb").write_text("(TOP (S (VP (VB Go))))")
    >>> _ = (folder / "a.conllu").write_text("1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n")
    >>> pairs = read_pairs(folder / "a.ptb", folder / "a.conllu")
    >>> [(pair.constituency.spans, pair.dependencies.heads) for pair in pairs]
    [(((0, 1, 'TOP'), (0, 1, 'S'), (0, 1, 'VP')), (0,))]
    >>> write_pairs(read_pairs(folder / "a.ptb", folder / "a.conllu"), folder / "both.conllu")
    1
    >>> print((folder / "both.conllu").read_text().partition("\n")[0])
    # constituency = (TOP (S (VP (VB Go))))
    >>> [len(pair.constituency) for pair in read_pairs(folder / "both.conllu")]
    [1]
    """
    if mismatch not in ("strict", "skip"):
        raise ValueError(f"mismatch is 'strict' or 'skip', not {mismatch!r}")
    places = read_places(brackets, conll, heads=heads, **options)
    pairs = _pairs_of(places, mismatch == "strict", report, keep)
    return itertools.islice(pairs, None if limit is None else max(0, limit))


def _pairs_of(
    places: Iterable[Place],
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


def read_places(
    brackets: Source | None, conll: Source | None = None, *, heads: Heads = "tree", **options: Any
) -> Iterator[Place]:
    """Every place of the files, with its problems rather than an error at the first."""
    if conll is None and brackets is not None and named_kind(brackets) == "conll":
        brackets, conll = None, brackets
    if brackets is None and conll is None:
        raise ValueError("a bracket file or a CoNLL file is needed, or both")
    if conll is None:
        return _read_brackets_alone(brackets or "", options)
    if brackets is None:
        name = name_of(conll)
        return (_conll_place(block, name, heads, options) for block in read_blocks(conll))
    return _read_both(brackets, conll, heads, options)


def _read_both(brackets: Source, conll: Source, heads: Heads, options: dict[str, Any]) -> Iterator[Place]:
    names = name_of(brackets), name_of(conll)
    if names[0] == names[1]:
        raise FileError("the bracket file and the CoNLL file are the same", path=names[0])
    parsed, blocks = read_trees(brackets, **options), read_blocks(conll)
    trees = sentences = 0
    while True:
        unit, tree = next(parsed, (None, None))
        if unit is not None and not unit.text:
            yield Place(unit, None, None, _tree_problems(unit, names[0]))
            continue
        block = next(blocks, None)
        if unit is None and block is None:
            return
        trees += unit is not None
        sentences += block is not None
        if unit is not None and block is not None:
            yield _align(unit, tree, block, names, heads)
        else:
            yield Place(unit, block, None, (_left_over(unit, block, trees, sentences, names),))


def _read_brackets_alone(brackets: Source, options: dict[str, Any]) -> Iterator[Place]:
    for unit, tree in read_trees(brackets, **options):
        pair = None if tree is None else Pair(tree, _NOTHING)
        yield Place(unit, None, pair, _tree_problems(unit, name_of(brackets)))


def _conll_place(block: Block, name: str, heads: Heads, options: dict[str, Any]) -> Place:
    """A sentence of a file that stands alone, with the tree of its comment where it has one."""
    found = _commented_tree(block, options)
    if found is not None:
        return _align(*found, block, (name, name), heads)
    dependencies, problems = _dependencies(block, name, heads)
    if dependencies is None:
        return Place(None, block, None, problems)
    if any("B-" in word for word in dependencies.words):
        dependencies = dependencies.with_words(map(unescape_brackets, dependencies.words))
    return Place(None, block, Pair(_NOTHING, dependencies), ())


def parse_pair(sentence: ConlluSentence, heads: Heads = "tree") -> Pair:
    """Both trees of a sentence, or the one that it has; FileError where they do not fit."""
    place = _conll_place(Block(sentence.line, sentence.lines), sentence.path, heads, {})
    if place.pair is None:
        raise place.problems[0].error()
    return place.pair


_NOTHING: Any = None  # the tree of a layer that a file does not have


def _commented_tree(block: Block, options: dict[str, Any]) -> tuple[Unit, ConstituencyTree | None] | None:
    """The tree in a sentence's comment `# constituency = ...`; None where there is no such comment."""
    for number, line in enumerate(block.lines, block.line):
        key, _, text = line[1:].partition("=")
        if key.strip() == "constituency" and line.startswith("#"):
            text = text.replace("*NL*", " ").strip()  # *NL* is Stanza's for a line break
            found = list(parse_lines([(number, text)], **options))
            if len(found) == 1:
                return found[0]
            return Unit(
                number, text, f"{len(found) or 'no'} trees in this comment, where one should be"
            ), None
        if not line.startswith("#"):
            break
    return None


def _tree_problems(unit: Unit, name: str) -> tuple[Finding, ...]:
    return () if unit.problem is None else (Finding("brackets", name, unit.line, unit.problem),)


def _dependencies(block: Block, name: str, heads: Heads) -> tuple[DependencyTree | None, tuple[Finding, ...]]:
    try:
        return parse_block(block, name, heads), ()
    except FileError as error:
        return None, (Finding("columns", name, error.line, error.what),)


def _align(
    unit: Unit, constituency: ConstituencyTree | None, block: Block, names: tuple[str, str], heads: Heads
) -> Place:
    """The pair of a unit and a block, or what is wrong with either or between them."""
    dependencies, problems = _dependencies(block, names[1], heads)
    if constituency is None or dependencies is None:
        return Place(unit, block, None, _tree_problems(unit, names[0]) + problems)
    if constituency.words != dependencies.words:
        what = _difference(constituency.words, dependencies.words, block, names[1])
        if what is not None:
            return Place(unit, block, None, (Finding("words", names[0], unit.line, what),))
        words = tuple(map(unescape, dependencies.words))
        constituency = _with_words(constituency, words)
        if words != dependencies.words:
            dependencies = dependencies.with_words(words)
    return Place(unit, block, Pair(constituency, dependencies), ())


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
) -> Finding:
    if block is not None:
        what = f"a sentence with no tree: {names[0]} ends after {trees} trees"
        return Finding("missing", names[1], block.line, what)
    assert unit is not None
    what = f"a tree with no sentence: {names[1]} ends after {sentences} sentences"
    return Finding("missing", names[0], unit.line, what)


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


def write_pairs(pairs: Iterable[Pair], brackets: Source | None, conll: Source | None = None) -> int:
    """Write pairs to a bracket file and a CoNLL-U file, both or none; how many. None for a layer that is missing.

    A CoNLL-U file given alone, in the first place, gets both trees.
    """
    both = conll is None and brackets is not None and named_kind(brackets) == "conll"
    if both:
        brackets, conll = None, brackets
    count = 0
    with open_outputs(brackets, conll) as (trees, rows):
        for pair in pairs:
            if trees is not None:
                trees.write(pair.constituency.brackets() + "\n")
            if rows is not None:
                comments = (
                    [constituency_comment(pair.constituency)]
                    if both and pair.constituency is not None
                    else []
                )
                rows.write(format_conllu(pair.dependencies, comments))
            count += 1
    return count
