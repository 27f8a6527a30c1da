"""Score a paired treebank, reading included: brackets as EVALB, attachment, complete match,
compatibility.

    python benchmarks/evaluate.py TREEBANKS/craft/test.ptb.xz TREEBANKS/craft/test.conllu.xz

The prediction is the gold treebank with errors made by a seeded random generator: constituents left
out, invented and relabelled, words attached to their neighbours. Exit code 1 when the slowest round
takes longer than --at-most.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from arcspan import __version__
from arcspan.evaluation import compare, evaluate_files
from arcspan.treebanks import Pair, read_pairs, write_pairs
from arcspan.treebanks.tree_files import TreeFiles
from arcspan.trees import ConstituencyTree, DependencyTree


def with_errors(pairs: Iterator[Pair], rate: float, seed: int) -> Iterator[Pair]:
    """Pairs with wrong brackets, labels, heads and relations."""
    draw = random.Random(seed)
    for c, d in pairs:
        yield Pair(_wrong_brackets(c, rate, draw), _wrong_heads(d, rate, draw))


def _wrong_brackets(tree: ConstituencyTree, rate: float, draw: random.Random) -> ConstituencyTree:
    root, *below = tree.spans
    spans = []
    for i, j, label in below:
        fate = draw.random() / rate
        if fate < 0.4:
            continue
        spans.append((i, j, "X" if fate < 0.8 else label))
        if fate < 1 and j - i > 2:
            spans.append((i, j, "NP"))
    return ConstituencyTree(tree.words, tree.tags, [root, *spans])


def _wrong_heads(tree: DependencyTree, rate: float, draw: random.Random) -> DependencyTree:
    heads, relations = list(tree.heads), list(tree.relations)
    leaves = set(range(1, len(heads) + 1)) - set(heads)
    for m in leaves:
        # A leaf attached to another word cannot close a cycle.
        if draw.random() < 2 * rate and len(heads) > 1 and heads[m - 1]:
            heads[m - 1] = m - 1 if m > 1 else m + 1
            if heads[m - 1] in leaves:
                heads[m - 1] = tree.root
        if draw.random() < rate:
            relations[m - 1] = "dep"
    return DependencyTree(heads, relations, tree.words, tree.tags, tree.upos)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("brackets", type=Path, help="gold bracket file")
    parser.add_argument("conll", type=Path, help="gold CoNLL file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--at-most", type=float, default=10.0, help="seconds allowed for reading and scoring"
    )
    options = parser.parse_args()
    gold = TreeFiles(options.brackets, options.conll)
    reports, rounds = [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed, rate in ((1, 0.05), (2, 0.06)):
            predicted = TreeFiles(Path(folder, f"{seed}.ptb"), Path(folder, f"{seed}.conllu"))
            write_pairs(with_errors(read_pairs(*gold), rate, seed), *predicted)
            for _ in range(options.rounds):
                gc.collect()
                start = time.perf_counter()
                report = evaluate_files(gold, predicted)
                rounds.append(time.perf_counter() - start)
            reports.append(report)
    start = time.perf_counter()
    compare(*reports, samples=10_000)
    testing = time.perf_counter() - start
    slowest = max(rounds)
    result = {
        "arcspan": __version__,
        "sentences": report.sentences,
        "seconds": [round(one, 2) for one in rounds],
        "slowest": round(slowest, 2),
        "compare_seconds": round(testing, 2),
        "figures": {name: round(value, 2) for name, value in report.figures().items()},
        "passed": slowest <= options.at_most,
    }
    print(json.dumps(result, indent=1))
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
