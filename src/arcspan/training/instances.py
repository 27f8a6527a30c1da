"""Training sentences: binarized nodes, heads and names of annotated trees, as the losses need them."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arcspan.decoding.constraints import ArcConstraint, SpanConstraint, constrain
from arcspan.errors import ConfigError, FileError, ScoreError
from arcspan.neural.losses import IGNORE
from arcspan.prediction.lemmas import edit_of
from arcspan.prediction.outputs import (
    LAYERS,
    NAMED_OUTPUTS,
    WORD_OUTPUTS,
    Inventories,
    Output,
    Style,
)
from arcspan.training.augmentation import augmented
from arcspan.training.config import DataSettings, Source
from arcspan.treebanks import DocumentFilter, Pair, ReadingReport, read_pairs
from arcspan.treebanks.rewriting import read_rules, rewrite
from arcspan.trees import ConstituencyTree, DependencyTree, Incompatibility, LexicalTree, binarize
from arcspan.trees.compatible_heads import compatible_heads

Chain = tuple[str, ...]
# An e-mail address or handle, a link, the name of a host or a file, or five digits and more.
_ADDRESS = re.compile(r"\w@|@\w|://|www\.|[a-z]:\w|\?\w|\w\.[a-z]{2,}\b|(?:\d\D*){5}")


@dataclass(frozen=True)
class TrainingSentence:
    """A sentence prepared for training.

    nodes, labels   (2n-1, 3) rows (i, j, head) in pre-order and their unary chains; None where the
                    tree is hidden. Heads are 0 where the trees are incompatible
    chains          (i, j) -> its unary chain, for the constituents, and () for words that are none;
                    None without constituents
    heads           -1 where a head is not annotated; None without dependencies
    names           of arcs and words, by output; "" where the treebank has none
    joint           whether the two trees are compatible and learnt as one l-tree
    hidden          whether something is hidden: a layer, the binarization, or unannotated parts
    projective      whether the d-tree is in the search space
    unlabelled      the label of nodes that are no constituents: 0, or IGNORE where constituents may
                    be missing
    """

    name: str
    words: tuple[str, ...]
    nodes: np.ndarray | None
    labels: tuple[Chain, ...]
    chains: dict[tuple[int, int], Chain] | None
    heads: np.ndarray | None
    names: Mapping[str, tuple[str, ...]]
    joint: bool
    hidden: bool
    projective: bool
    style: tuple[str, str] = ("", "")
    weight: float = 1.0
    unlabelled: int = 0

    def names_of(self, output: str) -> Sequence[Any]:
        """Return the names of an output at all nodes, arcs or words."""
        if output == "label":
            return [*self.labels, *(self.chains or {}).values()]
        return self.names[output]


@dataclass
class Intake:
    """Counts of the sentences that were read, and of those left out, shown before training.

    fate      what is done with incompatible sentences;  reasons: types of incompatibility
    digests   by file, of the trees as they were read
    """

    sentences: int = 0
    words: int = 0
    too_long: int = 0
    mismatched: int = 0
    empty: int = 0
    incompatible: int = 0
    one_layer: int = 0
    augmented: int = 0
    fate: str = "dropped"
    reasons: Counter[str] = field(default_factory=Counter)
    digests: dict[str, str] = field(default_factory=dict)

    def summary(self) -> str:
        """Return one line for people."""
        parts = [f"{self.sentences:,} sentences, {self.words:,} words"]
        if self.one_layer:
            parts.append(f"{self.one_layer:,} with one layer")
        if self.incompatible:
            counts = [f"{reason} {count:,}" for reason, count in self.reasons.most_common(3)]
            parts.append(f"{self.incompatible:,} incompatible {self.fate} ({', '.join(counts)})")
        for count, text in (
            (self.augmented, "added in other forms"),
            (self.too_long, "too long, left out"),
            (self.mismatched, "mismatched, left out"),
            (self.empty, "empty, left out"),
        ):
            if count:
                parts.append(f"{count:,} {text}")
        return "; ".join(parts)


_FATES = {
    "drop": "dropped",
    "separate": "kept, trained on with separate losses",
    "hidden": "kept, each layer learnt with the other hidden",
}


def make_sentence(
    name: str, pair: Pair, source: Source | None = None, data: DataSettings | None = None
) -> tuple[TrainingSentence, str | None]:
    """Prepare a sentence; return also the type of its incompatibility, None if there is none.

    The parts that a partial tree lacks (heads of -1, or constituents that may be missing) are
    always hidden.
    """
    source = source or Source()
    data = data or DataSettings()
    spans_missing = source.partial in ("spans", "both")
    constituency, dependencies = pair
    if constituency is not None:
        constituency = constituency.without_wrapper()
    n = len(pair.words)
    partial = spans_missing or (dependencies is not None and -1 in dependencies.heads)
    l_tree = incompatibility = None
    if constituency is None or dependencies is None:
        setting = data.missing
    else:
        if partial:
            if not _reachable(n, constituency, dependencies):
                incompatibility = "partial"
        else:
            l_tree = LexicalTree.fit(constituency, dependencies)
            if isinstance(l_tree, Incompatibility):
                incompatibility = l_tree.kind
        setting = data.incompatible if incompatibility else data.binarization
    compatible = constituency is not None and dependencies is not None and not incompatibility
    hidden = partial or setting == "hidden"

    chains: dict[tuple[int, int], Chain] | None = None
    rows: Sequence[tuple[int, int, int, Chain]] | None = None
    if constituency is not None:
        chains = {}
        if not spans_missing:
            chains = {(i, i + 1): () for i in range(n)}
        chains.update(constituency.chains())
        if data.binarization == "head" and isinstance(l_tree, LexicalTree):
            rows = l_tree.nodes
        elif not hidden:
            rows = _binarized(constituency, dependencies, data.binarization)
    projective = dependencies is not None and dependencies.is_projective
    if partial and dependencies is not None:
        projective = _reachable(n, None, dependencies)
    nodes = None
    if rows is not None:
        nodes = np.asarray([row[:3] for row in rows], dtype=np.int64).reshape(-1, 3)
    sentence = TrainingSentence(
        name=name,
        words=pair.words,
        nodes=nodes,
        labels=tuple(chain for *_, chain in rows or ()),
        chains=chains,
        heads=None if dependencies is None else np.asarray(dependencies.heads, dtype=np.int64),
        names={
            output.name: _gold_names(pair, output, source.tags)
            for output in NAMED_OUTPUTS
            if output.name != "label"
        },
        joint=compatible and (partial or data.binarization in ("head", "hidden")),
        hidden=hidden,
        projective=projective,
        style=source.styles,
        weight=source.weight,
        unlabelled=IGNORE if spans_missing else 0,
    )
    return sentence, incompatibility


def _binarized(
    constituency: ConstituencyTree, dependencies: DependencyTree | None, binarization: Any
) -> list[tuple[int, int, int, Chain]]:
    """Return the nodes of a c-tree that is learnt apart from the d-tree: their heads are 0."""
    heads = None
    if binarization in ("head", "hidden"):
        binarization = "head"
        if dependencies is None:
            # Without dependencies there are no heads: words are added from the left.
            binarization = "left"
        else:
            heads = compatible_heads(constituency, dependencies)
    nodes = binarize(constituency, binarization, heads=heads)
    return [(i, j, 0, chain) for i, j, chain in nodes]


def _gold_names(pair: Pair, output: Output, learn_tags: bool) -> tuple[str, ...]:
    """Return the names of an output for each word: by its function, or from its column."""
    constituency, dependencies = pair
    if output.name == "tag" and learn_tags:
        return (constituency or dependencies).tags
    if output.name == "tag" or dependencies is None:
        return ("",) * len(pair.words)
    if output.gold is not None:
        return tuple(output.gold(dependencies))
    names: tuple[str, ...] = getattr(dependencies, output.names)
    if output.name == "lemma":
        return tuple(map(_edit, dependencies.words, names))
    if output.name == "feature" and any(names):
        # A word without features, in a sentence that has some.
        return tuple(name or "_" for name in names)
    return names


def _edit(word: str, lemma: str) -> str:
    """Return the edit that makes the lemma of a word; "" without a lemma."""
    return "" if lemma in ("", "_") and word != "_" else edit_of(word, lemma)


def _reachable(n: int, constituency: ConstituencyTree | None, dependencies: DependencyTree) -> bool:
    """Return True if some pair of trees has all annotated constituents and heads."""
    parts: list[Any] = []
    if constituency is not None:
        parts += [SpanConstraint(i, j) for i, j, _ in constituency.spans]
    parts += [ArcConstraint(h, m) for m, h in enumerate(dependencies.heads, 1) if h >= 0]
    try:
        constrain(n, parts)
    except ScoreError:
        return False
    return True


def read_training(data: DataSettings) -> tuple[list[TrainingSentence], Intake]:
    """Return the training sentences of a configuration."""
    intake = Intake(fate=_FATES[data.incompatible])
    sentences: list[TrainingSentence] = []
    for source in data.train:
        sentences += _read_source(source, data, intake)
        if data.limit and intake.sentences >= data.limit:
            break
    if not sentences:
        raise ConfigError("no training sentence is left: " + intake.summary())
    return sentences, intake


def _read_source(source: Source, data: DataSettings, intake: Intake) -> Iterator[TrainingSentence]:
    from_source = 0
    heads = "partial" if source.partial in ("heads", "both") else "tree"
    for index, pair in read_source(source, data.mismatch, intake, heads=heads):
        if data.limit and intake.sentences >= data.limit:
            return
        if source.limit and from_source >= source.limit:
            return
        if index < source.first or (index - source.first) % (data.every * source.every):
            continue
        n = len(pair.words)
        if not n:
            intake.empty += 1
            continue
        if data.max_words and n > data.max_words:
            intake.too_long += 1
            continue
        name = f"{Path(source.brackets or source.conll).name} sentence {index + 1}"
        sentence, incompatibility = make_sentence(name, pair, source, data)
        if incompatibility is not None:
            intake.incompatible += 1
            intake.reasons[incompatibility] += 1
            if data.incompatible == "drop":
                continue
        from_source += 1
        if pair.constituency is None or pair.dependencies is None:
            intake.one_layer += 1
        intake.sentences += 1
        intake.words += n
        yield from itertools.repeat(sentence, source.repeat)
        for form in augmented(pair, source.augment, f"{source.name} {index}"):
            changed, incompatibility = make_sentence(name, form, source, data)
            if incompatibility is None or data.incompatible != "drop":
                intake.augmented += 1
                yield changed


class GoldSentence(NamedTuple):
    """A sentence to score against, and the style to parse it in."""

    pair: Pair
    style: tuple[str, str] = ("", "")


def read_gold(
    sources: Sequence[Source], mismatch: Any = "strict", intake: Intake | None = None
) -> list[GoldSentence]:
    """Return gold pairs to score against, in order, each in the style of its source.

    A source of one layer has pairs of that layer. None is left out: heads with several roots are
    scored, too.
    """
    intake = intake or Intake()
    sentences: list[GoldSentence] = []
    for source in sources:
        pairs = [pair for _, pair in read_source(source, mismatch, intake, heads="any")]
        pairs = [pair for pair in pairs[source.first :: source.every] if len(pair.words)]
        pairs = pairs[: source.limit or None]
        if not pairs:
            raise FileError("no sentence to score", path=source.brackets or source.conll)
        if source.brackets and not any(pair.constituency.without_wrapper().spans for pair in pairs):
            raise FileError(
                "no tree has a labelled constituent: nothing to score", path=source.brackets
            )
        relations = (relation for pair in pairs for relation in pair.dependencies.relations)
        if source.conll and all(relation in ("", "_") for relation in relations):
            raise FileError("no word has a relation: nothing to score", path=source.conll)
        sentences += [GoldSentence(pair, source.styles) for pair in pairs]
    return sentences


def read_source(
    source: Source, mismatch: Any, intake: Intake, *, heads: Any = "tree"
) -> Iterator[tuple[int, Pair]]:
    """Yield the sentences of a source, rewritten and filtered, and their index in its files."""
    report = ReadingReport()
    keep = DocumentFilter(source.without, source.only) if source.without or source.only else None
    files = source.brackets or None, source.conll or None
    pairs = read_pairs(*files, mismatch=mismatch, report=report, keep=keep, heads=heads)
    rules = read_rules(source.rewrite) if source.rewrite else None
    digest = hashlib.sha256()
    index = -1
    try:
        for index, pair in enumerate(pairs):
            if rules is not None:
                pair = rewrite(pair, rules)
            digest.update(_content(pair))
            yield index, pair
    finally:
        # Also if the caller stops reading at a limit.
        intake.digests[source.name] = digest.hexdigest()
    if index < 0:
        reason = "no sentence in it"
        if keep is not None:
            reason = "no sentence is left of it by without and only"
        raise FileError(reason, path=source.brackets or source.conll)
    intake.mismatched += report.skipped
    unused = set() if keep is None else set(keep.unused())
    for name, values in {**source.without, **source.only}.items():
        if {f"{name} = {value}" for value in values} <= unused:
            raise ConfigError(
                f"{source.conll}: no document has any of the values of {name!r} "
                "that are to be left out or kept"
            )


def _content(pair: Pair) -> bytes:
    """Return all that is learnt from a pair, for a digest."""
    c, d = pair
    constituents = None if c is None else (c.words, c.tags, c.spans)
    columns = None
    if d is not None:
        columns = (d.words, d.heads, d.relations, d.tags, d.upos, d.lemmas, d.features)
    return repr((constituents, columns)).encode("utf-8", "surrogatepass")


def take_inventories(
    sentences: Sequence[TrainingSentence], *, free: bool = True, least: int = 1
) -> Inventories:
    """Return the names that the training sentences have at least so often, sorted.

    Label 0 is no constituent. Edits of lemmas that were seen once are left out. A style of one
    layer only has no name of the other: there it uses every name if it is `free`, otherwise none.
    """
    counts: dict[str, Counter[Any]] = {output.name: Counter() for output in NAMED_OUTPUTS}
    by_style: dict[tuple[str, str], set[Any]] = {}
    for sentence in sentences:
        for output in NAMED_OUTPUTS:
            names = sentence.names_of(output.name)
            counts[output.name].update(names)
            style = sentence.style[LAYERS.index(output.layer)]
            by_style.setdefault((output.name, style), set()).update(names)
    inventory: dict[str, Any] = {}
    for output in NAMED_OUTPUTS:
        minimum = max(2, least) if output.name == "lemma" else least
        # "_" is a name for features (none), and for the others a blank.
        blank = ("", "_") if output.name in ("tag", "upos", "relation") else ("", ())
        frequent = [name for name, count in counts[output.name].items() if count >= minimum]
        inventory[output.names] = tuple(sorted(name for name in frequent if name not in blank))
    inventory["labels"] = ((), *inventory["labels"]) if inventory["labels"] else ()
    inventory["seen_lemmas"] = without_rare(_seen_lemmas(sentences), inventory["lemmas"])
    styles = sorted({style for sentence in sentences for style in sentence.style})
    if styles == [""]:
        return Inventories(**inventory)
    unused: dict[str, Any] = {}
    for output in NAMED_OUTPUTS:
        numbers = []
        for style in styles:
            used = by_style.get((output.name, style), set()) - {""}
            numbers.append(unused_names(inventory[output.names], used, free))
        unused[output.name] = tuple(numbers)
    return Inventories(**inventory, styles=tuple(styles), unused=unused)


def unused_names(names: Sequence[Any], used: set[Any], free: bool = True) -> tuple[int, ...]:
    """Return the numbers of the names that a style does not use.

    None where it has no name at all and is `free`.
    """
    if free and not used - {()}:
        return ()
    return tuple(number for number, name in enumerate(names) if name not in used and name != ())


def _seen_lemmas(sentences: Sequence[TrainingSentence]) -> dict[str, dict[str, str]]:
    """Return, by tag, words that were seen with it at least twice, and their usual edit.

    Usual is the edit of at least 95% of the occurrences; words without one are left out.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    for sentence in {id(sentence): sentence for sentence in sentences}.values():
        tags = sentence.names["tag"]
        if not any(tags):
            tags = sentence.names["upos"]
        for word, tag, edit in zip(sentence.words, tags, sentence.names["lemma"], strict=True):
            if tag and edit:
                counts.setdefault((tag, word), Counter())[edit] += 1
    by_tag: dict[str, dict[str, str]] = {}
    for (tag, word), edits in counts.items():
        edit, count = edits.most_common(1)[0]
        if count >= max(2, 0.95 * edits.total()):
            by_tag.setdefault(tag, {})[word] = edit
    return by_tag


