"""Clauses and verb groups: one per predicate, with its subject, its objects and the clause it belongs to.

The dependency tree decides which words are predicates, what kind of clause each heads and how far it reaches; both
trees decide through `coordination` what coordinated clauses share. What counts as an auxiliary, a tense or a voice is
English.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from arcspan.syntax.coordination import Coordination
from arcspan.syntax.sentence import Phrase, Range, TreeIndex

# What a clause is, by the relation of its predicate.
_KINDS = {
    **dict.fromkeys(("root", "parataxis", "list", "dep"), "main"),
    **dict.fromkeys(("discourse", "appos", "reparandum", "orphan"), "main"),
    **dict.fromkeys(("ccomp", "xcomp", "csubj"), "complement"),
    **{"acl": "relative", "advcl": "adverbial"},
}
KINDS = ("main", "complement", "relative", "adverbial")
_FINITE_TAGS = ("VBD", "VBZ", "VBP", "MD")
_RELATIVE_TAGS = ("WDT", "WP")
_NEGATION = ("not", "n't", "n’t", "never")
_WILL = ("will", "shall", "wo", "'ll", "’ll", "sha")


class VerbGroup(Phrase):
    """The verb of a clause with its auxiliaries, negation and particle; adverbs between them are in its span only.

    words     the positions of its words
    form      "finite", "infinitive", "participle"
    tense     "past", "present", "future" of a finite one ("will", "shall"); None after other modal verbs
    aspect    "simple", "perfect", "progressive", "perfect progressive"
    voice     "active", "passive"
    polarity  "positive", "negative"
    modal     the modal verb, or None
    """

    _sentence: TreeIndex
    _after = ("words", "form", "tense", "aspect", "voice", "polarity", "modal")

    def __init__(
        self, sentence: TreeIndex, predicate: int, words: Sequence[int], main: int
    ) -> None:
        super().__init__(sentence, (min(words) - 1, max(words)), main)
        self.words, self._predicate = tuple(words), predicate
        s = sentence
        self._verbs = [m for m in words if s.is_verb(m) or s.tags[m].startswith(("VB", "MD"))] or [
            main
        ]
        first = self._verbs[0]
        modal = s.tags[first] == "MD"
        self.modal = (s.lemmas[first] or s.words[first].lower()) if modal else None
        self.form = self._form(first)
        self.tense = self._tense(first) if self.form == "finite" else None
        self.aspect = self._aspect()
        passive = s.with_relation(predicate, "aux", "nsubj", "csubj")
        self.voice = (
            "passive" if any(s.full_relations[m].endswith(":pass") for m in passive) else "active"
        )
        negative = any(s.words[m].lower() in _NEGATION for m in words)
        self.polarity = "negative" if negative else "positive"

    @property
    def text(self) -> str:
        """Its words, without adverbs between them."""
        return " ".join(self._sentence.words[m] for m in self.words)

    @property
    def tokens(self) -> list[Any]:
        """Its words, without adverbs between them."""
        return [self._sentence.tokens[m - 1] for m in self.words]

    @property
    def lemma(self) -> str:
        """The lemma of its main verb."""
        return self._sentence.lemmas[self.position]

    def _form(self, first: int) -> str:
        s, tag = self._sentence, self._sentence.tags[first]
        if tag in _FINITE_TAGS or s.has_feature(first, "VerbForm=Fin"):
            return "finite"
        if tag in ("VBG", "VBN") or s.has_feature(first, "VerbForm=Part", "VerbForm=Ger"):
            return "participle"
        marked = any(s.words[m].lower() == "to" for m in s.with_relation(self._predicate, "mark"))
        bare = s.has_feature(first, "VerbForm=Inf") or s.relations[self._predicate] == "xcomp"
        return "infinitive" if marked or bare else "finite"  # a bare verb is a command

    def _tense(self, first: int) -> str | None:
        s = self._sentence
        if s.tags[first] == "MD":
            return "future" if self.modal in _WILL or s.words[first].lower() in _WILL else None
        if s.tags[first] == "VBD" or s.has_feature(first, "Tense=Past"):
            return "past"
        return "present"

    def _aspect(self) -> str:
        s, verbs = self._sentence, self._verbs
        before = [s.lemmas[m] or s.words[m].lower() for m in verbs[:-1]]
        perfect = any(lemma in ("have", "has", "had", "'ve", "'d") for lemma in before)
        last = verbs[-1]
        progressive = (s.tags[last] == "VBG" or s.words[last].lower().endswith("ing")) and bool(
            before
        )
        return " ".join(["perfect"] * perfect + ["progressive"] * progressive) or "simple"


class Clause(Phrase):
    """A verb with what belongs to it.

    kind      "main", "complement", "relative" or "adverbial"
    finite    whether its verb is
    verb      its verb group
    subject   its subject, written in it or shared in a coordination; None where it has none
    objects   direct and indirect objects, shared ones included
    parent    the clause that it belongs to; None for a main clause
    """

    _before, _after = ("kind", "finite"), ("verb", "subject", "objects")

    def __init__(
        self, sentence: TreeIndex, span: Range, position: int, kind: str, verb: VerbGroup
    ) -> None:
        super().__init__(sentence, span, position)
        self.kind, self.verb, self.finite = kind, verb, verb.form == "finite"
        self.subject: Phrase | None = None
        self.objects: list[Phrase] = []
        self.parent: Clause | None = None

    def _arcs(self) -> Iterable[int]:
        return {self.position, self.verb.position}

    def to_dict(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Plain data, ready for JSON; the parent by its span."""
        parent = None if self.parent is None else list(self.parent.span)
        return super().to_dict(probabilities=probabilities) | {"parent": parent}

    def __repr__(self) -> str:
        return f"Clause({self.kind}, {self.text!r})"


