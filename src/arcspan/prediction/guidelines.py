"""Relations that obey the guidelines of Universal Dependencies: chosen exactly over their scores, given the tree.

    the root      `root` stands at the root of the tree and nowhere else
    order         `conj`, `fixed`, `flat`, `goeswith` and `appos` follow their head
    one of each   a word has at most one subject (`nsubj`, `csubj`; those marked `:outer` stand beside it), one
                  `obj` and one `iobj`
    leaves        function words have only the dependents that the guidelines allow them

These are rules of UD's validator (udtools, level 3); that of `iobj` is stricter here. Most sentences obey them anyway
and are left as they are. For the others, the relations with the greatest sum of scores among all that obey are found
from the leaves up: the best of everything below a word depends on its own relation only by what that relation allows
its dependents; and those are given relations one after the other, for each set of subject, `obj` and `iobj` that may
be taken already.

Heads are not changed. Where no choice of relations obeys, because the names in use are too few, the best ones stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from arcspan.prediction.outputs import Inventories

_KNOWN_BY = {"root", "nsubj", "obj"}  # only Universal Dependencies (version 2) have all three
_AFTER_HEAD = {"conj", "fixed", "flat", "goeswith", "appos"}
_ONE_EACH = ({"nsubj", "csubj"}, {"obj"}, {"iobj"})
_FEW = {"goeswith", "reparandum", "conj", "punct"}
_MORE = {*_FEW, "fixed", "cc", "advmod", "obl"}
# Relations of function words, and those that they may govern.
_LEAVES: Sequence[tuple[set[str], set[str]]] = (
    ({"mark", "case", "clf"}, _MORE),
    ({"aux", "cop"}, {*_FEW, "fixed", "cc"}),
    ({"det"}, {*_MORE, "det", "case", "clf", "flat", "compound", "discourse", "parataxis"}),
    ({"cc"}, {*_FEW, "fixed"}),
    ({"fixed"}, _FEW),
    ({"goeswith"}, set()),
    ({"punct"}, {"punct"}),
)

# Sets of what is taken already, as bits: [set, group] is the set before a dependent of the group was added. Group 0 is
# of relations that any number of dependents may have; the last row stands for what cannot be.
_SETS = 1 << len(_ONE_EACH)
_BEFORE = np.full((_SETS, len(_ONE_EACH) + 1), _SETS)
_BEFORE[:, 0] = np.arange(_SETS)
for _group in range(len(_ONE_EACH)):
    _with = np.flatnonzero(np.arange(_SETS) & 1 << _group)
    _BEFORE[_with, _group + 1] = _with ^ 1 << _group


def are_universal(relations: Sequence[str]) -> bool:
    """Whether these are relations of Universal Dependencies.

    >>> are_universal(["root", "nsubj:pass", "obj"]), are_universal(["root", "nsubj", "dobj"])
    (True, False)
    """
    return {name.split(":")[0] for name in relations} >= _KNOWN_BY


class Guidelines:
    """The guidelines for a model's relations, as tables over their numbers."""

    @classmethod
    def of(cls, inventories: Inventories) -> Guidelines | None:
        """Return those for the relations of a model; None unless they are universal."""
        return cls(inventories) if are_universal(inventories.relations) else None

    def __init__(self, inventories: Inventories) -> None:
        universal = [name.split(":")[0] for name in inventories.relations]
        size = len(universal)
        self._root = np.asarray([name == "root" for name in universal])
        self._after = np.asarray([name in _AFTER_HEAD for name in universal])
        self._group = np.zeros(size, dtype=np.int64)
        for number, names in enumerate(_ONE_EACH, 1):
            for r, name in enumerate(inventories.relations):
                if universal[r] in names and not name.endswith(":outer"):
                    self._group[r] = number
        # What a word's relation is to its dependents, and which relations they may have: [negation, kind, relation].
        self._kind = np.zeros(size, dtype=np.int64)
        self._allowed = np.ones((2, len(_LEAVES) + 1, size), dtype=np.bool_)
        for kind, (names, allowed) in enumerate(_LEAVES, 1):
            self._kind[[r for r, name in enumerate(universal) if name in names]] = kind
            self._allowed[:, kind] = [name in allowed for name in universal]
            if names != {"punct"}:  # any function word may be negated
                self._allowed[1, kind] |= [name == "advmod" for name in universal]
        self._particle = np.asarray([name == "PART" for name in inventories.upos], dtype=np.bool_)
        self._adverb = np.asarray([name == "ADV" for name in inventories.upos], dtype=np.bool_)
        self._negative = np.asarray(
            ["Polarity=Neg" in name.split("|") for name in inventories.features], dtype=np.bool_
        )

    def choose(
        self,
        relations: np.ndarray,
        heads: np.ndarray,
        lengths: np.ndarray,
        words: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        """The best relations that obey, in numbers [words]; all sentences in one array, one after the other.

        relations  scores [words, relations];  heads  of words, counted in their sentence, 0 for the root
        words      what else is said of words: universal tags and features tell what a negation is
        """
        found = relations.argmax(1)
        # Which words may negate a function word; without features particles ("not"), without tags all.
        negative = np.ones(len(found), dtype=np.bool_)
        if "upos" in words and "feature" in words:
            negative = (self._particle | self._adverb)[words["upos"]] & self._negative[
                words["feature"]
            ]
        elif "upos" in words:
            negative = self._particle[words["upos"]]
        begins = np.cumsum(lengths) - lengths
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        # The words with a relation that the guidelines forbid, by itself, by a sibling's or by their head's.
        place, first = np.arange(len(found)), begins[sentence]
        wrong = (heads == 0) != self._root[found]
        wrong |= self._after[found] & (first + heads > place + 1)
        above = np.where(heads > 0, first + heads - 1, place)
        allowed = self._allowed[negative.astype(np.int64), self._kind[found[above]], found]
        wrong |= (heads > 0) & ~allowed
        taken = np.flatnonzero((self._group[found] > 0) & (heads > 0))
        which = above[taken] * (len(_ONE_EACH) + 1) + self._group[found[taken]]
        wrong[taken[np.bincount(which)[which] > 1]] = True
        for b in {*sentence[wrong].tolist()}:
            own = slice(begins[b], begins[b] + lengths[b])
            best = self.best(relations[own], heads[own], negative[own])
            if best is not None:
                found[own] = best
        return found

    def best(
        self, relations: np.ndarray, heads: np.ndarray, negative: np.ndarray
    ) -> np.ndarray | None:
        """The best relations of one sentence that obey, in numbers [n]; None where none do.

        relations  scores [n, relations];  heads  [n];  negative  which words are negations, bool [n]
        """
        n = len(heads)
        before_head = heads > np.arange(1, n + 1)
        open_ = ((heads == 0)[:, None] == self._root) & ~(before_head[:, None] & self._after)
        value = np.where(open_, relations.astype(np.float64), -np.inf)  # of a word and all below it
        children: list[list[int]] = [[] for _ in range(n + 1)]
        for m, h in enumerate(heads.tolist()):
            children[h].append(m)
        order = children[0][:]
        for m in order:  # grows: heads before their dependents
            order += children[m + 1]
        chosen = {}
        for m in reversed(order):
            if children[m + 1]:
                below, chosen[m] = self._assign(value[children[m + 1]], negative[children[m + 1]])
                value[m] += below[self._kind]
        found = value.argmax(1)
        if value[order[0], found[order[0]]] == -np.inf:
            return None
        for m in order:
            if m in chosen:
                found[children[m + 1]] = chosen[m](int(self._kind[found[m]]))
        return found

    def _assign(
        self, value: np.ndarray, negative: np.ndarray
    ) -> tuple[np.ndarray, Callable[[int], list[int]]]:
        """The best relations of a word's dependents, whose values are [dependents, relations].

        Returns what they are worth for each kind [kinds] of relation that the word itself may have, and what they are
        for one kind.
        """
        open_ = np.where(self._allowed[negative.astype(np.int64)], value[:, None], -np.inf)
        groups = [np.where(self._group == g, open_, -np.inf) for g in range(len(_ONE_EACH) + 1)]
        best = np.stack([own.max(2) for own in groups], 1)  # [dependents, groups, kinds]
        names = np.stack([own.argmax(2) for own in groups], 1)  # the best relation of each group
        total = np.full((_SETS + 1, best.shape[2]), -np.inf)
        total[0] = 0
        steps = []  # of each dependent: the group that it takes, where a set is taken with it [sets, kinds]
        for own in best:
            options = total[_BEFORE] + own  # [sets, groups, kinds]
            steps.append(options.argmax(1))
            total[:_SETS] = options.max(1)

        def relations(kind: int) -> list[int]:
            taken, found = int(total[:, kind].argmax()), []
            for own, groups in zip(names[::-1], reversed(steps), strict=True):
                group = int(groups[taken, kind])
                found.append(int(own[group, kind]))
                taken = int(_BEFORE[taken, group])
            return found[::-1]

        return total.max(0), relations
