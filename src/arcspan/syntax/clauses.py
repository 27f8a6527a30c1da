"""Clauses and verb groups: one per predicate, with its subject, its objects and the clause it
belongs to.

The dependency tree decides which words are predicates, what kind of clause each heads and how far
it reaches; both trees decide through `coordination` what coordinated clauses share. The definitions
of auxiliary, tense and voice are those of English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
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
_NEGATION = ("not", "n't", "nt", "never")
# An auxiliary written in one word with its negation, with or without an apostrophe.
_NEGATED = re.compile(
    r"(?P<verb>ca|wo|sha|do|does|did|is|are|was|were|has|have|had|could|would|should|must|might|"
    r"need|ought|ai)n'?t|(?P<can>can)not"
)
# Forms of auxiliaries that do not depend on the sentence; others have the lemma of the tree.
_AUXILIARIES = dict.fromkeys(("am", "is", "are", "was", "were", "been", "being", "'m", "'re"), "be")
_AUXILIARIES |= dict.fromkeys(("has", "had", "having", "'ve"), "have")
_AUXILIARIES |= {"ca": "can", "wo": "will", "sha": "shall", "'ll": "will", "ll": "will"}


class VerbGroup(Phrase):
    """The verb of a clause with its auxiliaries, negation and particle.

    Adverbs between them are in its span only.

    words     the positions of its words
    form      "finite", "infinitive", "participle"
    tense     "past", "present", "future" of a finite one ("will", "shall"); None after other modal
              verbs
    aspect    "simple", "perfect", "progressive", "perfect progressive"
    voice     "active", "passive"
    polarity  "positive", "negative"
    modal     the modal verb, or None
    """

    _sentence: TreeIndex
    _fields_after = ("words", "form", "tense", "aspect", "voice", "polarity", "modal")

    def __init__(
        self, s: TreeIndex, predicate: int, words: Sequence[int], main: int, subject: int = 0
    ) -> None:
        super().__init__(s, (min(words) - 1, max(words)), main)
        self.words = tuple(words)
        verbs = [m for m in words if s.is_verb(m) or s.tags[m].startswith(("VB", "MD"))] or [main]
        first = verbs[0]
        self.modal = _lemma(s, first) if s.tags[first] == "MD" else None
        self.form = _form(s, predicate, first)
        self.tense = self._tense(first) if self.form == "finite" else None
        self.aspect = _aspect(s, verbs)
        self.voice = "passive" if _is_passive(s, verbs, subject) else "active"
        is_negative = any(_is_negative(s, m) for m in words)
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
        if self.modal is not None:
            return "future" if self.modal in ("will", "shall") else None
        s = self._sentence
        is_past = s.tags[first] == "VBD" or s.has_feature(first, "Tense=Past")
        return "past" if is_past else "present"


def _form_of(s: TreeIndex, m: int) -> str:
    """Return a word in small letters, with straight apostrophes."""
    return s.words[m].lower().replace("’", "'")


def _lemma(s: TreeIndex, m: int) -> str:
    """Return the lemma of an auxiliary, without a negation that is written in one word with it."""
    form = _form_of(s, m)
    if match := _NEGATED.fullmatch(form):
        form = match["verb"] or match["can"]
        return _AUXILIARIES.get(form, "do" if form.startswith("d") else form)
    if form in _AUXILIARIES:
        return _AUXILIARIES[form]
    if s.lemmas[m]:
        return s.lemmas[m]
    # Without a lemma, 'd is told by its tag and 's by what follows: "she 's never been asked".
    if form == "'d":
        return "would" if s.tags[m] == "MD" else "have"
    if form == "'s":
        return "have" if "been" in s.words[m : m + 3] else "be"
    return form


def _is_negation(s: TreeIndex, m: int) -> bool:
    return s.relations[m] == "advmod" and _form_of(s, m) in _NEGATION


def _is_negative(s: TreeIndex, m: int) -> bool:
    return _is_negation(s, m) or _NEGATED.fullmatch(_form_of(s, m)) is not None


def _is_to(s: TreeIndex, m: int) -> bool:
    return s.relations[m] == "mark" and s.words[m].lower() == "to"


def _form(s: TreeIndex, predicate: int, first: int) -> str:
    if s.tags[first] in _FINITE_TAGS or s.has_feature(first, "VerbForm=Fin"):
        return "finite"
    if s.tags[first] in ("VBG", "VBN") or s.has_feature(first, "VerbForm=Part", "VerbForm=Ger"):
        return "participle"
    # A conjunct without a subject has the "to" of the first one: "to eat and drink".
    if not s.with_relation(predicate, *_SUBJECTS):
        predicate = s.first_conjunct(predicate)
    has_to = any(_is_to(s, m) for m in s.children[predicate])
    is_bare = s.has_feature(first, "VerbForm=Inf") or s.relations[predicate] == "xcomp"
    # Any other bare verb is a command.
    return "infinitive" if has_to or is_bare else "finite"


def _participle(s: TreeIndex, m: int) -> str:
    """Return "present" or "past" for a participle, by its tag, its features or its ending, else ""."""
    if s.tags[m]:
        # After an auxiliary, a past tense is a participle with the wrong tag.
        return {"VBG": "present", "VBN": "past", "VBD": "past"}.get(s.tags[m], "")
    if s.features[m]:
        is_present = s.has_feature(m, "VerbForm=Ger", "Tense=Pres")
        if not s.has_feature(m, "VerbForm=Ger", "VerbForm=Part"):
            return ""
        return "present" if is_present else "past"
    return "present" if s.words[m].lower().endswith("ing") else "past"


def _aspect(s: TreeIndex, verbs: Sequence[int]) -> str:
    """Return the aspect that each auxiliary gives with the form of the verb after it."""
    aspects = []
    pairs = [(_lemma(s, m), _participle(s, after)) for m, after in pairwise(verbs)]
    if ("have", "past") in pairs:
        aspects.append("perfect")
    if ("be", "present") in pairs:
        aspects.append("progressive")
    return " ".join(aspects) or "simple"


def _is_passive(s: TreeIndex, verbs: Sequence[int], subject: int) -> bool:
    marked = any(s.full_relations[m].endswith(":pass") for m in (*verbs, subject))
    if len(verbs) == 1:
        return marked
    # A conjunct may share the auxiliary of another voice: "was arrested and crying".
    *_, auxiliary, main = verbs
    is_borrowed = s.relations[main] == "conj" and s.heads[auxiliary] != main
    if is_borrowed:
        return _lemma(s, auxiliary) in ("be", "get") and _participle(s, main) == "past"
    return marked


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
        # By first conjunct, the largest first; and by every later conjunct, of which each is in
        # one.
        self.begun: dict[int, list[Coordination]] = {}
        self.joined: dict[int, Coordination] = {}
        for coordination in coordinations:
            first, *others = coordination.conjuncts
            self.begun.setdefault(first.position, []).append(coordination)
            self.joined.update((conjunct.position, coordination) for conjunct in others)
        self.all: list[Clause] = []
        # Of two clauses with one predicate, the inner one.
        self.by_word: dict[int, Clause] = {}
        for h in range(1, sentence.n + 1):
            if self._is_predicate(h):
                self._add(h)
        for clause in self.all:
            if clause.parent is None:
                clause.parent = self._parent(clause)
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
        span, clause_kind = self._span(h), self._kind(h)
        begin = 0
        around = None
        if outer := self._outer_subject(h):
            copula = min(m for m in s.with_relation(h, "cop") if m > outer)
            # "The problem is not that he left": what follows the copula is its own.
            begin = copula
            while begin < s.n and s.heads[begin + 1] == h and _is_negation(s, begin + 1):
                begin += 1
            candidates = [*s.with_relation(h, "aux"), *self._negations(h)]
            words = sorted({copula, *(m for m in candidates if outer < m <= begin)})
            verb = VerbGroup(s, h, words, copula)
            around = Clause(s, span, h, clause_kind, verb, s.phrase_of(outer))
            self.all.append(around)
            span, clause_kind = s.trim(begin, span[1], h), "complement"
        verb = self._verb(h, begin)
        objects = [s.phrase_of(m) for m in self.objects(h)]
        clause = Clause(
            s, span, h, clause_kind, verb, self.subject(h, inside=True), objects, around
        )
        self.all.append(clause)
        self.by_word[h] = clause

    def _outer_subject(self, h: int) -> int:
        """Return the subject of a clause around a predicate's own; 0 without: "the problem is that
        he left".
        """
        s = self.s
        outer = [m for m in s.children[h] if s.full_relations[m].endswith(":outer")]
        copulas = [m for m in s.with_relation(h, "cop") if outer and m > outer[0]]
        # A noun or an adjective needs a copula of its own.
        needed = 1 if s.is_verb(h) else 2
        return outer[0] if len(copulas) >= needed else 0

    def _span(self, h: int) -> Range:
        """Return all below the predicate, without later conjuncts and what joins it to earlier
        ones.
        """
        s = self.s
        i, j = s.after_coordinator(h) if s.relations[h] == "conj" else s.reach(h)
        # The smallest coordination of clauses comes last.
        for coordination in self.begun.get(h, ()):
            first, *others = coordination.conjuncts
            if any(self._is_predicate(conjunct.position) for conjunct in others):
                j = first.span[1]
        pronoun = s.heads[h]
        if self._is_free_relative(h) and pronoun <= i:
            i = pronoun - 1
        return i, max(j, h)

    def _is_free_relative(self, h: int) -> bool:
        """Return True for a relative clause that is headed by its pronoun: "what he cooked"."""
        s = self.s
        return s.full_relations[h] == "acl:relcl" and s.tags[s.heads[h]] in ("WP", "WDT", "WRB")

    def _shared(self, h: int, *relations: str) -> list[int]:
        """Return what a conjunct shares with the earlier ones, by relations."""
        if h not in self.joined:
            return []
        shared = [phrase.position for phrase in self.joined[h].shared]
        return [m for m in shared if self.s.relations[m] in relations]

    def _negations(self, h: int) -> list[int]:
        s = self.s
        # "Not only" does not negate.
        return [
            m
            for m in s.children[h]
            if _is_negation(s, m) and not (m < s.n and s.words[m + 1].lower() == "only")
        ]

    def _borrowed(self, h: int) -> list[int]:
        """Return the auxiliaries, with "to" and a negation, that a conjunct shares with earlier
        ones.
        """
        s = self.s
        if h not in self.joined or s.with_relation(h, *_SUBJECTS):
            return []
        head = s.heads[h]
        relations = ("aux",) if s.is_verb(h) else ("aux", "cop")
        auxiliaries = self._shared(h, *relations)
        negations = [m for m in self._shared(h, "advmod") if m in self._negations(head)]
        if not s.spans:
            # Without constituents, a finite verb has no auxiliary, and others have the negation
            # after it.
            if s.tags[h] in _FINITE_TAGS:
                auxiliaries = []
            negations = [m for m in self._negations(head) if auxiliaries and m > auxiliaries[0]]
        marks = [m for m in self._shared(h, "mark") if _is_to(s, m) and auxiliaries]
        if not auxiliaries and not negations and not s.with_relation(head, "aux", "cop"):
            return self._borrowed(head)
        return [*auxiliaries, *negations, *marks]

    def _verb(self, h: int, begin: int) -> VerbGroup:
        """Return the verb group of a predicate, without words up to `begin`."""
        s = self.s
        auxiliaries = [m for m in s.with_relation(h, "aux", "cop") if m > begin]
        words = set(auxiliaries)
        words.update(m for m in self._negations(h) if m > begin)
        words.update(m for m in s.children[h] if s.full_relations[m] == "compound:prt")
        first = auxiliaries[0] if auxiliaries else h
        # "will be opened and be read": an auxiliary that is not finite needs one that is.
        if not auxiliaries or s.tags[first] in ("VB", "VBN", "VBG"):
            borrowed = self._borrowed(h)
            words.update(borrowed)
            auxiliaries += [m for m in borrowed if s.relations[m] in ("aux", "cop")]
        # "He is to leave."
        if auxiliaries:
            begin = min(auxiliaries)
            words.update(m for m in s.children[h] if _is_to(s, m) and m > begin)
        main = h if s.is_verb(h) or not auxiliaries else max(auxiliaries)
        words.add(main)
        subjects = s.with_relation(h, *_SUBJECTS)
        return VerbGroup(s, h, sorted(words), main, subjects[-1] if subjects else 0)

    def _parent(self, clause: Clause) -> Clause | None:
        if clause.kind == "main":
            return None
        m = self.s.heads[self.s.first_conjunct(clause.position)]
        while m and m not in self.by_word:
            m = self.s.heads[m]
        return self.by_word.get(m)

    # ---- subjects and objects

    def subject(self, h: int, *, inside: bool = False) -> Phrase | None:
        """Return the subject of a predicate: its own, its first conjunct's, or one that the trees
        lead to.

        `inside`: only what stands in the clause or is shared; else also the subject or object that
        controls an open complement, the noun that a participle modifies, and the antecedent of a
        relative pronoun.
        """
        s = self.s
        if m := self._written_subject(h):
            antecedent = None if inside else self._antecedent(m, h)
            return antecedent or s.phrase_of(m)
        head = s.heads[h]
        is_free = self._is_free_relative(h) and s.tags[head] != "WRB"
        if is_free and self._verb(h, 0).form == "finite":
            return Phrase(s, (head - 1, head), head)
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
        return not self.s.with_relation(head, *relations) or bool(self._shared(h, *relations))

    def objects(self, h: int) -> list[int]:
        """Return the direct and indirect objects of a predicate, also those shared with its first
        conjunct.
        """
        objects = self.s.with_relation(h, "obj", "iobj")
        if self.s.relations[h] == "conj" and not objects:
            return self._shared(h, "obj", "iobj")
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
