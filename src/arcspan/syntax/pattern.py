r"""The language of queries: reading a pattern into nodes and relations.

A node in braces is a word, with what is asked of it; any other node is a constituent, a tag or a word by its label.
Between two words, relations are those of dependencies, in the signs of Semgrex; all others are those of the
constituency tree, in the signs of tgrep2 and Tregex. `docs/queries.md` lists both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn

from arcspan.errors import ArcspanError
from arcspan.syntax.expressions import Expression

# What a pattern can ask of a word, and the column of the trees that holds it.
ATTRIBUTES = {
    "word": "words",
    "lemma": "lemmas",
    "tag": "tags",
    "upos": "upos",
    "features": "features",
    "relation": "relations",
}

_SPACE = re.compile(r"(?:\s|#(?=\s).*)*")
_SIGN = re.compile(
    r"(?:<<|>>)[,':#]|[<>]-\d+|[<>][,':#]|[<>]-|[<>]\d+|<<|>>|[<>]|[$%](?:\.\.|,,|\+\+|--|[.,+-])?|\.\.|,,|--|[.,-]"
)
_LABEL = re.compile(
    r"\*|i@/(?:\\.|[^/\\])*/|i@\"(?:\\.|[^\"\\])*\"|/(?:\\.|[^/\\])*/i?|\"(?:\\.|[^\"\\])*\"|"
    r"[^\]\[\s;:.,&|<>()$!@%'^={}]+"
)
_ATTRIBUTE = re.compile(
    r"\s*(?:(\$)\s*|(\w+)\s*:\s*(?!\s)(?:(?P<regex>/(?:\\.|[^/\\])*/i?)\s*|(?P<plain>[^;}]*)))(?=[;}])"
)
_RELATION = re.compile(r"/(?:\\.|[^/\\])*/i?|[\w:-]+(?:\|[\w:-]+)*")
_NAME = re.compile(r"\s*=\s*(\w+)")
_NESTING = 50
_SAME = {"%": "$", "$+": "$.", "$-": "$,", "$++": "$..", "$--": "$,,", "<'": "<-1", ">'": ">-1", "<-": "<-1"} | {
    ">-": ">-1", "<,": "<1", ">,": ">1", "-": ",", "--": ",,"
}  # fmt: skip


@dataclass(frozen=True)
class PatternNode:
    """A node of a pattern: any of its tests must hold (none may, where negated), and what it is related to.

    labels, words   tests of a label; tests of a word's attributes, all of which must hold
    same            the name of another node that it is
    inner           a node in round brackets
    """

    labels: tuple[Expression, ...] = ()
    words: tuple[tuple[str, Expression], ...] = ()
    is_root: bool = False
    same: str = ""
    inner: PatternNode | None = None
    negated: bool = False
    name: str = ""
    relations: Relations | None = None
    is_word: bool = False
    any: bool = False


@dataclass(frozen=True)
class Relation:
    """A node is related to another; `label` is the relation of an arc, `named`: a node it leads to has a name."""

    sign: str
    node: PatternNode
    label: Expression | None
    between_words: bool
    named: bool


@dataclass(frozen=True)
class Relations:
    """Relations that hold all ("&") or of which one holds ("|"), or that do not ("!")."""

    sign: str
    parts: tuple[Relation | Relations, ...]


class Pattern:
    """A whole query, read from left to right; ArcspanError points at the place where it is not one.

    node      the node that is found
    further   relations of named nodes
    names     of nodes, each with whether it is a word
    literals  values that are compared as they are, by attribute; "label" for those of constituents
    layers    the trees that it asks for: "constituency", "dependency"
    """

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth, self.mentions = text, 0, 0, 0  # mentions of names so far
        self.names: dict[str, bool] = {}
        self.literals: dict[str, set[str]] = {}
        self.layers: set[str] = set()
        self.node = self._related()
        self.further: list[tuple[str, Relations]] = []
        while self._take(":"):
            if not self._take("="):
                self.refuse("a named node such as =n should be here")
            name = self._defined_name()
            self.further.append((name, self._relations(self.names[name])))
        if self._peek():
            self.refuse("a relation or the end should be here")

    def _related(self) -> PatternNode:
        """A node and what it is related to."""
        node = self._node()
        if self._peek() and self._peek() not in ")]:|":
            node = replace(node, relations=self._relations(node.is_word))
        elif self._peek() == "|":
            self.refuse("a node should be after this |")
        return node

    def _node(self) -> PatternNode:
        negated = self._take("!")
        if self._take("("):
            with self._deeper(")"):
                inner = self._related()
            node = PatternNode(inner=inner, is_word=inner.is_word)
        elif self._take("="):
            name = self._defined_name()
            return PatternNode(same=name, is_word=self.names[name], negated=negated)
        elif self._peek() == "{":
            node = self._word()
        else:
            node = self._labels()
        if found := self._match(_NAME):
            if negated:
                self.refuse("a node that is not there cannot have a name")
            node = replace(node, name=found[1])
            self.mentions += 1
            self.names[found[1]] = node.is_word
        return replace(node, negated=negated)

    def _labels(self) -> PatternNode:
        self.layers.add("constituency")
        found = self._match(_LABEL)
        if found is None:
            self.refuse("a label such as NP, or a word such as {lemma:be}, should be here")
        labels, any_label = [], False
        while found is not None:
            if found[0] in ("*", "__"):
                any_label = True
            else:
                labels.append(self._label(found[0], found.start()))
            self._peek()
            back = self.at
            found = self._match(_LABEL) if self._take("|") and self._peek() else None
        self.at = back
        return PatternNode(labels=tuple(labels), any=any_label)

    def _label(self, value: str, start: int) -> Expression:
        any_case = value.startswith("i@")
        value = value.removeprefix("i@")
        if value[0] == "/":
            return self._compile(value, start, anywhere=True, any_case=any_case)
        if value[0] == '"':
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        return self._literal("label", value, any_case=any_case)

    def _word(self) -> PatternNode:
        self._take("{")
        tests: list[tuple[str, Expression]] = []
        is_root = False
        while not self._take("}"):
            found = self._match(_ATTRIBUTE)
            if found is None:
                self.refuse("an attribute such as tag:NN, or }, should be here")
            is_root |= found[1] is not None
            if found[2] not in ("word", "tag"):
                self.layers.add("dependency")
            if name := found[2]:
                if name not in ATTRIBUTES and not name[0].isupper():
                    self.refuse(f"words have no {name!r}; a pattern can ask for {', '.join(ATTRIBUTES)}, and "
                                "for features by their names, such as Number", found.start(2))  # fmt: skip
                if found["regex"] is not None:
                    tests.append(
                        (name, self._compile(found["regex"].rstrip(), found.start("regex")))
                    )
                else:
                    tests.append((name, self._literal(name, found["plain"].rstrip())))
            self._take(";")
        return PatternNode(words=tuple(tests), is_root=is_root, is_word=True)

    def _relations(self, of_word: bool) -> Relations:
        """A disjunction of conjunctions."""
        choices = [self._conjunction(of_word)]
        while self._take("|"):
            choices.append(self._conjunction(of_word))
        return choices[0] if len(choices) == 1 else Relations("|", tuple(choices))

    def _conjunction(self, of_word: bool) -> Relations:
        parts = [self._relation(of_word)]
        while self._take("&") or (self._peek() and self._peek() not in ")]|:"):
            parts.append(self._relation(of_word))
        return Relations("&", tuple(parts))

    def _relation(self, of_word: bool) -> Relation | Relations:
        if self._take("!"):
            with self._deeper():
                return Relations("!", (self._relation(of_word),))
        if self._take("["):
            with self._deeper("]"):
                return self._relations(of_word)
        start, mentions = self.at, self.mentions
        sign = self._match(_SIGN)
        if sign is None:
            self.refuse("a relation such as < or >obj should be here")
        if len(sign[0]) > 10:
            self.refuse("a smaller number should be here", start)
        label = self._arc_label() if of_word and sign[0] in (">", "<", ">>", "<<") else None
        self._peek()
        node = self._node()
        found = _SAME.get(sign[0], sign[0])
        if sign[0] in ("-", "--") and not (of_word and node.is_word):
            self.refuse("- and -- are relations between two words", start)
        dependency = of_word and node.is_word and found in (">", "<", ">>", "<<", "$..", "$,,")
        if label is not None and not dependency:
            self.refuse("a relation with a name should lead to a word in braces", start)
        if dependency:
            self.layers.add("dependency")
        return Relation(found, node, label, dependency, self.mentions > mentions)

    def _arc_label(self) -> Expression | None:
        """The name of a dependency relation, which follows the sign without a space."""
        found = self._match(_RELATION)
        if found is not None and found[0][0] == "/":
            return self._compile(found[0], found.start())
        return None if found is None else self._literal("relation", *found[0].split("|"))

    def _literal(self, of: str, *values: str, any_case: bool = False) -> Expression:
        if not any_case:
            self.literals.setdefault(of, set()).update(values)
        return Expression(values, ignore_case=any_case)

    def _compile(
        self, value: str, start: int, *, anywhere: bool = False, any_case: bool = False
    ) -> Expression:
        """A regular expression between slashes."""
        try:
            source = value.removesuffix("i")[1:-1]
            return Expression(source, anywhere=anywhere, ignore_case=any_case or value[-1] == "i")
        except ValueError as error:
            self.refuse(f"{value} is not a regular expression that can be used: {error}", start)

    def _defined_name(self) -> str:
        start, found = self.at, self._match(re.compile(r"\w+"))
        if found is None or found[0] not in self.names:
            self.refuse("the name of a node that comes before should be here", start)
        self.mentions += 1
        return found[0]

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

    @contextmanager
    def _deeper(self, end: str = "") -> Iterator[None]:
        """What is in brackets, up to the sign that ends it, or negated."""
        self.depth += 1
        if self.depth > _NESTING:
            self.refuse(f"brackets and negations may be {_NESTING} deep")
        yield
        if end and not self._take(end):
            self.refuse(f"{end} should be here")
        self.depth -= 1

    def refuse(self, reason: str, at: int | None = None) -> NoReturn:
        """Point at the place, which is where reading has come to unless it is given."""
        self.at = self.at if at is None else at
        line = " ".join(self.text.split("\n"))
        start = max(0, self.at - 60)
        shown = f"  {line[start : self.at + 40]}\n  {' ' * (self.at - start)}^"
        raise ArcspanError(f"the pattern cannot be read: {reason}\n{shown}")


def literals_of(relations: Relations | None) -> Iterator[tuple[str, frozenset[str]]]:
    """What a tree must have for these relations to hold: sets of values of which one must occur, by attribute."""
    for part in relations.parts if relations is not None and relations.sign == "&" else ():
        if isinstance(part, Relations):
            yield from literals_of(part)
        else:
            if part.label is not None and part.label.values:
                yield "relation", part.label.values
            yield from needed(part.node)


def needed(node: PatternNode) -> Iterator[tuple[str, frozenset[str]]]:
    """What a tree must have for a node to be there."""
    if not node.negated:
        if (values := label_set(node)) is not None:
            yield "label", values
        for name, value in node.words:
            if name in ATTRIBUTES and value.values:
                yield name, value.values
        if node.inner is not None:
            yield from needed(node.inner)
    yield from literals_of(node.relations)


def label_set(node: PatternNode) -> frozenset[str] | None:
    """The labels that a node may have, where they are known."""
    if node.inner is not None and not node.negated:
        return label_set(node.inner)
    if (
        node.any
        or node.negated
        or not node.labels
        or not all(label.values for label in node.labels)
    ):
        return None
    return frozenset().union(*(label.values for label in node.labels))
