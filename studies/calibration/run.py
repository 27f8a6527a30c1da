"""Are probabilities what they promise? Calibration error of arcs and spans before and after fitting
temperatures.

    python studies/calibration/run.py --treebanks FOLDER [--treebank gum] [--style gum] [--bundle
    BUNDLE] [--limit N]

Temperatures are fitted on one half of a treebank's dev sentences and measured on the other, both
ways round, so that every sentence counts and none is measured with temperatures that it helped to
fit. Writes results.json and reliability.png beside this file (or in --output).
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arcspan import parser
from arcspan.files import atomic_write
from arcspan.prediction import search
from arcspan.prediction.confidence import Calibration
from arcspan.prediction.query import Query
from arcspan.prediction.runner import Budget, Predictor
from arcspan.runtime.loading import load_predictor
from arcspan.training.calibration import fit, log_loss, observe, rounded, sample
from arcspan.treebanks import Pair, read_pairs

KINDS = ("arcs", "spans", "relations", "labels", "sentences")
Outcomes = dict[str, list[tuple[float, bool]]]


def outcomes(
    predictor: Predictor,
    pairs: list[Pair],
    calibrations: list[Calibration],
    style: str | None,
) -> list[Outcomes]:
    """For each calibration and kind of part: probability, and whether it came true."""
    by_calibration: list[Outcomes] = [{part: [] for part in KINDS} for _ in calibrations]
    inventories = predictor.model.inventories
    for pair in pairs:
        gold = pair.constituency.without_wrapper().chains()
        query = Query(style=style, tags=pair.constituency.tags)
        scores = predictor.distribution(pair.dependencies.words, query)
        (best,) = search.best(scores.charts)
        assert best.nodes is not None and best.heads is not None and best.relations is not None
        chains = {
            (i, j): inventories.labels[label] for i, j, _, label in best.nodes.tolist() if label
        }
        heads = best.heads == np.asarray(pair.dependencies.heads)
        relations = tuple(inventories.relations[relation] for relation in best.relations.tolist())
        right = bool(heads.all()) and relations == pair.dependencies.relations and chains == gold
        for outcomes_of_parts, calibration in zip(by_calibration, calibrations, strict=True):
            sure = scores.confidence(best, calibration)
            outcomes_of_parts["arcs"] += zip(sure.arcs, heads.tolist(), strict=True)
            outcomes_of_parts["spans"] += [(p, span in gold) for span, p in sure.spans.items()]
            outcomes_of_parts["labels"] += [
                (p, chains[span] == gold[span]) for span, p in sure.labels.items() if span in gold
            ]
            outcomes_of_parts["relations"] += [
                (p, relation == gold_relation)
                for p, relation, gold_relation, good in zip(
                    sure.relations, relations, pair.dependencies.relations, heads, strict=True
                )
                if good
            ]
            outcomes_of_parts["sentences"].append((sure.sentence, right))
    return by_calibration


class Bin(NamedTuple):
    """Parts whose probability lies between low and high: how many, their mean probability, the
    share that is right.
    """

    low: float
    high: float
    parts: int
    probability: float
    right: float


def reliability(p: np.ndarray, right: np.ndarray, bins: int = 15) -> list[Bin]:
    """Parts by probability, in bins of equal width; empty bins are left out."""
    bin_of_part = np.minimum((p * bins).astype(np.int64), bins - 1)
    bins_with_parts = []
    for number in range(bins):
        in_bin = bin_of_part == number
        if in_bin.any():
            mean, share = round(float(p[in_bin].mean()), 12), float(right[in_bin].mean())
            bins_with_parts.append(
                Bin(number / bins, (number + 1) / bins, int(in_bin.sum()), mean, share)
            )
    return bins_with_parts


def expected_calibration_error(bins: list[Bin]) -> float:
    """The mean distance between probability and share of right parts, over the parts (Guo et al.
    2017).
    """
    distance = sum(bin_.parts * abs(bin_.probability - bin_.right) for bin_ in bins)
    return distance / max(1, sum(bin_.parts for bin_ in bins))


def measure(results: Outcomes) -> dict[str, Any]:
    """Figures for each kind of part."""
    out = {}
    for part in KINDS:
        p, right = (np.asarray(column) for column in zip(*results[part], strict=True))
        bins = reliability(p, right)
        out[part] = {
            "parts": len(p),
            "right": round(float(right.mean()), 4),
            "mean_probability": round(float(p.mean()), 4),
            "ece": round(expected_calibration_error(bins), 4),
            "log_loss": round(log_loss(p, right), 4),
            "bins": [bin_._asdict() for bin_ in bins],
        }
    return out


def plot(results: dict[str, Any], path: Path) -> None:
    """Reliability before and after: on the diagonal, probabilities are what they promise."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4.4), sharey=True)
    for axis, part in zip(axes, ("arcs", "spans"), strict=True):
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for when, colour, mark in (("before", "#c44e52", "o"), ("after", "#4c72b0", "s")):
            bins = results[when][part]["bins"]
            axis.plot(
                [bin_["probability"] for bin_ in bins],
                [bin_["right"] for bin_ in bins],
                color=colour,
                marker=mark,
                label=f"{when}: calibration error {100 * results[when][part]['ece']:.2f}%",
            )
        axis.set(xlabel="probability that the parser gives", xlim=(0, 1), ylim=(0, 1), title=part)
        axis.legend(loc="upper left", frameon=False)
    axes[0].set_ylabel("share that is right")
    figure.suptitle(
        f"{results['treebank']}, {results['sentences']} sentences, model {results['model']}"
    )
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", type=Path, default=parser.MODELS / "en")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    options.add_argument("--treebank", default="gum")
    options.add_argument("--style", help="the style it is parsed in; default: the model's own")
    options.add_argument(
        "--limit", type=int, default=0, help="take this many sentences, evenly spread; 0: all"
    )
    options.add_argument("--output", type=Path, default=Path(__file__).parent)
    arguments = options.parse_args()
    if arguments.treebanks is None:
        options.error("name the folder of treebanks: --treebanks, or ARCSPAN_TREEBANKS")

    predictor, config = load_predictor(arguments.bundle, Budget(threads=1))
    folder = Path(arguments.treebanks) / arguments.treebank
    dev = list(read_pairs(folder / "dev.ptb.xz", folder / "dev.conllu.xz"))
    pairs = [pair for pair in sample(dev, arguments.limit) if len(pair.dependencies) <= 150]
    observed = [
        observation
        for observation in (observe(predictor, pair, arguments.style) for pair in pairs)
        if observation is not None
    ]
    assert len(observed) == len(pairs)
    before: Outcomes = {part: [] for part in KINDS}
    after: Outcomes = {part: [] for part in KINDS}
    fitted = []
    for half in (0, 1):
        calibration = rounded(fit(observed[1 - half :: 2]))
        fitted.append(calibration.to_json())
        plain, better = outcomes(
            predictor, pairs[half::2], [Calibration(), calibration], arguments.style
        )
        for part in KINDS:
            before[part] += plain[part]
            after[part] += better[part]
    results = {
        "model": config.get("name"),
        "treebank": f"{arguments.treebank} dev",
        "sentences": len(pairs),
        "temperatures": {"halves": fitted, "all": rounded(fit(observed)).to_json()},
        "before": measure(before),
        "after": measure(after),
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    with atomic_write(arguments.output / "results.json") as file:
        file.write(json.dumps(results, indent=1) + "\n")
    plot(results, arguments.output / "reliability.png")
    for part in KINDS:
        was, now = results["before"][part], results["after"][part]
        print(
            f"{part:10} {was['parts']:7} parts, {100 * was['right']:5.1f}% right; calibration error "
            f"{100 * was['ece']:5.2f}% -> {100 * now['ece']:5.2f}%, "
            f"log loss {was['log_loss']:.4f} -> {now['log_loss']:.4f}"
        )
    print("temperatures:", json.dumps(results["temperatures"]["all"]))


if __name__ == "__main__":
    main()
