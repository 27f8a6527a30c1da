"""The spaCy component `arcspan`: both trees on a Doc, over the Doc's own tokens.

Heads and relations, tags, lemmas, features and sentence starts go where spaCy keeps them. spaCy has
no place for constituents, so they are extensions: `sent._.constituents`, `sent._.parse_string`,
`token._.constituent`, and those of benepar: `_.labels`, `_.parent`, `_.children`. They read the
Doc's user data, plain lists beside the first token of each sentence with positions relative to it,
which survive `to_bytes`, `DocBin`, `Span.as_doc`, `Doc.from_docs` and other processes.

`doc._.clauses`, `doc._.coordinations`, `doc._.verb_groups`, `doc._.noun_phrases(kind)` are those of
`arcspan.syntax` with spaCy's tokens. So are `doc.noun_chunks`: spaCy's rules look for the relations
of its English models (dobj, pobj), and of "Mary gave the old man a red apple in the park" find one
chunk of four.

White space that spaCy keeps as tokens is not a word for the parser. Such a token is left out of the
sentence and attached to the word before it.

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
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

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
# What spaCy itself writes for white space and roots.
SPACE_TAG = "_SP"
SPACE_RELATION = "dep"
ROOT = "ROOT"
CHUNK = 64  # sentences that the parser reads ahead
_WORD_LAYERS = {"TAG": "tags", "POS": "upos", "MORPH": "features", "LEMMA": "lemmas"}
_Bounds = tuple[int, int]  # first token, token after the last


@dataclass(eq=False)
class ArcspanComponent(Pipe):
    """A parser as a spaCy component.

    model          a model bundle's folder; None for the English model inside the package
    style          whose conventions to follow, for a model of several treebanks; None for its
                   default
    threads        how many batches are parsed at once; None for one per processor, 1 with
                   `n_process`
    dependencies   set heads and relations, and with them the sentence starts
    tags           set `tag_`, and `pos_`, `lemma_` and `morph` where the model predicts them
    sentences      set sentence starts on Docs that have none
    constituents   keep the constituents, for the extensions
    entities       how much the entities of a Doc should be constituents: trees in which one is are
                   e^entities times as likely; 0 leaves them out of it

    A Doc that has sentence starts keeps them; otherwise they are those of arcspan's own rules. The
    model is loaded when it is first needed.
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
        """Return the parser, loaded on first use."""
        return Parser(self.model, threads=self.threads)

    def __call__(self, doc: Doc) -> Doc:
        """Parse a Doc, in place."""
        for _ in self.pipe([doc]):
            pass
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse a stream of Docs, in place and in order.

        The sentences of `batch_size` Docs go together.
        """
        # spaCy's own way to go on after an error: `nlp.set_error_handler`.
        error_handler = self.get_error_handler()
        for batch in minibatch(stream, size=batch_size):
            docs = list(batch)
            try:
                self._annotate(docs)
                yield from docs
            except Exception as error:
                error_handler(self.name, self, docs, error)

    def _annotate(self, docs: Sequence[Doc]) -> None:
        doc_bounds = [self._sentence_bounds(doc) for doc in docs]
        inputs = []
        for doc, bounds in zip(docs, doc_bounds, strict=True):
            inputs += [self._input(doc, start, end) for start, end in bounds]
        # One stream for all Docs, so that short ones share batches.
        parses = self.parser.pipe(inputs, batch_size=CHUNK, style=self.style)
        for doc, bounds in zip(docs, doc_bounds, strict=True):
            self._write(doc, bounds, list(islice(parses, len(bounds))))

    def _input(self, doc: Doc, start: int, end: int) -> Any:
        """Return the words of a sentence.

        They come with preferences for its entities of several words, where those matter.
        """
        tokens = [token for token in doc[start:end] if not token.is_space]
        words = [token.text for token in tokens]
        prefer = []
        for entity in doc.ents if self.entities else ():
            # An entity of one word, or of the whole sentence, is a constituent anyway.
            inside = [k for k, token in enumerate(tokens) if entity.start <= token.i < entity.end]
            if start <= entity.start and entity.end <= end and 1 < len(inside) < len(tokens):
                span = ("span", inside[0], inside[-1] + 1)
                prefer.append((span, self.entities))
        return (words, {"prefer": prefer}) if prefer else words

    def _sentence_bounds(self, doc: Doc) -> list[_Bounds]:
        """Return the bounds of every sentence, all tokens covered."""
        if not len(doc):
            return []
        if doc.has_annotation("SENT_START"):
            return [(sent.start, sent.end) for sent in doc.sents]
        words = [token for token in doc if not token.is_space]
        offsets = [word.idx for word in words]
        starts = {0}
        for sentence in self.parser.split(doc.text)[1:]:
            # A token that the rules would cut in two, or white space, stays with the sentence
            # before.
            index = bisect_left(offsets, sentence.start or 0)
            if index < len(words):
                starts.add(words[index].i)
        return list(pairwise([*sorted(starts), len(doc)]))

    def _write(self, doc: Doc, bounds: list[_Bounds], parses: list[Parse]) -> None:
        n = len(doc)
        # What white space gets; `_fill` puts the words' own values in.
        columns: dict[str, list[Any]] = {
            "HEAD": [0] * n,
            "DEP": [SPACE_RELATION] * n,
            "TAG": [SPACE_TAG] * n,
            "POS": ["SPACE"] * n,
            "MORPH": [""] * n,
            "LEMMA": [token.text for token in doc],
            "SENT_START": [-1] * n,
        }
        for (start, end), parse in zip(bounds, parses, strict=True):
            if parse.error is not None:
                warnings.warn(f"a sentence was not parsed: {parse.error}", stacklevel=2)
            words = [token.i for token in doc[start:end] if not token.is_space]
            _fill(columns, start, end, words, parse)
            if self.constituents and "constituency" in parse.layers:
                # Lists that any serializer takes: words are tokens relative to `start`, spans are
                # over words.
                tree = {
                    "words": [word - start for word in words],
                    "tags": list(parse.tags),
                    "spans": [list(span) for span in parse.constituency.spans[1:]],  # no wrapper
                }
                doc[start]._.set(TREE, tree)
        written = []
        if self.tags:
            # A layer that the model does not predict leaves what the Doc has.
            for name, layer in _WORD_LAYERS.items():
                if any(any(getattr(parse, layer)) for parse in parses):
                    written.append(name)
        if self.dependencies and any("dependency" in parse.layers for parse in parses):
            # Heads imply the sentence starts; spaCy refuses both at once.
            written += ["HEAD", "DEP"]
        elif self.sentences and n:
            written += ["SENT_START"]
        if written:
            rows = []
            for name in written:
                rows.append([_attribute_id(doc, name, value) for value in columns[name]])
            doc.from_array(written, np.array(rows, dtype=np.uint64).T)

    def score(self, examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
        """Compute spaCy's own measures of what the component sets, and those of constituents.

        `constituents_p`, `_r`, `_f` and `_per_type` are about the Docs that have gold constituents,
        such as `to_doc` gives; a measure leaves out Docs without its annotation.
        """
        examples = list(examples)
        scores: dict[str, Any] = Scorer.score_spans(
            examples,
            "constituents",
            getter=lambda doc, _: doc[:]._.constituents,
            has_annotation=_has_constituents,
            allow_overlap=True,
        )
        for attribute in ("tag", "pos", "lemma"):
            scores |= Scorer.score_token_attr(examples, attribute)
        scores |= Scorer.score_token_attr(
            examples, "morph", getter=lambda token, _: token.morph.key
        )
        scores |= Scorer.score_deps(
            examples,
            "dep",
            getter=lambda token, _: token.dep_.lower(),
            ignore_labels=("p", "punct"),
        )
        scores |= Scorer.score_spans(
            examples, "sents", has_annotation=lambda doc: doc.has_annotation("SENT_START")
        )
        return scores

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Save the model bundle, so that the saved pipeline does not depend on where it was."""
        target = Path(path) / "model"
        source = self.parser.path
        # Saved where it was loaded from: there is nothing to copy.
        if target.exists() and target.resolve() == source.resolve():
            return
        shutil.copytree(source, target, copy_function=shutil.copyfile, dirs_exist_ok=True)

    def from_disk(
        self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()
    ) -> ArcspanComponent:
        """Load the model bundle that `to_disk` saved."""
        # In the place where the lazy attribute looks first.
        self.__dict__["parser"] = Parser(Path(path) / "model", threads=self.threads)
        self.model = str(self.parser.path)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the parser, which another process loads for itself.
        settings = {setting: getattr(self, setting) for setting in DEFAULTS}
        return partial(ArcspanComponent, self.name, **settings), ()


