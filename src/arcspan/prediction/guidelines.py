"""Relations that follow the guidelines of Universal Dependencies, chosen exactly over their scores.

    the root      `root` stands at the root of the tree and nowhere else
    order         `conj`, `fixed`, `flat`, `goeswith` and `appos` follow their head
    one of each   a word has at most one subject (`nsubj`, `csubj`; those marked `:outer` stand
                  beside it), one `obj` and one `iobj`
    leaves        function words have only the dependents that the guidelines allow them

These are rules of UD's validator (udtools, level 3); that of `iobj` is stricter here. Most
sentences follow them anyway and are left as they are. For the others, the relations with the
greatest sum of scores among all that follow them are found from the leaves up: the best of
everything below a word depends on its own relation only by what that relation allows its
dependents; and those are given relations one after the other, for each set of subject, `obj` and
`iobj` that the dependents before them have.

Heads are not changed. Where no choice of relations follows the rules, because the names in use are
too few, the best ones stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from arcspan.prediction.outputs import Inventories

# Only Universal Dependencies (version 2) have all three.
_TYPICAL = {"root", "nsubj", "obj"}
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

# Sets of groups that dependents have already, as bits: [set, group] is the set before a dependent
# of the # group was added. Group 0 is of relations that any number of dependents may have; the last
# row stands for # what cannot be.
_SETS = 1 << len(_ONE_EACH)
_BEFORE = np.full((_SETS, len(_ONE_EACH) + 1), _SETS)
_BEFORE[:, 0] = np.arange(_SETS)
for _group in range(len(_ONE_EACH)):
    _with = np.flatnonzero(np.arange(_SETS) & 1 << _group)
    _BEFORE[_with, _group + 1] = _with ^ 1 << _group


def are_universal(relations: Sequence[str]) -> bool:
    """Return whether these are relations of Universal Dependencies.

    >>> are_universal(["root", "nsubj:pass", "obj"]), are_universal(["root", "nsubj", "dobj"])
    (True, False)
    """
    return {name.split(":")[0] for name in relations} >= _TYPICAL


class Guidelines:
    """The guidelines for a model's relations, as tables over their numbers.

    A relation has a class: 0, or that of the function words that it belongs to (an entry of
    `_LEAVES`, from 1).
    """

    def __init__(self, inventories: Inventories) -> None:
        universal = [name.split(":")[0] for name in inventories.relations]
        size = len(universal)
        self._is_root = np.asarray([name == "root" for name in universal])
        self._follows_head = np.asarray([name in _AFTER_HEAD for name in universal])
        self._group = np.zeros(size, dtype=np.int64)
        for number, names in enumerate(_ONE_EACH, 1):
            for r, name in enumerate(inventories.relations):
                if universal[r] in names and not name.endswith(":outer"):
                    self._group[r] = number
        self._class = np.zeros(size, dtype=np.int64)
        # Relations that dependents may have: [whether the dependent is a negation, class of the
        # head, relation].
        self._is_allowed = np.ones((2, len(_LEAVES) + 1, size), dtype=np.bool_)
        for number, (names, allowed) in enumerate(_LEAVES, 1):
            self._class[[r for r, name in enumerate(universal) if name in names]] = number
            self._is_allowed[:, number] = [name in allowed for name in universal]
            # Any function word may be negated, but not punctuation.
            if names != {"punct"}:
                self._is_allowed[1, number] |= [name == "advmod" for name in universal]
        features = [name.split("|") for name in inventories.features]
        self._is_particle = np.asarray([tag == "PART" for tag in inventories.upos], np.bool_)
        self._is_adverb = np.asarray([tag == "ADV" for tag in inventories.upos], np.bool_)
        self._is_negative = np.asarray(["Polarity=Neg" in bundle for bundle in features], np.bool_)

    @classmethod
    def of(cls, inventories: Inventories) -> Guidelines | None:
        """Return those for the relations of a model; None unless they are universal."""
        return cls(inventories) if are_universal(inventories.relations) else None

    def choose(
        self,
        scores: np.ndarray,
        heads: np.ndarray,
        lengths: np.ndarray,
        words: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        """Return the best relations that follow the guidelines, in numbers [words].

        All sentences are in one array, one after the other.

        scores  of relations [words, relations];  heads  of words, counted in their sentence, 0 for
                the root
        words   other outputs of words: universal tags and features tell what a negation is
        """
        relations = scores.argmax(1)
        # Words that may negate a function word; without features particles ("not"), without tags
        # all.
        is_negation = np.ones(len(relations), dtype=np.bool_)
        if "upos" in words:
            is_negation = self._is_particle[words["upos"]]
            if "feature" in words:
                is_negation = is_negation | self._is_adverb[words["upos"]]
                is_negation &= self._is_negative[words["feature"]]
        starts = np.cumsum(lengths) - lengths
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        # Words with a relation that is forbidden by itself, by their head's, or by a sibling's.
        index = np.arange(len(relations))
        start = starts[sentence]
        is_wrong = (heads == 0) != self._is_root[relations]
        is_wrong |= self._follows_head[relations] & (start + heads > index + 1)
        head_index = np.where(heads > 0, start + heads - 1, index)
        head_class = self._class[relations[head_index]]
        is_allowed = self._is_allowed[is_negation.astype(np.int64), head_class, relations]
        is_wrong |= (heads > 0) & ~is_allowed
        grouped = np.flatnonzero((self._group[relations] > 0) & (heads > 0))
        # Equal keys are dependents of one head in one group.
        keys = head_index[grouped] * (len(_ONE_EACH) + 1) + self._group[relations[grouped]]
        is_wrong[grouped[np.bincount(keys)[keys] > 1]] = True
        for b in {*sentence[is_wrong].tolist()}:
            window = slice(starts[b], starts[b] + lengths[b])
            best = self.best(scores[window], heads[window], is_negation[window])
            if best is not None:
                relations[window] = best
        return relations

    def best(
        self, scores: np.ndarray, heads: np.ndarray, is_negation: np.ndarray
    ) -> np.ndarray | None:
        """Return the best relations of one sentence that follow the guidelines; None where none do.

        scores  of relations [n, relations];  heads  [n];  is_negation  bool [n]
        """
        n = len(heads)
        is_before_head = heads > np.arange(1, n + 1)
        is_possible = (heads == 0)[:, None] == self._is_root
        is_possible &= ~(is_before_head[:, None] & self._follows_head)
        # Of a word and all below it, by its relation [n, relations].
        value = np.where(is_possible, scores.astype(np.float64), -np.inf)
        children: list[list[int]] = [[] for _ in range(n + 1)]
        for m, h in enumerate(heads.tolist()):
            children[h].append(m)
        # Heads before their dependents: the list grows while it is read.
        order = children[0][:]
        for m in order:
            order += children[m + 1]
        relations_below: dict[int, Callable[[int], list[int]]] = {}
        for m in reversed(order):
            below = children[m + 1]
            if below:
                best, relations_below[m] = self._assign(value[below], is_negation[below])
                value[m] += best[self._class]
        relations = value.argmax(1)
        top = order[0]
        if value[top, relations[top]] == -np.inf:
            return None
        for m in order:
            if m in relations_below:
                relations[children[m + 1]] = relations_below[m](int(self._class[relations[m]]))
        return relations

    def _assign(
        self, value: np.ndarray, is_negation: np.ndarray
    ) -> tuple[np.ndarray, Callable[[int], list[int]]]:
        """Return the best total value of a word's dependents for each class of the word's relation,
        and a function that returns their relations for one class.

        value  [dependents, relations]
        """
        is_allowed = self._is_allowed[is_negation.astype(np.int64)]
        # [dependents, classes, relations]
        allowed_value = np.where(is_allowed, value[:, None], -np.inf)
        by_group = [
            np.where(self._group == group, allowed_value, -np.inf)
            for group in range(len(_ONE_EACH) + 1)
        ]
        # The best relation of each group, and its value: [dependents, groups, classes].
        best = np.stack([of_group.max(2) for of_group in by_group], 1)
        names = np.stack([of_group.argmax(2) for of_group in by_group], 1)
        # The best value of the dependents so far, by the set of groups that they have.
        total = np.full((_SETS + 1, best.shape[2]), -np.inf)
        total[0] = 0
        # For each dependent: its group in the best choice that leads to a set [sets, classes].
        steps = []
        for of_dependent in best:
            options = total[_BEFORE] + of_dependent  # [sets, groups, classes]
            steps.append(options.argmax(1))
            total[:_SETS] = options.max(1)

        def trace_back(head_class: int) -> list[int]:
            groups = int(total[:, head_class].argmax())
            relations = []
            for of_dependent, step in zip(names[::-1], reversed(steps), strict=True):
                group = int(step[groups, head_class])
                relations.append(int(of_dependent[group, head_class]))
                groups = int(_BEFORE[groups, group])
            return relations[::-1]

        return total.max(0), trace_back
