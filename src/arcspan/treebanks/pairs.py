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
from arcspan.treebanks.brackets import Unit, parse_lines, read_units
from arcspan.treebanks.conll import ConlluSentence, Heads, read_conllu
from arcspan.treebanks.files import named_kind
from arcspan.treebanks.streams import Source, name_of, open_outputs
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.conllu import constituency_comment, format_conllu
from arcspan.trees.words import escape, unescape, unescape_brackets

# What treebanks write for one character. The Penn Treebank turns " into `` and '', and some of its heirs turn
# typographic quotes into these or into plain ones.
_SAME = {
    **dict.fromkeys(("``", "''", "“", "”"), '"'),
    **dict.fromkeys("‘’`", "'"),
    **dict.fromkeys(("--", "–"), "—"),
    **dict.fromkeys((" ", "\N{NO-BREAK SPACE}"), "_"),
    "...": "…",
}
_VARIANT = re.compile(
    "|".join(re.escape(written) for written in sorted(_SAME, key=len, reverse=True))
)


class Pair(NamedTuple):
    """A constituency tree and a dependency tree of the same words; one is None where a file has one layer only."""

    constituency: ConstituencyTree
    dependencies: DependencyTree

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the sentence, of whichever tree is there."""
        return self.constituency.words if self.dependencies is None else self.dependencies.words


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
    """What stands at one place of the files; `pair` is None exactly when `problems` say why it is not one."""

    unit: Unit | None
    sentence: ConlluSentence | None
    pair: Pair | None
    problems: tuple[Finding, ...] = ()

    def checked(self) -> Pair:
        """The pair; FileError where it is none."""
        if self.pair is None:
            raise self.problems[0].error()
        return self.pair


Files = tuple[Source | None, Source | None]
"""A bracket file and a CoNLL file, one of which may be missing."""
Watch = Callable[[Iterator[Place], str], Iterator[Place]]
"""Gives the same places of the files with that name, and shows progress meanwhile."""


@dataclasses.dataclass
class ReadingReport:
    """What was read and left out, filled while pairs are being read; `problems` keeps the first hundred messages."""

    read: int = 0
    skipped: int = 0
    problems: list[str] = dataclasses.field(default_factory=list)

    def pair_of(self, place: Place, mismatch: Literal["strict", "skip"]) -> Pair | None:
        """The pair, counted; None for what is skipped, and FileError if nothing may be."""
        if place.pair is not None or mismatch == "strict":
            pair = place.checked()
            self.read += 1
            return pair
        # Text between the trees is a problem, but not a sentence.
        self.skipped += place.sentence is not None or bool(place.unit and place.unit.text)
        self.problems += map(str, place.problems[: 100 - len(self.problems)])
        return None


def read_pairs(
    brackets: Source | None,
    conll: Source | None = None,
    *,
    mismatch: Literal["strict", "skip"] = "strict",
    limit: int | None = None,
    report: ReadingReport | None = None,
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
    report    counts what is read and what is left out
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
    places: Iterable[Place] = read_places(brackets, conll, heads=heads, **options)
    if keep is not None:
        places = (place for place in places if place.sentence is None or keep(place.sentence.lines))
    counts = ReadingReport() if report is None else report
    found = (counts.pair_of(place, mismatch) for place in places)
    pairs = (pair for pair in found if pair is not None)
    return itertools.islice(pairs, None if limit is None else max(0, limit))


def read_places(
    brackets: Source | None,
    conll: Source | None = None,
    *,
    heads: Heads = "tree",
    watch: Watch | None = None,
    **options: Any,
) -> Iterator[Place]:
    """Every place of the files, with its problems rather than an error at the first; `watch` wraps them."""
    if conll is None and brackets is not None and named_kind(brackets) == "conll":
        brackets, conll = None, brackets
    if brackets is None and conll is None:
        raise ValueError("a bracket file or a CoNLL file is needed, or both")
    if brackets is not None and conll is not None and name_of(brackets) == name_of(conll):
        raise FileError("the bracket file and the CoNLL file are the same", path=name_of(brackets))
    places = _read_places(brackets, conll, heads, options)
    return places if watch is None else watch(places, name_of(brackets or conll or ""))


def _read_places(
    brackets: Source | None, conll: Source | None, heads: Heads, options: dict[str, Any]
) -> Iterator[Place]:
    units: Iterator[Unit] = iter(()) if brackets is None else read_units(brackets, **options)
    sentences: Iterator[ConlluSentence] = iter(()) if conll is None else read_conllu(conll)
    names = name_of(brackets or conll or ""), name_of(conll or "")
    read: Counter[str] = Counter()
    while True:
        unit, sentence, missing = next(units, None), None, None
        if unit is None or unit.text:  # otherwise it stands between trees
            sentence = next(sentences, None)
            if unit is None and sentence is None:
                return
            read.update(trees=unit is not None, sentences=sentence is not None)
        if brackets is None and sentence is not None:
            unit = _commented_tree(sentence, options)
        elif unit is None and sentence is not None:
            what = f"a sentence with no tree: {names[0]} ends after {read['trees']} trees"
            missing = Finding("missing", names[1], sentence.line, what)
        elif unit is not None and unit.text and conll is not None and sentence is None:
            what = f"a tree with no sentence: {names[1]} ends after {read['sentences']} sentences"
            missing = Finding("missing", names[0], unit.line, what)
        yield (
            Place(unit, sentence, None, (missing,))
            if missing
            else _place(unit, sentence, names[0], heads)
        )


def _place(unit: Unit | None, sentence: ConlluSentence | None, name: str, heads: Heads) -> Place:
    """What stands at a place: a tree of the file `name`, a sentence, or both if they have the same words."""
    constituency: Any = unit.tree if unit else None
    dependencies: Any = None
    problems = []
    if unit is not None and constituency is None:
        problems.append(Finding("brackets", name, unit.line, unit.problem or ""))
    if sentence is not None:
        try:
            dependencies = sentence.parse(heads)
        except FileError as error:
            problems.append(Finding("columns", sentence.path, error.line, error.what))
    if problems:
        return Place(unit, sentence, None, tuple(problems))
    if unit is None:
        if any("B-" in word for word in dependencies.words):
            dependencies = dependencies.with_words(map(unescape_brackets, dependencies.words))
    elif sentence is not None and constituency.words != dependencies.words:
        if what := _difference(constituency.words, dependencies.words, sentence):
            return Place(unit, sentence, None, (Finding("words", name, unit.line, what),))
        words = tuple(map(unescape, dependencies.words))
        constituency = _with_words(constituency, words)
        if words != dependencies.words:
            dependencies = dependencies.with_words(words)
    return Place(unit, sentence, Pair(constituency, dependencies))


def parse_pair(sentence: ConlluSentence) -> Pair:
    """Both trees of a sentence, or the one that it has; FileError where they do not fit."""
    return _place(_commented_tree(sentence, {}), sentence, sentence.path, "tree").checked()


def _commented_tree(sentence: ConlluSentence, options: dict[str, Any]) -> Unit | None:
    """The tree in a sentence's comment `# constituency = ...`; None where there is no such comment."""
    for number, line in enumerate(sentence.lines, sentence.line):
        key, _, text = line[1:].partition("=")
        if not line.startswith("#"):
            break
        if key.strip() == "constituency":
            text = text.replace("*NL*", " ").strip()  # *NL* is Stanza's for a line break
            found = list(parse_lines([(number, text)], **options))
            problem = f"{len(found) or 'no'} trees in this comment, where one should be"
            return found[0] if len(found) == 1 else Unit(number, text, problem)
    return None


