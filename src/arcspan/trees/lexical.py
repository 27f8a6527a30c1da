"""Lexicalized trees: binary brackets with their head words, which hold both trees of a sentence.

`LexicalTree.join` puts a constituency and a compatible dependency tree together by head
binarization (section 3 of the paper); `split` takes them apart again, exactly. Relations, tags and
universal tags are kept beside the brackets, one per word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from arcspan.errors import TreeError
from arcspan.trees import compatibility
from arcspan.trees.binarize import head_nodes
from arcspan.trees.compatibility import Incompatibility
from arcspan.trees.constituency import Chain, ConstituencyTree
from arcspan.trees.dependency import DependencyTree
from arcspan.trees.immutable import Column, Immutable, per_word


class LexicalNode(NamedTuple):
    """A binary bracket: span (i, j), its head word, and its unary chain, outermost label first.

    The chain is () where binarization made the node, or where a word has no constituent of its own.
    """

    i: int
    j: int
    head: int
    chain: Chain


class LexicalTree(Immutable):
    """A lexicalized tree: 2n-1 nodes in pre-order over n words.

    Immutable, hashable, compared by value.

    >>> c = ConstituencyTree.from_brackets("(S (NP (NNP Logic)) (VP (VBZ plays) (ADVP (RB here))))")
    >>> d = DependencyTree([2, 0, 2], ["nsubj", "root", "advmod"], c.words)
    >>> tree = LexicalTree.join(c, d)
    >>> tree.nodes[0]
    LexicalNode(i=0, j=3, head=2, chain=('S',))
    >>> tree.split() == (c, d)
    True
    """

    __slots__ = _parts = ("words", "nodes", "heads", "relations", "tags", "upos", "_source")

    words: tuple[str, ...]
    nodes: tuple[LexicalNode, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...]
    upos: tuple[str, ...]
    _source: tuple[Any, ...] | None
    """What the other parts do not tell of the trees: the c-tree's written forms; the d-tree's
    words, tags, lemmas and features. None in a tree that was not joined."""

    def __init__(
        self,
        words: Iterable[str],
        nodes: Iterable[Sequence[Any]],
        relations: Column = None,
        tags: Column = None,
        upos: Column = None,
    ) -> None:
        words = tuple(words)
        n = len(words)
        checked_nodes = tuple(
            [LexicalNode(int(i), int(j), int(head), tuple(chain)) for i, j, head, chain in nodes]
        )
        heads = _heads_of(checked_nodes, n)
        columns = per_word(n, ["relations", "tags", "upos"], relations, tags, upos)
        self._fill(words, checked_nodes, heads, *columns)

    @classmethod
    def join(cls, c: ConstituencyTree, d: DependencyTree) -> LexicalTree:
        """Return the lexicalized tree of both; TreeError with the words to blame if none exists."""
        tree = cls.fit(c, d)
        if isinstance(tree, Incompatibility):
            raise TreeError(str(tree))
        return tree

    @classmethod
    def fit(cls, c: ConstituencyTree, d: DependencyTree) -> LexicalTree | Incompatibility:
        """Return the lexicalized tree of both, or the reason why there is none."""
        nodes = head_nodes(c, d.heads)
        if nodes is None:
            reason = compatibility.why_incompatible(c, d)
            assert reason is not None
            return reason
        lexical_nodes = tuple([LexicalNode(*node) for node in nodes])
        source = (c._written, d.words, d.tags, d.lemmas, d.features)
        return cls._trusted(c.words, lexical_nodes, d.heads, d.relations, c.tags, d.upos, source)

    def split(self) -> tuple[ConstituencyTree, DependencyTree]:
        """Return the constituency tree and the dependency tree, exactly as they were joined."""
        written, words, tags, *columns = self._source or (None, self.words, self.tags)
        spans = tuple([(i, j, label) for i, j, _, chain in self.nodes for label in chain])
        c = ConstituencyTree._trusted(self.words, self.tags, spans, written)
        d = DependencyTree._trusted(self.heads, self.relations, words, tags, self.upos, *columns)
        return c, d

    compatible = staticmethod(compatibility.compatible)
    why_incompatible = staticmethod(compatibility.why_incompatible)

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        nodes = []
        for i, j, head, chain in self.nodes[:8]:
            if chain:
                nodes.append(f"{'+'.join(chain)}[{self.words[head - 1]}]({i}, {j})")
        if len(self.nodes) > 8:
            nodes.append("...")
        return f"LexicalTree({len(self)} words: {' '.join(nodes)})"


def _heads_of(nodes: Sequence[LexicalNode], n: int) -> tuple[int, ...]:
    """Return the heads that the nodes imply; TreeError unless they are a headed binary tree."""
    node_count = max(0, 2 * n - 1)
    if len(nodes) != node_count:
        raise TreeError(f"{len(nodes)} nodes over {n} words: a binary tree has {node_count}")
    if n > 1 and not nodes[0].chain:
        raise TreeError(
            "the root has no label: the node that covers the sentence needs at least one"
        )
    if n and nodes[0][:2] != (0, n):
        raise TreeError(
            f"the first node is ({nodes[0].i}, {nodes[0].j}), not the whole sentence (0, {n})"
        )
    heads = [0] * n
    for index, (i, j, head, _) in enumerate(nodes):
        if not i < head <= j:
            raise TreeError(f"node ({i}, {j}) has head word {head}, which lies outside it")
        if j - i == 1:
            continue
        # Pre-order: a node's first part comes next, its second part after the 2 (k - i) - 1 nodes
        # of the first.
        first = nodes[index + 1]
        k = first.j
        second = nodes[index + 2 * (k - i)] if first.i == i and i < k < j else None
        if second is None or second[:2] != (k, j):
            raise TreeError(f"node ({i}, {j}) is not followed by its two parts in pre-order")
        if head not in (first.head, second.head):
            raise TreeError(f"node ({i}, {j}) has head word {head}, which heads no part of it")
        modifier = second if head == first.head else first
        heads[modifier.head - 1] = head
    return tuple(heads)
