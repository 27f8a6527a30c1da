"""What do the guidelines of Universal Dependencies change? LAS and violations, with and without them.

    python studies/guidelines/run.py --treebanks FOLDER [--names gum ewt] [--bundle BUNDLE] [--limit N]

Parses the gold words of dev sentences. Violations are the errors that the validator of Universal Dependencies finds
at level 3 (package udtools), in the gold trees too; without what concerns features, which not every model predicts.
Writes results.json beside this file (or in --output).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from udtools import Validator

from arcspan import parser
from arcspan.evaluation import compare, evaluate
from arcspan.files import atomic_write
from arcspan.prediction.runner import Budget, Predictor
from arcspan.runtime.loading import load_predictor
from arcspan.treebanks import Pair, read_pairs
from arcspan.trees import DependencyTree
from arcspan.trees.conllu import format_conllu

FIGURES = ("uas", "las", "lcm_dep")
REPAIRED = (
    "too-many-",
    "right-to-left-",
    "leaf-",
    "0-is-not-root",
    "root-is-not-0",
)  # what the guidelines are about


def violations(trees: Sequence[DependencyTree]) -> Counter[str]:
    """The validator's errors at level 3 in trees, by their names."""
    validator, errors = Validator(lang="en", level=3, output=None), Counter[str]()
    for tree in trees:
        state = validator.validate_sentence(format_conllu(tree).rstrip("\n").split("\n"))
        for incident in state.error_tracker:
            if (
                incident.is_error()
                and incident.level == 3
                and "Feat" not in str(incident.testclass)
            ):
                errors[incident.testid] += 1
    return errors


def study(predictor: Predictor, gold: Sequence[Pair]) -> dict[str, Any]:
    """Both ways on one treebank."""
    words = [pair.dependencies.words for pair in gold]
    count = sum(map(len, words))
    predictor.predict(words[:8])  # kernels are compiled before the clock runs
    guidelines, reports = predictor.model.guidelines, {}
    results: dict[str, Any] = {"sentences": len(gold), "words": count}
    results["gold"] = dict(violations([pair.dependencies for pair in gold]))
    for name, rules in (("without", None), ("with", guidelines)):
        predictor.model = replace(predictor.model, guidelines=rules)
        begin = time.process_time()
        predictions = predictor.predict(words)
        seconds = time.process_time() - begin
        pairs = [
            Pair(None, prediction.trees(sentence)[1])
            for sentence, prediction in zip(words, predictions, strict=True)
        ]
        reports[name] = evaluate(
            [Pair(None, pair.dependencies) for pair in gold], pairs, punctuation="ptb"
        )
        errors = violations([pair.dependencies for pair in pairs])
        repaired = sum(number for error, number in errors.items() if error.startswith(REPAIRED))
        results[name] = {
            "errors": dict(sorted(errors.items())),
            "errors_per_1000_words": round(1000 * errors.total() / count, 2),
            "of_these_guidelines": round(1000 * repaired / count, 2),
            "processor_seconds": round(seconds, 1),
        }
    result = compare(reports["with"], reports["without"], samples=2000, names=("with", "without"))
    results["signature"] = reports["with"].signature("las")
    results["figures"] = {name: result[name]._asdict() for name in FIGURES}
    return results


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", type=Path, default=parser.MODELS / "en")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    options.add_argument("--names", nargs="+", default=["gum", "ewt"])
    options.add_argument(
        "--limit", type=int, default=None, help="take this many dev sentences of each"
    )
    options.add_argument("--output", type=Path, default=Path(__file__).parent)
    arguments = options.parse_args()
    if arguments.treebanks is None:
        options.error("name the folder of treebanks: --treebanks, or ARCSPAN_TREEBANKS")
    predictor, config = load_predictor(arguments.bundle, Budget(threads=1), guidelines=True)
    results: dict[str, Any] = {"model": config.get("name"), "treebanks": {}}
    for name in arguments.names:
        gold = list(read_pairs(None, arguments.treebanks / name / "dev.conllu.xz"))[
            : arguments.limit
        ]
        figures = results["treebanks"][name] = study(predictor, gold)
        print(
            f"{name} dev: {figures['sentences']} sentences, {figures['words']} words; gold errors {figures['gold']}"
        )
        for way in ("without", "with"):
            print(f"  {way}: {figures[way]}")
        for figure in FIGURES:
            difference = figures["figures"][figure]
            print(
                f"  {figure} {difference['b']:.2f} -> {difference['a']:.2f} "
                f"({difference['difference']:+.2f}), p {difference['p_bootstrap']:.3f}"
            )
    with atomic_write(arguments.output / "results.json") as file:
        file.write(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
