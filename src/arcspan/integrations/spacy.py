"""The spaCy component `arcspan`: both trees on a Doc, over the Doc's own tokens.

Heads and relations, tags, lemmas, features and sentence starts go where spaCy keeps them. spaCy has no place for
constituents, so they are extensions: `sent._.constituents`, `sent._.parse_string`, `token._.constituent`, and those of
benepar: `_.labels`, `_.parent`, `_.children`. They read the Doc's user data, plain lists beside the first token of each
sentence with positions relative to it, which survive `to_bytes`, `DocBin`, `Span.as_doc`, `Doc.from_docs` and other
processes.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from arcspan.errors import ArcspanError, MissingExtraError
from arcspan.integrations import spacy_syntax
from arcspan.parser import Parse, Parser
from arcspan.trees import ConstituencyTree

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
SPACE_TAG, SPACE_RELATION, ROOT = "_SP", "dep", "ROOT"  # what spaCy itself writes for white space and roots
CHUNK = 64  # sentences that the parser reads ahead
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("model", "style", "threads")),
    **dict.fromkeys(("dependencies", "tags", "sentences", "constituents"), True),
    "entities": 0.0,
}


@Language.factory(
    "arcspan",
    assigns=[
        "token.head",
        "token.dep",
        "token.tag",
        "token.pos",
        "token.lemma",
        "token.morph",
        "token.is_sent_start",
        "doc.sents",
        "token._.constituent",
        *(
            f"{kind}._.{name}"
            for kind in ("span", "token")
            for name in ("labels", "parent", "children", "parse_string")
        ),
        "span._.constituents",
    ],
    default_config=DEFAULTS,
    default_score_weights={
        "dep_las": 0.4,
        "constituents_f": 0.4,
        "tag_acc": 0.1,
        "sents_f": 0.1,
        **dict.fromkeys(
            ("dep_uas", "pos_acc", "morph_acc", "lemma_acc", "constituents_p", "constituents_r"), 0.0
        ),
    },
)
def make_component(
    nlp: Language,
    name: str,
    model: str | None,
    style: str | None,
    dependencies: bool,
    tags: bool,
    sentences: bool,
    constituents: bool,
    threads: int | None,
    entities: float,
) -> ArcspanComponent:
    """What `nlp.add_pipe("arcspan", config={...})` calls; the settings are those of `ArcspanComponent`."""
    if dependencies:
        nlp.vocab.get_noun_chunks = spacy_syntax.noun_chunks
    return ArcspanComponent(
        name,
        model=model,
        style=style,
        dependencies=dependencies,
        tags=tags,
        sentences=sentences,
        constituents=constituents,
        threads=threads,
        entities=entities,
    )


class ArcspanComponent(Pipe):
    """A parser as a spaCy component.

    model          a model bundle's folder; None for the English model inside the package
    style          whose conventions to follow, for a model of several treebanks; None for its default
    dependencies   set heads and relations, and with them the sentence starts
    tags           set `tag_`, and `pos_`, `lemma_` and `morph` where the model predicts them
    sentences      set sentence starts on Docs that have none
    constituents   keep the constituents, for the extensions
    threads        how many batches are parsed at once; None for one per processor, 1 with `n_process`
    entities       how much the entities of a Doc should be constituents: trees in which one is are e^entities times as
                   likely; 0 leaves them out of it

    A Doc that has sentence starts keeps them; otherwise they are those of arcspan's own rules. The model is
    loaded when it is first needed.
    """

    def __init__(
        self,
        name: str = "arcspan",
        *,
        model: str | os.PathLike[str] | None = None,
        style: str | None = None,
        dependencies: bool = True,
        tags: bool = True,
        sentences: bool = True,
        constituents: bool = True,
        threads: int | None = None,
        entities: float = 0.0,
    ) -> None:
        set_extensions()
        self.name = name
        self.model = None if model is None else os.fspath(model)
        self.style = style
        self.dependencies = dependencies
        self.tags = tags
        self.sentences = sentences
        self.constituents = constituents
        self.threads = threads
        self.entities = entities
        self._parser: Parser | None = None

    @property
    def parser(self) -> Parser:
        """The parser at work."""
        if self._parser is None:
            self._parser = Parser(self.model, threads=self.threads)
        return self._parser

    def __call__(self, doc: Doc) -> Doc:
        """Parse a Doc, in place."""
        error_handler = self.get_error_handler()
        try:
            self._annotate([doc])
        except Exception as error:
            error_handler(self.name, self, [doc], error)
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
        items = [self._item(doc, *place) for doc, own in zip(docs, bounds, strict=True) for place in own]
        parses = self.parser.pipe(items, batch_size=CHUNK, style=self.style)
        for doc, own in zip(docs, bounds, strict=True):
            self._write(doc, own, [next(parses) for _ in own])

    def _item(self, doc: Doc, start: int, end: int) -> Any:
        """The words of a sentence; with them its entities of several words, where they should be constituents."""
        tokens = [token for token in doc[start:end] if _is_word(token)]
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
        begins = iter([sentence.start for sentence in self.parser.split(doc.text)][1:])
        starts = [0]
        begin = next(begins, None)
        for token in doc:
            # A token that the rules would cut in two, or white space, stays with the sentence before.
            if begin is not None and token.idx >= begin and _is_word(token):
                starts.append(token.i)
                while begin is not None and begin <= token.idx:
                    begin = next(begins, None)
        starts = sorted(set(starts))
        return list(zip(starts, [*starts[1:], len(doc)], strict=True))

    def _write(self, doc: Doc, bounds: list[tuple[int, int]], parses: list[Parse]) -> None:
        columns = _Columns(doc)
        for (start, end), parse in zip(bounds, parses, strict=True):
            if parse.error is not None:
                warnings.warn(f"a sentence was not parsed: {parse.error}", stacklevel=2)
            places = [token.i for token in doc[start:end] if _is_word(token)]
            columns.add(start, end, places, parse)
            if self.constituents and "constituency" in parse.layers:
                doc[start]._.set(TREE, _tree_data(start, places, parse))
        parsed = self.dependencies and any("dependency" in parse.layers for parse in parses)
        columns.write(dependencies=parsed, tags=self.tags, sentences=self.sentences and not parsed)

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
            examples, "dep", getter=lambda token, _: token.dep_.lower(), ignore_labels=("p", "punct")
        )
        starts = {"has_annotation": lambda doc: doc.has_annotation("SENT_START")}
        return found | Scorer.score_spans(examples, "sents", **starts)

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Save the model bundle, so that the saved pipeline does not depend on where it was."""
        target = Path(path) / "model"
        source = self.parser.path
        if target.exists() and target.resolve() == source.resolve():
            return
        target.mkdir(parents=True, exist_ok=True)
        for file in source.iterdir():
            if file.is_file():
                shutil.copyfile(file, target / file.name)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> ArcspanComponent:
        """Load the model bundle that `to_disk` saved."""
        self._parser = Parser(Path(path) / "model", threads=self.threads)
        self.model = str(self._parser.path)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        settings = {setting: getattr(self, setting) for setting in DEFAULTS}
        return partial(ArcspanComponent, self.name, **settings), ()


