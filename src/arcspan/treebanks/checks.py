"""Checks of a treebank, paired or of one layer: every problem, not only the first one.

Problems are yielded as data; the command line prints and counts them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from arcspan.errors import FileError
from arcspan.treebanks.brackets import Unit
from arcspan.treebanks.conll import ConlluSentence
from arcspan.treebanks.pairs import Finding, Watch, plain, read_entries
from arcspan.treebanks.streams import PathLike, name_of
from arcspan.trees import WRAPPERS, ConstituencyTree, DependencyTree, why_incompatible
from arcspan.trees.constituency import EMPTY_TAG

KINDS = {
    "brackets": "entries of the bracket file that are not trees",
    "columns": "sentences of the CoNLL file that are not trees",
    "words": "words that differ between the two files",
    "missing": "a tree or sentence that only one file has",
    "incompatible": "incompatible trees, with the constituent and the words to blame",
    "tags": "a tag in the bracket file that differs from XPOS",
    "labels": "a constituent without label, an empty element, a wrapper inside a tree",
    "relations": "an arc without relation",
    "text": "a comment `# text` that differs from the words, spaces aside",
    "ids": "a repeated `# sent_id`",
}
"""The kinds of problems by name, and their descriptions."""


def check(
    brackets: PathLike | None,
    conll: PathLike | None,
    *,
    ignore: Collection[str] = (),
    watch: Watch | None = None,
    **options: Any,
) -> Iterator[Finding]:
    """Yield every problem of a pair of files, or of a single one, in order.

    `ignore` leaves out kinds (see KINDS). `watch` wraps the entries that are read, for a progress
    bar; `options` go to `ConstituencyTree.from_brackets`. Files that cannot be read at all raise
    FileError.
    """
    if unknown := set(ignore) - set(KINDS):
        names = ", ".join(sorted(unknown))
        raise ValueError(f"no such kind of problem: {names}; there are {', '.join(KINDS)}")
    path = name_of(brackets or conll or "")
    line_of_id: dict[str, int] = {}
    for unit, sentence, pair, problems in read_entries(brackets, conll, watch=watch, **options):
        # Without a pair there is nothing further to compare.
        findings = list(problems)
        constituency, dependencies = pair or (None, None)
        if constituency is not None and unit is not None:
            if sentence is not None and dependencies is not None:
                findings += _check_fit(constituency, dependencies, sentence, path, unit.line)
            findings += _check_labels(unit, constituency, path)
        if sentence is not None:
            if dependencies is not None:
                findings += _check_relations(sentence, dependencies)
            findings += _check_comments(sentence, line_of_id)
        for finding in findings:
            if finding.kind not in ignore:
                yield finding


def _check_fit(
    constituency: ConstituencyTree,
    tree: DependencyTree,
    sentence: ConlluSentence,
    path: str,
    line: int,
) -> Iterator[Finding]:
    """Yield incompatibility and different tags of the trees; the c-tree is at `path`, `line`."""
    reason = why_incompatible(constituency, tree)
    if reason is not None and reason.kind == "crossing":
        # The dependency tree is to blame.
        word_line = sentence.line_of(reason.words[0])
        yield Finding("incompatible", sentence.path, word_line, str(reason))
    elif reason is not None:
        yield Finding("incompatible", path, line, str(reason))
    columns = zip(tree.words, tree.tags, constituency.tags, strict=True)
    for m, (word, xpos, tag) in enumerate(columns, 1):
        if tag and xpos and tag != xpos:
            message = f"word {m}, {word!r}, has tag {xpos} here and {tag} at {path}:{line}"
            yield Finding("tags", sentence.path, sentence.line_of(m), message)


def _check_labels(unit: Unit, tree: ConstituencyTree, path: str) -> Iterator[Finding]:
    """Yield empty elements, wrappers inside the tree and empty labels."""
    for m, tag in enumerate(tree.tags, 1):
        if tag == EMPTY_TAG:
            yield Finding("labels", path, unit.line, f"word {m} is an empty element ({EMPTY_TAG})")
    # The outermost constituent may be a wrapper.
    for i, j, label in tree.spans[1:]:
        if label in WRAPPERS:
            message = f"a wrapper ({label}) inside the tree"
            if not label:
                message = f"constituent ({i}, {j}) has no label"
            yield Finding("labels", path, unit.line, message)


def _check_relations(sentence: ConlluSentence, tree: DependencyTree) -> Iterator[Finding]:
    """Yield arcs without relation."""
    for m, relation in enumerate(tree.relations, 1):
        if relation in ("", "_"):
            message = f"word {m}, {tree.words[m - 1]!r}, has no relation to its head"
            yield Finding("relations", sentence.path, sentence.line_of(m), message)


def _check_comments(sentence: ConlluSentence, line_of_id: dict[str, int]) -> Iterator[Finding]:
    """Yield a repeated sent_id, and a text that the words do not make."""
    path = sentence.path
    line = sentence.line
    sent_id = sentence.sent_id
    if sent_id is not None:
        first_line = line_of_id.setdefault(sent_id, line)
        # The first occurrence is the sentence itself.
        if first_line != line:
            message = f"sent_id {sent_id} is also that of the sentence at line {first_line}"
            yield Finding("ids", path, line, message)
    text = sentence.comment("text")
    try:
        spelled = sentence.spell()
    except FileError:  # reported as a problem of the columns
        return
    if text is not None and not _is_same_text(text, spelled):
        yield Finding("text", path, line, f"the text is {text!r}, the words make {spelled!r}")


def _is_same_text(text: str, spelled: str) -> bool:
    """Compare two texts without their spaces, as they are or up to escapes."""
    words = text.split()
    spelled_words = spelled.split()
    if "".join(words) == "".join(spelled_words):
        return True
    return _plain_letters(words) == _plain_letters(spelled_words)


def _plain_letters(words: Iterable[str]) -> str:
    """Join words without escapes; `plain` turns spaces inside of them into "_"."""
    return "".join(map(plain, words)).replace("_", "")
