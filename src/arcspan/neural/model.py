"""The network of all four systems: an encoder, and a scorer for each output.

SEP, MTL, Joint1o and Joint2o are the same network; they differ in which outputs exist (a SEP parser
is two models, each with one layer), in the loss, and in the search:

| system  | outputs        | loss                         | search                       |
|---------|----------------|------------------------------|------------------------------|
| sep     | spans; arcs    | each its own                 | CKY; Eisner                  |
| mtl     | spans and arcs | the sum of the two of sep    | Eisner-Satta (or apart)      |
| joint1o | spans and arcs | over l-trees                 | Eisner-Satta                 |
| joint2o | and headed     | over l-trees                 | Eisner-Satta of second order |
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from arcspan.neural.encoder import Encoder
from arcspan.neural.model_settings import ModelSettings
from arcspan.neural.scorers import LABELLERS, MLP, HeadedScorer, PairScorer, fenceposts
from arcspan.parts import find_part
from arcspan.prediction.inputs import Arrays
from arcspan.prediction.outputs import (
    LAYERS,
    OUTPUTS,
    WORD_OUTPUTS,
    Indices,
    Inventories,
    Output,
    Scores,
    on_host,
)


class StyledVectors(NamedTuple):
    """Word vectors [B, n+2, D] in the style of constituents, and in that of dependencies."""

    constituency: Tensor
    dependency: Tensor


class Model(nn.Module):
    """One network; `part` is `both`, or the layer that a SEP parser's model has.

    `scorers` has a module for each output of the model, by name. Training calls `encode` and the
    `..._scores` methods, with tensors; `score` and `label` make it a `prediction.Scorer`, with
    arrays.
    """

    def __init__(
        self,
        settings: ModelSettings,
        encoder: Encoder,
        inventories: Inventories,
        part: str = "both",
        trusted_parts: Container[str] = (),
    ) -> None:
        """Make a network with random weights; `trusted_parts` may be imported (`find_part`)."""
        super().__init__()
        self.settings = settings
        self.encoder = encoder
        self.inventories = inventories
        self.part = part
        self.tag_input: nn.Embedding | None = None
        if settings.gold_tags:
            # Tag 0 is "no tag": begin, end, padding, and tags never seen in training.
            self.tag_input = nn.Embedding(len(inventories.tags) + 1, encoder.size, padding_idx=0)
        self.styles = nn.ModuleDict()
        if inventories.styles:
            for layer in LAYERS:
                self.styles[layer] = nn.Embedding(len(inventories.styles), encoder.size)
                nn.init.zeros_(self.styles[layer].weight)
        # Extra labels, numbered behind the inventory's, of nodes that are not constituents: the
        # label of the constituent right above them.
        self.intermediate: tuple[str, ...] = ()
        if settings.intermediate == "parent":
            innermost = [chain[-1] for chain in inventories.labels if chain]
            self.intermediate = tuple(dict.fromkeys(innermost))
        self.scorers = nn.ModuleDict()
        for output in OUTPUTS:
            # Scorers of the other layer are made, too, and dropped: with equal seeds, all parts
            # begin with equal weights.
            scorer = self._make_scorer(output, trusted_parts)
            in_part = part == "both" or output.layer == part or output.of == "words"
            if scorer is not None and in_part:
                self.scorers[output.name] = scorer

    def _make_scorer(self, output: Output, trusted: Container[str]) -> nn.Module | None:
        """Return the module that scores an output; None where the settings do without it."""
        settings, size, dropout = self.settings, self.encoder.size, self.settings.mlp_dropout
        if output.name == "headed" and settings.system != "joint2o":
            return None
        # Scorers of structure from other packages are told the number of labels.
        classes = len(getattr(self.inventories, output.names or "labels"))
        if output.name == "label":
            classes += len(self.intermediate)
        if output.of == "words":
            switched_on = settings.tags if output.group == "tags" else settings.rows
            if not classes or not switched_on:
                return None
        if output.name in settings.scorers:
            part = find_part("scorers", settings.scorers[output.name], trusted=trusted)
            scorer: nn.Module = part(settings, size, classes)
            return scorer
        if output.of == "words":
            hidden_layer = MLP(size, settings.tag_size, dropout)
            return nn.Sequential(hidden_layer, nn.Linear(settings.tag_size, classes))
        # span_size, arc_size, headed_size, label_size, relation_size
        output_size = getattr(settings, f"{output.name}_size")
        if output.name == "headed":
            return HeadedScorer(size, output_size, dropout, settings.separate_hooked)
        if output.of == "structure":
            return PairScorer(size, output_size, dropout)
        return LABELLERS[settings.labeller](size, output_size, classes, dropout)

    @property
    def outputs(self) -> frozenset[str]:
        """Return the names of the outputs that this model scores."""
        return frozenset(self.scorers)

    @property
    def reads_tags(self) -> bool:
        """Return True if part-of-speech tags are among the inputs."""
        return self.tag_input is not None

    @property
    def device(self) -> torch.device:
        """Return the device of the weights."""
        return next(self.parameters()).device

    def encode(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return hidden[B, n+2, D]; a model that reads tags needs `gold_tags`[B, n+2]."""
        hidden: Tensor = self.encoder(**{name: inputs[name] for name in self.encoder.input_names})
        if self.tag_input is not None:
            hidden = hidden + self.tag_input(inputs["gold_tags"])
        return hidden

    def add_styles(self, hidden: Tensor, styles: Tensor | None) -> StyledVectors:
        """Add the vectors of styles[B, 2] (`outputs.Style`), one for each layer."""
        if not self.styles or styles is None:
            return StyledVectors(hidden, hidden)
        vectors = []
        for column, layer in enumerate(LAYERS):
            vectors.append(hidden + self.styles[layer](styles[:, column]).unsqueeze(1))
        return StyledVectors(*vectors)

    def structure_scores(
        self,
        hidden: StyledVectors,
        i: Tensor | None = None,
        j: Tensor | None = None,
        *,
        headed: bool = True,
    ) -> dict[str, Tensor]:
        """Score spans, arcs and headed spans.

        (i, j) are the pairs of fenceposts of headed spans, all pairs by default.
        """
        posts = fenceposts(hidden.constituency)
        words = hidden.dependency[:, :-1]
        scores = {}
        if "span" in self.scorers:
            scores["span"] = self.scorers["span"](posts)
        if "arc" in self.scorers:
            scores["arc"] = self.scorers["arc"](words)
        if "headed" in self.scorers and headed:
            if i is None or j is None:
                i, j = torch.triu_indices(posts.shape[1], posts.shape[1], 1, device=posts.device)
            scores["headed"] = self.scorers["headed"](words, posts, i, j)
        return scores

    def word_scores(self, hidden: StyledVectors) -> dict[str, Tensor]:
        """Score the outputs of words: [B, n+2, names] each."""
        scores = {}
        for output in WORD_OUTPUTS:
            if output.name in self.scorers:
                scores[output.name] = self.scorers[output.name](hidden.dependency)
        return scores

    def label_scores(
        self,
        hidden: StyledVectors,
        nodes: list[Tensor],
        words: list[Tensor],
        *,
        folded: bool = True,
    ) -> dict[str, Tensor]:
        """Score labels [K, labels] at nodes (b, i, j), relations [W, relations] at words (b, m, h).

        Folded, label 0 (no constituent) has the best score of all labels of intermediate nodes,
        which only training sees; otherwise they stand behind the others.
        """
        scores = {}
        if "label" in self.scorers:
            labels = self.scorers["label"](fenceposts(hidden.constituency), *nodes)
            if folded and self.intermediate:
                count = len(self.inventories.labels)
                no_constituent = torch.cat([labels[:, :1], labels[:, count:]], 1)
                best = no_constituent.amax(1, keepdim=True)
                labels = torch.cat([best, labels[:, 1:count]], 1)
            scores["label"] = labels
        if "relation" in self.scorers:
            scores["relation"] = self.scorers["relation"](hidden.dependency[:, :-1], *words)
        return scores

    @torch.no_grad()
    def score(self, arrays: Arrays, *, headed: bool = True) -> Scores:
        """Score a batch, as `prediction.Scorer` demands."""
        if self.training:
            raise RuntimeError("the model is in training mode: call .eval() first")
        inputs = {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}
        hidden = self.add_styles(self.encode(inputs), inputs.get("styles"))
        words = {name: on_host(scores) for name, scores in self.word_scores(hidden).items()}
        structure: dict[str, Any] = self.structure_scores(hidden, headed=headed)
        # On an accelerator, structure scores stay there: the search may run there, too.
        if self.device.type == "cpu":
            structure = {name: on_host(scores) for name, scores in structure.items()}
        return Scores(hidden, **structure, words=words)

    @torch.no_grad()
    def label(
        self, hidden: StyledVectors, nodes: Indices, words: Indices
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Score labels at nodes, and relations at words, as `prediction.Scorer` demands."""
        node_indices = as_indices(nodes, self.device)
        word_indices = as_indices(words, self.device)
        scores = self.label_scores(hidden, node_indices, word_indices)
        on_cpu = {name: on_host(part) for name, part in scores.items()}
        return on_cpu.get("label"), on_cpu.get("relation")

    def reset_after_fork(self) -> None:
        """Do nothing: a model has no threads that a forked process would lack."""


def as_indices(arrays: Indices, device: torch.device) -> list[Tensor]:
    """Return arrays of positions as tensors that index tensors of a device."""
    # Columns of a larger array are not contiguous, which torch would copy slowly.
    return [
        torch.as_tensor(np.ascontiguousarray(array, dtype=np.int64), device=device)
        for array in arrays
    ]
