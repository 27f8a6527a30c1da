"""Silver pairs: sentences with one gold tree get the other by a parser, which is held to the gold one.

Given a d-tree, all its arcs are required; given a c-tree, all its spans. So the two trees fit each other, and how sure
the parser is of the new one is its probability among all that fit.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from arcspan.errors import ArcspanError
from arcspan.files import refuse_to_overwrite
from arcspan.parser import Arc, Parse, Parser, Query, Span
from arcspan.treebanks import Pair, format_conllu
from arcspan.treebanks.pairs import Place, read_places
from arcspan.treebanks.streams import open_outputs
from arcspan.trees import ConstituencyTree, DependencyTree


@dataclass(frozen=True)
class Completion:
    """A pair with the probability of its new tree; or why there is none."""

    pair: Pair | None
    probability: float = 0.0
    why: str = ""


def complete(parser: Parser, pairs: Iterable[Pair], style: str | None = None) -> Iterator[Completion]:
    """The pairs of sentences that have one tree each, with both, in order."""
    under_way: deque[Pair | Completion] = deque()

    def ask() -> Iterator[Any]:
        for pair in pairs:
            why = ""
            if pair.dependencies is not None and not pair.dependencies.is_projective:
                why = "not projective"
            elif parser.predictor.chart_bytes(len(pair.words), sums=True) > parser.predictor.budget.memory:
                why = "too long"
            under_way.append(Completion(None, why=why) if why else pair)
            # A sentence that is left out goes along empty, so that parses stay in step.
            yield ((), Query()) if why else (pair.words, question(pair, style))

    for (parse,) in parser.stream(ask()):
        asked = under_way.popleft()
        yield asked if isinstance(asked, Completion) else _completion(asked, parse)


def question(pair: Pair, style: str | None = None) -> Query:
    """What a parser is asked about a sentence with one gold tree, all of which the parse must have."""
    require: list[Arc | Span]
    if pair.dependencies is not None:
        require = [Arc(head, m) for m, head in enumerate(pair.dependencies.heads, 1)]
    else:
        spans = {
            (i, j) for i, j, _ in pair.constituency.without_wrapper().spans if 1 < j - i < len(pair.words)
        }
        require = [Span(i, j) for i, j in sorted(spans)]
    return Query(require=tuple(require), confidence=True, style=style)


def _completion(pair: Pair, parse: Parse) -> Completion:
    sure = parse.confidence
    if parse.error is not None or sure is None:
        return Completion(None, why="outside the search")
    if pair.dependencies is not None:
        gold = pair.dependencies
        tags = gold.tags if any(tag not in ("", "_") for tag in gold.tags) else parse.tags
        tree = ConstituencyTree(pair.words, tags, parse.constituency.spans)
        return Completion(Pair(tree, gold), sure.constituency)
    new = parse.dependencies
    rows = pair.constituency.tags, new.upos, new.lemmas, new.features
    return Completion(
        Pair(pair.constituency, DependencyTree(new.heads, new.relations, pair.words, *rows)), sure.dependency
    )


def complete_files(
    parser: Parser,
    brackets: str | None,
    conll: str | None,
    outputs: tuple[str, str],
    *,
    least: float,
    style: str | None,
    watch: Callable[[Iterable[Place], str], Iterator[Place]],
) -> Counter[str]:
    """Write the pairs of a file's sentences; returns how many were written, and how many left out, by reason.

    The gold layer is written as it stands in its file, comments and all columns included.
    """
    if not parser.predictor.joint:
        raise ArcspanError(
            "to complete a treebank takes a model that finds both trees at once (mtl, joint1o or joint2o)"
        )
    for output in outputs:
        refuse_to_overwrite(output, brackets, conll)
    parser.query(style=style)
    counts: Counter[str] = Counter()
    places: deque[Place] = deque()

    def pairs() -> Iterator[Pair]:
        for place in watch(read_places(brackets, conll), brackets or conll or ""):
            if place.pair is None:
                raise place.problems[0].error()
            places.append(place)
            yield place.pair

    with open_outputs(*outputs) as (trees, rows):
        for done in complete(parser, pairs(), style):
            place = places.popleft()
            why = done.why or ("" if done.probability >= least else f"below {least:g}")
            counts[why or "written"] += 1
            if why or done.pair is None:
                continue
            assert trees is not None and rows is not None
            unit, block = place.unit, place.block
            trees.write(" ".join(unit.text.split("\n")) if unit else done.pair.constituency.brackets())
            trees.write("\n")
            rows.write("\n".join(block.lines) + "\n\n" if block else _silver(done))
    return counts


def _silver(done: Completion) -> str:
    assert done.pair is not None
    return format_conllu(
        done.pair.dependencies,
        [f"# text = {' '.join(done.pair.words)}", f"# probability = {done.probability:.4f}"],
    )
