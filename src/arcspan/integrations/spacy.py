"""The spaCy component `arcspan`: both trees on a Doc, over the Doc's own tokens.

Heads and relations, tags, lemmas, features and sentence starts go where spaCy keeps them. spaCy has no place for
constituents, so they are extensions: `sent._.constituents`, `sent._.parse_string`, `token._.constituent`, and those of
benepar: `_.labels`, `_.parent`, `_.children`. They read the Doc's user data, plain lists beside the first token of each
sentence with positions relative to it, which survive `to_bytes`, `DocBin`, `Span.as_doc`, `Doc.from_docs` and other
processes.

`doc._.clauses`, `doc._.coordinations`, `doc._.verb_groups`, `doc._.noun_phrases(kind)` are those of `arcspan.syntax`
with spaCy's tokens. So are `doc.noun_chunks`: spaCy's rules look for the relations of its English models (dobj, pobj),
and of "Mary gave the old man a red apple in the park" find one chunk of four.

White space that spaCy keeps as tokens is not a word for the parser. Such a token is left out of the sentence and
attached to the word before it.

>>> import spacy
>>> nlp = spacy.blank("en")
>>> _ = nlp.add_pipe("arcspan", config={"model": BUNDLE})  # doctest: +SKIP
>>> [token.head.i for token in nlp("Logic plays a role.")]  # doctest: +SKIP
[1, 1, 3, 1, 1]
"""

from __future__ import annotations

import os
import shutil
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from arcspan.errors import ArcspanError, MissingExtraError
from arcspan.lazy import lazy
from arcspan.parser import Parse, Parser
from arcspan.syntax import Syntax
from arcspan.trees import ConstituencyTree, DependencyTree

try:
    from spacy.language import Language
    from spacy.parts_of_speech import IDS as UPOS
    from spacy.pipeline import Pipe
    from spacy.scorer import Scorer
    from spacy.tokens import Doc, Span, Token
    from spacy.training import Example
    from spacy.util import minibatch
    from spacy.vocab import Vocab
except ImportError:
    raise MissingExtraError("arcspan.integrations.spacy", "spacy") from None

TREE = "arcspan_tree"  # the extension that holds a sentence's constituents, on its first token
SPACE_TAG, SPACE_RELATION, ROOT = (
    "_SP",
    "dep",
    "ROOT",
)  # what spaCy itself writes for white space and roots
CHUNK = 64  # sentences that the parser reads ahead


