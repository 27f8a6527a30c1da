r"""Patterns over trees: constituents in the language of tgrep, words and arcs in a part of Semgrex's.

Constituents are found by nltk's tgrep (the extra `nltk`): `NP < PP` is an NP right above a PP, `VP << /^VB/` a VP
somewhere above a tag that begins with VB. Whatever nltk's tgrep reads can be asked.

Dependencies are found by a matcher of our own, which knows this much of Semgrex, the language of Stanford's CoreNLP:

    {}   {word:dog}   {lemma:be;tag:/VB.*/}   {upos:NOUN}=name   !{tag:DT}   {$}     a word ($: the root)
    A > B    A >obj B    A >/nsubj.*/ B    A >> B     B is a dependent of A (by this relation; at any distance)
    A < B    A <obj B    A << B                       A is a dependent of B
    A . B    A .. B    A - B    A -- B                A is right before B, before, right after, after
    A $++ B    A $-- B                                A and B have one head, A is before B, after
    !>obj {}                                          there is no such word

Values and relations are whole strings, or regular expressions between slashes that must fit the whole. All relations
are those of the first word: `{tag:VBD} >nsubj {} >obj {}` is one verb with two dependents; round brackets give another
word relations of its own: `{} >obj ({} >amod {})`. There is no disjunction of relations and no optional part.

>>> from arcspan.trees import DependencyTree
>>> tree = DependencyTree([2, 0, 4, 2], ["nsubj", "root", "det", "obj"], ["Ada", "sees", "a", "tree"])
>>> find_words(tree, "{} >nsubj {}=subject >obj ({} !>amod {})=object")
[Match(word=2, names={'subject': 1, 'object': 4})]
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from arcspan.errors import ArcspanError, MissingExtraError
from arcspan.trees.nltk_tree import to_nltk

if TYPE_CHECKING:
    from arcspan.trees.bracketed_text import LabelledSpan
    from arcspan.trees.constituency import ConstituencyTree
    from arcspan.trees.dependency import DependencyTree


def find_constituents(tree: ConstituencyTree, pattern: str) -> list[LabelledSpan]:
    """The nodes that a tgrep pattern matches, as spans (i, j, label), top-down; tags and words are nodes too.

    >>> from arcspan.trees import ConstituencyTree
    >>> tree = ConstituencyTree.from_brackets("(S (NP (NP (NN fish)) (PP (IN in) (NN oil))) (VP (VBZ smells)))")
    >>> find_constituents(tree, "NP < PP")
    [(0, 3, 'NP')]
    """
    matches = _tgrep(pattern)  # first, so that a wrong pattern is refused whatever the tree
    if not len(tree):
        return []
    from nltk import ParentedTree

    nodes = ParentedTree.convert(to_nltk(tree))
    leaves = nodes.treepositions("leaves")
    found = []
    for place in matches(nodes):
        inside = [k for k, leaf in enumerate(leaves) if leaf[: len(place)] == place]
        node = nodes[place]
        label = node if isinstance(node, str) else node.label()
        found.append((inside[0], inside[-1] + 1, str(label)))
    return found


@lru_cache
def _tgrep(pattern: str) -> Callable[[Any], list[tuple[int, ...]]]:
    try:
        import pyparsing
        from nltk import tgrep
    except ImportError:
        raise MissingExtraError("searching for constituents", "nltk") from None
    try:
        with warnings.catch_warnings():  # nltk calls pyparsing by its old names
            warnings.simplefilter("ignore", DeprecationWarning)
            compiled = tgrep.tgrep_compile(pattern)
    except pyparsing.ParseBaseException as error:
        where = f"from {pattern[error.loc :]!r} on" if pattern[error.loc :] else "at its end"
        raise ArcspanError(f"the pattern {pattern!r} is not one of tgrep's {where}") from None
    except (tgrep.TgrepException, re.error, RecursionError, OverflowError) as error:
        raise ArcspanError(f"the pattern {pattern!r} is not one of tgrep's: {error}") from None
    return lambda nodes: next(iter(tgrep.tgrep_positions(compiled, [nodes])))


# What a pattern can ask of a word, and the column of the tree that holds it.
ATTRIBUTES = {
    "word": "words",
    "lemma": "lemmas",
    "tag": "tags",
    "upos": "upos",
    "features": "features",
    "relation": "relations",
}


class Match(NamedTuple):
    """Where a pattern fits: its first word, and the words of the named parts; words count from 1."""

    word: int
    names: dict[str, int]


def find_words(tree: DependencyTree, pattern: str) -> list[Match]:
    """The words that a dependency pattern matches, in their order; one match for each choice of named words."""
    return _Finder(tree).find(_read(pattern))


class _Part(NamedTuple):
    """A word of a pattern: what is asked of it, and of its relations to others."""

    tests: tuple[tuple[str, re.Pattern[str]], ...]
    is_root: bool
    negated: bool
    name: str
    links: tuple[_Link, ...]
    has_names: bool


class _Link(NamedTuple):
    """A relation of a pattern: its sign, the arc's relation, the word at its other end."""

    sign: str
    relation: re.Pattern[str] | None
    negated: bool
    part: _Part


