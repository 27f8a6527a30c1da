"""Estimate the memory that a search of n words needs, for callers who must keep to a limit.

The numbers follow from the charts of `native/`, in terms of m = n + 1 positions. When a chart
changes, compare them with measured ones (`tests/decoding/test_memory.py`).
"""

from __future__ import annotations

# Heads stand in blocks of 8 or 16: a row of a chart is up to so many numbers longer than n + 1.
_PADDING = 16


def memory_needed(
    n: int,
    *,
    spans: bool = True,
    arcs: bool = True,
    headed: bool = False,
    sums: bool = False,
    kbest: bool = False,
) -> int:
    """Return the bytes for one sentence of n words at the peak, its float32 scores included.

    spans, arcs, headed   which scores there are; headed ones packed [pairs, n+1], or 2 (n+1)^3
                          bytes more for a cube
    sums                  `marginals`, `log_partition` or `minimum_bayes_risk`, not only the best
                          tree
    kbest                 the k best trees, for a few hundred of them

    >>> memory_needed(40, headed=True) < memory_needed(40, headed=True, sums=True) < 4_000_000
    True
    """
    m = n + 1
    if not (spans and arcs):
        return (100 if sums else 40) * m**2
    packed = 2 * m**3 if headed else 0
    scores = 8 * m**2 + packed
    half_chart = m**2 * (m + _PADDING) // 2
    needed = scores + 4 * half_chart
    if sums:
        # Charts of doubles (inside, outside, exponentials of headed scores), and scores divided by
        # a temperature.
        needed += (3 if headed else 2) * 8 * half_chart + packed
    if kbest:
        # A chart of doubles, indices of items in the pool, headed scores as doubles, twice; the
        # pool.
        needed = max(needed, scores + 8 * half_chart + 4 * m**3 + 4 * packed + 500 * m**2)
    return needed
