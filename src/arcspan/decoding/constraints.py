"""What a user knows about a sentence's trees, as masks over the scores: parts that must, or must not, be there.

Every constraint forbids parts, and a forbidden part scores -inf: then the search, the marginals and the k best all
obey without knowing. A required span (i, j) forbids the spans that cross it; a binary tree without any of those
contains (i, j), since the smallest span around it cannot split inside it. A required arc forbids the other heads of its
modifier. That (i, j) has the head h forbids arcs from its other words to words outside. Only "if (i, j) is there, its
head is not h" takes a mask over headed spans, hence the second-order search.

These are constraints on binary lexicalized trees. A span that the constituency tree does not show, because binarization
made it, is a span here: a caller who lets labels vanish forbids labels rather than spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arcspan.decoding.inference import log_partition
from arcspan.errors import ScoreError

SEARCHES, LEAST_SEARCHES = (
    64,
    12,
)  # for contradicting constraints: up to 40 words, and in very long sentences
NAMED = 12  # contradicting constraints in an error


@dataclass(frozen=True)
class Span:
    """The words i+1..j are a constituent."""

    i: int
    j: int

    def __str__(self) -> str:
        return f"span ({self.i}, {self.j})"


@dataclass(frozen=True)
class Arc:
    """The head of the word `modifier` is the word `head`; head 0 makes it the root."""

    head: int
    modifier: int

    def __str__(self) -> str:
        return f"root {self.modifier}" if self.head == 0 else f"arc ({self.head}, {self.modifier})"


@dataclass(frozen=True)
class Head:
    """The words i+1..j are a constituent whose head is the word `head`."""

    i: int
    j: int
    head: int

    def __str__(self) -> str:
        return f"head {self.head} of span ({self.i}, {self.j})"


def Root(word: int) -> Arc:
    """The word is the root of the dependency tree.

    >>> str(Root(2))
    'root 2'
    """
    return Arc(0, word)


Constraint: TypeAlias = Span | Arc | Head


class Masks(NamedTuple):
    """What to add to the scores of a sentence: 0 for parts that may be there, -inf for the others.

    span [n+1, n+1]; arc [n+1, n+1] as arc[modifier, head]; headed [n+1, n+1, n+1], None where it would be all zeros.
    """

    span: NDArray[np.float32]
    arc: NDArray[np.float32]
    headed: NDArray[np.float32] | None

    def apply(self, span: Any, arc: Any, headed: Any = None) -> tuple[Any, Any, Any]:
        """The scores of one sentence of this length, or of several, under the masks; None stays None.

        headed   [..., n+1, n+1, n+1] or packed [..., pairs, n+1]; a cube is made of None where a mask needs one

        >>> masks = constrain(2, require=[Root(1)])
        >>> span, arc, headed = masks.apply(np.zeros((3, 3)), np.zeros((3, 3)))
        >>> arc[2].tolist(), headed
        ([-inf, 0.0, 0.0], None)
        """
        size = len(self.span)
        with np.errstate(invalid="ignore"):  # cells that belong to no tree may hold anything
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
    n: int, require: Iterable[Constraint] = (), forbid: Iterable[Constraint] = ()
) -> Masks:
    """The masks that leave exactly the trees of n words that meet every constraint.

    To require `Head` is to require the span as well; to forbid it forbids the span only with that head. Constraints
    that no tree meets are an error that names a smallest set of them that contradict each other.

    >>> masks = constrain(3, require=[Span(1, 3)])
    >>> bool(masks.span[0, 2] == -np.inf)
    True
    >>> constrain(3, require=[Span(1, 3), Span(0, 2)])
    Traceback (most recent call last):
    arcspan.errors.ScoreError: required span (1, 3) and required span (0, 2) cross each other
    """
    demands = [_Demand(True, c) for c in dict.fromkeys(require)]
    demands += [_Demand(False, c) for c in dict.fromkeys(forbid)]
    for demand in demands:
        check_range(n, demand.what, demand)
    masks = _masks(n, demands)
    if demands and not _possible(n, masks):
        raise ScoreError(_explain(_smallest_conflict(n, demands), n))
    return masks


class _Demand(NamedTuple):
    required: bool
    what: Constraint

    def __str__(self) -> str:
        return f"{'required' if self.required else 'forbidden'} {self.what}"


def check_range(n: int, what: Constraint, name: object) -> None:
    """Raise ScoreError, with the constraint's name, where no sentence of n words has such a part."""
    if isinstance(what, Arc):
        if not (0 <= what.head <= n and 1 <= what.modifier <= n):
            raise ScoreError(
                f"{name}: a sentence of {n} words has the words 1 to {n}, and 0 is the root"
            )
        if what.head == what.modifier:
            raise ScoreError(f"{name}: a word cannot be its own head")
    elif isinstance(what, Span | Head):
        if not 0 <= what.i < what.j <= n:
            raise ScoreError(f"{name}: a span (i, j) of {n} words has 0 <= i < j <= {n}")
        if isinstance(what, Head) and not what.i < what.head <= what.j:
            raise ScoreError(
                f"{name}: the head of a span is one of its words {what.i + 1} to {what.j}"
            )
    else:
        raise ScoreError(f"a constraint is a Span, an Arc or a Head, not {what!r}")


