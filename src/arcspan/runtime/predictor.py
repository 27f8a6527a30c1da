"""Words to predictions with a model bundle: batches, scores, search, labels.

Batches are small and of like length, because that is fastest on a CPU (`benchmarks/throughput.py`), and each
is worked on by one thread from words to labels; several threads take batches in turn. A sentence's result
does not depend on what stands beside it: no operation mixes sentences, and sentences share a batch only
where the padding leaves the order of additions in a matrix product as it is (`_shape_class`).
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arcspan import decoding
from arcspan.decoding.batch import available_threads
from arcspan.errors import ArcspanError, BundleError
from arcspan.runtime import long
from arcspan.runtime.bundle import read_bundle
from arcspan.runtime.confidence import Calibration
from arcspan.runtime.inputs import inputs_from_json
from arcspan.runtime.labelling import Labelling, RuleTable
from arcspan.runtime.session import Scores, Session

MEMORY_LIMIT = 2 << 30
# Measured with `benchmarks/throughput.py`: on a CPU larger batches only cost cache misses and padding.
BATCH_CELLS = 256  # positions of a batch that the encoder reads, padding included


@dataclass(frozen=True)
class Inventories:
    """What can be predicted, by number. A label is a unary chain, outermost first; 0 is no constituent."""

    labels: tuple[tuple[str, ...], ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...]
    upos: tuple[str, ...]


@dataclass(frozen=True)
class Prediction:
    """One sentence, in numbers of the inventories; what the model does not predict is None.

    nodes      int64 (2n-1, 4): i, j, head word (0 where the model has none), label; pre-order
    heads, relations, tags, upos   int64 (n,)
    score      of the best structure
    approximate   whether the sentence was too long for the exact search (`arcspan.runtime.long`)
    error      why there is no prediction, where there is none
    """

    nodes: np.ndarray | None = None
    heads: np.ndarray | None = None
    relations: np.ndarray | None = None
    tags: np.ndarray | None = None
    upos: np.ndarray | None = None
    score: float = 0.0
    approximate: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Item:
    """A sentence ready for the encoder, its length in words, and what it costs to encode."""

    words: Sequence[str]
    ready: Any
    length: int
    cost: int
    tags: Sequence[str] | None = None


class Predictor:
    """A model bundle at work. It may be used by several threads at once, and in a forked process."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        threads: int | None = None,
        memory_limit: int = MEMORY_LIMIT,
        verify: bool = True,
        decode: str = "best",
        labelling: bool | None = None,
    ) -> None:
        if decode not in ("best", "mbr"):
            raise ArcspanError(f"decode={decode!r}: choose best (the best tree) or mbr (minimum Bayes risk)")
        for name, value in (("threads", threads), ("memory_limit", memory_limit)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ArcspanError(f"{name} must be a whole number, at least 1, not {value!r}")
        self.folder = Path(folder)
        self.threads = threads or available_threads()
        self.memory_limit = memory_limit
        self.config = read_bundle(self.folder, verify=verify)
        try:
            known = self.config["inventories"]
            self.inventories = Inventories(
                tuple(tuple(chain) for chain in known["labels"]),
                *(tuple(known[name]) for name in ("relations", "tags", "upos")),
            )
            tokenizer = self.folder / "tokenizer.json"
            text = tokenizer.read_text(encoding="utf-8") if tokenizer.is_file() else None
            self.inputs = inputs_from_json(self.config["inputs"], text)
            self.sessions = [Session(self.folder, component) for component in self.config["components"]]
        except (KeyError, TypeError, ValueError) as error:
            raise BundleError(
                f"{self.folder / 'config.json'}: damaged: {type(error).__name__}: {error}"
            ) from None
        self.decode = decode
        self.calibration = Calibration.from_config(self.config)
        self.labelling = self._read_labelling(labelling)
        self._tag_ids = {tag: number for number, tag in enumerate(self.inventories.tags, 1)}
        self.forget()
        _alive.add(self)

    def _read_labelling(self, wanted: bool | None) -> Labelling | None:
        """How labels and relations are chosen together: as the bundle says, unless the caller says otherwise."""
        settings = self.config.get("labelling")
        if wanted and not settings:
            raise ArcspanError(
                f"{self.folder}: labelling=True, but this bundle has no rules (arcspan export --labelling)"
            )
        if not settings or not (settings.get("on") if wanted is None else wanted):
            return None
        try:
            data = json.loads((self.folder / settings["rules"]).read_text(encoding="utf-8"))
            known = self.inventories
            table = RuleTable(data["rules"], known.labels, known.tags, known.relations)
            return Labelling(table, settings["weight"], settings.get("candidates", 5))
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise BundleError(
                f"{self.folder}: labelling rules are damaged: {type(error).__name__}: {error}"
            ) from None

    def forget(self) -> None:
        """Begin anew in a forked process, which has none of its parent's threads."""
        self.memory = _Budget(self.memory_limit)
        self._workers: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        for session in self.sessions:
            session.forget()

    def predict(
        self, sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str] | None] | None = None
    ) -> list[Prediction]:
        """Predictions in the order of the sentences; `tags` are read by models that were trained to."""
        return self.submit(sentences, tags, eager=False).result()

    def submit(
        self,
        sentences: Sequence[Sequence[str]],
        tags: Sequence[Sequence[str] | None] | None = None,
        *,
        eager: bool = True,
    ) -> Pending:
        """Begin to predict; several such calls may be under way. Unless `eager`, a single batch is worked
        on by the caller's thread, when it asks for the result.
        """
        pending = Pending(self, len(sentences))
        items = self._prepare(sentences, tags, pending)
        batches = list(self._batches(items))
        if not eager and len(batches) <= 1:
            pending.later = [(places, [items[place] for place in places]) for places in batches]
            return pending
        pool = self._pool()
        for places in batches:
            batch = [items[place] for place in places]
            pending.futures.append((places, pool.submit(self._predict_batch, batch)))
        return pending

    def predict_here(
        self, sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str] | None] | None = None
    ) -> list[Prediction]:
        """`predict` in the caller's thread alone, which may be one of the workers."""
        pending = Pending(self, len(sentences))
        items = self._prepare(sentences, tags, pending)
        pending.later = [(places, [items[place] for place in places]) for places in self._batches(items)]
        return pending.result()

    def _prepare(
        self,
        sentences: Sequence[Sequence[str]],
        tags: Sequence[Sequence[str] | None] | None,
        pending: Pending,
    ) -> dict[int, Item]:
        """The sentences that can be parsed, by place; the others are settled at once."""
        places = []
        for place, words in enumerate(sentences):
            if not words:
                pending.done[place] = self._empty()
            elif "" in words:
                number = list(words).index("") + 1
                pending.done[place] = Prediction(error=f"word {number} of the sentence is empty")
            else:
                places.append(place)
        ready = self.inputs.prepare([sentences[place] for place in places])
        return {
            place: Item(
                sentences[place],
                one,
                len(sentences[place]),
                self.inputs.cost(one),
                tags[place] if tags else None,
            )
            for place, one in zip(places, ready, strict=True)
        }

    def _empty(self) -> Prediction:
        nothing = np.zeros(0, dtype=np.int64)
        return Prediction(np.zeros((0, 4), dtype=np.int64), nothing, nothing, nothing, nothing)

    def _batches(self, items: dict[int, Item]) -> Iterator[list[int]]:
        """Places of like length together, dearest first: the encoder's cells and the charts stay in bounds."""
        order = sorted(items, key=lambda place: (items[place].cost, items[place].length), reverse=True)
        batch: list[int] = []
        kind, widest, longest = (-1, -1), 0, 0
        for place in order:
            item = items[place]
            if batch:
                widest, longest = max(widest, item.cost), max(longest, item.length)
                count = len(batch) + 1
                if (
                    kind != self._shape_class(item)
                    or widest * count > BATCH_CELLS
                    or self.chart_bytes(longest) * count > self.memory_limit // (2 * self.threads)
                ):
                    yield batch
                    batch = []
            if not batch:
                kind, widest, longest = self._shape_class(item), item.cost, item.length
            batch.append(place)
        if batch:
            yield batch

    def _shape_class(self, item: Item) -> tuple[int, int]:
        """Sentences of one class may share a batch.

        The products that score spans and arcs have n+1 columns, and onnxruntime cuts a sum into parts by
        the number of columns: up to 16, 32, 64, or more. Within a class all sums are cut alike.
        """
        positions = item.length + 1
        long = max(0, item.cost - 510)  # several windows: alone in its batch
        return next((size for size in (16, 32, 64) if positions <= size), 128), long

    def chart_bytes(self, n: int, *, sums: bool = False) -> int:
        """What the search of a sentence of n words takes: its scores and its chart.

        With `sums`, and always where decode is "mbr": what probabilities take as well.
        """
        size = n + 1
        if not any(session.part == "both" for session in self.sessions):
            return 40 * size**2
        second = any(session.has_headed for session in self.sessions)
        needed = 2 * size**2 * (size + 8) + 8 * size**2 + (4 * size**3 if second else 0)
        if sums or self.decode == "mbr":
            # Charts of doubles (inside, outside, exponentials of the second order), and scores over a temperature.
            needed += (3 if second else 2) * 4 * size**2 * (size + 8) + (4 * size**3 if second else 0)
        return needed

    def _predict_batch(self, items: Sequence[Item]) -> list[Prediction]:
        """A batch from words to labels. A failure is the failing sentence's alone."""
        try:
            if len(items) == 1 and self.is_too_long(items[0]):
                return [long.predict_long(self, items[0])]
            longest = max(item.length for item in items)
            with self.memory.take(self.chart_bytes(longest) * len(items)):
                parts = [self._predict_part(session, items) for session in self.sessions]
        except Exception as error:
            if len(items) > 1:
                return [found for item in items for found in self._predict_batch([item])]
            if isinstance(error, BundleError):
                raise
            return [Prediction(error=f"{type(error).__name__}: {error}")]
        return parts[0] if len(parts) == 1 else [merge(*both) for both in zip(*parts, strict=True)]

    def is_too_long(self, item: Item) -> bool:
        """Whether a sentence must be parsed in pieces."""
        return item.length > 1 and (
            self.chart_bytes(item.length) > self.memory_limit or item.cost > long.BLOCK_COST
        )

    def longest_piece(self) -> int:
        """How many words an exactly parsed piece of a very long sentence may have."""
        n = long.PIECE
        while n > 1 and self.chart_bytes(n) > self.memory_limit:
            n -= 1
        return n

    def _predict_part(self, session: Session, items: Sequence[Item]) -> list[Prediction]:
        lengths = np.asarray([item.length for item in items], dtype=np.int64)
        scores = session.score(self.arrays(session, items))
        return self.label(session, scores, self.search(scores, lengths), lengths)

    def arrays(self, session: Session, items: Sequence[Item]) -> dict[str, np.ndarray]:
        """What the score graph reads."""
        arrays = self.inputs.batch([item.ready for item in items])
        if session.reads_tags:
            size = max(item.length for item in items) + 2
            given = np.zeros((len(items), size), dtype=np.int64)
            for b, item in enumerate(items):
                if item.tags is not None:
                    given[b, 1 : item.length + 1] = [self._tag_ids.get(tag, 0) for tag in item.tags]
            arrays["gold_tags"] = given
        return arrays

    def search(self, scores: Scores, lengths: np.ndarray) -> decoding.Decoded:
        """The best structure: Eisner-Satta where there are spans and arcs, otherwise CKY or Eisner.

        With decode="mbr", the one with the greatest expected number of right spans and arcs.
        """
        if self.decode == "mbr":
            scores = expected(scores, lengths, self.calibration)
        if scores.span is not None and scores.arc is not None:
            return decoding.eisner_satta(scores.span, scores.arc, lengths, headed=scores.headed, threads=1)
        if scores.span is not None:
            return decoding.cky(scores.span, lengths, threads=1)
        assert scores.arc is not None
        return decoding.eisner(scores.arc, lengths, threads=1)

    def label(
        self, session: Session, scores: Scores, decoded: decoding.Decoded, lengths: np.ndarray
    ) -> list[Prediction]:
        """Label what the search found: all sentences of a batch at once."""
        b, m = word_places(lengths)
        rows, words = [_NOWHERE] * 3, [_NOWHERE] * 3
        if decoded.spans is not None:
            found = np.concatenate(decoded.spans)
            rows = [np.repeat(np.arange(len(lengths)), 2 * lengths - 1), found[:, 0], found[:, 1]]
        if decoded.heads is not None:
            words = [b, m, decoded.heads[b, m]]
        labels, relations = session.label(scores.hidden, rows, words)
        if labels is not None:
            # A sentence of several words has a constituent over all of them, whatever its label.
            own = lengths[rows[0]]
            labels[(rows[1] == 0) & (rows[2] == own) & (own > 1), 0] = -np.inf
        tags = None if scores.tag is None else scores.tag.argmax(2)[b, m]
        upos = None if scores.upos is None else scores.upos.argmax(2)[b, m]
        return self.assemble(decoded, lengths, labels, relations, tags, upos)

    def assemble(
        self,
        decoded: decoding.Decoded,
        lengths: np.ndarray,
        labels: np.ndarray | None,
        relations: np.ndarray | None,
        tags: np.ndarray | None,
        upos: np.ndarray | None,
    ) -> list[Prediction]:
        """Predictions from the structures of a batch, scores of labels at their nodes and of relations at their
        words, and tags; all sentences in one array, one after the other.
        """
        b, m = word_places(lengths)
        nodes = heads = relation_ids = None
        if labels is not None and decoded.spans is not None:
            found = np.concatenate(decoded.spans)
            nodes = np.zeros((len(found), 4), dtype=np.int64)
            nodes[:, : found.shape[1]] = found
            nodes[:, 3] = labels.argmax(1)
        if relations is not None and decoded.heads is not None:
            heads, relation_ids = decoded.heads[b, m], relations.argmax(1)
        out, word, node = [], 0, 0
        for n, score in zip(lengths.tolist(), decoded.scores.tolist(), strict=True):
            mine, below = slice(word, word + n), slice(node, node + 2 * n - 1)
            if self.labelling is not None and nodes is not None and relation_ids is not None:
                assert labels is not None and relations is not None and heads is not None
                nodes[below, 3], relation_ids[mine] = self.labelling.choose(
                    nodes[below],
                    heads[mine],
                    labels[below],
                    relations[mine],
                    None if tags is None else tags[mine],
                )
            out.append(
                Prediction(
                    None if nodes is None else nodes[below],
                    None if heads is None else heads[mine],
                    None if relation_ids is None else relation_ids[mine],
                    None if tags is None else tags[mine],
                    None if upos is None else upos[mine],
                    score,
                )
            )
            word, node = mine.stop, below.stop
        return out

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(self.threads, thread_name_prefix="arcspan")
            return self._workers


