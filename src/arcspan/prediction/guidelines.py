"""Relations and universal tags that follow the guidelines of Universal Dependencies, chosen exactly
over their scores.

    the root      `root` stands at the root of the tree and nowhere else
    order         `conj`, `fixed`, `flat`, `goeswith` and `appos` follow their head
    one of each   a word has at most one subject (`nsubj`, `csubj`; those marked `:outer` stand
                  beside it), one `obj` and one `iobj`
    leaves        function words have only the dependents that the guidelines allow them
    tags          a relation goes with certain universal tags: `punct` with PUNCT, and PUNCT with no
                  other relation, `advmod` with ADV and its like, `goeswith` with X, ...
    broken words  `goeswith` reaches over no other word than siblings; the first part of the word
                  has all its features and Typo=Yes, the others have none
    pictograms    an emoji or an emoticon is `discourse` or `punct` (`prediction.pictograms`)

Most of these are rules of UD's validator (udtools, level 3); that of `iobj` is stricter here. Most
sentences follow them anyway and are left as they are. For the others, the relations and tags with
the greatest sum of scores among all that follow them are found from the leaves up: the best of
everything below a word depends on its own relation only by what that relation allows its
dependents; and those are given relations one after the other, for each set of subject, `obj` and
`iobj` that the dependents before them have. Each relation of a word counts with the best tag that
goes with it.

Heads are not changed. Where no choice of relations follows the rules, because the names in use are
too few, the rules for tags are left out; where that does not help, the best relations stay. Of
features, only those of broken words and of new punctuation follow a change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from arcspan.prediction.outputs import Inventories
from arcspan.prediction.pictograms import PENALTY

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

# Universal tags that relations go with, and others that they do not go with.
_TAGS: Mapping[str, set[str]] = {
    "det": {"DET", "PRON"},
    "nummod": {"NUM", "NOUN", "SYM"},
    "advmod": {"ADV", "ADJ", "CCONJ", "DET", "PART", "SYM"},
    "expl": {"PRON", "DET", "PART"},
    "aux": {"AUX"},
    "cop": {"AUX", "PRON", "DET", "SYM"},
    "punct": {"PUNCT"},
    "goeswith": {"X"},
}
_NOMINAL = {"PROPN", "ADJ", "PRON", "DET", "NUM", "AUX"}
_OTHER_TAGS: Mapping[str, set[str]] = {
    "case": _NOMINAL,
    "mark": {*_NOMINAL, "NOUN", "INTJ"},
    "cc": {*_NOMINAL, "NOUN", "VERB", "INTJ"},
    "fixed": {"PROPN"},
}
_OF_PUNCTUATION = {"punct", "root"}
_OF_PICTOGRAMS = {"discourse", "punct", "root"}
_NO_FEATURES = "_"
_TYPO = "Typo=Yes"
_EXTERNAL_TAG = "ExtPos="

# Sets of groups that dependents have already, as bits: [set, group] is the set before a dependent
# of the group was added. Group 0 is of relations that any number of dependents may have; the last
# row stands for what cannot be.
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


def _goes_with(relation: str, tag: str) -> bool:
    """Return whether a word may have both the relation and the universal tag."""
    if tag == "PUNCT" and relation not in _OF_PUNCTUATION:
        return False
    if relation in _TAGS:
        return tag in _TAGS[relation]
    return tag not in _OTHER_TAGS.get(relation, set())


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
        self._goes_with = np.asarray(
            [[_goes_with(relation, tag) for tag in inventories.upos] for relation in universal],
            np.bool_,
        ).reshape(size, len(inventories.upos))
        self._is_goeswith = np.asarray([name == "goeswith" for name in universal])
        self._punctuation = _index(inventories.upos, "PUNCT")
        # By bundle of features: the tag that stands in place of the word's in the rules, or -1.
        self._external_tag = np.full(len(features), -1)
        # By bundle: the same one with Typo=Yes, or else the most similar one that there is.
        self._with_typo = np.arange(len(features))
        self._no_features = _index(inventories.features, _NO_FEATURES)
        for number, bundle in enumerate(features):
            for feature in bundle:
                if feature.startswith(_EXTERNAL_TAG):
                    tag = feature.removeprefix(_EXTERNAL_TAG)
                    self._external_tag[number] = _index(inventories.upos, tag)
            if _TYPO not in bundle:
                entries = sorted({*bundle, _TYPO} - {_NO_FEATURES}, key=str.lower)
                for candidate in ("|".join(entries), _TYPO):
                    if candidate in inventories.features:
                        self._with_typo[number] = inventories.features.index(candidate)
                        break
        is_for_pictograms = np.asarray([name in _OF_PICTOGRAMS for name in universal])
        # To be added to the scores of a pictogram's relations [relations].
        self.pictogram_mask = np.where(is_for_pictograms, 0.0, -PENALTY).astype(np.float32)

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
        tag_scores: np.ndarray | None = None,
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the best relations that follow the guidelines, in numbers [words], and the outputs
        of words with the universal tags and features that go with them.

        All sentences are in one array, one after the other.

        scores  of relations [words, relations];  heads  of words, counted in their sentence, 0 for
                the root
        words   other outputs of words: universal tags and features tell what a negation is
        tag_scores  of universal tags [words, tags], in the unit of `scores`; None: tags stay
        """
        relations = scores.argmax(1)
        new_words = dict(words)
        if "upos" in words:
            new_words["upos"] = words["upos"].copy()
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
        # Tags that count in the rules, by word.
        rule_tags = None
        has_external_tag = np.zeros(len(relations), np.bool_)
        if "upos" in words:
            rule_tags = words["upos"]
            if "feature" in words:
                external_tag = self._external_tag[words["feature"]]
                has_external_tag = external_tag >= 0
                rule_tags = np.where(has_external_tag, external_tag, rule_tags)
            is_wrong |= ~self._goes_with[relations, rule_tags]
        for m in np.flatnonzero(self._is_goeswith[relations]).tolist():
            is_wrong[m] |= not _is_near(heads, m, int(start[m]))
        grouped = np.flatnonzero((self._group[relations] > 0) & (heads > 0))
        # Equal keys are dependents of one head in one group.
        keys = head_index[grouped] * (len(_ONE_EACH) + 1) + self._group[relations[grouped]]
        is_wrong[grouped[np.bincount(keys)[keys] > 1]] = True
        for b in {*sentence[is_wrong].tolist()}:
            window = slice(starts[b], starts[b] + lengths[b])
            if rule_tags is not None:
                tag_values = self._tag_values(rule_tags[window])
                if tag_scores is not None:
                    is_free = ~has_external_tag[window]
                    tag_values[is_free] = tag_scores[window][is_free]
                # The best tag of each word for each of its relations: [n, relations].
                by_tag = np.where(self._goes_with, tag_values[:, None], -np.inf)
                with_tags = scores[window] + by_tag.max(2)
                best = self.best(with_tags, heads[window], is_negation[window])
                if best is not None:
                    relations[window] = best
                    tags = by_tag[np.arange(len(best)), best].argmax(1)
                    tags = np.where(has_external_tag[window], words["upos"][window], tags)
                    new_words["upos"][window] = tags
                    continue
            best = self.best(scores[window], heads[window], is_negation[window])
            if best is not None:
                relations[window] = best
        self._follow_with_features(new_words, words, relations, head_index)
        return relations, new_words

    def _tag_values(self, tags: np.ndarray) -> np.ndarray:
        """Return values of tags [n, tags] that admit only these."""
        return np.where(np.arange(self._goes_with.shape[1]) == tags[:, None], 0.0, -np.inf)

    def _follow_with_features(
        self,
        words: dict[str, np.ndarray],
        old_words: Mapping[str, np.ndarray],
        relations: np.ndarray,
        head_index: np.ndarray,
    ) -> None:
        """Change the features of broken words and of new punctuation, in place."""
        if "feature" not in words:
            return
        is_later_part = self._is_goeswith[relations]
        has_none = is_later_part.copy()
        if "upos" in words:
            is_new = words["upos"] != old_words["upos"]
            has_none |= is_new & (words["upos"] == self._punctuation)
        if not has_none.any():
            return
        words["feature"] = words["feature"].copy()
        if self._no_features >= 0:
            words["feature"][has_none] = self._no_features
        first_parts = head_index[is_later_part]
        words["feature"][first_parts] = self._with_typo[words["feature"][first_parts]]

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
        is_near = np.asarray([_is_near(heads, m, 0) for m in range(n)])
        is_possible &= is_near[:, None] | ~self._is_goeswith
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


def _index(names: Sequence[str], name: str) -> int:
    """Return the number of a name; -1 if it is not there."""
    return names.index(name) if name in names else -1


def _is_near(heads: np.ndarray, m: int, start: int) -> bool:
    """Return whether the word at index m stands behind its head and only siblings are between them.

    start  index of the first word of its sentence
    """
    h = int(heads[m])
    return 0 < h <= m - start and bool((heads[start + h : m] == h).all())
