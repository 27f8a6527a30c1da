"""Whether a constituency tree and a dependency tree of one sentence fit each other, and if not, why.

They fit when the dependency tree is projective and each constituent has exactly one word whose head lies
outside it, its head word, to which every outside word that attaches into the constituent attaches. In a
projective tree the yields of words are spans, and this has a simple reading: the constituent (i, j) is its
head word r together with the whole yields of some of r's nearest dependents on either side. So i is the
left fencepost of r itself or of the yield of a left dependent of r, and j likewise on the right. That makes
the test a few lookups per constituent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arcspan.trees.bracketed_text import LabelledSpan
from arcspan.trees.constituency import Chain, ConstituencyTree, collapse
from arcspan.trees.dependency import DependencyTree, extents, outgoing_words, yields


@dataclass(frozen=True)
class Incompatibility:
    """Why two trees do not fit: what kind of clash, in which constituent, which words are to blame.

    `kind` is one of
    "length"      the trees have different numbers of words;
    "crossing"    the dependency tree is not projective: `words` are a word and one that interrupts its yield;
    "heads"       several words of the constituent `span` have heads outside it: `words` are those;
    "attachment"  a word outside `span` attaches to a word inside that is not its head: `words` are these two.
    """

    kind: str
    span: LabelledSpan | None
    words: tuple[int, ...]
    message: str

    def __str__(self) -> str:
        return self.message


def head_words(
    spans: Sequence[tuple[int, int, Chain]],
    heads: Sequence[int],
    left: Sequence[int],
    right: Sequence[int],
) -> list[int]:
    """The head word of every span, 0 for one that does not fit; `left` and `right` are the words' yields."""
    n = len(heads)
    top_left = [0] * (n + 1)  # the topmost word whose yield begins, or ends, at a fencepost
    top_right = [0] * (n + 1)
    full: dict[tuple[int, int], int] = {}  # the word whose whole yield is this span
    for m, h in enumerate(heads, start=1):
        i, j = left[m], right[m]
        full[i, j] = m
        if not h or left[h] != i:
            top_left[i] = m
        if not h or right[h] != j:
            top_right[j] = m
    found = []
    for i, j, _ in spans:
        r = full.get((i, j), 0)
        if not r:
            a, b = top_left[i], top_right[j]
            head_of_a, head_of_b = (heads[a - 1] if a else 0), (heads[b - 1] if b else 0)
            for r in (head_of_b, head_of_a, i + 1, j):
                if (
                    i < r <= j
                    and (r == i + 1 or left[r] == i or head_of_a == r)
                    and (r == j or right[r] == j or head_of_b == r)
                ):
                    break
            else:
                r = 0
        found.append(r)
    return found


def compatible(c: ConstituencyTree, d: DependencyTree) -> bool:
    """Whether the two trees fit each other; a dependency tree that is not projective fits none.

    >>> c = ConstituencyTree.from_brackets("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> compatible(c, DependencyTree([2, 3, 0], ["det", "nsubj", "root"]))
    True
    """
    if len(c) != len(d):
        return False
    borders = yields(d.heads)
    return borders is not None and all(head_words(collapse(c), d.heads, *borders))


def why_incompatible(c: ConstituencyTree, d: DependencyTree) -> Incompatibility | None:
    """Name the constituent and the words that keep the trees from fitting; None where they fit.

    >>> c = ConstituencyTree.from_brackets("(S (NP (DT a) (NN dog)) (VB barks))")
    >>> print(why_incompatible(c, DependencyTree([3, 3, 0], ["det", "nsubj", "root"])))
    constituent NP (0, 2) has more than one word with its head outside: 'a' (1), 'dog' (2)
    """
    if len(c) != len(d):
        what = f"the constituency tree has {len(c)} words, the dependency tree {len(d)}"
        return Incompatibility("length", None, (), what)
    borders = yields(d.heads)
    if borders is None:
        return _crossing(c, d)
    spans = collapse(c)
    heads = head_words(spans, d.heads, *borders)
    # Pre-order backwards: the smallest constituents first, since the larger ones may only suffer from them.
    for (i, j, chain), head in zip(reversed(spans), reversed(heads), strict=True):
        if not head:
            return _clash(c, d, (i, j, chain[0]))
    return None


def _named(c: ConstituencyTree, *positions: int) -> str:
    return ", ".join(f"{c.words[m - 1]!r} ({m})" for m in positions)


def _crossing(c: ConstituencyTree, d: DependencyTree) -> Incompatibility:
    """Name a word whose yield is interrupted, and the first word that interrupts it."""
    left, right, size = extents(d.heads)
    broken = [m for m in range(1, len(d) + 1) if right[m] - left[m] != size[m]]
    h = min(broken, key=lambda m: right[m] - left[m])

    def depends(m: int) -> bool:
        while m and m != h:
            m = d.heads[m - 1]
        return m == h

    outside = next(m for m in range(left[h] + 1, right[h] + 1) if not depends(m))
    what = (
        f"the dependency tree is not projective: {_named(c, outside)} stands among the words that depend "
        f"on {_named(c, h)} but does not depend on it"
    )
    return Incompatibility("crossing", None, (h, outside), what)


def _clash(c: ConstituencyTree, d: DependencyTree, span: LabelledSpan) -> Incompatibility:
    """What is wrong with a constituent that has no head word."""
    i, j, label = span
    name = f"constituent {label} ({i}, {j})"
    outgoing = list(outgoing_words(d.heads, i, j))
    if len(outgoing) > 1:
        what = f"{name} has more than one word with its head outside: {_named(c, *outgoing)}"
        return Incompatibility("heads", span, tuple(outgoing), what)
    head = outgoing[0]
    for m in (*range(1, i + 1), *range(j + 1, len(d) + 1)):
        h = d.heads[m - 1]
        if i < h <= j and h != head:
            what = (
                f"{_named(c, m)} outside {name} attaches to {_named(c, h)} inside, "
                f"not to its head {_named(c, head)}"
            )
            return Incompatibility("attachment", span, (m, h), what)
    raise AssertionError("only called for constituents that do not fit")
