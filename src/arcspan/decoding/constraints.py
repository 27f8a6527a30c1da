"""Turn constraints on a sentence's trees into masks over its scores.

Every constraint forbids parts, and a forbidden part scores -inf: then the search, the marginals and
the k best all obey without knowing. A required span (i, j) forbids the spans that cross it; a
binary tree without any of those contains (i, j), since the smallest span around it cannot split
inside it. A required arc forbids the other heads of its modifier. That (i, j) has the head h
forbids arcs from its other words to words outside. Only "if (i, j) is there, its head is not h"
takes a mask over headed spans, hence the second-order search.

These are constraints on binary lexicalized trees. A span that the constituency tree does not show,
because binarization made it, is a span here: a caller who lets labels vanish forbids labels rather
than spans.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcspan.decoding.inference import log_partition
from arcspan.errors import ScoreError

# Searches for the contradicting constraints: up to 40 words, and at least in longer sentences.
SEARCHES = 64
LEAST_SEARCHES = 12
# Contradicting constraints that an error names.
NAMED = 12


@dataclass(frozen=True)
class SpanConstraint:
    """A constraint that the words i+1..j are a constituent."""

    i: int
    j: int

    def __str__(self) -> str:
        return f"span ({self.i}, {self.j})"


@dataclass(frozen=True)
class ArcConstraint:
    """A constraint that the head of the word `modifier` is the word `head`; 0 makes it the root."""

    head: int
    modifier: int

    def __str__(self) -> str:
        return f"root {self.modifier}" if self.head == 0 else f"arc ({self.head}, {self.modifier})"


@dataclass(frozen=True)
class HeadConstraint:
    """A constraint that the words i+1..j are a constituent whose head is the word `head`."""

    i: int
    j: int
    head: int

    def __str__(self) -> str:
        return f"head {self.head} of span ({self.i}, {self.j})"


def Root(word: int) -> ArcConstraint:
    """Return the constraint that the word is the root of the dependency tree.

    >>> str(Root(2))
    'root 2'
    """
    return ArcConstraint(0, word)


TreeConstraint: TypeAlias = SpanConstraint | ArcConstraint | HeadConstraint


class Masks(NamedTuple):
    """Numbers to add to the scores of a sentence: 0 for allowed parts, -inf for the others.

    span    [n+1, n+1]
    arc     [n+1, n+1] as arc[modifier, head]
    headed  [n+1, n+1, n+1]; None where it would be all zeros
    """

    span: NDArray[np.float32]
    arc: NDArray[np.float32]
    headed: NDArray[np.float32] | None

    def apply(self, span: Any, arc: Any, headed: Any = None) -> tuple[Any, Any, Any]:
        """Return the scores of one or several sentences of this length under the masks.

        None stays None, but for headed scores where a mask needs a cube.

        headed   [..., n+1, n+1, n+1] or packed [..., pairs, n+1]

        >>> masks = constrain(2, require=[Root(1)])
        >>> span, arc, headed = masks.apply(np.zeros((3, 3)), np.zeros((3, 3)))
        >>> arc[2].tolist(), headed
        ([-inf, 0.0, 0.0], None)
        """
        size = len(self.span)
        # Cells that belong to no tree may hold anything, plus infinity too.
        with np.errstate(invalid="ignore"):
            if self.headed is not None and headed is not None:
                packed = headed.ndim == span.ndim
                headed = headed + (self.headed[np.triu_indices(size, 1)] if packed else self.headed)
            elif self.headed is not None and span is not None:
                headed = np.broadcast_to(self.headed, (*span.shape[:-2], size, size, size))
            return (
                None if span is None else span + self.span,
                None if arc is None else arc + self.arc,
                headed,
            )


def constrain(
    n: int, require: Iterable[TreeConstraint] = (), forbid: Iterable[TreeConstraint] = ()
) -> Masks:
    """Return the masks that leave exactly the trees of n words that meet every constraint.

    To require `Head` is to require the span as well; to forbid it forbids the span only with that
    head. Constraints that no tree meets are an error that names a smallest set of them that
    contradict each other.

    >>> masks = constrain(3, require=[SpanConstraint(1, 3)])
    >>> bool(masks.span[0, 2] == -np.inf)
    True
    >>> constrain(3, require=[SpanConstraint(1, 3), SpanConstraint(0, 2)])
    Traceback (most recent call last):
    arcspan.errors.ScoreError: required span (1, 3) and required span (0, 2) cross each other
    """
    # A dict drops repetitions and keeps the order.
    demands = [_SignedConstraint(True, constraint) for constraint in dict.fromkeys(require)]
    demands += [_SignedConstraint(False, constraint) for constraint in dict.fromkeys(forbid)]
    for demand in demands:
        check_range(n, demand.constraint, demand)
    masks = _masks(n, demands)
    if demands and not _possible(n, masks):
        raise ScoreError(_explain(_smallest_conflict(n, demands), n))
    return masks


class _SignedConstraint(NamedTuple):
    """A constraint that is either required or forbidden."""

    required: bool
    constraint: TreeConstraint

    def __str__(self) -> str:
        return f"{'required' if self.required else 'forbidden'} {self.constraint}"


_Demands: TypeAlias = list[_SignedConstraint]


def check_range(n: int, constraint: TreeConstraint, name: object) -> None:
    """Raise ScoreError, with the constraint's name, if no sentence of n words has such a part."""
    if isinstance(constraint, ArcConstraint):
        if not (0 <= constraint.head <= n and 1 <= constraint.modifier <= n):
            raise ScoreError(
                f"{name}: a sentence of {n} words has the words 1 to {n}, and 0 is the root"
            )
        if constraint.head == constraint.modifier:
            raise ScoreError(f"{name}: a word cannot be its own head")
        return
    if not isinstance(constraint, SpanConstraint | HeadConstraint):
        raise ScoreError(f"a constraint is a Span, an Arc or a Head, not {constraint!r}")
    i, j = constraint.i, constraint.j
    if not 0 <= i < j <= n:
        raise ScoreError(f"{name}: a span (i, j) of {n} words has 0 <= i < j <= {n}")
    if isinstance(constraint, HeadConstraint) and not i < constraint.head <= j:
        raise ScoreError(f"{name}: the head of a span is one of its words {i + 1} to {j}")


