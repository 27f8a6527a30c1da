"""The O(n^5) head-driven search of Zhou & Zhao (2019): the baseline of the speed table and an independent oracle.

It finds what `eisner_satta` finds, by the shortest road from the definition, in float64. Not for parsing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from arcspan.decoding.batch import HUGE, NAN, Decoded, call, check_joint, complain, used_cells
from arcspan.errors import ScoreError


def naive(
    span: ArrayLike,
    arc: ArrayLike,
    lengths: ArrayLike,
    headed: ArrayLike | None = None,
    threads: int | None = None,
) -> Decoded:
    """The best lexicalized tree of every sentence: arguments, result and errors of `eisner_satta`, headed as a cube.

    >>> import numpy as np
    >>> naive(np.zeros((1, 3, 3)), np.ones((1, 3, 3)), [2]).heads.tolist()
    [[0, 0, 1]]
    """
    spans, arcs, sizes, second = check_joint(span, arc, lengths, headed)
    if second is not None and second.ndim != 4:
        size = spans.shape[1]
        raise ScoreError(f"headed must have the shape {[*spans.shape, size]}, not {list(second.shape)}")
    status = np.zeros(len(sizes), np.int64)
    for b, n in enumerate(sizes.tolist()):
        parts = used_cells([spans[b], arcs[b], None if second is None else second[b]], n)
        everything = np.concatenate([part.reshape(-1) for part in parts if part is not None])
        status[b] = NAN if np.isnan(everything).any() else HUGE if np.isposinf(everything).any() else 0
    complain(status)
    scores = [
        None if part is None else np.array(part, np.float64, order="C") for part in (spans, arcs, second)
    ]
    found, failed = call("naive", scores, sizes, threads)
    if failed is not None:
        complain(failed)
    return found