def to_doc(vocab: Vocab, parses: Sequence[Parse]) -> Doc:
    """A Doc whose sentences are parses; for `spacy evaluate`, the gold trees of a treebank (`Parse.from_trees`).

    It has the annotation that the component writes, over the words of the parses.
    """
    words = [word for parse in parses for word in parse.words]
    spaces = [space for parse in parses for space in parse._spaces_after()]
    doc = Doc(vocab, words=words, spaces=spaces)
    ends = np.cumsum([len(parse) for parse in parses]).tolist()
    bounds = [(end - len(parse), end) for end, parse in zip(ends, parses, strict=True) if len(parse)]
    ArcspanComponent()._write(doc, bounds, [parse for parse in parses if len(parse)])
    return doc


def _is_word(token: Token) -> bool:
    return not token.is_space


class _Columns:
    """The annotation of a Doc, token by token, until it is written at once."""

    def __init__(self, doc: Doc) -> None:
        n = len(doc)
        self.doc = doc
        self.heads = np.zeros(n, dtype=np.int64)  # relative, as spaCy has them
        self.relations = [SPACE_RELATION] * n
        self.tags = [SPACE_TAG] * n
        self.upos = ["SPACE"] * n
        self.lemmas = [token.text if token.is_space else "" for token in doc]
        self.features = [""] * n
        self.starts = np.full(n, -1, dtype=np.int64)

    def add(self, start: int, end: int, places: list[int], parse: Parse) -> None:
        """A sentence: tokens [start, end), of which those at `places` are the words of the parse."""
        self.starts[start] = 1
        _, tree = parse.trees
        for m, place in enumerate(places):
            if tree is not None:
                head = tree.heads[m]
                self.heads[place] = places[head - 1] - place if head else 0
                self.relations[place] = ROOT if head == 0 else tree.relations[m]
            self.tags[place], self.upos[place] = parse.tags[m], parse.upos[m]
            self.lemmas[place], self.features[place] = parse.lemmas[m], parse.features[m]
        anchor = places[0] if places else start
        if not places:
            self.relations[start] = ROOT
        words = set(places)
        for place in range(start, end):
            if place in words:
                anchor = place
            else:
                self.heads[place] = anchor - place

    def write(self, *, dependencies: bool, tags: bool, sentences: bool) -> None:
        if not len(self.doc):
            return
        strings = self.doc.vocab.strings
        if tags and any(tag not in ("", SPACE_TAG) for tag in self.tags):
            self._set("TAG", [strings.add(tag) if tag else 0 for tag in self.tags])
        if tags and any(tag not in ("", "SPACE") for tag in self.upos):
            self._set("POS", [UPOS.get(tag, 0) for tag in self.upos])
        if tags and any(lemma and not lemma.isspace() for lemma in self.lemmas):
            self._set("LEMMA", [strings.add(lemma) if lemma else 0 for lemma in self.lemmas])
        if tags and any(self.features):
            self._set("MORPH", [self.doc.vocab.morphology.add(features) for features in self.features])
        if dependencies:
            relations = np.array([strings.add(relation) for relation in self.relations], dtype=np.uint64)
            self.doc.from_array(["HEAD", "DEP"], np.stack([self.heads.astype(np.uint64), relations], axis=1))
        elif sentences:
            self._set("SENT_START", self.starts.astype(np.uint64))

    def _set(self, attribute: str, values: Any) -> None:
        self.doc.from_array([attribute], np.array(values, dtype=np.uint64).reshape(-1, 1))


