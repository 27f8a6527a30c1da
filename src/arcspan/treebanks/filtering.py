"""Filters that keep sentences of a treebank as they are, comments and all columns included.

In CoNLL-U a document begins with the comment `# newdoc`, often with `# newdoc id = ...`; comments
beside it, such as `# genre = ...`, hold for the whole document. Licences often differ from document
to document, and so a source of training data may leave some out. A bracket file beside the CoNLL
file is filtered with it. Trees are never changed here; `rewriting` does that.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

from arcspan.errors import ArcspanError
from arcspan.treebanks.pairs import Files, Pair, ReadingReport, Watch, read_entries
from arcspan.treebanks.streams import open_outputs, read_lines
from arcspan.trees import compatible


class DocumentFilter:
    """A filter of sentences by the comments of their documents; call it in the order of the file.

    `without` and `only` map the name of a comment to values: {"genre": ["essay", "letter"], "newdoc
    id": [...]}. A document is kept that has none of the values of `without` and, of each comment
    that `only` names, one of its values.

    >>> keep = DocumentFilter(without={"genre": ["essay"]})
    >>> keep(["# newdoc id = a", "# genre = essay"]), keep(["# sent_id = a2"])
    (False, False)
    >>> keep(["# newdoc id = b"])
    True
    """

    def __init__(
        self,
        without: Mapping[str, Collection[str]] | None = None,
        only: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self.without = {key: frozenset(values) for key, values in (without or {}).items()}
        self.only = {key: frozenset(values) for key, values in (only or {}).items()}
        # Sentences before the first document have no comments of a document.
        self._keep = not self.only
        self._comments: set[tuple[str, str]] = set()

    def __call__(self, lines: Sequence[str]) -> bool:
        """Return True to keep the sentence with these lines."""
        comments = {}
        for line in lines:
            if line.startswith("#"):
                key, _, value = line[1:].partition("=")
                comments[key.strip()] = value.strip()
        # Comments of later sentences do not change the decision on their document.
        if any(key.startswith("newdoc") for key in comments):
            self._comments.update(comments.items())
            is_wanted = all(comments.get(key) in values for key, values in self.only.items())
            is_unwanted = any(comments.get(key) in values for key, values in self.without.items())
            self._keep = is_wanted and not is_unwanted
        return self._keep

    def unused(self) -> list[str]:
        """Return values that no document had, after all were read: most likely misspelt."""
        unused = set()
        for table in (self.without, self.only):
            for key, values in table.items():
                unused |= {
                    f"{key} = {value}" for value in values if (key, value) not in self._comments
                }
        return sorted(unused)


def read_values(option: str) -> tuple[str, frozenset[str]]:
    """Read an option "name=value,value" or "name=@FILE" as a comment's name and values.

    A file holds a value per line; what follows a tab is ignored.

    >>> name, values = read_values("genre=essay,letter")
    >>> name, sorted(values)
    ('genre', ['essay', 'letter'])
    """
    name, _, text = option.partition("=")
    if not name.strip() or not text.strip():
        raise ArcspanError(f"{option!r} is not NAME=VALUE,VALUE... or NAME=@FILE")
    values: Iterable[str] = text.split(",")
    if text.startswith("@"):
        # A table of documents with their names in the first column is such a file.
        values = (line.split("\t")[0] for line in read_lines(text[1:]))
    return name.strip(), frozenset(value.strip() for value in values if value.strip())


@dataclasses.dataclass
class FilterReport(ReadingReport):
    """Counts of the sentences that `filter_pairs` wrote and, by reason, left out."""

    written: int = 0
    left_out: Counter[str] = dataclasses.field(default_factory=Counter)


def filter_pairs(
    files: Files,
    outputs: Files,
    *,
    mismatch: Literal["strict", "skip"] = "strict",
    lengths: tuple[int, int | None] = (1, None),
    incompatible: bool = False,
    keep: Callable[[Sequence[str]], bool] | None = None,
    watch: Watch | None = None,
) -> FilterReport:
    """Copy the sentences that pass from a bracket file, a CoNLL file or both to such files.

    mismatch      "strict" raises FileError for a sentence that is not a pair, "skip" leaves it out
    lengths       the least and the most words
    incompatible  keep also sentences whose trees are not compatible
    keep          called with each sentence's lines in the CoNLL file (see `DocumentFilter`)
    watch         wraps the entries that are read, for a progress bar
    """
    report = FilterReport()
    with open_outputs(*outputs) as (trees, rows):
        for entry in read_entries(*files, watch=watch):
            if keep is not None and entry.sentence is not None and not keep(entry.sentence.lines):
                report.left_out["other documents"] += 1
                continue
            pair = report.pair_of(entry, mismatch)
            if pair is None:
                continue
            if reason := _reason_to_leave_out(pair, lengths, incompatible):
                report.left_out[reason] += 1
                continue
            report.written += 1
            if trees is not None and entry.unit is not None:
                trees.write(entry.unit.on_one_line())
            if rows is not None and entry.sentence is not None:
                rows.write(str(entry.sentence))
    return report


def _reason_to_leave_out(pair: Pair, lengths: tuple[int, int | None], incompatible: bool) -> str:
    """Return the reason to leave a sentence out, or ""."""
    least, most = lengths
    n = len(pair.words)
    if n < least or (most is not None and n > most):
        return "too short or too long"
    return "" if incompatible or None in pair or compatible(*pair) else "incompatible"
