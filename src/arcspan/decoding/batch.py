"""What every search shares: the shape of a batch, the result, and how a batch is spread over threads.

The kernels are compiled functions that search one sentence after the other with the GIL released. A sentence is
searched whole by one thread, so the result cannot depend on their number. numba's own threading layer is not used:
it cannot be entered from several Python threads at once, nor after a fork.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.crew import together
from arcspan.decoding.desks import search_with_helpers
from arcspan.errors import ScoreError

# What is said of a sentence. A kernel says HUGE of NaN as well: telling them apart is left to the one who complains.
DONE, NAN, FORBIDDEN, HUGE = 0, 1, 2, 3

# Below this many elementary steps (about 80 microseconds) waking another thread costs more than it saves.
_WORTH_A_THREAD = 1_000_000.0


class Decoded(NamedTuple):
    """The best structure of every sentence of a batch.

    heads   int64 [B, n+1]: heads[b, m] is the head of word m (0 = root); column 0 and padding are 0.
            None from `cky`.
    spans   one int64 array a sentence, its 2n-1 spans in pre-order, rows (i, j, head);
            rows (i, j) from `cky`; None from `eisner`.
    scores  float64 [B]: the score of each best structure.
    """

    heads: NDArray[np.int64] | None
    spans: list[NDArray[np.int64]] | None
    scores: NDArray[np.float64]


def check_lengths(lengths: ArrayLike, scores: Any, name: str) -> NDArray[np.int64]:
    """The lengths as an array, after checking that `scores` [B, n+1, n+1] has room for them."""
    found = np.asarray(lengths)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ScoreError(
            f"lengths must be one whole number a sentence, not {found.dtype} of shape {found.shape}"
        )
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2] or scores.shape[0] != found.shape[0]:
        raise ScoreError(
            f"{name} must have the shape [B, n+1, n+1] with B = {found.shape[0]}, not {list(scores.shape)}"
        )
    room = scores.shape[1] - 1
    if any(not 0 <= n <= room for n in found.tolist()):
        raise ScoreError(f"lengths must be between 0 and {room} for {name} of shape {list(scores.shape)}")
    return np.array(found, np.int64)


def as_float32(scores: Any) -> NDArray[np.float32]:
    """The array itself where it is float32, C-ordered and writeable (the one type that kernels are compiled for)."""
    if scores.dtype == np.float32 and scores.flags.carray:
        return scores  # type: ignore[no-any-return]
    with np.errstate(over="ignore"):
        return np.array(scores, np.float32, order="C")


def span_rows(
    lengths: NDArray[np.int64], columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.int64]]]:
    """One array for the spans of the whole batch, where each sentence begins in it, and each sentence's view."""
    starts = [0]
    for n in lengths.tolist():
        starts.append(starts[-1] + (2 * n - 1 if n else 0))
    rows = np.empty((starts[-1], columns), np.int64)
    return rows, np.array(starts), [rows[a:b] for a, b in itertools.pairwise(starts)]


def shrink(*scores: NDArray[np.float64]) -> list[NDArray[np.float64]] | int:
    """The scores of one sentence over a power of two, so that float32 can add them up; or why that is no use."""
    if any(np.isnan(part).any() for part in scores):
        return NAN
    if any(np.isposinf(part).any() for part in scores):
        return HUGE
    largest = max(
        float(np.abs(part, where=np.isfinite(part), out=np.zeros_like(part)).max()) for part in scores
    )
    if largest < 1e30:
        return FORBIDDEN
    factor = 2.0 ** -np.ceil(np.log2(largest))
    return [part * factor for part in scores]


def complain(status: NDArray[np.int64], again: Callable[[int], int] | None = None) -> None:
    """Raise the error of the first sentence that could not be decoded; `again` retries one with huge scores."""
    if not status.any():
        return
    for b in np.flatnonzero(status).tolist():
        code = int(status[b])
        if again is not None and code in (FORBIDDEN, HUGE):
            code = again(b)
        if code == NAN:
            raise ScoreError(f"sentence {b} of the batch has a score that is NaN")
        if code == FORBIDDEN:
            raise ScoreError(f"sentence {b} of the batch has no tree: its scores forbid (-inf) every one")
        if code == HUGE:
            raise ScoreError(f"sentence {b} of the batch has a score of plus infinity")


def available_threads() -> int:
    """The number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def run(
    search: Callable[[NDArray[np.int64]], object],
    lengths: NDArray[np.int64],
    power: int,
    threads: int | None,
) -> None:
    """Call `search(sentences)` on lists that together hold every sentence once; a sentence costs length**power."""
    order, threads = _plan(lengths, power, threads)
    if threads == 1:
        if len(order):
            search(order)
        return
    shares = iter(_shares(order, lengths[order], power, threads))

    # A list's iterator gives each share to one thread: taking the next is one step under the GIL.
    def work() -> None:
        for share in shares:
            search(share)

    together(work, threads)


def run_queue(
    search: Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], bool],
    lengths: NDArray[np.int64],
    power: int,
    threads: int | None,
    arrays: tuple[Any, ...],
) -> None:
    """Call `search(queue, desks, places)`, a kernel whose helpers take the next sentence themselves.

    arrays  what the helpers read and write, beside the queue
    """
    queue, threads = _plan(lengths, power, threads)
    if len(queue):
        search_with_helpers(lambda *desks: search(queue, *desks), threads - 1, (queue, *arrays))


def _plan(lengths: NDArray[np.int64], power: int, threads: int | None) -> tuple[NDArray[np.int64], int]:
    """The sentences, dearest first where threads share them, and how many threads are worth waking."""
    if threads is not None and threads < 1:
        raise ScoreError(f"threads must be at least 1, not {threads}")
    if len(lengths) > 1 and threads != 1:
        cost = sum((n + 1.0) ** power for n in lengths.tolist())
        threads = min(threads or available_threads(), len(lengths), 1 + int(cost / _WORTH_A_THREAD))
        if threads > 1:
            return np.argsort(-lengths, kind="stable"), threads
    return np.arange(len(lengths)), 1


def _shares(
    order: NDArray[np.int64], lengths: NDArray[np.int64], power: int, threads: int
) -> list[NDArray[np.int64]]:
    """The sentences in lists whose cost shrinks towards the end, so that all threads end together."""
    done = np.concatenate(([0.0], np.cumsum((lengths + 1.0) ** power)))
    shares, begin = [], 0
    while begin < len(order):
        target = done[begin] + (done[-1] - done[begin]) / (2 * threads)
        end = max(begin + 1, int(np.searchsorted(done, target)))
        shares.append(order[begin:end])
        begin = end
    return shares
