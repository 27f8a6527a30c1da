"""Paired treebanks: a bracket file and a CoNLL file with the same sentences, or one file.

A single CoNLL-U file may hold both trees: the comment `# constituency = (TOP ...)` of a sentence is
its constituency tree, as Stanza writes it. Of two files, the n-th tree of one belongs to the n-th
sentence of the other, whatever happens to the others: a pair is checked, and kept or dropped, as a
whole. The words must be the same up to the ways in which treebanks write brackets, quotes and
slashes. Both trees of a pair carry the words of the CoNLL file, which are nearer to the text, with
-LRB- and the like undone; brackets are still written with the bracket file's forms.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from arcspan.errors import FileError
from arcspan.treebanks.brackets import Unit, parse_lines, read_units
from arcspan.treebanks.conll import ConlluSentence, Heads, read_conllu
from arcspan.treebanks.streams import PathLike, name_of, open_outputs
from arcspan.treebanks.tree_files import named_kind
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.conllu import constituency_comment, format_conllu
from arcspan.trees.words import escape, unescape, unescape_brackets

# Different characters for the same mark. The Penn Treebank turns " into `` and '', and some
# treebanks in its style turn typographic quotes into these or into plain ones.
_SAME = {
    **dict.fromkeys(("``", "''", "“", "”"), '"'),
    **dict.fromkeys("‘’`", "'"),
    **dict.fromkeys(("--", "–"), "—"),
    **dict.fromkeys((" ", "\N{NO-BREAK SPACE}"), "_"),
    "...": "…",
}
# The longest first: "``" is one mark.
_VARIANT = re.compile("|".join(map(re.escape, sorted(_SAME, key=len, reverse=True))))


class Pair(NamedTuple):
    """A constituency tree and a dependency tree; one is None in a file of one layer."""

    constituency: ConstituencyTree
    dependencies: DependencyTree

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words of the sentence."""
        return self.constituency.words if self.dependencies is None else self.dependencies.words


class Finding(NamedTuple):
    """A problem of a sentence: a key of `checks.KINDS`, the file, the line and a message."""

    kind: str
    path: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return str(self.error())

    def error(self) -> FileError:
        """Return the problem as the error to raise."""
        return FileError(self.message, path=self.path or None, line=self.line)


class TreebankEntry(NamedTuple):
    """A tree, a sentence or both from the files; `pair` is None exactly if there are `problems`."""

    unit: Unit | None
    sentence: ConlluSentence | None
    pair: Pair | None
    problems: tuple[Finding, ...] = ()

    def checked(self) -> Pair:
        """Return the pair; FileError for problems."""
        if self.pair is None:
            raise self.problems[0].error()
        return self.pair


Files = tuple[PathLike | None, PathLike | None]
"""A bracket file and a CoNLL file, one of which may be missing."""
Watch = Callable[[Iterator[TreebankEntry], str], Iterator[TreebankEntry]]
"""A function that passes on the entries of the file of that name, and shows progress meanwhile."""


@dataclasses.dataclass
class ReadingReport:
    """Counts of pairs read and skipped; `problems` keeps the first hundred messages."""

    read: int = 0
    skipped: int = 0
    problems: list[str] = dataclasses.field(default_factory=list)

    def pair_of(self, entry: TreebankEntry, mismatch: Literal["strict", "skip"]) -> Pair | None:
        """Count an entry and return its pair, if any; FileError without one if "strict"."""
        if entry.pair is not None or mismatch == "strict":
            pair = entry.checked()
            self.read += 1
            return pair
        # Text between the trees is a problem, but not a sentence.
        if entry.sentence is not None or (entry.unit is not None and entry.unit.text):
            self.skipped += 1
        self.problems += map(str, entry.problems[: 100 - len(self.problems)])
        return None