# ------------------------------------------------------------------------------------------- constituents


def _tree_data(start: int, places: list[int], parse: Parse) -> dict[str, Any]:
    """A parse as lists that any serializer takes: words are tokens relative to `start`, spans over words."""
    return {
        "words": [place - start for place in places],
        "tags": list(parse.tags),
        "spans": [list(span) for span in parse.constituency.spans[1:]],  # all but the wrapper
    }


def set_extensions() -> None:
    """Register the extensions; done once, by the first component."""
    if Token.has_extension(TREE):
        return
    Token.set_extension(TREE, default=None)
    Token.set_extension("constituent", getter=smallest_constituent, force=True)
    Span.set_extension("constituents", getter=constituents, force=True)
    Span.set_extension("parse_string", getter=parse_string, force=True)
    for name, getter in {"labels": labels, "parent": parent, "children": children}.items():
        Span.set_extension(name, getter=getter, force=True)
        Token.set_extension(name, getter=_of_token(getter), force=True)
    Token.set_extension("parse_string", getter=_of_token(parse_string), force=True)
    for holder in (Doc, Span):
        spacy_syntax.set_extensions(holder, constituency)


def _of_token(getter: Callable[[Span], Any]) -> Callable[[Token], Any]:
    return lambda token: getter(token.doc[token.i : token.i + 1])


