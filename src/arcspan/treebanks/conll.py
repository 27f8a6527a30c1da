"""CoNLL-U, CoNLL-U Plus and CoNLL-X: a line of columns per word, a blank line after each sentence.

All put the form, the two tags, the head and the relation in the same columns, so that one reader serves them; only
CoNLL-U has comments, multiword tokens (1-2) and empty nodes (1.1), which are kept but are not words of the tree. A
sentence keeps the lines as they were read and splits them when asked: writing gives back what was read, and reading
trees alone costs little more than splitting lines.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from arcspan.errors import FileError, TreeError
from arcspan.treebanks.streams import Source, name_of, read_lines, write_texts
from arcspan.trees import DependencyTree
from arcspan.trees.conllu import Multiword, format_conllu, read_spaces
from arcspan.trees.immutable import empty_column

Heads = Literal["tree", "any", "partial"]
"""What heads may be: those of a tree; any, with several roots or cycles; or of a tree with "_" where none is known."""

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")


class ConlluToken(NamedTuple):
    """One line of ten columns, as written ("_" where there is nothing).

    In CoNLL-X the columns are called ID, FORM, LEMMA, CPOSTAG, POSTAG, FEATS, HEAD, DEPREL, PHEAD, PDEPREL.
    """

    id: str
    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: str = "_"
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"

    @property
    def is_word(self) -> bool:
        """Whether this is a word of the tree: neither a multiword token nor an empty node."""
        return is_number(self.id)

    @property
    def spaces_after(self) -> str:
        r"""The white space that follows in the text: a space, unless MISC says SpaceAfter=No or SpacesAfter=...

        >>> [ConlluToken("1", "mice", misc=misc).spaces_after for misc in ("SpaceAfter=No", r"SpacesAfter=\s\n")]
        ['', ' \n']
        """
        return read_spaces(self.misc)

    @property
    def space_after(self) -> bool:
        """Whether white space follows in the text."""
        return self.spaces_after != ""


class ConlluSentence:
    r"""One sentence of a CoNLL-U file with everything that stood there.

    lines  its lines, comments included
    line   the number of the first in the file
    path   the file, which errors name

    >>> sentence = ConlluSentence(["# text = It works", "1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\t_",
    ...     "2\tworks\twork\tVERB\tVBZ\t_\t0\troot\t_\t_"])
    >>> sentence.tree.heads, sentence.text, sentence.tokens[1].lemma
    ((2, 0), 'It works', 'work')
    """

    def __init__(self, lines: Sequence[str], *, line: int = 1, path: Source | None = None) -> None:
        self.lines = tuple(lines)
        self.line = line
        self.path = "" if path is None else name_of(path)

    @property
    def comments(self) -> tuple[str, ...]:
        """The comment lines, "#" included."""
        return tuple(line for line in self.lines if line.startswith("#"))

    def comment(self, key: str) -> str | None:
        """The value of the first comment `# key = value`, or None."""
        for line in self.comments:
            name, equals, value = line[1:].partition("=")
            if equals and name.strip() == key:
                return value.strip()
        return None

    @property
    def sent_id(self) -> str | None:
        """The comment `# sent_id`."""
        return self.comment("sent_id")

    @property
    def text(self) -> str:
        """The running text: the comment `# text`, else put together from the words and SpaceAfter."""
        stated = self.comment("text")
        return self.spell() if stated is None else stated

    @cached_property
    def tokens(self) -> tuple[ConlluToken, ...]:
        """Every line of ten columns in order, multiword tokens and empty nodes included."""
        return tuple(ConlluToken(*columns) for _, columns in self._rows())

    @property
    def words(self) -> tuple[ConlluToken, ...]:
        """The words of the tree."""
        return tuple(token for token in self.tokens if token.is_word)

    @cached_property
    def tree(self) -> DependencyTree:
        """The dependency tree of the words; FileError where the columns hold none."""
        return self.parse()

    def parse(self, heads: Heads = "tree") -> DependencyTree:
        """The tree, or what its heads may be instead; FileError names the wrong line, or the first word's."""
        numbers, *strings = self.columns(partial=heads == "partial")
        try:
            if -1 in numbers:
                _check_partial(numbers)
            elif heads != "any":
                return DependencyTree(numbers, *strings)
            return DependencyTree.loose(numbers, *strings)
        except TreeError as error:
            raise self._error(str(error), self.line_of(1)) from None

    def columns(self, *, partial: bool = False) -> list[Any]:
        """The columns as `DependencyTree` takes them, heads as they are; with `partial`, "_" is an unknown one (-1)."""
        columns = self._plain_columns() or self._checked_columns(partial)
        _, words, lemmas, upos, tags, features, heads, relations, _, _ = columns
        if "_" in lemmas:  # the lemma of an underscore is one
            both = zip(lemmas, words, strict=True)
            lemmas = tuple(["" if lemma == "_" != word else lemma for lemma, word in both])
        strings = (relations, words, _values(tags), _values(upos), lemmas, _values(features))
        # A treebank of millions of words in memory holds its common strings once.
        if len(_SHARED) > 200_000:
            _SHARED.clear()
        numbers = tuple(
            [-1 if head == "_" else int(head) for head in heads] if partial else map(int, heads)
        )
        return [numbers, *(tuple(map(_SHARED.setdefault, own, own)) for own in strings)]

    def _plain_columns(self) -> list[tuple[str, ...]] | None:
        """The columns of a sentence of plain words without mistakes, checked as a whole, which is quick."""
        rows = [line.split("\t") for line in self.lines if line[0] != "#"]
        try:
            columns = list(zip(*rows, strict=True))
        except ValueError:
            return None
        if len(columns) != len(COLUMNS) or columns[0] != _IDS[: len(rows)]:
            return None
        heads, digits = columns[6], "".join(columns[6])
        are_numbers = (
            digits.isascii() and digits.isdigit() and all(heads) and max(map(len, heads)) < 10
        )
        return columns if are_numbers else None

    def _checked_columns(self, partial: bool) -> list[tuple[str, ...]]:
        """The columns of the words line by line, or what is wrong with which line."""
        rows = []
        for number, columns in self._rows():
            if not is_number(columns[0]):
                continue
            if not (is_number(columns[6]) or (partial and columns[6] == "_")):
                raise self._error(
                    f"the HEAD (column 7) is {columns[6]!r:.40}, not a number", number
                )
            rows.append(columns)
        if not rows:
            raise self._error("a sentence without words", self.line)
        return list(zip(*rows, strict=True))

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The ten columns of every line that is not a comment, with its number; FileError where IDs do not count.

        Words count 1, 2, 3 ...; a multiword token 3-4 stands before word 3 and ends with a word of the sentence; an
        empty node 5.1 follows word 5.
        """
        # Words so far; the last word of a multiword token, and its line.
        words, covered, start = 0, 0, self.line
        for number, line in enumerate(self.lines, self.line):
            if line.startswith("#"):
                continue
            columns = line.split("\t")
            if len(columns) != len(COLUMNS):
                found = f"{len(columns)} column" + "s" * (len(columns) != 1)
                hint = "; columns are separated by tabs" if len(columns) == 1 else ""
                raise self._error(f"{found} where CoNLL has 10{hint}", number)
            first, _, last = columns[0].partition("-")
            node, dot, place = columns[0].partition(".")
            following = str(words + 1)
            if columns[0] == following:
                words += 1
            elif first == following and words >= covered and is_number(last) and int(last) > words:
                covered, start = int(last), number
            elif not (dot and node == str(words) and is_number(place)):
                what = f"the ID is {columns[0]!r:.40} where {words + 1} should follow"
                raise self._error(
                    f"{what}; IDs count the words 1, 2, 3 ..., and 3-4 stands before 3", number
                )
            yield number, columns
        if covered > words:
            what = f"a multiword token ends with word {covered}, but the last word is {words}"
            raise self._error(what, start)

    def line_of(self, m: int) -> int:
        """The line of word m in the file."""
        found = (
            number for number, line in enumerate(self.lines, self.line) if line.startswith(f"{m}\t")
        )
        return next(found, self.line)

    def _error(self, what: str, line: int) -> FileError:
        return FileError(what, path=self.path or None, line=line)

    def surface(self) -> Iterator[tuple[ConlluToken, int, int]]:
        """The tokens that the text is made of, each with its first and last word; several of a multiword token."""
        covered = 0
        for token in self.tokens:
            first, dash, last = token.id.partition("-")
            if dash or (token.is_word and int(first) > covered):
                covered = int(last or first)
                yield token, int(first), covered

    def multiword(self) -> list[Multiword]:
        """Return the tokens that stand for several words, with all their columns."""
        tokens = []
        for token in self.tokens:
            first, dash, last = token.id.partition("-")
            if dash:
                columns = token[2:9]
                tokens.append(Multiword(int(first), int(last), token.form, token.misc, columns))
        return tokens

    def spell(self) -> str:
        """The text that the surface tokens make."""
        return "".join(token.form + token.spaces_after for token, _, _ in self.surface()).rstrip()

    def __str__(self) -> str:
        """The lines as they were read, each with its end, and the blank line."""
        return "\n".join(self.lines) + "\n\n"

    def __repr__(self) -> str:
        return f"<ConlluSentence {self.sent_id or 'at line ' + str(self.line)}: {self.text!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConlluSentence) and self.lines == other.lines

    def __hash__(self) -> int:
        return hash(self.lines)


# The IDs of a sentence without multiword tokens and empty nodes, compared as a whole.
_IDS = tuple(map(str, range(1, 1001)))
_SHARED: dict[str, str] = {}


def _values(column: tuple[str, ...]) -> Sequence[str]:
    return ["" if cell == "_" else cell for cell in column] if "_" in column else column


def _check_partial(heads: Sequence[int]) -> None:
    """TreeError unless a tree has the heads that are known."""
    root = heads.index(0 if 0 in heads else -1) + 1
    filled = [h if h >= 0 else 0 if m == root else root for m, h in enumerate(heads, 1)]
    DependencyTree(filled, empty_column(len(heads)))


def is_number(text: str) -> bool:
    """Whether a text is a few digits and nothing else: int() also takes 1_0, +2 and the digits of other scripts."""
    return text.isascii() and text.isdigit() and len(text) < 10


def read_conllu(path: Source) -> Iterator[ConlluSentence]:
    r"""The sentences of a CoNLL-U or CoNLL-X file with all their columns and comments, streamed.

    `path` may be compressed (.gz, .xz) or "-" for standard input. FileError where the file has no sentence.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.conllu"
    >>> _ = path.write_text("# sent_id = a1\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n")
    >>> [(s.sent_id, s.tree.relations) for s in read_conllu(path)]
    [('a1', ('root',))]
    """
    sentence = None
    for sentence in cut_sentences(read_lines(path), path):
        yield sentence
    if sentence is None:
        raise FileError("no sentence in this file", path=name_of(path))


def read_conll(path: Source, *, heads: Heads = "tree") -> Iterator[DependencyTree]:
    """The dependency trees of a CoNLL-U or CoNLL-X file, streamed.

    `path` may be compressed (.gz, .xz) or "-" for standard input. `heads` "any" keeps heads that do not form a tree,
    "partial" reads "_" as a head that is not annotated (-1). Raises FileError with the line of what is wrong.
    """
    for sentence in read_conllu(path):
        yield sentence.parse(heads)


def cut_sentences(lines: Iterable[str], path: Source | None = None) -> Iterator[ConlluSentence]:
    """Cut lines at blank ones; comments with no word after them make no sentence.

    CoNLL-U Plus, which names its columns in the first line (`# global.columns = ID FORM ...`), becomes CoNLL-U:
    columns that it lacks are empty, columns of its own are left out.
    """
    block: list[str] = []
    start = 1
    names: list[str] = []
    for number, line in enumerate(itertools.chain(lines, [""]), 1):
        if line and not line.isspace():
            if number == 1 and line.startswith("# global.columns"):
                names = line.partition("=")[2].split()
                continue
            start = start if block else number
            block.append(
                _ten_columns(line, names, path, number) if names and line[0] != "#" else line
            )
        elif block and not block[-1].startswith("#"):
            yield ConlluSentence(block, line=start, path=path)
            block = []


def _ten_columns(line: str, names: Sequence[str], path: Source | None, number: int) -> str:
    cells = line.split("\t")
    if len(cells) != len(names):
        what = f"{len(cells)} columns where global.columns names {len(names)}"
        raise FileError(what, path=None if path is None else name_of(path), line=number)
    named = dict(zip(names, cells, strict=True))
    return "\t".join(named.get(name, "_") for name in COLUMNS)


def write_conllu(sentences: Iterable[DependencyTree | ConlluSentence], path: Source) -> int:
    """Write trees, or sentences as they were read, to a CoNLL-U file, compressed as the name says; how many."""
    texts = (
        str(one) if isinstance(one, ConlluSentence) else format_conllu(one) for one in sentences
    )
    return write_texts(texts, path)
