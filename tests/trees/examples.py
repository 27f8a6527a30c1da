"""Trees that several tests of this room share: the paper's example, and random ones for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from arcspan.trees import ConstituencyTree, DependencyTree

WORDS = ["Logic", "plays", "a", "maximal", "role", "here"]

# Figure 1 of the paper.
FIGURE_1_BRACKETS = "(S (NP Logic) (VP plays (NP a maximal role) (ADVP here)))"
FIGURE_1_HEADS = (2, 0, 5, 5, 2, 2)
FIGURE_1_RELATIONS = ("nsubj", "root", "det", "amod", "dobj", "advmod")


def figure_1() -> tuple[ConstituencyTree, DependencyTree]:
    c = ConstituencyTree.from_brackets(FIGURE_1_BRACKETS)
    return c, DependencyTree(FIGURE_1_HEADS, FIGURE_1_RELATIONS, WORDS)


LABELS = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters=" \t\n\r\f\v()"),
    min_size=1,
    max_size=5,
)
PLAIN_WORDS = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters=" \t\n\r\f\v\\-"),
    min_size=1,
    max_size=5,
)


@st.composite
def constituency_trees(draw: st.DrawFn, max_words: int = 9) -> ConstituencyTree:
    """Any tree: random nesting spans, unary chains, words with or without tags."""
    n = draw(st.integers(1, max_words))
    words = draw(st.lists(PLAIN_WORDS, min_size=n, max_size=n))
    tags = draw(
        st.one_of(
            st.just([""] * n), st.lists(st.one_of(st.just(""), LABELS), min_size=n, max_size=n)
        )
    )
    spans = [(0, n, draw(LABELS))] if n > 1 or draw(st.booleans()) else []
    for i, j in draw(
        st.lists(st.tuples(st.integers(0, n), st.integers(0, n)), max_size=2 * max_words)
    ):
        if i < j and spans and all(not (i < a < j < b or a < i < b < j) for a, b, _ in spans):
            spans.append((i, j, draw(st.one_of(LABELS, st.just("")))))
    return ConstituencyTree(words, tags, spans)


@st.composite
def projective_heads(draw: st.DrawFn, n: int) -> list[int]:
    """Heads of a random projective tree with one root, built span by span."""
    heads = [0] * n
    waiting = [(0, n, 0)]
    while waiting:
        i, j, parent = waiting.pop()
        r = draw(st.integers(i + 1, j))
        heads[r - 1] = parent
        for low, high in ((i, r - 1), (r, j)):
            while low < high:
                middle = draw(st.integers(low + 1, high))
                waiting.append((low, middle, r))
                low = middle
    return heads


@st.composite
def arbitrary_heads(draw: st.DrawFn, n: int) -> list[int]:
    """Heads of a random tree with one root, projective or not: each word attaches to one placed
    before it.
    """
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for place, m in enumerate(order):
        if place:
            heads[m - 1] = order[draw(st.integers(0, place - 1))]
    return heads
