"""Score a model bundle on craft-ud test, craft-ud dev and gum dev, and on each genre of gum; write results.json.

    ARCSPAN_TREEBANKS=FOLDER python studies/english/score.py [BUNDLE]

Without BUNDLE it is the English model inside the package. LAS and UAS leave out punctuation (by the Penn Treebank's
tags) and relation subtypes; F1 is EVALB's with the rules of COLLINS.prm, which leaves out sentences where a
punctuation tag is wrong (`f1_gold_tags` leaves out none); tags are the treebank's own, over all words. Words are the
treebank's. Every figure's signature is in the file. `studies/readme_figures.py` makes the tables
of the README and the model card from it.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import arcspan
from arcspan.evaluation import Report, evaluate
from arcspan.files import atomic_write
from arcspan.treebanks import Pair, read_conllu, read_pairs

HERE = Path(__file__).resolve().parent
TREEBANKS = (("craft-ud", "test"), ("craft-ud", "dev"), ("gum", "dev"))
FIGURES = (
    "las",
    "uas",
    "f1",
    "precision",
    "recall",
    "tag_accuracy",
    "upos_accuracy",
    "lcm_con",
    "lcm_dep",
    "lcm_both",
    "compatible",
)


def main() -> None:
    options = arguments()
    parser = arcspan.load(options.bundle, threads=options.threads)
    config = parser.config
    results: dict[str, Any] = {
        "model": {name: config.get(name) for name in ("name", "system", "precision", "arcspan")},
        "treebanks": {},
    }
    for name, part in TREEBANKS:
        stem = options.treebanks / name / part
        files = f"{stem}.ptb.xz", f"{stem}.conllu.xz"
        gold = list(read_pairs(*files, limit=options.limit))
        predicted = [Pair(parse.constituency, parse.dependencies) for parse in parses(parser, gold)]
        report = evaluate(gold, predicted, subtypes=False)
        entry = {
            **summary(report),
            "f1_gold_tags": round(evaluate(gold, predicted, subtypes=False, tags="gold").f1, 2),
            "signatures": {
                figure: report.signature(figure) for figure in FIGURES if figure in report.figures()
            },
        }
        if name == "gum":
            entry["genres"] = by_genre(genres(files[1]), gold, predicted)
        results["treebanks"][f"{name} {part}"] = entry
        print(
            f"{name} {part}: "
            + ", ".join(f"{figure} {entry[figure]}" for figure in FIGURES if figure in entry)
        )
    if options.limit:
        print("only part of the sentences: nothing is written")
        return
    with atomic_write(options.output) as file:
        file.write(json.dumps(results, indent=1) + "\n")
    print(f"wrote {options.output}")


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("bundle", nargs="?", help="a model bundle; default: the one inside the package")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    options.add_argument("--output", type=Path, default=HERE / "results.json")
    options.add_argument("--limit", type=int, help="only the first sentences of each; writes nothing")
    options.add_argument("--threads", type=int)
    found = options.parse_args()
    if found.treebanks is None:
        options.error("say where the treebanks are: --treebanks FOLDER, or the variable ARCSPAN_TREEBANKS")
    return found


def parses(parser: arcspan.Parser, gold: list[Pair]) -> Any:
    return parser.pipe((pair.constituency.words for pair in gold), batch_size=256)


def summary(report: Report) -> dict[str, Any]:
    """The figures with two decimals, how many sentences they are of, and how many of them EVALB leaves out."""
    found = {name: round(value, 2) for name, value in report.figures().items() if name in FIGURES}
    totals = report.totals
    return {"sentences": report.sentences, "words": totals["tags"], "evalb_errors": totals["error"], **found}


def genres(conll: str) -> list[str]:
    """The genre of every sentence: the second part of names such as GUM_academic_exposure-1."""
    return [(sentence.sent_id or "GUM_unknown").split("_")[1] for sentence in read_conllu(conll)]


def by_genre(names: list[str], gold: list[Pair], predicted: list[Pair]) -> dict[str, dict[str, Any]]:
    places = defaultdict(list)
    for place, name in enumerate(names[: len(gold)]):
        places[name].append(place)
    return {
        name: summary(evaluate([gold[k] for k in found], [predicted[k] for k in found], subtypes=False))
        for name, found in sorted(places.items())
    }


if __name__ == "__main__":
    main()
