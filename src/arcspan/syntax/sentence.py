"""Both trees of a sentence, indexed by word, and phrases as parts of the sentence.

Clauses, coordinations and noun phrases read the trees through `TreeIndex`, so that each of their
definitions is written in terms of words and relations. Nothing is decided here about what a clause
or a coordination is.

Words are 1..n, spans are fenceposts (i, j) that cover the words i+1..j. The trees need not be
compatible: a constituent is headed by a word here when the word is in it and the word's head is
not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from arcspan.errors import ArcspanError
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.dependency import extents

Range = tuple[int, int]
"""A span (i, j): the words i+1..j."""

NOUN_PHRASES = ("NP", "WHNP", "NML", "NX", "NAC")
NOUNS = ("NOUN", "PROPN", "PRON", "SYM")
VERBS = ("VERB", "AUX")
# Relations of words inside the noun phrase of their head.
_PREDICATE_PARTS = {"det", "amod", "nummod", "nmod", "compound", "flat", "fixed", "goeswith"}
_PREDICATE_PARTS |= {"acl", "appos", "clf", "predet", "poss"}
_NOUN_PARTS = _PREDICATE_PARTS | {"advmod", "conj", "dep", "obl"}
_CLAUSE_RELATIONS = ("csubj", "ccomp", "xcomp", "advcl", "acl", "parataxis")
# Relations of words that interrupt a phrase and belong to none of its parts.
_INTERRUPTIONS = ("punct", "reparandum", "discourse")
# Relations of words that stand where a noun does, and the tags of words that may stand there.
_NOMINAL = ("nsubj", "obj", "iobj", "nmod", "appos", "obl")
_NOMINAL_UPOS = ("NUM", "ADJ", "DET", "X", "INTJ", "")
# Marks with the same partner on both sides, such as ", are pairs of one.
_PAIRS = [set(pair.split()) for pair in ("( )", "[ ]", "{ }", "“ ”", "‘ ’", "`` ''", "« »", '"')]
# Universal tags of words that have none, by the first two letters of the treebank's tag.
_UPOS = {"NN": "NOUN", "PR": "PRON", "WP": "PRON", "VB": "VERB", "MD": "AUX"}
_UPOS |= {"JJ": "ADJ", "RB": "ADV", "CD": "NUM"}


class Word(NamedTuple):
    """A word of a sentence that has trees but no parser's tokens."""

    position: int
    text: str


