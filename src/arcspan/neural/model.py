"""The model of all four systems: an encoder, structure scorers, and heads for labels, relations and tags.

SEP, MTL, Joint1o and Joint2o are the same network; they differ in which parts exist (a SEP parser is two
models, each with one part), in the loss, and in the search:

| system  | parts          | loss                         | search                       |
|---------|----------------|------------------------------|------------------------------|
| sep     | spans; arcs    | each its own                 | CKY; Eisner                  |
| mtl     | spans and arcs | the sum of the two of sep    | Eisner-Satta (or apart)      |
| joint1o | spans and arcs | over l-trees                 | Eisner-Satta                 |
| joint2o | and headed     | over l-trees                 | Eisner-Satta of second order |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from arcspan import decoding
from arcspan.neural.encoder import LstmEncoder, PretrainedEncoder
from arcspan.neural.scorers import LABELLERS, MLP, HeadedScorer, PairScorer, fenceposts, pairs
from arcspan.neural.settings import Inventories, ModelSettings

PARTS = ("both", "constituency", "dependency")


class Scores(NamedTuple):
    """Structure scores of a batch: span[B, n+1, n+1], arc[B, n+1, n+1] (modifier, head), headed[B, pairs, n+1].

    What the model does not have is None.
    """

    span: Tensor | None
    arc: Tensor | None
    headed: Tensor | None


@dataclass(frozen=True)
class Prediction:
    """One sentence as the model sees it, in ids of the inventories; what the model lacks is None."""

    nodes: np.ndarray | None  # (2n-1, 4): i, j, head (0 where there is none), label; pre-order
    heads: np.ndarray | None  # (n,)
    relations: np.ndarray | None  # (n,)
    tags: np.ndarray | None  # (n,)
    upos: np.ndarray | None  # (n,)
    score: float


class Model(nn.Module):
    """One network; `part` is `both`, or the half that a SEP parser's model has."""

    def __init__(
        self,
        settings: ModelSettings,
        encoder: PretrainedEncoder | LstmEncoder,
        inventories: Inventories,
        part: str = "both",
    ) -> None:
        super().__init__()
        self.settings = settings
        self.inventories = inventories
        self.part = part
        self.encoder = encoder
        size, dropout = encoder.size, settings.mlp_dropout
        labeller = LABELLERS[settings.labeller]
        has_spans, has_arcs = part != "dependency", part != "constituency"
        self.tag_input: nn.Embedding | None = None
        if settings.gold_tags:
            # Tag 0 is "no tag": begin, end, padding, and tags never seen in training.
            self.tag_input = nn.Embedding(len(inventories.tags) + 1, size, padding_idx=0)
        self.span = PairScorer(size, settings.span_size, dropout) if has_spans else None
        self.arc = PairScorer(size, settings.arc_size, dropout) if has_arcs else None
        self.headed: HeadedScorer | None = None
        if settings.system == "joint2o" and part == "both":
            self.headed = HeadedScorer(size, settings.headed_size, dropout, settings.separate_hooked)
        self.label = (
            labeller(size, settings.label_size, len(inventories.labels), dropout) if has_spans else None
        )
        self.relation = (
            labeller(size, settings.relation_size, len(inventories.relations), dropout) if has_arcs else None
        )
        self.tag: nn.Module | None = None
        self.upos: nn.Module | None = None
        if settings.tags:
            if inventories.tags:
                self.tag = _classifier(size, settings.tag_size, len(inventories.tags), dropout)
            if inventories.upos:
                self.upos = _classifier(size, settings.tag_size, len(inventories.upos), dropout)

    def encode(self, inputs: dict[str, Tensor], gold_tags: Tensor | None = None) -> Tensor:
        """hidden[B, n+2, D]; gold_tags[B, n+2] where the model reads them."""
        hidden: Tensor = self.encoder(**{name: inputs[name] for name in self.encoder.input_names})
        if self.tag_input is not None and gold_tags is not None:
            hidden = hidden + self.tag_input(gold_tags)
        return hidden

    def score(self, hidden: Tensor, i: Tensor | None = None, j: Tensor | None = None) -> Scores:
        """Structure scores; (i, j) are the pairs of fenceposts, made here where they are not given."""
        posts, words = fenceposts(hidden), hidden[:, :-1]
        headed = None
        if self.headed is not None:
            if i is None or j is None:
                i, j = pairs(posts.shape[1] - 1, hidden.device)
            headed = self.headed(words, posts, i, j)
        return Scores(
            self.span(posts) if self.span is not None else None,
            self.arc(words) if self.arc is not None else None,
            headed,
        )

    def search(self, scores: Scores, lengths: np.ndarray, apart: bool = False) -> decoding.Decoded:
        """The best structure of every sentence; with `apart`, spans and arcs are searched each alone."""
        return search(scores, lengths, apart)

    @torch.no_grad()
    def predict(
        self,
        inputs: dict[str, Tensor],
        lengths: np.ndarray,
        gold_tags: Tensor | None = None,
        apart: bool = False,
    ) -> list[Prediction]:
        """Both trees of every sentence, labelled: labels and relations are scored only where they are needed."""
        if self.training:
            raise RuntimeError("the model is in training mode: call .eval() first")
        hidden = self.encode(inputs, gold_tags)
        decoded = self.search(self.score(hidden), lengths, apart)
        labels = self._labels(hidden, decoded, lengths)
        relations = self._relations(hidden, decoded, lengths)
        tags = None if self.tag is None else self.tag(hidden).argmax(-1).cpu().numpy()
        upos = None if self.upos is None else self.upos(hidden).argmax(-1).cpu().numpy()
        return [
            Prediction(
                nodes=None if labels is None else labels[b],
                heads=None if decoded.heads is None else decoded.heads[b, 1 : n + 1],
                relations=None if relations is None else relations[b],
                tags=None if tags is None else tags[b, 1 : n + 1],
                upos=None if upos is None else upos[b, 1 : n + 1],
                score=float(decoded.scores[b]),
            )
            for b, n in enumerate(lengths)
        ]

    def _labels(
        self, hidden: Tensor, decoded: decoding.Decoded, lengths: np.ndarray
    ) -> list[np.ndarray] | None:
        """Rows (i, j, head, label) of the decoded spans, a sentence each."""
        if self.label is None or decoded.spans is None:
            return None
        b, nodes = flatten(decoded.spans)
        logits = self.label(fenceposts(hidden), *_tensors(hidden.device, b, nodes[:, 0], nodes[:, 1])).cpu()
        # A sentence of several words has a constituent over all of them, whatever its label.
        whole = (nodes[:, 0] == 0) & (nodes[:, 1] == lengths[b]) & (lengths[b] > 1)
        logits[torch.from_numpy(whole), 0] = -torch.inf
        heads = nodes[:, 2] if nodes.shape[1] == 3 else np.zeros(len(nodes), dtype=np.int64)
        rows = np.column_stack([nodes[:, :2], heads, logits.argmax(-1).numpy()])
        return np.split(rows, np.cumsum([len(own) for own in decoded.spans])[:-1])

    def _relations(
        self, hidden: Tensor, decoded: decoding.Decoded, lengths: np.ndarray
    ) -> list[np.ndarray] | None:
        """The relation of every word to its decoded head, a sentence each."""
        if self.relation is None or decoded.heads is None:
            return None
        b = np.repeat(np.arange(len(lengths)), lengths)
        m = np.concatenate([np.arange(1, n + 1) for n in lengths])
        logits = self.relation(hidden[:, :-1], *_tensors(hidden.device, b, m, decoded.heads[b, m]))
        return np.split(logits.argmax(-1).cpu().numpy(), np.cumsum(lengths)[:-1])


