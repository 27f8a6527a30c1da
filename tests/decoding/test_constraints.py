"""Constraints: the masks leave exactly the trees that meet them, and contradictions are named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcspan import decoding
from arcspan.decoding import constraints
from arcspan.decoding.constraints import ArcConstraint as Arc
from arcspan.decoding.constraints import HeadConstraint as Head
from arcspan.decoding.constraints import Masks, Root, constrain
from arcspan.decoding.constraints import SpanConstraint as Span
from arcspan.decoding.inference import log_partition
from arcspan.errors import ScoreError
from tests.decoding.all_trees import Tree, lexicalized_trees

N = 5
PARTS = [
    *(Span(i, j) for i in range(N) for j in range(i + 1, N + 1)),
    *(Arc(h, m) for h in range(N + 1) for m in range(1, N + 1) if h != m),
    *(Head(i, j, h) for i in range(N) for j in range(i + 1, N + 1) for h in range(i + 1, j + 1)),
]


def meets(tree: Tree, part: Span | Arc | Head) -> bool:
    if isinstance(part, Span):
        return (part.i, part.j) in tree.spans
    if isinstance(part, Arc):
        return tree.heads[part.modifier] == part.head
    return (part.i, part.j, part.head) in tree.headed


def allowed(tree: Tree, masks: Masks) -> bool:
    total = sum(masks.span[part] for part in tree.spans)
    total += sum(masks.arc[m, tree.heads[m]] for m in range(1, N + 1))
    if masks.headed is not None:
        total += sum(masks.headed[part] for part in tree.headed + tree.hooks)
    return total == 0


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=4), st.lists(st.sampled_from(PARTS), max_size=4))
def test_the_masks_leave_exactly_the_trees_that_meet_the_constraints(require, forbid) -> None:
    good = {
        tree
        for tree in lexicalized_trees(N)
        if all(meets(tree, part) for part in require)
        and not any(meets(tree, part) for part in forbid)
    }
    if good:
        masks = constrain(N, require, forbid)
        assert {tree for tree in lexicalized_trees(N) if allowed(tree, masks)} == good
    else:
        with pytest.raises(ScoreError):
            constrain(N, require, forbid)


@pytest.mark.parametrize(
    ("require", "forbid", "message"),
    [
        (
            [Span(1, 3), Span(2, 4)],
            [],
            "required span (1, 3) and required span (2, 4) cross each other",
        ),
        (
            [Arc(2, 1), Arc(3, 1)],
            [],
            "required arc (2, 1) and required arc (3, 1) give word 1 two heads",
        ),
        ([Root(1), Root(3)], [], "required root 1 and required root 3 make two roots"),
        ([Arc(1, 2), Arc(2, 1)], [], "required arc (1, 2) and required arc (2, 1) make a circle"),
        (
            [Arc(1, 2), Arc(2, 3), Arc(3, 1)],
            [],
            "required arc (2, 3) and required arc (3, 1) cannot both hold: "
            "arc (3, 1) would pass over word 2, which is above it",
        ),
        (
            [Arc(1, 3), Arc(2, 4)],
            [],
            "required arc (1, 3) and required arc (2, 4) cross each other",
        ),
        ([Arc(1, 3), Root(2)], [], "required arc (1, 3) and required root 2 cross each other"),
        (
            [Span(1, 3), Arc(1, 2), Arc(4, 3)],
            [],
            "required span (1, 3), required arc (1, 2) and required arc (4, 3) cannot all hold: "
            "span (1, 3) would have two heads, words 2 and 3, since only its head attaches to a word outside",
        ),
        (
            [Span(1, 3), Arc(2, 1), Arc(3, 4)],
            [],
            "required span (1, 3), required arc (2, 1) and required arc (3, 4) cannot all hold: "
            "span (1, 3) would have two heads, words 2 and 3",
        ),
        ([Head(0, 2, 1), Head(0, 2, 2)], [], "span (0, 2) would have two heads, words 1 and 2"),
        (
            [Head(0, 3, 2), Head(0, 2, 1)],
            [],
            "word 2 heads the larger span, so the smaller one too",
        ),
        ([Head(0, 3, 2), Arc(1, 3)], [], "the arc would pass over the head of span (0, 3)"),
        ([Head(0, 2, 1), Arc(2, 1)], [], "the head of span (0, 2) has its own head outside"),
        ([Head(0, 2, 1), Arc(3, 2)], [], "span (0, 2) would have two heads, words 1 and 2"),
        ([Head(0, 2, 1), Arc(2, 3)], [], "words outside attach only to its head"),
        ([Span(0, 2)], [Span(0, 2)], "Span (0, 2) is both required and forbidden"),
        ([], [Span(0, 5)], "forbidden span (0, 5) leaves a sentence of 5 words without a tree"),
        (
            [],
            [Root(1), Root(2), Root(3), Root(4), Root(5), Span(0, 2)],
            "root 1, forbidden root 2, forbidden root 3, forbidden root 4 and forbidden root 5 cannot all hold",
        ),
    ],
)
def test_a_contradiction_names_the_constraints_and_the_reason(require, forbid, message) -> None:
    with pytest.raises(ScoreError) as error:
        constrain(N, require, forbid)
    assert message in str(error.value)


def test_hundreds_that_contradict_each_other_take_few_searches(monkeypatch) -> None:
    """Every head of every word forbidden but one cycle: naming a smallest set took a search for
    each of them.
    """
    searches: list[int] = []

    def counted(*given: object, **options: object) -> object:
        searches.append(1)
        return log_partition(*given, **options)

    monkeypatch.setattr(constraints, "log_partition", counted)
    for n, most in ((10, 65), (60, 20)):
        cycle = {(m % n + 1, m) for m in range(1, n + 1)}
        forbid = [
            Arc(h, m)
            for m in range(1, n + 1)
            for h in range(n + 1)
            if h != m and (h, m) not in cycle
        ]
        searches.clear()
        with pytest.raises(ScoreError, match="cannot all hold"):
            constrain(n, forbid=forbid)
        assert len(searches) <= most


def test_only_what_contradicts_is_named_among_many_constraints() -> None:
    harmless = [Span(0, 10), Span(10, 20), Root(11), Arc(11, 10), Span(0, 3)]
    with pytest.raises(ScoreError) as error:
        constrain(
            20, [*harmless[:3], Span(4, 7), *harmless[3:], Span(5, 9)], [Span(1, 3), Arc(1, 2)]
        )
    assert str(error.value) == "required span (4, 7) and required span (5, 9) cross each other"


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Span(2, 2), "required span (2, 2): a span (i, j) of 5 words has 0 <= i < j <= 5"),
        (Span(0, 6), "0 <= i < j <= 5"),
        (Arc(6, 1), "has the words 1 to 5, and 0 is the root"),
        (Arc(1, 0), "has the words 1 to 5, and 0 is the root"),
        (Arc(2, 2), "a word cannot be its own head"),
        (Head(0, 2, 3), "the head of a span is one of its words 1 to 2"),
        ((0, 2), "a constraint is a Span, an Arc or a Head, not (0, 2)"),
    ],
)
def test_a_part_that_the_sentence_cannot_have_is_refused(part, message) -> None:
    with pytest.raises(ScoreError) as error:
        constrain(N, [part])
    assert message in str(error.value)


def test_the_search_obeys() -> None:
    n = 12
    random = np.random.default_rng(0)
    span, arc = random.normal(size=(2, n + 1, n + 1))
    require, forbid = [Span(3, 8), Root(5), Head(0, 3, 2), Arc(8, 7)], [Span(0, 8), Head(8, n, n)]
    scores = constrain(n, require, forbid).apply(span, arc)
    best = decoding.eisner_satta(scores[0][None], scores[1][None], [n], scores[2][None])
    spans = {(i, j): h for i, j, h in best.spans[0].tolist()}
    assert spans[0, 3] == 2
    assert (3, 8) in spans
    assert best.heads[0, 5] == 0
    assert best.heads[0, 7] == 8
    assert (0, 8) not in spans
    assert spans.get((8, n)) != n
    masks_found = decoding.marginals(scores[0][None], scores[1][None], [n], scores[2][None])
    assert masks_found.spans[0, 3, 8] == pytest.approx(1)
    assert masks_found.arcs[0, 5, 0] == pytest.approx(1)
    assert masks_found.headed[0, 8, n, n] == 0


def test_no_constraints_leave_the_scores_alone() -> None:
    masks = constrain(4)
    assert not masks.span.any()
    assert not masks.arc.any()
    assert masks.headed is None
    assert constrain(0) is not None


def test_masks_apply_to_packed_scores_to_batches_and_to_one_kind_alone() -> None:
    # of three positions there are three pairs: the shape alone would not tell packed scores from a
    # cube
    n = 2
    masks = constrain(n, forbid=[Head(0, 2, 1)])
    span, arc, headed = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3, 3))
    i, j = np.triu_indices(3, 1)
    cube, packed = masks.apply(span, arc, headed)[2], masks.apply(span, arc, headed[i, j])[2]
    np.testing.assert_array_equal(cube[i, j], packed)
    assert packed[1, 1] == -np.inf
    batch_scores = masks.apply(np.zeros((3, 3, 3)), np.zeros((3, 3, 3)), np.zeros((3, 3, 3)))[2]
    np.testing.assert_array_equal(batch_scores, [packed] * 3)
    assert masks.apply(span[None], arc[None])[2].shape == (1, 3, 3, 3)
    assert masks.apply(None, arc)[0] is None and masks.apply(span, None)[1] is None


@pytest.mark.parametrize("name", ["Span", "Arc", "Head"])
def test_old_names_still_work_with_a_warning(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{name} is called {name}Constraint now"):
        old = getattr(constraints, name)
    assert old is getattr(constraints, f"{name}Constraint")
    with pytest.raises(AttributeError, match="no attribute 'Spam'"):
        constraints.__getattr__("Spam")
