r"""The language of queries: reading a pattern into nodes and relations.

A node in braces is a word, with tests of its attributes; any other node is a constituent, a tag or
a word by its label. Between two words, relations are those of dependencies, in the signs of
Semgrex; all others are those of the constituency tree, in the signs of tgrep2 and Tregex.
`docs/queries.md` lists both. Patterns are only read here: `tree_query` matches them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn

from arcspan.errors import ArcspanError
from arcspan.lazy import lazy
from arcspan.syntax.expressions import MOST_LETTERS, Expression
from arcspan.syntax.nodes import ARCS, Reach, reach_along_arcs, reach_of

# The attributes of words that a pattern can test, and the column of the trees that holds each.
ATTRIBUTES = {
    "word": "words",
    "lemma": "lemmas",
    "tag": "tags",
    "upos": "upos",
    "features": "features",
    "relation": "relations",
}

_REGEX = r"/(?:\\.|[^/\\])*/"
_SPACE = re.compile(r"(?:\s|#(?=\s).*)*")
_SIGN = re.compile(
    r"(?:<<|>>)[,':#]|[<>]-\d+|[<>][,':#]|[<>]-|[<>]\d+|<<|>>|[<>]|[$%](?:\.\.|,,|\+\+|--|[.,+-])?|\.\.|,,|--|[.,-]"
)
_LABEL = re.compile(
    rf"\*|i@{_REGEX}|i@\"(?:\\.|[^\"\\])*\"|{_REGEX}i?|\"(?:\\.|[^\"\\])*\"|"
    r"[^\]\[\s;:.,&|<>()$!@%'^={}]+"
)
_ATTRIBUTE = re.compile(
    rf"\s*(?:(?P<root>\$)\s*|(?P<name>\w+)\s*:\s*(?!\s)(?:(?P<regex>{_REGEX}i?)\s*|(?P<plain>[^;}}]*)))(?=[;}}])"
)
_RELATION = re.compile(rf"{_REGEX}i?|[\w:-]+(?:\|[\w:-]+)*")
_NAMED = re.compile(r"\s*=\s*(?P<name>\w+)")
_NAME = re.compile(r"\w+")
_NESTING = 50
# Signs that may name the relation of an arc.
_LABELLED_SIGNS = (">", "<", ">>", "<<")
# Signs of the same meaning.
_SYNONYMS = {"%": "$", "$+": "$.", "$-": "$,", "$++": "$..", "$--": "$,,", "-": ",", "--": ",,"}
_SYNONYMS |= {"<'": "<-1", ">'": ">-1", "<-": "<-1", ">-": ">-1", "<,": "<1", ">,": ">1"}


@dataclass(frozen=True)
class PatternNode:
    """A node of a pattern: it passes one of the tests of its label and all tests of a word's
    attributes.

    same     the name of another node that it is
    inner    a node in round brackets
    negated  no test may be passed
    any      it has no test
    """

    labels: tuple[Expression, ...] = ()
    words: tuple[tuple[str, Expression], ...] = ()
    is_root: bool = False
    same: str = ""
    inner: PatternNode | None = None
    negated: bool = False
    name: str = ""
    relations: Relation | Relations | None = None
    is_word: bool = False
    any: bool = False

    @lazy
    def label_set(self) -> frozenset[str] | None:
        """Return the labels that the node may have; None if they cannot be listed."""
        if self.any or self.negated:
            return None
        if self.inner is not None:
            return self.inner.label_set
        values = [label.values for label in self.labels]
        # A regular expression has no values.
        return frozenset().union(*values) if values and all(values) else None


@dataclass(frozen=True)
class Relation:
    """A node is related to another.

    reach      leads to the nodes to try
    label      the relation of an arc
    has_names  a node that it leads to has a name
    """

    reach: Reach
    node: PatternNode
    label: Expression | None
    has_names: bool


@dataclass(frozen=True)
class Relations:
    """Relations that hold all ("&") or of which one holds ("|"), or that do not ("!")."""

    sign: str
    parts: tuple[Relation | Relations, ...]


class Pattern:
    """A whole pattern, read from left to right; ArcspanError points at the first mistake.

    node      the node whose matches are returned
    further   relations of named nodes
    names     of nodes, each with True for a word
    literals  values that are compared as they are, by attribute; "label" for those of constituents
    layers    the trees that it needs: "constituency", "dependency"
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        # How often names were mentioned up to the position: a relation that mentions one has
        # several matches.
        self.mentions = 0
        # In the classes of all regular expressions: compiling many of them may take seconds.
        self.letters_left = MOST_LETTERS
        self.names: dict[str, bool] = {}
        self.literals: dict[str, set[str]] = {}
        self.layers: set[str] = set()
        self.node = self._related()
        self.further: list[tuple[str, Relation | Relations]] = []
        while self._take(":"):
            if not self._take("="):
                self.refuse("a named node such as =n should be here")
            name = self._defined_name()
            self.further.append((name, self._relations(self.names[name])))
        if self._peek():
            self.refuse("a relation or the end should be here")

    def _related(self) -> PatternNode:
        """Read a node with its relations."""
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
        elif self._take("{"):
            node = self._word()
        else:
            node = self._labels()
        if match := self._match(_NAMED):
            if negated:
                self.refuse("a node that is not there cannot have a name")
            node = replace(node, name=match["name"])
            self.mentions += 1
            self.names[node.name] = node.is_word
        return replace(node, negated=negated)

    def _labels(self) -> PatternNode:
        """Read the labels of a node, with | between them."""
        self.layers.add("constituency")
        labels: list[Expression] = []
        any_label = False
        match = self._match(_LABEL)
        if match is None:
            self.refuse("a label such as NP, or a word such as {lemma:be}, should be here")
        while match is not None:
            if match[0] in ("*", "__"):
                any_label = True
            else:
                labels.append(self._label(match))
            self._peek()
            end = self.position
            match = self._match(_LABEL) if self._take("|") and self._peek() else None
        # A | without a label after it is one between relations.
        self.position = end
        return PatternNode(labels=tuple(labels), any=any_label)

    def _label(self, match: re.Match[str]) -> Expression:
        label = match[0].removeprefix("i@")
        ignore_case = label != match[0]
        if label[0] == "/":
            return self._regex(label, match.start(), anywhere=True, ignore_case=ignore_case)
        if label[0] == '"':
            label = re.sub(r"\\(.)", r"\1", label[1:-1])
        if ignore_case:
            return Expression(re.escape(label), ignore_case=True)
        return self._literals("label", label)

    def _word(self) -> PatternNode:
        """Read the tests of a word in braces."""
        tests: list[tuple[str, Expression]] = []
        is_root = False
        while not self._take("}"):
            match = self._match(_ATTRIBUTE)
            if match is None:
                self.refuse("an attribute such as tag:NN, or }, should be here")
            name, regex = match["name"], match["regex"]
            if name not in ("word", "tag"):
                self.layers.add("dependency")
            if name is None:
                is_root = True
            elif name not in ATTRIBUTES and not name[0].isupper():
                self.refuse(
                    f"words have no {name!r}; a pattern can ask for {', '.join(ATTRIBUTES)}, "
                    "and for features by their names, such as Number",
                    match.start("name"),
                )
            elif regex is not None:
                tests.append((name, self._regex(regex, match.start("regex"))))
            else:
                tests.append((name, self._literals(name, match["plain"].rstrip())))
            self._take(";")
        return PatternNode(words=tuple(tests), is_root=is_root, is_word=True)

    def _relations(self, of_word: bool) -> Relation | Relations:
        """Read a disjunction of conjunctions."""
        choices = [self._conjunction(of_word)]
        while self._take("|"):
            choices.append(self._conjunction(of_word))
        return choices[0] if len(choices) == 1 else Relations("|", tuple(choices))

    def _conjunction(self, of_word: bool) -> Relation | Relations:
        parts = [self._relation(of_word)]
        while self._take("&") or (self._peek() and self._peek() not in ")]|:"):
            parts.append(self._relation(of_word))
        return parts[0] if len(parts) == 1 else Relations("&", tuple(parts))

    def _relation(self, of_word: bool) -> Relation | Relations:
        if self._take("!"):
            with self._deeper():
                return Relations("!", (self._relation(of_word),))
        if self._take("["):
            with self._deeper("]"):
                return self._relations(of_word)
        start, mentions = self.position, self.mentions
        match = self._match(_SIGN)
        if match is None:
            self.refuse("a relation such as < or >obj should be here")
        written = match[0]
        # The number of a child.
        if len(written) > 10:
            self.refuse("a smaller number should be here", start)
        label = self._arc_label() if of_word and written in _LABELLED_SIGNS else None
        self._peek()
        node = self._node()
        between_words = of_word and node.is_word
        if written in ("-", "--") and not between_words:
            self.refuse("- and -- are relations between two words", start)
        sign = _SYNONYMS.get(written, written)
        along_arcs = between_words and sign in ARCS
        if along_arcs:
            self.layers.add("dependency")
            reach = reach_along_arcs(sign, label)
        elif label is not None:
            self.refuse("a relation with a name should lead to a word in braces", start)
        else:
            reach = reach_of(sign, to_word=node.is_word)
        return Relation(reach, node, label, self.mentions > mentions)

    def _arc_label(self) -> Expression | None:
        """Read the name of a dependency relation, which follows the sign without a space."""
        match = self._match(_RELATION)
        if match is None:
            return None
        if match[0][0] == "/":
            return self._regex(match[0], match.start())
        return self._literals("relation", *match[0].split("|"))

    def _literals(self, attribute: str, *values: str) -> Expression:
        self.literals.setdefault(attribute, set()).update(values)
        return Expression(values)

    def _regex(
        self, text: str, start: int, *, anywhere: bool = False, ignore_case: bool = False
    ) -> Expression:
        """Compile a regular expression between slashes."""
        source = text.removesuffix("i")
        ignore_case |= source != text
        try:
            expression = Expression(
                source[1:-1],
                anywhere=anywhere,
                ignore_case=ignore_case,
                most_letters=self.letters_left,
            )
        except ValueError as error:
            self.refuse(f"{text} is not a regular expression that can be used: {error}", start)
        self.letters_left -= expression.letters
        return expression

    def _defined_name(self) -> str:
        start = self.position
        match = self._match(_NAME)
        if match is None or match[0] not in self.names:
            self.refuse("the name of a node that comes before should be here", start)
        self.mentions += 1
        return match[0]

    def _match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        match = expression.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        return match

    def _peek(self) -> str:
        """Skip spaces and comments and return the next character."""
        self._match(_SPACE)
        return self.text[self.position : self.position + 1]

    def _take(self, sign: str) -> bool:
        """Read a character if it is next."""
        is_next = self._peek() == sign
        if is_next:
            self.position += 1
        return is_next

    @contextmanager
    def _deeper(self, end: str = "") -> Iterator[None]:
        """Read something negated, or in brackets up to the sign that ends it."""
        self.depth += 1
        # Patterns are read and matched by recursion.
        if self.depth > _NESTING:
            self.refuse(f"brackets and negations may be {_NESTING} deep")
        yield
        if end and not self._take(end):
            self.refuse(f"{end} should be here")
        self.depth -= 1

    def refuse(self, reason: str, position: int | None = None) -> NoReturn:
        """Raise ArcspanError with a mark under the position; by default, the one read up to."""
        if position is None:
            position = self.position
        line = self.text.replace("\n", " ")
        start = max(0, position - 60)
        excerpt = f"  {line[start : position + 40]}\n  {' ' * (position - start)}^"
        raise ArcspanError(f"the pattern cannot be read: {reason}\n{excerpt}")


Requirement = tuple[str, frozenset[str]]
"""An attribute, or "label", and the values of which a tree must have one for a pattern to match."""


def _required_by_relations(relations: Relation | Relations | None) -> Iterator[Requirement]:
    if isinstance(relations, Relation):
        if relations.label is not None and relations.label.values:
            yield "relation", relations.label.values
        yield from required(relations.node)
    # Of alternatives none is required, and of negated relations nothing.
    elif relations is not None and relations.sign == "&":
        for part in relations.parts:
            yield from _required_by_relations(part)


def required(node: PatternNode) -> Iterator[Requirement]:
    """Yield what a tree must have for a node to be there."""
    if not node.negated:
        if node.label_set is not None:
            yield "label", node.label_set
        for name, expression in node.words:
            if name in ATTRIBUTES and expression.values:
                yield name, expression.values
        if node.inner is not None:
            yield from required(node.inner)
    yield from _required_by_relations(node.relations)
