"""Trees to what the losses read: binarized nodes, heads, and numbers of labels, relations and what is said of words."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arcspan.decoding.constraints import ArcConstraint, SpanConstraint, constrain
from arcspan.errors import ConfigError, FileError, ScoreError
from arcspan.neural.losses import IGNORE
from arcspan.prediction.lemmas import edit_of
from arcspan.prediction.outputs import LAYERS, NAMED_OUTPUTS, WORD_OUTPUTS, Inventories, Style
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
class Sentence:
    """A sentence made ready. What its treebank lacks is None, or "" for each word.

    nodes, labels   (2n-1, 3) rows (i, j, head) in pre-order and their unary chains; None where the tree is hidden.
                    Heads are 0 where the trees are incompatible
    chains          (i, j) -> its unary chain, for the constituents, and () for words that are none
    heads           -1 where a head is not annotated
    some_spans      whether there may be constituents that are not annotated
    """

    name: str
    words: tuple[str, ...]
    nodes: np.ndarray | None
    labels: tuple[Chain, ...]
    chains: dict[tuple[int, int], Chain] | None
    heads: np.ndarray | None
    relations: tuple[str, ...]
    tags: tuple[str, ...]
    upos: tuple[str, ...]
    lemmas: tuple[str, ...]
    features: tuple[str, ...]
    joint: bool
    hidden: bool
    projective: bool
    style: tuple[str, str] = ("", "")
    weight: float = 1.0
    some_spans: bool = False

    def names(self, output: str) -> Sequence[Any]:
        """What the sentence has of an output: at nodes, arcs or words."""
        if output == "label":
            return [*self.labels, *(self.chains or {}).values()]
        return getattr(self, {one.name: one.names for one in NAMED_OUTPUTS}[output])


@dataclass
class Intake:
    """What was read, and what was left out and why: shown before training starts."""

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
    digests: dict[str, str] = field(default_factory=dict)  # by file, of the trees as they were read

    def summary(self) -> str:
        """One line for people."""
        parts = [f"{self.sentences:,} sentences, {self.words:,} words"]
        if self.one_layer:
            parts.append(f"{self.one_layer:,} with one layer")
        if self.incompatible:
            why = ", ".join(f"{kind} {times:,}" for kind, times in self.reasons.most_common(3))
            parts.append(f"{self.incompatible:,} incompatible {self.fate} ({why})")
        rest = {"augmented": "added in other forms", "too_long": "too long, left out"}
        rest |= {"mismatched": "mismatched, left out", "empty": "empty, left out"}
        parts += [
            f"{count:,} {text}" for name, text in rest.items() if (count := getattr(self, name))
        ]
        return "; ".join(parts)


_FATES = {
    "drop": "dropped",
    "separate": "kept, trained on with separate losses",
    "hidden": "kept, each layer learnt with the other hidden",
}


def make_sentence(
    name: str, pair: Pair, source: Source | None = None, data: DataSettings | None = None
) -> tuple[Sentence, str | None]:
    """A sentence ready for training, and the kind of incompatibility where there is one.

    What a partial tree does not say (heads of -1, or constituents that may be missing) is always hidden.
    """
    source, data = source or Source(), data or DataSettings()
    binarization: Any = data.binarization
    some_spans = source.partial in ("spans", "both")
    constituency = None if pair.constituency is None else pair.constituency.without_wrapper()
    dependencies = pair.dependencies
    n = len(pair.words)
    why = joint = tree = None
    partial = some_spans or (dependencies is not None and -1 in dependencies.heads)
    if constituency is not None and dependencies is not None:
        if partial:
            why = None if _reachable(n, constituency, dependencies) else "partial"
        else:
            tree = LexicalTree.fit(constituency, dependencies)
            why = tree.kind if isinstance(tree, Incompatibility) else None
        joint = why is None
    setting = binarization if joint else data.missing if joint is None else data.incompatible
    hidden = partial or setting == "hidden"
    nodes: Any = None
    labels: tuple[Chain, ...] = ()
    chains: dict[tuple[int, int], Chain] | None = None
    if constituency is not None:
        words = range(0 if some_spans else n)
        chains = {**dict.fromkeys(((i, i + 1) for i in words), ()), **constituency.chains()}
        if binarization == "head" and isinstance(tree, LexicalTree):
            nodes, labels = (
                [node[:3] for node in tree.nodes],
                tuple(node.chain for node in tree.nodes),
            )
        elif not hidden:
            # Without dependencies there are no heads: words are added from the left.
            how = (
                "left"
                if binarization in ("head", "hidden") and dependencies is None
                else binarization
            )
            if how in ("head", "hidden"):
                bare = binarize(
                    constituency, "head", heads=compatible_heads(constituency, dependencies)
                )
            else:
                bare = binarize(constituency, how)
            nodes, labels = [(i, j, 0) for i, j, _ in bare], tuple(chain for _, _, chain in bare)
    none = ("",) * n
    sentence = Sentence(
        name=name,
        words=pair.words,
        nodes=None if nodes is None else np.asarray(nodes, dtype=np.int64).reshape(-1, 3),
        labels=labels,
        chains=chains,
        heads=None if dependencies is None else np.asarray(dependencies.heads, dtype=np.int64),
        relations=none if dependencies is None else dependencies.relations,
        tags=(constituency or dependencies).tags if source.tags else none,
        upos=none if dependencies is None else dependencies.upos,
        lemmas=none if dependencies is None else _edits(dependencies.words, dependencies.lemmas),
        features=none if dependencies is None else _features(dependencies.features),
        joint=bool(joint) and (partial or binarization in ("head", "hidden")),
        hidden=hidden,
        projective=dependencies is not None
        and (_reachable(n, None, dependencies) if partial else dependencies.is_projective),
        style=source.styles,
        weight=source.weight,
        some_spans=some_spans,
    )
    return sentence, why


def _reachable(n: int, constituency: ConstituencyTree | None, dependencies: DependencyTree) -> bool:
    """Whether a pair of trees has all that partial ones say: the constituents and the known heads."""
    spans = () if constituency is None else constituency.spans
    known = [(h, m) for m, h in enumerate(dependencies.heads, 1) if h >= 0]
    try:
        constrain(
            n,
            [
                *(SpanConstraint(i, j) for i, j, _ in spans),
                *(ArcConstraint(h, m) for h, m in known),
            ],
        )
    except ScoreError:
        return False
    return True


def _edits(words: Sequence[str], lemmas: Sequence[str]) -> tuple[str, ...]:
    """What makes the lemmas of the words; "" where a word has no lemma."""
    return tuple(
        "" if lemma in ("", "_") and word != "_" else edit_of(word, lemma)
        for word, lemma in zip(words, lemmas, strict=True)
    )


def _features(features: Sequence[str]) -> tuple[str, ...]:
    """Bundles of features, "_" for a word without; "" for every word of a sentence that has none at all."""
    return tuple(one or "_" for one in features) if any(features) else tuple(features)


def read_training(data: DataSettings) -> tuple[list[Sentence], Intake]:
    """The training sentences as the configuration asks for them."""
    intake = Intake(fate=_FATES[data.incompatible])
    out: list[Sentence] = []
    for source in data.train:
        out += _read_source(source, data, intake)
        if data.limit and intake.sentences >= data.limit:
            break
    if not out:
        raise ConfigError("no training sentence is left: " + intake.summary())
    return out, intake


def _read_source(source: Source, data: DataSettings, intake: Intake) -> Iterator[Sentence]:
    taken = 0
    heads = "partial" if source.partial in ("heads", "both") else "tree"
    for place, pair in read_source(source, data.mismatch, intake, heads=heads):
        if (data.limit and intake.sentences >= data.limit) or (
            source.limit and taken >= source.limit
        ):
            return
        if place < source.first or (place - source.first) % (data.every * source.every):
            continue
        n = len(pair.words)
        if not n or (data.max_words and n > data.max_words):
            intake.empty += not n
            intake.too_long += bool(n)
            continue
        name = f"{Path(source.brackets or source.conll).name} sentence {place + 1}"
        sentence, kind = make_sentence(name, pair, source, data)
        if kind is not None:
            intake.incompatible += 1
            intake.reasons[kind] += 1
            if data.incompatible == "drop":
                continue
        taken += 1
        intake.one_layer += pair.constituency is None or pair.dependencies is None
        intake.sentences += 1
        intake.words += n
        yield from itertools.repeat(sentence, source.repeat)
        for form in augmented(pair, source.augment, f"{source.name} {place}"):
            other, kind = make_sentence(name, form, source, data)
            if kind is None or data.incompatible != "drop":
                intake.augmented += 1
                yield other


class GoldSentence(NamedTuple):
    """A sentence to score against, and the style to parse it in."""

    pair: Pair
    style: tuple[str, str] = ("", "")


def read_gold(
    sources: Sequence[Source], mismatch: Any = "strict", intake: Intake | None = None
) -> list[GoldSentence]:
    """Gold pairs to score against, in order, each in the style of its source; of one layer where that has one.

    None is left out: heads with several roots are scored too.
    """
    intake = intake or Intake()
    found: list[GoldSentence] = []
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
        found += (GoldSentence(pair, source.styles) for pair in pairs)
    return found


def read_source(
    source: Source, mismatch: Any, intake: Intake, *, heads: Any = "tree"
) -> Iterator[tuple[int, Pair]]:
    """The sentences of a source with their places in its files, rewritten and filtered as it says."""
    report = ReadingReport()
    keep = DocumentFilter(source.without, source.only) if source.without or source.only else None
    files = source.brackets or None, source.conll or None
    pairs = read_pairs(*files, mismatch=mismatch, report=report, keep=keep, heads=heads)
    rules = read_rules(source.rewrite) if source.rewrite else None
    digest, place = hashlib.sha256(), -1
    try:
        for place, read in enumerate(pairs):
            pair = read if rules is None else rewrite(read, rules)
            digest.update(_content(pair))
            yield place, pair
    finally:  # also if the caller stops reading
        intake.digests[source.name] = digest.hexdigest()
    if place < 0:
        why = (
            "no sentence in it" if keep is None else "no sentence is left of it by without and only"
        )
        raise FileError(why, path=source.brackets or source.conll)
    intake.mismatched += report.skipped
    unused = set() if keep is None else set(keep.unused())
    for name, values in {**source.without, **source.only}.items():
        if {f"{name} = {value}" for value in values} <= unused:
            raise ConfigError(
                f"{source.conll}: no document has any of the values of {name!r} that are to be left out or kept"
            )


def _content(pair: Pair) -> bytes:
    """All that is learnt from a pair, for a digest."""
    c, d = pair
    constituents = None if c is None else (c.words, c.tags, c.spans)
    rows = (
        None if d is None else (d.words, d.heads, d.relations, d.tags, d.upos, d.lemmas, d.features)
    )
    return repr((constituents, rows)).encode("utf-8", "surrogatepass")


def take_inventories(
    sentences: Sequence[Sentence], *, free: bool = True, least: int = 1
) -> Inventories:
    """What the training sentences have at least so often, sorted; no constituent is label 0. Edits of lemmas that
    were seen once are left out.

    A style of one layer only has nothing of the other: there it uses every name if it is `free`, otherwise none.
    """
    seen: dict[str, Counter[Any]] = {output.name: Counter() for output in NAMED_OUTPUTS}
    styles = sorted({style for sentence in sentences for style in sentence.style})
    by_style: dict[tuple[str, str], set[Any]] = {
        (name, style): set() for name in seen for style in styles
    }
    for sentence in sentences:
        for output in NAMED_OUTPUTS:
            names = sentence.names(output.name)
            seen[output.name].update(names)
            by_style[output.name, sentence.style[LAYERS.index(output.layer)]].update(names)
    known: dict[str, Any] = {}
    for output in NAMED_OUTPUTS:
        often = max(2, least) if output.name == "lemma" else least
        blank = ("", "_") if output.name in ("tag", "upos", "relation") else ("", ())
        kept = (
            name
            for name, times in seen[output.name].items()
            if times >= often and name not in blank
        )
        known[output.names] = tuple(sorted(kept))
    known["labels"] = ((), *known["labels"]) if known["labels"] else ()
    known["seen_lemmas"] = without_rare(_seen_lemmas(sentences), known["lemmas"])
    if styles == [""]:
        return Inventories(**known)
    unused = {
        output.name: tuple(
            unused_names(known[output.names], by_style[output.name, style] - {""}, free)
            for style in styles
        )
        for output in NAMED_OUTPUTS
    }
    return Inventories(**known, styles=tuple(styles), unused=unused)


def unused_names(names: Sequence[Any], used: set[Any], free: bool = True) -> tuple[int, ...]:
    """The numbers of the names that a style does not use; none where it has no name at all and is `free`."""
    if free and not used - {()}:
        return ()
    return tuple(k for k, name in enumerate(names) if name not in used and name != ())


def _seen_lemmas(sentences: Sequence[Sentence]) -> dict[str, dict[str, str]]:
    """By tag: words that were seen with it at least twice, and the edit of at least 95% of the occurrences."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for sentence in {id(one): one for one in sentences}.values():
        tags = sentence.tags if any(sentence.tags) else sentence.upos
        for word, tag, edit in zip(sentence.words, tags, sentence.lemmas, strict=True):
            if tag and edit:
                counts.setdefault((tag, word), Counter())[edit] += 1
    found: dict[str, dict[str, str]] = {}
    for (tag, word), edits in counts.items():
        ((edit, times),) = edits.most_common(1)
        if times >= max(2, 0.95 * edits.total()):
            found.setdefault(tag, {})[word] = edit
    return found


