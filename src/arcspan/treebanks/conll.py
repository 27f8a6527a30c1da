"""CoNLL-U and CoNLL-X: ten columns a word, a blank line after each sentence.

Both formats put the form, the two tags, the head and the relation in the same columns, so that one reader
serves both; only CoNLL-U has comments, multiword tokens (1-2) and empty nodes (1.1), which are kept and are
no words of the tree. A sentence keeps the lines as they were read and splits them when asked: writing gives
back what was read, and reading trees alone costs little more than splitting lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, NoReturn

from arcspan.errors import FileError, TreeError
from arcspan.treebanks.streams import Source, name_of, open_output, read_lines
from arcspan.trees import DependencyTree

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")


class Token(NamedTuple):
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
        return self.id.isdecimal()

    @property
    def space_after(self) -> bool:
        """Whether a space follows in the text: unless MISC says SpaceAfter=No.

        >>> Token("1", "mice", misc="SpaceAfter=No").space_after
        False
        """
        return "SpaceAfter=No" not in self.misc.split("|")


class Block(NamedTuple):
    """The lines of one sentence, comments included, and the number of the first."""

    line: int
    lines: tuple[str, ...]


class ConlluSentence:
    r"""One sentence of a CoNLL-U file with everything that stood there.

    >>> sentence = ConlluSentence(["# text = It works", "1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\t_",
    ...     "2\tworks\twork\tVERB\tVBZ\t_\t0\troot\t_\t_"])
    >>> sentence.tree.heads, sentence.text, sentence.tokens[1].lemma
    ((2, 0), 'It works', 'work')
    """

    __slots__ = ("_path", "_tokens", "_tree", "line", "lines")

    def __init__(self, lines: Sequence[str], *, line: int = 1, path: Source | None = None) -> None:
        self.lines = tuple(lines)
        self.line = line
        self._path = path
        self._tokens: tuple[Token, ...] | None = None
        self._tree: DependencyTree | None = None

    @property
    def comments(self) -> tuple[str, ...]:
        """The comment lines, "#" included."""
        return tuple(line for line in self.lines if line.startswith("#"))

    def comment(self, key: str) -> str | None:
        """The value of the first comment `# key = value`, or None."""
        for line in self.lines:
            if line.startswith("#"):
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

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Every line of ten columns in order, multiword tokens and empty nodes included."""
        if self._tokens is None:
            self._tokens = tuple(
                Token(*_columns(line, self._path, number))
                for number, line in enumerate(self.lines, self.line)
                if not line.startswith("#")
            )
        return self._tokens

    @property
    def words(self) -> tuple[Token, ...]:
        """The words of the tree."""
        return tuple(token for token in self.tokens if token.is_word)

    @property
    def multiword(self) -> tuple[Token, ...]:
        """The multiword tokens, such as 3-4 du."""
        return tuple(token for token in self.tokens if "-" in token.id)

    @property
    def empty_nodes(self) -> tuple[Token, ...]:
        """The empty nodes, such as 5.1."""
        return tuple(token for token in self.tokens if "." in token.id)

    @property
    def tree(self) -> DependencyTree:
        """The dependency tree of the words; FileError where the columns hold none."""
        if self._tree is None:
            self._tree = parse_block(Block(self.line, self.lines), self._path)
        return self._tree

    def spell(self) -> str:
        """The text that the surface tokens make: a multiword token stands for the words it covers."""
        pieces, covered = [], 0
        for token in self.tokens:
            first, dash, last = token.id.partition("-")
            if dash and last.isdecimal():
                covered = int(last)
            elif not token.is_word or int(first) <= covered:
                continue
            pieces.append(token.form + (" " if token.space_after else ""))
        return "".join(pieces).rstrip(" ")

    def __str__(self) -> str:
        """The lines as they were read, each with its end, and the blank line."""
        return "\n".join(self.lines) + "\n\n"

    def __repr__(self) -> str:
        return f"<ConlluSentence {self.sent_id or 'at line ' + str(self.line)}: {self.text!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConlluSentence) and self.lines == other.lines

    def __hash__(self) -> int:
        return hash(self.lines)


def read_conllu(path: Source) -> Iterator[ConlluSentence]:
    r"""The sentences of a CoNLL-U file with all their columns and comments, streamed.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.conllu"
    >>> _ = path.write_text("# sent_id = a1\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n")
    >>> [(s.sent_id, s.tree.relations) for s in read_conllu(path)]
    [('a1', ('root',))]
    """
    for block in read_blocks(path):
        yield ConlluSentence(block.lines, line=block.line, path=name_of(path))


def read_conll(path: Source) -> Iterator[DependencyTree]:
    """The dependency trees of a CoNLL-U or CoNLL-X file, streamed.

    `path` may be compressed (.gz, .xz) or "-" for standard input. Raises FileError with the line of what is
    wrong.
    """
    for block in read_blocks(path):
        yield parse_block(block, path)


def read_blocks(path: Source, encoding: str = "utf-8") -> Iterator[Block]:
    """Cut a file at its blank lines; comments with no word after them make no sentence."""
    lines: list[str] = []
    start, number, found = 1, 0, False
    for number, line in enumerate(read_lines(path, encoding), 1):
        if line and not line.isspace():
            if not lines:
                start = number
            lines.append(line)
        elif lines and not lines[-1].startswith("#"):
            found = True
            yield Block(start, tuple(lines))
            lines = []
    if lines and not lines[-1].startswith("#"):
        found = True
        yield Block(start, tuple(lines))
    if not found:
        raise FileError("no sentence in this file", path=name_of(path))


