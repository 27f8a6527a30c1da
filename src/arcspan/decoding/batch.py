"""Check the scores of a batch, call the search kernels, and share a batch among threads.

Used by every search and sum of this subpackage. A kernel computes one sentence after the other with
the GIL released, in threads of its own. One thread computes a whole sentence, so the result cannot
depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arcspan.decoding.native import Status, kernel, pointer
from arcspan.errors import ScoreError, check_count

_MESSAGES = {
    Status.FORBIDDEN: "no tree: its scores forbid (-inf) every one",
    Status.TOO_LARGE: "a score of plus infinity, or too large to add up",
    Status.NOT_A_NUMBER: "a score that is NaN",
}

# The searches, numbered as in native/kernels.c.
CKY, EISNER, EISNER_SATTA, NAIVE = range(4)
# By search: the columns of its spans, 0 for none; the power of n that its time grows with.
_COLUMNS = (2, 0, 3, 3)
_POWERS = (3, 3, 4, 5)

# Below this much work (about 70 microseconds) starting another thread costs more than it saves.
_WORTH_A_THREAD = 4_000_000.0

# dtype objects and not types: `is` with one of them is the fastest check of an array's type.
_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_INT64 = np.dtype(np.int64)

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Array: TypeAlias = NDArray[Any]
Values: TypeAlias = ArrayLike | None
# The scores of spans, of arcs, and of headed spans: None where there are none.
ScoreArrays: TypeAlias = tuple[Array | None, Array | None, Array | None]
Result = TypeVar("Result")


class Decoded(NamedTuple):
    """The best structure of every sentence of a batch.

    heads   int64 [B, n+1]: heads[b, m] is the head of word m (0 = root); column 0 and padding are
            0. None from `cky`.
    spans   one int64 array per sentence, its 2n-1 spans in pre-order, rows (i, j, head);
            rows (i, j) from `cky`; None from `eisner`.
    scores  float64 [B]: the score of each best structure.
    """

    heads: Ints | None
    spans: list[Ints] | None
    scores: Floats


def as_scores(values: ArrayLike, name: str) -> Array:
    """Return scores as an array of real numbers."""
    try:
        scores = np.asarray(values)
    except ValueError:
        raise ScoreError(f"{name} must be an array of numbers: its rows differ in length") from None
    if scores.dtype.kind not in "fiub":
        raise ScoreError(f"{name} must be an array of real numbers, not of {scores.dtype}")
    return scores


def check(
    span: Values,
    arc: Values,
    lengths: Values,
    headed: Values,
    threads: int | None = None,
    *,
    joint: bool = False,
) -> tuple[ScoreArrays, Ints]:
    """Return the scores and the lengths of a batch as arrays of matching shapes.

    joint: span and arc scores must both be there.
    """
    if threads is not None:
        check_count("threads", threads, ScoreError)
    if lengths is None or (span is None and arc is None):
        raise ScoreError("lengths are needed, and span scores, arc scores or both")
    if (joint or headed is not None) and (span is None or arc is None):
        raise ScoreError("headed spans and lexicalized trees need both span and arc scores")
    spans = None if span is None else as_scores(span, "span")
    arcs = None if arc is None else as_scores(arc, "arc")
    parts = None if headed is None else as_scores(headed, "headed")
    sizes = as_scores(lengths, "lengths")
    # An empty list becomes an array of floats.
    if sizes.ndim != 1 or (sizes.dtype.kind not in "iu" and sizes.size):
        raise ScoreError(
            "lengths must be one whole number per sentence, "
            f"not {sizes.dtype} of shape {sizes.shape}"
        )
    check_shapes(spans, arcs, parts, sizes.tolist())
    return (spans, arcs, parts), as_array(sizes, _INT64)


def check_shapes(span: Any, arc: Any, headed: Any, lengths: Sequence[int]) -> None:
    """Refuse scores, arrays or tensors, whose shapes do not fit each other or the lengths.

    At least one of span and arc is not None.
    """
    name, scores = ("arc", arc) if span is None else ("span", span)
    shape = scores.shape
    if len(shape) != 3 or shape[1] != shape[2] or shape[0] != len(lengths):
        raise ScoreError(
            f"{name} must have the shape [B, n+1, n+1] with B = {len(lengths)}, not {list(shape)}"
        )
    if arc is not None and arc.shape != shape:
        raise ScoreError(f"arc must have the shape of span, {list(shape)}, not {list(arc.shape)}")
    # Scores without any position hold a sentence of length 0.
    if lengths and (min(lengths) < 0 or max(lengths) >= (shape[1] or 1)):
        raise ScoreError(
            f"lengths must be between 0 and {shape[1] - 1} for {name} of shape {list(shape)}"
        )
    if headed is not None:
        check_headed(headed, shape)


def check_headed(headed: Any, shape: tuple[int, ...]) -> None:
    """Refuse second-order scores but a cube [B, n+1, n+1, n+1] or packed ones [B, pairs, n+1]."""
    count, size, _ = shape
    cube = (*shape, size)
    packed = (count, size * (size - 1) // 2, size)
    if headed.shape not in (cube, packed):
        raise ScoreError(
            f"headed must have the shape {list(cube)}, or packed {list(packed)}, "
            f"not {list(headed.shape)}"
        )


def as_array(scores: Array | None, dtype: Any) -> Any:
    """Return the array itself if kernels can read it (type, C order, writeable), else a copy.

    None stays None.
    """
    if scores is None:
        return None
    # Most types are the very object, which is faster to compare.
    if (scores.dtype is dtype or scores.dtype == dtype) and scores.flags.carray:
        return scores
    # Doubles beyond float32 become infinite: the kernel then reports TOO_LARGE.
    with np.errstate(over="ignore"):
        return np.array(scores, dtype, order="C")


def pair_number(size: int, i: Any, j: Any) -> Any:
    """Return the row of the spans (i, j), i < j, in packed second-order scores of `size` positions."""
    return i * (size - 1) - i * (i + 1) // 2 - 1 + j


def pack_headed(headed: Array, n: int, dtype: Any) -> Array:
    """Return the second-order scores of one sentence, a cube or packed in any size, as [pairs,
    n+1].
    """
    if headed.ndim == 2 and headed.shape[1] == n + 1:
        return headed.astype(dtype, copy=False)
    i, j = np.triu_indices(n + 1, 1)
    if headed.ndim == 3:
        return headed[i, j, : n + 1].astype(dtype, copy=False)
    return headed[pair_number(headed.shape[1], i, j), : n + 1].astype(dtype, copy=False)


def pack_cubes(headed: Any) -> Any:
    """Return the second-order scores of a batch, array or tensor, a cube or packed, as [B, pairs,
    n+1].
    """
    if headed.ndim == 3:
        return headed
    i, j = np.triu_indices(headed.shape[1], 1)
    return headed[:, i, j]


def best(
    span: Values,
    arc: Values,
    lengths: Values,
    headed: Values = None,
    threads: int | None = None,
    algorithm: int | None = None,
    double: bool = False,
) -> Decoded:
    """Return the best trees, by the search that fits the scores or by one for lexicalized trees.

    double: search in float64 instead of float32.
    """
    scores, sizes = check(span, arc, lengths, headed, threads, joint=algorithm is not None)
    if algorithm is None:
        if arc is None:
            algorithm = CKY
        else:
            algorithm = EISNER if span is None else EISNER_SATTA
    dtype = _FLOAT64 if double or algorithm == NAIVE else _FLOAT32
    decoded, status = _search(algorithm, scores, dtype, sizes, threads)
    if status is not None:
        complain(status, lambda b: _search_in_double(algorithm, scores, decoded, b, int(sizes[b])))
    return decoded


def _search(
    algorithm: int, scores: ScoreArrays, dtype: np.dtype[Any], sizes: Ints, threads: int | None
) -> tuple[Decoded, Ints | None]:
    """Return the best trees, searched in `dtype`, and every sentence's status unless all are DONE."""
    span, arc, headed = scores
    count, size, _ = (span if arc is None else arc).shape  # type: ignore[union-attr]
    columns = _COLUMNS[algorithm]
    heads = None if arc is None else np.zeros((count, size), _INT64)
    rows = spans = order = status = None
    if count == 1:
        # Preparing a batch would take as long as the search of a short sentence.
        threads = 1
        if columns:
            rows = np.empty((max(0, 2 * int(sizes[0]) - 1), columns), _INT64)
            spans = [rows]
    else:
        order, threads = plan(sizes, _POWERS[algorithm], threads)
        status = np.empty(count, _INT64)
        if columns:
            # The sentences' spans lie one after the other in one array.
            ends = list(accumulate((2 * n - 1 if n else 0 for n in sizes.tolist()), initial=0))
            rows = np.empty((ends[-1], columns), _INT64)
            spans = [rows[begin:end] for begin, end in pairwise(ends)]
    values = np.zeros(count)
    is_cube = headed is not None and headed.ndim == 4
    # Each argument by itself: for a short sentence a loop would take as long as the search.
    failed = kernel("search_float" if dtype is _FLOAT32 else "search_double")(
        algorithm,
        None if span is None else pointer(as_array(span, dtype)),
        None if arc is None else pointer(as_array(arc, dtype)),
        None if headed is None else pointer(as_array(headed, dtype)),
        not is_cube,
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
        # Without an array the kernel returns the status of its only sentence.
        status = np.array([failed])
    return Decoded(heads, spans, values), status if failed else None


def _search_in_double(algorithm: int, scores: ScoreArrays, decoded: Decoded, b: int, n: int) -> int:
    """Search a sentence that float32 cannot add up in float64, write its tree; return its status."""
    parts, status = diagnose(scores, b, n)
    if status != Status.DONE:
        return status
    largest = max(
        np.abs(part[np.isfinite(part)]).max(initial=0) for part in parts if part is not None
    )
    # Such scores cannot overflow in float32: there is no tree in any type.
    if largest < 1e30:
        return Status.FORBIDDEN
    # Sums of doubles near the end of their range overflow as well: divided by a power of two they
    # keep their digits.
    factor = 2.0 ** -float(np.ceil(np.log2(largest))) if largest > 1e300 else 1.0
    span, arc, headed = (None if part is None else part[None] * factor for part in parts)
    tree, failure = _search(algorithm, (span, arc, headed), _FLOAT64, np.array([n]), 1)
    if failure is not None:
        return int(failure[0])
    score = float(tree.scores[0]) / factor
    # The best tree exists, but its score is beyond float64.
    if np.isinf(score):
        return Status.TOO_LARGE
    if decoded.heads is not None:
        decoded.heads[b, : n + 1] = tree.heads[0]  # type: ignore[index]
    if decoded.spans is not None:
        decoded.spans[b][:] = tree.spans[0]  # type: ignore[index]
    decoded.scores[b] = score
    return Status.DONE


def diagnose(scores: ScoreArrays, b: int, n: int) -> tuple[list[Floats | None], Status]:
    """Return one sentence's scores as float64, cut to its size, and the status that they alone
    give.

    Headed scores are packed; cells that no tree uses are 0.
    """
    column = np.arange(n + 1)
    row = column[:, None]
    # Cells of spans [i, j], of arcs [m, h], and of heads [h] in each row of headed scores.
    used_cells = (row < column, (row > 0) & (row != column), column > 0)
    parts: list[Floats | None] = [None, None, None]
    status = Status.DONE
    for layer, (values, used) in enumerate(zip(scores, used_cells, strict=True)):
        if values is None:
            continue
        cut = values[b, : n + 1, : n + 1]
        if used.ndim == 1:
            cut = pack_headed(values[b], n, _FLOAT64)
        part = np.where(used, cut, 0.0).astype(_FLOAT64, copy=False)
        parts[layer] = part
        if np.isnan(part).any():
            return parts, Status.NOT_A_NUMBER
        if np.isposinf(part).any():
            status = Status.TOO_LARGE
    return parts, status


def complain(status: Ints, search_again: Callable[[int], int] | None = None) -> None:
    """Raise the error of the first sentence that failed, unless `search_again` finds its tree."""
    for b in np.flatnonzero(status).tolist():
        code = int(status[b])
        if search_again is not None and code in (Status.FORBIDDEN, Status.TOO_LARGE):
            code = search_again(b)
        if code == Status.NO_MEMORY:
            raise MemoryError(f"no memory for the chart of sentence {b} of the batch")
        if code in _MESSAGES:
            raise ScoreError(f"sentence {b} of the batch has {_MESSAGES[Status(code)]}")


def available_threads() -> int:
    """Return the number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        # Only Linux can restrict a process to some processors.
        return os.cpu_count() or 1


def plan(
    lengths: Ints, power: int, threads: int | None, worth: float | None = None
) -> tuple[NDArray[np.int32] | None, int]:
    """Return how many threads are worth starting for searches in O(length**power), and an order.

    With several threads the longest sentences come first, so that none is left to the end;
    otherwise the order is None.
    """
    if threads != 1 and len(lengths) > 1:
        # As measured: up to a hundred words, what is O(n^4) grows with n^3 as well, and takes 28
        # times as long.
        cost = 28.0 ** (power - 3) * sum((n + 1.0) ** 3 for n in lengths.tolist())
        worthwhile = 1 + int(cost / (worth or _WORTH_A_THREAD))
        threads = min(threads or available_threads(), len(lengths), worthwhile)
        if threads > 1:
            return np.argsort(-lengths, kind="stable").astype(np.int32), threads
    return None, 1


def run_each(
    search: Callable[[int], Result], lengths: Ints, power: int, threads: int | None
) -> list[Result]:
    """Return `search(b)` for every sentence b, computed in Python's threads."""
    # Python's threads save less than a kernel's: more work must be there for each.
    order, threads = plan(lengths, power, threads, 25 * _WORTH_A_THREAD)
    if order is None:
        return [search(b) for b in range(len(lengths))]
    with ThreadPoolExecutor(threads) as pool:
        results = dict(zip(order.tolist(), pool.map(search, order.tolist()), strict=True))
    return [results[b] for b in range(len(lengths))]
