"""What 200 sentences of one's own are worth: a model as it is, and trained further on 200 sentences of genia dev.

    ARCSPAN_TREEBANKS=FOLDER python studies/fine-tuning/run.py [NAME=]MODEL ... [--epochs 5] [--runs FOLDER]

The first 160 of them are trained on, the next 40 choose the epoch; both models are scored on the other sentences of
genia dev: F1 as EVALB with the COLLINS rules and gold punctuation, and the share of trees without an error. A model
that knows the style genia is asked in it, before as afterwards. Writes results.json.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import arcspan
from arcspan.evaluation import compare, evaluate
from arcspan.files import atomic_write
from arcspan.training import train
from arcspan.training.config import config_from_dict
from arcspan.training.export import export
from arcspan.treebanks import Pair, read_pairs

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
TRAIN, CHOOSE = 160, 40


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("models", nargs="+", metavar="[NAME=]MODEL")
    options.add_argument("--epochs", type=int, default=5)
    options.add_argument("--runs", type=Path, default=HERE.parents[1] / "runs" / "fine-tuning")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    given = options.parse_args()
    if given.treebanks is None:
        options.error("say where the treebanks are: --treebanks FOLDER, or the variable ARCSPAN_TREEBANKS")
    gold = list(read_pairs(Path(given.treebanks) / "genia" / "dev.ptb.xz", None))
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for named in given.models:
        name, _, model = named.rpartition("=")
        results[name or model] = fine_tune(model, gold, given.runs / (name or Path(model).name), given.epochs)
        print(json.dumps({name or model: results[name or model]}, indent=1))
        with atomic_write(RESULTS) as file:
            file.write(json.dumps(results, indent=1) + "\n")


def fine_tune(model: str, gold: list[Pair], folder: Path, epochs: int) -> dict[str, Any]:
    """Figures of a model before and after, and whether they differ by more than chance."""
    folder.mkdir(parents=True, exist_ok=True)
    rest = gold[TRAIN + CHOOSE :]
    style = "genia" if "genia" in arcspan.load(model).styles else None
    own = {"constituency_style": "genia", "dependency_style": "ud"} if style else {}
    data: dict[str, Any] = {}
    for name, some in (("train", gold[:TRAIN]), ("dev", gold[TRAIN : TRAIN + CHOOSE])):
        file = folder / f"{name}.ptb"
        lines = "".join(f"{pair.constituency.brackets()}\n" for pair in some)
        file.write_text(lines, encoding="utf-8")
        data[name] = [{"brackets": str(file), **own}]
    config = {
        "output": str(folder / "run"),
        "language": "en",
        "data": data,
        "model": {"start": model},
        "training": {"epochs": epochs, "batch_pieces": 500, "encoder_rate": 5e-5, "rate": 5e-4},
    }
    train(config_from_dict(config), resume=True, bars=False)
    tuned = export(folder / "run", folder / "bundle")
    reports = [evaluate(rest, parsed(one, rest, style), tags="gold") for one in (model, tuned)]
    tested = compare(*reports, samples=2000)["f1"]
    return {
        "sentences": len(rest),
        **{
            when: {"f1": round(report.f1, 2), "lcm_con": round(report.figures()["lcm_con"], 2)}
            for when, report in zip(("before", "after"), reports, strict=True)
        },
        "p": tested.p_randomization,
    }


def parsed(model: str | Path, gold: list[Pair], style: str | None) -> list[Pair]:
    parser = arcspan.load(model)
    style = style if style in parser.styles else None
    return [
        Pair(one.constituency, one.dependencies) for one in parser.pipe((p.words for p in gold), style=style)
    ]


if __name__ == "__main__":
    main()
