"""Keep some sentences of a treebank as they stand, comments and all columns included.

In CoNLL-U a document begins with the comment `# newdoc`, often with `# newdoc id = ...`; comments beside it, such as
`# genre = ...`, hold for the whole document. Licences often differ from document to document, and so a source of
training data may leave some out. A bracket file beside the CoNLL file is filtered with it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

from arcspan.errors import ArcspanError
from arcspan.treebanks.pairs import Files, Pair, ReadingReport, Watch, read_places
from arcspan.treebanks.streams import open_outputs, read_lines
from arcspan.trees import compatible


class DocumentFilter:
    """Whether to keep a sentence, by the comments of its document; ask in the order of the file.

    `without` and `only` map the name of a comment to values: {"genre": ["essay", "letter"], "newdoc id": [...]}. A
    document is kept that has none of the values of `without` and, of each comment that `only` names, one of its values.

    >>> keep = DocumentFilter(without={"genre": ["essay"]})
    >>> [keep(lines) for lines in (["# newdoc id = a", "# genre = essay"], ["# sent_id = a2"], ["# newdoc id = b"])]
    [False, False, True]
    """

    def __init__(
        self,
        without: Mapping[str, Collection[str]] | None = None,
        only: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self.without = {key: frozenset(values) for key, values in (without or {}).items()}
        self.only = {key: frozenset(values) for key, values in (only or {}).items()}
        self._keep = not self.only
        self._seen: set[tuple[str, str]] = set()

    def __call__(self, lines: Sequence[str]) -> bool:
        """Whether to keep the sentence with these lines."""
        parts = (line[1:].partition("=") for line in lines if line.startswith("#"))
        comments = {key.strip(): value.strip() for key, _, value in parts}
        if any(key.startswith("newdoc") for key in comments):
            self._seen.update(comments.items())
            self._keep = all(
                comments.get(key) in values for key, values in self.only.items()
            ) and not any(comments.get(key) in values for key, values in self.without.items())
        return self._keep

    def unused(self) -> list[str]:
        """Values that no document had, once all were read: most likely misspelt."""
        asked = {
            (key, one) for table in (self.without, self.only) for key in table for one in table[key]
        }
        return sorted(f"{key} = {value}" for key, value in asked - self._seen)


def read_values(option: str) -> tuple[str, frozenset[str]]:
    """An option "name=value,value" or "name=@FILE" as a comment's name and values.

    A file holds a value per line; what follows a tab is ignored.

    >>> name, values = read_values("genre=essay,letter")
    >>> name, sorted(values)
    ('genre', ['essay', 'letter'])
    """
    name, equals, values = option.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise ArcspanError(f"{option!r} is not NAME=VALUE,VALUE... or NAME=@FILE")
    found: Iterable[str] = values.split(",")
    if values.startswith("@"):
        found = (line.split("\t")[0] for line in read_lines(values[1:]))
    return name.strip(), frozenset(value.strip() for value in found if value.strip())


@dataclasses.dataclass
class FilterReport(ReadingReport):
    """What `filter_pairs` wrote, and how many sentences it left out by reason."""

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
    """Write the sentences that pass of a bracket file and a CoNLL file, one of which may be None, to such files.

    mismatch      what to do with a sentence that is not a pair
    lengths       the least and the most words
    incompatible  keep also sentences whose trees do not fit each other
    keep          asked about each sentence's lines in the CoNLL file (see `DocumentFilter`)
    watch         wraps the places that are read, for a progress bar
    """
    report = FilterReport()

    def why_not(pair: Pair) -> str:
        n, (least, most) = len(pair.words), lengths
        if n < least or (most is not None and n > most):
            return "too short or too long"
        return "" if incompatible or None in pair or compatible(*pair) else "incompatible"

    with open_outputs(*outputs) as (trees, rows):
        for place in read_places(*files, watch=watch):
            if keep is not None and place.sentence is not None and not keep(place.sentence.lines):
                report.left_out["other documents"] += 1
            elif (pair := report.pair_of(place, mismatch)) is None:
                pass
            elif reason := why_not(pair):
                report.left_out[reason] += 1
            else:
                report.written += 1
                if trees is not None and place.unit is not None:
                    trees.write(place.unit.on_one_line())
                if rows is not None and place.sentence is not None:
                    rows.write(str(place.sentence))
    return report
