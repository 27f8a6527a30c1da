"""Distributions over trees against torch-struct and SuPar's structs: the same scores, one thread,
ratios of one run.

Every library that is installed takes part (`pip install torch-struct`, `pip install --no-deps
supar==1.1.4`), after its log-partitions were found to agree with ours. Each cell is the least
processor time of some rounds, in which every library runs once.

    python benchmarks/distributions.py [--lengths 10 20 40 80] [--batches 1 16] [--rounds 3]
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import torch

from arcspan.distributions import ConstituencyTrees, DependencyTrees, LexicalizedTrees

Make = Callable[[torch.Tensor], Any]


def libraries() -> dict[str, dict[str, Make]]:
    """By kind of tree: what makes a distribution of each library from our scores [B, n+1, n+1]."""
    makers: dict[str, dict[str, Make]] = {
        "constituency": {"arcspan": ConstituencyTrees},
        "dependency": {"arcspan": DependencyTrees},
    }
    if importlib.util.find_spec("torch_struct"):
        import torch_struct

        def rooted(arc: torch.Tensor) -> torch.Tensor:
            """[head, modifier] with the root's arcs on the diagonal."""
            inner = arc[:, 1:, 1:].transpose(1, 2)
            eye = torch.eye(inner.shape[1])
            return inner * (1 - eye) + torch.diag_embed(arc[:, 1:, 0])

        makers["constituency"]["torch-struct"] = lambda span: torch_struct.TreeCRF(
            span[:, :-1, 1:, None]
        )
        makers["dependency"]["torch-struct"] = lambda arc: torch_struct.DependencyCRF(
            rooted(arc), multiroot=False
        )
    if importlib.util.find_spec("supar"):
        from supar.structs import ConstituencyCRF, DependencyCRF

        makers["constituency"]["supar"] = ConstituencyCRF
        makers["dependency"]["supar"] = DependencyCRF
    return makers


def log_partition(trees: Any) -> torch.Tensor:
    return trees.partition if hasattr(trees, "partition") else trees.log_partition


def draw(trees: Any, name: str) -> Any:
    return trees.sample((1,)) if name == "torch-struct" else trees.sample()


# What is timed: of a library's name, and a function that makes its distribution anew.
QUESTIONS: dict[str, Callable[[str, Callable[[], Any]], Any]] = {
    "log-partition, backward": lambda _, make: log_partition(make()).sum().backward(),
    "argmax": lambda _, make: make().argmax,
    "entropy": lambda _, make: make().entropy,
    "entropy, backward": lambda _, make: make().entropy.sum().backward(),
    "sample": lambda name, make: draw(make(), name),
}


def timed(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float | None]:
    """Seconds of each call, the least of the rounds; None where it fails."""
    best: dict[str, float | None] = {}
    for name, call in calls.items():
        try:
            call()
            best[name] = float("inf")
        except Exception as error:
            print(f"    {name}: {type(error).__name__}: {str(error)[:80]}")
            best[name] = None
    for _ in range(rounds):
        for name, call in calls.items():
            least = best[name]
            if least is not None:
                start, times = time.process_time(), 0
                while times == 0 or time.process_time() - start < 0.02:
                    call()
                    times += 1
                best[name] = min(least, (time.process_time() - start) / times)
    return best


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lengths", type=int, nargs="+", default=[10, 20, 40, 80])
    options.add_argument("--batches", type=int, nargs="+", default=[1, 16])
    options.add_argument("--rounds", type=int, default=3)
    arguments = options.parse_args()
    torch.set_num_threads(1)
    by_trees = libraries()
    print("| trees | question | n | B | arcspan, ms | torch-struct / arcspan | supar / arcspan |")
    print("|---|---|---|---|---|---|---|")
    for trees, makers in by_trees.items():
        for n in arguments.lengths:
            for count in arguments.batches:
                scores = torch.randn(
                    count, n + 1, n + 1, generator=torch.Generator().manual_seed(n)
                )
                sums = {
                    name: log_partition(make(scores.clone().requires_grad_()))
                    for name, make in makers.items()
                }
                for name, value in sums.items():
                    torch.testing.assert_close(
                        value.flatten(), sums["arcspan"], rtol=1e-4, atol=1e-3, msg=name
                    )
                for question, ask in QUESTIONS.items():
                    calls = {
                        name: lambda name=name, make=make, ask=ask, scores=scores: ask(
                            name, lambda: make(scores.clone().requires_grad_())
                        )
                        for name, make in makers.items()
                    }
                    row(f"{trees} | {question} | {n} | {count}", timed(calls, arguments.rounds))
    for n in arguments.lengths:
        for count in arguments.batches:
            random = torch.Generator().manual_seed(n)
            span, arc = torch.randn(2, count, n + 1, n + 1, generator=random)
            for question, ask in QUESTIONS.items():
                call = lambda span=span, arc=arc, ask=ask: ask(  # noqa: E731
                    "arcspan",
                    lambda: LexicalizedTrees(
                        span.clone().requires_grad_(), arc.clone().requires_grad_()
                    ),
                )
                row(
                    f"lexicalized | {question} | {n} | {count}",
                    timed({"arcspan": call}, arguments.rounds),
                )


def row(name: str, times: dict[str, float | None]) -> None:
    ours = times["arcspan"]
    assert ours is not None
    cells = [f"{1000 * ours:.3f}"]
    for other in ("torch-struct", "supar"):
        theirs = times.get(other)
        cells.append("-" if theirs is None else f"{theirs / ours:.1f}")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
