"""Lint a treebank, paired or of one layer: every problem with its place, rather than the first one only."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from arcspan.errors import FileError
from arcspan.treebanks.brackets import Unit
from arcspan.treebanks.conll import ConlluSentence
from arcspan.treebanks.pairs import Finding, Watch, plain, read_places
from arcspan.treebanks.streams import Source, name_of
from arcspan.trees import WRAPPERS, ConstituencyTree, DependencyTree, why_incompatible
from arcspan.trees.constituency import EMPTY_TAG

#: What is looked for, by name, so that a kind can be left out.
KINDS = {
    "brackets": "entries of the bracket file that are not trees",
    "columns": "sentences of the CoNLL file that are not trees",
    "words": "words that differ between the two files",
    "missing": "a tree or sentence that only one file has",
    "incompatible": "trees that do not fit each other, with the constituent and the words to blame",
    "tags": "a tag in the bracket file that differs from XPOS",
    "labels": "a constituent without label, an empty element, a wrapper inside a tree",
    "relations": "an arc without relation",
    "text": "a comment `# text` that differs from the words, spaces aside",
    "ids": "a repeated `# sent_id`",
}


def check(
    brackets: Source | None,
    conll: Source | None,
    *,
    ignore: Collection[str] = (),
    watch: Watch | None = None,
    **options: Any,
) -> Iterator[Finding]:
    """Every problem of a pair of files, or of a single one, in order, streamed; `ignore` leaves out kinds (see KINDS).

    `watch` wraps the places that are read, for a progress bar; `options` go to
    `ConstituencyTree.from_brackets`. Files that cannot be read at all raise FileError.
    """
    if unknown := set(ignore) - set(KINDS):
        names = ", ".join(sorted(unknown))
        raise ValueError(f"no such kind of problem: {names}; there are {', '.join(KINDS)}")
    path, seen = name_of(brackets or conll or ""), dict[str, int]()
    for unit, sentence, pair, problems in read_places(brackets, conll, watch=watch, **options):
        found = list(problems)
        constituency, dependencies = pair or (None, None)
        if constituency is not None and unit is not None:
            if sentence is not None and dependencies is not None:
                found += _check_fit(constituency, dependencies, sentence, path, unit.line)
            found += _check_labels(unit, constituency, path)
        if sentence is not None:
            if dependencies is not None:
                found += _check_relations(sentence, dependencies)
            found += _check_comments(sentence, seen)
        yield from (problem for problem in found if problem.kind not in ignore)


def _check_fit(
    constituency: ConstituencyTree,
    tree: DependencyTree,
    sentence: ConlluSentence,
    path: str,
    line: int,
) -> Iterator[Finding]:
    why = why_incompatible(constituency, tree)
    if why is not None and why.kind == "crossing":
        yield Finding("incompatible", sentence.path, sentence.line_of(why.words[0]), str(why))
    elif why is not None:
        yield Finding("incompatible", path, line, str(why))
    for m, (one, other) in enumerate(zip(constituency.tags, tree.tags, strict=True), 1):
        if one and other and one != other:
            what = (
                f"word {m}, {tree.words[m - 1]!r}, has tag {other} here and {one} at {path}:{line}"
            )
            yield Finding("tags", sentence.path, sentence.line_of(m), what)


def _check_labels(unit: Unit, tree: ConstituencyTree, path: str) -> Iterator[Finding]:
    for m, tag in enumerate(tree.tags, 1):
        if tag == EMPTY_TAG:
            yield Finding("labels", path, unit.line, f"word {m} is an empty element ({EMPTY_TAG})")
    for number, (i, j, label) in enumerate(tree.spans):
        if number and label in WRAPPERS:
            what = (
                f"a wrapper ({label}) inside the tree"
                if label
                else f"constituent ({i}, {j}) has no label"
            )
            yield Finding("labels", path, unit.line, what)


def _check_relations(sentence: ConlluSentence, tree: DependencyTree) -> Iterator[Finding]:
    for m, relation in enumerate(tree.relations, 1):
        if relation in ("", "_"):
            what = f"word {m}, {tree.words[m - 1]!r}, has no relation to its head"
            yield Finding("relations", sentence.path, sentence.line_of(m), what)


def _check_comments(sentence: ConlluSentence, seen: dict[str, int]) -> Iterator[Finding]:
    path, line, name = sentence.path, sentence.line, sentence.sent_id
    if name is not None and (first := seen.setdefault(name, line)) != line:
        yield Finding(
            "ids", path, line, f"sent_id {name} is also that of the sentence at line {first}"
        )
    stated = sentence.comment("text")
    try:
        spelled = sentence.spell()
    except FileError:  # reported as a problem of the columns
        return
    if stated is not None and not _same_text(stated, spelled):
        yield Finding("text", path, line, f"the text is {stated!r}, the words make {spelled!r}")


def _same_text(one: str, other: str) -> bool:
    """Whether two texts are the same without their spaces, as they are or up to escapes."""
    pieces, others = one.split(), other.split()
    if "".join(pieces) == "".join(others):
        return True
    letters, other_letters = (
        "".join(map(plain, text)).replace("_", "") for text in (pieces, others)
    )
    return letters == other_letters