@dataclass(eq=False)
class ArcspanComponent(Pipe):
    """A parser as a spaCy component.

    model          a model bundle's folder; None for the English model inside the package
    style          whose conventions to follow, for a model of several treebanks; None for its default
    threads        how many batches are parsed at once; None for one per processor, 1 with `n_process`
    dependencies   set heads and relations, and with them the sentence starts
    tags           set `tag_`, and `pos_`, `lemma_` and `morph` where the model predicts them
    sentences      set sentence starts on Docs that have none
    constituents   keep the constituents, for the extensions
    entities       how much the entities of a Doc should be constituents: trees in which one is are e^entities times as
                   likely; 0 leaves them out of it

    A Doc that has sentence starts keeps them; otherwise they are those of arcspan's own rules. The model is
    loaded when it is first needed.
    """

    name: str = "arcspan"
    _: KW_ONLY
    model: str | os.PathLike[str] | None = None
    style: str | None = None
    threads: int | None = None
    dependencies: bool = True
    tags: bool = True
    sentences: bool = True
    constituents: bool = True
    entities: float = 0.0

    def __post_init__(self) -> None:
        set_extensions()
        self.model = None if self.model is None else os.fspath(self.model)

    @lazy
    def parser(self) -> Parser:
        """The parser at work."""
        return Parser(self.model, threads=self.threads)

    def __call__(self, doc: Doc) -> Doc:
        """Parse a Doc, in place."""
        for _ in self.pipe([doc]):
            pass
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse a stream of Docs, in place and in order; the sentences of `batch_size` Docs go together."""
        error_handler = self.get_error_handler()
        for docs in minibatch(stream, size=batch_size):
            docs = list(docs)
            try:
                self._annotate(docs)
                yield from docs
            except Exception as error:
                error_handler(self.name, self, docs, error)

    def _annotate(self, docs: Sequence[Doc]) -> None:
        bounds = [self._sentence_bounds(doc) for doc in docs]
        items = [
            self._item(doc, *place) for doc, own in zip(docs, bounds, strict=True) for place in own
        ]
        parses = self.parser.pipe(items, batch_size=CHUNK, style=self.style)
        for doc, own in zip(docs, bounds, strict=True):
            self._write(doc, own, [next(parses) for _ in own])

    def _item(self, doc: Doc, start: int, end: int) -> Any:
        """The words of a sentence; with them its entities of several words, where they should be constituents."""
        tokens = [token for token in doc[start:end] if not token.is_space]
        words, prefer = [token.text for token in tokens], []
        for entity in doc.ents if self.entities else ():
            inside = [k for k, token in enumerate(tokens) if entity.start <= token.i < entity.end]
            if start <= entity.start and entity.end <= end and 1 < len(inside) < len(tokens):
                prefer.append((("span", inside[0], inside[-1] + 1), self.entities))
        return (words, {"prefer": prefer}) if prefer else words

    def _sentence_bounds(self, doc: Doc) -> list[tuple[int, int]]:
        """The tokens [start, end) of every sentence, all tokens covered."""
        if not len(doc):
            return []
        if doc.has_annotation("SENT_START"):
            return [(sent.start, sent.end) for sent in doc.sents]
        # A token that the rules would cut in two, or white space, stays with the sentence before.
        words = [(token.idx, token.i) for token in doc if not token.is_space]
        begins = [sentence.start or 0 for sentence in self.parser.split(doc.text)][1:]
        after = [bisect_left(words, (begin, 0)) for begin in begins]
        starts = sorted({0, *(words[place][1] for place in after if place < len(words))})
        return list(zip(starts, [*starts[1:], len(doc)], strict=True))

    def _write(self, doc: Doc, bounds: list[tuple[int, int]], parses: list[Parse]) -> None:
        n, strings = len(doc), doc.vocab.strings
        columns: dict[str, list[Any]] = {
            "HEAD": [0] * n,
            "DEP": [SPACE_RELATION] * n,
            "TAG": [SPACE_TAG] * n,
        }
        columns |= {"POS": ["SPACE"] * n, "MORPH": [""] * n, "LEMMA": [token.text for token in doc]}
        columns["SENT_START"] = [-1] * n
        words = {token.i for token in doc if not token.is_space}
        for (start, end), parse in zip(bounds, parses, strict=True):
            if parse.error is not None:
                warnings.warn(f"a sentence was not parsed: {parse.error}", stacklevel=2)
            places = [place for place in range(start, end) if place in words]
            _fill(columns, start, end, places, parse)
            if self.constituents and "constituency" in parse.layers:
                # Lists that any serializer takes: words are tokens relative to `start`, spans are over words.
                spans = [list(span) for span in parse.constituency.spans[1:]]  # all but the wrapper
                own = [place - start for place in places]
                doc[start]._.set(TREE, {"words": own, "tags": list(parse.tags), "spans": spans})
        said = ("TAG", "POS", "MORPH", "LEMMA") if self.tags else ()
        written = [name for name in said if any(columns[name][place] for place in words)]
        if self.dependencies and any("dependency" in parse.layers for parse in parses):
            written += ["HEAD", "DEP"]
        elif self.sentences and n:
            written += ["SENT_START"]
        ids: dict[str, Callable[[Any], int]] = {
            **dict.fromkeys(("HEAD", "SENT_START"), lambda number: number % 2**64),
            **{"POS": lambda tag: UPOS.get(tag, 0), "MORPH": doc.vocab.morphology.add},
            **dict.fromkeys(("TAG", "LEMMA", "DEP"), lambda name: strings.add(name) if name else 0),
        }
        if written:
            rows = [list(map(ids[name], columns[name])) for name in written]
            doc.from_array(written, np.array(rows, dtype=np.uint64).T)

    def score(self, examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
        """SpaCy's own measures of all that the component sets, and those of labelled constituents.

        `constituents_p`, `_r`, `_f` and `_per_type` are about the Docs that have gold constituents, such as `to_doc`
        gives; a measure leaves out Docs without its annotation.
        """
        examples = list(examples)
        found: dict[str, Any] = Scorer.score_spans(
            examples,
            "constituents",
            getter=lambda doc, _: doc[:]._.constituents,
            has_annotation=lambda doc: any(token._.get(TREE) is not None for token in doc),
            allow_overlap=True,
        )
        for attribute in ("tag", "pos", "lemma"):
            found |= Scorer.score_token_attr(examples, attribute)
        found |= Scorer.score_token_attr(examples, "morph", getter=lambda token, _: token.morph.key)
        found |= Scorer.score_deps(
            examples,
            "dep",
            getter=lambda token, _: token.dep_.lower(),
            ignore_labels=("p", "punct"),
        )
        starts = {"has_annotation": lambda doc: doc.has_annotation("SENT_START")}
        return found | Scorer.score_spans(examples, "sents", **starts)

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Save the model bundle, so that the saved pipeline does not depend on where it was."""
        target = Path(path) / "model"
        source = self.parser.path
        if target.exists() and target.resolve() == source.resolve():
            return
        shutil.copytree(source, target, copy_function=shutil.copyfile, dirs_exist_ok=True)

    def from_disk(
        self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()
    ) -> ArcspanComponent:
        """Load the model bundle that `to_disk` saved."""
        self.__dict__["parser"] = Parser(Path(path) / "model", threads=self.threads)
        self.model = str(self.parser.path)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        settings = {setting: getattr(self, setting) for setting in DEFAULTS}
        return partial(ArcspanComponent, self.name, **settings), ()


