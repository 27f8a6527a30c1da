"""Constituency trees as flat lists of labelled spans.

A tree is its words, their tags, and every labelled bracket above them as a fencepost span (i, j, label),
which covers words i+1..j. The spans stand in pre-order (top-down, left to right), so a unary chain is the
same (i, j) repeated, outermost label first. Nothing here is nested, hence nothing recurses: a tree may be
10,000 levels deep.

Reading brackets is the hot path of reading a treebank. One regular expression takes a whole `(TAG word)))`
at a time; only a text that this expression cannot follow (bare words, stray brackets) goes through the
slower reader, which also finds the words for an error message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from sys import intern
from typing import Any, Literal

from arcspan.errors import TreeError

Span = tuple[int, int, str]
"""A fencepost span with its label: covers words i+1..j."""

Chain = tuple[str, ...]
"""The labels of a unary chain, outermost first."""

WRAPPERS = frozenset({"TOP", "ROOT", "S1", "VROOT", ""})
"""Labels of the bracket that treebanks put around the real tree."""

EMPTY_TAG = "-NONE-"
"""The tag of an empty element: a trace or an elided word, not part of the sentence."""

_FAST = re.compile(r"\(\s*([^\s()]*)(?:\s+([^\s()]+)\s*(\)[\s)]*))?\s*|(\S)", re.ASCII)
_TOKEN = re.compile(r"\(\s*|\)|[^\s()]+", re.ASCII)
_ESCAPED = re.compile(r"-([LR][RSC]B)-|\\([/*])")
_UNSAFE = re.compile(r"[\s()]", re.ASCII)
_SAFE = {"(": "-LRB-", ")": "-RRB-"}
_BRACKETS = {"LRB": "(", "RRB": ")", "LSB": "[", "RSB": "]", "LCB": "{", "RCB": "}"}


def unescape(word: str) -> str:
    r"""Undo the Penn Treebank's escapes: -LRB- and its family, `\/` and `\*`, wherever in the word.

    >>> unescape("friend-LRB-s-RRB-"), unescape("1\\/2")
    ('friend(s)', '1/2')
    """
    if "B-" not in word and "\\" not in word:
        return word
    return _ESCAPED.sub(lambda match: _BRACKETS[match[1]] if match[1] else match[2], word)


def escape(word: str) -> str:
    """Write a word so that it can stand between brackets: -LRB- for "(", a no-break space for a space.

    >>> escape("friend(s)")
    'friend-LRB-s-RRB-'
    """
    if _UNSAFE.search(word) is None:
        return word
    return _UNSAFE.sub(lambda match: _SAFE.get(match[0], "\u00a0"), word)


def strip_function(label: str) -> str:
    """Cut function tags and index marks off a label; labels that begin with a hyphen (-NONE-) stay whole.

    >>> strip_function("NP-SBJ-1"), strip_function("NP=2"), strip_function("-NONE-")
    ('NP', 'NP', '-NONE-')
    """
    if label[:1] == "-":
        return label
    for k, letter in enumerate(label):
        if k and letter in "-=":
            return label[:k]
    return label


class ConstituencyTree:
    """A constituency tree: words, tags and labelled spans. Immutable, hashable, compared by value.

    `words` are the leaves, unescaped; `tags` one a word, "" where a word has none; `spans` every labelled
    bracket above the tags, a wrapper such as TOP included, in pre-order. A bare `(NN dog)` has no spans.

    >>> tree = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays)))")
    >>> tree.words, tree.tags
    (('Logic', 'plays'), ('NN', 'VBZ'))
    >>> tree.spans
    ((0, 2, 'S'), (0, 1, 'NP'), (1, 2, 'VP'))
    >>> tree.brackets()
    '(S (NP (NN Logic)) (VP (VBZ plays)))'
    """

    __slots__ = ("_written", "spans", "tags", "words")

    words: tuple[str, ...]
    tags: tuple[str, ...]
    spans: tuple[Span, ...]
    _written: dict[int, str] | None
    """How the source wrote a word (by index) where `escape` would not; no part of the tree's value."""

    def __init__(
        self, words: Iterable[str], tags: Iterable[str] | None, spans: Iterable[tuple[int, int, str]]
    ) -> None:
        words = tuple(words)
        tags = ("",) * len(words) if tags is None else tuple(tags)
        if len(tags) != len(words):
            raise TreeError(f"{len(words)} words but {len(tags)} tags: every word needs one ('' for none)")
        if "" in words:
            raise TreeError(f"word {words.index('') + 1} is empty")
        # Python's sort is stable: a unary chain keeps the order in which it was given.
        ordered = sorted(
            ((int(i), int(j), label) for i, j, label in spans), key=lambda span: (span[0], -span[1])
        )
        _check_nesting(ordered, len(words))
        self._fill(words, tags, tuple(ordered), None)

    def _fill(
        self,
        words: tuple[str, ...],
        tags: tuple[str, ...],
        spans: tuple[Span, ...],
        written: dict[int, str] | None,
    ) -> None:
        fill = object.__setattr__
        fill(self, "words", words)
        fill(self, "tags", tags)
        fill(self, "spans", spans)
        fill(self, "_written", written)

    @classmethod
    def _trusted(
        cls,
        words: tuple[str, ...],
        tags: tuple[str, ...],
        spans: tuple[Span, ...],
        written: dict[int, str] | None = None,
    ) -> ConstituencyTree:
        """Build without checks, from parts that this package made itself."""
        tree = cls.__new__(cls)
        tree._fill(words, tags, spans, written)
        return tree

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
        parts = _read_fast(text) or _read_any(text, allow_empty=empties == "strip")
        words, tags, spans = parts
        written = None
        if unescape and ("B-" in text or "\\" in text):
            words, written = _unescape_all(words)
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
        return "".join(_pieces(self, self._words_to_write() if escape else self.words))

    def _words_to_write(self) -> Sequence[str]:
        words = [_escape(word) for word in self.words]
        for index, form in (self._written or {}).items():
            words[index] = form
        return words

    def without_functions(self) -> ConstituencyTree:
        """The tree with function tags and index marks cut off its constituents' labels; tags stay."""
        cut: dict[str, str] = {}
        for _, _, label in self.spans:
            if label not in cut:
                cut[label] = strip_function(label)
        spans = tuple((i, j, cut[label]) for i, j, label in self.spans)
        return self._trusted(self.words, self.tags, spans, self._written)

    def without_empties(self) -> ConstituencyTree:
        """The tree without empty elements (tag -NONE-) and the constituents that held nothing else."""
        if EMPTY_TAG not in self.tags:
            return self
        kept = [index for index, tag in enumerate(self.tags) if tag != EMPTY_TAG]
        return self._keep(kept)

    def _keep(self, kept: Sequence[int]) -> ConstituencyTree:
        """The tree over the words with these indices only."""
        place, count = [0] * (len(self.words) + 1), 0
        for k in range(len(self.words)):
            place[k] = count
            count += count < len(kept) and kept[count] == k
        place[len(self.words)] = count
        spans = tuple((place[i], place[j], label) for i, j, label in self.spans if place[i] < place[j])
        written = self._written
        if written:
            written = {new: written[old] for new, old in enumerate(kept) if old in written}
        return self._trusted(
            tuple(self.words[k] for k in kept), tuple(self.tags[k] for k in kept), spans, written or None
        )

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
        return self._trusted(self.words, self.tags, self.spans[first:], self._written) if first else self

    def with_wrapper(self, label: str = "TOP") -> ConstituencyTree:
        """The tree with `label`, and no other wrapper, around it."""
        bare = self.without_wrapper()
        if not bare.words:
            return bare
        spans = bare.spans
        if len(bare.words) > 1 and spans[0][2] in WRAPPERS:
            spans = spans[1:]  # a wrapper that had to stay gives way to the new one
        return self._trusted(bare.words, bare.tags, ((0, len(bare.words), label), *spans), bare._written)

    def __len__(self) -> int:
        """The number of words."""
        return len(self.words)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstituencyTree):
            return NotImplemented
        return self.spans == other.spans and self.words == other.words and self.tags == other.tags

    def __hash__(self) -> int:
        return hash((self.words, self.tags, self.spans))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a ConstituencyTree does not change; make a new one")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return ConstituencyTree._trusted, (self.words, self.tags, self.spans, self._written)

    def __repr__(self) -> str:
        text = self.brackets()
        return f"ConstituencyTree({text if len(text) <= 200 else text[:197] + '...'!r})"

    def __str__(self) -> str:
        return self.brackets()


