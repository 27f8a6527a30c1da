"""`Parser`: text or words in, a `Parse` (`arcspan.parse`) with both trees out."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from arcspan.errors import ArcspanError, BundleError, check_count
from arcspan.lazy import lazy
from arcspan.onnx import native
from arcspan.parse import Confidence, Parse
from arcspan.prediction.constraints import FORMS, Arc, Head, Root, Span, Tag, list_forms
from arcspan.prediction.outputs import Inventories
from arcspan.prediction.probability import LogProbability, TreeDistribution, score_trees
from arcspan.prediction.query import PLAIN, Options, Query
from arcspan.prediction.results import Prediction
from arcspan.prediction.runner import Budget, LengthError, Submission
from arcspan.runtime.bundle import MODELS, find_bundle
from arcspan.runtime.loading import load_predictor
from arcspan.segmenting import BaseSegmenter, Sentence, segmenter_for
from arcspan.trees import ConstituencyTree, DependencyTree

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "FORMS",
    "MODELS",
    "Arc",
    "Confidence",
    "Head",
    "Input",
    "LogProbability",
    "Parse",
    "Parser",
    "Query",
    "Root",
    "Sentence",
    "Span",
    "Tag",
    "Words",
    "list_forms",
    "load",
]

Words = Sequence[str]
Input = str | Words | Sentence
Item = Input | tuple[Input, Mapping[str, Any] | Query]
"""An entry of a stream: a text, a sentence, or one of them with options of its own."""

ModelName = str | os.PathLike[str]
MEMORY_LIMIT = Budget().memory


def load(path: ModelName | Sequence[ModelName] | None = None, **settings: Any) -> Parser:
    """Return the parser of a model: "en" is the one inside the package and the default.

    `path` is a bundle's folder, or the name of an installed model (packages bring them as entry
    points of the group `arcspan.models`), or a list of them: an ensemble, whose scores are averaged
    before the search. `settings` are those of `Parser`: threads, memory_limit, guidelines, device.
    """
    return Parser(path, **settings)


class Parser:
    """A parser of text and words with a model bundle.

    path          the bundle's folder, or the name of a model; a list of them, or names with commas
                  between them, for an ensemble; None for the English one inside the package, "en"
    threads       how many batches are parsed at once; None for one per processor. Results do not
                  depend on it
    memory_limit  bytes that charts and their scores may take, all threads together; the process
                  takes about 300 MB more (Python, the model, the network). A sentence that needs
                  more is parsed in pieces, and its `Parse` is marked `approximate`
    verify        compare the bundle's files with their checksums; None: unless it is inside the
                  package, where the installer has checked them
    guidelines    whether relations of Universal Dependencies obey its guidelines (one subject per
                  word, and the like); None: as the bundle says, else yes
    device        where the network runs: cpu, cuda, coreml or directml, if onnxruntime has it, or
                  auto for the first that it has; otherwise on the processor, with a warning. Scores
                  have other rounding there

    Every query takes the same options, those of `Query`: k, require, forbid, prefer, confidence,
    style, tags. A parser may be used by several threads at once, and in forked processes; pickled,
    it is its path and settings.
    """

    def __init__(
        self,
        path: ModelName | Sequence[ModelName] | None = None,
        *,
        threads: int | None = None,
        memory_limit: int = MEMORY_LIMIT,
        verify: bool | None = None,
        guidelines: bool | None = None,
        device: str = "cpu",
    ) -> None:
        if path is None and not (MODELS / "en").is_dir():
            raise BundleError(
                "this installation has no English model inside: "
                "name a model bundle (arcspan export makes one)"
            )
        if isinstance(path, str) and "," in path and not os.path.exists(path):
            path = path.split(",")
        names = [path] if isinstance(path, (str, os.PathLike)) else path
        self.paths = [MODELS / "en"] if names is None else [find_bundle(name) for name in names]
        """The folders of its models: one, or several of an ensemble."""
        if not self.paths:
            raise BundleError("an ensemble needs at least one model")
        options: dict[str, Any] = {"verify": verify, "guidelines": guidelines, "device": device}
        self._settings = {"threads": threads, "memory_limit": memory_limit, **options}
        budget = Budget(threads=threads, memory=memory_limit)
        predictor, config = load_predictor(self.paths, budget, **options)
        self.predictor = predictor
        self.config: dict[str, Any] = config
        """The bundle's configuration: name, language, licence, system, training data, scores."""

    @property
    def path(self) -> Path:
        """Return the folder of the (first) model."""
        return self.paths[0]

    @property
    def name(self) -> str:
        """Return the full name of the model, such as arcspan-en-0.2.0; older bundles have no
        version.
        """
        return "-".join(filter(None, (self.config.get("name"), self.config.get("version"))))

    @property
    def inventories(self) -> Inventories:
        """Return every label (a unary chain), relation and tag that the model can predict."""
        return self.predictor.model.inventories

    @property
    def language(self) -> str:
        """Return the code of the language that the model parses."""
        return str(self.config.get("language") or "")

    @lazy
    def segmenter(self) -> BaseSegmenter:
        """Return the segmenter of raw text: learnt with the model, or rules where the bundle has
        none.
        """
        return segmenter_for(self.path, self.language or None)

    @property
    def styles(self) -> tuple[str, ...]:
        """Return the names of the model's conventions, the default first; () for a single one."""
        return tuple(self.predictor.model.styles)

    def query(self, **options: Any) -> Query:
        """Return the options as one `Query`, checked against what this model can do."""
        query = Query.of(options) if any(value is not None for value in options.values()) else PLAIN
        if query.style is not None:
            self.predictor.model.style_of(query.style)
        return query

    def __call__(
        self, text: str, *, k: int | None = None, **options: Unpack[Options]
    ) -> list[Parse]:
        """Split raw text into sentences and words, and parse them; the options are those of
        `Query`.

        With k, the k best parses of each sentence follow each other, best first. Constraints are
        about every sentence of the text; ArcspanError where one cannot meet them.
        """
        if not isinstance(text, str):
            raise ArcspanError(
                f"the parser is called with one text, not with {type(text).__name__}: for several "
                "texts use parser.pipe(texts), for a sentence in words parser.parse(words)"
            )
        query = self.query(k=k, **options)
        parses = self._parse_all(self.segmenter.split(text), query)
        if query.require or query.forbid:
            _raise_errors(parses)
        return parses

    @overload
    def parse(
        self,
        words: Words | Sentence,
        *,
        text: str | None = None,
        k: None = None,
        **options: Unpack[Options],
    ) -> Parse: ...

    @overload
    def parse(
        self,
        words: Words | Sentence,
        *,
        text: str | None = None,
        k: int,
        **options: Unpack[Options],
    ) -> list[Parse]: ...

    def parse(
        self,
        words: Words | Sentence,
        *,
        text: str | None = None,
        k: int | None = None,
        **options: Unpack[Options],
    ) -> Parse | list[Parse]:
        """Parse one sentence that is already in words, which are never split, or one that `split`
        gave.

        text      the text that the words stand in, one after the other: the parse has their offsets
                  in it
        k         give a list of the k best parses, best first: distinct pairs of trees, exactly the
                  k best
        options   those of `Query`: require, forbid, prefer, confidence, style, tags

        Constraints that contradict each other are named in the error. Of a sentence that is too
        long for more than one parse, or for probabilities, there is the best parse alone.
        """
        query = self.query(k=k, **options)
        sentence = _as_sentence(words)
        if text is not None:
            sentence = Sentence.in_text(sentence.words, text)
        parses = self._parse_all([sentence], query)
        _raise_errors(parses)
        return parses[0] if k is None else parses

    def score_trees(
        self,
        words: Words | Sentence,
        constituency: ConstituencyTree | None = None,
        dependencies: DependencyTree | None = None,
        **options: Unpack[Options],
    ) -> LogProbability:
        """Return the log-probability of trees over these words, labels and relations included: of
        one layer, or of the pair.

        It is a number; of a pair it also has `constituency` and `dependencies`, each layer alone,
        and `constituency_given_dependencies` and `dependencies_given_constituency`. All
        binarizations are summed over, and for one layer all trees of the other. Relations that are
        "" or "_" do not count, heads of -1 are summed over, and what the model cannot predict,
        pairs that do not fit each other included, has -inf. The temperatures are those of
        `confidence`. `options` are those of `Query`: under constraints, it is the probability given
        them.
        """
        forms = tuple(_as_sentence(words).words)
        if constituency is None and dependencies is None:
            raise ArcspanError("score_trees needs a constituency tree, a dependency tree, or both")
        if not all(forms):
            raise ArcspanError("a word of the sentence is empty")
        if not forms:
            raise ArcspanError("an empty sentence has no trees to score")
        distribution = self.predictor.distribution(forms, self.query(**options))
        return score_trees(distribution, constituency, dependencies)

    def _parse_all(self, sentences: Sequence[Sentence], query: Query) -> list[Parse]:
        """Parse sentences with one query for all of them."""
        if query.tags is not None:
            self._check_tags(sentences, query.tags)
        questions = [(sentence.words, query) for sentence in sentences]
        results = self.predictor.submit(questions, eager=False).result()
        parses: list[Parse] = []
        for sentence, predictions in zip(sentences, results, strict=True):
            parses += self._parses(sentence, query, predictions)
        return parses

    def _parses(
        self, sentence: Sentence, query: Query, predictions: Sequence[Prediction]
    ) -> list[Parse]:
        """Return the predictions of one sentence as parses, which share the work of confidence."""
        distributions: list[TreeDistribution] = []
        parses = []
        for rank, prediction in enumerate(predictions, 1):
            confidence: Confidence | LazyConfidence | None = prediction.confidence
            if confidence is None and prediction.error is None and not prediction.approximate:
                confidence = LazyConfidence(self, sentence.words, query, prediction, distributions)
            shown_rank = None if query.k is None else rank
            parses.append(Parse(sentence, prediction, rank=shown_rank, confidence=confidence))
        return parses

    def split(self, text: str, *, one_sentence: bool = False) -> list[Sentence]:
        """Split raw text into sentences and words with their offsets, and parse nothing.

        `one_sentence`: into words only, whatever full stops and line breaks there are. `parse`,
        `pipe` and `stream` take the results.
        """
        return self.segmenter.split(text, one_sentence=one_sentence)

    def pipe(
        self,
        items: Iterable[Item],
        batch_size: int = 256,
        *,
        k: int | None = None,
        one_sentence: bool = False,
        errors: Literal["raise", "keep"] = "raise",
        **options: Unpack[Options],
    ) -> Iterator[Parse]:
        """Parse a stream of texts or lists of words; parses come in order, one per sentence of a
        text.

        An item may be a pair (item, options): these options hold for it alone, in place of those of
        the call:

            parser.pipe([(["Fish", "swim"], {"require": [("root", 2)]}), "Plain text."])

        `batch_size` items or sentences are read ahead, and as many again while those are parsed. A
        sentence that cannot be parsed gives a `Parse` with an `error`; so does an item that is
        neither a text nor words (None, NaN, bytes) with errors="keep", which otherwise ends the
        stream. `one_sentence`: no text is split into sentences.
        """
        streamed = self.stream(
            items, batch_size, k=k, one_sentence=one_sentence, errors=errors, **options
        )
        for parses in streamed:
            yield from parses

    def stream(
        self,
        items: Iterable[Item],
        batch_size: int = 256,
        *,
        k: int | None = None,
        one_sentence: bool = False,
        errors: Literal["raise", "keep"] = "raise",
        **options: Unpack[Options],
    ) -> Iterator[list[Parse]]:
        """Parse like `pipe`, but give one list of parses for each item.

        With k, the list has the k best parses of each sentence. Constraints are about every
        sentence of an item.
        """
        if isinstance(items, (str, bytes)):
            raise ArcspanError("a stream of texts is needed, not one text: put it into a list")
        if not hasattr(items, "__iter__") and not hasattr(items, "__getitem__"):
            raise ArcspanError(
                f"a stream of texts is needed, not {type(items).__name__}: {items!r}"
            )
        check_count("batch_size", batch_size)
        if errors not in ("raise", "keep"):
            raise ArcspanError(f"errors must be 'raise' or 'keep', not {errors!r}")
        source = self._read_items(items, {"k": k, **options}, one_sentence, errors)
        under_way: deque[tuple[list[_Item], Submission]] = deque()
        try:
            failure: Exception | None = None
            while failure is None:
                chunk: list[_Item] = []
                size = 0
                try:
                    while max(len(chunk), size) < batch_size:
                        item = next(source)
                        chunk.append(item)
                        size += len(item.sentences)
                except Exception as error:
                    # StopIteration, or a failure: what came before is still to be parsed.
                    failure = error
                # The first chunk may be all there is: then the caller's thread is enough for one
                # batch.
                eager = bool(under_way) or not isinstance(failure, StopIteration)
                questions = []
                for item in chunk:
                    questions += [(sentence.words, item.query) for sentence in item.sentences]
                under_way.append((chunk, self.predictor.submit(questions, eager=eager)))
                if len(under_way) > 1:
                    yield from self._finish(*under_way.popleft())
            while under_way:
                yield from self._finish(*under_way.popleft())
            if not isinstance(failure, StopIteration):
                raise failure
        finally:
            for _, submission in under_way:
                submission.cancel()

    def _read_items(
        self, items: Iterable[Any], options: dict[str, Any], one_sentence: bool, errors: str
    ) -> Iterator[_Item]:
        """Yield the sentences of each item, with its query."""
        query = self.query(**options)
        for number, item in enumerate(items, 1):
            try:
                yield self._read_item(item, options, query, one_sentence)
            except ArcspanError as error:
                message = f"item {number}: {error}"
                if errors == "raise":
                    raise ArcspanError(message) from None
                yield _Item([], query, message)

    def _read_item(
        self, item: Any, options: dict[str, Any], query: Query, one_sentence: bool
    ) -> _Item:
        is_pair = isinstance(item, tuple) and len(item) == 2
        if is_pair and isinstance(item[1], (Mapping, Query)):
            item, changes = item
            # A query replaces all options of the call, a mapping those that it names.
            changed = vars(changes) if isinstance(changes, Query) else {**options, **changes}
            query = self.query(**changed)
        if isinstance(item, str):
            sentences = self.segmenter.split(item, one_sentence=one_sentence)
        else:
            sentences = [_as_sentence(item)]
        if query.tags is not None:
            self._check_tags(sentences, query.tags)
        return _Item(sentences, query)

    def _check_tags(self, sentences: Iterable[Sentence], tags: Sequence[str]) -> None:
        for sentence in sentences:
            if len(tags) != len(sentence):
                raise ArcspanError(
                    f"{len(sentence)} words, but {len(tags)} tags: there must be one per word"
                )
        if not any(scorer.reads_tags for scorer in self.predictor.model.scorers):
            raise ArcspanError(
                "this model reads no part-of-speech tags: it was trained without them"
            )

    def _finish(self, chunk: list[_Item], submission: Submission) -> Iterator[list[Parse]]:
        results = iter(submission.result())
        for item in chunk:
            parses: list[Parse] = []
            if item.error is not None:
                parses = self._parses(Sentence(()), item.query, [Prediction(error=item.error)])
            of_item = islice(results, len(item.sentences))
            for sentence, predictions in zip(item.sentences, of_item, strict=True):
                parses += self._parses(sentence, item.query, predictions)
            yield parses

    def answer(self, questions: Sequence[tuple[Sentence, Query]]) -> list[list[Parse]]:
        """Return the parses of each sentence, all by the calling thread: for programs with threads
        of their own.
        """
        submission = self.predictor.submit(
            [(sentence.words, query) for sentence, query in questions], inline=True
        )
        parses = []
        for (sentence, query), predictions in zip(questions, submission.result(), strict=True):
            parses.append(self._parses(sentence, query, predictions))
        return parses

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_parser, (tuple(map(str, self.paths)), tuple(self._settings.items()))

    def __repr__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        language = f", language {self.language}" if self.language else ""
        system = self.config.get("system", "")
        threads = self.predictor.threads
        return f"Parser({self.name!r}{more}, {system}{language}, threads={threads})"