def read_pairs(
    brackets: PathLike | None,
    conll: PathLike | None = None,
    *,
    mismatch: Literal["strict", "skip"] = "strict",
    limit: int | None = None,
    report: ReadingReport | None = None,
    keep: Callable[[Sequence[str]], bool] | None = None,
    heads: Heads = "tree",
    **options: Any,
) -> Iterator[Pair]:
    r"""Return an iterator over the pairs of a bracket file and a CoNLL file, or of one file.

    brackets, conll  a bracket file, a CoNLL file, or both. A CoNLL-U file may stand alone, as
              either one: sentences with a comment `# constituency = (TOP ...)` have both trees, the
              others one
    mismatch  "strict": the first difference, with the line in both files, is a FileError; "skip":
              what is not a pair is left out, and the others stay aligned
    limit     stops after so many pairs, before the rest of the files is looked at
    report    counts the pairs that are read and left out
    keep      is called with each sentence's lines in the CoNLL file (see `DocumentFilter`)
    heads     "tree"; "any" for heads that may have several roots or cycles: nothing can be learnt
              from them, but gold ones must be scored; "partial" for trees with "_" for a head that
              is not annotated (-1 in `heads`)
    options   go to `ConstituencyTree.from_brackets`: empties="strip" reads trees with their traces

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
    # Wrong arguments raise here, not when the first pair is taken.
    entries = read_entries(brackets, conll, heads=heads, **options)
    counts = ReadingReport() if report is None else report

    def pairs() -> Iterator[Pair]:
        for entry in entries:
            if keep is None or entry.sentence is None or keep(entry.sentence.lines):
                pair = counts.pair_of(entry, mismatch)
                if pair is not None:
                    yield pair

    return itertools.islice(pairs(), None if limit is None else max(0, limit))


def read_entries(
    brackets: PathLike | None,
    conll: PathLike | None = None,
    *,
    heads: Heads = "tree",
    watch: Watch | None = None,
    **options: Any,
) -> Iterator[TreebankEntry]:
    """Return an iterator over the entries of the files, which `watch` wraps."""
    if conll is None and brackets is not None and named_kind(brackets) == "conll":
        brackets, conll = None, brackets
    if brackets is None and conll is None:
        raise ValueError("a bracket file or a CoNLL file is needed, or both")
    if brackets is not None and conll is not None and name_of(brackets) == name_of(conll):
        raise FileError("the bracket file and the CoNLL file are the same", path=name_of(brackets))
    # Not a generator itself, so that the errors above come with the call.
    entries = _read_entries(brackets, conll, heads, options)
    return entries if watch is None else watch(entries, name_of(brackets or conll or ""))


def _read_entries(
    brackets: PathLike | None, conll: PathLike | None, heads: Heads, options: dict[str, Any]
) -> Iterator[TreebankEntry]:
    """Yield the entries of the files: the n-th tree with the n-th sentence."""
    units: Iterator[Unit] = iter(()) if brackets is None else read_units(brackets, **options)
    sentences: Iterator[ConlluSentence] = iter(()) if conll is None else read_conllu(conll)
    bracket_name = name_of(brackets or conll or "")
    conll_name = name_of(conll or "")
    tree_count = 0
    sentence_count = 0
    while True:
        unit = next(units, None)
        if unit is not None and not unit.text:
            # Text between trees belongs to no sentence.
            yield _entry(unit, None, bracket_name, heads)
            continue
        sentence = next(sentences, None)
        if unit is None and sentence is None:
            return
        missing = None
        if unit is not None:
            tree_count += 1
        if sentence is not None:
            sentence_count += 1
        if brackets is None and sentence is not None:
            unit = _commented_tree(sentence, options)
        elif unit is None and sentence is not None:
            message = f"a sentence with no tree: {bracket_name} ends after {tree_count} trees"
            missing = Finding("missing", conll_name, sentence.line, message)
        elif unit is not None and conll is not None and sentence is None:
            message = f"a tree with no sentence: {conll_name} ends after {sentence_count} sentences"
            missing = Finding("missing", bracket_name, unit.line, message)
        if missing is not None:
            yield TreebankEntry(unit, sentence, None, (missing,))
        else:
            yield _entry(unit, sentence, bracket_name, heads)


def _entry(
    unit: Unit | None, sentence: ConlluSentence | None, name: str, heads: Heads
) -> TreebankEntry:
    """Return the entry of a tree in the file `name`, of a sentence, or of both."""
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
        return TreebankEntry(unit, sentence, None, tuple(problems))
    if unit is None:
        # Without a bracket file only brackets are unescaped: \/ may be part of a word.
        if any("B-" in word for word in dependencies.words):
            dependencies = dependencies.with_words(map(unescape_brackets, dependencies.words))
    elif sentence is not None and constituency.words != dependencies.words:
        if difference := _difference(constituency.words, dependencies.words, sentence):
            finding = Finding("words", name, unit.line, difference)
            return TreebankEntry(unit, sentence, None, (finding,))
        words = tuple(map(unescape, dependencies.words))
        constituency = _with_words(constituency, words)
        if words != dependencies.words:
            dependencies = dependencies.with_words(words)
    return TreebankEntry(unit, sentence, Pair(constituency, dependencies))


def parse_pair(sentence: ConlluSentence) -> Pair:
    """Return both trees of a sentence, or its only tree; FileError if their words differ."""
    return _entry(_commented_tree(sentence, {}), sentence, sentence.path, "tree").checked()


def _commented_tree(sentence: ConlluSentence, options: dict[str, Any]) -> Unit | None:
    """Return the tree in a sentence's comment `# constituency = ...`, or None."""
    for number, line in enumerate(sentence.lines, sentence.line):
        if not line.startswith("#"):
            break
        key, _, text = line[1:].partition("=")
        if key.strip() == "constituency":
            text = text.replace("*NL*", " ").strip()  # *NL* is Stanza's for a line break
            units = list(parse_lines([(number, text)], **options))
            if len(units) == 1:
                return units[0]
            problem = f"{len(units) or 'no'} trees in this comment, where one should be"
            return Unit(number, text, problem)
    return None