def without_rare(
    seen: dict[str, dict[str, str]], edits: Collection[str]
) -> dict[str, dict[str, str]]:
    """Words with their edits, by tag, but for edits that spell a lemma out and are not among those to learn.

    A rare one is a name or an address that somebody wrote once, not a lemma of the language. Nor are e-mail addresses,
    links, names of files and telephone numbers words of the language: a model's files do not list them.
    """
    common = set(edits)
    return {
        tag: {
            word: edit
            for word, edit in own.items()
            if (edit in common or not edit.startswith("=")) and not _ADDRESS.search(word)
        }
        for tag, own in seen.items()
    }


def style_number(style: tuple[str, str], inventories: Inventories) -> Style:
    """A style by name as one by number; the first where the model does not know it."""
    known = {name: number for number, name in enumerate(inventories.styles)}
    return Style(*(known.get(name, 0) for name in style))


def style_names(given: dict[str, Any], inventories: Inventories) -> dict[str, list[int]]:
    """Styles that a parser can be asked for, by name: numbers for constituents and for dependencies.

    Those that are given, or else those of the treebanks, each for both layers.
    """
    known = {name: number for number, name in enumerate(inventories.styles)}
    pairs = {name: [own, own] if isinstance(own, str) else own for name, own in given.items()}
    for name, pair in pairs.items():
        for style in pair:
            if style not in known:
                raise ConfigError(
                    f"styles.{name}: no training source has the style {style!r}; known: {', '.join(known)}"
                )
    wanted = {name: [known[style] for style in pair] for name, pair in pairs.items()}
    return wanted or {name: [number, number] for name, number in known.items()}


