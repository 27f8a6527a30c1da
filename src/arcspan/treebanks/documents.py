"""Which documents of a treebank to read: by the comments that stand at their beginning.

In CoNLL-U a document begins with the comment `# newdoc`, often with `# newdoc id = ...`; comments beside it, such as
`# genre = ...`, hold for the whole document. Licences often differ from document to document, and so a source of
training data may leave some out. A bracket file beside the CoNLL file is filtered with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from arcspan.errors import ArcspanError
from arcspan.treebanks.streams import read_lines


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
        comments = dict(_comments(lines))
        if any(key.startswith("newdoc") for key in comments):
            self._seen.update(comments.items())
            self._keep = all(comments.get(key) in values for key, values in self.only.items()) and not any(
                comments.get(key) in values for key, values in self.without.items()
            )
        return self._keep

    def unused(self) -> list[str]:
        """Values that no document had, once all were read: most likely misspelt."""
        asked = {(key, one) for table in (self.without, self.only) for key in table for one in table[key]}
        return sorted(f"{key} = {value}" for key, value in asked - self._seen)


def _comments(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if not line.startswith("#"):
            break
        key, _, value = line[1:].partition("=")
        yield key.strip(), value.strip()


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
