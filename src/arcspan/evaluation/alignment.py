"""Which words of two files are the same, where both have split the same text in their own way (CoNLL 2018).

Words outside multiword tokens are the same where they have the same characters. Around multiword tokens, whose words
have no characters of their own, the words of the whole stretch that the multiword tokens of both files cover are
aligned by the longest common subsequence of their forms. The stretch is found word by word, as the scorer of the
shared task finds it, so that every pair is the same as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

Span = tuple[int, int]

ROOT = -1  # the head of a root


class RawWord(NamedTuple):
    """A word: the characters of its token, whether that has several words, and what is compared."""

    start: int
    end: int
    multiword: bool
    form: str
    lemma: str
    upos: str
    xpos: str
    features: str  # the universal ones, in order
    relation: str  # without its subtype
    head: int  # position among the words of the file, or ROOT


def align(gold: Sequence[RawWord], predicted: Sequence[RawWord]) -> list[tuple[int, int]]:
    """Pairs of positions (gold, predicted) of the words that are the same, in order."""
    pairs: list[tuple[int, int]] = []
    g = p = 0
    while g < len(gold) and p < len(predicted):
        a, b = gold[g], predicted[p]
        if a.multiword or b.multiword:
            (g, p), (next_g, next_p) = _stretch(gold, predicted, g, p)
            found = _common(
                [word.form for word in gold[g:next_g]], [word.form for word in predicted[p:next_p]]
            )
            pairs += [(g + i, p + j) for i, j in found]
            g, p = next_g, next_p
        elif a[:2] == b[:2]:
            pairs.append((g, p))
            g, p = g + 1, p + 1
        elif a.start <= b.start:
            g += 1
        else:
            p += 1
    return pairs


def _stretch(
    gold: Sequence[RawWord], predicted: Sequence[RawWord], g: int, p: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where the words around multiword tokens begin in both files, and where they end.

    At least one of the words g and p belongs to a multiword token; the other may start before it. The stretch grows
    as long as multiword tokens of either file stick out of it.
    """
    a, b = gold[g], predicted[p]
    end = a.end if a.multiword else b.end
    if a.multiword:
        p += not b.multiword and b.start < a.start
    else:
        g += a.start < b.start
    first = g, p

    def inside(words: Sequence[RawWord], k: int) -> bool:
        return k < len(words) and (words[k].start < end if words[k].multiword else words[k].end <= end)

    while inside(gold, g) or inside(predicted, p):
        if g < len(gold) and (p == len(predicted) or gold[g].start <= predicted[p].start):
            word = gold[g]
            g += 1
        else:
            word = predicted[p]
            p += 1
        if word.multiword:
            end = max(end, word.end)
    return first, (g, p)


def _common(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Positions of the longest common subsequence; of several, the one that skips words of `second` last.

    >>> list(_common(["de", "le", "a"], ["le", "a"]))
    [(1, 0), (2, 1)]
    """
    n, k = len(first), len(second)
    longest = [[0] * (k + 1) for _ in range(n + 1)]  # of first[i:] and second[j:]
    for i in reversed(range(n)):
        for j in reversed(range(k)):
            longest[i][j] = (
                1 + longest[i + 1][j + 1]
                if first[i] == second[j]
                else max(longest[i + 1][j], longest[i][j + 1])
            )
    i = j = 0
    while i < n and j < k:
        if first[i] == second[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif longest[i][j] == longest[i + 1][j]:
            i += 1
        else:
            j += 1
