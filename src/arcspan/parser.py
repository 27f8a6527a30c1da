"""`Parser` and `Parse`: text or words in, both trees out.

A `Parser` is a model bundle at work; a `Parse` is what it says of one sentence. A `Parse` keeps the numbers
that the model gave and makes trees and texts of them when they are asked for.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, overload

from arcspan.errors import ArcspanError, BundleError
from arcspan.runtime.confidence import Confidence
from arcspan.runtime.constraints import Arc, Constraint, Head, Root, Span, read_constraints
from arcspan.runtime.evidence import Evidence, LengthError
from arcspan.runtime.predictor import MEMORY_LIMIT, Inventories, Pending, Prediction, Predictor
from arcspan.runtime.text import Sentence, split_text
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree, compatible

__all__ = [
    "Arc",
    "Confidence",
    "Content",
    "Head",
    "Input",
    "Offsets",
    "Parse",
    "Parser",
    "Root",
    "Span",
    "Words",
    "load",
]

Offsets = tuple[int, int]
Words = Sequence[str]
Input = str | Words

WRAPPER = "TOP"
MODELS = Path(__file__).parent / "models"


def load(
    path: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    memory_limit: int = MEMORY_LIMIT,
    decode: str = "best",
    labelling: bool | None = None,
) -> Parser:
    """The parser of a model bundle; without a path, the English one inside the package."""
    return Parser(path, threads=threads, memory_limit=memory_limit, decode=decode, labelling=labelling)


class Parser:
    """Parses text and words with a model bundle.

    path          the bundle's folder; None for the English model inside the package
    threads       how many batches are worked on at once; None for one a processor. Results do not depend on it
    memory_limit  bytes that charts and their scores may take, all threads together; a sentence that needs
                  more is parsed in pieces, and its `Parse` is marked `approximate`
    verify        compare the bundle's files with their checksums
    decode        "best": the best tree; "mbr": the tree with the greatest expected number of right spans and
                  arcs (minimum Bayes risk), which takes a few times longer
    labelling     whether labels and relations are chosen together, by rules of the treebank; None: as the
                  bundle says

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
    ) -> None:
        self.path = Path(path) if path is not None else MODELS / "en"
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
        }
        self.predictor = Predictor(self.path, **self._settings)

    @property
    def config(self) -> dict[str, Any]:
        """The bundle's configuration: name, language, licence, system, training data, scores."""
        return self.predictor.config

    @property
    def inventories(self) -> Inventories:
        """Every label (a unary chain), relation and tag that the model can predict."""
        return self.predictor.inventories

    @property
    def language(self) -> str:
        """The code of the language whose text rules are used."""
        return str(self.config.get("language") or "")

    def __call__(self, text: str) -> list[Parse]:
        """Split raw text into sentences and words, and parse them."""
        (found,) = self.stream([text])
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
    ) -> Parse | list[Parse]:
        """Parse one sentence that is already in words; they are never split.

        k           give a list of the k best parses, best first: distinct pairs of trees, exactly the k best
        tags        part-of-speech tags, for a model that was trained to read them
        require     constituents, arcs, heads and the root that the trees must have: `Span(i, j)`,
                    `Span(i, j, label)`, `Arc(head, modifier)`, `Head(i, j, head)`, `Root(word)`. A tuple (i, j, label)
                    is a span, and so is (i, j) with i < j; (h, m) with h > m is an arc; ("arc", h, m) says it
        forbid      the same that they must not have
        confidence  compute `Parse.confidence` at once

        Constraints that contradict each other are named in the error.
        """
        sentence = _Sentence(_checked(words), tags=None if tags is None else tuple(tags))
        if sentence.tags is not None and len(sentence.tags) != len(sentence.words):
            raise ArcspanError(
                f"{len(sentence.words)} words, but {len(sentence.tags)} tags: there must be one a word"
            )
        required, forbidden = read_constraints(require), read_constraints(forbid)
        _check_k(k)
        if sentence.tags is not None and not any(session.reads_tags for session in self.predictor.sessions):
            raise ArcspanError("this model reads no part-of-speech tags: it was trained without them")
        if sentence.words and "" not in sentence.words and (k or required or forbidden or confidence):
            return self._parse_beyond(sentence, k, required, forbidden, confidence)
        if required or forbidden:
            raise ArcspanError("a sentence without words meets no constraints")
        (prediction,) = self.predictor.predict([sentence.words], [sentence.tags])
        if prediction.error is not None:
            raise ArcspanError(prediction.error)
        parse = sentence.parse(prediction, self.predictor)
        return parse if k is None else [parse.ranked(1)]

    def _parse_beyond(
        self,
        sentence: _Sentence,
        k: int | None,
        require: Sequence[Constraint],
        forbid: Sequence[Constraint],
        confidence: bool,
    ) -> Parse | list[Parse]:
        """What takes all the scores of a sentence."""
        evidence = Evidence(self.predictor, sentence.words, sentence.tags, require=require, forbid=forbid)
        predictions = [evidence.best()] if k is None else evidence.kbest(k)
        parses = [sentence.parse(prediction, self.predictor, evidence) for prediction in predictions]
        if confidence:
            for parse in parses:
                _ = parse.confidence
        return parses[0] if k is None else [parse.ranked(rank) for rank, parse in enumerate(parses, 1)]

    def _kbest(self, sentence: _Sentence, k: int) -> list[Parse]:
        """The k best parses of a sentence of a stream, where a failure is the failing sentence's alone."""
        try:
            found = self.parse(sentence.words, k=k)
        except LengthError:  # its best parse, from pieces, is better than none
            (prediction,) = self.predictor.predict([sentence.words])
            return [sentence.parse(prediction, self.predictor).ranked(1)]
        except ArcspanError as error:
            return [sentence.parse(Prediction(error=str(error)), self.predictor).ranked(1)]
        if sentence.text is None or sentence.offsets is None:
            return found
        return [parse.located(sentence.text, sentence.offsets, glued=sentence.glued) for parse in found]

    def split(self, text: str) -> list[Sentence]:
        """Split raw text into sentences and words with their offsets, by the model's language; parse nothing."""
        return split_text(text, language=self.language or "en")

    def pipe(self, items: Iterable[Input], batch_size: int = 256) -> Iterator[Parse]:
        """Parse a stream of texts or lists of words; parses come in order, a text gives one a sentence.

        `batch_size` items or sentences are read ahead, and as many again while those are worked on. A sentence
        that cannot be parsed gives a `Parse` with an `error`.
        """
        for parses in self.stream(items, batch_size):
            yield from parses

    def stream(
        self, items: Iterable[Input], batch_size: int = 256, *, k: int | None = None
    ) -> Iterator[list[Parse]]:
        """Like `pipe`, but one list of parses for each item; with k, the k best parses of each sentence."""
        if isinstance(items, (str, bytes)):
            raise ArcspanError("a stream of texts is needed, not one text: put it into a list")
        if batch_size < 1:
            raise ArcspanError(f"batch_size must be at least 1, not {batch_size}")
        _check_k(k)
        if k is not None:
            for item in items:
                yield [parse for sentence in self._sentences(item) for parse in self._kbest(sentence, k)]
            return
        source = iter(items)
        waiting: deque[tuple[list[int], list[_Sentence], Pending]] = deque()
        try:
            failure: Exception | None = None
            ended = False
            while not ended and failure is None:
                sentences: list[_Sentence] = []
                counts: list[int] = []
                try:
                    while max(len(counts), len(sentences)) < batch_size:
                        own = self._sentences(next(source))
                        counts.append(len(own))
                        sentences += own
                except StopIteration:
                    ended = True
                except Exception as error:  # what came before it is still to be parsed
                    failure = error
                # The first chunk may be all there is: then the caller's thread is enough for a single batch.
                eager = bool(waiting) or not ended
                pending = self.predictor.submit([one.words for one in sentences], eager=eager)
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
                sentence.parse(prediction, self.predictor)
                for sentence, prediction in zip(sentences[begin:end], predictions[begin:end], strict=True)
            ]
            begin = end

    def _sentences(self, item: Input) -> list[_Sentence]:
        if not isinstance(item, str):
            return [_Sentence(_checked(item))]
        found = []
        for sentence in self.split(item):
            glued = sentence.end < len(item) and not item[sentence.end].isspace()
            text = item[sentence.start : sentence.end]
            found.append(_Sentence(sentence.words, text, sentence.offsets, glued))
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_parser, (str(self.path), self._settings)

    def __repr__(self) -> str:
        name, system = self.config.get("name", ""), self.config.get("system", "")
        language = f", language {self.language}" if self.language else ""
        return f"Parser({name!r}, {system}{language}, {self.predictor.threads} threads)"


