"""Silver pairs: sentences with one gold tree get the other by a parser, which is held to the gold one.

Given a d-tree, all its arcs are required; given a c-tree, all its spans. So the two trees fit each other, and how sure
the parser is of the new one is its probability among all that fit.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

from arcspan.errors import ArcspanError
from arcspan.files import refuse_to_overwrite
from arcspan.parser import Arc, Parser, Span
from arcspan.prediction.confidence import log_softmax
from arcspan.prediction.prediction import Prediction, constituency_of, content, dependencies_of
from arcspan.prediction.sentence_scores import LengthError, SentenceScores
from arcspan.treebanks import Pair, format_conllu
from arcspan.treebanks.pairs import Aligned, read_aligned
from arcspan.treebanks.streams import open_outputs
from arcspan.trees import ConstituencyTree, DependencyTree

if TYPE_CHECKING:
    from arcspan.prediction.outputs import Style

_AHEAD = 64  # sentences under way


class Completed(NamedTuple):
    """A pair with the probability of its new tree; or why there is none."""

    pair: Pair | None
    probability: float = 0.0
    why: str = ""


def complete(parser: Parser, pair: Pair, style: Style | None = None) -> Completed:
    """The pair of a sentence that has one tree, with both."""
    words, gold = pair.words, pair.dependencies
    if gold is not None and not gold.is_projective:
        return Completed(None, why="not projective")
    require: list[Any]
    if gold is not None:
        require = [Arc(head, m) for m, head in enumerate(gold.heads, 1)]
    else:
        spans = {(i, j) for i, j, _ in pair.constituency.without_wrapper().spans if 1 < j - i < len(words)}
        require = [Span(i, j) for i, j in sorted(spans)]
    try:
        scores = SentenceScores(parser.predictor, words, None, style, require=require)
        best = scores.best()
        if gold is not None:
            probability = _constituents(scores, best)
        else:
            probability = _dependencies(scores, best)
    except LengthError:
        return Completed(None, why="too long")
    except ArcspanError:
        return Completed(None, why="outside the search")
    said = content(words, best, parser.inventories)
    if gold is not None:
        tree = constituency_of(words, said)
        assert tree is not None
        tags = gold.tags if any(tag not in ("", "_") for tag in gold.tags) else tree.tags
        return Completed(Pair(ConstituencyTree(words, tags, tree.spans), gold), probability)
    found = dependencies_of(words, said._replace(tags=pair.constituency.tags))
    assert found is not None
    return Completed(Pair(pair.constituency, found), probability)


def _constituents(scores: SentenceScores, best: Prediction) -> float:
    """The probability of the c-tree among those that fit the arcs."""
    calibration = scores.predictor.calibration
    found = scores.structure(replace(best, heads=None), calibration.structure_temperature)
    if best.nodes is not None and scores.labels is not None:
        i, j, _, label = best.nodes.T
        chances = log_softmax(scores.labels[i, j], calibration.label_temperature)
        found += float(chances[range(len(label)), label].sum())
    return exp(found)


def _dependencies(scores: SentenceScores, best: Prediction) -> float:
    """The probability of the d-tree among those that fit the spans."""
    calibration = scores.predictor.calibration
    found = scores.structure(replace(best, nodes=None), calibration.structure_temperature)
    if best.heads is not None and best.relations is not None:
        chances = log_softmax(scores.relations(best.heads), calibration.relation_temperature)
        found += float(chances[range(scores.n), best.relations].sum())
    return exp(found)


def complete_files(
    parser: Parser,
    brackets: str | None,
    conll: str | None,
    outputs: tuple[str, str],
    *,
    least: float,
    style: str | None,
    watch: Callable[[Iterable[Aligned], str], Iterator[Aligned]],
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
    asked = parser._style(style)
    counts: Counter[str] = Counter()
    with open_outputs(*outputs) as (trees, rows):
        for place, done in _in_order(
            watch(read_aligned(brackets, conll), brackets or conll or ""),
            lambda pair: complete(parser, pair, asked),
            parser.predictor.threads,
        ):
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


def _silver(done: Completed) -> str:
    assert done.pair is not None
    tree: DependencyTree = done.pair.dependencies
    return format_conllu(
        tree, [f"# text = {' '.join(done.pair.words)}", f"# probability = {done.probability:.4f}"]
    )


def _in_order(
    places: Iterator[Aligned], work: Callable[[Pair], Completed], threads: int
) -> Iterator[tuple[Aligned, Completed]]:
    """Work on several sentences at once, a few ahead of what is taken."""
    under_way: deque[tuple[Aligned, Future[Completed]]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="arcspan") as pool:
        for place in places:
            if place.pair is None:
                raise place.problems[0].error()
            under_way.append((place, pool.submit(work, place.pair)))
            if len(under_way) > _AHEAD:
                first, done = under_way.popleft()
                yield first, done.result()
        for first, done in under_way:
            yield first, done.result()
