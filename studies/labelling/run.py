"""Do labels and relations that fit each other help? LAS, F1 and complete match with and without, and p-values.

    python studies/labelling/run.py [--bundle BUNDLE] [--treebanks FOLDER] [--limit N] [--write]

Rules are counted in the training treebanks of the English model (craft-ud and gum). Their weight is tuned on one half
of a treebank's dev sentences and applied to the other, both ways round; figures are of all dev sentences, with the
tests of `arcspan compare`. Writes results.json beside this file (or in --output). --write tunes on both dev treebanks
whole, and keeps rules and weight in the bundle, on if they help.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from arcspan import parser
from arcspan.evaluation import compare, evaluate
from arcspan.files import atomic_write
from arcspan.runtime.labelling import Labelling, RuleTable
from arcspan.runtime.predictor import Predictor
from arcspan.training.calibration import sample
from arcspan.training.labelling import Ready, add_labelling, count_rules, make_table, prepare, tune
from arcspan.treebanks import Pair, read_pairs

TREEBANKS = ("craft-ud", "gum")
FIGURES = ("uas", "las", "f1", "lcm_con", "lcm_dep", "lcm_both")


def study(predictor: Predictor, table: RuleTable, ready: list[Ready]) -> dict[str, Any]:
    """Both systems on one treebank."""
    fitting: list[Pair | None] = [None] * len(ready)
    weights, seconds = [], 0.0
    for half in (0, 1):
        scores = tune(ready[1 - half :: 2], predictor, table)
        weight = max(scores, key=lambda one: (scores[one], -one))
        weights.append(weight)
        labelling = Labelling(table, weight) if weight else None
        begin = time.process_time()
        for place in range(half, len(ready), 2):
            fitting[place] = ready[place].pair(predictor, labelling)
        seconds += time.process_time() - begin
    begin = time.process_time()
    plain = [one.pair(predictor, None) for one in ready]
    seconds -= time.process_time() - begin
    gold = [one.gold for one in ready]
    a, b = (evaluate(gold, trees) for trees in (fitting, plain))
    result = compare(a, b, samples=5000, names=("together", "one by one"))
    words = sum(len(pair.dependencies) for pair in gold)
    return {
        "sentences": len(ready),
        "weights": weights,
        "microseconds_a_word": round(1e6 * seconds / words, 1),
        "figures": {name: result[name]._asdict() for name in FIGURES},
        "signature": result.signatures,
    }


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", type=Path, default=parser.MODELS / "en")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    options.add_argument("--limit", type=int, default=0, help="take this many dev sentences of each; 0: all")
    options.add_argument("--output", type=Path, default=Path(__file__).parent)
    options.add_argument("--write", action="store_true", help="keep rules and weight in the bundle")
    given = options.parse_args()
    if given.treebanks is None:
        options.error("name the folder of treebanks: --treebanks, or ARCSPAN_TREEBANKS")

    def read(name: str, part: str) -> list[Pair]:
        folder = Path(given.treebanks) / name
        return list(read_pairs(folder / f"{part}.ptb.xz", folder / f"{part}.conllu.xz"))

    predictor = Predictor(given.bundle, threads=1, labelling=False)
    train = [pair for name in TREEBANKS for pair in read(name, "train")]
    rules = count_rules(train)
    table = make_table(predictor, rules)
    results: dict[str, Any] = {"model": predictor.config.get("name"), "rules": len(rules), "treebanks": {}}
    for name in TREEBANKS:
        ready = prepare(predictor, sample(read(name, "dev"), given.limit))
        found = results["treebanks"][name] = study(predictor, table, ready)
        print(f"{name} dev: {found['sentences']} sentences, weights {found['weights']}, ", end="")
        print(f"{found['microseconds_a_word']} microseconds a word")
        for figure in FIGURES:
            one = found["figures"][figure]
            print(
                f"  {figure:9} {one['b']:.2f} -> {one['a']:.2f} ({one['difference']:+.2f}), "
                f"p {one['p_bootstrap']:.4f} (bootstrap) {one['p_randomization']:.4f} (randomization)"
            )
    given.output.mkdir(parents=True, exist_ok=True)
    with atomic_write(given.output / "results.json") as file:
        file.write(json.dumps(results, indent=1) + "\n")
    if given.write:
        dev = [pair for name in TREEBANKS for pair in read(name, "dev")]
        print("kept:", add_labelling(given.bundle, train, dev))


if __name__ == "__main__":
    main()