def _masks(n: int, demands: Sequence[_SignedConstraint]) -> Masks:
    """Return the masks of constraints that are each possible."""
    span, arc = np.zeros((2, n + 1, n + 1), np.float32)
    headed = None
    for required, constraint in demands:
        if isinstance(constraint, ArcConstraint):
            _mask_arc(arc, constraint, required)
            continue
        i, j = constraint.i, constraint.j
        if required:
            # (a, b) crosses (i, j): a < i < b < j or i < a < j < b.
            span[:i, i + 1 : j] = -np.inf
            span[i + 1 : j, j + 1 :] = -np.inf
        elif isinstance(constraint, SpanConstraint):
            span[i, j] = -np.inf
        if isinstance(constraint, HeadConstraint):
            if required:
                others = [m for m in range(i + 1, j + 1) if m != constraint.head]
                arc[others, : i + 1] = -np.inf
                arc[others, j + 1 :] = -np.inf
            else:
                # Only such constraints make the search second order.
                if headed is None:
                    headed = np.zeros((n + 1, n + 1, n + 1), np.float32)
                headed[i, j, constraint.head] = -np.inf
    return Masks(span, arc, headed)


def _mask_arc(arc: NDArray[np.float32], constraint: ArcConstraint, required: bool) -> None:
    """Add a required or forbidden arc to the mask of arcs."""
    h, m = constraint.head, constraint.modifier
    if not required:
        arc[m, h] = -np.inf
        return
    arc[m, :h] = -np.inf
    arc[m, h + 1 :] = -np.inf
    if h == 0:
        # There is one root: no other word attaches to 0.
        arc[:m, 0] = -np.inf
        arc[m + 1 :, 0] = -np.inf


def _possible(n: int, masks: Masks) -> bool:
    """Return whether any tree is left."""
    if n == 0:
        return True
    headed = None if masks.headed is None else masks.headed[None]
    try:
        log_partition(masks.span[None], masks.arc[None], [n], headed, threads=1)
    except ScoreError:
        return False
    return True


def _smallest_conflict(n: int, demands: _Demands) -> _Demands:
    """Return, of constraints that no tree meets, a small set that no tree meets either.

    By halves (Junker 2004, QuickXplain): a few contradicting constraints among many take a few
    searches, and the set is minimal. Hundreds that only contradict each other all together would
    take as many searches: at the limit the remaining ones are kept, so that the time is bounded and
    the set may be too large.
    """
    # A search of n words takes a time of O(n^3) or more.
    searches = max(LEAST_SEARCHES, int(SEARCHES * min(1.0, (40 / n) ** 3)))

    def needed(background: _Demands, changed: bool, demands: _Demands) -> _Demands:
        """Return those of the demands that contradict the background."""
        nonlocal searches
        if changed:
            if searches == 0:
                return demands
            searches -= 1
            if not _possible(n, _masks(n, background)):
                return []
        if len(demands) == 1:
            return demands
        half = len(demands) // 2
        first = demands[:half]
        later = needed([*background, *first], True, demands[half:])
        return needed([*background, *later], bool(later), first) + later

    return needed([], False, demands)


