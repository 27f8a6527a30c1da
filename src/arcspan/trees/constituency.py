"""Constituency trees as flat lists of labelled spans; bracketed text is parsed in `bracketed_text`.

A tree is its words, their tags, and every labelled bracket above them as a fencepost span (i, j,
label), which covers words i+1..j. The spans stand in pre-order (top-down, left to right), so a
unary chain is the same (i, j) repeated, outermost label first. Nothing here is nested, hence
nothing recurses: a tree may be 10,000 levels deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from sys import intern
from typing import Any, Literal

from arcspan.errors import TreeError
from arcspan.trees.bracketed_text import LabelledSpan, read_text, unescape_all, write_pieces
from arcspan.trees.immutable import Column, Immutable, per_word
from arcspan.trees.words import escape as escape_word

Chain = tuple[str, ...]
"""The labels of a unary chain, outermost first."""

WRAPPERS = frozenset({"TOP", "ROOT", "S1", "VROOT", ""})
"""Labels of the bracket that treebanks put around the real tree."""

EMPTY_TAG = "-NONE-"
"""The tag of an empty element: a trace or an elided word, not part of the sentence."""


@lru_cache(maxsize=4096)
def strip_function(label: str) -> str:
    """Cut function tags and index marks off a label; one that begins with a hyphen stays whole.

    >>> strip_function("NP-SBJ-1"), strip_function("NP=2"), strip_function("-NONE-")
    ('NP', 'NP', '-NONE-')
    """
    if label[:1] == "-":
        return label
    # The first character always stays: "=" and "-" are tags of punctuation.
    return label[:1] + re.split("[-=]", label[1:], maxsplit=1)[0]


def function_tags(label: str) -> list[str]:
    """Return the function tags and index marks of a label.

    >>> function_tags("NP-SBJ-1"), function_tags("NP=2"), function_tags("-NONE-")
    (['SBJ', '1'], ['2'], [])
    """
    marks = label[len(strip_function(label)) :]
    return [tag for tag in re.split("[-=]", marks) if tag]


class ConstituencyTree(Immutable):
    """A constituency tree: words, tags and labelled spans. Immutable, hashable, compared by value.

    `words` are the leaves, unescaped; `tags` one per word, "" where a word has none; `spans` every
    labelled bracket above the tags, a wrapper such as TOP included, in pre-order. A bare `(NN dog)`
    has no spans.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays)))")
    >>> tree.words, tree.tags
    (('Logic', 'plays'), ('NN', 'VBZ'))
    >>> tree.spans
    ((0, 2, 'S'), (0, 1, 'NP'), (1, 2, 'VP'))
    >>> tree.brackets()
    '(S (NP (NN Logic)) (VP (VBZ plays)))'
    """

    __slots__ = _parts = ("words", "tags", "spans", "_written")

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: tuple[LabelledSpan, ...]
    _written: dict[int, str] | None
    """The source's forms of words, by index, that `escape` would write otherwise; not compared."""

    def __init__(
        self,
        words: Iterable[str],
        tags: Column,
        spans: Iterable[tuple[int, int, str]],
    ) -> None:
        words = tuple(words)
        (tags,) = per_word(len(words), ["tags"], tags)
        if "" in words:
            raise TreeError(f"word {words.index('') + 1} is empty")
        # Python's sort is stable: a unary chain keeps the order of the argument.
        numbered = ((int(i), int(j), label) for i, j, label in spans)
        ordered = sorted(numbered, key=lambda span: (span[0], -span[1]))
        _check_nesting(ordered, len(words))
        self._fill(words, tags, tuple(ordered))

    @classmethod
    def from_brackets(
        cls,
        text: str,
        *,
        functions: Literal["keep", "strip"] = "keep",
        empties: Literal["keep", "strip"] = "keep",
        wrapper: Literal["keep", "strip"] = "keep",
        unescape: bool = True,
    ) -> ConstituencyTree:
        """Read one bracketed tree, in any layout.

        `functions="strip"` cuts NP-SBJ-1 to NP; `empties="strip"` removes words tagged -NONE- and
        the constituents that this leaves empty; `wrapper="strip"` removes TOP, ROOT, S1, VROOT or
        "" around the tree. A bracket that holds one word is its tag, except in a tree where words
        stand in constituents without tags (`(NP a role)`): there it is a constituent too.

        >>> raw = "(TOP (NP-SBJ (-NONE- *) (NN dog)))"
        >>> ConstituencyTree.from_brackets(raw, functions="strip", empties="strip")
        ConstituencyTree('(TOP (NP (NN dog)))')
        """
        for name, choice in (("functions", functions), ("empties", empties), ("wrapper", wrapper)):
            if choice not in ("keep", "strip"):
                raise ValueError(f"{name} is 'keep' or 'strip', not {choice!r}")
        words, tags, spans = read_text(text, allow_empty=empties == "strip")
        written = None
        # Most trees have no escapes: one look at the text is faster than one at each word.
        if unescape and ("B-" in text or "\\" in text):
            words, written = unescape_all(words)
        tree = cls._trusted(tuple(words), tuple(map(intern, tags)), tuple(spans), written)
        if empties == "strip":
            tree = tree.without_empties()
        if functions == "strip":
            tree = tree.without_functions()
        if wrapper == "strip":
            tree = tree.without_wrapper()
        return tree

    def brackets(self, *, escape: bool = True) -> str:
        """Write the tree on one line; with `escape`, each word as the source wrote it, or escaped.

        >>> ConstituencyTree(["(", "a"], ["-LRB-", "LS"], [(0, 2, "LST")]).brackets()
        '(LST (-LRB- -LRB-) (LS a))'
        """
        words = list(self.words)
        if escape:
            words = list(map(escape_word, words))
            for index, form in (self._written or {}).items():
                words[index] = form
        return "".join(write_pieces(words, self.tags, self.spans))

    def without_functions(self, *, tags: bool = False) -> ConstituencyTree:
        """Cut function tags and index marks off the labels, and with `tags` off the tags, too."""
        tree = self._replaced(
            spans=tuple([(i, j, strip_function(label)) for i, j, label in self.spans])
        )
        return tree._replaced(tags=tuple(map(strip_function, self.tags))) if tags else tree

    def without_empties(self) -> ConstituencyTree:
        """Remove empty elements (tag -NONE-) and the constituents that held nothing else."""
        if EMPTY_TAG not in self.tags:
            return self
        return self._keep([index for index, tag in enumerate(self.tags) if tag != EMPTY_TAG])

    def _keep(self, indices: Sequence[int]) -> ConstituencyTree:
        """Restrict the tree to the words with these indices."""
        remaining = set(indices)
        # new_fence[i]: the number of remaining words before fencepost i
        new_fence = list(accumulate((k in remaining for k in range(len(self))), initial=0))
        spans = []
        for i, j, label in self.spans:
            if new_fence[i] < new_fence[j]:
                spans.append((new_fence[i], new_fence[j], label))
        written = self._written or {}
        return self._trusted(
            tuple([self.words[k] for k in indices]),
            tuple([self.tags[k] for k in indices]),
            tuple(spans),
            {new: written[old] for new, old in enumerate(indices) if old in written} or None,
        )

    def chains(self) -> dict[tuple[int, int], Chain]:
        """Return distinct spans in pre-order, each with its unary chain of labels, outermost first.

        >>> ConstituencyTree.from_brackets("(TOP (S (NP (NN dogs)) (VB bark)))").chains()
        {(0, 2): ('TOP', 'S'), (0, 1): ('NP',)}
        """
        labels: dict[tuple[int, int], list[str]] = {}
        for i, j, label in self.spans:
            labels.setdefault((i, j), []).append(label)
        return {span: tuple(chain) for span, chain in labels.items()}

    def without_wrapper(self) -> ConstituencyTree:
        """Remove the wrappers around the tree, except the only constituent over all words.

        >>> ConstituencyTree.from_brackets("(TOP (S (NN dogs) (VB bark)))").without_wrapper()
        ConstituencyTree('(S (NN dogs) (VB bark))')
        """
        n = len(self)
        spans = self.spans
        while spans and spans[0][2] in WRAPPERS:
            if n > 1 and (len(spans) == 1 or spans[1][:2] != (0, n)):
                break
            spans = spans[1:]
        return self if spans is self.spans else self._replaced(spans=spans)

    def with_wrapper(self, label: str = "TOP") -> ConstituencyTree:
        """Put `label`, and no other wrapper, around the tree."""
        bare = self.without_wrapper()
        n = len(bare)
        spans = bare.spans
        if n > 1 and spans[0][2] in WRAPPERS:
            # This wrapper is the only constituent over all words: the new one replaces it.
            spans = spans[1:]
        return bare._replaced(spans=((0, n, label), *spans)) if n else bare

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        text = self.brackets()
        return f"ConstituencyTree({text if len(text) <= 200 else text[:197] + '...'!r})"

    def __str__(self) -> str:
        return self.brackets()