_escape = escape  # `brackets` has a parameter of that name


def collapse(tree: ConstituencyTree) -> list[tuple[int, int, Chain]]:
    """Distinct spans in pre-order, each with its unary chain of labels, outermost first.

    >>> collapse(ConstituencyTree.from_brackets("(TOP (S (NP (NN dogs)) (VB bark)))"))
    [(0, 2, ('TOP', 'S')), (0, 1, ('NP',))]
    """
    collapsed: list[tuple[int, int, Chain]] = []
    chain: list[str] = []
    last_i, last_j = 0, -1
    for i, j, label in tree.spans:
        if j == last_j and i == last_i:
            chain.append(label)
        else:
            if chain:
                collapsed.append((last_i, last_j, tuple(chain)))
            chain = [label]
            last_i, last_j = i, j
    if chain:
        collapsed.append((last_i, last_j, tuple(chain)))
    return collapsed


def units(tree: ConstituencyTree) -> tuple[list[tuple[int, int, Chain]], list[int], list[list[int]]]:
    """The tree as nodes: distinct spans, and the words that have none, in pre-order.

    Returns the nodes (i, j, chain), where the chain of a word without constituent is (), each one's parent
    (-1 for the root), and each one's children, as indices.

    >>> units(ConstituencyTree.from_brackets("(S (NP (NN dogs)) (VB bark))"))
    ([(0, 2, ('S',)), (0, 1, ('NP',)), (1, 2, ())], [-1, 0, 0], [[1, 2], [], []])
    """
    nodes = collapse(tree)
    own = [False] * len(tree)
    for i, j, _ in nodes:
        if j - i == 1:
            own[i] = True
    nodes.extend([(k, k + 1, ()) for k, has in enumerate(own) if not has])
    nodes.sort(key=lambda node: (node[0], -node[1]))
    parents: list[int] = []
    children: list[list[int]] = [[] for _ in nodes]
    opened: list[int] = []
    for index, (i, _, _) in enumerate(nodes):
        while opened and nodes[opened[-1]][1] <= i:
            opened.pop()
        if opened:
            parents.append(opened[-1])
            children[opened[-1]].append(index)
        else:
            parents.append(-1)
        opened.append(index)
    return nodes, parents, children


