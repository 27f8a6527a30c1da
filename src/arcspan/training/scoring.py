"""Dev scores of training: predictions by the code that ships, scored by the rules of the configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def say_nothing(line: str) -> None:
    """For processes other than the first, and where nobody listens."""


def predict_gold(
    models: Sequence[Model],
    inputs: Inputs,
    gold: Sequence[GoldSentence],
    *,
    apart: bool = False,
    search: str | None = None,
) -> list[Pair]:
    """What models, one or the two of SEP, say of the words of gold pairs: the code that ships, with torch below."""
    inventories = models[0].inventories
    own = models[0].settings.decoder
    decoder = find_part("decoders", own) if own else None
    parser_model = ParserModel(
        [model.eval() for model in models],
        inputs,
        inventories,
        guidelines=Guidelines.of(inventories),
        two_stage=(search or models[0].settings.search) == "two-stage",
        apart=apart,
        decoder=decoder,
    )
    predictor = Predictor(parser_model, BUDGET)
    sentences = [one.pair.words for one in gold]
    queries = []
    for one in gold:
        tags = (one.pair.constituency or one.pair.dependencies).tags
        queries.append(Query(style=style_number(one.style, inventories), tags=tags))
    found = predictor.predict(sentences, queries)
    for place, prediction in enumerate(found, 1):
        if prediction.error is not None:
            raise ArcspanError(f"sentence {place} cannot be parsed: {prediction.error}")
    return [
        Pair(*prediction.trees(words))  # type: ignore[arg-type]
        for words, prediction in zip(sentences, found, strict=True)
    ]


# Figures that training shows, and their names for people; those of a layer that is not there are left out.
_SHOWN = {
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


def dev_scores(
    gold: Sequence[GoldSentence], predicted: Sequence[Pair], config: Config, say: Say = say_nothing
) -> dict[str, float]:
    """The figures that training shows, and `chosen`: LAS + F1, or the one that there is.

    `say` gets what is odd about the rules of scoring for these trees.
    """
    report = evaluate(
        [one.pair for one in gold],
        predicted,
        punctuation=cast(Any, config.training.punctuation),
        subtypes=config.training.subtypes,
        tags="gold",
    )
    for note in report.notes:
        say(f"dev: {note}")
    figures = report.figures()
    scores = {name: figures[name] for name in _SHOWN if name in figures}
    scores["chosen"] = scores.get("las", 0.0) + scores.get("f1", 0.0)
    return scores


def in_words(scores: dict[str, float]) -> str:
    """The figures for people."""
    return ", ".join(
        f"{text} {scores[name]:.2f}" for name, text in _SHOWN.items() if text and name in scores
    )
