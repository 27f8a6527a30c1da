"""Scores, whoever computed them, and the one search over them.

`Scorer` is what a model is to the rest of the house: `neural.Model` (torch) and `runtime.Session` (ONNX) are two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from arcspan import decoding
from arcspan.decoding.batch import best
from arcspan.prediction.inputs import Arrays


class Scores(NamedTuple):
    """What a model says of a batch before the search; what it does not have is None.

    hidden  [B, n+2, D]: words' vectors, which only the model's own `label` reads
    span    float32 [B, n+1, n+1]: span[b, i, j] for the words i+1..j
    arc     float32 [B, n+1, n+1]: arc[b, m, h] for h as the head of m, 0 the root
    headed  float32 [B, pairs, n+1]: a row for each i < j, in the order of `np.triu_indices`, with a score for each h
            (the searches read the cube [B, n+1, n+1, n+1] as well)
    words   the scores of everything said of words, by output: float32 [B, n+2, names], position 0 is the beginning

    A training loss puts tensors in place of the arrays.
    """

    hidden: Any
    span: Any = None
    arc: Any = None
    headed: Any = None
    words: Mapping[str, Any] = MappingProxyType({})


Places = Sequence[np.ndarray]


class Scorer(Protocol):
    """A model: arrays of words to scores, and labels for what the search chose."""

    @property
    def outputs(self) -> frozenset[str]:
        """The names of the outputs that it has (`prediction.outputs`)."""

    @property
    def reads_tags(self) -> bool:
        """Whether `score` wants `gold_tags`, part-of-speech tags as input."""

    def score(self, arrays: Arrays, *, headed: bool = True) -> Scores:
        """Score a batch; without `headed`, second-order scores are left out."""

    def label(
        self, hidden: Any, nodes: Places, words: Places
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Scores of labels [K, labels] at nodes (b, i, j), and of relations [W, relations] at words (b, m, h).

        None for what the model does not have.
        """

    def reset_after_fork(self) -> None:
        """Begin anew in a forked process."""


def search(scores: Scores, lengths: np.ndarray, *, apart: bool = False) -> decoding.Decoded:
    """The best structures: Eisner-Satta where there are spans and arcs, otherwise CKY or Eisner.

    With `apart`, spans and arcs are searched each alone, though there are both.
    Tensors on an accelerator are searched there where that is faster (`decoding.batched.pays`), else on the host.
    """
    span, arc, headed = scores.span, scores.arc, scores.headed
    joint = span is not None and arc is not None
    if joint and apart:
        c, d = search(Scores(None, span), lengths), search(Scores(None, arc=arc), lengths)
        return decoding.Decoded(heads=d.heads, spans=c.spans, scores=c.scores + d.scores)
    on_accelerator = joint and not isinstance(span, np.ndarray) and span.device.type != "cpu"
    if on_accelerator and decoding.batched.pays(lengths.tolist(), span.device):
        return decoding.batched.eisner_satta(span, arc, lengths, headed)
    span, arc, headed = (None if part is None else on_host(part) for part in (span, arc, headed))
    return best(span, arc, lengths, headed if joint else None, threads=1)


def on_host(scores: Any) -> np.ndarray:
    """Scores as a numpy array; half precision becomes single."""
    if isinstance(scores, np.ndarray):
        return scores
    return scores.detach().float().cpu().numpy()
