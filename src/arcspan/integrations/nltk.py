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
from arcspan.trees.nltk_tree import to_nltk as tree_to_nltk

try:
    from nltk import Tree
    from nltk.parse import DependencyGraph, ParserI
except ImportError:
    raise MissingExtraError("arcspan.integrations.nltk", "nltk") from None


def to_nltk(tree: ConstituencyTree | Parse) -> Tree:
    """A constituency tree, or that of a parse, as an `nltk.Tree`; leaves are words, under their tags.

    A word without a tag is a leaf of its constituent. A tree of no words cannot be one of NLTK's.
    """
    if isinstance(tree, Parse):
        tree = tree.constituency
    return tree_to_nltk(tree)


def from_nltk(tree: Tree) -> ConstituencyTree:
    """An `nltk.Tree` as a constituency tree: the parents of single leaves are tags, all others constituents.

    As in bracket files, where a leaf has no parent of its own there are no tags: `(NP a (NN role))`.
    """
    tagged = not _has_bare_leaves(tree)
    words: list[str] = []
    tags: list[str] = []
    spans: list[tuple[int, int, str] | None] = []
    # What is still to visit, last first: a tree or leaf, or where to close the constituent at that place.
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple) and len(node) == 3 and node[0] is _CLOSE:
            _, place, (start, label) = node
            if start == len(words):
                raise TreeError(f"the constituent {label} has no words")
            spans[place] = (start, len(words), label)
        elif not isinstance(node, Tree):
            words.append(str(node))
            tags.append("")
        elif tagged and len(node) == 1 and not isinstance(node[0], Tree):
            words.append(str(node[0]))
            tags.append(str(node.label()))
        else:
            stack.append((_CLOSE, len(spans), (len(words), str(node.label()))))
            spans.append(None)
            stack.extend(reversed(node))
    return ConstituencyTree(words, tags, [span for span in spans if span is not None])


_CLOSE = object()


def _has_bare_leaves(tree: Tree) -> bool:
    stack = [tree]
    while stack:
        node = stack.pop()
        below = [child for child in node if isinstance(child, Tree)]
        if len(node) > 1 and len(below) < len(node):
            return True
        stack.extend(below)
    return False


def to_dependency_graph(tree: DependencyTree | Parse) -> DependencyGraph:
    """A dependency tree, or that of a parse, as an `nltk.parse.DependencyGraph`.

    >>> graph = to_dependency_graph(DependencyTree([2, 0], ["nsubj", "root"], ["Ada", "sees"]))
    >>> [(head, relation, modifier) for (head, _), relation, (modifier, _) in graph.triples()]
    [('sees', 'nsubj', 'Ada')]
    """
    if isinstance(tree, Parse):
        tree = tree.dependencies
    root = tree.relations[tree.root - 1] if len(tree) else "ROOT"
    columns = tree.words, tree.lemmas, tree.upos, tree.tags, tree.features, tree.heads, tree.relations
    lines = (
        "\t".join([str(m), *(str(value) if value != "" else "_" for value in row), "_", "_"])
        for m, row in enumerate(zip(*columns, strict=True), 1)
    )
    return DependencyGraph("\n".join(lines), cell_separator="\t", top_relation_label=root)


class NltkParser(ParserI):
    """A parser with NLTK's interface: `parse(words)` gives an iterator over trees, best first (here: one).

    >>> NltkParser(parser).parse_one(["Ada", "sees"]).label()  # doctest: +SKIP
    'TOP'
    """

    def __init__(self, parser: Parser) -> None:
        self.parser = parser

    def parse(self, sent: Sequence[str], *args: Any, **kwargs: Any) -> Iterator[Tree]:
        """The tree of one sentence in words."""
        return iter([to_nltk(self.parser.parse(sent))])

    def parse_sents(
        self, sents: Iterable[Sequence[str]], *args: Any, **kwargs: Any
    ) -> Iterator[Iterator[Tree]]:
        """The trees of a stream of sentences, in order; sentences are parsed in batches."""
        return (iter([to_nltk(parse)]) for parse in self.parser.pipe(sents))
