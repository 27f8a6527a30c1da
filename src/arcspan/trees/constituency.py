"""Constituency trees as flat lists of labelled spans.

A tree is its words, their tags, and every labelled bracket above them as a fencepost span (i, j, label),
which covers words i+1..j. The spans stand in pre-order (top-down, left to right), so a unary chain is the
same (i, j) repeated, outermost label first. Nothing here is nested, hence nothing recurses: a tree may be
10,000 levels deep.
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
from arcspan.trees.immutable import Immutable, per_word
from arcspan.trees.words import escape as escape_word

Chain = tuple[str, ...]
"""The labels of a unary chain, outermost first."""

WRAPPERS = frozenset({"TOP", "ROOT", "S1", "VROOT", ""})
"""Labels of the bracket that treebanks put around the real tree."""

EMPTY_TAG = "-NONE-"
"""The tag of an empty element: a trace or an elided word, not part of the sentence."""


@lru_cache(maxsize=4096)
def strip_function(label: str) -> str:
    """Cut function tags and index marks off a label; labels that begin with a hyphen (-NONE-) stay whole.

    >>> strip_function("NP-SBJ-1"), strip_function("NP=2"), strip_function("-NONE-")
    ('NP', 'NP', '-NONE-')
    """
    return label if label[:1] == "-" else label[:1] + re.split("[-=]", label[1:], maxsplit=1)[0]


def function_tags(label: str) -> list[str]:
    """The function tags and index marks of a label.

    >>> function_tags("NP-SBJ-1"), function_tags("NP=2"), function_tags("-NONE-")
    (['SBJ', '1'], ['2'], [])
    """
    return [tag for tag in label[len(strip_function(label)) :].replace("=", "-").split("-") if tag]


class ConstituencyTree(Immutable):
    """A constituency tree: words, tags and labelled spans. Immutable, hashable, compared by value.

    `words` are the leaves, unescaped; `tags` one per word, "" where a word has none; `spans` every labelled
    bracket above the tags, a wrapper such as TOP included, in pre-order. A bare `(NN dog)` has no spans.

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
    """How the source wrote a word (by index) where `escape` would not; no part of the tree's value."""

    def __init__(
        self,
        words: Iterable[str],
        tags: Iterable[str] | None,
        spans: Iterable[tuple[int, int, str]],
    ) -> None:
        words = tuple(words)
        (tags,) = per_word(len(words), ["tags"], tags)
        if "" in words:
            raise TreeError(f"word {words.index('') + 1} is empty")
        # Python's sort is stable: a unary chain keeps the order in which it was given.
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

        `functions="strip"` cuts NP-SBJ-1 to NP; `empties="strip"` removes words tagged -NONE- and the
        constituents that this leaves empty; `wrapper="strip"` removes TOP, ROOT, S1, VROOT or "" around the
        tree. A bracket that holds one word is its tag, except in a tree where words stand in constituents
        without tags (`(NP a role)`): there it is a constituent too.

        >>> raw = "(TOP (NP-SBJ (-NONE- *) (NN dog)))"
        >>> ConstituencyTree.from_brackets(raw, functions="strip", empties="strip")
        ConstituencyTree('(TOP (NP (NN dog)))')
        """
        for name, choice in (("functions", functions), ("empties", empties), ("wrapper", wrapper)):
            if choice not in ("keep", "strip"):
                raise ValueError(f"{name} is 'keep' or 'strip', not {choice!r}")
        words, tags, spans = read_text(text, allow_empty=empties == "strip")
        written = None
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
        """The tree on one line; with `escape`, each word as the source wrote it, or escaped.

        >>> ConstituencyTree(["(", "a"], ["-LRB-", "LS"], [(0, 2, "LST")]).brackets()
        '(LST (-LRB- -LRB-) (LS a))'
        """
        words = [escape_word(word) if escape else word for word in self.words]
        for index, form in (self._written or {}).items() if escape else ():
            words[index] = form
        return "".join(write_pieces(words, self.tags, self.spans))

    def without_functions(self, *, tags: bool = False) -> ConstituencyTree:
        """The tree with function tags and index marks cut off its labels, and where asked off its tags."""
        spans = tuple((i, j, strip_function(label)) for i, j, label in self.spans)
        own = tuple(map(strip_function, self.tags)) if tags else self.tags
        return self._trusted(self.words, own, spans, self._written)

    def without_empties(self) -> ConstituencyTree:
        """The tree without empty elements (tag -NONE-) and the constituents that held nothing else."""
        if EMPTY_TAG not in self.tags:
            return self
        return self._keep([index for index, tag in enumerate(self.tags) if tag != EMPTY_TAG])

    def _keep(self, kept: Sequence[int]) -> ConstituencyTree:
        """The tree over the words with these indices only."""
        own = set(kept)
        place = list(
            accumulate((k in own for k in range(len(self))), initial=0)
        )  # of each fencepost
        spans = tuple(
            (place[i], place[j], label) for i, j, label in self.spans if place[i] < place[j]
        )
        written = self._written
        if written:
            written = {new: written[old] for new, old in enumerate(kept) if old in written}
        words, tags = (tuple(column[k] for k in kept) for column in (self.words, self.tags))
        return self._trusted(words, tags, spans, written or None)

    def chains(self) -> dict[tuple[int, int], tuple[str, ...]]:
        """The labels of each span, outermost first."""
        return {(i, j): chain for i, j, chain in collapse(self)}

    def without_wrapper(self) -> ConstituencyTree:
        """The tree without the wrappers around it, unless words would be left without a common constituent.

        >>> ConstituencyTree.from_brackets("(TOP (S (NN dogs) (VB bark)))").without_wrapper()
        ConstituencyTree('(S (NN dogs) (VB bark))')
        """
        first, n = 0, len(self.words)
        while first < len(self.spans) and self.spans[first][2] in WRAPPERS:
            below = self.spans[first + 1] if first + 1 < len(self.spans) else None
            if n > 1 and (below is None or below[:2] != (0, n)):
                break
            first += 1
        return (
            self._trusted(self.words, self.tags, self.spans[first:], self._written)
            if first
            else self
        )

    def with_wrapper(self, label: str = "TOP") -> ConstituencyTree:
        """The tree with `label`, and no other wrapper, around it."""
        bare = self.without_wrapper()
        if not bare.words:
            return bare
        spans = bare.spans
        if len(bare.words) > 1 and spans[0][2] in WRAPPERS:
            spans = spans[1:]  # a wrapper that had to stay gives way to the new one
        return self._trusted(
            bare.words, bare.tags, ((0, len(bare.words), label), *spans), bare._written
        )

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        text = self.brackets()
        return f"ConstituencyTree({text if len(text) <= 200 else text[:197] + '...'!r})"

    def __str__(self) -> str:
        return self.brackets()


def collapse(tree: ConstituencyTree) -> list[tuple[int, int, Chain]]:
    """Distinct spans in pre-order, each with its unary chain of labels, outermost first.

    >>> collapse(ConstituencyTree.from_brackets("(TOP (S (NP (NN dogs)) (VB bark)))"))
    [(0, 2, ('TOP', 'S')), (0, 1, ('NP',))]
    """
    found: list[tuple[int, int, list[str]]] = []
    last_i, last_j = 0, -1
    for i, j, label in tree.spans:
        if j == last_j and i == last_i:
            found[-1][2].append(label)
        else:
            found.append((i, j, [label]))
            last_i, last_j = i, j
    return [(i, j, tuple(chain)) for i, j, chain in found]


def units(
    tree: ConstituencyTree,
) -> tuple[list[tuple[int, int, Chain]], list[int], list[list[int]]]:
    """The tree as nodes: distinct spans, and the words that have none, in pre-order.

    Returns the nodes (i, j, chain), where the chain of a word without constituent is (), each one's parent
    (-1 for the root), and each one's children, as indices.

    >>> units(ConstituencyTree.from_brackets("(S (NP (NN dogs)) (VB bark))"))
    ([(0, 2, ('S',)), (0, 1, ('NP',)), (1, 2, ())], [-1, 0, 0], [[1, 2], [], []])
    """
    nodes = collapse(tree)
    alone = {i for i, j, _ in nodes if j - i == 1}
    nodes.extend([(k, k + 1, ()) for k in range(len(tree)) if k not in alone])
    nodes.sort(key=lambda node: (node[0], -node[1]))
    above = parents(nodes)
    children: list[list[int]] = [[] for _ in nodes]
    for index, parent in enumerate(above):
        if parent >= 0:
            children[parent].append(index)
    return nodes, above, children


def parents(spans: Sequence[tuple[int, int, Any]]) -> list[int]:
    """The place of the smallest span around each of the spans (i, j, ...) in pre-order, -1 where there is none.

    >>> parents([(0, 2, "S"), (0, 1, "NP"), (1, 2, "VP")])
    [-1, 0, 0]
    """
    found: list[int] = []
    opened: list[int] = []
    for place, (i, _, _) in enumerate(spans):
        while opened and spans[opened[-1]][1] <= i:
            opened.pop()
        found.append(opened[-1] if opened else -1)
        opened.append(place)
    return found


def _check_nesting(spans: Sequence[LabelledSpan], n: int) -> None:
    """Spans in pre-order must nest, stay within the sentence, and hang below one root."""
    ends: list[LabelledSpan] = []
    for span in spans:
        i, j, label = span
        if not 0 <= i < j <= n:
            raise TreeError(
                f"span ({i}, {j}, {label!r}) does not lie within a sentence of {n} words"
            )
        if not isinstance(label, str):
            raise TreeError(f"the label of span ({i}, {j}) is {label!r}, not a string")
        while ends and ends[-1][1] <= i:
            ends.pop()
        if ends and j > ends[-1][1]:
            raise TreeError(f"spans {ends[-1]} and {span} cross each other")
        ends.append(span)
    if n > 1 and (not spans or spans[0][:2] != (0, n)):
        raise TreeError(f"no constituent covers all {n} words: a tree has one root")
