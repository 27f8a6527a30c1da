"""A sentence as the definitions of this room see it: both trees, indexed by word, and phrases as parts of it.

Words are 1..n, spans are fenceposts (i, j) that cover the words i+1..j. The trees need not fit each other: a
constituent is headed by a word here when the word is in it and the word's head is not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from arcspan.errors import ArcspanError
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.dependency import extents

Range = tuple[int, int]
"""A span (i, j): the words i+1..j."""

NOUN_PHRASES = frozenset({"NP", "WHNP", "NML", "NX", "NAC"})
NOUNS = frozenset({"NOUN", "PROPN", "PRON", "SYM"})
VERBS = frozenset({"VERB", "AUX"})
# Relations of words inside the noun phrase of their head.
PARTS = frozenset(
    {"det", "amod", "nummod", "nmod", "compound", "flat", "fixed", "goeswith", "acl", "appos"}
) | {*("clf", "advmod", "conj", "cc", "dep", "predet", "poss", "obl")}
_PAIRS = [
    frozenset(pair.split()) for pair in ("( )", "[ ]", "{ }", "“ ”", "‘ ’", "`` ''", "« »", '"')
]
_UPOS = {"NN": "NOUN", "PR": "PRON", "WP": "PRON", "VB": "VERB", "MD": "AUX"}
_UPOS |= {"JJ": "ADJ", "RB": "ADV", "CD": "NUM"}


class Word(NamedTuple):
    """A word of a sentence that has trees but no parser's tokens."""

    position: int
    text: str