def parse_block(block: Block, path: Source | None = None) -> DependencyTree:
    """The dependency tree of a block; FileError names the wrong line, or the first word's."""
    tree = _parse_plain(block)
    return _parse_any(block, path) if tree is None else tree


# The IDs of a sentence without multiword tokens and empty nodes, compared as a whole.
_IDS = tuple(map(str, range(1, 1001)))


def _parse_plain(block: Block) -> DependencyTree | None:
    """The tree of a block of plain words, column by column, which is quick; None for anything else."""
    rows = [line.split("\t") for line in block.lines if line[0] != "#"]
    try:
        ids, words, _, upos, tags, _, heads, relations, _, _ = zip(*rows, strict=True)
        if ids != _IDS[: len(ids)]:
            return None
        if "_" in upos:
            upos = tuple(["" if tag == "_" else tag for tag in upos])
        if "_" in tags:
            tags = tuple(["" if tag == "_" else tag for tag in tags])
        return DependencyTree(map(int, heads), relations, words, tags, upos)
    except ValueError:  # TreeError too: the careful reader says which line
        return None


def _parse_any(block: Block, path: Source | None) -> DependencyTree:
    """The tree of a block line by line, or what is wrong with which line."""
    heads: list[int] = []
    words, relations, tags, upos = [], [], [], []
    first = 0  # the line of the first word
    for offset, line in enumerate(block.lines):
        if line[0] == "#":
            continue
        columns = line.split("\t")
        try:
            number, form, _, coarse, fine, _, head, relation, _, _ = columns
            if int(number) != len(heads) + 1:
                raise ValueError
            heads.append(int(head))
        except ValueError:
            if _is_skipped(columns):
                continue
            _complain(columns, len(heads), path, block.line + offset)
        first = first or block.line + offset
        words.append(form)
        relations.append(relation)
        upos.append("" if coarse == "_" else coarse)
        tags.append("" if fine == "_" else fine)
    try:
        return DependencyTree(heads, relations, words, tags, upos)
    except TreeError as error:
        raise FileError(str(error), path=None if path is None else name_of(path), line=first) from None


def _is_skipped(columns: list[str]) -> bool:
    """Whether a line is a multiword token or an empty node."""
    if len(columns) != len(COLUMNS):
        return False
    for mark in "-.":
        first, found, second = columns[0].partition(mark)
        if found:
            return first.isdecimal() and second.isdecimal()
    return False


def _complain(columns: list[str], words: int, path: Source | None, line: int) -> NoReturn:
    """Raise what is wrong with a line that is no word, comment, multiword token or empty node."""
    _columns("\t".join(columns), path, line)
    if columns[0] != str(words + 1):
        what = f"the ID is {columns[0]!r} where {words + 1} should follow; IDs count the words 1, 2, 3 ..."
    else:
        what = f"the HEAD (column 7) is {columns[6]!r}, not a number"
    raise FileError(what, path=None if path is None else name_of(path), line=line)


def _columns(line: str, path: Source | None, number: int) -> list[str]:
    columns = line.split("\t")
    if len(columns) != len(COLUMNS):
        found = f"{len(columns)} column" + "s" * (len(columns) != 1)
        hint = "; columns are separated by tabs" if len(columns) == 1 else ""
        raise FileError(
            f"{found} where CoNLL has 10{hint}", path=None if path is None else name_of(path), line=number
        )
    return columns


def format_conllu(tree: DependencyTree, comments: Iterable[str] = ()) -> str:
    r"""A tree as the lines of a CoNLL-U sentence, with the blank line at its end.

    >>> from arcspan.trees import DependencyTree
    >>> format_conllu(DependencyTree([0], ["root"], ["Go"]), ["# text = Go"])
    '# text = Go\n1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\n\n'
    """
    lines = list(comments)
    for m, (word, upos, tag, head, relation) in enumerate(
        zip(tree.words, tree.upos, tree.tags, tree.heads, tree.relations, strict=True), 1
    ):
        columns = (str(m), word, "_", upos or "_", tag or "_", "_", str(head), relation or "_", "_", "_")
        line = "\t".join(columns)
        if line.count("\t") != 9 or "\n" in line or "\r" in line:
            raise TreeError(
                f"word {m}, {word!r}: a tab or a line end in a word, tag or relation has no place in CoNLL"
            )
        lines.append(line)
    return "\n".join(lines) + "\n\n"


def format_conllx(sentence: DependencyTree | ConlluSentence) -> str:
    """A tree as the lines of a CoNLL-X sentence: no comments, multiword tokens, empty nodes or spaces."""
    if isinstance(sentence, ConlluSentence):
        # PHEAD and PDEPREL have nothing to do with DEPS and MISC.
        rows = ["\t".join((*token[:8], "_", "_")) for token in sentence.words]
    else:
        rows = format_conllu(sentence).splitlines()[:-1]
    return "\n".join(row.replace(" ", "_") for row in rows) + "\n\n"


def write_conllu(sentences: Iterable[DependencyTree | ConlluSentence], path: Source) -> int:
    """Write trees, or sentences as they were read, to a CoNLL-U file; how many."""
    count = 0
    with open_output(path) as file:
        for sentence in sentences:
            file.write(str(sentence) if isinstance(sentence, ConlluSentence) else format_conllu(sentence))
            count += 1
    return count


def write_conllx(sentences: Iterable[DependencyTree | ConlluSentence], path: Source) -> int:
    """Write trees to a CoNLL-X file, compressed as the name says; how many."""
    count = 0
    with open_output(path) as file:
        for sentence in sentences:
            file.write(format_conllx(sentence))
            count += 1
    return count
