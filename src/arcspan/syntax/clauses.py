"""Clauses and verb groups: one per predicate, with its subject, its objects and the clause it belongs to.

The dependency tree decides which words are predicates, what kind of clause each heads and how far it reaches; both
trees decide through `coordination` what coordinated clauses share. The definitions of auxiliary, tense and voice are
those of English.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from arcspan.syntax.coordination import Coordination
from arcspan.syntax.sentence import Phrase, Range, TreeIndex

KINDS = ("main", "complement", "relative", "adverbial")
# The kind of a clause by the relation of its predicate.
_MAIN = ("root", "parataxis", "list", "dep", "discourse", "appos", "reparandum", "orphan")
_KINDS = dict.fromkeys(_MAIN, "main")
_KINDS |= dict.fromkeys(("ccomp", "xcomp", "csubj"), "complement")
_KINDS |= {"acl": "relative", "advcl": "adverbial"}
_SUBJECTS = ("nsubj", "csubj")
_FINITE_TAGS = ("VBD", "VBZ", "VBP", "MD")
_RELATIVE_TAGS = ("WDT", "WP")
_NEGATION = ("not", "n't", "n’t", "never")
_WILL = ("will", "shall", "wo", "'ll", "’ll", "sha")
_HAVE = ("have", "has", "had", "'ve", "'d")


class VerbGroup(Phrase):
    """The verb of a clause with its auxiliaries, negation and particle.

    Adverbs between them are in its span only.

    words     the positions of its words
    form      "finite", "infinitive", "participle"
    tense     "past", "present", "future" of a finite one ("will", "shall"); None after other modal verbs
    aspect    "simple", "perfect", "progressive", "perfect progressive"
    voice     "active", "passive"
    polarity  "positive", "negative"
    modal     the modal verb, or None
    """

    _sentence: TreeIndex
    _fields_after = ("words", "form", "tense", "aspect", "voice", "polarity", "modal")

    def __init__(self, s: TreeIndex, predicate: int, words: Sequence[int], main: int) -> None:
        super().__init__(s, (min(words) - 1, max(words)), main)
        self.words = tuple(words)
        verbs = [m for m in words if s.is_verb(m) or s.tags[m].startswith(("VB", "MD"))] or [main]
        first = verbs[0]
        self.modal = _lemma(s, first) if s.tags[first] == "MD" else None
        self.form = _form(s, predicate, first)
        self.tense = self._tense(first) if self.form == "finite" else None
        self.aspect = _aspect(s, verbs)
        voice_markers = s.with_relation(predicate, "aux", *_SUBJECTS)
        is_passive = any(s.full_relations[m].endswith(":pass") for m in voice_markers)
        self.voice = "passive" if is_passive else "active"
        is_negative = any(_is_negation(s, m) for m in words)
        self.polarity = "negative" if is_negative else "positive"

    @property
    def text(self) -> str:
        """Return its words, without adverbs between them."""
        return " ".join(self._sentence.words[m] for m in self.words)

    @property
    def tokens(self) -> list[Any]:
        """Return its words, without adverbs between them."""
        return [self._sentence.tokens[m - 1] for m in self.words]

    @property
    def lemma(self) -> str:
        """Return the lemma of its main verb."""
        return self._sentence.lemmas[self.position]

    def _tense(self, first: int) -> str | None:
        s = self._sentence
        if s.tags[first] == "MD":
            # The lemma of "wo" and "'ll" may be wrong or missing.
            is_future = self.modal in _WILL or s.words[first].lower() in _WILL
            return "future" if is_future else None
        is_past = s.tags[first] == "VBD" or s.has_feature(first, "Tense=Past")
        return "past" if is_past else "present"


def _lemma(s: TreeIndex, m: int) -> str:
    return s.lemmas[m] or s.words[m].lower()


def _is_negation(s: TreeIndex, m: int) -> bool:
    return s.words[m].lower() in _NEGATION


def _form(s: TreeIndex, predicate: int, first: int) -> str:
    if s.tags[first] in _FINITE_TAGS or s.has_feature(first, "VerbForm=Fin"):
        return "finite"
    if s.tags[first] in ("VBG", "VBN") or s.has_feature(first, "VerbForm=Part", "VerbForm=Ger"):
        return "participle"
    has_to = any(s.words[m].lower() == "to" for m in s.with_relation(predicate, "mark"))
    is_bare = s.has_feature(first, "VerbForm=Inf") or s.relations[predicate] == "xcomp"
    # Any other bare verb is a command.
    return "infinitive" if has_to or is_bare else "finite"


def _aspect(s: TreeIndex, verbs: Sequence[int]) -> str:
    last = verbs[-1]
    aspects = []
    if any(_lemma(s, m) in _HAVE for m in verbs[:-1]):
        aspects.append("perfect")
    if len(verbs) > 1 and (s.tags[last] == "VBG" or s.words[last].lower().endswith("ing")):
        aspects.append("progressive")
    return " ".join(aspects) or "simple"


@dataclass(eq=False, repr=False)
class Clause(Phrase):
    """A verb with what belongs to it.

    kind      "main", "complement", "relative" or "adverbial"
    finite    True if its verb is
    verb      its verb group
    subject   its subject, written in it or shared in a coordination; None without one
    objects   direct and indirect objects, shared ones included
    parent    the clause that it belongs to; None for a main clause
    """

    _fields_before = ("kind", "finite")
    _fields_after = ("verb", "subject", "objects")
    kind: str
    verb: VerbGroup
    subject: Phrase | None = None
    objects: list[Phrase] = field(default_factory=list)
    parent: Clause | None = None

    @property
    def finite(self) -> bool:
        """Return True if its verb is finite."""
        return self.verb.form == "finite"

    def _arcs(self) -> Iterable[int]:
        return {self.position, self.verb.position}

    def to_dict(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Return plain data, ready for JSON; the parent by its span."""
        parent = None if self.parent is None else list(self.parent.span)
        return super().to_dict(probabilities=probabilities) | {"parent": parent}

    def __repr__(self) -> str:
        return f"Clause({self.kind}, {self.text!r})"


