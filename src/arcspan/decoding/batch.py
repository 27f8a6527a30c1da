"""What every search shares: the shape of a batch, the result, and how the kernels are called.

A kernel computes sentence after sentence with the GIL released, in threads of its own. One thread computes a sentence
whole, so the result cannot depend on their number.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.native import kernel, pointer
from arcspan.errors import ScoreError, check_count

# What a kernel says of a sentence, as in native/common.h. It says HUGE of NaN as well: `diagnose` tells them apart.
DONE, FORBIDDEN, HUGE, NO_MEMORY, NAN = range(5)
_WRONG = {
    FORBIDDEN: "no tree: its scores forbid (-inf) every one",
    HUGE: "a score of plus infinity, or too large to add up",
    NAN: "a score that is NaN",
}

# The searches, numbered as in native/kernels.c. Of each: the columns of its spans, none without them; the power of n
# that its time grows with.
CKY, EISNER, EISNER_SATTA, NAIVE = range(4)
_SHAPES = ((2, 3), (0, 3), (3, 4), (3, 5))

# Below this much work (about 70 microseconds) starting another thread costs more than it saves.
_WORTH_A_THREAD = 4_000_000.0

_FLOAT32, _FLOAT64, _INT64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)

# The scores of spans, of arcs, and of headed spans: None where there are none.
Scores: TypeAlias = tuple[NDArray[Any] | None, NDArray[Any] | None, NDArray[Any] | None]
Given: TypeAlias = ArrayLike | None
Result = TypeVar("Result")


class Decoded(NamedTuple):
    """The best structure of every sentence of a batch.

    heads   int64 [B, n+1]: heads[b, m] is the head of word m (0 = root); column 0 and padding are 0.
            None from `cky`.
    spans   one int64 array per sentence, its 2n-1 spans in pre-order, rows (i, j, head);
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


def check(
    span: Given,
    arc: Given,
    lengths: Given,
    headed: Given,
    threads: int | None = None,
    *,
    joint: bool = False,
) -> tuple[Scores, NDArray[np.int64]]:
    """The scores and lengths of a batch as arrays that fit each other; joint: spans and arcs must both be there."""
    if threads is not None and not (type(threads) is int and threads >= 1):
        check_count("threads", threads, ScoreError)  # which takes numpy's numbers as well
    if lengths is None or (span is None and arc is None):
        raise ScoreError("lengths are needed, and span scores, arc scores or both")
    if (joint or headed is not None) and (span is None or arc is None):
        raise ScoreError("headed spans and lexicalized trees need both span and arc scores")
    spans = None if span is None else as_scores(span, "span")
    arcs = None if arc is None else as_scores(arc, "arc")
    shape, name = (arcs.shape, "arc") if spans is None else (spans.shape, "span")  # type: ignore[union-attr]
    sizes = as_scores(lengths, "lengths")
    if sizes.ndim != 1 or (sizes.dtype.kind not in "iu" and sizes.size):
        raise ScoreError(
            f"lengths must be one whole number per sentence, not {sizes.dtype} of shape {sizes.shape}"
        )
    if len(shape) != 3 or shape[1] != shape[2] or shape[0] != len(sizes):
        raise ScoreError(
            f"{name} must have the shape [B, n+1, n+1] with B = {len(sizes)}, not {list(shape)}"
        )
    if (numbers := sizes.tolist()) and (min(numbers) < 0 or max(numbers) >= (shape[1] or 1)):
        raise ScoreError(
            f"lengths must be between 0 and {shape[1] - 1} for {name} of shape {list(shape)}"
        )
    if arcs is not None and arcs.shape != shape:
        raise ScoreError(f"arc must have the shape of span, {list(shape)}, not {list(arcs.shape)}")
    second = None if headed is None else check_headed(headed, shape)
    return (spans, arcs, second), as_array(sizes, _INT64)


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


