"""The learnt segmenter: a small network over characters that says where tokens, words and sentences end.

The network is a stack of convolutions, so what it says of a character depends on the `context` characters
on either side and on nothing else. A block is cut into windows at fixed distances from its own beginning,
each is run by itself in a shape that the block alone decides, and a window's edges see their neighbours: the
result is the same to the last bit whatever else is segmented, in whatever order, on how many threads.

It sees what the rules say of the text too. They know abbreviations that no treebank of a few hundred
thousand words has; where its treebank decided otherwise, it has learnt to.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arcspan.errors import BundleError, ConfigError
from arcspan.onnx import import_onnxruntime, native, refuse_external_weights
from arcspan.segmenting.base import INSIDE, SENTENCE, TOKEN, BaseSegmenter, read_marks
from arcspan.segmenting.characters import SHADOW
from arcspan.segmenting.expansion import Expansions
from arcspan.segmenting.inputs import BLANK, Alphabet
from arcspan.segmenting.rules import RuleSegmenter
from arcspan.segmenting.sentence import Token
from arcspan.segmenting.whole import whole_spans
from arcspan.settings import described, read

GRAPH, SETTINGS = "segmenter.onnx", "segmenter.json"
FORMAT = 1
WINDOW = 512  # characters that a run decides on at most
STEP = 32  # what a shorter window is rounded up to
MOST_CONTEXT = 4_096  # characters on either side of a window
_ROW = re.compile(r"\s{2,}")
EXPAND = (
    SENTENCE + 1
)  # the last row of the network's answer; those before it have the marks' numbers


@dataclass(frozen=True)
class Settings:
    """What `segmenter.json` must have; more may stand in it for people."""

    format: int = described(least=FORMAT, most=FORMAT)
    language: str = described()
    letters: str = described()
    context: int = described(least=0, most=MOST_CONTEXT)
    threshold: float = described()
    expansions: Expansions = described()


class Segmenter(BaseSegmenter):
    """Sentences, words and multiword tokens as a treebank has them."""

    def __init__(self, graph: bytes, settings: dict[str, Any]) -> None:
        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )
        found = read(Settings, settings, others=True)
        self.language, self._context, self.threshold = (
            found.language,
            found.context,
            found.threshold,
        )
        self._alphabet, self._expansions = Alphabet(found.letters), found.expansions
        self._rules = RuleSegmenter(self.language)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Segmenter:
        """The segmenter of a model bundle, or of a folder that `arcspan train --segmenter` wrote."""
        folder = Path(folder)
        for name in (SETTINGS, GRAPH):
            if not (folder / name).is_file():  # a device has no end
                raise BundleError(f"{folder / name}: no such file: {folder} has no segmenter")
        try:
            settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
            graph = (folder / GRAPH).read_bytes()
        except (OSError, ValueError, RecursionError) as error:
            raise BundleError(f"{folder}: no segmenter that can be read: {error}") from None
        refuse_external_weights(graph, folder / GRAPH)
        try:
            return cls(graph, settings)
        except ConfigError as error:
            raise BundleError(f"{folder / SETTINGS}: damaged: {error}") from None
        except Exception as error:
            reason = str(error).strip().splitlines()[-1]
            raise BundleError(
                f"{folder / GRAPH}: onnxruntime cannot load this graph: {reason}"
            ) from None

    def tokens(self, block: str) -> list[list[Token]]:
        """The sentences of a block."""
        if not block or block.isspace():
            return []
        inputs = features(block, self._alphabet, self._rules)
        space, seen = inputs[1] <= BLANK, np.ones(len(block), bool)
        # Of white space in a row the network sees one, a line break where there is one: sentences of treebanks have
        # single spaces inside, so two would look like the end of one.
        for row in _ROW.finditer(block):
            start, end = row.span()
            breaks = np.flatnonzero(inputs[1, start:end] < BLANK)
            seen[start:end] = False
            seen[start + (breaks[0] if len(breaks) else 0)] = True
        scores = np.zeros((EXPAND + 1, len(block)), np.float32)
        scores[:, seen] = self.scores(inputs[:, seen])
        # For each character what ends after it: nothing, a WORD inside a token, a TOKEN, or a SENTENCE.
        marks: np.ndarray = scores[: TOKEN + 1].argmax(axis=0)
        for start, end, apart in whole_spans(block.translate(SHADOW)):
            marks[start : end - 1] = INSIDE
            if apart:
                marks[[start - 1, end - 1]] = TOKEN
        marks[:-1][space[1:]] = TOKEN
        marks[-1] = TOKEN
        marks[(marks == TOKEN) & (scores[SENTENCE] > self.threshold)] = SENTENCE
        marks[space] = INSIDE
        return read_marks(block, marks, space, scores[EXPAND] > 0, self._expansions)

    def scores(self, inputs: np.ndarray) -> np.ndarray:
        """What the network says of each character of a block: [5, characters].

        BundleError where the graph does not fit the settings.
        """
        n, context = inputs.shape[1], self._context
        padded = np.zeros((1, 3, n + WINDOW + 2 * context), np.int64)
        padded[0, :, context : context + n] = inputs
        found = []
        for start in range(0, n, WINDOW):
            size = min(WINDOW, (n - start + STEP - 1) // STEP * STEP)
            window = padded[:, :, start : start + size + 2 * context]
            try:
                with native:
                    (answer,) = self._session.run(None, {"characters": window})
            except Exception as error:
                reason = str(error).strip().splitlines()[-1]
                raise BundleError(
                    f"the segmenter's graph does not read its letters: {reason}"
                ) from None
            expected = (1, EXPAND + 1, size)
            if answer.shape != expected or np.isnan(answer).any():
                raise BundleError(
                    f"the segmenter's graph gives NaN, or not numbers of the shape {expected}"
                )
            found.append(answer[0])
        return np.concatenate(found, axis=1)[:, :n]


def features(block: str, alphabet: Alphabet, rules: RuleSegmenter) -> np.ndarray:
    """What the network sees of a block: letters, kinds, and what ends where by the rules; [3, characters]."""
    return np.concatenate([alphabet.encode(block), rules.marks(block)[None]])


def segmenter_for(folder: str | os.PathLike[str], language: str | None) -> BaseSegmenter:
    """The segmenter of a model bundle: the learnt one where the bundle has one, otherwise rules for its language."""
    if (Path(folder) / SETTINGS).exists():
        return Segmenter.load(folder)
    if language not in (None, "en"):
        warnings.warn(
            f"the model has no segmenter for its language {language!r}: raw text is split by rules that know Unicode "
            "only; train one (arcspan train --segmenter) or give words",
            stacklevel=2,
        )
    return RuleSegmenter(language or "en")
