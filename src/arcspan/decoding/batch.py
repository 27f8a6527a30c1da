"""What every search shares: the shape of a batch, the result, and how the kernels are called.

A kernel computes sentence after sentence with the GIL released, in threads of its own. One thread computes a sentence
whole, so the result cannot depend on their number.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.native import kernel, pointer
from arcspan.errors import ScoreError

# What a kernel says of a sentence, as in native/common.h; of NaN a search says HUGE: telling them apart is left to
# `complain`.
DONE, NAN, FORBIDDEN, HUGE, _, NO_MEMORY = range(6)

# Below this many elementary steps (about 100 microseconds) starting another thread costs more than it saves.
_WORTH_A_THREAD = 4_000_000.0


_FLOAT32, _INT64 = np.dtype(np.float32), np.dtype(np.int64)

# Of each search: the columns of its spans, none without them; the power of n that its time grows with.
_KERNELS = {
    f"{name}_best_{kind}": shape
    for name, shape in {"cky": (2, 3), "eisner": (0, 3), "eisner_satta": (3, 4)}.items()
    for kind in ("float", "double")
} | {"naive": (3, 5)}


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


def check_count(value: Any, name: str) -> None:
    """Refuse what is not a whole number of at least 1."""
    if type(value) is int and value >= 1:
        return
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < 1:
        raise ScoreError(f"{name} must be a whole number of at least 1, not {value!r}")


def check_lengths(lengths: ArrayLike, shape: tuple[int, ...], name: str) -> NDArray[np.int64]:
    """The lengths as an array, after checking that scores of this shape, [B, n+1, n+1], have room for them."""
    found = as_scores(lengths, "lengths")
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise ScoreError(
            f"lengths must be one whole number per sentence, not {found.dtype} of shape {found.shape}"
        )
    if len(shape) != 3 or shape[1] != shape[2] or shape[0] != found.shape[0]:
        raise ScoreError(
            f"{name} must have the shape [B, n+1, n+1] with B = {found.shape[0]}, not {list(shape)}"
        )
    numbers = found.tolist()
    if numbers and not 0 <= min(numbers) <= max(numbers) < max(shape[1], 1):
        raise ScoreError(f"lengths must be between 0 and {shape[1] - 1} for {name} of shape {list(shape)}")
    return as_array(found, _INT64)


def check_joint(
    span: ArrayLike, arc: ArrayLike, lengths: ArrayLike, headed: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64], NDArray[Any] | None]:
    """The scores and lengths of a joint search as arrays that fit each other."""
    spans, arcs = as_scores(span, "span"), as_scores(arc, "arc")
    sizes = check_lengths(lengths, spans.shape, "span")
    if arcs.shape != spans.shape:
        raise ScoreError(f"arc must have the shape of span, {list(spans.shape)}, not {list(arcs.shape)}")
    return spans, arcs, sizes, None if headed is None else check_headed(headed, spans.shape)


def as_array(scores: NDArray[Any], kind: Any) -> NDArray[Any]:
    """The array itself where it is of that type, C-ordered and writeable, as kernels want it, else a copy."""
    if (scores.dtype is kind or scores.dtype == kind) and scores.flags.carray:
        return scores
    with np.errstate(over="ignore"):
        return np.array(scores, kind, order="C")


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


def search(
    name: str, scores: Sequence[NDArray[Any] | None], sizes: NDArray[np.int64], threads: int | None
) -> Decoded:
    """The best trees by the kernel of that name, from its scores as arrays of any type: [B, n+1, n+1], headed last."""
    fitting = [None if part is None else as_array(part, _FLOAT32) for part in scores]
    found, status = call(name + "_best_float", fitting, sizes, threads)
    if status is not None:
        complain(status, lambda b: _search_again(name, scores, found, b, int(sizes[b])))
    return found


def call(
    name: str, scores: Sequence[NDArray[Any] | None], sizes: NDArray[np.int64], threads: int | None
) -> tuple[Decoded, NDArray[np.int64] | None]:
    """The best trees by a kernel, from scores of its type; also what it says of the sentences, if any is not done."""
    count, size, _ = scores[0].shape  # type: ignore[union-attr]
    columns, power = _KERNELS[name]
    rows = spans = order = status = None
    heads = None if columns == 2 else np.zeros((count, size), _INT64)
    if columns:
        rows, spans = _span_rows(sizes.tolist(), columns)
    if count == 1:
        if threads is not None:
            check_count(threads, "threads")
        threads = 1
    else:
        status = np.empty(count, _INT64)
        order, threads = plan(sizes, power, threads)
    values = np.zeros(count)
    inputs = [None if part is None else pointer(part) for part in scores]
    if power == 4:
        inputs.append(int(scores[2] is not None and scores[2].ndim == 3))
    failed = kernel(name)(
        *inputs,
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


def _span_rows(lengths: list[int], columns: int) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """One array for the spans of the whole batch, and each sentence's part of it."""
    if len(lengths) == 1:
        rows = np.empty((max(2 * lengths[0] - 1, 0), columns), _INT64)
        return rows, [rows]
    ends = list(itertools.accumulate((max(2 * n - 1, 0) for n in lengths), initial=0))
    rows = np.empty((ends[-1], columns), _INT64)
    return rows, [rows[a:b] for a, b in itertools.pairwise(ends)]


