"""How fast words become both labelled trees, beside the ONNX encoder alone on the same batches.

    python benchmarks/throughput.py ../shared/treebanks/craft-ud/test.conllu.xz ../shared/treebanks/gum/dev.conllu.xz

Takes turns: for every chunk of sentences the encoder alone, then the parser, with one thread and with several, so
that a busy machine hurts all alike. The encoder alone runs the nodes of the score graph that lead to the words'
vectors, on the very arrays that the parser made; making them is not counted for it. The parser goes from lists of
words to `ConstituencyTree` and `DependencyTree` with labels, relations and tags.

`--cells` tries other batch sizes.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import onnxruntime

from arcspan.parser import Parser
from arcspan.prediction.predictor import Budget
from arcspan.treebanks import read_conll


class Encoder:
    """The encoder of a parser, and nothing else."""

    def __init__(self, parser: Parser) -> None:
        self.predictor = parser.predictor
        self.pool = ThreadPoolExecutor(self.predictor.threads)
        self.options = onnxruntime.RunOptions()
        self.options.only_execute_path_to_fetches = True

    def arrays(self, sentences: list[tuple[str, ...]]) -> list[dict[str, np.ndarray]]:
        """The arrays of the parser's own batches."""
        predictor = self.predictor
        items = predictor._prepare(sentences, None, None, predictor.submit([]))
        nothing = np.zeros(0, dtype=np.int64)
        batches = []
        for places in predictor._batches(items):
            arrays = predictor.arrays(predictor.scorers[0], [items[place] for place in places])
            if "headed" in predictor.outputs:
                arrays["pair_i"] = arrays["pair_j"] = nothing
            batches.append(arrays)
        return batches

    def run(self, batches: list[dict[str, np.ndarray]]) -> None:
        graph: Any = self.predictor.scorers[0].load()[0]
        list(self.pool.map(lambda arrays: graph.run(["hidden"], arrays, self.options), batches))


def parse(parser: Parser, sentences: list[tuple[str, ...]]) -> None:
    for found in parser.pipe(sentences, batch_size=len(sentences)):
        _ = found.constituency, found.dependencies


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("treebanks", nargs="+", help="CoNLL-U files")
    options.add_argument("--model", help="a bundle; default: the English model inside")
    options.add_argument("--sentences", type=int, default=2000)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--chunk", type=int, default=500)
    options.add_argument("--cells", type=int, default=Budget().cells)
    given = options.parse_args()
    share = given.sentences // len(given.treebanks)
    sentences = [tree.words for path in given.treebanks for tree in itertools.islice(read_conll(path), share)]
    random.Random(1).shuffle(sentences)
    wall: dict[tuple[str, int], float] = {}
    cpu: dict[tuple[str, int], float] = {}
    parsers = {threads: Parser(given.model, threads=threads) for threads in sorted({1, given.threads})}
    for parser in parsers.values():
        parser.predictor.budget = replace(parser.predictor.budget, cells=given.cells)
    encoders = {threads: Encoder(parser) for threads, parser in parsers.items()}
    for parser in parsers.values():
        parse(parser, sentences[:50])
    for begin in range(0, len(sentences), given.chunk):
        chunk = sentences[begin : begin + given.chunk]
        for threads, parser in parsers.items():
            batches = encoders[threads].arrays(chunk)
            for name, work, what in (
                ("encoder", encoders[threads].run, batches),
                ("parser", partial(parse, parser), chunk),
            ):
                start, used = time.perf_counter(), time.process_time()
                work(what)
                key = name, threads
                wall[key] = wall.get(key, 0) + time.perf_counter() - start
                cpu[key] = cpu.get(key, 0) + time.process_time() - used
    words = sum(map(len, sentences))
    print(f"{len(sentences)} sentences, {words} words, batches of up to {given.cells} positions")
    for (name, threads), seconds in wall.items():
        print(
            f"{name:8} {threads} thread{'s' if threads > 1 else ' '}  {len(sentences) / seconds:7.1f} sentences/s"
            f"  {words / seconds:7.0f} words/s  CPU {1000 * cpu[name, threads] / len(sentences):.2f} ms a sentence"
        )
    for threads in parsers:
        print(
            f"parser / encoder, {threads} thread{'s' if threads > 1 else ' '}:  "
            f"{wall['encoder', threads] / wall['parser', threads]:.0%} by the clock, "
            f"{cpu['encoder', threads] / cpu['parser', threads]:.0%} by CPU time"
        )
    if given.threads > 1:
        print(f"{given.threads} threads / 1 thread: {wall['parser', 1] / wall['parser', given.threads]:.2f}")


if __name__ == "__main__":
    main()
