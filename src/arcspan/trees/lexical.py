"""Lexicalized trees: binary brackets that carry their head words, and so hold both trees of a sentence.

`LexicalTree.join` puts a constituency and a compatible dependency tree together by head binarization
(section 3 of the paper); `split` takes them apart again, exactly. Relations are not part of the brackets;
they ride along.
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
from arcspan.trees.immutable import Immutable, nothing, per_word


class LexicalNode(NamedTuple):
    """A binary bracket: fencepost span (i, j), its head word, and its unary chain of labels, outermost first.

    The chain is () where binarization made the node, or where a word has no constituent of its own.
    """

    i: int
    j: int
    head: int
    chain: Chain


class LexicalTree(Immutable):
    """A lexicalized tree: 2n-1 nodes in pre-order over n words. Immutable, hashable, compared by value.

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
    """The c-tree's written forms; the d-tree's own words, tags, lemmas and features. None where there are none."""

    def __init__(
        self,
        words: Iterable[str],
        nodes: Iterable[Sequence[Any]],
        relations: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        upos: Iterable[str] | None = None,
    ) -> None:
        words = tuple(words)
        n = len(words)
        made = tuple(
            [LexicalNode(int(i), int(j), int(head), tuple(chain)) for i, j, head, chain in nodes]
        )
        heads = _heads_of(made, n)
        self._fill(words, made, heads, *per_word(n, self._parts[3:6], relations, tags, upos))

    @classmethod
    def join(cls, c: ConstituencyTree, d: DependencyTree) -> LexicalTree:
        """The lexicalized tree that holds both; TreeError, which names the words to blame, if they do not fit."""
        tree = cls.fit(c, d)
        if isinstance(tree, Incompatibility):
            raise TreeError(str(tree))
        return tree

    @classmethod
    def fit(cls, c: ConstituencyTree, d: DependencyTree) -> LexicalTree | Incompatibility:
        """The lexicalized tree that holds both, or the reason why there is none."""
        nodes = head_nodes(c, d.heads)
        if nodes is None:
            why = compatibility.why_incompatible(c, d)
            assert why is not None
            return why
        own = c._written, d.words, d.tags, d.lemmas, d.features
        source = None if own == (None, c.words, c.tags, nothing(len(d)), nothing(len(d))) else own
        made = tuple([LexicalNode(*node) for node in nodes])
        return cls._trusted(c.words, made, d.heads, d.relations, c.tags, d.upos, source)

    def split(self) -> tuple[ConstituencyTree, DependencyTree]:
        """The constituency tree and the dependency tree, exactly as they were joined."""
        written, words, tags, *rest = self._source or (None, self.words, self.tags)
        spans = tuple([(i, j, label) for i, j, _, chain in self.nodes for label in chain])
        c = ConstituencyTree._trusted(self.words, self.tags, spans, written)
        return c, DependencyTree._trusted(self.heads, self.relations, words, tags, self.upos, *rest)

    compatible = staticmethod(compatibility.compatible)
    why_incompatible = staticmethod(compatibility.why_incompatible)

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        labelled = (node for node in self.nodes[:8] if node.chain)
        shown = [
            f"{'+'.join(chain)}[{self.words[head - 1]}]({i}, {j})" for i, j, head, chain in labelled
        ]
        return f"LexicalTree({len(self)} words: {' '.join(shown)}{' ...' if len(self.nodes) > 8 else ''})"


def _heads_of(nodes: Sequence[LexicalNode], n: int) -> tuple[int, ...]:
    """The heads that the nodes imply; TreeError unless they are a binary tree with heads that fit."""
    if len(nodes) != max(0, 2 * n - 1):
        raise TreeError(f"{len(nodes)} nodes over {n} words: a binary tree has {max(0, 2 * n - 1)}")
    heads = [0] * n
    if n > 1 and not nodes[0].chain:
        raise TreeError(
            "the root has no label: the node that covers the sentence needs at least one"
        )
    if n and nodes[0][:2] != (0, n):
        raise TreeError(
            f"the first node is ({nodes[0].i}, {nodes[0].j}), not the whole sentence (0, {n})"
        )
    # Pre-order: a node's first part comes next, its second part after the 2 (k - i) - 1 nodes of the first.
    for place, (i, j, head, _) in enumerate(nodes):
        if not i < head <= j:
            raise TreeError(f"node ({i}, {j}) has head word {head}, which lies outside it")
        if j - i == 1:
            continue
        first = nodes[place + 1]
        k = first.j
        if first.i != i or not i < k < j or (second := nodes[place + 2 * (k - i)])[:2] != (k, j):
            raise TreeError(f"node ({i}, {j}) is not followed by its two parts in pre-order")
        if head not in (first.head, second.head):
            raise TreeError(f"node ({i}, {j}) has head word {head}, which heads no part of it")
        modifier = second if head == first.head else first
        heads[modifier.head - 1] = head
    return tuple(heads)
