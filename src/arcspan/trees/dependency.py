"""Dependency trees: for every word its head and the relation between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from arcspan.errors import TreeError


class DependencyTree:
    """A dependency tree over words 1..n with one root. Immutable, hashable, compared by value.

    `heads[m - 1]` is the head of word m, 0 for the root; `relations` runs parallel. `tags` are
    language-specific parts of speech (XPOS), `upos` universal ones, both "" where there are none.

    >>> tree = DependencyTree([2, 0, 5, 5, 2, 2], ["nsubj", "root", "det", "amod", "dobj", "advmod"],
    ...                       "Logic plays a maximal role here".split())
    >>> tree.root, tree.is_projective
    (2, True)
    """

    __slots__ = ("_projective", "heads", "relations", "tags", "upos", "words")

    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...]
    upos: tuple[str, ...]
    _projective: bool | None

    def __init__(
        self,
        heads: Iterable[int],
        relations: Iterable[str],
        words: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        upos: Iterable[str] | None = None,
    ) -> None:
        heads = tuple(map(int, heads))
        n = len(heads)
        relations = tuple(relations)
        none = ("",) * n
        words = none if words is None else tuple(words)
        tags = none if tags is None else tuple(tags)
        upos = none if upos is None else tuple(upos)
        if not len(relations) == len(words) == len(tags) == len(upos) == n:
            raise TreeError(
                f"{n} heads, but {len(relations)} relations, {len(words)} words, {len(tags)} tags and "
                f"{len(upos)} universal tags: there must be one a word"
            )
        _check_tree(heads)
        self._fill(heads, relations, words, tags, upos)

    def _fill(
        self,
        heads: tuple[int, ...],
        relations: tuple[str, ...],
        words: tuple[str, ...],
        tags: tuple[str, ...],
        upos: tuple[str, ...],
    ) -> None:
        fill = object.__setattr__
        fill(self, "heads", heads)
        fill(self, "relations", relations)
        fill(self, "words", words)
        fill(self, "tags", tags)
        fill(self, "upos", upos)
        fill(self, "_projective", None)

    @classmethod
    def _trusted(
        cls,
        heads: tuple[int, ...],
        relations: tuple[str, ...],
        words: tuple[str, ...],
        tags: tuple[str, ...],
        upos: tuple[str, ...],
    ) -> DependencyTree:
        """Build without checks, from parts that this package made itself."""
        tree = cls.__new__(cls)
        tree._fill(heads, relations, words, tags, upos)
        return tree

    @property
    def root(self) -> int:
        """The position of the word whose head is 0 (0 in a tree without words)."""
        return self.heads.index(0) + 1 if self.heads else 0

    @property
    def is_projective(self) -> bool:
        """Whether every word's yield is contiguous, so that no two arcs cross (the root's arc included)."""
        if self._projective is None:
            object.__setattr__(self, "_projective", yields(self.heads) is not None)
        return bool(self._projective)

    def __len__(self) -> int:
        """The number of words."""
        return len(self.heads)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DependencyTree):
            return NotImplemented
        return (
            self.heads == other.heads
            and self.relations == other.relations
            and self.words == other.words
            and self.tags == other.tags
            and self.upos == other.upos
        )

    def __hash__(self) -> int:
        return hash((self.heads, self.relations, self.words))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a DependencyTree does not change; make a new one")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return DependencyTree._trusted, (self.heads, self.relations, self.words, self.tags, self.upos)

    def __repr__(self) -> str:
        shown = 12
        arcs = " ".join(
            f"{word or m}<-{relation}-{head}"
            for m, (word, relation, head) in enumerate(
                zip(self.words[:shown], self.relations, self.heads, strict=False), start=1
            )
        )
        return f"DependencyTree({len(self)} words: {arcs}{' ...' if len(self) > shown else ''})"


def _check_tree(heads: Sequence[int]) -> None:
    """Refuse heads out of range, no or several roots, and cycles."""
    n = len(heads)
    if not n:
        return
    if min(heads) < 0 or max(heads) > n:
        m = next(m for m, h in enumerate(heads, start=1) if not 0 <= h <= n)
        raise TreeError(f"word {m} has head {heads[m - 1]}, which is not among 0..{n}")
    roots = heads.count(0)
    if roots > 1:
        places = ", ".join(str(m) for m, h in enumerate(heads, start=1) if h == 0)
        raise TreeError(f"{roots} roots (words {places}): a dependency tree has one word with head 0")
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
            raise TreeError(f"the heads run in a cycle: {' -> '.join(map(str, [*cycle, m]))}")
    # Without a cycle every walk ended at 0, so there is a root.


def yields(heads: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Fenceposts (left[m], right[m]) of every word's yield, index 0 unused; None when one is not contiguous.

    >>> yields([2, 0, 2])
    ([0, 0, 0, 2], [3, 1, 3, 3])
    >>> yields([3, 4, 0, 3]) is None
    True
    """
    left, right, size = extents(heads)
    for i, j, words in zip(left, right, size, strict=True):
        if j - i != words:
            return None
    return left, right


def extents(heads: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Left and right fencepost of every word's yield, and its number of words; index 0 is the sentence."""
    n = len(heads)
    left = list(range(-1, n))
    left[0] = 0
    right = list(range(n + 1))
    right[0] = n
    size = [1] * (n + 1)
    size[0] = n
    waiting = [0] * (n + 1)  # dependents not yet counted
    for h in heads:
        waiting[h] += 1
    ready = [m for m in range(1, n + 1) if not waiting[m]]
    for m in ready:  # grows while it is read: leaves first, then words whose dependents are all counted
        h = heads[m - 1]
        if h:
            size[h] += size[m]
            if left[m] < left[h]:
                left[h] = left[m]
            if right[m] > right[h]:
                right[h] = right[m]
            waiting[h] -= 1
            if not waiting[h]:
                ready.append(h)
    return left, right, size