def _unescape_all(words: list[str]) -> tuple[list[str], dict[int, str] | None]:
    """Unescaped words, and how the source wrote those that `escape` would write otherwise."""
    plain, written = [], {}
    for index, word in enumerate(words):
        if "B-" in word or "\\" in word:
            form, word = word, unescape(word)
            if form is not word and escape(word) != form:
                written[index] = form
        plain.append(word)
    return plain, written or None


def _check_nesting(spans: Sequence[Span], n: int) -> None:
    """Spans in pre-order must nest, stay within the sentence, and hang below one root."""
    ends: list[Span] = []
    for span in spans:
        i, j, label = span
        if not 0 <= i < j <= n:
            raise TreeError(f"span ({i}, {j}, {label!r}) does not lie within a sentence of {n} words")
        if not isinstance(label, str):
            raise TreeError(f"the label of span ({i}, {j}) is {label!r}, not a string")
        while ends and ends[-1][1] <= i:
            ends.pop()
        if ends and j > ends[-1][1]:
            raise TreeError(f"spans {ends[-1]} and {span} cross each other")
        ends.append(span)
    if n > 1 and (not spans or spans[0][:2] != (0, n)):
        raise TreeError(f"no constituent covers all {n} words: a tree has one root")


_Parts = tuple[list[str], list[str], list[Span]]


def _read_fast(text: str) -> _Parts | None:
    """Words, tags and spans of a tree whose every word has a tag; None where the text is anything else."""
    words: list[str] = []
    tags: list[str] = []
    spans: list[Any] = []
    opened: list[int] = []
    n = 0
    for label, word, closing, other in _FAST.findall(text):
        if word:
            words.append(word)
            tags.append(label)
            n += 1
            for _ in range(closing.count(")") - 1):
                if not opened:
                    return None
                index = opened.pop()
                i, constituent = spans[index]
                spans[index] = (i, n, constituent)
        elif other:
            return None
        else:
            opened.append(len(spans))
            spans.append((n, intern(label)))
    one_root = spans[0][:2] == (0, n) if spans and not opened else n == 1
    return (words, tags, spans) if one_root and not opened else None


