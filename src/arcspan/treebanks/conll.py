"""CoNLL-U, CoNLL-U Plus and CoNLL-X: a line of columns per word, a blank line after each sentence.

All put the form, the two tags, the head and the relation in the same columns, so that one reader
serves them; only CoNLL-U has comments, multiword tokens (1-2) and empty nodes (1.1), which are kept
but are not words of the tree. A sentence keeps the lines as they were read and splits them on
demand: writing gives back what was read, and reading trees alone costs little more than splitting
lines. How a tree becomes lines is decided in `trees.conllu`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from arcspan.errors import FileError, TreeError
from arcspan.treebanks.streams import PathLike, name_of, read_lines, write_texts
from arcspan.trees import DependencyTree
from arcspan.trees.conllu import Multiword, format_conllu, read_spaces
from arcspan.trees.immutable import empty_column

Heads = Literal["tree", "any", "partial"]
"""Accepted heads: "tree", those of a tree; "any", also several roots or cycles; "partial", those of
a tree with "_" for heads that are not annotated."""

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")

# The IDs of a sentence without multiword tokens and empty nodes, compared as a whole.
_IDS = tuple(map(str, range(1, 1001)))
# A treebank of millions of words in memory holds its common strings once.
_SHARED: dict[str, str] = {}


class ConlluToken(NamedTuple):
    """A line of ten columns, as written ("_" for an empty column).

    In CoNLL-X the columns are called ID, FORM, LEMMA, CPOSTAG, POSTAG, FEATS, HEAD, DEPREL, PHEAD,
    PDEPREL.
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
        """Return True for a word of the tree, False for a multiword token or an empty node."""
        return is_number(self.id)

    @property
    def spaces_after(self) -> str:
        r"""Return the white space after it, by SpaceAfter=No or SpacesAfter=... in MISC.

        >>> ConlluToken("1", "mice", misc=r"SpacesAfter=\s\n").spaces_after
        ' \n'
        """
        return read_spaces(self.misc)

    @property
    def space_after(self) -> bool:
        """Return True if white space follows in the text."""
        return self.spaces_after != ""