def _with_words(tree: ConstituencyTree, words: tuple[str, ...]) -> ConstituencyTree:
    """Return the tree over other words; brackets are still written with its present ones."""
    # Forms of the source take precedence over those that `escape` makes.
    written = dict(tree._written or {})
    for index, (old, new) in enumerate(zip(tree.words, words, strict=True)):
        if old != new:
            written.setdefault(index, escape(old))
    return tree._replaced(words=words, _written=written)


def _difference(
    c_words: tuple[str, ...], d_words: tuple[str, ...], sentence: ConlluSentence
) -> str:
    """Describe the first difference between the words of both files, up to escapes; "" for none."""
    lengths = ""
    first = ""
    if len(c_words) != len(d_words):
        lengths = (
            f"{len(c_words)} words here and {len(d_words)} "
            f"at {sentence.path}:{sentence.line_of(1)}; "
        )
        # Unless a word before differs, the first word that has no partner is named.
        m = min(len(c_words), len(d_words)) + 1
        first = f"word {m}, {max(c_words, d_words, key=len)[m - 1]!r}, is in one of them only"
    for m, (c_word, d_word) in enumerate(zip(c_words, d_words, strict=False), 1):
        if c_word != d_word and plain(c_word) != plain(d_word):
            position = f"{sentence.path}:{sentence.line_of(m)}"
            first = f"word {m} is {c_word!r} here and {d_word!r} at {position}"
            break
    return lengths + first


def plain(word: str) -> str:
    r"""Undo every escape in a word and bring quotes and dashes into one shape: for comparing only.

    >>> plain("-LRB-a-RRB-"), plain("``"), plain("1\\/2")
    ('(a)', '"', '1/2')
    """
    return _VARIANT.sub(lambda match: _SAME[match.group()], unescape(word))


def write_pairs(
    pairs: Iterable[Pair], brackets: PathLike | None, conll: PathLike | None = None
) -> int:
    """Write pairs to a bracket file and a CoNLL-U file, both or none; return their number.

    A file is None for a layer that is missing. A CoNLL-U file alone, as first argument, gets both
    trees.
    """
    has_one_file = conll is None and brackets is not None and named_kind(brackets) == "conll"
    if has_one_file:
        brackets, conll = None, brackets
    count = 0
    with open_outputs(brackets, conll) as (trees, rows):
        for pair in pairs:
            if trees is not None:
                trees.write(pair.constituency.brackets() + "\n")
            if rows is not None:
                comments = []
                if has_one_file and pair.constituency is not None:
                    comments.append(constituency_comment(pair.constituency))
                rows.write(format_conllu(pair.dependencies, comments))
            count += 1
    return count
