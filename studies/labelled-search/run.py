"""What searching the best labelled pair changes, beside the paper's two stages: the English model
on dev sentences.

    python studies/labelled-search/run.py [--treebanks FOLDER] [--limit N] [--write]

Both searches run on the same scores, in turns of a hundred sentences: LAS and F1, both trees right,
p-values of paired bootstrap resampling, CPU time, and how many searches a sentence took.
`--temperature` tries another temperature of the structure than the bundle's: the lower it is, the
less labels and relations weigh.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import arcspan
from arcspan.evaluation import compare, evaluate
from arcspan.prediction import search
from arcspan.prediction.charts import Chart
from arcspan.prediction.model import ParserModel
from arcspan.prediction.runner import Predictor
from arcspan.treebanks import Pair, read_brackets, read_conll, read_pairs

TREEBANKS = {"gum": "gum", "ewt": "ewt", "masc": "default"}
FIGURES = ("las", "uas", "f1", "lcm_con", "lcm_dep", "lcm_both")
TURN = 100


def read(folder: Path, name: str, limit: int) -> list[Pair]:
    brackets, conll = (folder / name / f"dev.{suffix}.xz" for suffix in ("ptb", "conllu"))
    if name == "ewt":
        return [Pair(None, tree) for tree in islice(read_conll(conll), limit)]  # type: ignore[arg-type]
    if name == "masc":
        return [Pair(tree, None) for tree in islice(read_brackets(brackets), limit)]  # type: ignore[arg-type]
    return list(islice(read_pairs(brackets, conll), limit))


def measure(predictor: Predictor, gold: list[Pair], style: Any) -> dict[str, Any]:
    """Both searches over the same sentences, in turns."""
    by_search: dict[str, list[Pair]] = {"two-stage": [], "labelled": []}
    seconds: Counter[str] = Counter()
    for begin in range(0, len(gold), TURN):
        turn = gold[begin : begin + TURN]
        for name, pairs in by_search.items():
            predictor.model = replace(predictor.model, two_stage=name == "two-stage")
            start = time.process_time()
            predictions = predictor.predict([pair.words for pair in turn], [style] * len(turn))
            seconds[name] += time.process_time() - start
            for pair, prediction in zip(turn, predictions, strict=True):
                c, d = prediction.trees(pair.words)
                pairs.append(
                    Pair(c if pair.constituency else None, d if pair.dependencies else None)
                )  # type: ignore[arg-type]
    reports = {name: evaluate(gold, pairs) for name, pairs in by_search.items()}
    test = compare(reports["labelled"], reports["two-stage"], samples=2000)
    rows = {
        name: {
            figure: round(value, 2)
            for figure, value in report.figures().items()
            if figure in FIGURES
        }
        for name, report in reports.items()
    }
    return {
        "sentences": len(gold),
        **rows,
        "p": {
            name: difference.p_bootstrap
            for name, difference in test.differences.items()
            if name in FIGURES
        },
        "speed of labelled / two-stage, CPU": round(seconds["two-stage"] / seconds["labelled"], 3),
    }


def count_rounds() -> Counter[int]:
    """Count how many sentences take how many searches, from now on."""
    counts: Counter[int] = Counter()
    labelled_search = search.search

    def counted(model: ParserModel, part: Chart) -> Any:
        decoded, rounds = labelled_search(model, part)
        if model.labelled:
            counts.update(rounds.tolist())
        return decoded, rounds

    search.search = counted
    return counts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "--treebanks", type=Path, default=Path(os.environ.get("ARCSPAN_TREEBANKS", "."))
    )
    options.add_argument("--limit", type=int, default=10_000)
    options.add_argument("--temperature", type=float)
    options.add_argument("--write", action="store_true", help="keep the figures in results.json")
    arguments = options.parse_args()
    parser = arcspan.load(threads=1)
    predictor, rounds = parser.predictor, count_rounds()
    if arguments.temperature:
        calibration = replace(
            predictor.model.calibration, structure_temperature=arguments.temperature
        )
        predictor.model = replace(predictor.model, calibration=calibration)
    predictor.predict([["Logic", "plays", "a", "role", "."]])
    rows = {
        name: measure(
            predictor, read(arguments.treebanks, name, arguments.limit), parser.query(style=style)
        )
        for name, style in TREEBANKS.items()
    }
    result = {**rows, "searches": dict(sorted(rounds.items()))}
    print(json.dumps(result, indent=1))
    if arguments.write:
        Path(__file__).with_name("results.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
