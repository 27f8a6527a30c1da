"""The oracle itself, against numbers that are known."""

from __future__ import annotations

import math

import pytest

from tests.decoding.enumeration import lexicalized, projective


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_there_are_catalan_times_two_to_the_n_minus_1_lexicalized_trees(n: int) -> None:
    catalan = math.comb(2 * n - 2, n - 1) // n
    assert len(lexicalized(0, n)) == catalan * 2 ** (n - 1) == len(set(lexicalized(0, n)))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_dependency_trees_of_lexicalized_trees_are_the_projective_trees(n: int) -> None:
    assert {tree.heads for tree in lexicalized(0, n)} == set(projective(n))