def without_rare(
    lemmas: dict[str, dict[str, str]], edits: Collection[str]
) -> dict[str, dict[str, str]]:
    """Return words with their edits, by tag, without names and addresses.

    An edit that spells a lemma out and is not among those to learn belongs to a name or an address
    that somebody wrote once, not to a lemma of the language. Nor are e-mail addresses, links, names
    of files and telephone numbers words of the language: a model's files do not list them.
    """
    common = set(edits)
    return {
        tag: {
            word: edit
            for word, edit in words.items()
            if (edit in common or not edit.startswith("=")) and not _ADDRESS.search(word)
        }
        for tag, words in lemmas.items()
    }


def style_number(style: tuple[str, str], inventories: Inventories) -> Style:
    """Return a style by number; the first style where the model does not know its name."""
    numbers = {name: number for number, name in enumerate(inventories.styles)}
    return Style(*(numbers.get(name, 0) for name in style))


def style_names(styles: dict[str, Any], inventories: Inventories) -> dict[str, list[int]]:
    """Return the styles that a parser offers: numbers for constituents and for dependencies.

    styles   those of the configuration, by name; if there are none, the parser offers those of the
             treebanks, each for both layers
    """
    numbers = {name: number for number, name in enumerate(inventories.styles)}
    if not styles:
        return {name: [number, number] for name, number in numbers.items()}
    offered = {}
    for name, style in styles.items():
        pair = [style, style] if isinstance(style, str) else style
        for layer_style in pair:
            if layer_style not in numbers:
                raise ConfigError(
                    f"styles.{name}: no training source has the style {layer_style!r}; "
                    f"known: {', '.join(numbers)}"
                )
        offered[name] = [numbers[layer_style] for layer_style in pair]
    return offered