class Text:
    """The words of a sentence, and where they are from.

    tokens      what phrases give as their tokens and heads, one per word; `Word`s where nothing is given
    text        the sentence as it was written
    offsets     (start, end) of every word in the document that the sentence is from
    confidence  a function that gives the `Confidence` of the parse, or None
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        tokens: Sequence[Any] | None = None,
        text: str | None = None,
        offsets: Sequence[Range] | None = None,
        confidence: Callable[[], Any] = lambda: None,
    ) -> None:
        self.words = ("", *words)
        self.tokens = tokens or [Word(m, word) for m, word in enumerate(words, 1)]
        self.text, self.offsets, self.confidence = text, offsets, confidence


class TreeIndex(Text):
    """Both trees of a sentence. Without constituents the dependencies decide everything."""

    def __init__(
        self,
        constituency: ConstituencyTree | None,
        dependencies: DependencyTree | None,
        **of_text: Any,
    ) -> None:
        if dependencies is None:
            what = "clauses and phrases need a dependency tree"
            raise ArcspanError(f"{what}; arcspan.trees.convert makes one of constituents")
        tree = dependencies
        super().__init__(tree.words, **of_text)
        self.n = len(tree)
        self.lemmas, self.tags, self.features = (
            ("", *tree.lemmas),
            ("", *tree.tags),
            ("", *tree.features),
        )
        self.upos = (
            "",
            *(u or _UPOS.get(t[:2], "") for u, t in zip(tree.upos, tree.tags, strict=True)),
        )
        self.heads, self.full_relations = (0, *tree.heads), ("", *tree.relations)
        self.relations = tuple(relation.partition(":")[0] for relation in self.full_relations)
        self.children: list[list[int]] = [[] for _ in range(self.n + 1)]
        for m in range(1, self.n + 1):
            self.children[self.heads[m]].append(m)
        self.left, self.right, _ = extents(tree.heads)
        self.spans = (
            constituency.spans if constituency is not None and len(constituency) == self.n else ()
        )

    def with_relation(self, h: int, *relations: str) -> list[int]:
        """The dependents of a word by one of these relations, subtypes aside."""
        return [m for m in self.children[h] if self.relations[m] in relations]

    def has_feature(self, m: int, *features: str) -> bool:
        """Whether a word has one of these features, such as "VerbForm=Fin"."""
        return any(feature in self.features[m].split("|") for feature in features)

    def is_punctuation(self, m: int) -> bool:
        """Whether a word is a punctuation mark."""
        return self.upos[m] == "PUNCT" or self.relations[m] == "punct"

    def is_verb(self, m: int) -> bool:
        """Whether a word is a verb or an auxiliary."""
        return self.upos[m] in VERBS

    def is_noun(self, m: int) -> bool:
        """Whether a word can head a noun phrase: a noun or pronoun, or another word in the place of one."""
        if self.upos[m] in NOUNS:
            return True
        nominal = self.relations[self.first_conjunct(m)] in (
            "nsubj",
            "obj",
            "iobj",
            "nmod",
            "appos",
            "obl",
        )
        return nominal and self.upos[m] in ("NUM", "ADJ", "DET", "X", "INTJ", "")

    def first_conjunct(self, m: int) -> int:
        """The word that a chain of conjuncts hangs on; the word itself where it is not a conjunct."""
        while self.relations[m] == "conj":
            m = self.heads[m]
        return m

    def trim(self, i: int, j: int) -> Range:
        """A span without the punctuation at its edges, except one of a pair whose other one is inside."""
        while (
            i + 1 < j
            and self.is_punctuation(i + 1)
            and not self._paired(i + 1, self.words[i + 2 : j])
        ):
            i += 1
        while i + 1 < j and self.is_punctuation(j) and not self._paired(j, self.words[i + 2 : j]):
            j -= 1
        return i, j

    def _paired(self, m: int, inside: Sequence[str]) -> bool:
        """Whether the other bracket or quote of a pair is among these words."""
        own = self.words[m]
        return any(own in pair and (pair - {own} or pair) & set(inside) for pair in _PAIRS)

    def reach(self, h: int) -> Range:
        """The words below a word in the dependency tree, from the first to the last, without outer punctuation."""
        return self.trim(self.left[h], self.right[h])

    def after_coordinator(self, h: int) -> Range:
        """The words below a conjunct without the comma and the "and" that join it to the one before."""
        i = self.left[h]
        for m in self.with_relation(h, "cc", "punct"):
            if m < h and self.left[m] <= i:
                i = self.right[m]
        return self.trim(min(i, h - 1), self.right[h])

    def grow(self, h: int, parts: Collection[int]) -> Range:
        """The span of a word and those of its dependents that are parts, as far as they reach without a gap."""

        def near(side: Iterable[int]) -> list[int]:
            return [
                m
                for m in takewhile(lambda m: m in parts or self.is_punctuation(m), side)
                if m in parts
            ]

        i = min(
            (self.left[m] for m in near(m for m in reversed(self.children[h]) if m < h)),
            default=h - 1,
        )
        j = max((self.right[m] for m in near(m for m in self.children[h] if m > h)), default=h)
        return self.trim(i, j)

    def noun_phrase(self, h: int) -> Range:
        """The whole phrase of a noun: the largest noun phrase that it heads, or what hangs on it as its parts."""
        low, high, head = self.left[h], self.right[h], self.heads[h]
        clauses = self.with_relation(h, "acl")  # of "what he said", the constituent is "what" alone
        for i, j, label in self.spans:  # larger ones first
            if label in NOUN_PHRASES and low <= i < h <= j <= high and not i < head <= j:
                if self.tags[h][:1] == "W" and any(m > j for m in clauses):
                    break
                return self.trim(i, j)
        parts = {m for m in self.children[h] if self.relations[m] in PARTS}
        if head == 0 or self.with_relation(
            h, "cop", "nsubj"
        ):  # a predicate has the clause's modifiers too
            parts = {
                m for m in parts if self.relations[m] not in ("advmod", "obl", "conj", "cc", "dep")
            }
        after = {
            m for m in parts if self.relations[m] == "cc" and m < h
        }  # joins it to what comes before
        return self.grow(h, (parts - after) | {m for m in self.with_relation(h, "case") if m > h})

    def phrase_of(self, m: int) -> Phrase:
        """The phrase of an argument or modifier: of a noun its noun phrase, of another word all below it."""
        span = self.noun_phrase(m) if self.is_noun(m) else self.reach(m)
        return Phrase(self, span, m)


class Phrase:
    """Words in a row with a head among them.

    span      (i, j): the words i+1..j
    position  of the head word, 1..n
    """

    # Attributes in `to_dict`, before and after those that every phrase has.
    _before: tuple[str, ...] = ()
    _after: tuple[str, ...] = ()

    def __init__(self, sentence: Text, span: Range, position: int) -> None:
        self._sentence, self.span, self.position = sentence, span, position

    @property
    def tokens(self) -> list[Any]:
        """Its words."""
        return list(self._sentence.tokens[self.span[0] : self.span[1]])

    @property
    def head(self) -> Any:
        """Its head word; None where there is none."""
        return self._sentence.tokens[self.position - 1] if self.position else None

    @property
    def start(self) -> int | None:
        """Where it begins in the original text; None where words were given."""
        offsets = self._sentence.offsets
        return None if offsets is None else offsets[self.span[0]][0]

    @property
    def end(self) -> int | None:
        """Where it ends in the original text; None where words were given."""
        offsets = self._sentence.offsets
        return None if offsets is None else offsets[self.span[1] - 1][1]

    @property
    def text(self) -> str:
        """Its words as the original text has them; with spaces between them where words were given."""
        own = self._sentence
        if own.text is None or own.offsets is None:
            return " ".join(own.words[self.span[0] + 1 : self.span[1] + 1])
        origin, (i, j) = own.offsets[0][0], self.span
        return own.text[own.offsets[i][0] - origin : own.offsets[j - 1][1] - origin]

    def _arcs(self) -> Iterable[int]:
        """The words whose arcs make it what it is."""
        return (self.position,)

    @property
    def probability(self) -> float | None:
        """The lowest probability of the arcs it rests on, relations included; None without confidence.

        It is an upper bound: all of them may be right with less.
        """
        sure = self._sentence.confidence()
        if sure is None or not self.position:
            return None
        return float(min(sure.arcs[m - 1] * sure.relations[m - 1] for m in self._arcs()))

    def to_dict(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        found: dict[str, Any] = {name: getattr(self, name) for name in self._before}
        found |= {"text": self.text, "span": list(self.span), "head": self.position}
        if self.start is not None:
            found |= {"start": self.start, "end": self.end}
        if probabilities:
            found["probability"] = self.probability
        for name in self._after:
            value = getattr(self, name)
            if isinstance(value, Phrase):
                value = value.to_dict(probabilities=probabilities)
            elif isinstance(value, list):
                value = [phrase.to_dict(probabilities=probabilities) for phrase in value]
            found[name] = list(value) if isinstance(value, tuple) else value
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Phrase) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return type(self), self.span, self.position, self._sentence.words

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"
