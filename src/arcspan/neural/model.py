"""The model of all four systems: an encoder, and a scorer for everything that is said of a sentence.

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

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from arcspan.neural.encoder import Encoder
from arcspan.neural.scorers import LABELLERS, MLP, HeadedScorer, PairScorer, fenceposts
from arcspan.neural.settings import ModelSettings
from arcspan.parts import find_part
from arcspan.prediction.inputs import Arrays
from arcspan.prediction.outputs import LAYERS, OUTPUTS, WORD_OUTPUTS, Inventories
from arcspan.prediction.scores import Places, Scores, on_host

WORDS = frozenset(output.name for output in WORD_OUTPUTS)


class Hidden(NamedTuple):
    """Words' vectors [B, n+2, D] in the style of constituents, and in that of dependencies."""

    constituency: Tensor
    dependency: Tensor


class Model(nn.Module):
    """One network; `part` is `both`, or the half that a SEP parser's model has.

    `scorers` has a module for each output of the model, by name. Training calls `encode`, `structure` and the
    scorers, with tensors; `score` and `label` are what a `prediction.Predictor` asks of any scorer, with arrays.
    """

    def __init__(
        self,
        settings: ModelSettings,
        encoder: Encoder,
        inventories: Inventories,
        part: str = "both",
    ) -> None:
        super().__init__()
        self.settings, self.encoder, self.inventories, self.part = (
            settings,
            encoder,
            inventories,
            part,
        )
        self.tag_input: nn.Embedding | None = None
        if settings.gold_tags:
            # Tag 0 is "no tag": begin, end, padding, and tags never seen in training.
            self.tag_input = nn.Embedding(len(inventories.tags) + 1, encoder.size, padding_idx=0)
        self.styles = nn.ModuleDict()
        if inventories.styles:
            for layer in LAYERS:
                self.styles[layer] = nn.Embedding(len(inventories.styles), encoder.size)
                nn.init.zeros_(self.styles[layer].weight)
        # What nodes that are not constituents are labelled by, behind the labels: those of what is right above them.
        above = [chain[-1] for chain in inventories.labels if chain]
        self.intermediate = tuple(dict.fromkeys(above)) if settings.intermediate == "parent" else ()
        self.scorers = nn.ModuleDict()
        for output in OUTPUTS:
            names = len(getattr(inventories, output.names or "labels"))
            names += len(self.intermediate) if output.name == "label" else 0
            made = self._make_scorer(output.name, names)
            if made is not None and (
                part == "both" or output.layer == part or output.of == "words"
            ):
                self.scorers[output.name] = made

    def _make_scorer(self, name: str, names: int) -> nn.Module | None:
        """The module that scores an output, of so many names; None where the settings do without it."""
        settings, size, dropout = self.settings, self.encoder.size, self.settings.mlp_dropout
        if name == "headed" and settings.system != "joint2o":
            return None
        wanted = settings.rows if name in ("lemma", "feature") else settings.tags
        if name in WORDS and not (names and wanted):
            return None
        if name in settings.scorers:
            made: nn.Module = find_part("scorers", settings.scorers[name])(settings, size, names)
            return made
        if name in ("span", "arc"):
            return PairScorer(
                size, settings.span_size if name == "span" else settings.arc_size, dropout
            )
        if name == "headed":
            return HeadedScorer(size, settings.headed_size, dropout, settings.separate_hooked)
        if name in ("label", "relation"):
            own = settings.label_size if name == "label" else settings.relation_size
            return LABELLERS[settings.labeller](size, own, names, dropout)
        return nn.Sequential(
            MLP(size, settings.tag_size, dropout), nn.Linear(settings.tag_size, names)
        )

    @property
    def outputs(self) -> frozenset[str]:
        """The names of what this model scores."""
        return frozenset(self.scorers)

    @property
    def reads_tags(self) -> bool:
        """Whether part-of-speech tags are among its input."""
        return self.tag_input is not None

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def encode(self, inputs: dict[str, Tensor]) -> Tensor:
        """hidden[B, n+2, D]; `gold_tags`[B, n+2] is among the inputs of a model that reads them."""
        hidden: Tensor = self.encoder(**{name: inputs[name] for name in self.encoder.input_names})
        if self.tag_input is not None:
            hidden = hidden + self.tag_input(inputs["gold_tags"])
        return hidden

    def styled(self, hidden: Tensor, styles: Tensor | None) -> Hidden:
        """The vectors that constituents, and that dependencies are scored from: `styles`[B, 2] (`outputs.Style`)."""
        if not self.styles or styles is None:
            return Hidden(hidden, hidden)
        added = (
            self.styles[layer](styles[:, place]).unsqueeze(1) for place, layer in enumerate(LAYERS)
        )
        return Hidden(*(hidden + one for one in added))

    def structure(
        self,
        hidden: Hidden,
        i: Tensor | None = None,
        j: Tensor | None = None,
        *,
        headed: bool = True,
    ) -> dict[str, Tensor]:
        """Scores of spans, arcs and headed spans; (i, j) are the pairs of fenceposts, made here if not given."""
        posts, words = fenceposts(hidden.constituency), hidden.dependency[:, :-1]
        found = {}
        if "span" in self.scorers:
            found["span"] = self.scorers["span"](posts)
        if "arc" in self.scorers:
            found["arc"] = self.scorers["arc"](words)
        if "headed" in self.scorers and headed:
            if i is None or j is None:
                i, j = torch.triu_indices(posts.shape[1], posts.shape[1], 1, device=posts.device)
            found["headed"] = self.scorers["headed"](words, posts, i, j)
        return found

    def of_words(self, hidden: Hidden) -> dict[str, Tensor]:
        """Scores [B, n+2, names] of everything that is said of words."""
        return {
            output.name: self.scorers[output.name](hidden.dependency)
            for output in WORD_OUTPUTS
            if output.name in self.scorers
        }

    def at_places(
        self, hidden: Hidden, nodes: list[Tensor], words: list[Tensor], *, folded: bool = True
    ) -> dict[str, Tensor]:
        """Scores of labels [K, labels] at nodes (b, i, j), and of relations [W, relations] at words (b, m, h).

        Folded, label 0 (no constituent) has the best score of all labels of intermediate nodes, which only training
        sees; otherwise they stand behind the others.
        """
        found = {}
        if "label" in self.scorers:
            labels = self.scorers["label"](fenceposts(hidden.constituency), *nodes)
            if folded and self.intermediate:
                size = len(self.inventories.labels)
                none = torch.cat([labels[:, :1], labels[:, size:]], 1).amax(1, keepdim=True)
                labels = torch.cat([none, labels[:, 1:size]], 1)
            found["label"] = labels
        if "relation" in self.scorers:
            found["relation"] = self.scorers["relation"](hidden.dependency[:, :-1], *words)
        return found

    @torch.no_grad()
    def score(self, arrays: Arrays, *, headed: bool = True) -> Scores:
        """Scores of a batch, as `prediction.Scorer` wants them."""
        if self.training:
            raise RuntimeError("the model is in training mode: call .eval() first")
        inputs = {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}
        hidden = self.styled(self.encode(inputs), inputs.get("styles"))
        words = {name: on_host(part) for name, part in self.of_words(hidden).items()}
        structure: dict[str, Any] = self.structure(hidden, headed=headed)
        if self.device.type == "cpu":
            structure = {name: on_host(part) for name, part in structure.items()}
        return Scores(hidden, **structure, words=words)

    @torch.no_grad()
    def label(
        self, hidden: Hidden, nodes: Places, words: Places
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Scores of labels at nodes, and of relations at words, as `prediction.Scorer` wants them."""
        found = self.at_places(
            hidden, as_indices(nodes, self.device), as_indices(words, self.device)
        )
        made = {name: on_host(part) for name, part in found.items()}
        return made.get("label"), made.get("relation")

    def reset_after_fork(self) -> None:
        """Nothing to do in a forked process."""


def as_indices(places: Places, device: torch.device) -> list[Tensor]:
    """Arrays of positions as tensors."""
    return [
        torch.as_tensor(np.ascontiguousarray(place, dtype=np.int64), device=device)
        for place in places
    ]