class Pending:
    """Predictions under way."""

    def __init__(self, predictor: Predictor, count: int) -> None:
        self.count = count
        self.done: dict[int, Prediction] = {}
        self.futures: list[tuple[list[int], Future[list[Prediction]]]] = []
        self.later: list[tuple[list[int], list[Item]]] = []
        self._predictor = predictor

    def result(self) -> list[Prediction]:
        """Wait for all of them."""
        for places, items in self.later:
            self.done.update(zip(places, self._predictor._predict_batch(items), strict=True))
        for places, future in self.futures:
            self.done.update(zip(places, future.result(), strict=True))
        self.later, self.futures = [], []
        return [self.done[place] for place in range(self.count)]

    def cancel(self) -> None:
        """Give up what has not begun."""
        for _, future in self.futures:
            future.cancel()


class _Budget:
    """Memory that batches share: who finds too little left waits until others have given theirs back."""

    def __init__(self, limit: int) -> None:
        self._left = self._limit = limit
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def take(self, wanted: int) -> Iterator[None]:
        """Hold that many bytes, or all there are, while the block runs."""
        wanted = min(wanted, self._limit)
        with self._changed:
            self._changed.wait_for(lambda: self._left >= wanted)
            self._left -= wanted
        try:
            yield
        finally:
            with self._changed:
                self._left += wanted
                self._changed.notify_all()


