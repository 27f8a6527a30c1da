"""What 200 sentences of one's own are worth, and what they cost elsewhere: a model as it is, and
trained further.

    ARCSPAN_TREEBANKS=FOLDER python studies/fine-tuning/run.py [--model en] [--domains genia atis
    atis-style]
        [--epochs 5] [--rate 5e-4] [--encoder-rate 1e-5] [--style-rate 1e-2] [--anchored] [--name
        NAME] [--runs FOLDER]

Domains: `genia`, abstracts with constituents, whose style the English model knows; `atis`, spoken
requests with dependencies, which that of version 0.1 never saw, learnt in its default style;
`atis-style`, the same in a new style; `craft-style`, articles on biology in their annotators' own
scheme, in a new style (the model knows others of these articles with Universal Dependencies). Of
each dev file
160 sentences are trained on, the next 40 choose the epoch, and the rest is scored, beside every
fifth sentence of gum dev ("elsewhere"): there in the style that is the default before training and,
where there is a new style, in that one, too. F1 is that of EVALB with the COLLINS rules and gold
punctuation; LAS counts subtypes and leaves punctuation out. Writes results.json, whose rows are
named by the rates of the encoder, of everything else and of styles.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import arcspan
from arcspan.evaluation import evaluate
from arcspan.files import atomic_write
from arcspan.training import train
from arcspan.training.config import config_from_dict
from arcspan.training.export import export
from arcspan.treebanks import Pair, read_pairs, write_pairs

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"
TRAIN, CHOOSE = 160, 40
FIGURES = ("f1", "las", "feature_accuracy", "lemma_accuracy")
# The files of a domain, the styles of its sources, and the style that it is parsed in (None: the
# model's default).
DOMAINS: dict[str, tuple[tuple[str | None, str | None], dict[str, str], str | None]] = {
    "genia": (
        ("genia/dev.ptb.xz", None),
        {"constituency_style": "genia", "dependency_style": "ud"},
        "genia",
    ),
    "atis": ((None, "atis/dev.conllu.xz"), {}, None),
    "atis-style": ((None, "atis/dev.conllu.xz"), {"style": "atis"}, "atis"),
    "craft-style": (("craft/dev.ptb.xz", "craft/dev.conllu.xz"), {"style": "clearnlp"}, None),
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--model", default="en")
    options.add_argument("--domains", nargs="+", choices=DOMAINS, default=list(DOMAINS))
    options.add_argument("--epochs", type=int, default=5)
    options.add_argument("--rate", type=float, default=5e-4)
    options.add_argument("--encoder-rate", type=float, default=1e-5)
    options.add_argument("--style-rate", type=float, default=1e-2)
    options.add_argument(
        "--anchored",
        action="store_true",
        help="train on the model's own parses of the same sentences, too, in the style that is its default",
    )
    options.add_argument("--name", help="of the results; default: the model and its rates")
    options.add_argument("--runs", type=Path, default=HERE.parents[1] / "runs" / "fine-tuning")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    arguments = options.parse_args()
    if arguments.treebanks is None:
        options.error(
            "say where the treebanks are: --treebanks FOLDER, or the variable ARCSPAN_TREEBANKS"
        )
    rates = f"{arguments.encoder_rate:g}, {arguments.rate:g}, {arguments.style_rate:g}"
    name = arguments.name or f"{Path(arguments.model).name}, rates {rates}"
    training = {
        "epochs": arguments.epochs,
        "batch_pieces": 500,
        "encoder_rate": arguments.encoder_rate,
        "rate": arguments.rate,
        "style_rate": arguments.style_rate,
        "precision": "fp32",
    }
    for domain in arguments.domains:
        figures_of_domain = fine_tune(
            arguments.model,
            domain,
            Path(arguments.treebanks),
            arguments.runs / f"{name}-{domain}",
            training,
            arguments.anchored,
        )
        results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        results.setdefault(name, {})[domain] = figures_of_domain
        print(json.dumps({domain: figures_of_domain}, indent=1), flush=True)
        with atomic_write(RESULTS) as file:
            file.write(json.dumps(results, indent=1) + "\n")


def fine_tune(
    model: str, domain: str, treebanks: Path, folder: Path, training: dict[str, Any], anchored: bool
) -> dict[str, Any]:
    """Figures of a model before and after."""
    files, source_settings, style = DOMAINS[domain]
    gold = list(read_pairs(*(treebanks / file if file else None for file in files)))
    folder.mkdir(parents=True, exist_ok=True)
    data: dict[str, Any] = {}
    for split, pairs in (("train", gold[:TRAIN]), ("dev", gold[TRAIN : TRAIN + CHOOSE])):
        paths = [
            file and folder / f"{split}.{end}"
            for file, end in zip(files, ("ptb", "conllu"), strict=True)
        ]
        write_pairs(pairs, *paths)
        layers = zip(("brackets", "conll"), paths, strict=True)
        data[split] = [{**{layer: str(path) for layer, path in layers if path}, **source_settings}]
    before = arcspan.load(model)
    old = next(iter(before.styles))
    if anchored:
        paths = [folder / "anchor.ptb", folder / "anchor.conllu"]
        parses = before.pipe(pair.words for pair in gold[:TRAIN])
        write_pairs([Pair(parse.constituency, parse.dependencies) for parse in parses], *paths)
        data["train"].append({"brackets": str(paths[0]), "conll": str(paths[1])})
    config = {
        "output": str(folder / "run"),
        "data": data,
        "model": {"start": model},
        "training": training,
    }
    train(config_from_dict(config), resume=True, bars=False)
    after = arcspan.load(export(folder / "run", folder / "bundle", replace=True))
    test = gold[TRAIN + CHOOSE :]
    elsewhere = list(
        read_pairs(treebanks / "gum" / "dev.ptb.xz", treebanks / "gum" / "dev.conllu.xz")
    )[::5]
    measured = {
        "sentences": {"domain": len(test), "elsewhere": len(elsewhere)},
        "before": {
            "domain": figures(before, test, style),
            "elsewhere": figures(before, elsewhere, old),
        },
        "after": {
            "domain": figures(after, test, style),
            "elsewhere": figures(after, elsewhere, old),
        },
    }
    if "style" in source_settings:
        measured["after"]["domain, old style"] = figures(after, test, old)
        measured["after"]["elsewhere, new style"] = figures(
            after, elsewhere, source_settings["style"]
        )
    return measured


def figures(parser: arcspan.Parser, gold: Sequence[Pair], style: str | None) -> dict[str, float]:
    """What a parser scores in a style."""
    parses = parser.pipe((pair.words for pair in gold), style=style)
    predicted = [Pair(parse.constituency, parse.dependencies) for parse in parses]
    report = evaluate(gold, predicted, punctuation="ptb", tags="gold").figures()
    return {name: round(report[name], 2) for name in FIGURES if name in report}


if __name__ == "__main__":
    main()
