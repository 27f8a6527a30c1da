"""Marginals against the 1-best search, and the CRF loss against the same through torch's autograd.

Everything is timed interleaved in one run, one thread, in processor time: each round runs every
method once over the same sentences, and the best round counts. Lengths are PTB-like (mean 23.5,
standard deviation 11, at most 120), scores random. The differentiable partition is the paper's
batchified inside algorithm, all spans of a width at once, with logsumexp; its gradient comes from
autograd.

    python benchmarks/marginals.py [--rounds 5] [--sentences 64] [--batch 16] [--lengths 10 20 40 80
    120]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from arcspan import decoding
from arcspan.distributions import LexicalizedTrees


def log_partition(
    span: torch.Tensor, arc: torch.Tensor, lengths: torch.Tensor, headed: torch.Tensor | None = None
) -> torch.Tensor:
    return LexicalizedTrees(span, arc, headed, lengths).log_partition


def ptb_like_lengths(count: int) -> np.ndarray:
    random = np.random.default_rng(235)
    # A gamma distribution with this mean and deviation, cut at 120.
    return np.clip(random.gamma((23.5 / 11) ** 2, 11**2 / 23.5, count).round().astype(int), 1, 120)


def batches(lengths: np.ndarray, batch: int) -> list[dict[str, object]]:
    """Batches of sentences of neighbouring lengths, with random scores of all kinds."""
    random = np.random.default_rng(0)
    ordered = np.sort(lengths)
    padded_batches = []
    for start in range(0, len(ordered), batch):
        sizes = ordered[start : start + batch]
        shape = (len(sizes), sizes.max() + 1, sizes.max() + 1)
        padded_batches.append(
            {
                "lengths": sizes,
                "span": 2 * random.normal(size=shape).astype(np.float32),
                "arc": 2 * random.normal(size=shape).astype(np.float32),
                "headed": random.normal(size=(*shape, shape[-1])).astype(np.float32),
            }
        )
    return padded_batches


def interleaved(methods: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of processor time of each method: the best of the rounds, every method once a round."""
    best = dict.fromkeys(methods, float("inf"))
    for name, method in methods.items():
        start = time.process_time()
        method()
        # Short ones are repeated, so that the clock is fine enough.
        spent = time.process_time() - start
        methods[name] = repeated(method, max(1, int(0.02 / max(spent, 1e-5))))
    for _ in range(rounds):
        for name, method in methods.items():
            start = time.process_time()
            times = method()
            best[name] = min(best[name], (time.process_time() - start) / int(times))  # type: ignore[call-overload]
    return best


def repeated(method: Callable[[], object], times: int) -> Callable[[], int]:
    def run() -> int:
        for _ in range(times):
            method()
        return times

    return run


def every(
    work: list[dict[str, object]], function: Callable[..., object], names: tuple[str, ...]
) -> Callable[[], object]:
    return lambda: [function(*(b[name] for name in names)) for b in work]


def searches(work: list[dict[str, object]]) -> dict[str, Callable[[], object]]:
    def joint(span, arc, lengths):
        return decoding.eisner_satta(span, arc, lengths, threads=1)

    def second(span, arc, lengths, headed):
        return decoding.eisner_satta(span, arc, lengths, headed, threads=1)

    def sums(span, arc, lengths, headed=None):
        return decoding.marginals(span, arc, lengths, headed, threads=1)

    return {
        "cky 1-best": every(work, lambda s, n: decoding.cky(s, n, threads=1), ("span", "lengths")),
        "cky marginals": every(work, lambda s, n: sums(s, None, n), ("span", "lengths")),
        "eisner 1-best": every(
            work, lambda a, n: decoding.eisner(a, n, threads=1), ("arc", "lengths")
        ),
        "eisner marginals": every(work, lambda a, n: sums(None, a, n), ("arc", "lengths")),
        "first order 1-best": every(work, joint, ("span", "arc", "lengths")),
        "first order marginals": every(work, sums, ("span", "arc", "lengths")),
        "second order 1-best": every(work, second, ("span", "arc", "lengths", "headed")),
        "second order marginals": every(work, sums, ("span", "arc", "lengths", "headed")),
    }


