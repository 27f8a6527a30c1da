"""The time that a step of a query takes, at most, over random patterns on hostile trees.

    python studies/syntax/steps.py [SEED [PATTERNS]]

A server allows 20,000 steps for a sentence, so a pattern may take 20,000 times the figure. Trees
have 300 words, all in one constituent, in nested ones, or at random; words have up to 200 letters.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time

from arcspan.errors import ArcspanError
from arcspan.syntax import TreeQuery, tree_query
from arcspan.syntax.nodes import NodeTable
from arcspan.trees import ConstituencyTree, DependencyTree

STEPS = 20_000
WORDS = 300
SIGNS = ["<", ">", "<<", ">>", "<:", ">:", "<<:", ">>:", "<,", ">,", "<-", ">-", "<2", ">2"]
SIGNS += ["<-2", "<<,", ">>,", "<<'", ">>'", "<#", ">#", "<<#", ">>#", ".", ",", "..", ",,"]
SIGNS += ["$", "$.", "$,", "$..", "$,,"]
ARC_SIGNS = [">", "<", ">>", "<<", "$++", "$--", ".", ",", "..", "-", "--", ">x", "<x|y"]
ARC_SIGNS += [">>/x.*/", "<</y.*/", ">/.?.?.?x/"]
REGEXES = (
    r"/\w+?\w+?(?=a?a?)b/",
    "/a*a*b/",
    "/a*a*a{100}b/",
    "/(?:aaaaaaaaaaaaaaaa){6}b/",
    "/a?a?a?a?a?a?a*b/",
    "/^VB/",
    "/(?:a|aa|aaa)a*b/",
    "/[a-z]*[b-y]*c/i",
)


class MeasuredTable(NodeTable):
    """A node table that remembers the last one."""

    last: NodeTable

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        MeasuredTable.last = self


def trees(dice: random.Random) -> tuple[ConstituencyTree, DependencyTree]:
    """Return two trees over the same words."""
    words = ["a" * dice.choice([1, 1, 10, 60, 200]) + dice.choice("abc") for _ in range(WORDS)]
    tags = dice.choices(["A", "B"], k=WORDS)
    spans = {(0, WORDS)}
    shape = dice.choice(["flat", "right", "left", "random"])
    stack = [(0, WORDS)] if shape == "random" else []
    if shape == "right":
        spans |= {(k, WORDS) for k in range(WORDS)}
    elif shape == "left":
        spans |= {(0, k) for k in range(1, WORDS)}
    while stack:
        i, j = stack.pop()
        spans.add((i, j))
        if j - i > 1:
            k = dice.randint(i + 1, j - 1)
            stack += [(i, k), (k, j)]
    labelled = [(i, j, dice.choice("XY")) for i, j in sorted(spans, key=lambda s: (s[0], -s[1]))]
    shapes = {
        "flat": [0] + [1] * (WORDS - 1),
        "chain": list(range(WORDS)),
        "random": [dice.randrange(1, m) if m > 1 else 0 for m in range(1, WORDS + 1)],
    }
    heads = shapes[dice.choice(list(shapes))]
    relations = ["root", *dice.choices("xyz", k=WORDS - 1)]
    return (
        ConstituencyTree(words, tags, labelled),
        DependencyTree(heads, relations, words, tags),
    )


def pattern(dice: random.Random, depth: int, names: list[str]) -> str:
    """Return a random node with relations."""
    is_word = dice.random() < 0.4
    node = dice.choice(["*", "*", "X", "A", "X|Y", "!X", *REGEXES])
    if is_word:
        node = dice.choice(["{}", "{}", "{tag:A}", f"{{word:{dice.choice(REGEXES)}}}", "{$}"])
    if dice.random() < 0.3 and node[0] != "!":
        names.append(f"n{len(names)}")
        node += f"={names[-1]}"
    for _ in range(dice.randint(0, 2) if depth else 0):
        sign = dice.choice(ARC_SIGNS if is_word else SIGNS)
        target = pattern(dice, depth - 1, names)
        separator = dice.choice([" ", " ", " !", " | "]) if " " in node else " "
        if "=" in target and "!" in separator:
            separator = " "
        if sign[-1] in "xy/" and not target.startswith("{"):
            target = "{}"
        node += f"{separator}{sign} ({target})"
    return node


def main() -> None:
    """Print the slowest patterns, in microseconds for each step."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    dice = random.Random(seed)
    tree_query.NodeTable = MeasuredTable  # type: ignore[misc]
    slowest: list[tuple[float, float, str]] = []
    pairs = [trees(dice) for _ in range(30)]
    refused = 0
    for _ in range(count):
        text = pattern(dice, dice.randint(1, 4), [])
        c, d = dice.choice(pairs)
        try:
            query = TreeQuery(text, steps=STEPS)
        except ArcspanError:
            refused += 1
            continue
        start = time.process_time()
        with contextlib.suppress(ArcspanError):
            query.find(c, d)
        seconds = time.process_time() - start
        # Numbering the nodes takes about a millisecond, whatever the pattern.
        steps = STEPS - MeasuredTable.last.steps_left + 400
        slowest.append((1e6 * seconds / steps, seconds, text))
    slowest.sort(reverse=True)
    print(f"{len(slowest)} patterns, {refused} not read; microseconds per step, seconds, pattern")
    for per_step, seconds, text in slowest[:12]:
        print(f"{per_step:8.1f} {seconds:8.3f}  {text}")
    print(f"the longest took {max(seconds for _, seconds, _ in slowest):.3f} seconds")


if __name__ == "__main__":
    main()
