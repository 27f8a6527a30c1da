# mypy: allow-untyped-defs
"""Scores as factors whose products and sums stay within the range of doubles: what the sums over trees begin with.

- An arc score is taken relative to the best head of its modifier. Every word has one head, so what was subtracted
  adds up to a constant. Likewise the scores of the n-1 wide spans, and of the n-1 hooked spans, relative to the
  greatest of them; a headed score relative to the greatest of its span, which goes to the span's score.
- Every word has a share of the logarithm of the total, and a span is scaled by the shares of its words. Then parts
  combine without any further factor. The shares come from a guess: the best tree by spans alone (CKY), whose splits
  hand its value out to the words.
- 2**TOP is put where a span exceeds its guess most, far enough from what overflows. Doubles reach down to 2**-1022.
  Where the whole comes out far off, the words' shares of that are corrected, and the chart is filled again.

What is lost below that is watched by the least value of the whole chart. Where something that matters may be lost, the
sentence is UNSAFE and computed with logarithms instead (log_sums.py), slower and without limits.
"""

from __future__ import annotations

import math

import numpy as np

from arcspan.decoding.kernels.compile import called, relaxed
from arcspan.decoding.kernels.exponential import exp_negative
from arcspan.decoding.kernels.splits import best_split
from arcspan.decoding.kernels.vectors import WIDTH

# What a kernel says of a sentence; the first four as the searches do.
DONE, NAN, FORBIDDEN, INFINITE, UNSAFE = 0, 1, 2, 3, 4

HUGE = 1e308
TOP = 380.0
# The sum over trees grows by up to 2**3 a word over the best of them, by nothing where that one is certain.
GROWTH = 2.0
SAFE = -960.0
LOG2 = math.log(2.0)
# Scores further below the greatest than this are left to the kernel with logarithms.
DEEP = -600.0
# The logarithm of nothing: far below any sum of scores, far above what doubles cannot hold. Anything below NOTHING is.
ZERO, NOTHING = -1e300, -1e200
# No sum of scores up to here comes near NOTHING.
LARGEST = 1e150

_u = np.uint64


@called
def look(span, arc, headed, first, b, n):
    """DONE where every score that the search reads is a number up to LARGEST or -inf, and whether some are -inf.

    Each kind of scores may be None; headed[b, first[i] + j] is the row of span (i, j).
    """
    nan, infinite, masks = 0, 0, 0
    for i in range(n + 1):
        for j in range(n + 1):
            if span is not None and i < j:
                nan += np.isnan(span[b, i, j])
                infinite += span[b, i, j] > LARGEST
                masks += span[b, i, j] == -np.inf
            if arc is not None and i > 0 and i != j:
                nan += np.isnan(arc[b, i, j])
                infinite += arc[b, i, j] > LARGEST
                masks += arc[b, i, j] == -np.inf
            if headed is not None and i < j:
                row = headed[b, first[i] + j]
                for h in range(_u(1), _u(n + 1)):
                    nan += np.isnan(row[h])
                    infinite += row[h] > LARGEST
                    masks += row[h] == -np.inf
    return (NAN if nan else INFINITE if infinite else DONE), masks > 0


@relaxed
def greatest(source, begin, end, least):
    """The greatest of source[begin:end] and `least`."""
    best = least
    for h in range(_u(begin), _u(end)):
        best = max(best, np.float64(source[h]))
    return best


@relaxed
def depth(source, begin, end, shift):
    """How far the least score that is not -inf lies below `shift`: at most zero."""
    least = shift
    for h in range(_u(begin), _u(end)):
        value = np.float64(source[h])
        least = min(least, value if value > -np.inf else shift)
    return least - shift


@relaxed
def exponentials(row, at, source, begin, end, shift):
    """row[at + h] = exp(source[h] - shift), at most one."""
    offset = _u(at)
    for h in range(_u(begin), _u(end)):
        row[offset + h] = exp_negative(min(source[h] - shift, 0.0))