def _explain(conflict: _Demands, n: int) -> str:
    """Return a sentence that names contradicting constraints, and the reason where it is a usual
    one.
    """
    texts = [str(demand) for demand in conflict[:NAMED]]
    if len(conflict) > NAMED:
        texts.append(f"{len(conflict) - NAMED} more")
    if len(texts) == 1:
        return f"{texts[0]} leaves a sentence of {n} words without a tree"
    names = f"{', '.join(texts[:-1])} and {texts[-1]}"
    constraints = [demand.constraint for demand in conflict]
    is_pair = len(conflict) == 2
    if is_pair and constraints[0] == constraints[1]:
        text = str(constraints[0])
        return f"{text[0].upper()}{text[1:]} is both required and forbidden"
    reason = ""
    if all(demand.required for demand in conflict):
        reason = _two_heads(constraints)
        if not reason and is_pair:
            first, second = constraints
            clash = _clash(first, second) or _clash(second, first)
            if clash and not clash.startswith(":"):
                return f"{names} {clash}"
            reason = clash
    number = "both" if is_pair else "all"
    return f"{names} cannot {number} hold{reason or f': no tree of {n} words meets them'}"


def _two_heads(constraints: list[TreeConstraint]) -> str:
    """Return a text if a span would have two heads.

    A word of the span that attaches outside is its head, and so is one to which words outside
    attach.
    """
    for span in constraints:
        if isinstance(span, ArcConstraint):
            continue
        i, j = span.i, span.j
        heads = set()
        for other in constraints:
            if isinstance(other, ArcConstraint):
                head_inside = i < other.head <= j
                if head_inside != (i < other.modifier <= j):
                    heads.add(other.head if head_inside else other.modifier)
            elif isinstance(other, HeadConstraint) and (other.i, other.j) == (i, j):
                heads.add(other.head)
        if len(heads) > 1:
            first, second, *_ = sorted(heads)
            return (
                f": span ({i}, {j}) would have two heads, words {first} and {second}, since only its "
                "head attaches to a word outside, and words outside attach only to its head"
            )
    return ""


def _clash(a: TreeConstraint, b: TreeConstraint) -> str:
    """Return the reason why two required constraints contradict each other, if it has a name.

    A text that begins with a colon follows "cannot both hold".
    """
    if isinstance(a, ArcConstraint):
        return _arcs_clash(a, b) if isinstance(b, ArcConstraint) else ""
    if isinstance(b, ArcConstraint):
        if isinstance(a, HeadConstraint) and b.modifier == a.head and a.i < b.head <= a.j:
            return f": the head of span ({a.i}, {a.j}) has its own head outside"
        if isinstance(a, HeadConstraint) and _between(a.head, b):
            return f": the arc would pass over the head of span ({a.i}, {a.j})"
        return ""
    if _cross(a.i, a.j, b.i, b.j):
        return "cross each other"
    contains = b.i <= a.i and a.j <= b.j
    if (
        contains
        and isinstance(a, HeadConstraint)
        and isinstance(b, HeadConstraint)
        and a.i < b.head <= a.j
    ):
        return f": word {b.head} heads the larger span, so the smaller one too"
    return ""


def _arcs_clash(a: ArcConstraint, b: ArcConstraint) -> str:
    """Return the reason why two required arcs contradict each other."""
    if a.modifier == b.modifier:
        return f"give word {a.modifier} two heads"
    if a.head == b.head == 0:
        return "make two roots"
    if (a.head, a.modifier) == (b.modifier, b.head):
        return "make a circle"
    i, j = sorted((a.head, a.modifier))
    k, m = sorted((b.head, b.modifier))
    # Nothing passes over the root of the sentence.
    if _cross(i, j, k, m) or (a.head == 0 and _between(a.modifier, b)):
        return "cross each other"
    if a.head == b.modifier and i < b.head < j:
        return f": {a} would pass over word {b.head}, which is above it"
    return ""


def _cross(i: int, j: int, k: int, m: int) -> bool:
    """Return whether (i, j) and (k, m) overlap, neither inside the other."""
    return i < k < j < m or k < i < m < j


def _between(word: int, arc: ArcConstraint) -> bool:
    """Return whether an arc passes over a word."""
    return min(arc.head, arc.modifier) < word < max(arc.head, arc.modifier)


def __getattr__(name: str) -> Any:
    if name not in ("Span", "Arc", "Head"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"{__name__}.{name} is called {name}Constraint now; the old name will go in 0.4",
        DeprecationWarning,
        stacklevel=2,
    )
    return globals()[f"{name}Constraint"]