def autograd_partition(
    span: torch.Tensor, arc: torch.Tensor, lengths: torch.Tensor, headed: torch.Tensor | None = None
) -> torch.Tensor:
    """The batchified inside algorithm (Algorithm 1 of the paper with logsumexp for max),
    differentiable by autograd.
    """
    batch, size, _ = span.shape
    n = size - 1
    low = -1e9
    words = torch.arange(size)
    # by_width[w - 1]: [B, spans of that width, heads]
    by_width: list[torch.Tensor] = []
    at_start = []
    no_self = arc.masked_fill(torch.eye(size, dtype=torch.bool), low)
    for w in range(1, size):
        i = torch.arange(size - w)
        j = i + w
        if w == 1:
            value = torch.full((batch, n, size), low)
            value = value.masked_fill(words[None, :] == j[:, None], 0.0)
        else:
            # [B, spans, splits, heads]: (i, i + u) and (i + u, j).
            left_parts = torch.stack([by_width[u - 1][:, : size - w] for u in range(1, w)], 2)
            right = torch.stack([by_width[w - u - 1][:, u : u + size - w] for u in range(1, w)], 2)
            value = torch.logsumexp(left_parts + right, 2)
        inside = (words[None, :] > i[:, None]) & (words[None, :] <= j[:, None])
        value = value + span[:, i, j].unsqueeze(-1)
        if headed is not None:
            value = value + headed[:, i, j]
        value = value.masked_fill(~inside, low)
        at_start.append(value[:, 0])
        # [B, spans, modifiers, heads] summed over modifiers
        hooked = torch.logsumexp(value.unsqueeze(-1) + no_self.unsqueeze(1), 2)
        if headed is not None:
            hooked = hooked + headed[:, i, j]
        by_width.append(torch.where(inside, value, hooked))
    at_end = torch.stack(at_start, 1)[torch.arange(batch), lengths - 1]
    return torch.logsumexp(at_end + arc[:, :, 0], 1)


def losses(work: list[dict[str, object]]) -> dict[str, Callable[[], object]]:
    def gradient(partition: Callable[..., torch.Tensor], second: bool) -> Callable[[], object]:
        def run() -> None:
            for b in work:
                names = ("span", "arc", "headed") if second else ("span", "arc")
                scores = [torch.from_numpy(b[name]).requires_grad_() for name in names]
                lengths = torch.from_numpy(b["lengths"])
                partition(*scores[:2], lengths, *scores[2:]).sum().backward()

        return run

    return {
        "first order kernel": gradient(log_partition, False),
        "first order autograd": gradient(autograd_partition, False),
        "second order kernel": gradient(log_partition, True),
        "second order autograd": gradient(autograd_partition, True),
    }


def check(work: list[dict[str, object]]) -> None:
    """Both ways to the gradient must agree before their speed is compared."""
    for second in (False, True):
        b = work[0]
        results = []
        for partition in (log_partition, autograd_partition):
            names = ("span", "arc", "headed") if second else ("span", "arc")
            scores = [torch.from_numpy(b[name]).requires_grad_() for name in names]
            value = partition(*scores[:2], torch.from_numpy(b["lengths"]), *scores[2:])
            value.sum().backward()
            results.append((value.detach(), [tensor.grad for tensor in scores]))
        torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-4, atol=1e-3)
        for gradient, expected in zip(results[0][1], results[1][1], strict=True):
            torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-3)


def report(times: dict[str, float], sentences: int, fast: str, slow: str, ratio: str) -> None:
    for name in times:
        if name.endswith(fast):
            question = name.removesuffix(fast)
            a, b = times[name], times[question + slow]
            print(
                f"  {question:14}{fast} {sentences / a:10.0f} /s"
                f"   {slow} {sentences / b:10.0f} /s   {ratio} {b / a:7.1f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lengths", type=int, nargs="*", default=[10, 20, 40, 80, 120])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    mixture = batches(ptb_like_lengths(arguments.sentences), arguments.batch)

    print("1-best and marginals, sentences a second; cost of marginals in searches")
    print(" PTB-like mixture")
    times = interleaved(searches(mixture), arguments.rounds)
    report(times, arguments.sentences, "1-best", "marginals", "cost")
    for n in arguments.lengths:
        print(f" n = {n}")
        work = batches(np.array([n]), 1)
        report(interleaved(searches(work), arguments.rounds), 1, "1-best", "marginals", "cost")

    print("CRF loss and its gradient, sentences a second; times faster than through autograd")
    check(mixture)
    print(" PTB-like mixture")
    times = interleaved(losses(mixture), max(1, arguments.rounds // 2))
    report(times, arguments.sentences, "kernel", "autograd", "times")


if __name__ == "__main__":
    main()
