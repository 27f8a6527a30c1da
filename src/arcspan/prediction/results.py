"""The result for one sentence: what the search chose, and the trees and names that it stands for.

A `Prediction` keeps the numbers that the model predicted and makes names of them only when these
are read, because most callers read a part of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from arcspan.prediction.confidence import Confidence
from arcspan.prediction.lemmas import lemma_of
from arcspan.prediction.outputs import COLUMN_OUTPUTS, WORD_OUTPUTS, Inventories
from arcspan.trees import ConstituencyTree, DependencyTree

WRAPPER = "TOP"

Chain = tuple[str, ...]


@dataclass(frozen=True)
class Prediction:
    """The analysis of one sentence; outputs that the model does not have are None or left out.

    nodes      int64 (2n-1, 4): i, j, head word (0 where the model has none), label; pre-order
    heads      int64 (n,), and relations likewise
    words      the outputs of words, by name: int64 (n,); lemmas may have the k likeliest edits of
               each word, the best one first: int64 (n, k)
    score      of the best structure
    temperature  that the score is divided by before it is a log-probability, up to a constant of the sentence
    approximate  whether the search was not exact (`prediction.long_sentences`), or was cut short
    error      why there is no prediction, if there is none
    confidence  its probabilities, where the query asked for them
    inventories  the names of its numbers. None where tuples of names stand in place of the numbers:
               in predictions that are made of trees, and in those that travel between processes
    """

    nodes: Any = None
    heads: Any = None
    relations: Any = None
    words: Mapping[str, Any] = field(default_factory=dict)
    score: float = 0.0
    temperature: float = 1.0
    approximate: bool = False
    error: str | None = None
    confidence: Confidence | None = None
    inventories: Inventories | None = None

    @classmethod
    def from_trees(
        cls,
        constituency: ConstituencyTree | None = None,
        dependencies: DependencyTree | None = None,
    ) -> Prediction:
        """Return the prediction, in names, that stands for trees over the same words."""
        nodes = heads = relations = None
        words: dict[str, tuple[str, ...]] = {}
        if constituency is not None:
            chains = constituency.without_wrapper().chains()
            nodes = tuple([(i, j, 0, chain) for (i, j), chain in chains.items()])
            words["tag"] = constituency.tags
        if dependencies is not None:
            heads = dependencies.heads
            relations = dependencies.relations
            for output in COLUMN_OUTPUTS:
                words[output.name] = getattr(dependencies, output.names)
        return cls(nodes, heads, relations, words)

    def named(self, words: Sequence[str]) -> Prediction:
        """Return the same prediction of these words in names, without the inventories."""
        if self.inventories is None:
            return self
        return replace(
            self,
            nodes=None if self.nodes is None else tuple(self._named_nodes()),
            heads=None if self.heads is None else tuple(self.heads.tolist()),
            relations=self._names("relation"),
            words={output: self.column(output, words) for output in self.words},
            inventories=None,
        )

    def column(self, output: str, words: Sequence[str]) -> tuple[str, ...]:
        """Return an output of words, such as "tag", for each of `words`; "" where there is none."""
        if output == "lemma" and self.inventories is not None:
            return self._join_parts(self._lemmas(words, self.inventories), words)
        names = self._names(output)
        if not names:
            return ("",) * len(words)
        if self.inventories is None:
            return names
        if output == "feature":
            return tuple(["" if bundle == "_" else bundle for bundle in names])
        return names

    def constituency(self, words: tuple[str, ...]) -> ConstituencyTree | None:
        """Return the c-tree, with the wrapper TOP around it."""
        if self.nodes is None:
            return None
        spans = []
        for i, j, _, chain in self._named_nodes():
            spans += [(i, j, label) for label in chain]
        # A bracket file cannot hold an empty word.
        leaves = tuple([word or "_" for word in words])
        tags = self.column("tag", words)
        return ConstituencyTree._trusted(leaves, tags, tuple(spans)).with_wrapper(WRAPPER)

    def dependencies(self, words: tuple[str, ...]) -> DependencyTree | None:
        """Return the d-tree."""
        relations = self._names("relation")
        if self.heads is None or relations is None:
            return None
        heads = self.heads if self.inventories is None else tuple(self.heads.tolist())
        columns = [self.column(output.name, words) for output in COLUMN_OUTPUTS]
        return DependencyTree._trusted(heads, relations, words, *columns)

    def trees(self, words: Sequence[str]) -> tuple[ConstituencyTree | None, DependencyTree | None]:
        """Return both trees over the words."""
        forms = tuple(words)
        return self.constituency(forms), self.dependencies(forms)

    def _names(self, output: str) -> tuple[str, ...] | None:
        numbers = self.relations if output == "relation" else self.words.get(output)
        if numbers is None or self.inventories is None:
            return numbers
        names = self.inventories.names(output)
        return tuple([names[number] for number in numbers.tolist()])

    def _named_nodes(self) -> Sequence[tuple[int, int, int, Chain]]:
        if self.inventories is None:
            nodes: Sequence[tuple[int, int, int, Chain]] = self.nodes
            return nodes
        labels = self.inventories.labels
        return [(i, j, h, labels[label]) for i, j, h, label in self.nodes.tolist()]

    def _join_parts(self, lemmas: tuple[str, ...], words: Sequence[str]) -> tuple[str, ...]:
        """Return lemmas in which the first part of a broken word has that of the whole word.

        By the guidelines of Universal Dependencies the other parts (`goeswith`) have none.
        """
        relations = self._names("relation")
        if self.heads is None or relations is None or "goeswith" not in relations:
            return lemmas
        joined = list(lemmas)
        for m, (h, relation) in enumerate(zip(self.heads.tolist(), relations, strict=True)):
            if relation != "goeswith":
                continue
            joined[m] = ""
            first_lemma = lemmas[h - 1]
            # A lemma other than the first part is that of the whole word already.
            if first_lemma.lower() == words[h - 1].lower():
                # Its case tells whether it is a name.
                is_name = first_lemma == words[h - 1]
                joined[h - 1] += words[m] if is_name else words[m].lower()
        return tuple(joined)

    def _lemmas(self, words: Sequence[str], inventories: Inventories) -> tuple[str, ...]:
        """Return lemmas: as training saw the word with its tag, else by the lexicon and the edits.

        A model without a lexicon has its best edit for every word that training did not see.
        """
        numbers = self.words.get("lemma")
        if numbers is None:
            return ("",) * len(words)
        upos = self._names("upos") or ("",) * len(words)
        tags = self._names("tag") or upos
        names = inventories.lemmas
        lexicon = inventories.lexicon
        seen = inventories.seen_lemmas
        edits_of_words = numbers.reshape(len(words), -1).tolist()
        lemmas = []
        for word, tag, universal, edits in zip(words, tags, upos, edits_of_words, strict=True):
            seen_edit = seen.get(tag, {}).get(word)
            if seen_edit is not None:
                lemma = lemma_of(seen_edit, word)
            elif lexicon is not None:
                # Most words of a text were looked up before, and depend on no edit.
                certain = lexicon.certain.get((word, tag, universal))
                lemma = certain or lexicon.lemma(
                    word, tag, universal, [names[edit] for edit in edits]
                )
            else:
                lemma = lemma_of(names[edits[0]], word)
            lemmas.append(lemma)
        return tuple(lemmas)


def merge(predictions: Sequence[Prediction]) -> Prediction:
    """Return one prediction from those of the two models of SEP.

    An output of words that both models have is taken from the model of its tree (`Output.layer`).
    """
    by_layer = {"constituency": predictions[0], "dependency": predictions[-1]}
    for prediction in reversed(predictions):
        if prediction.nodes is not None:
            by_layer["constituency"] = prediction
        if prediction.heads is not None:
            by_layer["dependency"] = prediction
    words = {}
    for output in WORD_OUTPUTS:
        # The last of them that has the output wins.
        for prediction in (*predictions, by_layer[output.layer]):
            if output.name in prediction.words:
                words[output.name] = prediction.words[output.name]
    return replace(
        by_layer["constituency"],
        heads=by_layer["dependency"].heads,
        relations=by_layer["dependency"].relations,
        words=words,
        score=sum(prediction.score for prediction in predictions),
        approximate=any(prediction.approximate for prediction in predictions),
    )
