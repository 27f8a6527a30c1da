"""Dependency trees: for every word its head and the relation between them.

Functions on bare heads are here, too: `heads[m - 1]` is the head of word m, 0 for the root, -1 if
unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import sub
from typing import Any

from arcspan.errors import TreeError
from arcspan.trees.immutable import Column, Immutable, empty_column, per_word


class DependencyTree(Immutable):
    """A dependency tree over words 1..n with one root. Immutable, hashable, compared by value.

    `heads[m - 1]` is the head of word m, 0 for the root; the other columns run parallel, with ""
    where a word has none: `relations`; `tags`, language-specific parts of speech (XPOS), and
    `upos`, universal ones; `lemmas`; `features` as CoNLL-U writes them ("Case=Nom|Number=Sing").

    >>> relations = ["nsubj", "root", "det", "amod", "dobj", "advmod"]
    >>> words = "Logic plays a maximal role here".split()
    >>> tree = DependencyTree([2, 0, 5, 5, 2, 2], relations, words)
    >>> tree.root, tree.is_projective
    (2, True)
    """

    __slots__ = _parts = ("heads", "relations", "words", "tags", "upos", "lemmas", "features")

    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...]
    upos: tuple[str, ...]
    lemmas: tuple[str, ...]
    features: tuple[str, ...]

    def __init__(
        self,
        heads: Iterable[int],
        relations: Iterable[str],
        words: Column = None,
        tags: Column = None,
        upos: Column = None,
        lemmas: Column = None,
        features: Column = None,
    ) -> None:
        heads = tuple(map(int, heads))
        columns = per_word(
            len(heads), self._parts[1:], relations, words, tags, upos, lemmas, features
        )
        _check_tree(heads)
        self._fill(heads, *columns)

    def _fill(self, heads: tuple[int, ...], *columns: Any) -> None:
        # All parts but the heads are columns; omitted ones are empty strings, not None.
        empty = [empty_column(len(heads))] * (len(self._parts) - 1 - len(columns))
        super()._fill(heads, *columns, *empty)

    @classmethod
    def loose(cls, heads: Iterable[int], *columns: Iterable[str]) -> DependencyTree:
        """Build from heads that need not form a tree, for scoring, learning and writing.

        The columns are those of the constructor. There may be several roots and cycles; -1 is a
        head that is not annotated. TreeError for heads out of range.

        >>> DependencyTree.loose([2, -1], ["nsubj", ""]).is_tree
        False
        """
        heads = tuple(map(int, heads))
        _check_range(heads, least=-1)
        return cls._trusted(heads, *per_word(len(heads), cls._parts[1:], *columns))

    def with_words(self, words: Iterable[str]) -> DependencyTree:
        """Return the same tree over other words."""
        (column,) = per_word(len(self), ["words"], words)
        return self._replaced(words=column)

    @property
    def root(self) -> int:
        """Return the position of the word whose head is 0 (0 in a tree without words)."""
        return self.heads.index(0) + 1 if self.heads else 0

    @property
    def is_tree(self) -> bool:
        """Return True if the heads form a tree; only `loose` heads may fail to."""
        return is_tree(self.heads)

    @property
    def is_projective(self) -> bool:
        """Return True if all yields are contiguous: no two arcs cross, the root's included."""
        return yields(self.heads) is not None

    def __len__(self) -> int:
        return len(self.heads)

    def __repr__(self) -> str:
        rows = enumerate(zip(self.words[:12], self.relations, self.heads, strict=False), 1)
        arcs = " ".join(f"{word or m}<-{relation}-{head}" for m, (word, relation, head) in rows)
        return f"DependencyTree({len(self)} words: {arcs}{' ...' if len(self) > 12 else ''})"


def is_tree(heads: Sequence[int]) -> bool:
    """Return True if the heads form a tree with one root."""
    try:
        _check_tree(heads)
    except TreeError:
        return False
    return True


def is_projective_tree(heads: Sequence[int]) -> bool:
    """Return True if the heads form a projective tree with one root.

    >>> is_projective_tree([2, 0, 2]), is_projective_tree([2, 1]), is_projective_tree([3, 4, 0, 3])
    (True, False, False)
    """
    return is_tree(heads) and yields(heads) is not None


def _check_tree(heads: Sequence[int]) -> None:
    """Raise TreeError for heads out of range, no or several roots, and cycles."""
    _check_range(heads)
    roots = [str(m) for m, h in enumerate(heads, start=1) if h == 0]
    if len(roots) > 1:
        raise TreeError(
            f"{len(roots)} roots (words {', '.join(roots)}): "
            "a dependency tree has one word with head 0"
        )
    # Follow heads from each word up to a word whose way to the root was checked before.
    visited_from = [0] * (len(heads) + 1)  # the word whose walk met this word first
    visited_from[0] = -1
    for start in range(1, len(heads) + 1):
        m = start
        while not visited_from[m]:
            visited_from[m] = start
            m = heads[m - 1]
        if visited_from[m] == start:
            cycle = [m]
            while heads[cycle[-1] - 1] != m:
                cycle.append(heads[cycle[-1] - 1])
            raise TreeError(f"the heads form a cycle: {' -> '.join(map(str, [*cycle, m]))}")
    # Without a cycle every walk ended at 0, so there is a root.


def _check_range(heads: Sequence[int], least: int = 0) -> None:
    """Raise TreeError for a head below `least` or above the number of words."""
    n = len(heads)
    for m, h in enumerate(heads, start=1):
        if not least <= h <= n:
            raise TreeError(f"word {m} has head {h}, which is not among 0..{n}")


def yields(heads: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Return fenceposts (starts[m], ends[m]) of every word's yield; None if one is not contiguous.

    Index 0 is the whole sentence.

    >>> yields([2, 0, 2])
    ([0, 0, 0, 2], [3, 1, 3, 3])
    >>> yields([3, 4, 0, 3]) is None
    True
    """
    starts, ends, size = extents(heads)
    return (starts, ends) if list(map(sub, ends, starts)) == size else None


def outgoing_words(heads: Sequence[int], i: int, j: int) -> Iterator[int]:
    """Yield the words of the span (i, j) whose heads lie outside it.

    A constituent of compatible trees has one such word, its head word.

    >>> list(outgoing_words([2, 3, 0], 0, 2))
    [2]
    """
    for m in range(i + 1, j + 1):
        if not i < heads[m - 1] <= j:
            yield m


def extents(heads: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Return left and right fencepost and size of every word's yield; index 0 is the sentence."""
    n = len(heads)
    starts = [0, *range(n)]
    ends = [n, *range(1, n + 1)]
    size = [n] + [1] * n
    uncounted = [0] * (n + 1)  # dependents whose own yields are not complete
    for h in heads:
        if h > 0:
            uncounted[h] += 1
    complete = [m for m in range(1, n + 1) if not uncounted[m]]
    # The list grows in the loop: leaves first, then words whose dependents are all counted.
    for m in complete:
        h = heads[m - 1]
        if h > 0:
            size[h] += size[m]
            starts[h] = min(starts[h], starts[m])
            ends[h] = max(ends[h], ends[m])
            uncounted[h] -= 1
            if not uncounted[h]:
                complete.append(h)
    return starts, ends, size