DEFAULTS = {setting.name: setting.default for setting in fields(ArcspanComponent)[1:]}


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
        "span._.constituents",
        "span._.labels",
        "span._.parent",
        "span._.children",
        "span._.parse_string",
        "token._.labels",
        "token._.parent",
        "token._.children",
        "token._.parse_string",
    ],
    default_config=DEFAULTS,
    default_score_weights={
        "dep_las": 0.4,
        "constituents_f": 0.4,
        "tag_acc": 0.1,
        "sents_f": 0.1,
        "dep_uas": 0.0,
        "pos_acc": 0.0,
        "morph_acc": 0.0,
        "lemma_acc": 0.0,
        "constituents_p": 0.0,
        "constituents_r": 0.0,
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
    """Make the component for `nlp.add_pipe("arcspan", config={...})`.

    The settings are those of `ArcspanComponent`.
    """
    # spaCy looks for the rules of noun chunks here; its own need the relations of its own models.
    if dependencies:
        nlp.vocab.get_noun_chunks = noun_chunks
    return ArcspanComponent(
        name,
        model=model,
        style=style,
        threads=threads,
        dependencies=dependencies,
        tags=tags,
        sentences=sentences,
        constituents=constituents,
        entities=entities,
    )


def to_doc(vocab: Vocab, parses: Sequence[Parse]) -> Doc:
    """Return a Doc whose sentences are parses.

    `spacy evaluate` takes such Docs of the gold trees of a treebank (`Parse.from_trees`).

    It has the annotation that the component writes, over the words of the parses.
    """
    # A Doc cannot hold a sentence of no words.
    parses = [parse for parse in parses if len(parse)]
    words: list[str] = []
    spaces: list[str] = []
    bounds = []
    for parse in parses:
        bounds.append((len(words), len(words) + len(parse)))
        words += parse.words
        spaces += parse._spaces_after()
    doc = Doc(vocab, words=words, spaces=spaces)
    ArcspanComponent()._write(doc, bounds, parses)
    return doc


def _fill(
    columns: dict[str, list[Any]], start: int, end: int, words: list[int], parse: Parse
) -> None:
    """Fill the columns of a sentence.

    Heads are relative, white space hangs on the word before it.
    """
    columns["SENT_START"][start] = 1
    for name, layer in _WORD_LAYERS.items():
        for word, value in zip(words, getattr(parse, layer), strict=True):
            columns[name][word] = value
    anchor = words[0] if words else start
    for token in range(start, end):
        anchor = token if token in words else anchor
        columns["HEAD"][token] = anchor - token
    if not words:
        columns["DEP"][start] = ROOT
    _, tree = parse.trees
    if tree is not None:
        for word, head, relation in zip(words, tree.heads, tree.relations, strict=True):
            columns["HEAD"][word] = words[head - 1] - word if head else 0
            columns["DEP"][word] = relation if head else ROOT


def _attribute_id(doc: Doc, name: str, value: Any) -> int:
    """Return a value as `Doc.from_array` takes it: 64 bits without a sign."""
    # Negative numbers in two's complement.
    if name in ("HEAD", "SENT_START"):
        return value % 2**64
    if name == "POS":
        return UPOS.get(value, 0)
    if name == "MORPH":
        return doc.vocab.morphology.add(value)
    return doc.vocab.strings.add(value) if value else 0


def _has_constituents(doc: Doc) -> bool:
    return any(token._.get(TREE) is not None for token in doc)


# ---- constituents


def set_extensions() -> None:
    """Register the extensions; done once, by the first component."""
    # spaCy's extensions are global; another component may have registered them.
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
            holder.set_extension(name, getter=partial(_analyses, name=name), force=True)
        holder.set_extension("noun_phrases", method=_noun_phrases, force=True)


def _of_token(getter: Callable[[Span], Any]) -> Callable[[Token], Any]:
    return lambda token: getter(token.doc[token.i : token.i + 1])


class _SentenceTree(NamedTuple):
    """The constituents of a sentence, over the tokens of its Doc."""

    words: list[int]
    tags: list[str]
    spans: list[tuple[int, int, str]]  # first token, token after the last, label


def _sentence_trees(doc: Doc, start: int, end: int) -> Iterator[_SentenceTree]:
    """Yield the tree of every sentence that shares a token with [start, end)."""
    # The tree stands on the first token of its sentence, perhaps before `start`.
    while start > 0 and doc[start]._.get(TREE) is None:
        start -= 1
    for first in range(start, end):
        tree = doc[first]._.get(TREE)
        if tree:
            # From positions in the sentence to tokens of the Doc: white space may stand in between.
            words = [first + word for word in tree["words"]]
            spans = [(words[i], words[j - 1] + 1, label) for i, j, label in tree["spans"]]
            yield _SentenceTree(words, tree["tags"], spans)


def constituents(span: Span) -> list[Span]:
    """Return the constituents inside a span, labelled, top-down: `span._.constituents`.

    Of a unary chain, which covers the same words, the outermost comes first. The wrapper TOP is not
    among them.
    """
    return [
        Span(span.doc, start, end, label=label)
        for tree in _sentence_trees(span.doc, span.start, span.end)
        for start, end, label in tree.spans
        if span.start <= start and end <= span.end
    ]


class _Constituent:
    """A span among the constituents of its sentence.

    A single word counts as one, without labels.
    """

    def __init__(self, span: Span) -> None:
        self._doc = span.doc
        for tree in _sentence_trees(span.doc, span.start, span.end):
            self.words = [word for word in tree.words if span.start <= word < span.end]
            self.chains: dict[_Bounds, tuple[str, ...]] = {}
            for start, end, label in tree.spans:
                self.chains[start, end] = (*self.chains.get((start, end), ()), label)
            if self.words:
                self.start = self.words[0]
                self.end = self.words[-1] + 1
                self.bounds = self.start, self.end
                if len(self.words) == 1 or self.bounds in self.chains:
                    return
        raise ArcspanError(
            f"{span.text!r} is not a constituent: _.constituents lists those inside a span; "
            "labels, parent and children belong to a sentence, a constituent or a token"
        )

    def others(self) -> list[_Bounds]:
        """Return the bounds of all other constituents of the sentence."""
        return [bounds for bounds in self.chains if bounds != self.bounds]

    def span(self, start: int, end: int) -> Span:
        """Return tokens with their outermost label."""
        chain = self.chains.get((start, end), ("",))
        return Span(self._doc, start, end, label=chain[0])


def labels(span: Span) -> tuple[str, ...]:
    """Return the labels of a constituent, () of a word that is none: `span._.labels`."""
    constituent = _Constituent(span)
    return constituent.chains.get(constituent.bounds, ())


def parent(span: Span) -> Span | None:
    """Return the constituent right above a constituent or a word.

    It is None above the whole sentence: `span._.parent`.
    """
    constituent = _Constituent(span)
    above = [
        (end - start, start, end)
        for start, end in constituent.others()
        if start <= constituent.start and constituent.end <= end
    ]
    if not above:
        return None
    # The smallest of those around it is the parent.
    _, start, end = min(above)
    return constituent.span(start, end)


def children(span: Span) -> list[Span]:
    """Return the constituents and words right below a constituent: `span._.children`."""
    constituent = _Constituent(span)
    if len(constituent.words) == 1:
        return []
    below: list[Span] = []
    covered = 0  # by the children so far: the tokens before this one
    for word in constituent.words:
        if word >= covered:
            ends = [
                end
                for start, end in constituent.others()
                if start == word and end <= constituent.end
            ]
            # The longest that begins here, or the word alone.
            covered = max(ends, default=word + 1)
            below.append(constituent.span(word, covered))
    return below


def constituency(span: Span) -> ConstituencyTree | None:
    """Return the tree of a sentence, with the wrapper TOP, or of a constituent.

    It is None for other spans.
    """
    for tree in _sentence_trees(span.doc, span.start, span.end):
        inside = [word for word in tree.words if span.start <= word < span.end]
        if not inside:
            continue
        n = len(inside)
        first = tree.words.index(inside[0])
        number = {word: k for k, word in enumerate(inside)}
        spans = [
            (number[start], number[end - 1] + 1, label)
            for start, end, label in tree.spans
            if start in number and end - 1 in number
        ]
        # The whole sentence has the wrapper that `Parse.constituency` has.
        if n == len(tree.words):
            spans.insert(0, (0, n, "TOP"))
        if not spans or spans[0][:2] != (0, n):
            return None
        words = ["_".join(span.doc[word].text.split()) for word in inside]
        return ConstituencyTree(words, tree.tags[first : first + n], spans)
    return None


def parse_string(span: Span) -> str:
    """Return the brackets of a sentence or a constituent: `span._.parse_string`.

    A sentence is written with the wrapper TOP, as `Parse.brackets` does; "" for a span that is
    neither. White space inside a token is written as "_".
    """
    tree = constituency(span)
    return "" if tree is None else tree.brackets()


def smallest_constituent(token: Token) -> Span | None:
    """Return the smallest constituent that holds a token: `token._.constituent`.

    It is None where there is none.
    """
    for tree in _sentence_trees(token.doc, token.i, token.i + 1):
        # In pre-order the last one that holds the token is the innermost.
        for start, end, label in reversed(tree.spans):
            if start <= token.i < end:
                return Span(token.doc, start, end, label=label)
    return None


# ---- clauses and phrases


def _syntax(sentence: Span, constituents: ConstituencyTree | None = None) -> Syntax:
    tokens = [token for token in sentence if not token.is_space]
    number = {token.i: m for m, token in enumerate(tokens, 1)}
    heads = []
    relations = []
    root = 0
    for m, token in enumerate(tokens, 1):
        relations.append("root" if token.dep_ == ROOT else token.dep_)
        # In spaCy a root is its own head; a head outside the sentence makes a root, too.
        head = 0 if token.head.i == token.i else number.get(token.head.i, 0)
        heads.append(head)
        if not head and not root:
            root = m
    # A tree has one root: other roots hang on the first.
    for m, head in enumerate(heads, 1):
        if not head and m != root:
            heads[m - 1] = root
    tree = DependencyTree(
        heads,
        relations,
        [token.text for token in tokens],
        [token.tag_ for token in tokens],
        [token.pos_ for token in tokens],
        [token.lemma_ for token in tokens],
        [str(token.morph) for token in tokens],
    )
    offsets = [(token.idx, token.idx + len(token.text)) for token in tokens]
    # Offsets are those of the Doc; the text begins at the first of them.
    text = sentence.doc.text[offsets[0][0] : offsets[-1][1]] if offsets else None
    return Syntax(constituents, tree, tokens=tokens, text=text, offsets=offsets)


def _sents(doclike: Doc | Span) -> Iterator[Span]:
    """Yield the sentences of a Doc, or those that share a token with a span."""
    start, end = _bounds(doclike)
    return (sent for sent in doclike.doc.sents if sent.start < end and sent.end > start)


def _bounds(doclike: Doc | Span) -> _Bounds:
    return (doclike.start, doclike.end) if isinstance(doclike, Span) else (0, len(doclike))


def noun_chunks(doclike: Doc | Span) -> Iterator[tuple[int, int, int]]:
    """Yield base noun phrases as spaCy takes them: first token, token after the last, label."""
    label = doclike.doc.vocab.strings.add("NP")
    first, last = _bounds(doclike)
    for sentence in _sents(doclike):
        for phrase in _syntax(sentence).noun_phrases("base"):
            start = phrase.tokens[0].i
            end = phrase.tokens[-1].i + 1
            if first <= start and end <= last:
                yield start, end, label


def _analyses(doclike: Doc | Span, name: str) -> list[Any]:
    analyses = []
    for sentence in _sents(doclike):
        analyses += getattr(_syntax(sentence, constituency(sentence)), name)
    return analyses


def _noun_phrases(doclike: Doc | Span, kind: Any = "base") -> list[Any]:
    phrases = []
    for sentence in _sents(doclike):
        phrases += _syntax(sentence, constituency(sentence)).noun_phrases(kind)
    return phrases
