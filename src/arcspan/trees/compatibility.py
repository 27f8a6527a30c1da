"""Compatibility of a constituency tree and a dependency tree of one sentence.

They are compatible when the dependency tree is projective and each constituent has exactly one word
whose head lies outside it, its head word, to which every outside word that attaches into the
constituent attaches. In a projective tree the yields of words are spans, and this has a simple
reading: the constituent (i, j) is its head word r together with the whole yields of some of r's
nearest dependents on either side. So i is the left fencepost of r itself or of the yield of a left
dependent of r, and j likewise on the right. That makes the test a few lookups per constituent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arcspan.trees.bracketed_text import LabelledSpan
from arcspan.trees.constituency import ConstituencyTree
from arcspan.trees.dependency import DependencyTree, extents, outgoing_words, yields


@dataclass(frozen=True)
class Incompatibility:
    """A reason why two trees are not compatible, with the words to blame.

    `kind` is one of
    "length"      the trees have different numbers of words;
    "crossing"    the dependency tree is not projective: `words` are a word and one that interrupts
                  its yield;
    "heads"       several words of the constituent `span` have heads outside it: `words` are those;
    "attachment"  a word outside `span` attaches to a word inside that is not its head: `words` are
                  these two.
    """

    kind: str
    span: LabelledSpan | None
    words: tuple[int, ...]
    message: str

    def __str__(self) -> str:
        return self.message


def head_words(
    spans: Iterable[tuple[int, int]],
    heads: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
) -> list[int]:
    """Return the head word of every span, 0 for an incompatible one.

    `starts` and `ends` are the fenceposts of the words' yields.
    """
    n = len(heads)
    # Several yields may begin (end) at a fencepost: the head of the topmost of their words.
    head_at_left = [0] * (n + 1)
    head_at_right = [0] * (n + 1)
    word_of_yield: dict[tuple[int, int], int] = {}
    for m, h in enumerate(heads, start=1):
        i = starts[m]
        j = ends[m]
        word_of_yield[i, j] = m
        if not h or starts[h] != i:
            head_at_left[i] = h
        if not h or ends[h] != j:
            head_at_right[j] = h
    span_heads = []
    for i, j in spans:
        r = word_of_yield.get((i, j), 0)
        if not r:
            for candidate in (head_at_right[j], head_at_left[i], i + 1, j):
                fits_left = candidate in (i + 1, head_at_left[i]) or starts[candidate] == i
                fits_right = candidate in (j, head_at_right[j]) or ends[candidate] == j
                if i < candidate <= j and fits_left and fits_right:
                    r = candidate
                    break
        span_heads.append(r)
    return span_heads


def compatible(c: ConstituencyTree, d: DependencyTree) -> bool:
    """Return True if the trees are compatible, which a non-projective dependency tree never is.

    >>> c = ConstituencyTree.from_brackets("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> compatible(c, DependencyTree([2, 3, 0], ["det", "nsubj", "root"]))
    True
    """
    if len(c) != len(d):
        return False
    borders = yields(d.heads)
    return borders is not None and all(head_words(c.chains(), d.heads, *borders))


def why_incompatible(c: ConstituencyTree, d: DependencyTree) -> Incompatibility | None:
    """Name the constituent and the words that make the trees incompatible; None if none do.

    >>> c = ConstituencyTree.from_brackets("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> print(why_incompatible(c, DependencyTree([3, 3, 0], ["det", "nsubj", "root"])))
    constituent NP (0, 2) has more than one word with its head outside: 'a' (1), 'dog' (2)
    """
    if len(c) != len(d):
        message = f"the constituency tree has {len(c)} words, the dependency tree {len(d)}"
        return Incompatibility("length", None, (), message)
    borders = yields(d.heads)
    if borders is None:
        return _crossing(c, d)
    chains = c.chains()
    span_heads = head_words(chains, d.heads, *borders)
    # Pre-order backwards: the smallest constituents first, since the larger ones may only suffer
    # from them.
    for (i, j), head in zip(reversed(chains), reversed(span_heads), strict=True):
        if not head:
            return _clash(c, d, (i, j, chains[i, j][0]))
    return None


def _quote(c: ConstituencyTree, *positions: int) -> str:
    return ", ".join(f"{c.words[m - 1]!r} ({m})" for m in positions)


def _crossing(c: ConstituencyTree, d: DependencyTree) -> Incompatibility:
    """Name a word whose yield is interrupted, and the first word that interrupts it."""
    starts, ends, size = extents(d.heads)
    broken = [m for m in range(1, len(d) + 1) if ends[m] - starts[m] != size[m]]
    h = min(broken, key=lambda m: ends[m] - starts[m])

    def depends(m: int) -> bool:
        while m and m != h:
            m = d.heads[m - 1]
        return m == h

    outsider = next(m for m in range(starts[h] + 1, ends[h] + 1) if not depends(m))
    message = (
        f"the dependency tree is not projective: {_quote(c, outsider)} stands among the words that "
        f"depend on {_quote(c, h)} but does not depend on it"
    )
    return Incompatibility("crossing", None, (h, outsider), message)


def _clash(c: ConstituencyTree, d: DependencyTree, span: LabelledSpan) -> Incompatibility:
    """Name the words because of which a constituent has no head word."""
    i, j, label = span
    constituent = f"constituent {label} ({i}, {j})"
    head, *further_heads = outgoing_words(d.heads, i, j)
    if further_heads:
        words = (head, *further_heads)
        message = f"{constituent} has more than one word with its head outside: {_quote(c, *words)}"
        return Incompatibility("heads", span, words, message)
    for m, h in enumerate(d.heads, start=1):
        if not i < m <= j and i < h <= j and h != head:
            message = (
                f"{_quote(c, m)} outside {constituent} attaches to {_quote(c, h)} inside, "
                f"not to its head {_quote(c, head)}"
            )
            return Incompatibility("attachment", span, (m, h), message)
    raise AssertionError("only called for constituents without a head word")
