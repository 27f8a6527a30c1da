"""How constraints are written, and what is said of those that cannot be met."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from arcspan.decoding import constraints as binary
from arcspan.errors import ArcspanError
from arcspan.prediction.constraints import (
    Arc,
    Head,
    Root,
    Span,
    Tag,
    name_bonuses,
    read_constraints,
    read_preferences,
    structure_masks,
)
from arcspan.prediction.outputs import Inventories
from arcspan.prediction.query import Query

CHAINS: tuple[tuple[str, ...], ...] = ((), ("NP",), ("VP",), ("S", "VP"), ("S",))


def bonuses(
    require: list[Any], forbid: list[Any], prefer: list[Any] | None = None, chains: Any = CHAINS
) -> dict[str, Any]:
    inventories = Inventories(chains, ("root", "nsubj"), ("NN", "SYM"), ("NOUN", "SYM"))
    query = Query(None, tuple(require), tuple(forbid), tuple(prefer or ()))
    return name_bonuses(4, query.demands, inventories)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ((0, 2), Span(0, 2)),
        ([0, 2], Span(0, 2)),
        ((np.int64(0), np.int64(2)), Span(0, 2)),
        ((0, 2, "NP"), Span(0, 2, "NP")),
        ((3, 1), Arc(3, 1)),
        # No span is empty: this can only be an arc, of a word to itself, which is refused later.
        ((2, 2), Arc(2, 2)),
        (("arc", 1, 3), Arc(1, 3)),
        (("span", 1, 3), Span(1, 3)),
        (("span", 1, 3, "VP"), Span(1, 3, "VP")),
        (("head", 1, 3, 2), Head(1, 3, 2)),
        (("root", 2), Root(2)),
        (Root(2), Arc(0, 2)),
        (binary.SpanConstraint(1, 2), Span(1, 2)),
        (binary.ArcConstraint(1, 2), Arc(1, 2)),
        (("arc", 1, 2, "nsubj"), Arc(1, 2, "nsubj")),
        (("tag", 1, "NN"), Tag(1, "NN")),
    ],
)
def test_a_constraint_may_be_written_in_several_ways(written: Any, meant: Any) -> None:
    assert read_constraints([written]) == [meant]


@pytest.mark.parametrize(
    "written",
    [
        5,
        "span",
        (1,),
        (),
        (1, 2, 3),
        ("arc", 1),
        ("tree", 1, 2),
        (0.5, 2),
        ("span", 1, 3, 4),
        ("root", "x"),
    ],
)
def test_what_is_no_constraint_is_refused_with_the_ways_to_write_one(written: Any) -> None:
    with pytest.raises(ArcspanError, match=r"not a constraint: write Span\(i, j\)"):
        read_constraints([written])


@pytest.mark.parametrize("written", ["(0, 2)", Span(0, 2), {"span": 1}, 7])
def test_constraints_come_in_a_list(written: Any) -> None:
    with pytest.raises(ArcspanError, match="in a list"):
        read_constraints(written)


def test_labels_are_left_as_constraints_allow() -> None:
    label_bonuses = bonuses([Span(0, 2, "VP"), Head(2, 4, 3)], [Span(1, 2), Span(2, 4, "S")])[
        "label"
    ]
    assert np.isfinite(label_bonuses[0, 2]).tolist() == [False, False, True, True, False]
    assert np.isfinite(label_bonuses[2, 4]).tolist() == [False, True, True, False, False]
    assert np.isfinite(label_bonuses[1, 2]).tolist() == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (Arc(2, 2), "preferred arc (2, 2): a word cannot be its own head"),
        (
            Arc(5, 1),
            "preferred arc (5, 1): a sentence of 4 words has the words 1 to 4, and 0 is the root",
        ),
        (Span(3, 5), "preferred span (3, 5): a span (i, j) of 4 words has 0 <= i < j <= 4"),
        (
            Head(0, 2, 99),
            "preferred head 99 of span (0, 2): the head of a span is one of its words 1 to 2",
        ),
    ],
)
def test_what_no_sentence_has_cannot_be_preferred(part: Arc | Span | Head, why: str) -> None:
    with pytest.raises(ArcspanError, match=re.escape(why)):
        bonuses([], [], [(part, 1.0)])
    with pytest.raises(ArcspanError, match=re.escape(why.replace("preferred", "forbidden"))):
        bonuses([], [part])


def test_preferred_names_are_worth_their_weight() -> None:
    prefer = [
        (Span(0, 2, "S"), 2.0),
        (Span(0, 2), -1.0),
        (Arc(2, 1, "nsubj"), 3.0),
        (Tag(1, "SYM"), 1.0),
    ]
    name_bonuses_of_all = bonuses([], [Arc(0, 1, "root")], prefer)
    assert name_bonuses_of_all["label"][0, 2].tolist() == [0, -1, -1, 1, 1]
    assert name_bonuses_of_all["relation"][1, 2].tolist() == [0, 3] and np.isneginf(
        name_bonuses_of_all["relation"][1, 0]
    ).tolist() == [
        True,
        False,
    ]
    assert name_bonuses_of_all["tag"][1,].tolist() == [0, 1] and name_bonuses_of_all["upos"][
        1,
    ].tolist() == [0, 1]


@pytest.mark.parametrize(
    "written",
    [
        [Span(0, 2)],
        [(Span(0, 2), "2")],
        [(Span(0, 2), float("nan"))],
        [(Span(0, 2), Decimal("sNaN"))],
        [(Span(0, 2), np.ones(1))],
        [(Span(0, 2), 10**400)],
        [((0, 2),)],
        [3],
    ],
)
def test_a_preference_is_a_constraint_and_a_weight(written: Any) -> None:
    with pytest.raises(ArcspanError, match=r"not a preference: write \(constraint, weight\)"):
        read_preferences(written)


@pytest.mark.parametrize(
    "constraint",
    [Span("0", 2), Span(0, 2.0), Span(0, 2, 5), Arc(float("nan"), 2), Arc(2, 1, ["obj"]), Root(2.0), Tag(1.5, "NN"),
     Head(0, 2, 1.0), binary.SpanConstraint(None, 2)],  # type: ignore[arg-type]
)  # fmt: skip
def test_an_object_may_hold_no_more_than_a_tuple(constraint: Any) -> None:
    """Each became an IndexError or a TypeError during the search, or was taken."""
    with pytest.raises(ArcspanError, match="is not a constraint: write"):
        read_constraints([constraint])


@pytest.mark.parametrize(
    ("require", "forbid", "message"),
    [
        ([Span(0, 2)], [Span(0, 2)], r"Span \(0, 2\) is both required and forbidden"),
        (
            [Span(0, 2, "NP")],
            [Span(0, 2)],
            r"required span \(0, 2\) NP and forbidden span \(0, 2\) cannot both hold",
        ),
        (
            [Span(0, 2), Span(0, 2, "NP"), Span(0, 2, "S")],
            [],
            r"^required span \(0, 2\) NP and required span \(0, 2\) S cannot both hold",
        ),
        (
            [Head(0, 2, 1)],
            [Span(0, 2)],
            r"required head 1 of span \(0, 2\) and forbidden span \(0, 2\)",
        ),
        ([], [Span(0, 4)], "the whole sentence is always a constituent"),
        ([Span(0, 2, "XP")], [], "no label 'XP'; it has NP, S, VP"),
        ([], [Span(0, 2, "XP")], "no label 'XP'"),
        ([Span(2, 7)], [], "0 <= i < j <= 4"),
        ([Span(3, 3)], [], "0 <= i < j <= 4"),
        ([Arc(2, 1, "obj")], [], "no relation 'obj'; it has root, nsubj"),
        (
            [Arc(2, 1, "nsubj")],
            [Arc(2, 1, "nsubj")],
            r"Arc \(2, 1\) nsubj is both required and forbidden",
        ),
        (
            [Tag(1, "NN"), Tag(1, "SYM")],
            [],
            "required tag NN of word 1 and required tag SYM of word 1 cannot both",
        ),
    ],
)
def test_contradictions_about_labels_are_named(
    require: list[Any], forbid: list[Any], message: str
) -> None:
    with pytest.raises(ArcspanError, match=message):
        bonuses(require, forbid)


def test_the_wrapper_is_required_of_the_whole_sentence_alone() -> None:
    """Trees that need their wrapper make it a label, which could then be put inside of others."""
    chains = (*CHAINS, ("TOP",))
    with pytest.raises(ArcspanError, match="TOP stands only around the whole sentence"):
        bonuses([Span(1, 3, "TOP")], [], chains=chains)
    assert bonuses([Span(0, 4, "TOP")], [Span(1, 3, "TOP")], chains=chains)["label"][0, 4][-1] == 0


@pytest.mark.parametrize(
    ("require", "forbid", "message"),
    [
        (
            [Span(0, 2, "NP"), Span(1, 3)],
            [],
            r"required span \(0, 2\) NP and required span \(1, 3\) cross",
        ),
        ([Root(1), Root(2)], [], "make two roots"),
        ([Arc(1, 2), Arc(3, 2)], [], "give word 2 two heads"),
        ([Arc(1, 2)], [Arc(1, 2)], "both required and forbidden"),
        ([Head(0, 3, 1), Root(2)], [], "head 1 of span"),
    ],
)
def test_contradictions_of_structure_are_named(
    require: list[Any], forbid: list[Any], message: str
) -> None:
    with pytest.raises(ArcspanError, match=message):
        structure_masks(4, Query(None, tuple(require), tuple(forbid)).demands)


@pytest.mark.parametrize(
    ("n", "require", "forbidden", "is_masked"),
    [
        (3, (), Head(0, 2, 1), False),
        (3, (Span(0, 2),), Head(0, 2, 1), True),
        (3, (Head(0, 2, 2),), Head(0, 2, 1), True),
        (3, (Span(1, 3),), Head(0, 2, 1), False),
        (2, (), Head(0, 2, 1), True),
        (1, (), Head(0, 1, 1), False),
    ],
)
def test_a_forbidden_head_rules_structures_out_where_its_span_has_to_be_a_constituent(
    n: int, require: tuple[Any, ...], forbidden: Head, is_masked: bool
) -> None:
    masks = structure_masks(n, Query(require=require, forbid=(forbidden,)).demands)
    assert (masks.headed is not None) == is_masked
    if masks.headed is not None:
        assert np.argwhere(np.isneginf(masks.headed)).tolist() == [[0, 2, 1]]
