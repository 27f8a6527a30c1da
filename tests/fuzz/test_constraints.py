"""Constraints drawn at random: met by the parse, or refused with an error that names them, in bounded time."""

from __future__ import annotations

import functools
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.parser import Arc, Head, Parse, Parser, Root, Span, Tag
from arcspan.trees import compatible

TOY = Path(__file__).parents[1] / "bundles" / "toy"
WORDS = ["Ada", "sees", "Kurt", "the", "dog", "plays", "every", "tree", "here", "."]
NOBODYS = "NOSUCH"  # a name that the model does not know, so that it refuses it
SECONDS = 5.0  # of processor time, for any question here


@functools.cache
def parser() -> Parser:
    return Parser(TOY, threads=1)


def draw(rng: random.Random, parse: Parse) -> Any:
    """A constraint about a sentence; names are those of a parse, or of no treebank."""
    n = len(parse.words)
    i, j = sorted(rng.sample(range(n + 1), 2))
    word = rng.randrange(1, n + 1)
    label = rng.choice(
        [None, None, NOBODYS, *(label for _, _, label in parse.constituency.spans[1:])]
    )
    relation = rng.choice([None, None, NOBODYS, *parse.relations])
    head = rng.choice([m for m in range(n + 1) if m != word])
    return rng.choice(
        (
            Span(i, j, label),
            Arc(head, word, relation),
            Head(i, j, rng.randrange(i + 1, j + 1)),
            Root(word),
            Tag(word, rng.choice([*parse.tags, *parse.upos, NOBODYS])),
        )
    )


def holds(constraint: Any, parse: Parse) -> bool:
    """Whether a parse meets a constraint."""
    heads, relations = parse.dependencies.heads, parse.relations
    if isinstance(constraint, Span):
        labels = [
            label
            for i, j, label in parse.constituency.spans
            if (i, j) == (constraint.i, constraint.j)
        ]
        return bool(labels) if constraint.label is None else constraint.label in labels
    if isinstance(constraint, Arc):
        m = constraint.modifier - 1
        return heads[m] == constraint.head and constraint.relation in (None, relations[m])
    if isinstance(constraint, Tag):
        return constraint.tag in (parse.tags[constraint.word - 1], parse.upos[constraint.word - 1])
    inside = range(constraint.i + 1, constraint.j + 1)
    is_span = any((i, j) == (constraint.i, constraint.j) for i, j, _ in parse.constituency.spans)
    return is_span and [m for m in inside if heads[m - 1] not in inside] == [constraint.head]


def ask(words: Sequence[str], **question: Any) -> Parse | None:
    """The parse, which meets everything; None where the question is refused, by the names of its constraints."""
    begin = time.process_time()
    try:
        parse = parser().parse(words, **question)
    except ArcspanError as error:
        constraints = [*question.get("require", ()), *question.get("forbid", ())]
        assert any(str(constraint).lower() in str(error).lower() for constraint in constraints), (
            error,
            words,
            constraints,
        )
        return None
    finally:
        assert time.process_time() - begin < SECONDS, (words, question)
    assert compatible(parse.constituency, parse.dependencies), (words, question)
    assert all(holds(constraint, parse) for constraint in question.get("require", ())), (
        words,
        question,
    )
    assert not any(holds(constraint, parse) for constraint in question.get("forbid", ())), (
        words,
        question,
    )
    return parse


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    rng, counts = random.Random(seed), Counter[str]()
    for _ in rounds:
        words = [rng.choice(WORDS) for _ in range(rng.choice((2, 4, 8, 12, 40)))]
        best, *others = parser().parse(words, k=5)
        drawn = [draw(rng, best) for _ in range(rng.choice((1, 2, 5, 20, 200)))]
        weights = [
            (constraint, rng.choice((-1e9, -5.0, 0.0, 0.5, 1e9))) for constraint in drawn[:3]
        ]
        cut = rng.randrange(len(drawn) + 1)
        prefer = weights if rng.random() < 0.3 else ()
        answer = ask(words, require=drawn[:cut], forbid=drawn[cut:], prefer=prefer)
        counts["questions that were refused" if answer is None else "questions that were met"] += 1
        # What some tree has is never refused, and what is required and forbidden always is.
        drawn = [constraint for constraint in drawn if NOBODYS not in str(constraint)] or [Root(1)]
        model = rng.choice([best, *others])
        require = [constraint for constraint in drawn if holds(constraint, model)]
        forbid = [constraint for constraint in drawn if not holds(constraint, model)]
        assert ask(words, require=require, forbid=forbid) is not None, (words, require, forbid)
        counts["questions that a tree answers"] += 1
        twice = rng.choice(drawn)
        assert ask(words, require=[*require, twice], forbid=[*forbid, twice]) is None, (
            words,
            twice,
        )
        counts["contradictions that were named"] += 1
    return counts


def test_constraints_are_met_or_refused_by_name() -> None:
    assert run(seed=1, rounds=range(20))["contradictions that were named"] == 20