def _read_any(text: str, *, allow_empty: bool) -> _Parts:
    """Read any bracketed tree token by token, or say why it is none."""
    events = _scan(text)
    untagged = any(isinstance(event, _Bracket) and event.words and event.children > 1 for event in events)
    words: list[str] = []
    tags: list[str] = []
    spans: list[Any] = []
    opened: list[int] = []  # where in `spans` the open brackets are; -1 for one that is a tag
    for event in events:
        if isinstance(event, _Bracket):
            if event.words == event.children == 1 and not untagged:
                tags.append(event.label)
                opened.append(-1)
            else:
                opened.append(len(spans))
                spans.append((len(words), event.label))
        elif event is not None:
            words.append(event)
            if len(tags) < len(words):
                tags.append("")
        else:
            index = opened.pop()
            if index < 0:
                continue
            i, label = spans[index]
            if i < len(words):
                spans[index] = (i, len(words), label)
            elif allow_empty or not (opened or label):
                del spans[index:]
            else:
                raise TreeError(f"constituent ({label}) holds no words: {_excerpt(text)}")
    return words, tags, spans


class _Bracket:
    """An opening bracket, with how many children it has, and how many of them are bare words."""

    __slots__ = ("children", "label", "words")

    def __init__(self, label: str) -> None:
        self.label = label
        self.children = 0
        self.words = 0


def _scan(text: str) -> list[_Bracket | str | None]:
    """A bracketed tree as opening brackets, words, and None for closing brackets; refused unless balanced."""
    tokens = _TOKEN.findall(text)
    events: list[_Bracket | str | None] = []
    opened: list[_Bracket] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        place += 1
        if events and not opened:
            what = "a closing bracket without its opening one" if token == ")" else "more text after the tree"
            raise TreeError(f"{what}: {_excerpt(text)}")
        if token[0] == "(":
            bracket = _Bracket("")
            following, after, *_ = *tokens[place : place + 2], ")", ")"
            # "( word)" is a word whose tag is empty, "(LABEL" and "( LABEL (" are brackets with a label.
            if following[0] not in "()" and not (len(token) > 1 and after == ")"):
                bracket.label = following
                place += 1
            if opened:
                opened[-1].children += 1
            opened.append(bracket)
            events.append(bracket)
        elif not opened:
            what = "a closing bracket without its opening one" if token == ")" else "no bracketed tree"
            raise TreeError(f"{what}: {_excerpt(text)}")
        elif token == ")":
            opened.pop()
            events.append(None)
        else:
            opened[-1].children += 1
            opened[-1].words += 1
            events.append(token)
    if opened or not events:
        what = f"{len(opened)} bracket(s) not closed" if opened else "no bracketed tree"
        raise TreeError(f"{what}: {_excerpt(text)}")
    return events


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "..."


def _pieces(tree: ConstituencyTree, words: Sequence[str]) -> Iterator[str]:
    """The pieces of the bracketed text, left to right."""
    tags, spans, n = tree.tags, tree.spans, len(tree.words)
    if not n:
        yield "()"
        return
    bare = _may_stand_bare(tree)
    ends: list[int] = []
    following = 0
    for k in range(n):
        opening = ""
        while following < len(spans) and spans[following][0] == k:
            _, j, label = spans[following]
            opening += f"{' ' if k or following else ''}({_escape(label)}"
            ends.append(j)
            following += 1
        yield opening
        space = " " if ends else ""
        yield f"{space}{words[k]}" if bare else f"{space}({_escape(tags[k])} {words[k]})"
        while ends and ends[-1] == k + 1:
            yield ")"
            ends.pop()


def _may_stand_bare(tree: ConstituencyTree) -> bool:
    """Whether words without tags can be written as such, and still be told from tags when read back."""
    if any(tree.tags) or not tree.spans or not all(label for _, _, label in tree.spans):
        return False
    alone = [False] * len(tree.words)
    for i, j, _ in tree.spans:
        if j == i + 1:
            alone[i] = True
    return not all(alone)
