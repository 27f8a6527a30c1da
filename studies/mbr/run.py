"""Does minimum Bayes risk help? The English model's scores with the best tree and with the one of least expected error.

    python studies/mbr/run.py [--bundle BUNDLE] [--treebanks FOLDER] [--limit N]

Dev sentences of craft-ud and gum, with the tests of `arcspan compare`. Writes results.json beside this file (or in
--output). Gold sentences and words are given; the time of both runs is measured within one process, one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import arcspan
from arcspan import parser
from arcspan.evaluation import compare, evaluate
from arcspan.files import atomic_write
from arcspan.training.calibration import sample
from arcspan.treebanks import Pair, read_pairs

TREEBANKS = ("craft-ud", "gum")
FIGURES = ("uas", "las", "f1", "lcm_con", "lcm_dep", "lcm_both")


def parsed(bundle: Path, gold: list[Pair], decode: str) -> tuple[list[Pair], float]:
    """The trees of the sentences, and the seconds of processor time that they took."""
    model = arcspan.load(str(bundle), threads=1, decode=decode)
    list(model.pipe([list(pair.dependencies.words) for pair in gold[:2]]))  # what is compiled at first use
    begin = time.process_time()
    found = list(model.pipe([list(pair.dependencies.words) for pair in gold]))
    return [Pair(one.constituency, one.dependencies) for one in found], time.process_time() - begin


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", type=Path, default=parser.MODELS / "en")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    options.add_argument("--limit", type=int, default=0, help="take this many dev sentences of each; 0: all")
    options.add_argument("--output", type=Path, default=Path(__file__).parent)
    given = options.parse_args()
    if given.treebanks is None:
        options.error("name the folder of treebanks: --treebanks, or ARCSPAN_TREEBANKS")
    results: dict[str, Any] = {"model": given.bundle.name, "treebanks": {}}
    for name in TREEBANKS:
        folder = Path(given.treebanks) / name
        gold = sample(list(read_pairs(folder / "dev.ptb.xz", folder / "dev.conllu.xz")), given.limit)
        best, spent_best = parsed(given.bundle, gold, "best")
        risk, spent_risk = parsed(given.bundle, gold, "mbr")
        reports = evaluate(gold, risk), evaluate(gold, best)
        result = compare(*reports, samples=5000, names=("mbr", "best"))
        figures = {figure: result[figure]._asdict() for figure in FIGURES}
        results["treebanks"][name] = {
            "sentences": len(gold),
            "signature": reports[0].signature("las"),
            "time_ratio": round(spent_risk / spent_best, 2),
            "figures": figures,
        }
        print(f"{name} dev: {len(gold)} sentences; {spent_risk / spent_best:.2f} times the time")
        for figure, one in figures.items():
            print(
                f"  {figure:9} {one['b']:.2f} -> {one['a']:.2f} ({one['difference']:+.2f}), "
                f"p {one['p_bootstrap']:.4f} (bootstrap) {one['p_randomization']:.4f} (randomization)"
            )
    given.output.mkdir(parents=True, exist_ok=True)
    with atomic_write(given.output / "results.json") as file:
        file.write(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