class _Finder:
    """The search in one tree."""

    def __init__(self, tree: DependencyTree) -> None:
        self.heads = tree.heads
        self.columns = {name: getattr(tree, column) for name, column in ATTRIBUTES.items()}
        self.children: list[list[int]] = [[] for _ in range(len(tree) + 1)]
        for m, head in enumerate(tree.heads, 1):
            self.children[head].append(m)

    def find(self, part: _Part) -> list[Match]:
        found: dict[tuple[Any, ...], Match] = {}
        for word in range(1, len(self.heads) + 1):
            for names in self._fit(part, word, {}):
                found.setdefault((word, *sorted(names.items())), Match(word, names))
        return list(found.values())

    def _fit(self, part: _Part, word: int, names: dict[str, int]) -> Iterator[dict[str, int]]:
        """The ways in which a word can be this part, each as the names that are known then."""
        if self._is(part, word) == part.negated or names.get(part.name, word) != word:
            return
        yield from self._follow(part.links, word, {**names, part.name: word} if part.name else names)

    def _follow(self, links: tuple[_Link, ...], word: int, names: dict[str, int]) -> Iterator[dict[str, int]]:
        if not links:
            yield names
            return
        link, *rest = links
        ways = (way for other in self._reach(link, word) for way in self._fit(link.part, other, names))
        if link.negated or not link.part.has_names:  # it only matters whether there is one
            if any(True for _ in ways) != link.negated:
                yield from self._follow(tuple(rest), word, names)
            return
        for way in ways:
            yield from self._follow(tuple(rest), word, way)

    def _is(self, part: _Part, word: int) -> bool:
        if part.is_root and self.heads[word - 1]:
            return False
        return all(pattern.fullmatch(self.columns[name][word - 1]) for name, pattern in part.tests)

    def _reach(self, link: _Link, word: int) -> Iterator[int]:
        """The words at the other end of a relation."""
        n, head = len(self.heads), self.heads[word - 1]
        if link.sign in (">", ">>"):
            waiting = list(reversed(self.children[word]))
            while waiting:
                m = waiting.pop()
                if self._has(link, m):
                    yield m
                if link.sign == ">>":
                    waiting += reversed(self.children[m])
        elif link.sign in ("<", "<<"):
            while head:
                if self._has(link, word):
                    yield head
                word, head = (head, self.heads[head - 1]) if link.sign == "<<" else (word, 0)
        elif link.sign in (".", "-"):
            beside = word + 1 if link.sign == "." else word - 1
            yield from [beside] if 1 <= beside <= n else []
        elif link.sign in ("..", "--"):
            yield from range(word + 1, n + 1) if link.sign == ".." else range(1, word)
        elif head:
            yield from (m for m in self.children[head] if (m > word if link.sign == "$++" else m < word))

    def _has(self, link: _Link, m: int) -> bool:
        return link.relation is None or link.relation.fullmatch(self.columns["relation"][m - 1]) is not None


