"""Dependency trees as rows of CoNLL-U: ten columns per word, a blank line after each sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from arcspan.trees.constituency import ConstituencyTree
from arcspan.trees.dependency import DependencyTree
from arcspan.trees.immutable import nothing
from arcspan.trees.words import has_breaks, one_line


class Multiword(NamedTuple):
    """A token of the text that stands for the words first..last: "au" for à and le."""

    first: int
    last: int
    form: str
    misc: str = ""


def format_conllu(
    tree: DependencyTree,
    comments: Iterable[str] = (),
    *,
    multiword: Iterable[Multiword] = (),
    misc: Sequence[str] = (),
) -> str:
    r"""A tree as the lines of a CoNLL-U sentence, with the blank line at its end.

    comments   lines before the words, "#" included
    multiword  tokens that stand for several words
    misc       the last column of each word, such as "SpaceAfter=No"; "" for nothing

    >>> format_conllu(DependencyTree([0], ["root"], ["Go"], lemmas=["go"]), ["# text = Go"])
    '# text = Go\n1\tGo\tgo\t_\t_\t_\t0\troot\t_\t_\n\n'
    """
    lines = list(comments)
    ranges = {token.first: token for token in multiword}
    columns = tree.words, tree.lemmas, tree.upos, tree.tags, tree.features
    rows = zip(*columns, tree.heads, tree.relations, misc or nothing(len(tree)), strict=True)
    for m, (*first, head, relation, rest) in enumerate(rows, 1):
        if token := ranges.get(m):
            lines.append(_row(f"{m}-{token.last}", token.form, *nothing(7), token.misc))
        lines.append(_row(str(m), *first, str(head) if head >= 0 else "", relation, "", rest))
    return "\n".join(lines) + "\n\n"


def constituency_comment(tree: ConstituencyTree) -> str:
    """The comment that holds the constituency tree of a sentence, as Stanza writes it.

    >>> constituency_comment(ConstituencyTree.from_brackets("(TOP (VB Go))"))
    '# constituency = (TOP (VB Go))'
    """
    return f"# constituency = {tree.brackets()}"


_SPACES = {" ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r", "|": "\\p", "\\": "\\\\"}
_ESCAPES = {escape: space for space, escape in _SPACES.items()}


def write_spaces(after: str) -> str:
    r"""The white space after a token as MISC says it; "" for a single space.

    >>> write_spaces(""), write_spaces(" "), write_spaces(" \n")
    ('SpaceAfter=No', '', 'SpacesAfter=\\s\\n')
    """
    if after in ("", " "):
        return "" if after else "SpaceAfter=No"
    return "SpacesAfter=" + "".join(_SPACES.get(space, space) for space in after)


def read_spaces(misc: str) -> str:
    """The white space after a token, by its MISC column: a space where that says nothing of it."""
    for item in misc.split("|"):
        key, _, value = item.partition("=")
        if item == "SpaceAfter=No":
            return ""
        if key == "SpacesAfter":
            return re.sub(r"\\.", lambda match: _ESCAPES.get(match[0], match[0]), value)
    return " "


def _row(*columns: str) -> str:
    # Nearly always there is nothing to mend, and one search is quicker than ten.
    if has_breaks("".join(columns)):
        columns = tuple(map(one_line, columns))
    return "\t".join([column or "_" for column in columns])