_alive: weakref.WeakSet[Predictor] = weakref.WeakSet()


def _begin_anew() -> None:
    for predictor in list(_alive):
        predictor.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


_NOWHERE = np.zeros(0, dtype=np.int64)


def word_places(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every word of a batch: its sentence and its position 1..n."""
    b = np.repeat(np.arange(len(lengths)), lengths)
    begins = np.cumsum(lengths) - lengths
    return b, np.arange(len(b)) - begins[b] + 1


def expected(scores: Scores, lengths: np.ndarray, calibration: Calibration) -> Scores:
    """Calibrated marginals of spans and arcs in place of their scores; what is forbidden stays so."""
    spans, arcs = marginals(scores, lengths, calibration)
    if spans is not None and scores.span is not None:
        spans = np.where(np.isneginf(scores.span), -np.inf, spans).astype(np.float32)
    if arcs is not None and scores.arc is not None:
        arcs = np.where(np.isneginf(scores.arc), -np.inf, arcs).astype(np.float32)
    headed = None
    if scores.headed is not None and np.isneginf(scores.headed).any():
        headed = np.where(np.isneginf(scores.headed), -np.inf, 0).astype(np.float32)
    return scores._replace(span=spans, arc=arcs, headed=headed)


def marginals(
    scores: Scores, lengths: np.ndarray, calibration: Calibration
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Probabilities of spans [B, n+1, n+1] and arcs [B, n+1, n+1], each at its own temperature."""
    if scores.span is None or scores.arc is None:
        spans = scores.span is not None
        alone = calibration.span_temperature if spans else calibration.arc_temperature
        found = marginals_at(scores, lengths, alone)
        return found.spans, found.arcs
    first = marginals_at(scores, lengths, calibration.span_temperature)
    if calibration.arc_temperature == calibration.span_temperature:
        return first.spans, first.arcs
    return first.spans, marginals_at(scores, lengths, calibration.arc_temperature).arcs


def divided(scores: Scores, temperature: float) -> tuple[np.ndarray | None, ...]:
    """Scores of spans, arcs and headed spans, divided by a temperature."""
    with np.errstate(all="ignore"):  # cells of `headed` that mean nothing hold anything
        parts = (scores.span, scores.arc, scores.headed)
        return tuple(None if part is None else part / np.float32(temperature) for part in parts)


def marginals_at(scores: Scores, lengths: np.ndarray, temperature: float) -> decoding.Marginals:
    """Marginals of all scores divided by a temperature."""
    span, arc, headed = divided(scores, temperature)
    return decoding.marginals(span, arc, lengths, headed, with_headed=False, threads=1)


def merge(first: Prediction, second: Prediction) -> Prediction:
    """One prediction from the two models of a SEP parser."""
    constituents, arcs = (first, second) if first.nodes is not None else (second, first)
    tagger = constituents if constituents.tags is not None or constituents.upos is not None else arcs
    return Prediction(
        constituents.nodes,
        arcs.heads,
        arcs.relations,
        tagger.tags,
        tagger.upos,
        first.score + second.score,
        first.approximate or second.approximate,
        first.error or second.error,
    )
