"""`Parser`: text or words in, both trees out. What it says of one sentence is a `Parse` (`arcspan.parse`)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from arcspan.errors import ArcspanError, BundleError
from arcspan.parse import Confidence, Offsets, Parse
from arcspan.prediction.constraints import Arc, Constraint, Head, Root, Span, read_constraints
from arcspan.prediction.outputs import Inventories, Style
from arcspan.prediction.prediction import Prediction
from arcspan.prediction.predictor import Budget, Pending, empty_word
from arcspan.prediction.sentence_scores import LengthError, SentenceScores
from arcspan.runtime.bundle import MODELS, find_bundle
from arcspan.runtime.loading import load_predictor
from arcspan.segmenting import BaseSegmenter, Sentence, segmenter_for

__all__ = ["MODELS", "Arc", "Confidence", "Head", "Input", "Parse", "Parser", "Root", "Span", "Words", "load"]

Words = Sequence[str]
Input = str | Words

MEMORY_LIMIT = Budget().memory


def load(
    path: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    memory_limit: int = MEMORY_LIMIT,
    decode: str = "best",
    labelling: bool | None = None,
    guidelines: bool | None = None,
    device: str = "cpu",
) -> Parser:
    """The parser of a model: "en" is the one inside the package and the default.

    `path` is a bundle's folder, or the name of an installed model (packages bring them as entry points of the
    group `arcspan.models`).
    """
    return Parser(
        path,
        threads=threads,
        memory_limit=memory_limit,
        decode=decode,
        labelling=labelling,
        guidelines=guidelines,
        device=device,
    )


class Parser:
    """Parses text and words with a model bundle.

    path          the bundle's folder, or the name of a model; None for the English one inside the package, "en"
    threads       how many batches are worked on at once; None for one a processor. Results do not depend on it
    memory_limit  bytes that charts and their scores may take, all threads together; a sentence that needs
                  more is parsed in pieces, and its `Parse` is marked `approximate`
    verify        compare the bundle's files with their checksums
    decode        "best": the best tree; "mbr": the tree with the greatest expected number of right spans and
                  arcs (minimum Bayes risk), which takes a few times longer
    labelling     whether labels and relations are chosen together, by rules of the treebank; None: as the
                  bundle says
    guidelines    whether relations of Universal Dependencies obey its guidelines (one subject per word, and the
                  like); None: as the bundle says, else yes
    device        where the network runs: cpu, cuda, coreml or directml, if onnxruntime has it, or auto for the first
                  that it has; otherwise on the processor, with a warning. Scores have other rounding there

    A parser may be used by several threads at once, and in forked processes; pickled, it is its path and
    settings.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        threads: int | None = None,
        memory_limit: int = MEMORY_LIMIT,
        verify: bool = True,
        decode: str = "best",
        labelling: bool | None = None,
        guidelines: bool | None = None,
        device: str = "cpu",
    ) -> None:
        self.path = MODELS / "en" if path is None else find_bundle(path)
        if path is None and not self.path.is_dir():
            raise BundleError(
                "this installation has no English model inside: name a model bundle (arcspan export makes one)"
            )
        self._settings: dict[str, Any] = {
            "threads": threads,
            "memory_limit": memory_limit,
            "verify": verify,
            "decode": decode,
            "labelling": labelling,
            "guidelines": guidelines,
            "device": device,
        }
        self.config: dict[str, Any]
        """The bundle's configuration: name, language, licence, system, training data, scores."""
        self.predictor, self.config = load_predictor(
            self.path,
            Budget(threads=threads, memory=memory_limit),
            verify=verify,
            decode=decode,
            labelling=labelling,
            guidelines=guidelines,
            device=device,
        )

    @property
    def inventories(self) -> Inventories:
        """Every label (a unary chain), relation and tag that the model can predict."""
        return self.predictor.inventories

    @property
    def language(self) -> str:
        """The code of the language that the model parses."""
        return str(self.config.get("language") or "")

    @cached_property
    def segmenter(self) -> BaseSegmenter:
        """What splits raw text: learnt with the model, or rules where the bundle has none."""
        return segmenter_for(self.path, self.language or None)

    @property
    def styles(self) -> tuple[str, ...]:
        """The conventions that the model knows, the default first; () where it knows one only."""
        return tuple(self.predictor.styles)

    def _style(self, name: str | None) -> Style | None:
        if name is None:
            return None
        try:
            return self.predictor.styles[name]
        except (KeyError, TypeError):
            known = f"it has {', '.join(self.styles)}" if self.styles else "it has only one"
            raise ArcspanError(f"this model has no style {name!r}: {known}") from None

    def __call__(
        self, text: str, *, k: int | None = None, confidence: bool = False, style: str | None = None
    ) -> list[Parse]:
        """Split raw text into sentences and words, and parse them; the options are those of `parse`.

        With k, the k best parses of each sentence follow each other, best first.
        """
        if not isinstance(text, str):
            raise ArcspanError(
                f"the parser is called with one text, not with {type(text).__name__}: for several texts use "
                "parser.pipe(texts), for a sentence in words parser.parse(words)"
            )
        (found,) = self.stream([text], k=k, confidence=confidence, style=style)
        return found

    @overload
    def parse(
        self,
        words: Words,
        *,
        k: None = None,
        tags: Sequence[str] | None = None,
        require: Iterable[Any] = (),
        forbid: Iterable[Any] = (),
        confidence: bool = False,
        style: str | None = None,
    ) -> Parse: ...

    @overload
    def parse(
        self,
        words: Words,
        *,
        k: int,
        tags: Sequence[str] | None = None,
        require: Iterable[Any] = (),
        forbid: Iterable[Any] = (),
        confidence: bool = False,
        style: str | None = None,
    ) -> list[Parse]: ...

    def parse(
        self,
        words: Words,
        *,
        k: int | None = None,
        tags: Sequence[str] | None = None,
        require: Iterable[Any] = (),
        forbid: Iterable[Any] = (),
        confidence: bool = False,
        style: str | None = None,
    ) -> Parse | list[Parse]:
        """Parse one sentence that is already in words; they are never split.

        k           give a list of the k best parses, best first: distinct pairs of trees, exactly the k best
        tags        part-of-speech tags, for a model that was trained to read them
        require     constituents, arcs, heads and the root that the trees must have: `Span(i, j)`,
                    `Span(i, j, label)`, `Arc(head, modifier)`, `Head(i, j, head)`, `Root(word)`. A tuple (i, j, label)
                    is a span, and so is (i, j) with i < j; (h, m) with h > m is an arc; ("arc", h, m) says it
        forbid      the same that they must not have
        confidence  compute `Parse.confidence` at once
        style       whose conventions to follow, by name (`styles`); None for the model's default

        Constraints that contradict each other are named in the error.
        """
        given = None if tags is None else tuple(tags)
        sentence = _Sentence(_checked(words), tags=given, style=self._style(style))
        if sentence.tags is not None and len(sentence.tags) != len(sentence.words):
            raise ArcspanError(
                f"{len(sentence.words)} words, but {len(sentence.tags)} tags: there must be one per word"
            )
        asked = _Asked(k, tuple(read_constraints(require)), tuple(read_constraints(forbid)), confidence)
        _check_k(k)
        if sentence.tags is not None and not any(scorer.reads_tags for scorer in self.predictor.scorers):
            raise ArcspanError("this model reads no part-of-speech tags: it was trained without them")
        if sentence.words and not empty_word(sentence.words) and any(asked):
            found = self._answer(sentence, asked)
        elif not sentence.words and (asked.require or asked.forbid):
            raise ArcspanError("a sentence without words meets no constraints")
        else:
            (prediction,) = self.predictor.predict([sentence.words], [sentence.tags], [sentence.style])
            if prediction.error is not None:
                raise ArcspanError(prediction.error)
            found = [self._parse(sentence, prediction, rank=None if k is None else 1)]
        return found[0] if k is None else found

    def _answer(self, sentence: _Sentence, asked: _Asked) -> list[Parse]:
        """What takes all the scores of a sentence of at least one word."""
        scores = self._scores(sentence, asked)
        predictions = [scores.best()] if asked.k is None else scores.kbest(asked.k)
        parses = [
            self._parse(
                sentence, prediction, rank=None if asked.k is None else rank, asked=asked, scores=scores
            )
            for rank, prediction in enumerate(predictions, 1)
        ]
        if asked.confidence:
            for parse in parses:
                _ = parse.confidence
        return parses

    def _scores(self, sentence: _Sentence, asked: _Asked) -> SentenceScores:
        return SentenceScores(
            self.predictor,
            sentence.words,
            sentence.tags,
            sentence.style,
            require=asked.require,
            forbid=asked.forbid,
        )

    def _beyond(self, sentence: _Sentence, asked: _Asked) -> list[Parse]:
        """What is asked of a sentence of a stream, where a failure is the failing sentence's alone."""
        rank = None if asked.k is None else 1
        constrained = asked.require or asked.forbid
        try:
            if sentence.words and not empty_word(sentence.words):
                return self._answer(sentence, asked)
            if constrained and not sentence.words and sentence.error is None:
                raise ArcspanError("a sentence without words meets no constraints")
        except ArcspanError as error:
            if constrained or not isinstance(error, LengthError):
                return [self._parse(sentence, Prediction(error=str(error)), rank=rank)]
        # Of a sentence that is too long, the best parse, from pieces, is better than none.
        (prediction,) = self.predictor.predict([sentence.words], styles=[sentence.style])
        return [self._parse(sentence, prediction, rank=rank)]

    def _parse(
        self,
        sentence: _Sentence,
        prediction: Prediction,
        *,
        rank: int | None = None,
        asked: _Asked | None = None,
        scores: SentenceScores | None = None,
    ) -> Parse:
        if sentence.error is not None:
            prediction = Prediction(error=sentence.error)
        unknown = _Unknown(self, sentence, prediction, asked or _Asked(), scores)
        return Parse(
            sentence.words,
            (prediction, self.predictor.inventories),
            confidence=None if prediction.error is not None or prediction.approximate else unknown,
            text=sentence.text,
            offsets=sentence.offsets,
            multiword=sentence.multiword,
            paragraph=sentence.paragraph,
            glued=sentence.glued,
            score=prediction.score,
            approximate=prediction.approximate,
            error=prediction.error,
            rank=rank,
        )

    def split(self, text: str, *, one_sentence: bool = False) -> list[Sentence]:
        """Split raw text into sentences and words with their offsets, and parse nothing.

        `one_sentence`: into words only, whatever full stops and line breaks there are.
        """
        return self.segmenter.split(text, one_sentence=one_sentence)

    def pipe(
        self,
        items: Iterable[Input],
        batch_size: int = 256,
        *,
        k: int | None = None,
        confidence: bool = False,
        style: str | None = None,
        one_sentence: bool = False,
        errors: Literal["raise", "keep"] = "raise",
    ) -> Iterator[Parse]:
        """Parse a stream of texts or lists of words; parses come in order, a text gives one for each sentence.

        `batch_size` items or sentences are read ahead, and as many again while those are worked on. A sentence
        that cannot be parsed gives a `Parse` with an `error`; so does an item that is neither a text nor words
        (None, NaN, bytes) with errors="keep", which otherwise ends the stream. `one_sentence`: no text is split
        into sentences.
        """
        for parses in self.stream(
            items,
            batch_size,
            k=k,
            confidence=confidence,
            style=style,
            one_sentence=one_sentence,
            errors=errors,
        ):
            yield from parses

    def stream(
        self,
        items: Iterable[Input],
        batch_size: int = 256,
        *,
        k: int | None = None,
        require: Iterable[Any] = (),
        forbid: Iterable[Any] = (),
        confidence: bool = False,
        style: str | None = None,
        one_sentence: bool = False,
        errors: Literal["raise", "keep"] = "raise",
    ) -> Iterator[list[Parse]]:
        """Like `pipe`, but one list of parses for each item; with k, the k best parses of each sentence.

        The other options are those of `parse`; constraints are about every sentence.
        """
        if isinstance(items, (str, bytes)):
            raise ArcspanError("a stream of texts is needed, not one text: put it into a list")
        if not hasattr(items, "__iter__") and not hasattr(items, "__getitem__"):
            raise ArcspanError(f"a stream of texts is needed, not {type(items).__name__}: {items!r}")
        if batch_size < 1:
            raise ArcspanError(f"batch_size must be at least 1, not {batch_size}")
        if errors not in ("raise", "keep"):
            raise ArcspanError(f"errors must be 'raise' or 'keep', not {errors!r}")
        _check_k(k)
        own_style = self._style(style)

        def read() -> Iterator[list[_Sentence]]:
            for number, item in enumerate(items, 1):
                try:
                    yield self._styled(item, own_style, one_sentence)
                except ArcspanError as error:
                    message = f"item {number}: {error}"
                    if errors == "raise":
                        raise ArcspanError(message) from None
                    yield [_Sentence((), error=message)]

        asked = _Asked(k, tuple(read_constraints(require)), tuple(read_constraints(forbid)), confidence)
        if any(asked):
            for own in read():
                yield [parse for sentence in own for parse in self._beyond(sentence, asked)]
            return
        source = read()
        waiting: deque[tuple[list[int], list[_Sentence], Pending]] = deque()
        try:
            failure: Exception | None = None
            ended = False
            while not ended and failure is None:
                sentences: list[_Sentence] = []
                counts: list[int] = []
                try:
                    while max(len(counts), len(sentences)) < batch_size:
                        own = next(source)
                        counts.append(len(own))
                        sentences += own
                except StopIteration:
                    ended = True
                except Exception as error:  # what came before it is still to be parsed
                    failure = error
                # The first chunk may be all there is: then the caller's thread is enough for a single batch.
                eager = bool(waiting) or not ended
                pending = self.predictor.submit(
                    [one.words for one in sentences], styles=[one.style for one in sentences], eager=eager
                )
                waiting.append((counts, sentences, pending))
                if len(waiting) > 1:
                    yield from self._finish(*waiting.popleft())
            while waiting:
                yield from self._finish(*waiting.popleft())
            if failure is not None:
                raise failure
        finally:
            for _, _, pending in waiting:
                pending.cancel()

    def _finish(
        self, counts: list[int], sentences: list[_Sentence], pending: Pending
    ) -> Iterator[list[Parse]]:
        predictions = pending.result()
        begin = 0
        for count in counts:
            end = begin + count
            yield [
                self._parse(sentence, prediction)
                for sentence, prediction in zip(sentences[begin:end], predictions[begin:end], strict=True)
            ]
            begin = end

    def _styled(self, item: Any, style: Style | None, one_sentence: bool) -> list[_Sentence]:
        found = self._sentences(item, one_sentence)
        return found if style is None else [one._replace(style=one.style or style) for one in found]

    def sentences(self, item: Any, *, style: str | None = None, one_sentence: bool = False) -> list[Any]:
        """The sentences of a text or a list of words; `stream` takes them as items, and splits nothing again."""
        return self._styled(item, self._style(style), one_sentence)

    def _sentences(self, item: Any, one_sentence: bool) -> list[_Sentence]:
        if isinstance(item, _Sentence):
            return [item]
        if not isinstance(item, str):
            return [_Sentence(_checked(item))]
        found = []
        for one in self.split(item, one_sentence=one_sentence):
            glued = one.end < len(item) and not item[one.end].isspace()
            text = item[one.start : one.end]
            found.append(_Sentence(one.words, text, one.offsets, glued, None, one.multiword, one.paragraph))
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_parser, (str(self.path), self._settings)

    def __repr__(self) -> str:
        name, system = self.config.get("name", ""), self.config.get("system", "")
        language = f", language {self.language}" if self.language else ""
        return f"Parser({name!r}, {system}{language}, {self.predictor.threads} threads)"