class SentenceText:
    """The words of a sentence, and their source.

    words       by position, with an empty string at 0
    tokens      what phrases return as their tokens and heads, one per word; `Word`s by default
    text        the sentence as it was written
    offsets     (start, end) of every word in the document that contains the sentence
    confidence  a function that returns the `Confidence` of the parse, or None
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
        self.text = text
        self.offsets = offsets
        self.confidence = confidence


class TreeIndex(SentenceText):
    """Both trees of a sentence, by word. Without constituents the dependencies decide everything.

    All columns have an entry for the artificial root at 0.
    """

    def __init__(
        self,
        constituency: ConstituencyTree | None,
        dependencies: DependencyTree | None,
        **text_options: Any,
    ) -> None:
        if dependencies is None:
            raise ArcspanError(
                "clauses and phrases need a dependency tree; "
                "arcspan.trees.convert makes one of constituents"
            )
        super().__init__(dependencies.words, **text_options)
        self.n = len(dependencies)
        self.lemmas = ("", *dependencies.lemmas)
        self.tags = ("", *dependencies.tags)
        self.features = ("", *dependencies.features)
        pairs = zip(("", *dependencies.upos), self.tags, strict=True)
        self.upos = [upos or _UPOS.get(tag[:2], "") for upos, tag in pairs]
        self.heads = (0, *dependencies.heads)
        self.full_relations = ("", *dependencies.relations)
        self.relations = [relation.partition(":")[0] for relation in self.full_relations]
        self.children: list[list[int]] = [[] for _ in self.words]
        for m in range(1, self.n + 1):
            self.children[self.heads[m]].append(m)
        self.left, self.right, _ = extents(dependencies.heads)
        self.spans: Sequence[tuple[int, int, str]] = ()
        if constituency is not None and len(constituency) == self.n:
            self.spans = constituency.spans

    def with_relation(self, h: int, *relations: str) -> list[int]:
        """Return the dependents of a word by one of these relations, subtypes aside."""
        return [m for m in self.children[h] if self.relations[m] in relations]

    def left_dependents(self, h: int) -> list[int]:
        """Return the dependents before a word, the nearest first."""
        return [m for m in reversed(self.children[h]) if m < h]

    def right_dependents(self, h: int) -> list[int]:
        """Return the dependents after a word, the nearest first."""
        return [m for m in self.children[h] if m > h]

    def has_feature(self, m: int, *features: str) -> bool:
        """Return True if a word has one of these features, such as "VerbForm=Fin"."""
        values = self.features[m].split("|")
        return any(feature in values for feature in features)

    def is_punctuation(self, m: int) -> bool:
        """Return True for a punctuation mark."""
        return self.upos[m] == "PUNCT" or self.relations[m] == "punct"

    def is_interruption(self, m: int) -> bool:
        """Return True for punctuation, a false start, or a filler such as "uh"."""
        return self.relations[m] in _INTERRUPTIONS or self.upos[m] == "PUNCT"

    def is_verb(self, m: int) -> bool:
        """Return True for a verb or an auxiliary."""
        return self.upos[m] in VERBS

    def is_noun(self, m: int) -> bool:
        """Return True if a word can head a noun phrase: a noun, a pronoun, or a word used as one."""
        if self.upos[m] in NOUNS:
            return True
        return self.relations[self.first_conjunct(m)] in _NOMINAL and self.upos[m] in _NOMINAL_UPOS

    def first_conjunct(self, m: int) -> int:
        """Return the word that a chain of conjuncts hangs on; the word itself if it is no conjunct."""
        while self.relations[m] == "conj":
            m = self.heads[m]
        return m

    def trim(self, i: int, j: int, h: int) -> Range:
        """Cut punctuation off the edges of a span with the head h.

        The head stays, and so does a bracket or quote whose partner is inside.
        """
        while i + 1 < h and self._is_loose(i + 1, i, j):
            i += 1
        while h < j and self._is_loose(j, i, j):
            j -= 1
        return i, j

    def _is_loose(self, m: int, i: int, j: int) -> bool:
        """Return True for punctuation at the edge of a span that has no partner between the edges."""
        if not self.is_punctuation(m):
            return False
        mark, inside = self.words[m], set(self.words[i + 2 : j])
        return not any(mark in pair and (pair - {mark} or pair) & inside for pair in _PAIRS)

    def reach(self, h: int) -> Range:
        """Return the span from the first to the last word below a word, without outer punctuation."""
        return self.trim(self.left[h], self.right[h], h)

    def after_coordinator(self, h: int) -> Range:
        """Return the reach of a conjunct without the comma and the "and" that join it."""
        i = self.left[h]
        for m in self.with_relation(h, "cc", "punct"):
            if m < h and self.left[m] <= i:
                i = self.right[m]
        return self.trim(min(i, h - 1), self.right[h], h)

    def grow(self, h: int, parts: Collection[int]) -> Range:
        """Return the span of a word and its dependents in `parts`, up to the first other dependent.

        Punctuation, false starts and fillers between the parts are no gaps.
        """
        i, j = h - 1, h
        for m in self.left_dependents(h):
            if m in parts:
                i = min(i, self.left[m])
            elif not self.is_interruption(m):
                break
        for m in self.right_dependents(h):
            if m in parts:
                j = max(j, self.right[m])
            elif not self.is_interruption(m):
                break
        return self.trim(i, j, h)

    def noun_phrase(self, h: int) -> Range:
        """Return the largest noun phrase that a noun heads; the noun with its parts if there is
        none.
        """
        low, high, head = self.left[h], self.right[h], self.heads[h]
        # Larger constituents come first.
        for i, j, label in self.spans:
            if label in NOUN_PHRASES and low <= i < h <= j <= high and not i < head <= j:
                # Of a free relative, "what he said", the constituent is "what" alone.
                if self.tags[h][:1] == "W" and any(m > j for m in self.with_relation(h, "acl")):
                    break
                return self.trim(i, j, h)
        # The modifiers of a predicate may be those of its clause.
        is_predicate = head == 0 or self.with_relation(h, "cop", "nsubj")
        relations = _PREDICATE_PARTS if is_predicate else _NOUN_PARTS
        # A preposition or conjunction before the noun joins it to what comes before.
        after = {"case"} if is_predicate else {"case", "cc"}
        parts = [
            m
            for m in self.children[h]
            if self.relations[m] in relations or (m > h and self.relations[m] in after)
        ]
        return self.grow(h, parts)

    def phrase_of(self, m: int) -> Phrase:
        """Return the phrase of an argument: the noun phrase of a noun, all below another word."""
        # The predicate of a clause may be a noun: "when he was a boy".
        is_clause = self.relations[m] in _CLAUSE_RELATIONS
        is_noun_phrase = self.is_noun(m) and not is_clause
        return Phrase(self, self.noun_phrase(m) if is_noun_phrase else self.reach(m), m)


@dataclass(eq=False, repr=False)
class Phrase:
    """Words in a row with a head among them.

    span      (i, j): the words i+1..j
    position  of the head word, 1..n
    """

    _sentence: SentenceText
    span: Range
    position: int
    # Attributes in `to_dict`, before and after those that every phrase has.
    _fields_before: ClassVar[tuple[str, ...]] = ()
    _fields_after: ClassVar[tuple[str, ...]] = ()

    @property
    def tokens(self) -> list[Any]:
        """Return its words."""
        return list(self._sentence.tokens[self.span[0] : self.span[1]])

    @property
    def head(self) -> Any:
        """Return its head word; None if there is none."""
        return self._sentence.tokens[self.position - 1] if self.position else None

    @property
    def start(self) -> int | None:
        """Return the offset of its beginning in the original text; None without a text."""
        offsets = self._sentence.offsets
        return None if offsets is None else offsets[self.span[0]][0]

    @property
    def end(self) -> int | None:
        """Return the offset of its end in the original text; None without a text."""
        offsets = self._sentence.offsets
        return None if offsets is None else offsets[self.span[1] - 1][1]

    @property
    def text(self) -> str:
        """Return its part of the original text, or its words with spaces between them without one."""
        sentence = self._sentence
        if sentence.text is None or sentence.offsets is None:
            return " ".join(sentence.words[self.span[0] + 1 : self.span[1] + 1])
        # Offsets count from the beginning of the document, which the sentence is a part of.
        origin = sentence.offsets[0][0]
        return sentence.text[self.start - origin : self.end - origin]  # type: ignore[operator]

    def _arcs(self) -> Iterable[int]:
        """Return the words whose arcs make it what it is."""
        return (self.position,)

    @property
    def probability(self) -> float | None:
        """Return the lowest probability of the arcs it rests on, relations included.

        It is an upper bound, as all of them may be right with less; None without confidence.
        """
        confidence = self._sentence.confidence()
        if confidence is None or not self.position:
            return None
        arcs, relations = confidence.arcs, confidence.relations
        return float(min(arcs[m - 1] * relations[m - 1] for m in self._arcs()))

    def to_dict(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        fields = {name: getattr(self, name) for name in self._fields_before}
        fields |= {"text": self.text, "span": list(self.span), "head": self.position}
        if self.start is not None:
            fields |= {"start": self.start, "end": self.end}
        if probabilities:
            fields["probability"] = self.probability
        for name in self._fields_after:
            fields[name] = plain(getattr(self, name), probabilities)
        return fields

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


def plain(value: Any, probabilities: bool) -> Any:
    """Return phrases as dictionaries and sequences as lists, for JSON."""
    if isinstance(value, Phrase):
        return value.to_dict(probabilities=probabilities)
    if isinstance(value, list | tuple):
        return [plain(element, probabilities) for element in value]
    return value
