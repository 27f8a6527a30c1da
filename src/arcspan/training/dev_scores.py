"""Dev scores of training: predicted by the code that ships, scored by the configuration's rules."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, cast

from arcspan.errors import ArcspanError
from arcspan.evaluation import evaluate
from arcspan.neural.model import Model
from arcspan.parts import find_part
from arcspan.prediction.guidelines import Guidelines
from arcspan.prediction.inputs import Inputs
from arcspan.prediction.model import ParserModel
from arcspan.prediction.query import Query
from arcspan.prediction.runner import Budget, Predictor
from arcspan.training.config import Config
from arcspan.training.instances import GoldSentence, style_number
from arcspan.treebanks import Pair

Say = Callable[[str], None]
BUDGET = Budget(threads=1, cells=4000)

# Figures that training shows, and their names for people; "" for those that are only logged.
_FIGURES = {
    "las": "LAS",
    "uas": "UAS",
    "f1": "F1",
    "precision": "",
    "recall": "",
    "lcm_con": "LCM con",
    "lcm_dep": "LCM dep",
    "lcm_both": "LCM both",
    "compatible": "",
    "tag_accuracy": "tags",
    "upos_accuracy": "UPOS",
    "lemma_accuracy": "lemmas",
    "feature_accuracy": "features",
}


def say_nothing(line: str) -> None:
    """Drop a line for people: for processes other than the first, and for callers that log."""


def predict_gold(
    models: Sequence[Model],
    inputs: Inputs,
    gold: Sequence[GoldSentence],
    *,
    apart: bool = False,
    search: str | None = None,
    trusted_parts: Container[str] = (),
) -> list[Pair]:
    """Parse the words of gold pairs with models, one or the two of SEP."""
    settings, inventories = models[0].settings, models[0].inventories
    decoder = None
    if settings.decoder:
        decoder = find_part("decoders", settings.decoder, trusted=trusted_parts)
    parser_model = ParserModel(
        [model.eval() for model in models],
        inputs,
        inventories,
        guidelines=Guidelines.of(inventories),
        two_stage=(search or settings.search) == "two-stage",
        apart=apart,
        decoder=decoder,
    )
    predictor = Predictor(parser_model, BUDGET)
    sentences, queries = [], []
    for pair, style in gold:
        # Only models that read gold tags look at the tags.
        tags = (pair.constituency or pair.dependencies).tags
        sentences.append(pair.words)
        queries.append(Query(style=style_number(style, inventories), tags=tags))
    predictions = predictor.predict(sentences, queries)
    pairs = []
    for number, (words, prediction) in enumerate(zip(sentences, predictions, strict=True), 1):
        if prediction.error is not None:
            raise ArcspanError(f"sentence {number} cannot be parsed: {prediction.error}")
        pairs.append(Pair(*prediction.trees(words)))  # type: ignore[arg-type]
    return pairs


def dev_scores(
    gold: Sequence[GoldSentence], predicted: Sequence[Pair], config: Config, say: Say = say_nothing
) -> dict[str, float]:
    """Return the figures that training shows, and `chosen`: LAS + F1, or the one that exists.

    `say` gets notes on the rules of scoring for these trees.
    """
    report = evaluate(
        [sentence.pair for sentence in gold],
        predicted,
        punctuation=cast(Any, config.training.punctuation),
        subtypes=config.training.subtypes,
        tags="gold",
    )
    for note in report.notes:
        say(f"dev: {note}")
    figures = report.figures()
    scores = {name: figures[name] for name in _FIGURES if name in figures}
    scores["chosen"] = scores.get("las", 0.0) + scores.get("f1", 0.0)
    return scores


def in_words(scores: dict[str, float]) -> str:
    """Return the figures for people."""
    shown = [
        f"{text} {scores[name]:.2f}" for name, text in _FIGURES.items() if text and name in scores
    ]
    return ", ".join(shown)
