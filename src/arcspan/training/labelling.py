"""Rules for choosing labels and relations together (`prediction.label_rules`): counted, tuned, kept in a bundle.

Rules are counted in the training treebank by `learn_rules`; the weight of their log-probabilities is the one
with the greatest LAS + F1 on held-out sentences, for labels and relations or for labels alone, whichever is better.
They are switched on only where that is more than without.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arcspan.decoding import Decoded
from arcspan.errors import ArcspanError
from arcspan.evaluation import Report, evaluate
from arcspan.prediction.label_rules import Labelling, RuleTable
from arcspan.prediction.prediction import Prediction, assemble, to_pair
from arcspan.prediction.predictor import Predictor
from arcspan.prediction.sentence_scores import SentenceScores
from arcspan.runtime.bundle import update_bundle
from arcspan.runtime.loading import load_predictor
from arcspan.training.calibration import in_style, sample
from arcspan.treebanks import Pair
from arcspan.trees import ConstituencyTree, learn_rules

WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
FILE = "labelling.json"
WORTH = 0.1  # the least gain in LAS + F1 for which parsing may take a tenth longer


def count_rules(pairs: Iterable[Pair], *, tags: bool = True) -> dict[str, dict[str, int]]:
    """Relations by "parent sibling child", with counts, as `LearntRules.seen_relations` has them.

    Without `tags`, for a model that predicts none, all bare words are alike.

    >>> from tests.toy import toy_pairs  # doctest: +SKIP
    >>> count_rules(toy_pairs(20))["S VP NP"]  # doctest: +SKIP
    {'nsubj': 20}
    """
    learnt = learn_rules(pairs if tags else _without_tags(pairs))
    counts = learnt.relation_counts
    return {rule: dict(counts[rule]) for rule in sorted(counts)}


def _without_tags(pairs: Iterable[Pair]) -> Iterator[Pair]:
    for c, d in pairs:
        yield Pair(ConstituencyTree(c.words, [""] * len(c.words), c.spans), d)


@dataclass(frozen=True)
class Ready:
    """A sentence whose structure was found: all that choosing labels and relations needs, and the gold trees."""

    gold: Pair
    prediction: Prediction
    labels: np.ndarray
    relations: np.ndarray

    def pair(self, predictor: Predictor, labelling: Labelling | None) -> Pair:
        """Both trees, with labels and relations chosen one by one, or by `labelling` together."""
        found = self.prediction
        assert found.nodes is not None and found.heads is not None
        decoded = Decoded(np.append(0, found.heads)[None], [found.nodes[:, :3]], np.asarray([found.score]))
        lengths = np.asarray([len(found.heads)])
        (found,) = assemble(
            decoded, lengths, self.labels, self.relations, found.words, labelling, predictor.guidelines
        )
        return Pair(*to_pair(self.gold.dependencies.words, found, predictor.inventories))  # type: ignore[arg-type]


def prepare(predictor: Predictor, pairs: Iterable[Pair]) -> list[Ready]:
    """Parse gold sentences with a joint model; those that are too long are left out."""
    plain = predictor.labelling
    predictor.labelling = None
    found = []
    try:
        for pair in pairs:
            try:
                scores = SentenceScores(predictor, pair.dependencies.words, pair.constituency.tags)
            except ArcspanError:
                continue
            if not predictor.joint or scores.labels is None:
                raise ArcspanError(
                    "labels and relations are chosen together only where one model finds both trees"
                )
            best = scores.best()
            assert best.nodes is not None and best.heads is not None
            labels = scores.labels[best.nodes[:, 0], best.nodes[:, 1]]
            found.append(Ready(pair, best, labels, scores.relations(best.heads)))
    finally:
        predictor.labelling = plain
    return found


def score(
    ready: Sequence[Ready], predictor: Predictor, labelling: Labelling | None, **scoring: Any
) -> Report:
    """How good the trees of prepared sentences are with this labelling."""
    return evaluate([one.gold for one in ready], [one.pair(predictor, labelling) for one in ready], **scoring)


def tune(
    ready: Sequence[Ready],
    predictor: Predictor,
    table: RuleTable,
    *,
    labels_only: bool = False,
    **scoring: Any,
) -> dict[float, float]:
    """LAS + F1 on prepared sentences for each weight."""
    found = {}
    for weight in WEIGHTS:
        labelling = Labelling(table, weight, labels_only=labels_only) if weight else None
        figures = score(ready, predictor, labelling, **scoring).figures()
        found[weight] = figures["las"] + figures["f1"]
    return found


def make_table(predictor: Predictor, rules: Mapping[str, Mapping[str, int]]) -> RuleTable:
    """Counted rules for a model's inventories."""
    known = predictor.inventories
    return RuleTable(rules, known.labels, known.tags, known.relations)


def add_labelling(
    bundle: str | os.PathLike[str],
    train: Iterable[Pair],
    dev: Sequence[Pair],
    *,
    style: str | None = None,
    limit: int = 2000,
) -> dict[str, Any]:
    """Count rules in training pairs, tune their weight on held-out pairs of a style, and keep both in the bundle.

    Returns what the bundle's configuration says of it: on where it helps on the held-out pairs, and by enough.
    """
    predictor = in_style(load_predictor(bundle, labelling=False)[0], style)
    rules = count_rules(train, tags=bool(predictor.inventories.tags))
    ready = prepare(predictor, sample(dev, limit))
    if not ready:
        raise ArcspanError("no sentence to tune labelling on")
    table = make_table(predictor, rules)
    together, alone = (tune(ready, predictor, table, labels_only=only) for only in (False, True))
    labels_only = max(alone.values()) > max(together.values())
    found = alone if labels_only else together
    weight = max(found, key=lambda one: (found[one], -one))
    settings = {
        "rules": FILE,
        "weight": weight or WEIGHTS[1],
        "on": found[weight] - found[0.0] >= WORTH,
        "labels_only": labels_only,
        "candidates": 5,
        "dev": {str(one): round(value, 3) for one, value in found.items()},
    }
    update_bundle(Path(bundle), {"labelling": settings}, {FILE: _text(rules)})
    return settings


def _text(rules: Mapping[str, Mapping[str, int]]) -> str:
    """JSON with a rule a line."""
    lines = (
        f"{json.dumps(rule, ensure_ascii=False)}: {json.dumps(rules[rule], ensure_ascii=False)}"
        for rule in rules
    )
    return '{"rules": {\n' + ",\n".join(lines) + "\n}}\n"
