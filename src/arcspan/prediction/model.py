"""A model: words to the network's input, batches of them to scores, and what it can predict.

A `ParserModel` is frozen data. It knows no queries, constraints or threads: `prediction.charts`
puts its scores under constraints, and `prediction.runner` makes batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from arcspan import decoding
from arcspan.decoding import Decoded
from arcspan.errors import ArcspanError
from arcspan.lazy import lazy
from arcspan.prediction.confidence import Calibration
from arcspan.prediction.guidelines import Guidelines
from arcspan.prediction.inputs import Arrays, InputEncoder, column_class
from arcspan.prediction.outputs import Inventories, Scorer, Scores, Style

Decoder = Callable[[Scores, np.ndarray], Decoded]
"""A search: the scores of a batch and its sentences' lengths to the best structures."""

# Pieces that an encoder reads in one window; a longer sentence has a batch of its own.
_WINDOW = 510


class EncodedSentence(NamedTuple):
    """A sentence ready for the network.

    encoded    as `InputEncoder.prepare` gives it
    cost       how much the encoder has to read for it
    batch_key  sentences with the same key may share a batch: all their sums are cut alike
               (`inputs.column_class`)
    style      the conventions to follow
    tags       one part-of-speech tag per word, for a network that reads them
    """

    words: Sequence[str]
    encoded: Any
    cost: int
    batch_key: tuple[Any, ...]
    style: Style
    tags: Sequence[str] | None = None


@dataclass(frozen=True)
class ParserModel:
    """One network, or the two of SEP, with all that is needed to read and interpret it.

    scorers      the networks, in torch or ONNX
    calibration  the temperatures of its probabilities
    styles       conventions that users may name; the first is the default
    guidelines   rules for relations, None for any relations
    two_stage    search the best unlabelled trees, and label those; otherwise the best labelled
                 trees
    apart        search spans and arcs separately, though one network scores both
    decoder      a search in place of the exact one: it finds trees, which are labelled then
    name         of the bundle, for messages
    """

    scorers: Sequence[Scorer]
    inputs: InputEncoder
    inventories: Inventories
    calibration: Calibration = Calibration()
    styles: Mapping[str, Style] = field(default_factory=dict)
    guidelines: Guidelines | None = None
    two_stage: bool = False
    apart: bool = False
    decoder: Decoder | None = None
    name: str = ""

    @lazy
    def outputs(self) -> frozenset[str]:
        """Return the names of all its outputs."""
        return frozenset().union(*(scorer.outputs for scorer in self.scorers))

    @lazy
    def joint(self) -> bool:
        """Return whether one search finds both trees."""
        scores_both = any({"span", "arc"} <= scorer.outputs for scorer in self.scorers)
        return scores_both and not self.apart

    @lazy
    def default_style(self) -> Style:
        """Return the style of queries that name none."""
        return next(iter(self.styles.values()), Style())

    @lazy
    def labelled(self) -> bool:
        """Return whether the search is for labelled trees."""
        return not self.two_stage and self.decoder is None

    def chart_bytes(self, n: int, *, sums: bool = False, kbest: bool = False) -> int:
        """Return the memory for scores and chart of n words: for the best tree, sums, or k best
        trees.
        """
        return decoding.memory_needed(
            n, arcs=self.joint, headed="headed" in self.outputs, sums=sums, kbest=kbest
        )

    def style_of(self, style: str | Style | None) -> Style:
        """Return a style by its name; of None, the default."""
        if style is None:
            return self.default_style
        if isinstance(style, Style):
            return style
        try:
            return self.styles[style]
        except (KeyError, TypeError):
            choice = f"it has {', '.join(self.styles)}" if self.styles else "it has only one"
            raise ArcspanError(f"this model has no style {style!r}: {choice}") from None

    def encode(
        self,
        words: Sequence[str],
        style: str | Style | None = None,
        tags: Sequence[str] | None = None,
    ) -> EncodedSentence:
        """Return a sentence of at least one word as the network reads it."""
        (encoded,) = self.inputs.prepare([words])
        key = (
            column_class(len(words) + 1),
            encoded.shape_class,
            max(0, encoded.cost - _WINDOW),
        )
        chosen_style = self.default_style if style is None else self.style_of(style)
        return EncodedSentence(words, encoded, encoded.cost, key, chosen_style, tags)

    def arrays(self, sentences: Sequence[EncodedSentence], *, tags: bool = False) -> Arrays:
        """Return the arrays of a batch that scorers read; `tags`: with those of the sentences."""
        arrays = self.inputs.batch([sentence.encoded for sentence in sentences])
        if self.inventories.styles:
            styles = [sentence.style for sentence in sentences]
            arrays["styles"] = np.asarray(styles, dtype=np.int64)
        if tags:
            longest = max(len(sentence.words) for sentence in sentences)
            # 0 stands for an unknown tag, and for none.
            numbers = np.zeros((len(sentences), longest + 2), dtype=np.int64)
            for b, sentence in enumerate(sentences):
                if sentence.tags is not None:
                    row = [self._tag_numbers.get(tag, 0) for tag in sentence.tags]
                    numbers[b, 1 : len(sentence.words) + 1] = row
            arrays["gold_tags"] = numbers
        return arrays

    @lazy
    def _tag_numbers(self) -> dict[str, int]:
        return {tag: number for number, tag in enumerate(self.inventories.tags, 1)}

    def score(self, sentences: Sequence[EncodedSentence], *, headed: bool = True) -> list[Scores]:
        """Return the scores of a batch, one `Scores` for each scorer; `headed`: second order,
        too.
        """
        return [
            scorer.score(self.arrays(sentences, tags=scorer.reads_tags), headed=headed)
            for scorer in self.scorers
        ]
