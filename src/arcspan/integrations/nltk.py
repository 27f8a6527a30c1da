"""NLTK trees and dependency graphs from arcspan's trees, and back.

>>> from arcspan.trees import ConstituencyTree
>>> tree = to_nltk(ConstituencyTree.from_brackets("(S (NP (NNP Ada)) (VP (VBZ sees)))"))
>>> tree.label(), tree.leaves()
('S', ['Ada', 'sees'])
>>> from_nltk(tree).brackets()
'(S (NP (NNP Ada)) (VP (VBZ sees)))'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from arcspan.errors import MissingExtraError, TreeError
from arcspan.parser import Parse, Parser
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.conllu import format_conllu
from arcspan.trees.nltk_tree import to_nltk as tree_to_nltk

try:
    from nltk import Tree
    from nltk.parse import DependencyGraph, ParserI
except ImportError:
    raise MissingExtraError("arcspan.integrations.nltk", "nltk") from None


def to_nltk(tree: ConstituencyTree | Parse) -> Tree:
    """Return a constituency tree, or that of a parse, as an `nltk.Tree`.

    Leaves are words, under their tags.

    A word without a tag is a leaf of its constituent. A tree of no words cannot be one of NLTK's.
    """
    return tree_to_nltk(tree.constituency if isinstance(tree, Parse) else tree)


def from_nltk(tree: Tree) -> ConstituencyTree:
    """Return an `nltk.Tree` as a constituency tree.

    The parents of single leaves are tags, all others constituents.

    As in bracket files, there are no tags where a leaf has no parent of its own:
    `(NP a (NN role))`.
    """
    nodes = [tree]
    for node in nodes:  # grows as it is read
        nodes += [child for child in node if isinstance(child, Tree)]
    # Only in trees whose every leaf is an only child are the parents of leaves tags.
    is_tagged = all(len(node) == 1 or not _has_leaf(node) for node in nodes)
    words: list[str] = []
    tags: list[str] = []
    spans: list[tuple[int, int, str]] = []
    # Still to visit, last first: trees, leaves, and ends of constituents. No recursion, as trees
    # may be deep.
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, _End):
            start, _, label = spans[node]
            if start == len(words):
                raise TreeError(f"the constituent {label} has no words")
            spans[node] = (start, len(words), label)
        elif not isinstance(node, Tree):
            words.append(str(node))
            tags.append("")
        elif is_tagged and len(node) == 1 and _has_leaf(node):
            words.append(str(node[0]))
            tags.append(str(node.label()))
        else:
            stack += [_End(len(spans)), *reversed(node)]
            spans.append((len(words), 0, str(node.label())))
    return ConstituencyTree(words, tags, spans)


def _has_leaf(node: Tree) -> bool:
    return not all(isinstance(child, Tree) for child in node)


class _End(int):
    """The index of a constituent that ends here."""


def to_dependency_graph(tree: DependencyTree | Parse) -> DependencyGraph:
    """Return a dependency tree, or that of a parse, as an `nltk.parse.DependencyGraph`.

    >>> graph = to_dependency_graph(DependencyTree([2, 0], ["nsubj", "root"], ["Ada", "sees"]))
    >>> [(head, relation, modifier) for (head, _), relation, (modifier, _) in graph.triples()]
    [('sees', 'nsubj', 'Ada')]
    """
    if isinstance(tree, Parse):
        tree = tree.dependencies
    # NLTK finds the root by its relation.
    root = tree.relations[tree.root - 1] if len(tree) else "ROOT"
    return DependencyGraph(format_conllu(tree), cell_separator="\t", top_relation_label=root)


class NltkParser(ParserI):
    """A parser with NLTK's interface: `parse(words)` gives an iterator over one tree.

    >>> NltkParser(parser).parse_one(["Ada", "sees"]).label()  # doctest: +SKIP
    'TOP'
    """

    def __init__(self, parser: Parser) -> None:
        self.parser = parser

    def parse(self, sent: Sequence[str], *args: Any, **kwargs: Any) -> Iterator[Tree]:
        """Return the tree of one sentence in words."""
        return iter([to_nltk(self.parser.parse(sent))])

    def parse_sents(
        self, sents: Iterable[Sequence[str]], *args: Any, **kwargs: Any
    ) -> Iterator[Iterator[Tree]]:
        """Return the trees of a stream of sentences, in order; sentences are parsed in batches."""
        return (iter([to_nltk(parse)]) for parse in self.parser.pipe(sents))
