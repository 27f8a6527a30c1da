"""How well raw text is split: rules and learnt segmenters on dev files, texts in several styles,
and the speed.

    ARCSPAN_TREEBANKS=../shared/treebanks python studies/segmenter/run.py english french icelandic

A segmenter is trained as its configuration here says where its run has none yet. The text of a
document has a blank line where the treebank has a paragraph; "one line" has spaces instead, "lines"
a single line break, "wrapped" lines of 72 characters. "unseen" are the genres of GUM's training
files that the English segmenter was not trained on. Figures are F1 in percent, as the CoNLL 2018
scorer defines them; results.json is written beside this file.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from arcspan.files import atomic_write
from arcspan.segmenting import BaseSegmenter, RuleSegmenter, Segmenter
from arcspan.training.config import SEGMENTER, read_config
from arcspan.training.segmenter import plain_text, run_segmenter, score
from arcspan.training.segmenting_data import GoldText, documents

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"


STYLED = ("ewt dev", "gum dev")  # the files that are shown in every style
STYLES: dict[str, dict[str, Any]] = {
    "": {},
    ", one line": {"gap": " "},
    ", lines": {"gap": "\n"},
    ", wrapped": {"width": 72},
}


def figures(segmenter: BaseSegmenter, files: dict[str, list[list[GoldText]]]) -> dict[str, Any]:
    """The scores on every file in every style, and how many thousand characters a processor does
    per second.
    """
    scores: dict[str, Any] = {
        name + style: score(segmenter, file, **how)
        for name, file in files.items()
        for style, how in STYLES.items()
        if name in STYLED or not how
    }
    texts = [plain_text(document)[0] for document in next(iter(files.values()))]
    begun = time.process_time()
    for text in texts:
        segmenter.split(text)
    scores["thousand characters per second"] = round(
        sum(map(len, texts)) / (time.process_time() - begun) / 1000
    )
    return scores


def texts(document: list[GoldText]) -> tuple[str, ...]:
    """What tells a document from others."""
    return tuple(sentence.text for sentence in document)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "configuration", nargs="+", choices=sorted(path.stem for path in HERE.glob("*.toml"))
    )
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in options.parse_args().configuration:
        config = read_config(HERE / f"{name}.toml", segmenter_only=True)
        folder = Path(config.output) / SEGMENTER
        if not folder.exists():
            run_segmenter(config, print)
        files = {
            f"{Path(dev.conll).parent.name} dev": list(documents(dev.conll))
            for dev in config.segmenter.dev
        }
        if missing := config.segmenter.without:
            paths = [train.conll for train in config.segmenter.train]
            learnt = {
                texts(document) for path in paths for document in documents(path, without=missing)
            }
            every = [document for path in paths for document in documents(path)]
            files["unseen genres"] = [
                document for document in every if texts(document) not in learnt
            ]
        results[name] = {
            "rules": figures(RuleSegmenter(config.language), files),
            "learnt": figures(Segmenter.load(folder), files),
        }
        print(json.dumps(results[name], indent=1))
        with atomic_write(RESULTS) as file:
            file.write(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