def _check_k(k: object) -> None:
    whole = isinstance(k, (int, np.integer)) and not isinstance(k, bool)
    if k is not None and not (whole and k >= 1):  # type: ignore[operator]
        raise ArcspanError(f"k must be a whole number, at least 1, not {k!r}")


@cache
def _parser_of_process(path: str, **settings: Any) -> Parser:
    """The parser of a path and settings in this process: what is pickled many times is loaded once."""
    return Parser(path, **settings)


def _restore_parser(path: str, settings: dict[str, Any]) -> Parser:
    return _parser_of_process(path, **settings)


def _checked(words: Any) -> tuple[str, ...]:
    if isinstance(words, bytes):
        raise ArcspanError(f"bytes are not text, decode them first: {words[:40]!r}")
    if isinstance(words, str):
        raise ArcspanError("words must be a list of words; for raw text, call the parser: parser(text)")
    if not isinstance(words, Iterable) or isinstance(words, (Mapping, Set)):
        raise ArcspanError(f"a text or a list of words is needed, not {type(words).__name__}: {words!r}")
    found = tuple(words)
    for number, word in enumerate(found, 1):
        if not isinstance(word, str):
            raise ArcspanError(f"word {number} is {type(word).__name__}, not a string: {word!r}")
    return found


class _Sentence(NamedTuple):
    """A sentence on its way through the parser."""

    words: tuple[str, ...]
    text: str | None = None
    offsets: tuple[Offsets, ...] | None = None
    glued: bool = False  # no space follows it in the text
    tags: tuple[str, ...] | None = None
    multiword: tuple[tuple[int, int, str], ...] = ()
    paragraph: bool = False
    style: Style | None = None
    error: str | None = None  # why there is none