_BREAKS = re.compile(r"\s+", re.ASCII)


def _check_k(k: object) -> None:
    if k is not None and (not isinstance(k, int) or k < 1):
        raise ArcspanError(f"k must be a whole number, at least 1, not {k!r}")


def _restore_parser(path: str, settings: dict[str, Any]) -> Parser:
    return Parser(path, **settings)


def _checked(words: Any) -> tuple[str, ...]:
    if isinstance(words, (str, bytes)):
        raise ArcspanError("words must be a list of words; for raw text, call the parser: parser(text)")
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

    def parse(self, prediction: Prediction, predictor: Predictor, evidence: Evidence | None = None) -> Parse:
        return Parse(
            self.words,
            (prediction, predictor.inventories),
            confidence=_Unknown(prediction, predictor, self.words, self.tags, evidence),
            text=self.text,
            offsets=self.offsets,
            glued=self.glued,
            score=prediction.score,
            approximate=prediction.approximate,
            error=prediction.error,
        )


class _Unknown:
    """The confidence of a parse, until somebody asks for it. The k best parses of a sentence share its evidence."""

    def __init__(
        self,
        prediction: Prediction,
        predictor: Predictor,
        words: tuple[str, ...],
        tags: tuple[str, ...] | None,
        evidence: Evidence | None,
    ) -> None:
        self._prediction, self._predictor = prediction, predictor
        self._words, self._tags, self._evidence = words, tags, evidence

    def find(self) -> Confidence | None:
        if self._prediction.error is not None or self._prediction.approximate:
            return None
        if not self._words:
            return Confidence({}, {}, (), (), 1.0)
        try:
            evidence = self._evidence or Evidence(self._predictor, self._words, self._tags)
            return evidence.confidence(self._prediction)
        except LengthError:
            return None