DEFAULTS = {setting.name: setting.default for setting in fields(ArcspanComponent)[1:]}


@Language.factory(
    "arcspan",
    assigns=[
        *(
            f"token.{name}"
            for name in ("head", "dep", "tag", "pos", "lemma", "morph", "is_sent_start")
        ),
        *("doc.sents", "token._.constituent", "span._.constituents"),
        *(
            f"{kind}._.{name}"
            for kind in ("span", "token")
            for name in ("labels", "parent", "children", "parse_string")
        ),
    ],
    default_config=DEFAULTS,
    default_score_weights={
        **{"dep_las": 0.4, "constituents_f": 0.4, "tag_acc": 0.1, "sents_f": 0.1},
        **dict.fromkeys(
            ("dep_uas", "pos_acc", "morph_acc", "lemma_acc", "constituents_p", "constituents_r"),
            0.0,
        ),
    },
)
def make_component(
    nlp: Language,
    name: str,
    model: str | None,
    style: str | None,
    threads: int | None,
    dependencies: bool,
    tags: bool,
    sentences: bool,
    constituents: bool,
    entities: float,
) -> ArcspanComponent:
    """What `nlp.add_pipe("arcspan", config={...})` calls; the settings are those of `ArcspanComponent`."""
    given = locals()
    if dependencies:
        nlp.vocab.get_noun_chunks = noun_chunks
    return ArcspanComponent(name, **{setting: given[setting] for setting in DEFAULTS})


def to_doc(vocab: Vocab, parses: Sequence[Parse]) -> Doc:
    """A Doc whose sentences are parses; for `spacy evaluate`, the gold trees of a treebank (`Parse.from_trees`).

    It has the annotation that the component writes, over the words of the parses.
    """
    words = [word for parse in parses for word in parse.words]
    spaces = [space for parse in parses for space in parse._spaces_after()]
    doc = Doc(vocab, words=words, spaces=spaces)
    ends = np.cumsum([len(parse) for parse in parses]).tolist()
    bounds = [
        (end - len(parse), end) for end, parse in zip(ends, parses, strict=True) if len(parse)
    ]
    ArcspanComponent()._write(doc, bounds, [parse for parse in parses if len(parse)])
    return doc


def _fill(
    columns: dict[str, list[Any]], start: int, end: int, places: list[int], parse: Parse
) -> None:
    """The columns of a sentence with words at `places`; heads are relative, white space hangs on the word before it."""
    columns["SENT_START"][start] = 1
    said = {"TAG": parse.tags, "POS": parse.upos, "MORPH": parse.features, "LEMMA": parse.lemmas}
    for name, values in said.items():
        for place, value in zip(places, values, strict=True):
            columns[name][place] = value
    anchor = places[0] if places else start
    for place in range(start, end):
        anchor = place if place in places else anchor
        columns["HEAD"][place] = anchor - place
    if not places:
        columns["DEP"][start] = ROOT
    if (tree := parse.trees[1]) is not None:
        for place, head, relation in zip(places, tree.heads, tree.relations, strict=True):
            columns["HEAD"][place] = places[head - 1] - place if head else 0
            columns["DEP"][place] = relation if head else ROOT