def units(
    tree: ConstituencyTree,
) -> tuple[list[tuple[int, int, Chain]], list[int], list[list[int]]]:
    """Return the nodes of a tree: distinct spans, and the words that have none, in pre-order.

    Returns the nodes (i, j, chain), where the chain of a word without constituent is (), each one's
    parent (-1 for the root), and each one's children, as indices.

    >>> units(ConstituencyTree.from_brackets("(S (NP (NN dogs)) (VB bark))"))
    ([(0, 2, ('S',)), (0, 1, ('NP',)), (1, 2, ())], [-1, 0, 0], [[1, 2], [], []])
    """
    chains = dict.fromkeys(((k, k + 1) for k in range(len(tree))), ()) | tree.chains()
    nodes = [(i, j, chain) for (i, j), chain in chains.items()]
    nodes.sort(key=lambda node: (node[0], -node[1]))
    node_parents = parents(nodes)
    children: list[list[int]] = [[] for _ in nodes]
    for index, parent in enumerate(node_parents):
        if parent >= 0:
            children[parent].append(index)
    return nodes, node_parents, children


def parents(spans: Sequence[tuple[int, int, Any]]) -> list[int]:
    """Return the index of the smallest span around each span of a pre-order, or -1.

    >>> parents([(0, 2, "S"), (0, 1, "NP"), (1, 2, "VP")])
    [-1, 0, 0]
    """
    parent_of: list[int] = []
    opened: list[int] = []
    for index, (i, _, _) in enumerate(spans):
        while opened and spans[opened[-1]][1] <= i:
            opened.pop()
        parent_of.append(opened[-1] if opened else -1)
        opened.append(index)
    return parent_of


def _check_nesting(spans: Sequence[LabelledSpan], n: int) -> None:
    """Raise TreeError unless spans in pre-order nest and hang below one root."""
    opened: list[LabelledSpan] = []
    for span in spans:
        i, j, label = span
        if not 0 <= i < j <= n:
            raise TreeError(
                f"span ({i}, {j}, {label!r}) does not lie within a sentence of {n} words"
            )
        if not isinstance(label, str):
            raise TreeError(f"the label of span ({i}, {j}) is {label!r}, not a string")
        while opened and opened[-1][1] <= i:
            opened.pop()
        if opened and j > opened[-1][1]:
            raise TreeError(f"spans {opened[-1]} and {span} cross each other")
        opened.append(span)
    if n > 1 and (not spans or spans[0][:2] != (0, n)):
        raise TreeError(f"no constituent covers all {n} words: a tree has one root")