def as_array(scores: NDArray[Any], kind: Any) -> NDArray[Any]:
    """The array itself where it is of that type, C-ordered and writeable, as kernels want it, else a copy."""
    if (scores.dtype is kind or scores.dtype == kind) and scores.flags.carray:
        return scores
    with np.errstate(over="ignore"):
        return np.array(scores, kind, order="C")


def pack_headed(headed: NDArray[Any], n: int, kind: Any) -> NDArray[Any]:
    """The second-order scores of one sentence, a cube or packed in any size, packed in its own: [pairs, n+1]."""
    if headed.ndim == 2 and headed.shape[1] == n + 1:
        return headed.astype(kind, copy=False)
    size, start = headed.shape[-1], np.arange(headed.shape[-1])
    # The row of (i, j) is number first[i] + j.
    first = start * size if headed.ndim == 3 else start * (size - 1) - start * (start + 1) // 2 - 1
    rows = headed.reshape(-1, headed.shape[-1])
    packed = np.empty((n * (n + 1) // 2, n + 1), kind)
    begin = 0
    for i in range(n):
        packed[begin : begin + n - i] = rows[first[i] + i + 1 : first[i] + n + 1, : n + 1]
        begin += n - i
    return packed


def best(
    span: Given,
    arc: Given,
    lengths: Given,
    headed: Given = None,
    threads: int | None = None,
    algorithm: int | None = None,
) -> Decoded:
    """The best trees by the search that such scores need, or by a given one of lexicalized trees."""
    scores, sizes = check(span, arc, lengths, headed, threads, joint=algorithm is not None)
    if algorithm is None:
        algorithm = CKY if arc is None else EISNER if span is None else EISNER_SATTA
    found, status = _call(
        algorithm, scores, _FLOAT64 if algorithm == NAIVE else _FLOAT32, sizes, threads
    )
    if status is not None:
        complain(status, lambda b: _search_again(algorithm, scores, found, b, int(sizes[b])))
    return found


def _call(
    algorithm: int,
    scores: Scores,
    kind: np.dtype[Any],
    sizes: NDArray[np.int64],
    threads: int | None,
) -> tuple[Decoded, NDArray[np.int64] | None]:
    """The best trees by a kernel for scores of one type; also what it says of the sentences, if any is not done."""
    span, arc, headed = scores
    count, size, _ = (span if arc is None else arc).shape  # type: ignore[union-attr]
    columns, power = _SHAPES[algorithm]
    heads = None if arc is None else np.zeros((count, size), _INT64)
    rows = spans = order = status = None
    if count == 1:  # what a batch needs would take as long as the search of a short sentence
        threads = 1
        if columns:
            rows = np.empty((max(0, 2 * int(sizes[0]) - 1), columns), _INT64)
            spans = [rows]
    else:
        order, threads = plan(sizes, power, threads)
        status = np.empty(count, _INT64)
        if columns:
            ends = list(accumulate((2 * n - 1 if n else 0 for n in sizes.tolist()), initial=0))
            rows = np.empty((ends[-1], columns), _INT64)  # of the whole batch
            spans = [rows[a:b] for a, b in pairwise(ends)]
    values = np.zeros(count)
    failed = kernel("search_float" if kind is _FLOAT32 else "search_double")(
        algorithm,
        None if span is None else pointer(as_array(span, kind)),
        None if arc is None else pointer(as_array(arc, kind)),
        None if headed is None else pointer(as_array(headed, kind)),
        0 if headed is None else headed.ndim == 3,
        pointer(sizes),
        None if heads is None else pointer(heads),
        None if rows is None else pointer(rows),
        pointer(values),
        None if status is None else pointer(status),
        None if order is None else pointer(order),
        count,
        size,
        threads,
    )
    if failed and status is None:
        status = np.array([failed])
    return Decoded(heads, spans, values), status if failed else None


def _search_again(algorithm: int, scores: Scores, found: Decoded, b: int, n: int) -> int:
    """Search a sentence whose scores float32 cannot add up in float64, into its place; or say what is wrong."""
    parts, code = diagnose(scores, b, n)
    if code != DONE:
        return code
    largest = max(
        np.abs(part[np.isfinite(part)]).max(initial=0) for part in parts if part is not None
    )
    if largest < 1e30:
        return FORBIDDEN
    # Sums of doubles near the end of their range overflow as well: divided by a power of two they keep their digits.
    factor = 2.0 ** -np.ceil(np.log2(largest)) if largest > 1e300 else 1.0
    span, arc, headed = (None if part is None else part[None] * factor for part in parts)
    again, status = _call(algorithm, (span, arc, headed), _FLOAT64, np.array([n]), 1)
    if status is not None:
        return int(status[0])
    if found.heads is not None and again.heads is not None:
        found.heads[b, : n + 1] = again.heads[0]
    if found.spans is not None and again.spans is not None:
        found.spans[b][:] = again.spans[0]
    found.scores[b] = again.scores[0] / factor
    return DONE


def diagnose(scores: Scores, b: int, n: int) -> tuple[list[NDArray[np.float64] | None], int]:
    """The scores of one sentence as float64, as large as it is, headed ones packed, 0 in cells that no tree uses; and
    NAN or HUGE if one is.
    """
    arcs = ~np.eye(n + 1, dtype=bool)
    arcs[0] = False
    used = np.triu(np.ones((n + 1, n + 1), bool), 1), arcs, np.arange(n + 1) > 0
    found: list[NDArray[np.float64] | None] = [None, None, None]
    for place, part in enumerate(scores):
        if part is not None:
            own = pack_headed(part[b], n, np.float64) if place == 2 else part[b, : n + 1, : n + 1]
            found[place] = np.where(used[place], own, 0.0).astype(np.float64, copy=False)
    given = [part for part in found if part is not None]
    if any(np.isnan(part).any() for part in given):
        return found, NAN
    return found, HUGE if any(np.isposinf(part).any() for part in given) else DONE


def complain(status: NDArray[np.int64], again: Callable[[int], int] | None = None) -> None:
    """Raise the error of the first sentence that was not done; `again` retries one with huge scores."""
    for b in np.flatnonzero(status).tolist():
        code = int(status[b])
        if again is not None and code in (FORBIDDEN, HUGE):
            code = again(b)
        if code == NO_MEMORY:
            raise MemoryError(f"no memory for the chart of sentence {b} of the batch")
        if code in _WRONG:
            raise ScoreError(f"sentence {b} of the batch has {_WRONG[code]}")


def available_threads() -> int:
    """The number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def plan(
    lengths: NDArray[np.int64], power: int, threads: int | None, worth: float | None = None
) -> tuple[NDArray[np.int32] | None, int]:
    """How many threads are worth starting for searches of O(length**power); if several, the longest first."""
    if threads != 1 and len(lengths) > 1:
        # As measured: up to a hundred words, what is O(n^4) grows with n^3 as well, and takes 28 times as long.
        cost = 28.0 ** (power - 3) * sum((n + 1.0) ** 3 for n in lengths.tolist())
        threads = min(
            threads or available_threads(), len(lengths), 1 + int(cost / (worth or _WORTH_A_THREAD))
        )
        if threads > 1:
            return np.argsort(-lengths, kind="stable").astype(np.int32), threads
    return None, 1


def run_each(
    search: Callable[[int], Result], lengths: NDArray[np.int64], power: int, threads: int | None
) -> list[Result]:
    """`search(sentence)` of every sentence, in some threads: Python's, which save less than those of a kernel."""
    order, threads = plan(lengths, power, threads, 25 * _WORTH_A_THREAD)
    if order is None:
        return [search(b) for b in range(len(lengths))]
    with ThreadPoolExecutor(threads) as pool:
        found = dict(zip(order.tolist(), pool.map(search, order.tolist()), strict=True))
    return [found[b] for b in range(len(lengths))]