# ------------------------------------------------------------------------------------------- constituents

_Spans = list[tuple[int, int, str]]  # first token, token after the last, label


def set_extensions() -> None:
    """Register the extensions; done once, by the first component."""
    if Token.has_extension(TREE):
        return
    Token.set_extension(TREE, default=None)
    Token.set_extension("constituent", getter=smallest_constituent, force=True)
    Span.set_extension("constituents", getter=constituents, force=True)
    for getter in (labels, parent, children, parse_string):
        Span.set_extension(getter.__name__, getter=getter, force=True)
        Token.set_extension(getter.__name__, getter=_of_token(getter), force=True)
    for holder in (Doc, Span):
        for name in ("clauses", "coordinations", "verb_groups"):
            holder.set_extension(name, getter=partial(_found, get=attrgetter(name)), force=True)
        holder.set_extension("noun_phrases", method=_noun_phrases, force=True)


def _of_token(getter: Callable[[Span], Any]) -> Callable[[Token], Any]:
    return lambda token: getter(token.doc[token.i : token.i + 1])


def _sentences(doc: Doc, start: int, end: int) -> Iterator[tuple[list[int], list[str], _Spans]]:
    """The words, tags and constituents of every sentence that shares a token with [start, end)."""
    while start > 0 and doc[start]._.get(TREE) is None:
        start -= 1
    for first in range(start, end):
        if tree := doc[first]._.get(TREE):
            words = [first + word for word in tree["words"]]
            yield (
                words,
                tree["tags"],
                [(words[i], words[j - 1] + 1, label) for i, j, label in tree["spans"]],
            )


def constituents(span: Span) -> list[Span]:
    """The constituents inside a span, as labelled spans, top-down and left to right: `span._.constituents`.

    Of a unary chain, which covers the same words, the outermost comes first. The wrapper TOP is not among them.
    """
    return [
        Span(span.doc, begin, end, label=label)
        for _, _, spans in _sentences(span.doc, span.start, span.end)
        for begin, end, label in spans
        if span.start <= begin and end <= span.end
    ]


class _Place:
    """A span among the constituents of its sentence; a single word counts as one, without labels."""

    def __init__(self, span: Span) -> None:
        self._doc = span.doc
        for words, _, spans in _sentences(span.doc, span.start, span.end):
            self.words = [word for word in words if span.start <= word < span.end]
            self.chains: dict[tuple[int, int], tuple[str, ...]] = {}
            for begin, end, label in spans:
                self.chains[begin, end] = (*self.chains.get((begin, end), ()), label)
            if self.words:
                self.own = self.words[0], self.words[-1] + 1
                if len(self.words) == 1 or self.own in self.chains:
                    return
        raise ArcspanError(
            f"{span.text!r} is not a constituent: _.constituents lists those inside a span, and the labels, parent and "
            "children of a sentence, a constituent or a token are known"
        )

    def span(self, begin: int, end: int) -> Span:
        """Tokens with their outermost label."""
        return Span(self._doc, begin, end, label=self.chains.get((begin, end), ("",))[0])


def labels(span: Span) -> tuple[str, ...]:
    """The labels of a constituent, several in a unary chain, () of a word that is none: `span._.labels`."""
    place = _Place(span)
    return place.chains.get(place.own, ())


def parent(span: Span) -> Span | None:
    """The constituent right above a constituent or a word; None above the whole sentence: `span._.parent`."""
    place = _Place(span)
    begin, end = place.own
    above = [
        (j - i, i, j) for i, j in place.chains if i <= begin and end <= j and (i, j) != place.own
    ]
    return place.span(*min(above)[1:]) if above else None