def search(scores: Scores, lengths: np.ndarray, apart: bool = False) -> decoding.Decoded:
    """The best structures: Eisner-Satta where there are spans and arcs, otherwise CKY or Eisner.

    With `apart`, spans and arcs are searched each alone. Where it runs is one rule, `decoding.batched.pays`:
    scores on the CPU always go to the compiled kernels, and so do scores on an accelerator, copied to the
    host, unless the batch is large and its sentences long enough for `decoding.batched` to be faster there.
    """
    span, arc, headed = scores.span, scores.arc, None
    some = span if span is not None else arc
    assert some is not None
    if span is not None and arc is not None and not apart:
        headed = None if scores.headed is None else unpack(scores.headed.detach())
        if some.device.type != "cpu" and decoding.batched.pays(lengths.tolist(), some.device):
            where = torch.as_tensor(lengths, device=some.device)
            found: decoding.Decoded = decoding.batched.eisner_satta(
                span.detach(), arc.detach(), where, headed
            )
            return found
        cube = None if headed is None else _array(headed)
        return decoding.eisner_satta(_array(span), _array(arc), lengths, headed=cube)
    spans = None if span is None else decoding.cky(_array(span), lengths)
    arcs = None if arc is None else decoding.eisner(_array(arc), lengths)
    if spans is None or arcs is None:
        one = spans if spans is not None else arcs
        assert one is not None
        return one
    return decoding.Decoded(heads=arcs.heads, spans=spans.spans, scores=spans.scores + arcs.scores)


def unpack(headed: Tensor) -> Tensor:
    """The cube [B, n+1, n+1, n+1] of headed[B, pairs, n+1], zero where there is no pair i < j."""
    batch, _, positions = headed.shape
    cube = headed.new_zeros(batch, positions, positions, positions)
    i, j = pairs(positions - 1, headed.device)
    cube[:, i, j] = headed
    return cube


def _array(scores: Tensor) -> np.ndarray:
    return scores.detach().float().cpu().numpy()


def flatten(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of all sentences in one array, and the sentence that each row belongs to."""
    b = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    return b, np.concatenate(rows) if rows else np.zeros((0, 3), dtype=np.int64)


def _tensors(device: torch.device, *arrays: np.ndarray) -> list[Tensor]:
    return [torch.as_tensor(np.ascontiguousarray(array, dtype=np.int64), device=device) for array in arrays]


def _classifier(size_in: int, size: int, classes: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(MLP(size_in, size, dropout), nn.Linear(size, classes))