def _search_again(name: str, scores: Sequence[NDArray[Any] | None], found: Decoded, b: int, n: int) -> int:
    """Search a sentence whose scores float32 cannot add up in float64, into its place; or say what is wrong."""
    parts = used_cells([None if part is None else part[b] for part in scores], n, name == "eisner")
    given = [part for part in parts if part is not None]
    if any(np.isnan(part).any() for part in given):
        return NAN
    if any(np.isposinf(part).any() for part in given):
        return HUGE
    largest = max(
        float(np.abs(part, where=np.isfinite(part), out=np.zeros_like(part)).max()) for part in given
    )
    if largest < 1e30:
        return FORBIDDEN
    # Sums of doubles near the end of their range overflow as well: divided by a power of two they keep their digits.
    factor = 2.0 ** -np.ceil(np.log2(largest)) if largest > 1e300 else 1.0
    small = [None if part is None else part[None] * factor for part in parts]
    again, status = call(name + "_best_double", small, np.array([n]), 1)
    if status is not None:
        return int(status[0])
    if found.heads is not None and again.heads is not None:
        found.heads[b, : n + 1] = again.heads[0]
    if found.spans is not None and again.spans is not None:
        found.spans[b][:] = again.spans[0]
    found.scores[b] = again.scores[0] / factor
    return DONE


def used_cells(
    parts: Sequence[NDArray[Any] | None], n: int, arcs_first: bool = False
) -> list[NDArray[np.float64] | None]:
    """The scores of one sentence (span, arc, headed, or arc alone) as float64, as large as it is, headed ones packed,
    with 0 in every cell that no tree uses.
    """
    span, arc, headed = (None, *parts, None) if arcs_first else (*parts, None, None)[:3]
    arcs = ~np.eye(n + 1, dtype=bool)
    arcs[0] = False
    words = np.arange(n + 1) > 0
    found = [
        None if span is None else np.triu(span[: n + 1, : n + 1].astype(np.float64), 1),
        None if arc is None else np.where(arcs, arc[: n + 1, : n + 1].astype(np.float64), 0.0),
        None if headed is None else np.where(words, pack_headed(headed, n, np.float64), 0.0),
    ]
    return found[1:2] if arcs_first else found[: len(parts)]


def complain(status: NDArray[np.int64], again: Callable[[int], int] | None = None) -> None:
    """Raise the error of the first sentence that was not done; `again` retries one with huge scores."""
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
        if code == NO_MEMORY:
            raise MemoryError(f"no memory for the chart of sentence {b} of the batch")


def available_threads() -> int:
    """The number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def plan(lengths: NDArray[np.int64], power: int, threads: int | None) -> tuple[NDArray[np.int32] | None, int]:
    """How many threads are worth starting where a sentence costs length**power; if several, the longest first."""
    if threads is not None:
        check_count(threads, "threads")
    if len(lengths) > 1 and threads != 1:
        cost = sum((n + 1.0) ** power for n in lengths.tolist())
        threads = min(threads or available_threads(), len(lengths), 1 + int(cost / _WORTH_A_THREAD))
        if threads > 1:
            return np.argsort(-lengths, kind="stable").astype(np.int32), threads
    return None, 1


def run_each(
    search: Callable[[int], object], lengths: NDArray[np.int64], power: int, threads: int | None
) -> None:
    """Call `search(sentence)` on every sentence, in some threads."""
    order, threads = plan(lengths, power, threads)
    if order is None:
        for b in range(len(lengths)):
            search(b)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(search, order.tolist()))
