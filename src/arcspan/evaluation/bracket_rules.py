"""EVALB's rules from its parameter files: labels that do not count, and labels that are equal.

The rules of COLLINS.prm, which published figures for English use, are built in as `COLLINS`. Other
rules come from a `.prm` file, read as the C program reads it. `evalb` applies them.
"""

from __future__ import annotations

import functools
import os
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arcspan.errors import FileError
from arcspan.treebanks.streams import PathLike


@dataclass(frozen=True)
class BracketRules:
    """Rules for counting brackets.

    name: of these rules in signatures deleted: labels of brackets that do not count, and tags of
    words that are removed before spans are counted deleted_for_length: tags of words that do not
    count in a sentence's length (the cut-off) quotes: tags of quotation marks and possessives;
    where gold and predicted tags of the words ' " / disagree about deletion, the word is put back
    in both (EVALB's QUOTE_LABEL) equal_labels, equal_words: pairs that count as the same, in either
    direction labelled: True if labels must match cutoff: the longest sentence of the second part of
    EVALB's summary max_errors: the C program gives up at more error sentences than this plus one

    >>> COLLINS.same_label("ADVP", "PRT"), "TOP" in COLLINS.deleted
    (True, True)
    """

    name: str = "none"
    deleted: frozenset[str] = frozenset()
    deleted_for_length: frozenset[str] = frozenset()
    quotes: frozenset[str] = frozenset()
    equal_labels: frozenset[tuple[str, str]] = frozenset()
    equal_words: frozenset[tuple[str, str]] = frozenset()
    labelled: bool = True
    cutoff: int = 40
    max_errors: int = 10
    _counted: dict[str, str | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        # The fields of a frozen class.
        fill = functools.partial(object.__setattr__, self)
        for name in ("deleted", "deleted_for_length", "quotes"):
            fill(name, frozenset(getattr(self, name)))
        for name in ("equal_labels", "equal_words"):
            pairs = frozenset(getattr(self, name))
            fill(name, pairs | {(b, a) for a, b in pairs})
        fill("labelled", bool(self.labelled))

    def same_label(self, a: str, b: str) -> bool:
        """Return True if two labels, or two tags, count as the same."""
        return a == b or (a, b) in self.equal_labels

    def same_word(self, a: str, b: str) -> bool:
        """Return True if two words count as the same."""
        return a == b or (a, b) in self.equal_words

    def counted_label(self, label: str) -> str | None:
        """Return the label without function tags; None if the bracket does not count.

        >>> COLLINS.counted_label("NP-SBJ-1"), COLLINS.counted_label("TOP")
        ('NP', None)
        """
        # Labels are few and brackets many.
        if label not in self._counted:
            bare = re.split("[-=]", label, maxsplit=1)[0]
            is_deleted = any(self.same_label(bare, deleted) for deleted in self.deleted)
            self._counted[label] = None if is_deleted else bare
        return self._counted[label]

    @property
    def signature(self) -> str:
        """Return the name of the rules, and "unlabelled" if labels need not match."""
        return f"rules:{self.name}" if self.labelled else f"rules:{self.name}|unlabelled"


COLLINS = BracketRules(
    name="COLLINS",
    deleted=frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."}),
    deleted_for_length=frozenset({"-NONE-"}),
    equal_labels=frozenset({("ADVP", "PRT")}),
)


def read_prm(path: PathLike) -> BracketRules:
    """Read a `.prm` file; without it, and for rules that it does not set, nothing is deleted.

    Like the C program, lines that start with # or are shorter than three characters are skipped,
    and a keyword that EVALB does not know is warned of and ignored.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "my.prm"
    >>> _ = path.write_text("DELETE_LABEL TOP\\nEQ_LABEL ADVP PRT\\nCUTOFF_LEN 70\\n")
    >>> rules = read_prm(path)
    >>> rules.name, rules.cutoff, sorted(rules.deleted)
    ('my.prm', 70, ['TOP'])
    """
    fields: dict[str, Any] = {}
    has_unknown = False
    # Old parameter files are not in UTF-8; their other bytes are kept as they are.
    text = Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        # ASCII white space only, like the C program.
        line = line.rstrip(" \t\r\f\v")
        if line.startswith("#") or len(line) < 3:
            continue
        keyword, _, value = re.sub(r"[ \t\r\f\v]+", " ", line, count=1).partition(" ")
        try:
            if not _read_keyword(keyword, value, fields):
                has_unknown = True
                message = f"{path}:{number}: EVALB has no keyword {keyword}; ignored"
                warnings.warn(message, stacklevel=2)
        except ValueError as error:
            raise FileError(f"{keyword} {error}", path=path, line=number) from None
    # A tree or a table passed by mistake would otherwise count as no rules.
    if has_unknown and not fields:
        raise FileError("not an EVALB parameter file: it has none of its keywords", path=path)
    return BracketRules(name=Path(path).name, **fields)


def _read_keyword(keyword: str, value: str, fields: dict[str, Any]) -> bool:
    """Add a keyword's value to the fields; return False for a keyword that EVALB does not know."""
    if not value:
        raise ValueError("has no value")
    if keyword in _SETS:
        fields.setdefault(_SETS[keyword], set()).add(value)
    elif keyword in _PAIRS:
        pair = tuple(value.split())
        if len(pair) != 2:
            raise ValueError(f"takes two values, not {len(pair)}: {value!r}")
        fields.setdefault(_PAIRS[keyword], set()).add(pair)
    elif keyword in _NUMBERS:
        # Like atoi(), which ignores what follows the digits.
        digits = re.match(r"[+-]?\d+", value)
        if not digits:
            raise ValueError(f"takes a number, not {value!r}")
        fields[_NUMBERS[keyword]] = int(digits.group())
    return keyword in (*_SETS, *_PAIRS, *_NUMBERS, "DEBUG")


_SETS = {
    "DELETE_LABEL": "deleted",
    "DELETE_LABEL_FOR_LENGTH": "deleted_for_length",
    "QUOTE_LABEL": "quotes",
}
_PAIRS = {"EQ_LABEL": "equal_labels", "EQ_WORD": "equal_words"}
_NUMBERS = {"CUTOFF_LEN": "cutoff", "MAX_ERROR": "max_errors", "LABELED": "labelled"}


def as_rules(rules: BracketRules | PathLike | None) -> BracketRules:
    """Return rules: COLLINS for None and "collins", those of a `.prm` file for any other name.

    >>> as_rules("collins") is COLLINS
    True
    """
    if isinstance(rules, BracketRules):
        return rules
    if rules is None or os.fspath(rules).lower() == "collins":
        return COLLINS
    return read_prm(rules)
