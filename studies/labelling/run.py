"""Do labels and relations that fit each other help? LAS, F1 and complete match with and without, and p-values.

    python studies/labelling/run.py [--bundle BUNDLE] [--treebanks FOLDER] [--limit N] [--write]

Rules are counted in the training treebanks of the English model (craft-ud and gum). Their weight is tuned on one half
of a treebank's dev sentences and applied to the other, both ways round; figures are of all dev sentences, with the
tests of `arcspan compare`. The same with one weight, 0.2, for all. Writes results.json beside this file (or in
--output). --write tunes on both dev treebanks whole, and keeps rules and weight in the bundle, on if they help.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from arcspan import parser
from arcspan.evaluation import Report, compare, evaluate
from arcspan.files import atomic_write
from arcspan.prediction.label_rules import Labelling, RuleTable
from arcspan.prediction.predictor import Budget, Predictor
from arcspan.runtime.loading import load_predictor
from arcspan.training.calibration import in_style, sample
from arcspan.training.labelling import Ready, add_labelling, count_rules, make_table, prepare, score, tune
from arcspan.treebanks import Pair, read_pairs

TREEBANKS = ("craft-ud", "gum")
WEIGHT = 0.2  # what tuning on both treebanks together gives
FIGURES = ("uas", "las", "f1", "lcm_con", "lcm_dep", "lcm_both")


def study(predictor: Predictor, table: RuleTable, ready: list[Ready]) -> dict[str, Any]:
    """Both systems on one treebank: with the weight tuned on the other half, and with one weight for all."""
    gold = [one.gold for one in ready]
    plain = evaluate(gold, [one.pair(predictor, None) for one in ready])
    fitting: list[Pair | None] = [None] * len(ready)
    halves = [tune(ready[half::2], predictor, table) for half in (0, 1)]
    weights = [max(scores, key=lambda one: (scores[one], -one)) for scores in halves]
    for place, one in enumerate(ready):
        weight = weights[1 - place % 2]
        fitting[place] = one.pair(predictor, Labelling(table, weight) if weight else None)
    fixed = Labelling(table, WEIGHT)
    begin = time.process_time()
    for one in ready:
        found = one.prediction
        fixed.choose(found.nodes, found.heads, one.labels, one.relations, found.words.get("tag"))
    seconds = time.process_time() - begin

    def against_plain(report: Report) -> dict[str, Any]:
        result = compare(report, plain, samples=5000, names=("together", "one by one"))
        return {name: result[name]._asdict() for name in FIGURES}

    return {
        "sentences": len(ready),
        "signature": plain.signature("las"),
        "las_plus_f1_by_weight": {
            weight: round((halves[0][weight] + halves[1][weight]) / 2, 3) for weight in halves[0]
        },
        "microseconds_a_word": round(1e6 * seconds / sum(len(pair.dependencies) for pair in gold), 1),
        "tuned": {"weights": weights, "figures": against_plain(evaluate(gold, fitting))},
        "fixed": {"weight": WEIGHT, "figures": against_plain(score(ready, predictor, fixed))},
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

    predictor, config = load_predictor(given.bundle, Budget(threads=1), labelling=False)
    train = [pair for name in TREEBANKS for pair in read(name, "train")]
    rules = count_rules(train)
    table = make_table(predictor, rules)
    results: dict[str, Any] = {"model": config.get("name"), "rules": len(rules), "treebanks": {}}
    for name in TREEBANKS:
        style = name.split("-")[0]
        in_style(predictor, style if style in predictor.styles else None)
        ready = prepare(predictor, sample(read(name, "dev"), given.limit))
        found = results["treebanks"][name] = study(predictor, table, ready)
        print(
            f"{name} dev: {found['sentences']} sentences, {found['microseconds_a_word']} microseconds a word"
        )
        print("  LAS + F1 by weight:", found["las_plus_f1_by_weight"])
        for how in ("tuned", "fixed"):
            print(f"  {how}: weight {found[how].get('weights', found[how].get('weight'))}")
            for figure in FIGURES:
                one = found[how]["figures"][figure]
                print(
                    f"    {figure:9} {one['b']:.2f} -> {one['a']:.2f} ({one['difference']:+.2f}), "
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