class _Asked(NamedTuple):
    """What is asked of a sentence beyond its best parse."""

    k: int | None = None
    require: tuple[Constraint, ...] = ()
    forbid: tuple[Constraint, ...] = ()
    confidence: bool = False


class _Unknown:
    """The confidence of a parse, until somebody asks for it; in another process, from the same model there.

    The k best parses of a sentence share its scores.
    """

    def __init__(
        self,
        parser: Parser | tuple[str, dict[str, Any]],
        sentence: _Sentence,
        prediction: Prediction,
        asked: _Asked,
        scores: SentenceScores | None = None,
    ) -> None:
        """`parser` may be the path and settings of one, which is loaded when it is needed."""
        self._parser, self._sentence, self._prediction = parser, sentence, prediction
        self._asked, self._scores = asked, scores

    def find(self) -> Confidence | None:
        if not self._sentence.words:
            return Confidence({}, {}, (), (), 1.0)
        try:
            if self._scores is None:
                parser = self._parser if isinstance(self._parser, Parser) else _restore_parser(*self._parser)
                self._scores = parser._scores(self._sentence, self._asked)
            return self._scores.confidence(self._prediction)
        except LengthError:
            return None

    def __reduce__(self) -> tuple[Any, ...]:
        sentence = _Sentence(self._sentence.words, tags=self._sentence.tags, style=self._sentence.style)
        parser = self._parser.__reduce__()[1] if isinstance(self._parser, Parser) else self._parser
        return _Unknown, (parser, sentence, self._prediction, self._asked)