# ------------------------------------------------------------------------------------------ reading a pattern

_SPACE = re.compile(r"[\s&]*")
_ATTRIBUTE = re.compile(r"\s*(?:(\$)|(\w+)\s*:\s*(/(?:\\.|[^/\\])*/|[^;}]*?))\s*(?=[;}])")
_NAME = re.compile(r"\s*=\s*(\w+)")
_SIGN = re.compile(r"(!?)\s*(>>|<<|>|<|\.\.|\.|--|-|\$\+\+|\$--)")
_RELATION = re.compile(r"/(?:\\.|[^/\\])*/|[^\s/(){}!=&]+")


@lru_cache
def _read(pattern: str) -> _Part:
    return _Reader(pattern).read()


class _Reader:
    """A pattern from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self) -> _Part:
        part = self._part()
        if self._peek():
            self._refuse("a relation such as >obj, or the end")
        return part

    def _part(self) -> _Part:
        """A word and, unless it is in brackets of its own, what it is related to."""
        part = self._word()
        links = []
        while self._peek() and self._peek() != ")":
            links.append(self._link())
        return part._replace(
            links=part.links + tuple(links),
            has_names=part.has_names or any(link.part.has_names for link in links),
        )

    def _word(self) -> _Part:
        if self._take("("):
            part = self._part()
            self._expect(")")
        else:
            negated = self._take("!")
            self._expect("{")
            tests, is_root = self._attributes()
            part = _Part(tests, is_root, negated, "", (), False)
        if name := self._match(_NAME):
            part = part._replace(name=name[1], has_names=True)
        return part

    def _attributes(self) -> tuple[tuple[tuple[str, re.Pattern[str]], ...], bool]:
        tests: list[tuple[str, re.Pattern[str]]] = []
        is_root = False
        while not self._take("}"):
            found = self._match(_ATTRIBUTE)
            if found is None:
                self._refuse("an attribute such as tag:NN")
            is_root |= found[1] is not None
            if found[2]:
                if found[2] not in ATTRIBUTES:
                    raise ArcspanError(
                        f"words have no {found[2]!r}; a pattern can ask for {', '.join(ATTRIBUTES)}"
                    )
                tests.append((found[2], self._compile(found[3])))
            self._take(";")
        return tuple(tests), is_root

    def _link(self) -> _Link:
        sign = self._match(_SIGN)
        if sign is None:
            self._refuse("a relation such as >obj")
        relation = self._match(_RELATION) if sign[2][0] in "<>" else None
        compiled = self._compile(relation[0]) if relation else None
        return _Link(sign[2], compiled, bool(sign[1]), self._word())

    def _compile(self, value: str) -> re.Pattern[str]:
        if len(value) < 2 or value[0] != "/":
            return re.compile(re.escape(value))
        try:
            return re.compile(value[1:-1])
        except (re.error, RecursionError, OverflowError) as error:
            raise ArcspanError(
                f"{value} in the pattern {self.text!r} is not a regular expression: {error}"
            ) from None

    def _match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        found = expression.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def _peek(self) -> str:
        self._match(_SPACE)
        return self.text[self.at : self.at + 1]

    def _take(self, sign: str) -> bool:
        taken = self._peek() == sign
        self.at += taken
        return taken

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            self._refuse(f"{sign!r}")

    def _refuse(self, wanted: str) -> NoReturn:
        rest = self.text[self.at : self.at + 20]
        found = f"{rest!r} stands" if rest else "it ends"
        raise ArcspanError(f"the pattern {self.text!r} should have {wanted} where {found}")
