"""Does a sentence's result depend on what stands beside it? Compares predictions to the last bit of
their scores.

    python benchmarks/independence.py ../shared/treebanks/craft-ud/dev.conllu.xz
    ../shared/treebanks/gum/dev.conllu.xz

All sentences together, then backwards, in large batches with much padding, by several threads, and
each alone.
"""

from __future__ import annotations

import argparse
import itertools
import random
from dataclasses import replace

import numpy as np

from arcspan.parser import Parser
from arcspan.prediction.results import Prediction
from arcspan.treebanks import read_conll


def same(first: Prediction, second: Prediction) -> bool:
    """Whether all numbers are equal."""
    names = ("nodes", "heads", "relations")
    return (
        first.score == second.score
        and all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
        and all(np.array_equal(first.words[name], second.words[name]) for name in first.words)
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("treebanks", nargs="+", help="CoNLL-U files")
    options.add_argument("--model", help="a bundle; default: the English model inside")
    options.add_argument("--sentences", type=int, default=5000)
    options.add_argument("--threads", type=int, default=2)
    arguments = options.parse_args()
    share = arguments.sentences // len(arguments.treebanks)
    sentences = [
        tree.words
        for path in arguments.treebanks
        for tree in itertools.islice(read_conll(path), share)
    ]
    random.Random(1).shuffle(sentences)
    predictor = Parser(arguments.model, threads=1).predictor
    together = predictor.predict(sentences)
    many = sum(
        int(encoding.counts.max(initial=0)) > 4
        for encoding in predictor.model.inputs.prepare(sentences)
    )
    print(f"{len(sentences)} sentences, {many} of them with a word of more than four pieces")
    wide = Parser(arguments.model, threads=1).predictor
    wide.budget = replace(wide.budget, cells=16 * wide.budget.cells)
    ways = {
        "backwards": lambda: predictor.predict(sentences[::-1])[::-1],
        "large batches": lambda: wide.predict(sentences),
        f"{arguments.threads} threads": lambda: Parser(
            arguments.model, threads=arguments.threads
        ).predictor.predict(sentences),
        "each alone": lambda: [predictor.predict([words])[0] for words in sentences],
    }
    for name, way in ways.items():
        other = sum(not same(parse, two) for parse, two in zip(together, way(), strict=True))
        print(f"{name}: {other} differ")


if __name__ == "__main__":
    main()
