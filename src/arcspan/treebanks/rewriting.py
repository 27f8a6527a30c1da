"""Trees rewritten by rules, so that treebanks with different conventions agree.

Rules stand in a TOML file, each a table of conditions and what to do where all of them hold, such as

    [[constituents]]                      # "which", a noun phrase in one treebank, is a wh-phrase in others
    label = "NP"
    parent = ["SBAR", "SBARQ"]
    first = ["WDT", "WP", "WP$"]
    to = "WHNP"

and likewise `[[tags]]` and `[[relations]]`: `docs/formats.md` shows them all. The first rule that holds is applied.
Constituents are visited from the top down: `parent` is the label of the constituent around after rewriting, "" for
none; `first` and `second` are the tags of its first words, as the treebank has them; `words` is the number of its
words. Of a tag, `parent` is the constituent directly around the word, after rewriting, and `word` a regular expression
that the whole word must match; `to = ""` leaves the word without a tag. What is removed leaves its children to the
constituent around it; the outermost constituent stays.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from arcspan.errors import ConfigError, FileError
from arcspan.settings import described, read
from arcspan.treebanks.conll import is_number
from arcspan.treebanks.pairs import Files, Pair, Watch, read_places
from arcspan.treebanks.streams import Source, open_outputs
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.conllu import constituency_comment


@dataclasses.dataclass(frozen=True)
class ConstituentRule:
    """Rename constituents `to` another label, or remove them, where all conditions hold; empty: any."""

    label: frozenset[str]
    parent: frozenset[str] = frozenset()
    first: frozenset[str] = frozenset()
    second: frozenset[str] = frozenset()
    words: int | None = described(None, least=1)
    to: str | None = None
    remove: bool = False

    def holds(self, label: str, parent: str, tags: Sequence[str]) -> bool:
        """Whether the rule is about this constituent, whose words have these tags."""
        return (
            label in self.label
            and (not self.parent or parent in self.parent)
            and (not self.first or tags[0] in self.first)
            and (not self.second or (len(tags) > 1 and tags[1] in self.second))
            and (self.words is None or len(tags) == self.words)
        )


@dataclasses.dataclass(frozen=True)
class TagRule:
    """Replace tags where all conditions hold."""

    tag: frozenset[str]
    parent: frozenset[str] = frozenset()
    word: re.Pattern[str] | None = None
    to: str = ""

    def holds(self, tag: str, parent: str | None, word: str) -> bool:
        """Whether the rule is about this word; the parent is None where there are no constituents."""
        return (
            tag in self.tag
            and (not self.parent or parent in self.parent)
            and (self.word is None or self.word.fullmatch(word) is not None)
        )


@dataclasses.dataclass(frozen=True)
class RelationRule:
    """Replace relations."""

    relation: frozenset[str]
    to: str


@dataclasses.dataclass(frozen=True)
class Rules:
    """The rules of a file."""

    constituents: tuple[ConstituentRule, ...] = ()
    tags: tuple[TagRule, ...] = ()
    relations: tuple[RelationRule, ...] = ()


def read_rules(path: Source) -> Rules:
    """The rules of a TOML file; FileError where it is something else."""
    if sys.version_info >= (
        3,
        11,
    ):  # imported here, since every command starts by importing this room
        import tomllib
    else:
        import tomli as tomllib
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (
        ValueError,
        RecursionError,
    ) as error:  # numbers of thousands of digits, a thousand brackets
        raise FileError(f"not TOML: {error}", path=path) from None
    try:
        rules = read(Rules, data)
        for name in data:
            for place, table in enumerate(data[name]):
                _check_rule(f"{name}[{place}]", getattr(rules, name)[place], table)
    except ConfigError as error:
        raise FileError(str(error), path=path) from None
    if not any(data.values()):
        raise FileError("no rule in this file", path=path)
    return rules


def _check_rule(place: str, rule: Any, table: Mapping[str, Any]) -> None:
    removes = isinstance(rule, ConstituentRule) and rule.remove
    if ("to" in table) == removes or (
        "to" in table and not rule.to and not isinstance(rule, TagRule)
    ):
        what = "to or remove" if isinstance(rule, ConstituentRule) else "to"
        raise ConfigError(
            f"{place} does not say what to do: {what} is missing, empty, or one too many"
        )


def rewrite(pair: Pair, rules: Rules, changes: Counter[str] | None = None) -> Pair:
    """The pair with its trees rewritten; a tree that is missing stays so. `changes` counts what was changed.

    >>> rules = Rules((ConstituentRule(frozenset({"NML"})),))
    >>> tree = ConstituencyTree.from_brackets("(NP (DT a) (NML (NN tree) (NN bank)) (NN file))")
    >>> rewrite(Pair(tree, None), rules).constituency
    ConstituencyTree('(NP (DT a) (NN tree) (NN bank) (NN file))')
    """
    changes = Counter() if changes is None else changes
    constituency, dependencies = pair
    parents: list[str | None] = [None] * len(
        pair.words
    )  # labels of the constituents directly around words
    if constituency is not None:
        spans = _rewrite_spans(constituency, rules.constituents, changes)
        for i, j, label in ((0, len(parents), ""), *spans):
            parents[i:j] = [label] * (j - i)
        tags = _rewrite_tags(constituency, parents, rules.tags, changes)
        constituency = constituency._trusted(constituency.words, tags, spans, constituency._written)
    if dependencies is not None:
        d = dependencies
        # The tags of a pair are those of one sentence, counted once.
        tags = _rewrite_tags(d, parents, rules.tags, changes if constituency is None else Counter())
        names = {name: rule.to for rule in reversed(rules.relations) for name in rule.relation}
        relations = tuple(names.get(relation, relation) for relation in d.relations)
        _note_changes(d.relations, relations, changes)
        dependencies = d._trusted(d.heads, relations, d.words, tags, d.upos, d.lemmas, d.features)
    return Pair(constituency, dependencies)


def _rewrite_spans(
    tree: ConstituencyTree, rules: Sequence[ConstituentRule], changes: Counter[str]
) -> tuple[tuple[int, int, str], ...]:
    spans: list[tuple[int, int, str]] = []
    opened: list[tuple[int, int, str]] = []  # the constituents around, as rewritten
    for i, j, label in tree.spans:
        while opened and opened[-1][1] <= i:
            opened.pop()
        parent = opened[-1][2] if opened else ""
        rule = next((rule for rule in rules if rule.holds(label, parent, tree.tags[i:j])), None)
        if rule is not None and (rule.to is not None or opened):
            changes[f"{label} -> {rule.to or '(removed)'}"] += 1
            if rule.to is None:
                continue
            label = rule.to
        opened.append((i, j, label))
        spans.append((i, j, label))
    return tuple(spans)


def _rewrite_tags(
    tree: ConstituencyTree | DependencyTree,
    parents: Sequence[str | None],
    rules: Sequence[TagRule],
    changes: Counter[str],
) -> tuple[str, ...]:
    tags = tuple(
        next((rule.to for rule in rules if rule.holds(tag, parent, word)), tag)
        for tag, word, parent in zip(tree.tags, tree.words, parents, strict=True)
    )
    _note_changes(tree.tags, tags, changes)
    return tags


def _note_changes(before: Iterable[str], after: Iterable[str], changes: Counter[str]) -> None:
    pairs = zip(before, after, strict=True)
    changes.update(f"{old} -> {new or '(none)'}" for old, new in pairs if old != new)


def rewrite_files(
    rules: Rules, files: Files, outputs: Files, *, watch: Watch | None = None
) -> Counter[str]:
    """Rewrite a pair of files, or a single file; what was changed, with counts.

    Of a CoNLL file only XPOS and DEPREL change; comments and everything else are copied. `watch` wraps the places
    that are read, for a progress bar.
    """
    changes: Counter[str] = Counter()
    with open_outputs(*outputs) as (trees, rows):
        for place in read_places(*files, watch=watch):
            constituency, dependencies = rewrite(place.checked(), rules, changes)
            if trees is not None:
                trees.write(constituency.brackets() + "\n")
            if rows is not None and place.sentence is not None:
                lines = _rewritten_lines(place.sentence.lines, constituency, dependencies)
                rows.write("\n".join(lines) + "\n\n")
    return changes


def _rewritten_lines(
    lines: Iterable[str], constituency: ConstituencyTree, tree: DependencyTree
) -> Iterator[str]:
    words = zip(tree.tags, tree.relations, strict=True)
    for line in lines:
        columns = line.split("\t")
        if line.startswith("# constituency =") and constituency is not None:
            line = constituency_comment(constituency)
        elif is_number(columns[0]):
            tag, relation = next(words)
            columns[4], columns[7] = tag or "_", relation
            line = "\t".join(columns)
        yield line