class ConlluSentence:
    r"""A sentence of a CoNLL-U file with all of its lines.

    lines  its lines, comments included
    line   the number of the first in the file
    path   the file, for errors

    >>> sentence = ConlluSentence(["# text = It works", "1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\t_",
    ...     "2\tworks\twork\tVERB\tVBZ\t_\t0\troot\t_\t_"])
    >>> sentence.tree.heads, sentence.text, sentence.tokens[1].lemma
    ((2, 0), 'It works', 'work')
    """

    def __init__(
        self, lines: Sequence[str], *, line: int = 1, path: PathLike | None = None
    ) -> None:
        self.lines = tuple(lines)
        self.line = line
        self.path = "" if path is None else name_of(path)

    @property
    def comments(self) -> tuple[str, ...]:
        """Return the comment lines, "#" included."""
        return tuple([line for line in self.lines if line.startswith("#")])

    def comment(self, key: str) -> str | None:
        """Return the value of the first comment `# key = value`, or None."""
        for line in self.comments:
            name, equals, value = line[1:].partition("=")
            if equals and name.strip() == key:
                return value.strip()
        return None

    @property
    def temperature(self) -> float:
        """Return the number of `# temperature`, by which `# score` is divided; 1 without one above
        0.
        """
        try:
            temperature = float(self.comment("temperature") or "")
        except ValueError:
            return 1.0
        return temperature if 0 < temperature < math.inf else 1.0

    @property
    def sent_id(self) -> str | None:
        """Return the value of the comment `# sent_id`."""
        return self.comment("sent_id")

    @property
    def text(self) -> str:
        """Return the running text: the comment `# text`, else what `spell` makes of the tokens."""
        text = self.comment("text")
        return self.spell() if text is None else text

    @cached_property
    def tokens(self) -> tuple[ConlluToken, ...]:
        """Return every line of ten columns in order, multiword tokens and empty nodes included."""
        return tuple(ConlluToken(*columns) for _, columns in self._rows())

    @property
    def words(self) -> tuple[ConlluToken, ...]:
        """Return the words of the tree."""
        return tuple(token for token in self.tokens if token.is_word)

    def multiword(self) -> list[Multiword]:
        """Return the tokens that stand for several words, with all their columns."""
        tokens = []
        for token, first, last in self.surface():
            if not token.is_word:
                tokens.append(Multiword(first, last, token.form, token.misc, token[2:9]))
        return tokens

    @cached_property
    def tree(self) -> DependencyTree:
        """Return the dependency tree of the words; FileError if the heads form none."""
        return self.parse()

    def parse(self, heads: Heads = "tree") -> DependencyTree:
        """Return the tree, or accept other heads; FileError names the wrong line."""
        numbers, *strings = self.columns(partial=heads == "partial")
        try:
            # Heads that are not annotated can be of a tree, but make none.
            if -1 in numbers:
                _check_partial(numbers)
            elif heads != "any":
                return DependencyTree(numbers, *strings)
            return DependencyTree.loose(numbers, *strings)
        except TreeError as error:
            raise self._error(str(error), self.line_of(1)) from None

    def columns(self, *, partial: bool = False) -> list[Any]:
        """Return the columns in the order of `DependencyTree`; with `partial`, a head "_" is -1."""
        columns = self._plain_columns() or self._checked_columns(partial)
        _, words, lemmas, upos, tags, features, heads, relations, _, _ = columns
        if "_" in lemmas:
            # The lemma of an underscore is an underscore.
            pairs = zip(lemmas, words, strict=True)
            lemmas = tuple(["" if lemma == "_" != word else lemma for lemma, word in pairs])
        strings = (relations, words, _values(tags), _values(upos), lemmas, _values(features))
        # The words of an endless stream must not fill the memory.
        if len(_SHARED) > 200_000:
            _SHARED.clear()
        numbers = tuple([-1 if head == "_" else int(head) for head in heads])
        return [numbers, *(tuple(map(_SHARED.setdefault, column, column)) for column in strings)]

    def _plain_columns(self) -> list[tuple[str, ...]] | None:
        """Return the columns of plain words without mistakes; None for any other sentence.

        Checking them as a whole is quick.
        """
        # No line is empty: `cut_sentences` cuts at empty ones.
        rows = [line.split("\t") for line in self.lines if line[0] != "#"]
        try:
            columns = list(zip(*rows, strict=True))
        except ValueError:
            return None
        # Longer sentences than `_IDS` are checked line by line.
        if len(columns) != len(COLUMNS) or columns[0] != _IDS[: len(rows)]:
            return None
        heads = columns[6]
        digits = "".join(heads)
        are_digits = digits.isascii() and digits.isdigit()
        return columns if are_digits and all(heads) and max(map(len, heads)) < 10 else None

    def _checked_columns(self, partial: bool) -> list[tuple[str, ...]]:
        """Return the columns of the words; FileError for the first line with a mistake."""
        rows = []
        for number, columns in self._rows():
            if not is_number(columns[0]):
                continue
            head = columns[6]
            if not (is_number(head) or (partial and head == "_")):
                raise self._error(f"the HEAD (column 7) is {head!r:.40}, not a number", number)
            rows.append(columns)
        if not rows:
            raise self._error("a sentence without words", self.line)
        return list(zip(*rows, strict=True))

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield number and columns of every line that is not a comment; FileError for wrong IDs.

        Words count 1, 2, 3 ...; a multiword token 3-4 stands before word 3 and ends with a word of
        the sentence; an empty node 5.1 follows word 5.
        """
        words = 0
        # The last word of the last multiword token, and the token's line.
        covered = 0
        covering_line = self.line
        for number, line in enumerate(self.lines, self.line):
            if line.startswith("#"):
                continue
            columns = line.split("\t")
            if len(columns) == 1:
                hint = "columns are separated by tabs"
                raise self._error(f"1 column where CoNLL has 10; {hint}", number)
            if len(columns) != len(COLUMNS):
                raise self._error(f"{len(columns)} columns where CoNLL has 10", number)
            token_id = columns[0]
            first, _, last = token_id.partition("-")
            node, dot, node_number = token_id.partition(".")
            next_id = str(words + 1)
            if token_id == next_id:
                words += 1
            elif first == next_id and words >= covered and is_number(last) and int(last) > words:
                covered = int(last)
                covering_line = number
            elif not (dot and node == str(words) and is_number(node_number)):
                raise self._error(
                    f"the ID is {token_id!r:.40} where {next_id} should follow; "
                    "IDs count the words 1, 2, 3 ..., and 3-4 stands before 3",
                    number,
                )
            yield number, columns
        if covered > words:
            message = f"a multiword token ends with word {covered}, but the last word is {words}"
            raise self._error(message, covering_line)

    def line_of(self, m: int) -> int:
        """Return the line of word m in the file."""
        for number, line in enumerate(self.lines, self.line):
            if line.startswith(f"{m}\t"):
                return number
        return self.line

    def _error(self, message: str, line: int) -> FileError:
        return FileError(message, path=self.path or None, line=line)

    def surface(self) -> Iterator[tuple[ConlluToken, int, int]]:
        """Yield the tokens that the text is made of, each with its first and last word."""
        covered = 0
        for token in self.tokens:
            first, dash, last = token.id.partition("-")
            # Words inside a multiword token are not in the text.
            if dash or (token.is_word and int(first) > covered):
                covered = int(last or first)
                yield token, int(first), covered

    def spell(self) -> str:
        """Return the text that the surface tokens make."""
        return "".join(token.form + token.spaces_after for token, _, _ in self.surface()).rstrip()

    def __str__(self) -> str:
        """Return the lines as they were read, each with its end, and the blank line."""
        return "\n".join(self.lines) + "\n\n"

    def __repr__(self) -> str:
        return f"<ConlluSentence {self.sent_id or f'at line {self.line}'}: {self.text!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConlluSentence) and self.lines == other.lines

    def __hash__(self) -> int:
        return hash(self.lines)


def _values(column: tuple[str, ...]) -> Sequence[str]:
    """Return a column with "" for "_"."""
    return ["" if cell == "_" else cell for cell in column] if "_" in column else column


def _check_partial(heads: Sequence[int]) -> None:
    """Raise TreeError unless some tree has the annotated heads."""
    root = heads.index(0 if 0 in heads else -1) + 1
    # Attached to the root, words without heads cannot make a cycle.
    completed = [root if h < 0 else h for h in heads]
    completed[root - 1] = 0
    DependencyTree(completed, empty_column(len(heads)))


def is_number(text: str) -> bool:
    """Return True for a few digits: int() also takes 1_0, +2 and the digits of other scripts."""
    return text.isascii() and text.isdigit() and len(text) < 10


def read_conllu(path: PathLike) -> Iterator[ConlluSentence]:
    r"""Yield the sentences of a CoNLL-U or CoNLL-X file with all their columns and comments.

    `path` may be compressed (.gz, .xz) or "-" for standard input. FileError for a file without
    sentences.

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