def unseen(pairs: Iterable[Pair], inventories: Inventories) -> dict[str, Counter[str]]:
    """Count the labels, relations and tags of these pairs that cannot be predicted."""
    labels = {label for chain in inventories.labels for label in chain}
    # A blank is not a name that is missing.
    relations = {*inventories.relations, "", "_"}
    tags = {*inventories.tags, ""}
    unknown: dict[str, Counter[str]] = {name: Counter() for name in ("labels", "relations", "tags")}
    for constituency, dependencies in pairs:
        if constituency is not None:
            spans = constituency.without_wrapper().spans
            unknown["labels"].update(label for _, _, label in spans if label not in labels)
        if dependencies is not None:
            names = dependencies.relations
            unknown["relations"].update(name for name in names if name not in relations)
        names = (constituency or dependencies).tags
        unknown["tags"].update(tag for tag in names if tag not in tags)
    return unknown


class Indexer:
    """The numbers of names; a name that is not in the inventories has the number IGNORE."""

    def __init__(self, inventories: Inventories) -> None:
        self.ids: dict[str, dict[Any, int]] = {}
        for output in NAMED_OUTPUTS:
            names = getattr(inventories, output.names)
            self.ids[output.name] = {name: id for id, name in enumerate(names)}

    def __call__(self, sentence: TrainingSentence) -> dict[str, Any]:
        """Return `labels` (2n-1,), `chains` by span, `relations` (n,), `answers` (n,) by output."""
        chains: dict[tuple[int, int], int] | None = None
        if sentence.chains is not None:
            numbers = self._numbers("label", sentence.chains.values()).tolist()
            chains = dict(zip(sentence.chains, numbers, strict=True))
        return {
            "labels": self._numbers("label", sentence.labels),
            "chains": chains,
            "relations": self._numbers("relation", sentence.names["relation"]),
            "answers": {
                output.name: self._numbers(output.name, sentence.names[output.name])
                for output in WORD_OUTPUTS
            },
        }

    def _numbers(self, output: str, names: Iterable[Any]) -> np.ndarray:
        ids = self.ids[output]
        return np.asarray([ids.get(name, IGNORE) for name in names], dtype=np.int64)