class Content(NamedTuple):
    """What a model predicted of a sentence, in names.

    nodes   (i, j, head, chain) in pre-order, 2n-1 of them; the head is 0 where the model has none, the chain of
            labels is () where there is no constituent. None from a model without constituents.
    heads   one a word, and relations; None from a model without dependencies
    """

    nodes: tuple[tuple[int, int, int, tuple[str, ...]], ...] | None
    heads: tuple[int, ...] | None
    relations: tuple[str, ...] | None
    tags: tuple[str, ...]
    upos: tuple[str, ...]


def _content(n: int, prediction: Prediction, inventories: Inventories) -> Content:
    def names(ids: Any, known: Sequence[Any]) -> tuple[Any, ...]:
        return ("",) * n if ids is None else tuple([known[number] for number in ids.tolist()])

    if prediction.error is not None:
        return Content(None, None, None, ("",) * n, ("",) * n)
    nodes = heads = relations = None
    if prediction.nodes is not None:
        labels = inventories.labels
        nodes = tuple([(i, j, head, labels[label]) for i, j, head, label in prediction.nodes.tolist()])
    if prediction.heads is not None:
        heads = tuple(prediction.heads.tolist())
        relations = names(prediction.relations, inventories.relations)
    return Content(
        nodes,
        heads,
        relations,
        names(prediction.tags, inventories.tags),
        names(prediction.upos, inventories.upos),
    )