def unseen(pairs: Iterable[Pair], inventories: Inventories) -> dict[str, Counter[str]]:
    """Labels, relations and tags that occur in these pairs and cannot be predicted."""
    labels = {label for chain in inventories.labels for label in chain}
    relations, tags = set(inventories.relations), set(inventories.tags)
    out: dict[str, Counter[str]] = {"labels": Counter(), "relations": Counter(), "tags": Counter()}
    for constituency, dependencies in pairs:
        if constituency is not None:
            spans = constituency.without_wrapper().spans
            out["labels"].update(label for _, _, label in spans if label not in labels)
        if dependencies is not None:
            out["relations"].update(
                one for one in dependencies.relations if one not in {*relations, "", "_"}
            )
        out["tags"].update(
            tag for tag in (constituency or dependencies).tags if tag and tag not in tags
        )
    return out


class Indexer:
    """Numbers of labels, relations, and of what is said of words; what is not in the inventories is IGNORE."""

    def __init__(self, inventories: Inventories) -> None:
        self.ids: dict[str, dict[Any, int]] = {
            output.name: {name: id for id, name in enumerate(getattr(inventories, output.names))}
            for output in NAMED_OUTPUTS
        }

    def __call__(self, sentence: Sentence) -> dict[str, Any]:
        """`labels` (2n-1,), `chains` by span, `relations` (n,), and `answers` (n,) by output."""
        chains, labels = sentence.chains, self._numbers("label", sentence.labels)
        if chains is not None:
            chains = dict(
                zip(chains, self._numbers("label", chains.values()).tolist(), strict=True)
            )
        answers = {
            one.name: self._numbers(one.name, sentence.names(one.name)) for one in WORD_OUTPUTS
        }
        relations = self._numbers("relation", sentence.relations)
        return {"labels": labels, "chains": chains, "relations": relations, "answers": answers}

    def _numbers(self, output: str, names: Iterable[Any]) -> np.ndarray:
        ids = self.ids[output]
        return np.asarray([ids.get(name, IGNORE) for name in names], dtype=np.int64)