class Clauses:
    """Finds the clauses of a sentence."""

    def __init__(self, sentence: TreeIndex, coordinations: Sequence[Coordination]) -> None:
        self.s = sentence
        self.joined = {c.conjuncts[0].position: c for c in coordinations}
        self.all: list[Clause] = []
        self.by_word: dict[int, Clause] = {}  # of two clauses with one predicate, the inner one
        for h in range(1, sentence.n + 1):
            if self._is_predicate(h):
                self._add(h)
        for clause in self.all:
            if clause.parent is None:
                clause.parent = self._parent(clause.position)
        self.all.sort(key=lambda clause: (clause.span[0], -clause.span[1]))

    # ---- which, of what kind, how far

    def _is_predicate(self, h: int) -> bool:
        """Whether a word has a verb of its own; an adjective or noun needs a copula or an auxiliary."""
        s, first = self.s, self.s.first_conjunct(h)
        if s.relations[first] not in _KINDS:
            return False
        if s.with_relation(h, "cop", "aux"):
            return True
        participle = s.tags[h] in (
            "VBN",
            "VBG",
        )  # joined to an adjective, it is one: "long and badly acted"
        return s.is_verb(h) and (h == first or not participle or s.is_verb(first))

    def _kind(self, h: int) -> str:
        s, first = self.s, self.s.first_conjunct(h)
        relation, subtype = s.relations[first], s.full_relations[first].partition(":")[2]
        if subtype.startswith("relcl"):
            return "relative"
        if relation == "acl" and (markers := s.with_relation(first, "mark")):
            compared = s.words[markers[0]].lower() in ("than", "as")  # "more money than we have"
            return "adverbial" if compared else "complement"  # "the fact that ...", "a plan to ..."
        return _KINDS[relation]

    def _add(self, h: int) -> None:
        s = self.s
        span, kind = self._span(h), self._kind(h)
        around = None
        if outer := self._outer(h):
            copula = s.with_relation(h, "cop")[0]
            before = [m for m in s.with_relation(h, "aux") if outer < m < copula]
            around = Clause(s, span, h, kind, VerbGroup(s, h, [*before, copula], copula))
            around.subject = s.phrase_of(outer)
            span, kind = s.trim(copula, span[1]), "complement"
            self.all.append(around)
        clause = Clause(s, span, h, kind, self._verb(h, span[0] if around else 0))
        clause.parent = around
        clause.subject = self.subject(h, inside=True)
        clause.objects = [s.phrase_of(m) for m in self.objects(h)]
        self.all.append(clause)
        self.by_word[h] = clause

    def _outer(self, h: int) -> int:
        """The subject of a clause around a verb's own, 0 if there is none: "the problem is that he left"."""
        s = self.s
        outer = next((m for m in s.children[h] if s.full_relations[m].endswith(":outer")), 0)
        return (
            outer if s.is_verb(h) and any(outer < m for m in s.with_relation(h, "cop")[:1]) else 0
        )

    def _span(self, h: int) -> Range:
        """All below the predicate, up to where a second conjunct begins, and without what joins it to the first."""
        s = self.s
        i, j = s.after_coordinator(h) if s.relations[h] == "conj" else s.reach(h)
        conjuncts = self.joined[h].conjuncts if h in self.joined else []
        if any(self._is_predicate(conjunct.position) for conjunct in conjuncts[1:]):
            j = conjuncts[0].span[1]
        return i, max(j, h)

    def _shared(self, h: int) -> list[int]:
        """What the conjuncts of a coordination share of which this word heads the first."""
        return [phrase.position for phrase in self.joined[h].shared] if h in self.joined else []

    def _verb(self, h: int, after: int) -> VerbGroup:
        s = self.s
        parts = [m for m in s.with_relation(h, "aux", "cop") if m > after]
        first = s.first_conjunct(h)
        if first != h and not parts and not s.with_relation(h, "nsubj"):
            kinds = ("aux",) if s.is_verb(h) else ("aux", "cop")
            parts = [m for m in self._shared(first) if s.relations[m] in kinds]
        main = h if s.is_verb(h) or not parts else parts[-1]
        adverbs = [
            m for m in s.with_relation(h, "advmod") if m > after and s.words[m].lower() in _NEGATION
        ]
        # "not only" does not negate.
        negation = [m for m in adverbs if m == s.n or s.words[m + 1].lower() != "only"]
        particles = [m for m in s.children[h] if s.full_relations[m] == "compound:prt"]
        return VerbGroup(s, h, sorted({*parts, main, *negation, *particles}), main)

    def _parent(self, h: int) -> Clause | None:
        first = self.s.first_conjunct(h)
        m = self.s.heads[first]
        while m and m not in self.by_word:
            m = self.s.heads[m]
        return None if self.s.relations[first] == "parataxis" else self.by_word.get(m)

    # ---- who does what

    def subject(self, h: int, *, inside: bool = False) -> Phrase | None:
        """The subject of a predicate: its own, shared with its conjunct, or the one that the trees lead to.

        `inside`: only what stands in the clause or is shared; else also the subject or object that controls an open
        complement, the noun that a participle modifies, and the antecedent of a relative pronoun.
        """
        s = self.s
        own = [
            m
            for m in s.with_relation(h, "nsubj", "csubj")
            if not s.full_relations[m].endswith(":outer")
        ]
        if not own and not self._outer(h):
            own = s.with_relation(h, "nsubj", "csubj") or s.with_relation(h, "expl")
        expletives = [m for m in s.with_relation(h, "expl") if m < h]
        if own and s.relations[own[0]] == "csubj" and expletives:  # "it is clear that ..."
            own = expletives
        if own:
            antecedent = None if inside else self._antecedent(own[0], h)
            return antecedent or s.phrase_of(own[0])
        head = s.heads[h]
        if s.relations[h] == "conj" and self._shares_subject(h):
            return self.subject(head, inside=inside)
        if inside or not head:
            return None
        if s.relations[h] == "xcomp":
            objects = s.with_relation(head, "obj", "iobj")
            return s.phrase_of(objects[0]) if objects else self.subject(head)
        if s.full_relations[h] == "acl" and self._verb(h, 0).form == "participle":
            return self._without(head, h)
        return None

    def _shares_subject(self, h: int) -> bool:
        """Whether the subject of the word that a conjunct hangs on is the conjunct's too."""
        own = self.s.with_relation(self.s.heads[h], "nsubj", "csubj", "expl")
        return not own or not set(own).isdisjoint(self._shared(self.s.heads[h]))

    def objects(self, h: int) -> list[int]:
        """The direct and indirect objects of a predicate, those shared with its first conjunct included."""
        s = self.s
        own = s.with_relation(h, "obj", "iobj")
        if s.relations[h] == "conj" and not own:
            own = [m for m in self._shared(s.heads[h]) if s.relations[m] in ("obj", "iobj")]
        return own

    def resolved_objects(self, h: int) -> list[Phrase]:
        """The objects of a predicate, with antecedents in the place of relative pronouns."""
        return [self._antecedent(m, h) or self.s.phrase_of(m) for m in self.objects(h)]

    def _antecedent(self, m: int, h: int) -> Phrase | None:
        """The noun that a relative pronoun stands for."""
        s = self.s
        first = s.first_conjunct(h)
        is_pronoun = s.tags[m] in _RELATIVE_TAGS or s.has_feature(m, "PronType=Rel")
        if is_pronoun and s.full_relations[first] == "acl:relcl" and s.is_noun(s.heads[first]):
            return self._without(s.heads[first], first)
        return None

    def _without(self, noun: int, h: int) -> Phrase:
        """The phrase of a noun up to a clause that modifies it."""
        i, j = self.s.noun_phrase(noun)
        return Phrase(self.s, self.s.trim(i, max(noun, min(j, self.s.left[h]))), noun)
