"""What `memory_needed` says, against what the searches really take."""

from __future__ import annotations

import subprocess
import sys

import pytest

from arcspan import decoding

SEARCHES = {
    "best": ({}, "decoding.eisner_satta(span, arc, [n], threads=1)"),
    "best, headed": ({"headed": True}, "decoding.eisner_satta(span, arc, [n], headed, threads=1)"),
    "sums": ({"sums": True}, "decoding.marginals(span, arc, [n], threads=1)"),
    "sums, headed": (
        {"sums": True, "headed": True},
        "decoding.marginals(span / 2, arc / 2, [n], headed / 2, with_headed=False, threads=1)",
    ),
    "k best": ({"kbest": True}, "decoding.kbest(span, arc, [n], k=100, threads=1)"),
    "k best, headed": (
        {"kbest": True, "headed": True},
        "decoding.kbest(span, arc, [n], 100, headed, threads=1)",
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of resident memory from /proc")
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_takes_what_memory_needed_says(name: str) -> None:
    which, call = SEARCHES[name]
    code = f"""
import numpy as np
from arcspan import decoding
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024
def search(n):
    span, arc = np.random.default_rng(0).normal(size=(2, 1, n + 1, n + 1)).astype(np.float32)
    headed = np.ones((1, n * (n + 1) // 2, n + 1), np.float32) if {which.get("headed", False)} else None
    {call}
search(8)
before = peak()
search(200)
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    needed = decoding.memory_needed(200, **which)
    assert 0.7 * needed < int(done.stdout) < 1.05 * needed + (4 << 20), (
        done.stdout,
        needed,
        done.stderr,
    )


def test_one_kind_of_scores_needs_next_to_nothing() -> None:
    assert decoding.memory_needed(200, arcs=False) < 2 << 20
    assert decoding.memory_needed(200, spans=False, sums=True) < 5 << 20
