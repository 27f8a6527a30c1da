"""Dependency trees: for every word its head and the relation between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import sub
from typing import Any

from arcspan.errors import TreeError
from arcspan.trees.immutable import Immutable, nothing, per_word


class DependencyTree(Immutable):
    """A dependency tree over words 1..n with one root. Immutable, hashable, compared by value.

    `heads[m - 1]` is the head of word m, 0 for the root; the other columns run parallel, with "" where a word has
    none: `relations`; `tags`, language-specific parts of speech (XPOS), and `upos`, universal ones; `lemmas`;
    `features` as CoNLL-U writes them ("Case=Nom|Number=Sing").

    >>> tree = DependencyTree([2, 0, 5, 5, 2, 2], ["nsubj", "root", "det", "amod", "dobj", "advmod"],
    ...                       "Logic plays a maximal role here".split())
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
        words: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        upos: Iterable[str] | None = None,
        lemmas: Iterable[str] | None = None,
        features: Iterable[str] | None = None,
    ) -> None:
        heads = tuple(map(int, heads))
        columns = per_word(
            len(heads), self._parts[1:], relations, words, tags, upos, lemmas, features
        )
        _check_tree(heads)
        self._fill(heads, *columns)

    def _fill(self, heads: tuple[int, ...], *columns: Any) -> None:
        missing = len(self._parts) - 1 - len(columns)
        super()._fill(heads, *columns, *[nothing(len(heads))] * missing)

    @classmethod
    def loose(cls, heads: Iterable[int], *columns: Iterable[str]) -> DependencyTree:
        """Heads that need not form a tree, for scoring, learning and writing; columns as the constructor takes them.

        There may be several roots and cycles; -1 is a head that is not annotated. TreeError for heads out of range.

        >>> DependencyTree.loose([2, -1], ["nsubj", ""]).is_tree
        False
        """
        heads = tuple(map(int, heads))
        _check_range(heads, least=-1)
        return cls._trusted(heads, *per_word(len(heads), cls._parts[1:], *columns))

    def with_words(self, words: Iterable[str]) -> DependencyTree:
        """The same tree over other words."""
        (words,) = per_word(len(self), ["words"], words)
        return self._trusted(self.heads, self.relations, words, *self._value()[3:])

    @property
    def root(self) -> int:
        """The position of the word whose head is 0 (0 in a tree without words)."""
        return self.heads.index(0) + 1 if self.heads else 0

    @property
    def is_tree(self) -> bool:
        """Whether the heads form a tree, which only `loose` ones may fail to do."""
        return is_tree(self.heads)

    @property
    def is_projective(self) -> bool:
        """Whether every word's yield is contiguous, so that no two arcs cross (the root's arc included)."""
        return yields(self.heads) is not None

    def __len__(self) -> int:
        return len(self.heads)

    def __repr__(self) -> str:
        rows = enumerate(zip(self.words[:12], self.relations, self.heads, strict=False), 1)
        arcs = " ".join(f"{word or m}<-{relation}-{head}" for m, (word, relation, head) in rows)
        return f"DependencyTree({len(self)} words: {arcs}{' ...' if len(self) > 12 else ''})"


def is_tree(heads: Sequence[int]) -> bool:
    """Whether heads form a tree with one root."""
    try:
        _check_tree(heads)
    except TreeError:
        return False
    return True


def is_projective_tree(heads: Sequence[int]) -> bool:
    """Whether heads form a tree with one root, and a projective one.

    >>> is_projective_tree([2, 0, 2]), is_projective_tree([2, 1]), is_projective_tree([3, 4, 0, 3])
    (True, False, False)
    """
    return is_tree(heads) and yields(heads) is not None


def _check_tree(heads: Sequence[int]) -> None:
    """Refuse heads out of range, no or several roots, and cycles."""
    n = len(heads)
    if not n:
        return
    _check_range(heads)
    roots = heads.count(0)
    if roots > 1:
        places = ", ".join(str(m) for m, h in enumerate(heads, start=1) if h == 0)
        raise TreeError(
            f"{roots} roots (words {places}): a dependency tree has one word with head 0"
        )
    # Follow heads from each word up to one already known to reach the root.
    seen = [0] * (n + 1)  # by which word's walk a word was first met
    seen[0] = -1
    for start in range(1, n + 1):
        m = start
        while not seen[m]:
            seen[m] = start
            m = heads[m - 1]
        if seen[m] == start:
            cycle = [m]
            while heads[cycle[-1] - 1] != m:
                cycle.append(heads[cycle[-1] - 1])
            raise TreeError(f"the heads form a cycle: {' -> '.join(map(str, [*cycle, m]))}")
    # Without a cycle every walk ended at 0, so there is a root.


def _check_range(heads: Sequence[int], least: int = 0) -> None:
    n = len(heads)
    if n and (min(heads) < least or max(heads) > n):
        m = next(m for m, h in enumerate(heads, start=1) if not least <= h <= n)
        raise TreeError(f"word {m} has head {heads[m - 1]}, which is not among 0..{n}")


def yields(heads: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Fenceposts (left[m], right[m]) of every word's yield, index 0 unused; None when one is not contiguous.

    >>> yields([2, 0, 2])
    ([0, 0, 0, 2], [3, 1, 3, 3])
    >>> yields([3, 4, 0, 3]) is None
    True
    """
    left, right, size = extents(heads)
    return (left, right) if list(map(sub, right, left)) == size else None


def outgoing_words(heads: Sequence[int], i: int, j: int) -> Iterator[int]:
    """Yield the words of the span (i, j) whose heads lie outside it; a constituent's head is the only one.

    >>> list(outgoing_words([2, 3, 0], 0, 2))
    [2]
    """
    for m in range(i + 1, j + 1):
        if not i < heads[m - 1] <= j:
            yield m


def extents(heads: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Left and right fencepost of every word's yield, and its number of words; index 0 is the sentence."""
    n = len(heads)
    left, right, size = [0, *range(n)], [n, *range(1, n + 1)], [n] + [1] * n
    waiting = [0] * (n + 1)  # dependents not yet counted
    for h in heads:
        if h > 0:
            waiting[h] += 1
    ready = [m for m in range(1, n + 1) if not waiting[m]]
    for (
        m
    ) in ready:  # grows while it is read: leaves first, then words whose dependents are all counted
        h = heads[m - 1]
        if h > 0:
            size[h] += size[m]
            if left[m] < left[h]:
                left[h] = left[m]
            if right[m] > right[h]:
                right[h] = right[m]
            waiting[h] -= 1
            if not waiting[h]:
                ready.append(h)
    return left, right, size