class Parse:
    """Both trees of one sentence, made by a `Parser`. It does not change; it compares by value and pickles.

    words        the words of the sentence
    text         the sentence as it was written; None where words were given
    offsets      (start, end) of every word in the original text; None where words were given
    score        of the best pair of trees, in the model's own unit
    approximate  whether the sentence was too long for the exact search and was parsed in pieces
    error        why this sentence could not be parsed: its trees are flat then and say nothing; None otherwise
    rank         1 for the best, 2 for the second ... where several parses were asked for; None otherwise
    """

    words: tuple[str, ...]
    text: str | None
    offsets: tuple[Offsets, ...] | None
    score: float
    approximate: bool
    error: str | None
    rank: int | None

    def __init__(
        self,
        words: tuple[str, ...],
        content: Content | tuple[Prediction, Inventories],
        *,
        text: str | None = None,
        offsets: tuple[Offsets, ...] | None = None,
        glued: bool = False,
        score: float = 0.0,
        approximate: bool = False,
        error: str | None = None,
        rank: int | None = None,
        confidence: Confidence | _Unknown | None = None,
    ) -> None:
        self.__dict__.update(
            words=words,
            text=text,
            offsets=offsets,
            score=score,
            approximate=approximate,
            error=error,
            rank=rank,
            _given=content,
            _confidence=confidence,
            _glued=glued,
        )

    def located(self, text: str, offsets: tuple[Offsets, ...], *, glued: bool = False) -> Parse:
        """The same parse as a sentence of a text: its words' offsets there, and whether no white space follows."""
        found = Parse.__new__(Parse)
        found.__dict__.update(self.__dict__, text=text, offsets=offsets, _glued=glued)
        return found

    def ranked(self, rank: int) -> Parse:
        """The same parse as one of several of its sentence."""
        found = Parse.__new__(Parse)
        found.__dict__.update(self.__dict__, rank=rank)
        return found

    @property
    def confidence(self) -> Confidence | None:
        """Probabilities of every constituent, arc, label and relation, and of the whole.

        They are computed when they are first asked for, which takes about as long as parsing did, and several times
        that over a hundred words. None where the parse is approximate or an error, where they would take more
        memory than the parser may have, and where it was pickled before anybody asked.
        """
        known = self.__dict__["_confidence"]
        if isinstance(known, _Unknown):
            known = self.__dict__["_confidence"] = known.find()
        return known  # type: ignore[no-any-return]

    @cached_property
    def content(self) -> Content:
        """What the model predicted, in names."""
        given: Content | tuple[Prediction, Inventories] = self.__dict__["_given"]
        return given if isinstance(given, Content) else _content(len(self.words), *given)

    @property
    def tags(self) -> tuple[str, ...]:
        """One part-of-speech tag a word, of the treebank's own set; "" where the model predicts none."""
        return self.content.tags

    @property
    def upos(self) -> tuple[str, ...]:
        """One universal part-of-speech tag a word; "" where the model predicts none."""
        return self.content.upos

    @cached_property
    def constituency(self) -> ConstituencyTree:
        """The constituency tree, with the wrapper TOP around it."""
        n = len(self.words)
        spans: list[tuple[int, int, str]] = [(0, n, WRAPPER)] if n else []
        for i, j, _, chain in self.content.nodes or ():
            for label in chain:
                spans.append((i, j, label))
        return ConstituencyTree._trusted(tuple(word or "_" for word in self.words), self.tags, tuple(spans))

    @cached_property
    def dependencies(self) -> DependencyTree:
        """The dependency tree."""
        n, content = len(self.words), self.content
        heads, relations = content.heads, content.relations
        if heads is None or relations is None:
            heads, relations = (0,) + (1,) * (n - 1), ("root",) + ("dep",) * (n - 1)
            heads, relations = heads[:n], relations[:n]
        return DependencyTree._trusted(heads, relations, self.words, self.tags, self.upos)

    @cached_property
    def lexical(self) -> LexicalTree | None:
        """The lexicalized tree that holds both; None where a SEP parser's two trees do not fit each other."""
        if not compatible(self.constituency, self.dependencies):
            return None
        return LexicalTree.join(self.constituency, self.dependencies)

    def brackets(self) -> str:
        """The constituency tree on one line, as treebanks write it."""
        return self.constituency.brackets()

    def conllu(self) -> str:
        """The dependency tree in CoNLL-U, with the blank line at its end."""
        tree = self.dependencies
        lines = [f"# text = {self._running_text()}"]
        if self.error is not None:
            lines.append(f"# error = {' '.join(self.error.split())}")
        if self.approximate:
            lines.append("# approximate = yes")
        if self.rank is not None:
            lines += [f"# rank = {self.rank}", f"# score = {self.score:.6g}"]
        spaces = self._spaces_after()
        for m, word in enumerate(self.words):
            columns = (
                str(m + 1),
                _form(word),
                "_",
                self.upos[m] or "_",
                self.tags[m] or "_",
                "_",
                str(tree.heads[m]),
                tree.relations[m] or "_",
                "_",
                "_" if spaces[m] else "SpaceAfter=No",
            )
            lines.append("\t".join(columns))
        return "\n".join(lines) + "\n\n"

    def _spaces_after(self) -> list[bool]:
        if self.offsets is None:
            return [True] * len(self.words)
        ends = [start > end for (_, end), (start, _) in zip(self.offsets, self.offsets[1:], strict=False)]
        return [*ends, not self.__dict__["_glued"]] if self.words else []

    def _running_text(self) -> str:
        """The words with a space where there is white space in the text."""
        spaces = self._spaces_after()
        return "".join(
            _form(word) + (" " if space else "") for word, space in zip(self.words, spaces, strict=True)
        ).rstrip(" ")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON; spans are (i, j, label) and cover words i+1..j."""
        found: dict[str, Any] = {
            "text": self.text if self.text is not None else " ".join(self.words),
            "words": list(self.words),
            "offsets": None if self.offsets is None else [list(pair) for pair in self.offsets],
            "tags": list(self.tags),
            "upos": list(self.upos),
            "heads": list(self.dependencies.heads),
            "relations": list(self.dependencies.relations),
            "constituents": [list(span) for span in self.constituency.spans],
            "brackets": self.brackets(),
            "score": self.score,
            "approximate": self.approximate,
        }
        if self.rank is not None:
            found["rank"] = self.rank
        if self.error is not None:
            found["error"] = self.error
        return found

    def to_nltk(self) -> Any:
        """The constituency tree as an `nltk.Tree` (needs nltk)."""
        try:
            from nltk import Tree
        except ImportError:
            raise ArcspanError("to_nltk needs nltk: pip install nltk") from None
        n, spans = len(self.words), self.constituency.spans
        leaves = [Tree(tag, [word]) for tag, word in zip(self.tags, self.words, strict=True)]
        top = Tree("", [])
        opened = [(0, n, top)]
        word = 0
        for i, j, label in spans:
            while opened[-1][1] <= i and len(opened) > 1:
                word = _fill_up(opened.pop(), leaves, word)
            while word < i:
                opened[-1][2].append(leaves[word])
                word += 1
            below = Tree(label, [])
            opened[-1][2].append(below)
            opened.append((i, j, below))
        while opened:
            word = _fill_up(opened.pop(), leaves, word)
        return top[0] if len(top) == 1 else top

    def to_svg(self, **options: Any) -> str:
        """A picture of both trees; options are those of `arcspan.rendering.to_svg`."""
        from arcspan.rendering import to_svg

        return to_svg(self.constituency, self.dependencies, **options)

    def to_html(self, **options: Any) -> str:
        """A stand-alone page with the picture; options are those of `arcspan.rendering.to_html`."""
        from arcspan.rendering import to_html

        return to_html([(self.constituency, self.dependencies)], **options)

    def draw(self, **options: Any) -> str:
        """Both trees drawn with text; options are those of `arcspan.rendering.draw_terminal`."""
        from arcspan.rendering import draw_terminal

        return draw_terminal(self.constituency, self.dependencies, **options)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        return self.draw()

    def __repr__(self) -> str:
        text = self._running_text()
        shown = text if len(text) <= 60 else text[:57] + "..."
        marks = "".join(f", {mark}" for mark, on in (("approximate", self.approximate),) if on)
        if self.error is not None:
            return f"Parse({shown!r}, error={self.error!r})"
        arcs = " ".join(
            f"{relation}({self.words[head - 1] if head else 'ROOT'}, {word})"
            for word, head, relation in zip(
                self.words[:8], self.dependencies.heads, self.dependencies.relations, strict=False
            )
        )
        more = " ..." if len(self.words) > 8 else ""
        brackets = self.brackets()
        brackets = brackets if len(brackets) <= 200 else brackets[:197] + "..."
        return f"Parse({shown!r}{marks}\n  {brackets}\n  {arcs}{more})"

    def __len__(self) -> int:
        """The number of words."""
        return len(self.words)

    def _value(self) -> tuple[Any, ...]:
        return self.words, self.offsets, self.text, self.content, self.approximate, self.error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parse):
            return NotImplemented
        return self._value() == other._value()

    def __hash__(self) -> int:
        return hash((self.words, self.content.heads, self.content.nodes))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Parse does not change")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("text", "offsets", "score", "approximate", "error", "rank")
        options = {name: getattr(self, name) for name in names}
        known = self.__dict__["_confidence"]
        options["confidence"] = known if isinstance(known, Confidence) else None
        return _restore_parse, (
            self.words,
            tuple(self.content),
            {**options, "glued": self.__dict__["_glued"]},
        )


def _restore_parse(words: tuple[str, ...], content: tuple[Any, ...], options: dict[str, Any]) -> Parse:
    return Parse(words, Content(*content), **options)


def _fill_up(opened: tuple[int, int, Any], leaves: list[Any], word: int) -> int:
    """Append the words that are left of a constituent, and return the next word."""
    _, j, tree = opened
    while word < j:
        tree.append(leaves[word])
        word += 1
    return word


def _form(word: str) -> str:
    """A word as a column of CoNLL-U can hold it: no tabs and line breaks, never empty.

    White space of other scripts stays, as it does between brackets: the two files of a pair must agree.
    """
    return " ".join(_BREAKS.split(word)).strip(" ") or "_"