def _trees(doc: Doc, start: int, end: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The first token and the tree of every sentence that shares a token with [start, end)."""
    while start > 0 and doc[start]._.get(TREE) is None:
        start -= 1
    for place in range(start, end):
        tree = doc[place]._.get(TREE)
        if tree is not None:
            yield place, tree


def constituents(span: Span) -> list[Span]:
    """The constituents inside a span, as labelled spans, top-down and left to right: `span._.constituents`.

    Of a unary chain, which covers the same words, the outermost comes first. The wrapper TOP is not among them.
    """
    found = []
    for start, tree in _trees(span.doc, span.start, span.end):
        words = tree["words"]
        for i, j, label in tree["spans"]:
            begin, end = start + words[i], start + words[j - 1] + 1
            if span.start <= begin and end <= span.end:
                found.append(Span(span.doc, begin, end, label=label))
    return found


class _Place:
    """A span among the constituents of its sentence; a single word counts as one, without labels."""

    def __init__(self, span: Span) -> None:
        self._doc = span.doc
        for start, tree in _trees(span.doc, span.start, span.end):
            self._tokens = [start + word for word in tree["words"]]
            inside = [k for k, token in enumerate(self._tokens) if span.start <= token < span.end]
            if inside:
                self.chains: dict[tuple[int, int], tuple[str, ...]] = {}
                for i, j, label in tree["spans"]:
                    self.chains[i, j] = (*self.chains.get((i, j), ()), label)
                self.i, self.j = inside[0], inside[-1] + 1
                if self.j - self.i == 1 or (self.i, self.j) in self.chains:
                    return
        raise ArcspanError(
            f"{span.text!r} is not a constituent: _.constituents lists those inside a span, and the labels, parent and "
            "children of a sentence, a constituent or a token are known"
        )

    def span(self, i: int, j: int) -> Span:
        """The words i+1..j of the sentence, with their outermost label."""
        label = self.chains.get((i, j), ("",))[0]
        return Span(self._doc, self._tokens[i], self._tokens[j - 1] + 1, label=label)


def labels(span: Span) -> tuple[str, ...]:
    """The labels of a constituent, several in a unary chain, () of a word that is none: `span._.labels`."""
    place = _Place(span)
    return place.chains.get((place.i, place.j), ())


def parent(span: Span) -> Span | None:
    """The constituent right above a constituent or a word; None above the whole sentence: `span._.parent`."""
    place = _Place(span)
    above = [(j - i, i, j) for i, j in place.chains if i <= place.i and place.j <= j]
    larger = [one for one in above if one[0] > place.j - place.i]
    return place.span(*min(larger)[1:]) if larger else None


def children(span: Span) -> list[Span]:
    """The constituents and words right below a constituent, [] below a word: `span._.children`."""
    place = _Place(span)
    found, at = [], place.i
    while at < place.j and place.j - place.i > 1:
        inside = [j for i, j in place.chains if i == at and j <= place.j and j - i < place.j - place.i]
        end = max(inside, default=at + 1)
        found.append(place.span(at, end))
        at = end
    return found


def constituency(sentence: Span) -> ConstituencyTree | None:
    """The constituency tree of a sentence, over its words; None where there is none."""
    for _, data in _trees(sentence.doc, sentence.start, sentence.end):
        words = ["_".join(token.text.split()) for token in sentence if _is_word(token)]
        if len(words) == len(data["words"]) and words:
            return ConstituencyTree(words, data["tags"], [(0, len(words), "TOP"), *map(tuple, data["spans"])])
    return None


def parse_string(span: Span) -> str:
    """The brackets of a sentence, or of the constituent that a span is: `span._.parse_string`.

    A sentence is written with the wrapper TOP, as `Parse.brackets` does; "" for a span that is neither. White
    space inside a token is written as "_".
    """
    for start, data in _trees(span.doc, span.start, span.end):
        places = [start + word for word in data["words"]]
        inside = [k for k, place in enumerate(places) if span.start <= place < span.end]
        if not inside:
            continue
        first, last = inside[0], inside[-1] + 1
        spans = [(i - first, j - first, label) for i, j, label in data["spans"] if first <= i and j <= last]
        whole = len(inside) == len(places)
        words = ["_".join(span.doc[place].text.split()) for place in places[first:last]]
        if whole:
            spans.insert(0, (0, len(words), "TOP"))
        if spans and spans[0][:2] == (0, len(words)):
            return ConstituencyTree(words, data["tags"][first:last], spans).brackets()
        return ""
    return ""


def smallest_constituent(token: Token) -> Span | None:
    """The smallest constituent that holds a token: `token._.constituent`; None where there is none."""
    for start, tree in _trees(token.doc, token.i, token.i + 1):
        words = tree["words"]
        # In pre-order the last span that holds the token is the innermost.
        for i, j, label in reversed(tree["spans"]):
            begin, end = start + words[i], start + words[j - 1] + 1
            if begin <= token.i < end:
                return Span(token.doc, begin, end, label=label)
    return None