def _masks(n: int, demands: Sequence[_Demand]) -> Masks:
    """The masks of constraints that are each possible."""
    span, arc = np.zeros((2, n + 1, n + 1), np.float32)
    headed = None
    for required, what in demands:
        if isinstance(what, Arc):
            h, m = what.head, what.modifier
            if required:
                arc[m, :h] = arc[m, h + 1 :] = -np.inf
                if h == 0:
                    arc[:m, 0] = arc[m + 1 :, 0] = -np.inf
            else:
                arc[m, h] = -np.inf
            continue
        i, j = what.i, what.j
        if required:
            # (a, b) crosses (i, j): a < i < b < j or i < a < j < b.
            span[:i, i + 1 : j] = -np.inf
            span[i + 1 : j, j + 1 :] = -np.inf
        elif isinstance(what, Span):
            span[i, j] = -np.inf
        if isinstance(what, Head):
            if required:
                others = [m for m in range(i + 1, j + 1) if m != what.head]
                arc[others, : i + 1] = -np.inf
                arc[others, j + 1 :] = -np.inf
            else:
                headed = np.zeros((n + 1, n + 1, n + 1), np.float32) if headed is None else headed
                headed[i, j, what.head] = -np.inf
    return Masks(span, arc, headed)


def _possible(n: int, masks: Masks) -> bool:
    if n == 0:
        return True
    batch = [None if mask is None else mask[None] for mask in masks]
    try:
        log_partition(batch[0], batch[1], [n], batch[2], threads=1)
    except ScoreError:
        return False
    return True


def _smallest_conflict(n: int, demands: list[_Demand]) -> list[_Demand]:
    """Of constraints that no tree meets, a set that no tree meets either, as small as a few searches can find.

    By halves (Junker 2004, QuickXplain): a few contradicting constraints among many take a few searches, and the set
    is minimal. Hundreds that only contradict each other all together would take as many searches: when the limit is
    reached, what is left is kept, so that the time is bounded and the set may be too large.
    """
    left = max(LEAST_SEARCHES, int(SEARCHES * min(1.0, (40 / n) ** 3)))

    def needed(background: list[_Demand], changed: bool, demands: list[_Demand]) -> list[_Demand]:
        """Those demands that it takes beside the background."""
        nonlocal left
        if changed:
            if left == 0:
                return demands
            left -= 1
            if not _possible(n, _masks(n, background)):
                return []
        if len(demands) == 1:
            return demands
        half = len(demands) // 2
        first, second = demands[:half], demands[half:]
        later = needed([*background, *first], True, second)
        return needed([*background, *later], bool(later), first) + later

    return needed([], False, demands)


def _explain(conflict: list[_Demand], n: int) -> str:
    """A sentence that names the constraints and, where it is one of the usual reasons, why they cannot all hold."""
    shown = [str(demand) for demand in conflict[:NAMED]]
    shown += [f"{len(conflict) - NAMED} more"] if len(conflict) > NAMED else []
    names = shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]
    if len(conflict) == 1:
        return f"{names} leaves a sentence of {n} words without a tree"
    whats = [demand.what for demand in conflict]
    if len(conflict) == 2 and whats[0] == whats[1]:
        return f"{str(whats[0])[0].upper()}{str(whats[0])[1:]} is both required and forbidden"
    reason = ""
    if all(demand.required for demand in conflict):
        reason = _two_heads(whats)
        if not reason and len(conflict) == 2:
            reason = _clash(whats[0], whats[1]) or _clash(whats[1], whats[0])
    if reason.startswith(":") or not reason:
        both = "both" if len(conflict) == 2 else "all"
        return f"{names} cannot {both} hold{reason or f': no tree of {n} words meets them'}"
    return f"{names} {reason}"


def _two_heads(whats: list[Constraint]) -> str:
    """Why a span would have two heads: a word of it that attaches outside is one, or to which words outside attach."""
    for what in whats:
        if isinstance(what, Arc):
            continue
        i, j = what.i, what.j
        heads = set()
        for other in whats:
            if isinstance(other, Arc) and (i < other.head <= j) != (i < other.modifier <= j):
                heads.add(other.head if i < other.head <= j else other.modifier)
            elif isinstance(other, Head) and (other.i, other.j) == (i, j):
                heads.add(other.head)
        if len(heads) > 1:
            first, second, *_ = sorted(heads)
            return (
                f": span ({i}, {j}) would have two heads, words {first} and {second}, since only its head "
                "attaches to a word outside, and words outside attach only to its head"
            )
    return ""


def _clash(a: Constraint, b: Constraint) -> str:
    """Why two required constraints contradict each other, for the reasons that have a name."""
    if isinstance(a, Arc) and isinstance(b, Arc):
        if a.modifier == b.modifier:
            return f"give word {a.modifier} two heads"
        if a.head == b.head == 0:
            return "make two roots"
        if (a.head, a.modifier) == (b.modifier, b.head):
            return "make a circle"
        (left, right), (p, q) = sorted((a.head, a.modifier)), sorted((b.head, b.modifier))
        if left < p < right < q or p < left < q < right or (a.head == 0 and p < a.modifier < q):
            return "cross each other"
        if a.head == b.modifier and left < b.head < right:
            return f"cannot both hold: {a} would pass over word {b.head}, which is above it"
    elif not isinstance(a, Arc) and not isinstance(b, Arc):
        if a.i < b.i < a.j < b.j or b.i < a.i < b.j < a.j:
            return "cross each other"
        if (
            isinstance(a, Head)
            and isinstance(b, Head)
            and b.i <= a.i
            and a.j <= b.j
            and a.i < b.head <= a.j
        ):
            return f"cannot both hold: word {b.head} heads the larger span, so the smaller one too"
    elif isinstance(a, Head) and isinstance(b, Arc):
        if b.modifier == a.head and a.i < b.head <= a.j:
            return f"cannot both hold: the head of span ({a.i}, {a.j}) has its own head outside"
        if min(b.head, b.modifier) < a.head < max(b.head, b.modifier):
            return f"cannot both hold: the arc would pass over the head of span ({a.i}, {a.j})"
    return ""
