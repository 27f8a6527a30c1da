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


def as_scores(values: ArrayLike, name: str) -> NDArray[Any]:
    """Scores as an array of real numbers."""
    try:
        found = np.asarray(values)
    except ValueError:
        raise ScoreError(f"{name} must be an array of numbers: its rows differ in length") from None
    if found.dtype.kind not in "fiub":
        raise ScoreError(f"{name} must be an array of real numbers, not of {found.dtype}")
    return found


def check_count(value: Any, name: str) -> None:
    """Refuse what is not a whole number of at least 1."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 1:
        raise ScoreError(f"{name} must be a whole number of at least 1, not {value!r}")


def check_lengths(lengths: ArrayLike, shape: tuple[int, ...], name: str) -> NDArray[np.int64]:
    """The lengths as an array, after checking that scores of this shape, [B, n+1, n+1], have room for them."""
    found = as_scores(lengths, "lengths")
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ScoreError(
            f"lengths must be one whole number per sentence, not {found.dtype} of shape {found.shape}"
        )
    if len(shape) != 3 or shape[1] != shape[2] or shape[0] != found.shape[0]:
        raise ScoreError(
            f"{name} must have the shape [B, n+1, n+1] with B = {found.shape[0]}, not {list(shape)}"
        )
    if any(not 0 <= n < max(shape[1], 1) for n in found.tolist()):
        raise ScoreError(f"lengths must be between 0 and {shape[1] - 1} for {name} of shape {list(shape)}")
    return np.array(found, np.int64)


def check_joint(
    span: ArrayLike, arc: ArrayLike, lengths: ArrayLike, headed: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64], NDArray[Any] | None]:
    """The scores and lengths of a joint search as arrays that fit each other."""
    spans, arcs = as_scores(span, "span"), as_scores(arc, "arc")
    sizes = check_lengths(lengths, spans.shape, "span")
    if arcs.shape != spans.shape:
        raise ScoreError(f"arc must have the shape of span, {list(spans.shape)}, not {list(arcs.shape)}")
    return spans, arcs, sizes, None if headed is None else check_headed(headed, spans.shape)


def as_float32(scores: Any) -> NDArray[np.float32]:
    """The array itself where it is float32, C-ordered and writeable (the one type that kernels are compiled for)."""
    if scores.dtype == np.float32 and scores.flags.carray:
        return scores  # type: ignore[no-any-return]
    with np.errstate(over="ignore"):
        return np.array(scores, np.float32, order="C")


def check_headed(headed: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """Second-order scores as an array: the cube [B, n+1, n+1, n+1], or packed [B, pairs, n+1]."""
    found = as_scores(headed, "headed")
    count, size, _ = shape
    cube, packed = (*shape, size), (count, size * (size - 1) // 2, size)
    if found.shape not in (cube, packed):
        raise ScoreError(
            f"headed must have the shape {list(cube)}, or packed {list(packed)}, not {list(found.shape)}"
        )
    return found


def first_rows(headed: NDArray[Any], size: int) -> NDArray[np.int64]:
    """Where the rows h of the spans that begin at i stand in a sentence: that of (i, j) is number first[i] + j."""
    i = np.arange(size)
    return i * size if headed.ndim == 4 else i * (size - 1) - i * (i + 1) // 2 - 1


def pack_headed(headed: NDArray[Any], n: int, kind: Any) -> NDArray[Any]:
    """The second-order scores of one sentence, a cube or packed in any size, packed in its own: [pairs, n+1]."""
    if headed.ndim == 2 and headed.shape[1] == n + 1:
        return headed.astype(kind, copy=False)
    first = first_rows(headed[None], headed.shape[-1])
    rows = headed.reshape(-1, headed.shape[-1])
    packed = np.empty((n * (n + 1) // 2, n + 1), kind)
    begin = 0
    for i in range(n):
        packed[begin : begin + n - i] = rows[first[i] + i + 1 : first[i] + n + 1, : n + 1]
        begin += n - i
    return packed


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
            raise ScoreError(
                f"sentence {b} of the batch has a score of plus infinity, or too large to add up"
            )


def available_threads() -> int:
    """The number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def run(
    search: Callable[[NDArray[np.int64], NDArray[np.int64]], object],
    lengths: NDArray[np.int64],
    power: int,
    threads: int | None,
) -> None:
    """Call `search(queue, taken)`, a kernel that takes sentences from the queue until none is left, in some threads.

    A sentence costs length**power.
    """
    queue, threads = _plan(lengths, power, threads)
    taken = np.zeros(1, np.int64)
    if len(queue):
        together(lambda: search(queue, taken), threads)


def run_each(
    search: Callable[[int], object], lengths: NDArray[np.int64], power: int, threads: int | None
) -> None:
    """Call `search(sentence)` on every sentence, in some threads."""
    order, threads = _plan(lengths, power, threads)
    # A list's iterator gives each sentence to one thread: taking the next is one step under the GIL.
    turns = iter(order.tolist())

    def work() -> None:
        for b in turns:
            search(b)

    together(work, threads)


def _plan(lengths: NDArray[np.int64], power: int, threads: int | None) -> tuple[NDArray[np.int64], int]:
    """The sentences, longest first where threads share them, and how many threads are worth waking."""
    if threads is not None:
        check_count(threads, "threads")
    if len(lengths) > 1 and threads != 1:
        cost = sum((n + 1.0) ** power for n in lengths.tolist())
        threads = min(threads or available_threads(), len(lengths), 1 + int(cost / _WORTH_A_THREAD))
        if threads > 1:
            return np.argsort(-lengths, kind="stable"), threads
    return np.arange(len(lengths)), 1