def _with_words(tree: ConstituencyTree, words: tuple[str, ...]) -> ConstituencyTree:
    """The tree over the other file's words, still written out with its own: `` stays `` in brackets."""
    written = dict(tree._written or {})
    for index, (own, other) in enumerate(zip(tree.words, words, strict=True)):
        if own != other:
            written.setdefault(index, escape(own))
    return ConstituencyTree._trusted(words, tree.tags, tree.spans, written)


def _difference(
    c_words: tuple[str, ...], d_words: tuple[str, ...], sentence: ConlluSentence
) -> str:
    """What differs between the words of both files, up to escapes; "" where nothing does."""
    lengths, first = "", ""
    if len(c_words) != len(d_words):
        place = f"{sentence.path}:{sentence.line_of(1)}"
        lengths = f"{len(c_words)} words here and {len(d_words)} at {place}; "
        m = min(len(c_words), len(d_words)) + 1
        first = f"word {m}, {max(c_words, d_words, key=len)[m - 1]!r}, is in one of them only"
    for m, (one, other) in enumerate(zip(c_words, d_words, strict=False), 1):
        if one != other and plain(one) != plain(other):
            first = (
                f"word {m} is {one!r} here and {other!r} at {sentence.path}:{sentence.line_of(m)}"
            )
            break
    return lengths + first


def plain(word: str) -> str:
    r"""A word with every escape undone and every quote and dash in one shape: for comparing only.

    >>> plain("-LRB-a-RRB-") == plain("(a)"), plain("``") == plain('"'), plain("1\\/2") == plain("1/2")
    (True, True, True)
    """
    return _VARIANT.sub(lambda match: _SAME[match.group()], unescape(word))


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
                shown = both and pair.constituency is not None
                comments = [constituency_comment(pair.constituency)] if shown else []
                rows.write(format_conllu(pair.dependencies, comments))
            count += 1
    return count
