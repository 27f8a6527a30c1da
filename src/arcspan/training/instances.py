"""Trees to what the losses read: binarized nodes, heads, and ids of labels, relations and tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from arcspan.errors import ConfigError, FileError
from arcspan.neural.losses import IGNORE
from arcspan.neural.settings import Inventories
from arcspan.training.config import DataSettings, Source
from arcspan.treebanks import Pair, ReadingReport, read_pairs
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree, binarize
from arcspan.trees.fit import fitting_heads


@dataclass(frozen=True)
class Sentence:
    """A pair of trees made ready: (i, j, head) nodes in pre-order with their unary chains."""

    name: str
    words: tuple[str, ...]
    nodes: np.ndarray  # (2n-1, 3); head 0 throughout where the trees are incompatible
    chains: tuple[tuple[str, ...], ...]
    heads: np.ndarray
    relations: tuple[str, ...]
    tags: tuple[str, ...]
    upos: tuple[str, ...]
    joint: bool
    projective: bool


@dataclass
class Intake:
    """What was read, and what was left out and why: shown before training starts."""

    sentences: int = 0
    words: int = 0
    too_long: int = 0
    mismatched: int = 0
    empty: int = 0
    incompatible: int = 0
    incompatible_dropped: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        """One line for people."""
        parts = [f"{self.sentences:,} sentences, {self.words:,} words"]
        if self.incompatible:
            fate = "dropped" if self.incompatible_dropped else "kept, trained on with separate losses"
            why = ", ".join(f"{kind} {times:,}" for kind, times in self.reasons.most_common(3))
            parts.append(f"{self.incompatible:,} incompatible {fate} ({why})")
        for count, text in (
            (self.too_long, "too long, left out"),
            (self.mismatched, "mismatched, left out"),
            (self.empty, "empty, left out"),
        ):
            if count:
                parts.append(f"{count:,} {text}")
        return "; ".join(parts)


def make_sentence(name: str, pair: Pair, binarization: Any = "head") -> tuple[Sentence, str | None]:
    """A sentence ready for training, and the kind of incompatibility where there is one."""
    constituency, dependencies = pair.constituency.without_wrapper(), pair.dependencies
    n = len(constituency.words)
    why = LexicalTree.why_incompatible(constituency, dependencies)
    heads = np.asarray(dependencies.heads, dtype=np.int64)
    if why is None and binarization == "head":
        tree = LexicalTree.join(constituency, dependencies)
        nodes = np.asarray([node[:3] for node in tree.nodes], dtype=np.int64).reshape(-1, 3)
        chains = tuple(node.chain for node in tree.nodes)
    else:
        if binarization == "head":
            bare = binarize(constituency, "head", heads=fitting_heads(constituency, dependencies))
        else:
            bare = binarize(constituency, binarization)
        nodes = np.asarray([(i, j, 0) for i, j, _ in bare], dtype=np.int64).reshape(-1, 3)
        chains = tuple(chain for _, _, chain in bare)
    assert len(nodes) == max(0, 2 * n - 1)
    sentence = Sentence(
        name=name,
        words=dependencies.words or constituency.words,
        nodes=nodes,
        chains=chains,
        heads=heads,
        relations=dependencies.relations,
        tags=constituency.tags,
        upos=dependencies.upos,
        joint=why is None and binarization == "head",
        projective=dependencies.is_projective,
    )
    return sentence, None if why is None else why.kind


def read_training(data: DataSettings) -> tuple[list[Sentence], Intake]:
    """The training sentences as the configuration asks for them."""
    intake = Intake()
    out: list[Sentence] = []
    for source in data.train:
        for place, pair in _read(source, data.mismatch, intake):
            if place % data.every:
                continue
            n = len(pair.constituency.words)
            if not n:
                intake.empty += 1
                continue
            if data.max_words and n > data.max_words:
                intake.too_long += 1
                continue
            sentence, kind = make_sentence(
                f"{Path(source.brackets).name} sentence {place + 1}", pair, data.binarization
            )
            if kind is not None:
                intake.incompatible += 1
                intake.reasons[kind] += 1
                if data.incompatible == "drop":
                    intake.incompatible_dropped += 1
                    continue
            out.extend([sentence] * source.repeat)
            intake.sentences += 1
            intake.words += n
            if data.limit and intake.sentences >= data.limit:
                break
        if data.limit and intake.sentences >= data.limit:
            break
    if not out:
        raise ConfigError("no training sentence is left: " + intake.summary())
    return out, intake


def read_gold(sources: Sequence[Source], mismatch: Any = "strict") -> list[Pair]:
    """Gold pairs to score against, in order."""
    pairs = [pair for source in sources for _, pair in _read(source, mismatch, Intake())]
    pairs = [pair for pair in pairs if len(pair.constituency.words)]
    for source in sources:
        if not pairs:
            raise FileError("no sentence to score", path=source.brackets)
    if pairs and not any(pair.constituency.without_wrapper().spans for pair in pairs):
        raise FileError("no tree has a labelled constituent: nothing to score", path=sources[0].brackets)
    if pairs and not any(
        any(relation not in ("", "_") for relation in pair.dependencies.relations) for pair in pairs
    ):
        raise FileError("no word has a relation: nothing to score", path=sources[0].conll)
    return pairs


def _read(source: Source, mismatch: Any, intake: Intake) -> Iterable[tuple[int, Pair]]:
    report = ReadingReport()
    empty = True
    for place, pair in enumerate(read_pairs(source.brackets, source.conll, mismatch=mismatch, report=report)):
        empty = False
        yield place, pair
    if empty:
        raise FileError("no sentence in it", path=source.brackets)
    intake.mismatched += report.skipped


def take_inventories(sentences: Iterable[Sentence]) -> Inventories:
    """Labels (the empty chain first), relations and tags of the training sentences, sorted."""
    labels: set[tuple[str, ...]] = set()
    relations: set[str] = set()
    tags: set[str] = set()
    upos: set[str] = set()
    for sentence in sentences:
        labels.update(sentence.chains)
        relations.update(sentence.relations)
        tags.update(sentence.tags)
        upos.update(sentence.upos)
    return Inventories(
        labels=((), *sorted(labels - {()})),
        relations=tuple(sorted(relations)),
        tags=tuple(sorted(tags - {"", "_"})),
        upos=tuple(sorted(upos - {"", "_"})),
    )


def unseen(pairs: Iterable[Pair], inventories: Inventories) -> dict[str, Counter[str]]:
    """Labels, relations and tags that occur in these pairs and cannot be predicted."""
    labels = {label for chain in inventories.labels for label in chain}
    relations, tags = set(inventories.relations), set(inventories.tags)
    out: dict[str, Counter[str]] = {"labels": Counter(), "relations": Counter(), "tags": Counter()}
    for constituency, dependencies in pairs:
        out["labels"].update(
            label for _, _, label in constituency.without_wrapper().spans if label not in labels
        )
        out["relations"].update(relation for relation in dependencies.relations if relation not in relations)
        out["tags"].update(tag for tag in constituency.tags if tag and tag not in tags)
    return out


class Indexer:
    """Ids of labels, relations and tags; what is not in the inventories is IGNORE."""

    def __init__(self, inventories: Inventories) -> None:
        self.labels = {chain: id for id, chain in enumerate(inventories.labels)}
        self.relations = {relation: id for id, relation in enumerate(inventories.relations)}
        self.tags = {tag: id for id, tag in enumerate(inventories.tags)}
        self.upos = {tag: id for id, tag in enumerate(inventories.upos)}

    def __call__(self, sentence: Sentence) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Labels (2n-1,), relations, tags, upos (n,) of a sentence."""
        n = len(sentence.words)
        return (
            np.asarray([self.labels.get(chain, IGNORE) for chain in sentence.chains], dtype=np.int64),
            np.asarray(
                [self.relations.get(relation, IGNORE) for relation in sentence.relations], dtype=np.int64
            ),
            np.asarray([self.tags.get(tag, IGNORE) for tag in sentence.tags or [""] * n], dtype=np.int64),
            np.asarray([self.upos.get(tag, IGNORE) for tag in sentence.upos or [""] * n], dtype=np.int64),
        )


def to_pair(
    words: Sequence[str],
    tags: Sequence[str],
    upos: Sequence[str],
    nodes: Sequence[tuple[int, int, tuple[str, ...]]] | None,
    heads: Sequence[int] | None,
    relations: Sequence[str] | None,
    wrapper: str = "TOP",
) -> Pair:
    """Predicted structures as the pair of trees a user sees; what was not predicted is flat."""
    from arcspan.trees import unbinarize

    n = len(words)
    if nodes is None:
        constituency = ConstituencyTree(words, tags, ((0, n, wrapper),) if n else ())
    else:
        constituency = unbinarize(words, tags, nodes).with_wrapper(wrapper)
    if heads is None:
        heads, relations = [0] + [1] * (n - 1), ["_"] * n
    return Pair(
        constituency, DependencyTree(heads, relations or ["_"] * n, words=words, tags=tags, upos=upos)
    )
