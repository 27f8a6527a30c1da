"""Silver pairs: sentences with one gold tree get the other from a parser that keeps the gold one.

Of a d-tree all arcs are required, of a c-tree all spans. So the two trees are compatible, and the
confidence in the new one is its probability among all trees that are compatible with the gold one.
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


def completion_query(pair: Pair, style: str | None = None) -> Query:
    """Return the query for a sentence with one gold tree, all of which the parse must have."""
    require: list[Arc | Span]
    if pair.dependencies is not None:
        require = [Arc(head, m) for m, head in enumerate(pair.dependencies.heads, 1)]
    else:
        # Single words and the whole sentence are spans of every tree.
        n = len(pair.words)
        spans = {(i, j) for i, j, _ in pair.constituency.without_wrapper().spans if 1 < j - i < n}
        require = [Span(i, j) for i, j in sorted(spans)]
    return Query(require=tuple(require), confidence=True, style=style)


def _completed(pair: Pair, parse: Parse) -> Pair:
    """Return the pair with the tree of the parse that it did not have."""
    if pair.dependencies is not None:
        gold = pair.dependencies
        has_tags = any(tag not in ("", "_") for tag in gold.tags)
        tags = gold.tags if has_tags else parse.tags
        return Pair(ConstituencyTree(pair.words, tags, parse.constituency.spans), gold)
    new = parse.dependencies
    dependencies = DependencyTree(
        new.heads,
        new.relations,
        pair.words,
        pair.constituency.tags,
        new.upos,
        new.lemmas,
        new.features,
    )
    return Pair(pair.constituency, dependencies)


def complete_files(
    parser: Parser,
    files: Files,
    outputs: tuple[str, str],
    *,
    least: float,
    style: str | None,
    watch: Watch,
) -> Counter[str]:
    """Write pairs of a file's sentences, the gold layer as it stands.

    Return how many sentences were written, and how many left out, by reason.
    """
    if not parser.predictor.model.joint:
        raise ArcspanError(
            "to complete a treebank takes a model that finds both trees at once "
            "(mtl, joint1o or joint2o)"
        )
    for output in outputs:
        refuse_to_overwrite(output, *files)
    # An unknown style is an error before anything is read.
    parser.query(style=style)
    counts: Counter[str] = Counter()
    # The parser reads ahead: these are the sentences whose parses have not come yet.
    pending: deque[tuple[TreebankEntry, Pair]] = deque()

    def requests() -> Iterator[tuple[tuple[str, ...], Query]]:
        for entry in read_entries(*files, watch=watch):
            pair = entry.checked()
            needed = parser.predictor.model.chart_bytes(len(pair.words), sums=True)
            if pair.dependencies is not None and not pair.dependencies.is_projective:
                counts["not projective"] += 1
            elif needed > parser.predictor.budget.memory:
                counts["too long"] += 1
            else:
                pending.append((entry, pair))
                yield pair.words, completion_query(pair, style)

    with open_outputs(*outputs) as (trees, rows):
        assert trees is not None and rows is not None
        for (parse,) in parser.stream(requests()):
            entry, pair = pending.popleft()
            confidence = None if parse.error is not None else parse.confidence
            if confidence is None:
                counts["outside the search"] += 1
                continue
            if pair.dependencies is None:
                probability = confidence.dependency
            else:
                probability = confidence.constituency
            if probability < least:
                counts[f"below {least:g}"] += 1
                continue
            counts["written"] += 1
            completed = _completed(pair, parse)
            # The gold layer is copied as it was read, with all that arcspan does not read.
            if entry.unit is not None:
                trees.write(entry.unit.on_one_line())
            else:
                trees.write(completed.constituency.brackets() + "\n")
            if entry.sentence is not None:
                rows.write(str(entry.sentence))
            else:
                comments = [
                    f"# text = {' '.join(completed.words)}",
                    f"# probability = {probability:.4f}",
                ]
                rows.write(format_conllu(completed.dependencies, comments))
    return counts