def children(span: Span) -> list[Span]:
    """The constituents and words right below a constituent, [] below a word: `span._.children`."""
    place = _Place(span)
    found: list[Span] = []
    for word in place.words if len(place.words) > 1 else ():
        if not found or word >= found[-1].end:
            inside = [
                j
                for i, j in place.chains
                if i == word and j <= place.own[1] and (i, j) != place.own
            ]
            found.append(place.span(word, max(inside, default=word + 1)))
    return found


def constituency(span: Span) -> ConstituencyTree | None:
    """The tree of a sentence, with the wrapper TOP, or of the constituent that a span is; None for other spans."""
    for words, tags, spans in _sentences(span.doc, span.start, span.end):
        inside = {word: k for k, word in enumerate(words) if span.start <= word < span.end}
        if inside:
            first, n = min(inside.values()), len(inside)
            own = [
                (inside[begin] - first, inside[end - 1] - first + 1, label)
                for begin, end, label in spans
                if begin in inside and end - 1 in inside
            ]
            if n == len(words):
                own.insert(0, (0, n, "TOP"))
            if not own or own[0][:2] != (0, n):
                return None
            texts = ["_".join(span.doc[word].text.split()) for word in inside]
            return ConstituencyTree(texts, tags[first : first + n], own)
    return None


def parse_string(span: Span) -> str:
    """The brackets of a sentence, or of the constituent that a span is: `span._.parse_string`.

    A sentence is written with the wrapper TOP, as `Parse.brackets` does; "" for a span that is neither. White
    space inside a token is written as "_".
    """
    tree = constituency(span)
    return "" if tree is None else tree.brackets()


def smallest_constituent(token: Token) -> Span | None:
    """The smallest constituent that holds a token: `token._.constituent`; None where there is none."""
    for _, _, spans in _sentences(token.doc, token.i, token.i + 1):
        # In pre-order the last one that holds the token is the innermost.
        for begin, end, label in reversed(spans):
            if begin <= token.i < end:
                return Span(token.doc, begin, end, label=label)
    return None


# ------------------------------------------------------------------------------------------- clauses and phrases


def _syntax(sentence: Span, constituents: ConstituencyTree | None = None) -> Syntax:
    tokens = [token for token in sentence if not token.is_space]
    places = {token.i: m for m, token in enumerate(tokens, 1)}
    heads = [0 if token.head.i == token.i else places.get(token.head.i, 0) for token in tokens]
    root = heads.index(0) + 1 if 0 in heads else 0
    heads = [head or (0 if m == root else root) for m, head in enumerate(heads, 1)]
    columns = zip(*((t.text, t.tag_, t.pos_, t.lemma_, str(t.morph)) for t in tokens), strict=True)
    tree = DependencyTree(heads, ["root" if t.dep_ == "ROOT" else t.dep_ for t in tokens], *columns)
    offsets = [(token.idx, token.idx + len(token.text)) for token in tokens]
    text = sentence.doc.text[offsets[0][0] : offsets[-1][1]] if offsets else None
    return Syntax(constituents, tree, tokens=tokens, text=text, offsets=offsets)


def _sents(doclike: Doc | Span) -> Iterator[Span]:
    """The sentences of a Doc; those that a span is in, or has in it."""
    start, end = getattr(doclike, "start", 0), getattr(doclike, "end", len(doclike))
    return (sent for sent in doclike.doc.sents if sent.start < end and sent.end > start)


def noun_chunks(doclike: Doc | Span) -> Iterator[tuple[int, int, int]]:
    """The base noun phrases of a Doc or Span as spaCy takes them: first token, token after the last, the label NP."""
    label = doclike.doc.vocab.strings.add("NP")
    low, high = getattr(doclike, "start", 0), getattr(doclike, "end", len(doclike))
    for sentence in _sents(doclike):
        for phrase in _syntax(sentence).noun_phrases("base"):
            start, end = phrase.tokens[0].i, phrase.tokens[-1].i + 1
            if low <= start and end <= high:
                yield start, end, label


def _found(doclike: Doc | Span, get: Callable[[Syntax], list[Any]]) -> list[Any]:
    return [
        one
        for sentence in _sents(doclike)
        for one in get(_syntax(sentence, constituency(sentence)))
    ]


def _noun_phrases(doclike: Doc | Span, kind: Any = "base") -> list[Any]:
    return _found(doclike, lambda syntax: syntax.noun_phrases(kind))
