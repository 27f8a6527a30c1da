"""Are probabilities what they promise? Calibration error of arcs and spans before and after fitting temperatures.

    python studies/calibration/run.py --treebanks FOLDER [--treebank gum] [--style gum] [--bundle BUNDLE] [--limit N]

Temperatures are fitted on one half of a treebank's dev sentences and measured on the other, both ways round, so that
every sentence counts and none is measured with temperatures that it helped to fit. Writes results.json and
reliability.png beside this file (or in --output).
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
    found: list[Outcomes] = [{kind: [] for kind in KINDS} for _ in calibrations]
    known = predictor.model.inventories
    for pair in pairs:
        gold = pair.constituency.without_wrapper().chains()
        query = Query(style=style, tags=pair.constituency.tags)
        scores = predictor.distribution(pair.dependencies.words, query)
        (best,) = search.best(scores.charts)
        assert best.nodes is not None and best.heads is not None and best.relations is not None
        chains = {(i, j): known.labels[label] for i, j, _, label in best.nodes.tolist() if label}
        heads = best.heads == np.asarray(pair.dependencies.heads)
        relations = tuple(known.relations[relation] for relation in best.relations.tolist())
        right = bool(heads.all()) and relations == pair.dependencies.relations and chains == gold
        for mine, calibration in zip(found, calibrations, strict=True):
            sure = scores.confidence(best, calibration)
            mine["arcs"] += zip(sure.arcs, heads.tolist(), strict=True)
            mine["spans"] += [(p, place in gold) for place, p in sure.spans.items()]
            mine["labels"] += [
                (p, chains[place] == gold[place])
                for place, p in sure.labels.items()
                if place in gold
            ]
            mine["relations"] += [
                (p, relation == wanted)
                for p, relation, wanted, good in zip(
                    sure.relations, relations, pair.dependencies.relations, heads, strict=True
                )
                if good
            ]
            mine["sentences"].append((sure.sentence, right))
    return found


class Bin(NamedTuple):
    """Parts whose probability lies between low and high: how many, their mean probability, the share that is right."""

    low: float
    high: float
    parts: int
    probability: float
    right: float


def reliability(p: np.ndarray, right: np.ndarray, bins: int = 15) -> list[Bin]:
    """Parts by probability, in bins of equal width; empty bins are left out."""
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    found = []
    for number in range(bins):
        own = place == number
        if own.any():
            mean, share = round(float(p[own].mean()), 12), float(right[own].mean())
            found.append(Bin(number / bins, (number + 1) / bins, int(own.sum()), mean, share))
    return found


def expected_calibration_error(found: list[Bin]) -> float:
    """The mean distance between probability and share of right parts, over the parts (Guo et al. 2017)."""
    distance = sum(one.parts * abs(one.probability - one.right) for one in found)
    return distance / max(1, sum(one.parts for one in found))


def measure(results: Outcomes) -> dict[str, Any]:
    """Figures for each kind of part."""
    out = {}
    for kind in KINDS:
        p, right = (np.asarray(column) for column in zip(*results[kind], strict=True))
        bins = reliability(p, right)
        out[kind] = {
            "parts": len(p),
            "right": round(float(right.mean()), 4),
            "mean_probability": round(float(p.mean()), 4),
            "ece": round(expected_calibration_error(bins), 4),
            "log_loss": round(log_loss(p, right), 4),
            "bins": [one._asdict() for one in bins],
        }
    return out


def plot(results: dict[str, Any], path: Path) -> None:
    """Reliability before and after: on the diagonal, probabilities are what they promise."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4.4), sharey=True)
    for axis, kind in zip(axes, ("arcs", "spans"), strict=True):
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for when, colour, mark in (("before", "#c44e52", "o"), ("after", "#4c72b0", "s")):
            bins = results[when][kind]["bins"]
            axis.plot(
                [one["probability"] for one in bins],
                [one["right"] for one in bins],
                color=colour,
                marker=mark,
                label=f"{when}: calibration error {100 * results[when][kind]['ece']:.2f}%",
            )
        axis.set(xlabel="probability that the parser gives", xlim=(0, 1), ylim=(0, 1), title=kind)
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
    given = options.parse_args()
    if given.treebanks is None:
        options.error("name the folder of treebanks: --treebanks, or ARCSPAN_TREEBANKS")

    predictor, config = load_predictor(given.bundle, Budget(threads=1))
    folder = Path(given.treebanks) / given.treebank
    dev = list(read_pairs(folder / "dev.ptb.xz", folder / "dev.conllu.xz"))
    pairs = [pair for pair in sample(dev, given.limit) if len(pair.dependencies) <= 150]
    observed = [
        one for one in (observe(predictor, pair, given.style) for pair in pairs) if one is not None
    ]
    assert len(observed) == len(pairs)
    before: Outcomes = {kind: [] for kind in KINDS}
    after: Outcomes = {kind: [] for kind in KINDS}
    fitted = []
    for half in (0, 1):
        calibration = rounded(fit(observed[1 - half :: 2]))
        fitted.append(calibration.to_json())
        plain, better = outcomes(
            predictor, pairs[half::2], [Calibration(), calibration], given.style
        )
        for kind in KINDS:
            before[kind] += plain[kind]
            after[kind] += better[kind]
    results = {
        "model": config.get("name"),
        "treebank": f"{given.treebank} dev",
        "sentences": len(pairs),
        "temperatures": {"halves": fitted, "all": rounded(fit(observed)).to_json()},
        "before": measure(before),
        "after": measure(after),
    }
    given.output.mkdir(parents=True, exist_ok=True)
    with atomic_write(given.output / "results.json") as file:
        file.write(json.dumps(results, indent=1) + "\n")
    plot(results, given.output / "reliability.png")
    for kind in KINDS:
        was, now = results["before"][kind], results["after"][kind]
        print(
            f"{kind:10} {was['parts']:7} parts, {100 * was['right']:5.1f}% right; calibration error "
            f"{100 * was['ece']:5.2f}% -> {100 * now['ece']:5.2f}%, "
            f"log loss {was['log_loss']:.4f} -> {now['log_loss']:.4f}"
        )
    print("temperatures:", json.dumps(results["temperatures"]["all"]))


if __name__ == "__main__":
    main()