@relaxed
def prepare_arcs(arc, b, n, stride, attach, turned, root):
    """Exponentials of the arc scores relative to the best head of each word: attach[m, h], turned[h, m], root[m].

    Returns the sum of what was subtracted, and the least difference.
    """
    total = 0.0
    deepest = 0.0
    for m in range(1, n + 1):
        scores = arc[b, m]
        best = greatest(scores, m + 1, n + 1, greatest(scores, 0, m, -np.inf))
        if best == -np.inf:
            return -np.inf, 0.0
        total += best
        exponentials(attach, m * stride, scores, 0, n + 1, best)
        deepest = min(deepest, depth(scores, 0, m, best), depth(scores, m + 1, n + 1, best))
        root[m] = attach[m * stride]
        attach[m * stride] = 0.0
        attach[m * stride + m] = 0.0
        for h in range(n + 1):
            turned[h * stride + m] = attach[m * stride + h]
    return total, deepest


@relaxed
def prepare_headed(headed, first, b, n, shift, hook):
    """The greatest headed and hooked score of every span, into shift and hook [i, j]; returns the greatest of hook."""
    best = 0.0 if n == 1 else -np.inf
    for i in range(n):
        for j in range(i + 1, n + 1):
            scores = headed[b, first[i] + j]
            shift[i, j] = greatest(scores, i + 1, j + 1, -np.inf)
            hook[i, j] = hook[j, i] = greatest(scores, j + 1, n + 1, greatest(scores, 1, i + 1, -np.inf))
            best = max(best, hook[i, j])
    return best


@relaxed
def prepare_spans(span, b, n, shift, hook, hook_shift, leaf, factor):
    """The scales. leaf[j] is the value of the span of word j, factor[i, j] goes to every wide span: 2**-height at most.

    Returns what happened, the height, the logarithm of what the value of the whole sentence is to be multiplied with,
    and the least difference of a score from the greatest.
    """
    size = n + 1
    best = 0.0 if n == 1 else -np.inf
    for i in range(n):
        for j in range(i + 2, size):
            best = max(best, span[b, i, j] + shift[i, j])
    # guess[i, j]: the best binary tree, where each split adds the greatest hooked score of the part that may become the
    # modifier, and GROWTH for the number of trees; guess[j, i] is a copy, to be read along memory. Flat arrays with
    # eight numbers to spare, as `sums` wants them.
    flat = np.empty(size * size + WIDTH)
    guess = flat[: size * size].reshape((size, size))
    hooks = np.zeros(size * size + WIDTH)
    for i in range(size):
        hooks[i * size : (i + 1) * size] = hook[i]
    deepest = 0.0
    for w in range(1, size):
        for i in range(size - w):
            j = i + w
            score = span[b, i, j] + shift[i, j]
            if w > 1:
                score -= best
                if -np.inf < score < DEEP:
                    return UNSAFE, 0.0, 0.0, 0.0
                deepest = min(deepest, score if score > -np.inf else 0.0)
                factor[i, j] = exp_negative(score)
                score += GROWTH * LOG2 - hook_shift
                at, bt = i * size + i + 1, j * size + i + 1
                score += best_split(flat, at, flat, bt, hooks, hooks, w - 1, 2.0 * ZERO)
            guess[i, j] = guess[j, i] = max(score, ZERO) if score > NOTHING else ZERO
    if guess[0, n] < NOTHING:
        return FORBIDDEN, 0.0, 0.0, 0.0

    # Hand it out: what a split adds goes to the word before it.
    extra = np.zeros(size)
    stack = np.empty((size, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    top = 1
    while top > 0:
        top -= 1
        i, j = stack[top, 0], stack[top, 1]
        if j - i > 1:
            split, found = i + 1, -np.inf
            for k in range(i + 1, j):
                if guess[i, k] + guess[j, k] > found:
                    split, found = k, guess[i, k] + guess[j, k]
            extra[split] = guess[i, j] - found
            stack[top, 0], stack[top, 1] = i, split
            stack[top + 1, 0], stack[top + 1, 1] = split, j
            top += 2
    shares = np.zeros(size)
    for j in range(1, size):
        shares[j] = shares[j - 1] + guess[j - 1, j] + extra[j]
    excess = 0.0
    for i in range(n):
        for j in range(i + 1, size):
            excess = max(excess, guess[i, j] - (shares[j] - shares[i]))
    if excess > 2.0 * TOP * LOG2:
        return UNSAFE, 0.0, 0.0, 0.0
    height = math.floor(TOP - excess / LOG2)
    for j in range(1, size):
        value = height * LOG2 - extra[j]
        if value < -TOP * LOG2:
            return UNSAFE, 0.0, 0.0, 0.0
        leaf[j] = math.exp(value)
    factor *= 2.0**-height
    return DONE, height, shares[n] - height * LOG2 + best * (n - 1), deepest
