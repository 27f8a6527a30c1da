"""Lint a treebank, paired or of one layer: every problem with its place, rather than the first one only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from arcspan.errors import FileError
from arcspan.treebanks.brackets import Unit
from arcspan.treebanks.conll import Block, ConlluSentence
from arcspan.treebanks.pairs import Finding, Place, plain, read_places, word_line
from arcspan.treebanks.streams import Source, name_of
from arcspan.trees import WRAPPERS, ConstituencyTree, DependencyTree, why_incompatible
from arcspan.trees.constituency import EMPTY_TAG

#: What is looked for, by name, so that a kind can be left out.
KINDS = {
    "brackets": "what is not a tree in the bracket file",
    "columns": "what is not a tree in the CoNLL file",
    "words": "words that differ between the two files",
    "missing": "a tree or sentence that the other file has not",
    "incompatible": "trees that do not fit each other, with the constituent and the words to blame",
    "tags": "a tag in the bracket file that differs from XPOS",
    "labels": "a constituent without label, an empty element, a wrapper inside a tree",
    "relations": "an arc without relation",
    "text": "a comment `# text` that is not the words' text, spaces aside",
    "ids": "a `# sent_id` that an earlier sentence has",
}


def check(
    brackets: Source | None,
    conll: Source | None,
    *,
    ignore: Collection[str] = (),
    watch: Callable[[Iterable[Place], str], Iterable[Place]] | None = None,
    **options: Any,
) -> Iterator[Finding]:
    """Every problem of a pair of files, or of a single one, in order, streamed; `ignore` leaves out kinds (see KINDS).

    `watch` wraps the places that are read, for a progress bar; `options` go to
    `ConstituencyTree.from_brackets`. Files that cannot be read at all raise FileError.
    """
    unknown = set(ignore) - set(KINDS)
    if unknown:
        raise ValueError(
            f"no such kind of problem: {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}"
        )
    names = name_of(brackets or ""), name_of(conll or "")
    seen: dict[str, int] = {}
    places: Iterable[Place] = read_places(brackets, conll, **options)
    for place in places if watch is None else watch(places, names[0] or names[1]):
        problems = list(place.problems)
        constituency, dependencies = place.pair or (None, None)
        if constituency is not None and dependencies is not None:
            problems += _check_fit(place, constituency, dependencies, names)
        if constituency is not None and place.unit is not None:
            problems += _check_labels(place.unit, constituency, names[0])
        if place.block is not None:
            if dependencies is not None:
                problems += _check_relations(place.block, dependencies, names[1])
            problems += _check_comments(place.block, names[1], seen)
        yield from (problem for problem in problems if problem.kind not in ignore)


def _check_fit(
    place: Place, constituency: ConstituencyTree, dependencies: DependencyTree, names: tuple[str, str]
) -> Iterator[Finding]:
    unit, block = place.unit, place.block
    assert unit is not None and block is not None
    why = why_incompatible(constituency, dependencies)
    if why is not None:
        crossing = why.kind == "crossing"
        path, line = (names[1], word_line(block, why.words[0])) if crossing else (names[0], unit.line)
        yield Finding("incompatible", path, line, str(why))
    for m, (one, other) in enumerate(zip(constituency.tags, dependencies.tags, strict=True), 1):
        if one and other and one != other:
            word = dependencies.words[m - 1]
            what = f"word {m}, {word!r}, has tag {other} here and {one} at {names[0]}:{unit.line}"
            yield Finding("tags", names[1], word_line(block, m), what)


def _check_labels(unit: Unit, tree: ConstituencyTree, path: str) -> Iterator[Finding]:
    for m, tag in enumerate(tree.tags, 1):
        if tag == EMPTY_TAG:
            yield Finding("labels", path, unit.line, f"word {m} is an empty element ({EMPTY_TAG})")
    for number, (i, j, label) in enumerate(tree.spans):
        if number and label in WRAPPERS:
            what = f"a wrapper ({label}) inside the tree" if label else f"constituent ({i}, {j}) has no label"
            yield Finding("labels", path, unit.line, what)


def _check_relations(block: Block, tree: DependencyTree, path: str) -> Iterator[Finding]:
    for m, relation in enumerate(tree.relations, 1):
        if relation in ("", "_"):
            what = f"word {m}, {tree.words[m - 1]!r}, has no relation to its head"
            yield Finding("relations", path, word_line(block, m), what)


def _check_comments(block: Block, path: str, seen: dict[str, int]) -> Iterator[Finding]:
    sentence = ConlluSentence(block.lines, line=block.line, path=path)
    name = sentence.sent_id
    if name is not None:
        first = seen.setdefault(name, block.line)
        if first != block.line:
            yield Finding(
                "ids", path, block.line, f"sent_id {name} is also that of the sentence at line {first}"
            )
    stated = sentence.comment("text")
    try:
        spelled = sentence.spell()
    except FileError:  # reported as a problem of the columns
        return
    if stated is not None and not _same_text(stated, spelled):
        yield Finding("text", path, block.line, f"the text is {stated!r}, the words make {spelled!r}")


def _same_text(one: str, other: str) -> bool:
    """Whether two texts are the same without their spaces, as they are or up to escapes."""
    pieces, others = one.split(), other.split()
    if "".join(pieces) == "".join(others):
        return True
    letters, other_letters = ("".join(map(plain, text)).replace("_", "") for text in (pieces, others))
    return letters == other_letters
