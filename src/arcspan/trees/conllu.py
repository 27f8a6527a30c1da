"""Dependency trees as rows of CoNLL-U: ten columns per word, a blank line after each sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from arcspan.trees.constituency import ConstituencyTree
from arcspan.trees.dependency import DependencyTree
from arcspan.trees.immutable import empty_column
from arcspan.trees.words import has_breaks, one_line


class Multiword(NamedTuple):
    """A token of the text that stands for the words first..last: "au" for à and le.

    columns  those between the form and MISC, LEMMA to DEPS; usually empty
    """

    first: int
    last: int
    form: str
    misc: str = ""
    columns: Sequence[str] = ("",) * 7


def format_conllu(
    tree: DependencyTree,
    comments: Iterable[str] = (),
    *,
    forms: Sequence[str] = (),
    multiword: Iterable[Multiword] = (),
    misc: Sequence[str] = (),
) -> str:
    r"""Return a tree as the lines of a CoNLL-U sentence, with the blank line at its end.

    comments   lines before the words, "#" included
    forms      the words as a file writes them, where that differs from the words of the tree
    multiword  tokens that stand for several words
    misc       the last column of each word, such as "SpaceAfter=No"; "" for nothing

    >>> format_conllu(DependencyTree([0], ["root"], ["Go"], lemmas=["go"]), ["# text = Go"])
    '# text = Go\n1\tGo\tgo\t_\t_\t_\t0\troot\t_\t_\n\n'
    """
    lines = list(comments)
    tokens = {token.first: token for token in multiword}
    # A head of -1 is not annotated.
    heads = [str(head) if head >= 0 else "" for head in tree.heads]
    rows = zip(
        forms or tree.words,
        tree.lemmas,
        tree.upos,
        tree.tags,
        tree.features,
        heads,
        tree.relations,
        empty_column(len(tree)),
        misc or empty_column(len(tree)),
        strict=True,
    )
    for m, row in enumerate(rows, 1):
        if token := tokens.get(m):
            lines.append(_row(f"{m}-{token.last}", token.form, *token.columns, token.misc))
        lines.append(_row(str(m), *row))
    return "\n".join(lines) + "\n\n"


def constituency_comment(tree: ConstituencyTree) -> str:
    """Return the comment that holds the constituency tree of a sentence, as Stanza writes it.

    >>> constituency_comment(ConstituencyTree.from_brackets("(TOP (VB Go))"))
    '# constituency = (TOP (VB Go))'
    """
    return f"# constituency = {tree.brackets()}"


# The escapes of SpacesAfter, by the character that each stands for.
_SPACES = {" ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r", "|": "\\p", "\\": "\\\\"}
_ESCAPES = {escape: space for space, escape in _SPACES.items()}


def write_spaces(after: str) -> str:
    r"""Return the entry of MISC for the white space after a token; "" for a single space.

    >>> write_spaces(""), write_spaces(" "), write_spaces(" \n")
    ('SpaceAfter=No', '', 'SpacesAfter=\\s\\n')
    """
    if after == "":
        return "SpaceAfter=No"
    if after == " ":
        return ""
    return "SpacesAfter=" + "".join(_SPACES.get(space, space) for space in after)


def read_spaces(misc: str) -> str:
    """Return the white space after a token, by its MISC column; a space where MISC has no entry."""
    for entry in misc.split("|"):
        key, _, value = entry.partition("=")
        if entry == "SpaceAfter=No":
            return ""
        if key == "SpacesAfter":
            return re.sub(r"\\.", lambda match: _ESCAPES.get(match[0], match[0]), value)
    return " "


def _row(*columns: str) -> str:
    """Return a line of columns, in which white space cannot break the line."""
    # Nearly always no column has a break, and one search is quicker than ten.
    if has_breaks("".join(columns)):
        columns = tuple(map(one_line, columns))
    return "\t".join([column or "_" for column in columns])