class _Item(NamedTuple):
    """The sentences of an item of a stream, or the error because of which there are none."""

    sentences: list[Sentence]
    query: Query
    error: str | None = None


def _raise_errors(parses: Iterable[Parse]) -> None:
    for parse in parses:
        if parse.error is not None:
            raise ArcspanError(parse.error)


# What is pickled many times is loaded once in each process.
@cache
def _restore_parser(path: tuple[str, ...], settings: tuple[tuple[str, Any], ...]) -> Parser:
    return Parser(path, **dict(settings))


def _as_sentence(words: Any) -> Sentence:
    """Return a sentence of words, checked."""
    if isinstance(words, Sentence):
        return words
    if isinstance(words, bytes):
        raise ArcspanError(f"bytes are not text, decode them first: {words[:40]!r}")
    if isinstance(words, str):
        raise ArcspanError(
            "words must be a list of words; for raw text, call the parser: parser(text)"
        )
    if not isinstance(words, Iterable) or isinstance(words, (Mapping, Set)):
        raise ArcspanError(
            f"a text or a list of words is needed, not {type(words).__name__}: {words!r}"
        )
    forms = tuple(words)
    for number, word in enumerate(forms, 1):
        if not isinstance(word, str):
            raise ArcspanError(f"word {number} is {type(word).__name__}, not a string: {word!r}")
    return Sentence(forms)


@dataclass(frozen=True)
class LazyConfidence:
    """The confidence of a parse, computed when it is first read; in another process, by the same
    model there.

    parser         the parser, or its path and settings
    prediction     in numbers
    distributions  that of the sentence, once it is known, for all its parses
    """

    parser: Parser | tuple[tuple[str, ...], tuple[tuple[str, Any], ...]]
    words: tuple[str, ...]
    query: Query
    prediction: Prediction
    distributions: list[TreeDistribution]

    def __call__(self) -> Confidence | None:
        """Compute it; None where that would take more memory than the parser may have."""
        parser = self.parser
        if not isinstance(parser, Parser):
            parser = _restore_parser(*parser)
        try:
            with native:
                if not self.distributions:
                    self.distributions.append(parser.predictor.distribution(self.words, self.query))
                return parser.predictor.confidence(self.distributions[0], self.prediction)
        except LengthError:
            return None

    def __reduce__(self) -> tuple[Any, ...]:
        parser = self.parser.__reduce__()[1] if isinstance(self.parser, Parser) else self.parser
        # The model there has the same inventories.
        prediction = replace(self.prediction, inventories=None)
        return LazyConfidence, (parser, self.words, self.query, prediction, [])
