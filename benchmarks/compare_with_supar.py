"""Searches against SuPar's, on the same scores: best scores must agree; sentences per second, and
the ratio.

SuPar (1.1.4) has no release that asks for today's torch, so it is not among our extras. Install it
beside:

    pip install --no-deps --target FOLDER supar==1.1.4
    PYTHONPATH=FOLDER python benchmarks/compare_with_supar.py [--sentences 32] [--rounds 3]

One thread, lengths like the Penn Treebank's, everyone's best round, in turns. Both programs find
the trees. Its structures are ConstituencyCRF, DependencyCRF (one root) and, in its repository but
not in that release, BiLexicalizedConstituencyCRF: the joint search is compared where it is there.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from decoding import make_batches, mixture

from arcspan import decoding


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    try:
        from supar import structs
    except ImportError as error:
        parser.exit(1, f"SuPar cannot be imported ({error}): see --help\n")
    torch.set_num_threads(1)

    def of_spans(span: torch.Tensor, arc: torch.Tensor, lengths: torch.Tensor) -> np.ndarray:
        distribution = structs.ConstituencyCRF(span, lengths)
        assert distribution.argmax
        return distribution.max.detach().numpy()

    def of_arcs(span: torch.Tensor, arc: torch.Tensor, lengths: torch.Tensor) -> np.ndarray:
        distribution = structs.DependencyCRF(arc, lengths)
        assert distribution.argmax is not None
        return distribution.max.detach().numpy()

    def of_both(span: torch.Tensor, arc: torch.Tensor, lengths: torch.Tensor) -> np.ndarray:
        our_scores = structs.BiLexicalizedConstituencyCRF((arc.clone(), span.clone()), lengths)
        torch.autograd.grad(our_scores.max.sum(), our_scores.scores)  # the gradient is the trees
        return our_scores.max.detach().numpy()

    searches = [
        ("CKY", lambda b: decoding.cky(b[0], b[2], threads=1), of_spans),
        ("Eisner", lambda b: decoding.eisner(b[1], b[2], threads=1), of_arcs),
    ]
    if hasattr(structs, "BiLexicalizedConstituencyCRF"):
        searches.append(("joint", lambda b: decoding.eisner_satta(*b[:3], threads=1), of_both))
    lengths = mixture(options.sentences)
    print(
        f"{options.sentences} sentences, mean {np.mean(lengths):.1f} words, one thread; sentences per second"
    )
    for size in (1, 16):
        batches = make_batches(lengths, size)
        tensors = [tuple(torch.from_numpy(part) for part in batch[:3]) for batch in batches]
        for name, ours, theirs in searches:
            best = [float("inf"), float("inf")]
            for _ in range(options.rounds):
                begin = time.perf_counter()
                our_scores = [ours(batch).scores for batch in batches]
                middle = time.perf_counter()
                their_scores = [theirs(*tensor) for tensor in tensors]
                end = time.perf_counter()
                best = [min(best[0], middle - begin), min(best[1], end - middle)]
                np.testing.assert_allclose(
                    np.concatenate(our_scores), np.concatenate(their_scores), rtol=1e-4, atol=1e-3
                )
            a, b = (options.sentences / seconds for seconds in best)
            print(
                f"  batches of {size:2}  {name:6}  arcspan {a:10,.0f}   SuPar {b:7.1f}   {a / b:6.0f} times"
            )


if __name__ == "__main__":
    main()
