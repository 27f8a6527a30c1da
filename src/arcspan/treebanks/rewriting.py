"""Rewriting of trees by rules, so that treebanks with different conventions agree.

Rules stand in a TOML file, each a table of conditions and what to do where all of them hold, such
as

    [[constituents]]          # "which", a noun phrase in one treebank, is a wh-phrase in others
    label = "NP"
    parent = ["SBAR", "SBARQ"]
    first = ["WDT", "WP", "WP$"]
    to = "WHNP"

and likewise `[[tags]]` and `[[relations]]`: `docs/formats.md` shows them all. The first rule that
holds is applied. Constituents are visited from the top down: `parent` is the label of the
constituent around after rewriting, "" for none; `first` and `second` are the tags of its first
words, as the treebank has them; `words` is the number of its words. Of a tag, `parent` is the
constituent directly around the word, after rewriting, and `word` a regular expression that the
whole word must match; `to = ""` leaves the word without a tag. What is removed leaves its children
to the constituent around it; the outermost constituent stays.
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
from arcspan.treebanks.pairs import Files, Pair, Watch, read_entries
from arcspan.treebanks.streams import PathLike, open_outputs
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.bracketed_text import LabelledSpan
from arcspan.trees.conllu import constituency_comment


@dataclasses.dataclass(frozen=True)
class ConstituentRule:
    """A rule that renames or removes constituents for which all conditions hold; empty: any."""

    label: frozenset[str]
    parent: frozenset[str] = frozenset()
    first: frozenset[str] = frozenset()
    second: frozenset[str] = frozenset()
    words: int | None = described(None, least=1)
    to: str | None = None
    remove: bool = False

    def holds(self, label: str, parent: str, tags: Sequence[str]) -> bool:
        """Return True if the rule holds for a constituent with words of these tags."""
        return (
            label in self.label
            and (not self.parent or parent in self.parent)
            and (not self.first or tags[0] in self.first)
            and (not self.second or (len(tags) > 1 and tags[1] in self.second))
            and (self.words is None or len(tags) == self.words)
        )


@dataclasses.dataclass(frozen=True)
class TagRule:
    """A rule that replaces the tags of words for which all conditions hold."""

    tag: frozenset[str]
    parent: frozenset[str] = frozenset()
    word: re.Pattern[str] | None = None
    to: str = ""

    def holds(self, tag: str, parent: str | None, word: str) -> bool:
        """Return True if the rule holds for a word; the parent is None without constituents."""
        return (
            tag in self.tag
            and (not self.parent or parent in self.parent)
            and (self.word is None or self.word.fullmatch(word) is not None)
        )


@dataclasses.dataclass(frozen=True)
class RelationRule:
    """A rule that replaces relations."""

    relation: frozenset[str]
    to: str


@dataclasses.dataclass(frozen=True)
class RewritingRules:
    """The rules of a file."""

    constituents: tuple[ConstituentRule, ...] = ()
    tags: tuple[TagRule, ...] = ()
    relations: tuple[RelationRule, ...] = ()


def read_rules(path: PathLike) -> RewritingRules:
    """Read the rules of a TOML file; FileError for anything else."""
    # Imported here, since every command starts by importing this subpackage.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        # Also from numbers of thousands of digits, and a thousand brackets.
        raise FileError(f"not TOML: {error}", path=path) from None
    try:
        rules = read(RewritingRules, data)
        for name in data:
            for index, table in enumerate(data[name]):
                _check_rule(f"{name}[{index}]", getattr(rules, name)[index], table)
    except ConfigError as error:
        raise FileError(str(error), path=path) from None
    if not any(data.values()):
        raise FileError("no rule in this file", path=path)
    return rules


def _check_rule(name: str, rule: Any, table: Mapping[str, Any]) -> None:
    """Raise ConfigError unless a rule has exactly one effect."""
    if isinstance(rule, TagRule):
        # to = "" removes the tag.
        has_effect = "to" in table
    elif isinstance(rule, ConstituentRule) and rule.remove:
        has_effect = "to" not in table
    else:
        has_effect = bool(rule.to)
    if not has_effect:
        keys = "to or remove" if isinstance(rule, ConstituentRule) else "to"
        raise ConfigError(
            f"{name} does not say what to do: {keys} is missing, empty, or one too many"
        )


def rewrite(pair: Pair, rules: RewritingRules, changes: Counter[str] | None = None) -> Pair:
    """Rewrite the trees of a pair; a missing tree stays missing. `changes` counts the changes.

    >>> rules = RewritingRules((ConstituentRule(frozenset({"NML"}), remove=True),))
    >>> tree = ConstituencyTree.from_brackets("(NP (DT a) (NML (NN tree) (NN bank)) (NN file))")
    >>> rewrite(Pair(tree, None), rules).constituency
    ConstituencyTree('(NP (DT a) (NN tree) (NN bank) (NN file))')
    """
    changes = Counter() if changes is None else changes
    constituency, dependencies = pair
    # Labels of the constituents directly around words.
    parents: list[str | None] = [None] * len(pair.words)
    if constituency is not None:
        spans = _rewrite_spans(constituency, rules.constituents, changes)
        # Top-down, so that inner constituents overwrite outer ones.
        for i, j, label in ((0, len(parents), ""), *spans):
            parents[i:j] = [label] * (j - i)
        tags = _rewrite_tags(constituency, parents, rules.tags, changes)
        constituency = constituency._replaced(spans=spans, tags=tags)
    if dependencies is not None:
        # The tags of a pair are those of one sentence, counted once.
        tag_changes: Counter[str] = changes if constituency is None else Counter()
        tags = _rewrite_tags(dependencies, parents, rules.tags, tag_changes)
        # Backwards, so that the first rule for a relation remains.
        new_names = {name: rule.to for rule in reversed(rules.relations) for name in rule.relation}
        old_relations = dependencies.relations
        relations = tuple([new_names.get(relation, relation) for relation in old_relations])
        _count_changes(old_relations, relations, changes)
        dependencies = dependencies._replaced(relations=relations, tags=tags)
    return Pair(constituency, dependencies)


def _rewrite_spans(
    tree: ConstituencyTree, rules: Sequence[ConstituentRule], changes: Counter[str]
) -> tuple[LabelledSpan, ...]:
    """Rename and remove constituents, from the top down."""
    spans: list[LabelledSpan] = []
    opened: list[LabelledSpan] = []  # the constituents around, as rewritten
    for i, j, label in tree.spans:
        while opened and opened[-1][1] <= i:
            opened.pop()
        parent = opened[-1][2] if opened else ""
        # The first rule that holds, on tags as the treebank has them.
        rule = next((rule for rule in rules if rule.holds(label, parent, tree.tags[i:j])), None)
        # The outermost constituent is never removed.
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
    """Replace tags; `parents` are the labels around the words."""
    tags = []
    for tag, word, parent in zip(tree.tags, tree.words, parents, strict=True):
        tags.append(next((rule.to for rule in rules if rule.holds(tag, parent, word)), tag))
    _count_changes(tree.tags, tags, changes)
    return tuple(tags)


def _count_changes(before: Iterable[str], after: Iterable[str], changes: Counter[str]) -> None:
    for old, new in zip(before, after, strict=True):
        if old != new:
            changes[f"{old} -> {new or '(none)'}"] += 1


def rewrite_files(
    rules: RewritingRules, files: Files, outputs: Files, *, watch: Watch | None = None
) -> Counter[str]:
    """Rewrite a pair of files, or a single file; return the changes with counts.

    Of a CoNLL file only XPOS and DEPREL change; comments and everything else are copied. `watch`
    wraps the entries that are read, for a progress bar.
    """
    changes: Counter[str] = Counter()
    with open_outputs(*outputs) as (trees, rows):
        for entry in read_entries(*files, watch=watch):
            constituency, dependencies = rewrite(entry.checked(), rules, changes)
            if trees is not None:
                trees.write(constituency.brackets() + "\n")
            if rows is not None and entry.sentence is not None:
                lines = _rewritten_lines(entry.sentence.lines, constituency, dependencies)
                rows.write("\n".join(lines) + "\n\n")
    return changes


def _rewritten_lines(
    lines: Iterable[str], constituency: ConstituencyTree, tree: DependencyTree
) -> Iterator[str]:
    """Yield a sentence's lines with the tags and relations of the rewritten trees."""
    for line in lines:
        columns = line.split("\t")
        if line.startswith("# constituency =") and constituency is not None:
            line = constituency_comment(constituency)
        elif is_number(columns[0]):
            index = int(columns[0]) - 1
            columns[4] = tree.tags[index] or "_"
            columns[7] = tree.relations[index]
            line = "\t".join(columns)
        yield line