def read_conll(path: PathLike, *, heads: Heads = "tree") -> Iterator[DependencyTree]:
    """Yield the dependency trees of a CoNLL-U or CoNLL-X file.

    `path` may be compressed (.gz, .xz) or "-" for standard input. `heads` "any" keeps heads that do
    not form a tree, "partial" reads "_" as a head that is not annotated (-1). FileError names the
    line of a mistake.
    """
    for sentence in read_conllu(path):
        yield sentence.parse(heads)


def cut_sentences(lines: Iterable[str], path: PathLike | None = None) -> Iterator[ConlluSentence]:
    """Cut lines at blank ones; comments with no word after them make no sentence.

    CoNLL-U Plus, which names its columns in the first line (`# global.columns = ID FORM ...`),
    becomes CoNLL-U: columns that it lacks are empty, columns that CoNLL-U lacks are left out.
    """
    block: list[str] = []
    start = 1
    names: list[str] = []
    for number, line in enumerate(itertools.chain(lines, [""]), 1):
        if line and not line.isspace():
            if number == 1 and line.startswith("# global.columns"):
                names = line.partition("=")[2].split()
                continue
            if not block:
                start = number
            if names and line[0] != "#":
                line = _ten_columns(line, names, path, number)
            block.append(line)
        elif block and not block[-1].startswith("#"):
            yield ConlluSentence(block, line=start, path=path)
            block = []


def _ten_columns(line: str, names: Sequence[str], path: PathLike | None, number: int) -> str:
    """Convert a line of CoNLL-U Plus to CoNLL-U."""
    cells = line.split("\t")
    if len(cells) != len(names):
        message = f"{len(cells)} columns where global.columns names {len(names)}"
        raise FileError(message, path=None if path is None else name_of(path), line=number)
    cell_of = dict(zip(names, cells, strict=True))
    return "\t".join([cell_of.get(name, "_") for name in COLUMNS])


def write_conllu(sentences: Iterable[DependencyTree | ConlluSentence], path: PathLike) -> int:
    """Write trees, or sentences as they were read, to a CoNLL-U file; return their number."""

    def texts() -> Iterator[str]:
        for sentence in sentences:
            if isinstance(sentence, ConlluSentence):
                yield str(sentence)
            else:
                yield format_conllu(sentence)

    return write_texts(texts(), path)
