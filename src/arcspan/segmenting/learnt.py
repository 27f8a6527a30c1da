"""The learnt segmenter: a small network over characters that finds the ends of tokens and
sentences.

The network is a stack of convolutions, so its output for a character depends on the `context`
characters on either side and on nothing else. A block is cut into windows at fixed distances from
its own beginning; each window runs by itself, with its context, in a shape that the block alone
decides. So the result is the same to the last bit whatever else is segmented, in any order, on any
number of threads.

The marks of the rules are one of its inputs. The rules know abbreviations that no treebank of a few
hundred thousand words has; where the treebank contradicts them, the network has learnt to.
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
from arcspan.onnx import import_onnxruntime, native, refuse_unsafe_graph
from arcspan.segmenting.alphabet import BLANK, Alphabet
from arcspan.segmenting.base import INSIDE, SENTENCE, TOKEN, BaseSegmenter, read_marks
from arcspan.segmenting.characters import SHADOW
from arcspan.segmenting.corrections import correct_marks
from arcspan.segmenting.expansion import Expansions
from arcspan.segmenting.rules import RuleSegmenter
from arcspan.segmenting.sentence import TextToken
from arcspan.segmenting.whole import whole_spans
from arcspan.settings import described, read

GRAPH, SETTINGS = "segmenter.onnx", "segmenter.json"
FORMAT = 1
WINDOW = 512  # characters of a run at most, without its context
STEP = 32  # shorter windows are rounded up to a multiple of this, so that few shapes occur
MAX_CONTEXT = 4_096  # characters on either side of a window
_SPACE_RUN = re.compile(r"\s{2,}")
# The last row of the network's output: the token that ends here is expanded. The rows before it
# have the numbers of the marks.
EXPAND = SENTENCE + 1


@dataclass(frozen=True)
class SegmenterConfig:
    """The fields that `segmenter.json` must have; others may stand in it for people."""

    format: int = described(least=FORMAT, most=FORMAT)
    language: str = described()
    letters: str = described()
    context: int = described(least=0, most=MAX_CONTEXT)
    threshold: float = described()
    expansions: Expansions = described()


class Segmenter(BaseSegmenter):
    """A segmenter that learnt the sentences, words and multiword tokens of a treebank."""

    def __init__(self, graph: bytes, settings: dict[str, Any]) -> None:
        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        # Several threads would add numbers in another order, and cost more than they gain here.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"]
        )
        checked = read(SegmenterConfig, settings, others=True)
        self.language = checked.language
        self.threshold = checked.threshold
        self._context = checked.context
        self._alphabet = Alphabet(checked.letters)
        self._expansions = checked.expansions
        self._rules = RuleSegmenter(self.language)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Segmenter:
        """Load the segmenter of a model bundle or of a run of `arcspan train --segmenter`."""
        folder = Path(folder)
        for name in (SETTINGS, GRAPH):
            # A device or a pipe would be read for ever.
            if not (folder / name).is_file():
                raise BundleError(f"{folder / name}: no such file: {folder} has no segmenter")
        try:
            settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
            graph = (folder / GRAPH).read_bytes()
        except (OSError, ValueError, RecursionError) as error:
            raise BundleError(f"{folder}: the segmenter cannot be read: {error}") from None
        refuse_unsafe_graph(graph, folder / GRAPH)
        try:
            return cls(graph, settings)
        except ConfigError as error:
            raise BundleError(f"{folder / SETTINGS}: damaged: {error}") from None
        except Exception as error:  # onnxruntime raises many types
            reason = str(error).strip().splitlines()[-1]
            raise BundleError(
                f"{folder / GRAPH}: onnxruntime cannot load this graph: {reason}"
            ) from None

    def tokens(self, block: str) -> list[list[TextToken]]:
        """Return the sentences of a block, each a list of tokens."""
        if not block or block.isspace():
            return []
        inputs = features(block, self._alphabet, self._rules)
        is_space = inputs[1] <= BLANK
        is_read = self._without_repeated_spaces(block, inputs[1])
        scores = np.zeros((EXPAND + 1, len(block)), np.float32)
        scores[:, is_read] = self.scores(inputs[:, is_read])
        marks: np.ndarray = scores[: TOKEN + 1].argmax(axis=0)
        # Addresses, dates and the like are never cut, whatever the network says.
        shadow = block.translate(SHADOW)
        for start, end, stands_alone in whole_spans(shadow):
            marks[start : end - 1] = INSIDE
            if stands_alone:
                marks[[start - 1, end - 1]] = TOKEN
        # A token ends before white space and at the end of the block.
        marks[:-1][is_space[1:]] = TOKEN
        marks[-1] = TOKEN
        marks[(marks == TOKEN) & (scores[SENTENCE] > self.threshold)] = SENTENCE
        marks[is_space] = INSIDE
        correct_marks(shadow, marks, english=self.language == "en")
        return read_marks(block, marks, is_space, scores[EXPAND] > 0, self._expansions)

    @staticmethod
    def _without_repeated_spaces(block: str, categories: np.ndarray) -> np.ndarray:
        """Return which characters the network reads, bool [characters]: one of several spaces in a
        row.

        Sentences of treebanks have single spaces inside, so two would look like the end of one. A
        line break is read rather than the spaces around it.
        """
        is_read = np.ones(len(block), bool)
        for run in _SPACE_RUN.finditer(block):
            start, end = run.span()
            breaks = np.flatnonzero(categories[start:end] < BLANK)
            is_read[start:end] = False
            is_read[start + (breaks[0] if len(breaks) else 0)] = True
        return is_read

    def scores(self, inputs: np.ndarray) -> np.ndarray:
        """Return the network's scores for each character of a block: [5, characters].

        Raises BundleError if the graph does not fit the settings.
        """
        n = inputs.shape[1]
        context = self._context
        padded = np.zeros((1, 3, n + WINDOW + 2 * context), np.int64)
        padded[0, :, context : context + n] = inputs
        window_scores = []
        for start in range(0, n, WINDOW):
            size = min(WINDOW, (n - start + STEP - 1) // STEP * STEP)
            window = padded[:, :, start : start + size + 2 * context]
            try:
                with native:
                    (output,) = self._session.run(None, {"characters": window})
            except Exception as error:  # onnxruntime raises many types
                reason = str(error).strip().splitlines()[-1]
                raise BundleError(
                    f"the segmenter's graph does not read its letters: {reason}"
                ) from None
            expected = (1, EXPAND + 1, size)
            if output.shape != expected or np.isnan(output).any():
                raise BundleError(
                    f"the segmenter's graph gives NaN, or not numbers of the shape {expected}"
                )
            window_scores.append(output[0])
        return np.concatenate(window_scores, axis=1)[:, :n]


def features(block: str, alphabet: Alphabet, rules: RuleSegmenter) -> np.ndarray:
    """Return the network's input for a block: letters, categories, marks of the rules; [3,
    characters].
    """
    return np.concatenate([alphabet.encode(block), rules.marks(block)[None]])


def segmenter_for(folder: str | os.PathLike[str], language: str | None) -> BaseSegmenter:
    """Return the segmenter of a model bundle: the learnt one if it has one, else rules for its
    language.
    """
    if (Path(folder) / SETTINGS).exists():
        return Segmenter.load(folder)
    if language not in (None, "en"):
        warnings.warn(
            f"the model has no segmenter for its language {language!r}: raw text is split by rules "
            "that use Unicode only; train a segmenter (arcspan train --segmenter) or pass words",
            stacklevel=2,
        )
    return RuleSegmenter(language or "en")