class Clauses:
    """The clauses of a sentence, and the subjects and objects of its predicates."""

    def __init__(self, sentence: TreeIndex, coordinations: Sequence[Coordination]) -> None:
        self.s = sentence
        self.coordination_of = {c.conjuncts[0].position: c for c in coordinations}
        self.all: list[Clause] = []
        # Of two clauses with one predicate, the inner one.
        self.by_word: dict[int, Clause] = {}
        for h in range(1, sentence.n + 1):
            if self._is_predicate(h):
                self._add(h)
        for clause in self.all:
            if clause.parent is None:
                clause.parent = self._parent(clause.position)
        self.all.sort(key=lambda clause: (clause.span[0], -clause.span[1]))

    # ---- predicates, kinds and spans

    def _is_predicate(self, h: int) -> bool:
        """Return True if a word has a verb; an adjective or noun needs a copula or an auxiliary."""
        s, first = self.s, self.s.first_conjunct(h)
        if s.relations[first] not in _KINDS:
            return False
        if s.with_relation(h, "cop", "aux"):
            return True
        # A participle joined to an adjective is one, too: "long and badly acted".
        is_adjective = h != first and s.tags[h] in ("VBN", "VBG") and not s.is_verb(first)
        return s.is_verb(h) and not is_adjective

    def _kind(self, h: int) -> str:
        s, first = self.s, self.s.first_conjunct(h)
        if s.full_relations[first].partition(":")[2].startswith("relcl"):
            return "relative"
        relation = s.relations[first]
        if relation == "acl" and (markers := s.with_relation(first, "mark")):
            # "more money than we have" against "the fact that ..." and "a plan to ..."
            is_comparison = s.words[markers[0]].lower() in ("than", "as")
            return "adverbial" if is_comparison else "complement"
        return _KINDS[relation]

    def _add(self, h: int) -> None:
        s = self.s
        span, kind = self._span(h), self._kind(h)
        begin = 0
        around = None
        if outer := self._outer_subject(h):
            copula = s.with_relation(h, "cop")[0]
            verbs = [m for m in s.with_relation(h, "aux") if outer < m < copula]
            verb = VerbGroup(s, h, [*verbs, copula], copula)
            around = Clause(s, span, h, kind, verb, s.phrase_of(outer))
            self.all.append(around)
            span, kind = s.trim(copula, span[1], h), "complement"
            begin = span[0]
        verb = self._verb(h, begin)
        objects = [s.phrase_of(m) for m in self.objects(h)]
        clause = Clause(s, span, h, kind, verb, self.subject(h, inside=True), objects, around)
        self.all.append(clause)
        self.by_word[h] = clause

    def _outer_subject(self, h: int) -> int:
        """Return the subject of a clause around a verb's own; 0 without: "the problem is that he left"."""
        s = self.s
        outer = [m for m in s.children[h] if s.full_relations[m].endswith(":outer")]
        copulas = s.with_relation(h, "cop")
        if outer and copulas and s.is_verb(h) and outer[0] < copulas[0]:
            return outer[0]
        return 0

    def _span(self, h: int) -> Range:
        """Return all below the predicate, without later conjuncts and what joins it to earlier ones."""
        s = self.s
        i, j = s.after_coordinator(h) if s.relations[h] == "conj" else s.reach(h)
        if h in self.coordination_of:
            conjuncts = self.coordination_of[h].conjuncts
            if any(self._is_predicate(conjunct.position) for conjunct in conjuncts[1:]):
                j = conjuncts[0].span[1]
        return i, max(j, h)

    def _shared(self, h: int, *relations: str) -> list[int]:
        """Return what the conjuncts share whose first one is `h`, by relations."""
        if h not in self.coordination_of:
            return []
        shared = [phrase.position for phrase in self.coordination_of[h].shared]
        return [m for m in shared if self.s.relations[m] in relations]

    def _verb(self, h: int, begin: int) -> VerbGroup:
        """Return the verb group of a predicate, without words up to `begin`."""
        s = self.s
        auxiliaries = [m for m in s.with_relation(h, "aux", "cop") if m > begin]
        first = s.first_conjunct(h)
        if first != h and not auxiliaries and not s.with_relation(h, "nsubj"):
            relations = ("aux",) if s.is_verb(h) else ("aux", "cop")
            auxiliaries = self._shared(first, *relations)
        main = h if s.is_verb(h) or not auxiliaries else auxiliaries[-1]
        words = {main, *auxiliaries}
        for m in s.with_relation(h, "advmod"):
            # "not only" does not negate.
            is_only = m < s.n and s.words[m + 1].lower() == "only"
            if m > begin and _is_negation(s, m) and not is_only:
                words.add(m)
        words.update(m for m in s.children[h] if s.full_relations[m] == "compound:prt")
        return VerbGroup(s, h, sorted(words), main)

    def _parent(self, h: int) -> Clause | None:
        first = self.s.first_conjunct(h)
        if self.s.relations[first] == "parataxis":
            return None
        m = self.s.heads[first]
        while m and m not in self.by_word:
            m = self.s.heads[m]
        return self.by_word.get(m)

    # ---- subjects and objects

    def subject(self, h: int, *, inside: bool = False) -> Phrase | None:
        """Return the subject of a predicate: its own, its first conjunct's, or one that the trees lead to.

        `inside`: only what stands in the clause or is shared; else also the subject or object that controls an open
        complement, the noun that a participle modifies, and the antecedent of a relative pronoun.
        """
        s = self.s
        if m := self._written_subject(h):
            antecedent = None if inside else self._antecedent(m, h)
            return antecedent or s.phrase_of(m)
        head = s.heads[h]
        if s.relations[h] == "conj" and self._shares_subject(h):
            return self.subject(head, inside=inside)
        if inside or not head:
            return None
        if s.relations[h] == "xcomp":
            objects = s.with_relation(head, "obj", "iobj")
            return s.phrase_of(objects[0]) if objects else self.subject(head)
        if s.full_relations[h] == "acl" and self._verb(h, 0).form == "participle":
            return self._noun_before(head, h)
        return None

    def _written_subject(self, h: int) -> int:
        """Return the subject among the dependents of a predicate, 0 without one."""
        s = self.s
        all_subjects = s.with_relation(h, *_SUBJECTS)
        subjects = [m for m in all_subjects if not s.full_relations[m].endswith(":outer")]
        if not subjects and not self._outer_subject(h):
            subjects = all_subjects or s.with_relation(h, "expl")
        if subjects and s.relations[subjects[0]] == "csubj":
            # "It is clear that ...": the expletive before the predicate is the subject.
            subjects = [m for m in s.with_relation(h, "expl") if m < h] or subjects
        return subjects[0] if subjects else 0

    def _shares_subject(self, h: int) -> bool:
        """Return True if the subject of the word that a conjunct hangs on is the conjunct's, too."""
        relations = (*_SUBJECTS, "expl")
        head = self.s.heads[h]
        return not self.s.with_relation(head, *relations) or bool(self._shared(head, *relations))

    def objects(self, h: int) -> list[int]:
        """Return the direct and indirect objects of a predicate, also those shared with its first conjunct."""
        objects = self.s.with_relation(h, "obj", "iobj")
        if self.s.relations[h] == "conj" and not objects:
            return self._shared(self.s.heads[h], "obj", "iobj")
        return objects

    def resolved_objects(self, h: int) -> list[Phrase]:
        """Return the objects of a predicate, antecedents instead of relative pronouns."""
        return [self._antecedent(m, h) or self.s.phrase_of(m) for m in self.objects(h)]

    def _antecedent(self, m: int, h: int) -> Phrase | None:
        """Return the noun that a relative pronoun stands for."""
        s = self.s
        first = s.first_conjunct(h)
        is_pronoun = s.tags[m] in _RELATIVE_TAGS or s.has_feature(m, "PronType=Rel")
        if is_pronoun and s.full_relations[first] == "acl:relcl" and s.is_noun(s.heads[first]):
            return self._noun_before(s.heads[first], first)
        return None

    def _noun_before(self, noun: int, h: int) -> Phrase:
        """Return the phrase of a noun up to a clause that modifies it."""
        i, j = self.s.noun_phrase(noun)
        return Phrase(self.s, self.s.trim(i, max(noun, min(j, self.s.left[h])), noun), noun)
