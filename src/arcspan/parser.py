"""`Parser`: text or words in, both trees out. What it says of one sentence is a `Parse` (`arcspan.parse`)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from arcspan.errors import ArcspanError, BundleError, check_count
from arcspan.lazy import lazy
from arcspan.onnx import native
from arcspan.parse import Confidence, Parse
from arcspan.prediction.constraints import Arc, Head, Root, Span, Tag
from arcspan.prediction.outputs import Inventories
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.predictor import Budget, Submission
from arcspan.prediction.query import PLAIN, Options, Query
from arcspan.prediction.sentence_scores import LengthError, SentenceScores
from arcspan.prediction.tree_scores import LogProbability, score_trees
from arcspan.runtime.bundle import MODELS, find_bundle
from arcspan.runtime.loading import load_predictor
from arcspan.segmenting import BaseSegmenter, Sentence, segmenter_for
from arcspan.trees import ConstituencyTree, DependencyTree

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
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
    "load",
]

Words = Sequence[str]
Input = str | Words | Sentence
Item = Input | tuple[Input, Mapping[str, Any] | Query]
"""What a stream may hold: a text, a sentence, or one of them with options of its own."""

ModelName = str | os.PathLike[str]
MEMORY_LIMIT = Budget().memory


def load(path: ModelName | Sequence[ModelName] | None = None, **settings: Any) -> Parser:
    """The parser of a model: "en" is the one inside the package and the default.

    `path` is a bundle's folder, or the name of an installed model (packages bring them as entry points of the
    group `arcspan.models`), or a list of them: an ensemble, whose scores are averaged before the search. `settings` are
    those of `Parser`: threads, memory_limit, guidelines, device.
    """
    return Parser(path, **settings)


class Parser:
    """Parses text and words with a model bundle.

    path          the bundle's folder, or the name of a model; a list of them, or names with commas between them, for
                  an ensemble; None for the English one inside the package, "en"
    threads       how many batches are worked on at once; None for one per processor. Results do not depend on it
    memory_limit  bytes that charts and their scores may take, all threads together; a sentence that needs
                  more is parsed in pieces, and its `Parse` is marked `approximate`
    verify        compare the bundle's files with their checksums; None: unless it is inside the package, where the
                  installer has checked them
    guidelines    whether relations of Universal Dependencies obey its guidelines (one subject per word, and the
                  like); None: as the bundle says, else yes
    device        where the network runs: cpu, cuda, coreml or directml, if onnxruntime has it, or auto for the first
                  that it has; otherwise on the processor, with a warning. Scores have other rounding there

    Every question takes the same options, those of `Query`: k, require, forbid, prefer, confidence, style, tags. A
    parser may be used by several threads at once, and in forked processes; pickled, it is its path and settings.
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
                "this installation has no English model inside: name a model bundle (arcspan export makes one)"
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
        self.config: dict[str, Any]
        """The bundle's configuration: name, language, licence, system, training data, scores."""
        budget = Budget(threads=threads, memory=memory_limit)
        self.predictor, self.config = load_predictor(self.paths, budget, **options)

    @property
    def path(self) -> Path:
        """The folder of the (first) model."""
        return self.paths[0]

    @property
    def name(self) -> str:
        """The full name of the model, such as arcspan-en-0.2.0; older bundles have no version."""
        return "-".join(filter(None, (self.config.get("name"), self.config.get("version"))))

    @property
    def inventories(self) -> Inventories:
        """Every label (a unary chain), relation and tag that the model can predict."""
        return self.predictor.inventories

    @property
    def language(self) -> str:
        """The code of the language that the model parses."""
        return str(self.config.get("language") or "")

    @lazy
    def segmenter(self) -> BaseSegmenter:
        """What splits raw text: learnt with the model, or rules where the bundle has none."""
        return segmenter_for(self.path, self.language or None)

    @property
    def styles(self) -> tuple[str, ...]:
        """The conventions that the model knows, the default first; () where it knows one only."""
        return tuple(self.predictor.styles)

    def query(self, **options: Any) -> Query:
        """The options of a question as one `Query`, checked against what this model can do."""
        query = Query.of(options) if any(value is not None for value in options.values()) else PLAIN
        if query.style is not None:
            self.predictor.style_of(query.style)
        return query

    def __call__(
        self, text: str, *, k: int | None = None, **options: Unpack[Options]
    ) -> list[Parse]:
        """Split raw text into sentences and words, and parse them; the options are those of `Query`.

        With k, the k best parses of each sentence follow each other, best first. Constraints are about every sentence
        of the text; ArcspanError where one cannot meet them.
        """
        if not isinstance(text, str):
            raise ArcspanError(
                f"the parser is called with one text, not with {type(text).__name__}: for several texts use "
                "parser.pipe(texts), for a sentence in words parser.parse(words)"
            )
        query = self.query(k=k, **options)
        found = self._ask(self.segmenter.split(text), query)
        if query.require or query.forbid:
            _raise_errors(found)
        return found

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
        """Parse one sentence that is already in words, which are never split, or a `Sentence` that `split` gave.

        text      the text that the words stand in, one after the other: the parse has their offsets in it
        k         give a list of the k best parses, best first: distinct pairs of trees, exactly the k best
        options   those of `Query`: require, forbid, prefer, confidence, style, tags

        Constraints that contradict each other are named in the error. Of a sentence that is too long for more than
        one parse, or for probabilities, there is the best parse alone.
        """
        query = self.query(k=k, **options)
        sentence = words if isinstance(words, Sentence) else Sentence(_checked(words))
        if text is not None:
            sentence = Sentence.in_text(sentence.words, text)
        found = self._ask([sentence], query)
        _raise_errors(found)
        return found[0] if k is None else found

    def score_trees(
        self,
        words: Words | Sentence,
        constituency: ConstituencyTree | None = None,
        dependencies: DependencyTree | None = None,
        **options: Unpack[Options],
    ) -> LogProbability:
        """The log-probability of trees over these words, labels and relations included: of one layer, or of the pair.

        It is a number; of a pair it also has `constituency` and `dependencies`, each layer alone, and
        `constituency_given_dependencies` and `dependencies_given_constituency`. All binarizations are summed over, and
        for one layer all trees of the other. Relations that are "" or "_" do not count, heads of -1 are summed over,
        and what the model cannot predict, pairs that do not fit each other included, has -inf. The temperatures are
        those of `confidence`. `options` are those of `Query`: under constraints, it is the probability given them.
        """
        found = tuple(words.words if isinstance(words, Sentence) else _checked(words))
        if constituency is None and dependencies is None:
            raise ArcspanError("score_trees needs a constituency tree, a dependency tree, or both")
        if not all(found):
            raise ArcspanError("a word of the sentence is empty")
        if not found:
            raise ArcspanError("an empty sentence has no trees to score")
        return score_trees(
            self.predictor.scores(found, self.query(**options)), constituency, dependencies
        )

    def _ask(self, sentences: Sequence[Sentence], query: Query) -> list[Parse]:
        """The parses of sentences that all are asked the same."""
        if query.tags is not None:
            self._check_tags(sentences, query.tags)
        found = self.predictor.submit(
            [(one.words, query) for one in sentences], eager=False
        ).result()
        asked = zip(sentences, found, strict=True)
        return [
            parse for one, predictions in asked for parse in self._parses(one, query, predictions)
        ]

    def _parses(
        self, sentence: Sentence, query: Query, predictions: Sequence[Prediction]
    ) -> list[Parse]:
        """The parses of one sentence, which share its scores if their confidence is asked for later."""
        scores: list[SentenceScores] = []
        found = []
        for rank, prediction in enumerate(predictions, 1):
            confidence: Confidence | LazyConfidence | None = prediction.confidence
            if confidence is None and prediction.error is None and not prediction.approximate:
                confidence = LazyConfidence(self, sentence.words, query, prediction, scores)
            said = prediction, self.predictor.inventories
            own = None if query.k is None else rank
            found.append(Parse(sentence, said, rank=own, confidence=confidence))
        return found

    def split(self, text: str, *, one_sentence: bool = False) -> list[Sentence]:
        """Split raw text into sentences and words with their offsets, and parse nothing.

        `one_sentence`: into words only, whatever full stops and line breaks there are. `parse`, `pipe` and `stream`
        take what it gives.
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
        """Parse a stream of texts or lists of words; parses come in order, a text gives one for each sentence.

        An item may be a pair (item, options): these options hold for it alone, in place of those of the call:

            parser.pipe([(["Fish", "swim"], {"require": [("root", 2)]}), "Plain text."])

        `batch_size` items or sentences are read ahead, and as many again while those are worked on. A sentence
        that cannot be parsed gives a `Parse` with an `error`; so does an item that is neither a text nor words
        (None, NaN, bytes) with errors="keep", which otherwise ends the stream. `one_sentence`: no text is split
        into sentences.
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
        """Like `pipe`, but one list of parses for each item; with k, the k best parses of each sentence.

        Constraints are about every sentence of an item.
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
        given: dict[str, Any] = {"k": k, **options}
        source = self._read(items, given, one_sentence, errors)
        waiting: deque[tuple[list[_Group], Submission]] = deque()
        try:
            ended: Exception | None = None
            while ended is None:
                groups: list[_Group] = []
                size = 0
                try:
                    while max(len(groups), size) < batch_size:
                        own = next(source)
                        groups.append(own)
                        size += len(own)
                except (
                    Exception
                ) as error:  # StopIteration or a failure: what came before is still to be parsed
                    ended = error
                # The first chunk may be all there is: then the caller's thread is enough for a single batch.
                eager = bool(waiting) or not isinstance(ended, StopIteration)
                requests = [
                    (one.words, query) for own in groups for one, query, error in own if not error
                ]
                waiting.append((groups, self.predictor.submit(requests, eager=eager)))
                if len(waiting) > 1:
                    yield from self._finish(*waiting.popleft())
            while waiting:
                yield from self._finish(*waiting.popleft())
            if not isinstance(ended, StopIteration):
                raise ended
        finally:
            for _, submission in waiting:
                submission.cancel()

    def _read(
        self, items: Iterable[Any], given: dict[str, Any], one_sentence: bool, errors: str
    ) -> Iterator[_Group]:
        """The sentences of each item, each with its query."""
        query = self.query(**given)
        for number, item in enumerate(items, 1):
            try:
                own = query
                if (
                    isinstance(item, tuple)
                    and len(item) == 2
                    and isinstance(item[1], (Mapping, Query))
                ):
                    item, options = item
                    chosen = vars(options) if isinstance(options, Query) else {**given, **options}
                    own = self.query(**chosen)
                if isinstance(item, str):
                    found = [
                        (one, own, "")
                        for one in self.segmenter.split(item, one_sentence=one_sentence)
                    ]
                else:
                    found = [
                        (item if isinstance(item, Sentence) else Sentence(_checked(item)), own, "")
                    ]
                if own.tags is not None:
                    self._check_tags([one for one, _, _ in found], own.tags)
            except ArcspanError as error:
                message = f"item {number}: {error}"
                if errors == "raise":
                    raise ArcspanError(message) from None
                found = [(Sentence(()), query, message)]
            yield found

    def _check_tags(self, sentences: Iterable[Sentence], tags: Sequence[str]) -> None:
        for one in sentences:
            if len(tags) != len(one):
                raise ArcspanError(
                    f"{len(one)} words, but {len(tags)} tags: there must be one per word"
                )
        if not any(scorer.reads_tags for scorer in self.predictor.scorers):
            raise ArcspanError(
                "this model reads no part-of-speech tags: it was trained without them"
            )

    def _finish(self, groups: list[_Group], submission: Submission) -> Iterator[list[Parse]]:
        results = iter(submission.result())
        for group in groups:
            found: list[Parse] = []
            for sentence, query, error in group:
                predictions = [Prediction(error=error)] if error else next(results)
                found += self._parses(sentence, query, predictions)
            yield found

    def answer(self, questions: Sequence[tuple[Sentence, Query]]) -> list[list[Parse]]:
        """The parses of each sentence, all of it by the calling thread: for programs with threads of their own."""
        submission = self.predictor.submit(
            [(one.words, query) for one, query in questions], here=True
        )
        found = zip(questions, submission.result(), strict=True)
        return [
            self._parses(sentence, query, predictions) for (sentence, query), predictions in found
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_parser, (tuple(map(str, self.paths)), tuple(self._settings.items()))

    def __repr__(self) -> str:
        several = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        language = f", language {self.language}" if self.language else ""
        system, threads = self.config.get("system", ""), self.predictor.threads
        return f"Parser({self.name!r}{several}, {system}{language}, threads={threads})"


_Group = list[tuple[Sentence, Query, str]]
"""The sentences of an item; a text in place of "" says why there are none."""


def _raise_errors(parses: Iterable[Parse]) -> None:
    for parse in parses:
        if parse.error is not None:
            raise ArcspanError(parse.error)


@cache
def _restore_parser(path: tuple[str, ...], settings: tuple[tuple[str, Any], ...]) -> Parser:
    """The parser of a path and settings in this process: what is pickled many times is loaded once."""
    return Parser(path, **dict(settings))


def _checked(words: Any) -> tuple[str, ...]:
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
    found = tuple(words)
    for number, word in enumerate(found, 1):
        if not isinstance(word, str):
            raise ArcspanError(f"word {number} is {type(word).__name__}, not a string: {word!r}")
    return found


@dataclass(frozen=True)
class LazyConfidence:
    """The confidence of a parse, computed when it is first asked for; in another process, by the same model there.

    parser   the parser, or its path and settings
    scores   those of the sentence, once they are known, for all its parses
    """

    parser: Parser | tuple[tuple[str, ...], tuple[tuple[str, Any], ...]]
    words: tuple[str, ...]
    query: Query
    prediction: Prediction
    scores: list[SentenceScores]

    def __call__(self) -> Confidence | None:
        """Compute it; None where that would take more memory than the parser may have."""
        try:
            with native:
                if not self.scores:
                    parser = (
                        self.parser
                        if isinstance(self.parser, Parser)
                        else _restore_parser(*self.parser)
                    )
                    self.scores.append(parser.predictor.scores(self.words, self.query))
                return self.scores[0].confidence(self.prediction)
        except LengthError:
            return None

    def __reduce__(self) -> tuple[Any, ...]:
        parser = self.parser.__reduce__()[1] if isinstance(self.parser, Parser) else self.parser
        return LazyConfidence, (parser, self.words, self.query, self.prediction, [])
