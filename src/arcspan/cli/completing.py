"""Silver pairs: sentences with one gold tree get the other by a parser, which is held to the gold one.

Given a d-tree, all its arcs are required; given a c-tree, all its spans. So the two trees fit each other, and how sure
the parser is of the new one is its probability among all that fit.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from arcspan.errors import ArcspanError
from arcspan.files import refuse_to_overwrite
from arcspan.parser import Arc, Parse, Parser, Query, Span
from arcspan.treebanks import Pair, format_conllu
from arcspan.treebanks.pairs import Files, TreebankEntry, Watch, read_entries
from arcspan.treebanks.streams import open_outputs
from arcspan.trees import ConstituencyTree, DependencyTree


def question(pair: Pair, style: str | None = None) -> Query:
    """What a parser is asked about a sentence with one gold tree, all of which the parse must have."""
    require: list[Arc | Span]
    if pair.dependencies is not None:
        require = [Arc(head, m) for m, head in enumerate(pair.dependencies.heads, 1)]
    else:
        spans = {
            (i, j)
            for i, j, _ in pair.constituency.without_wrapper().spans
            if 1 < j - i < len(pair.words)
        }
        require = [Span(i, j) for i, j in sorted(spans)]
    return Query(require=tuple(require), confidence=True, style=style)


def _completed(pair: Pair, parse: Parse) -> Pair:
    """The pair with the tree of the parse that it did not have."""
    if pair.dependencies is not None:
        gold = pair.dependencies
        tags = gold.tags if any(tag not in ("", "_") for tag in gold.tags) else parse.tags
        return Pair(ConstituencyTree(pair.words, tags, parse.constituency.spans), gold)
    new = parse.dependencies
    rows = pair.constituency.tags, new.upos, new.lemmas, new.features
    return Pair(pair.constituency, DependencyTree(new.heads, new.relations, pair.words, *rows))


def complete_files(
    parser: Parser,
    files: Files,
    outputs: tuple[str, str],
    *,
    least: float,
    style: str | None,
    watch: Watch,
) -> Counter[str]:
    """Write pairs of a file's sentences, the gold layer as it stands; how many, and how many left out, by reason."""
    if not parser.predictor.model.joint:
        raise ArcspanError(
            "to complete a treebank takes a model that finds both trees at once (mtl, joint1o or joint2o)"
        )
    for output in outputs:
        refuse_to_overwrite(output, *files)
    parser.query(style=style)
    counts: Counter[str] = Counter()
    under_way: deque[tuple[TreebankEntry, Pair]] = deque()

    def questions() -> Iterator[tuple[tuple[str, ...], Query]]:
        for place in read_entries(*files, watch=watch):
            pair = place.checked()
            if pair.dependencies is not None and not pair.dependencies.is_projective:
                counts["not projective"] += 1
            elif (
                parser.predictor.model.chart_bytes(len(pair.words), sums=True)
                > parser.predictor.budget.memory
            ):
                counts["too long"] += 1
            else:
                under_way.append((place, pair))
                yield pair.words, question(pair, style)

    with open_outputs(*outputs) as (trees, rows):
        assert trees is not None and rows is not None
        for (parse,) in parser.stream(questions()):
            (unit, sentence, *_), pair = under_way.popleft()
            sure = None if parse.error is not None else parse.confidence
            if sure is None:
                counts["outside the search"] += 1
                continue
            probability = sure.dependency if pair.dependencies is None else sure.constituency
            if probability < least:
                counts[f"below {least:g}"] += 1
                continue
            counts["written"] += 1
            both = _completed(pair, parse)
            trees.write(unit.on_one_line() if unit else both.constituency.brackets() + "\n")
            comments = [f"# text = {' '.join(both.words)}", f"# probability = {probability:.4f}"]
            rows.write(str(sentence) if sentence else format_conllu(both.dependencies, comments))
    return counts
