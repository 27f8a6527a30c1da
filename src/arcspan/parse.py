"""`Parse`: what a model says of one sentence, with `Token` and `Node`, views of its words and constituents.

A `Parse` keeps the numbers that the model gave and makes trees and texts of them when they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, overload

from arcspan.errors import ArcspanError
from arcspan.lazy import lazy
from arcspan.prediction.confidence import Confidence
from arcspan.prediction.results import WRAPPER, Prediction
from arcspan.segmenting.sentence import Offsets, Sentence
from arcspan.treebanks.conll import ConlluSentence
from arcspan.treebanks.pairs import parse_pair
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree
from arcspan.trees.conllu import Multiword, constituency_comment, format_conllu, write_spaces
from arcspan.trees.constituency import parents
from arcspan.trees.dependency import outgoing_words
from arcspan.trees.words import one_line

if TYPE_CHECKING:
    from arcspan.rendering import Layer
    from arcspan.syntax import Clause, Coordination, Match, Phrase, Syntax, TreeQuery, VerbGroup

__all__ = ["Confidence", "Node", "Offsets", "Parse", "Token"]

# Attributes of a parse that are those of its prediction.
_OF_PREDICTION = ("score", "approximate", "error")
# Attributes of a parse, and of its sentence, that `to_dict` gives as they are.
_SIMPLE = ("paragraph", "space_after", *_OF_PREDICTION, "rank")


class Parse:
    """Both trees of one sentence, made by a `Parser`. It does not change; it compares by value and pickles.

    sentence     the words, and how they are written in the text that they come from
    score        of the best pair of trees, in the model's own unit
    approximate  whether it was not searched exactly: too long, so parsed in pieces, or not certain after 30 searches
    error        why this sentence could not be parsed: its trees are flat then and say nothing; None otherwise
    rank         1 for the best, 2 for the second ... where several parses were asked for; None otherwise

    It is a sequence of `Token`s; `nodes()` gives its constituents.
    """

    sentence: Sentence
    prediction: Prediction
    score: float
    approximate: bool
    error: str | None
    rank: int | None

    def __init__(
        self,
        sentence: Sentence,
        prediction: Prediction,
        *,
        rank: int | None = None,
        confidence: Confidence | Callable[[], Confidence | None] | None = None,
    ) -> None:
        """`confidence`: the probabilities, or what computes them when they are first read."""
        # A Parse does not change: `__setattr__` raises.
        self.__dict__.update(
            sentence=sentence,
            prediction=prediction,
            rank=rank,
            score=prediction.score,
            approximate=prediction.approximate,
            error=prediction.error,
            _confidence=confidence,
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the sentence."""
        return self.sentence.words

    @property
    def text(self) -> str | None:
        """The sentence as it was written; None where words were given."""
        return self.sentence.text

    @property
    def offsets(self) -> tuple[Offsets, ...] | None:
        """(start, end) of every word in the original text; None where words were given."""
        known = self.sentence
        return (
            known.offsets if known.offsets or (known.text is not None and not known.words) else None
        )

    @property
    def multiword(self) -> tuple[tuple[int, int, str], ...]:
        """Tokens of several words, such as (2, 3, "can't"): first word, last word, form."""
        return self.sentence.multiword

    @property
    def paragraph(self) -> bool:
        """Whether a paragraph of the text begins with this sentence."""
        return self.sentence.paragraph

    # ---- from what was written

    @classmethod
    def from_trees(
        cls,
        constituency: ConstituencyTree | None = None,
        dependencies: DependencyTree | None = None,
        **options: Any,
    ) -> Parse:
        """A parse of trees that are there already.

        The options are attributes of the parse (score, approximate, error, rank) and of its `Sentence` (text, offsets,
        multiword, paragraph, space_after).
        """
        tree = dependencies or constituency
        if tree is None or (
            constituency and dependencies and constituency.words != dependencies.words
        ):
            raise ArcspanError("a parse is made of a tree, or of two trees over the same words")
        of_prediction = {name: options.pop(name) for name in _OF_PREDICTION if name in options}
        rank = options.pop("rank", None)
        prediction = replace(Prediction.from_trees(constituency, dependencies), **of_prediction)
        return cls(Sentence(tree.words, **options), prediction, rank=rank)

    @classmethod
    def from_brackets(cls, text: str) -> Parse:
        """The parse of one bracketed tree, without dependencies."""
        return cls.from_trees(ConstituencyTree.from_brackets(text))

    @classmethod
    def from_conllu(cls, text: str) -> Parse:
        """The parse of one sentence in CoNLL-U, with constituents where there is a comment `# constituency = ...`.

        It has text and offsets where the words spell the text.
        """
        lines = text.strip("\n").split("\n")
        if lines == [""]:
            raise ArcspanError("no sentence: the text is empty")
        if "" in lines:
            raise ArcspanError(
                "several sentences: arcspan.treebanks.read_conllu reads a file of them"
            )
        sentence = ConlluSentence(lines)
        rank: int | None
        try:
            rank, score = (
                int(sentence.comment("rank") or ""),
                float(sentence.comment("score") or ""),
            )
        except ValueError:  # not there, or another program's
            rank, score = None, 0.0
        constituency, dependencies = parse_pair(sentence)
        return cls.from_trees(
            constituency,
            dependencies,
            **_located(sentence),
            paragraph="# newpar" in lines,
            approximate=sentence.comment("approximate") == "yes",
            error=sentence.comment("error"),
            rank=rank,
            score=score,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Parse:
        """The inverse of `to_dict`."""
        try:
            words, heads, spans = tuple(data["words"]), data.get("heads"), data.get("constituents")
            c = (
                None
                if spans is None
                else ConstituencyTree(words, data.get("tags"), map(tuple, spans))
            )
            columns = (data.get(name) for name in ("tags", "upos", "lemmas", "features"))
            d = None if heads is None else DependencyTree(heads, data["relations"], words, *columns)
            offsets = data.get("offsets")
            found = cls.from_trees(
                c,
                d,
                text=None if offsets is None else data["text"],
                offsets=tuple((start, end) for start, end in offsets or ()),
                multiword=tuple(
                    (first, last, form) for first, last, form in data.get("multiword", ())
                ),
                **{name: data[name] for name in _SIMPLE if name in data},
            )
            found.conllu()  # which takes all of it: what does not fit together is found here, not later
            return found
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ArcspanError(
                f"this is not what Parse.to_dict gives: {type(error).__name__}: {error}"
            ) from None

    # ---- what was predicted

    @lazy
    def tags(self) -> tuple[str, ...]:
        """Return one part-of-speech tag per word, of the treebank's own set; "" where there is none."""
        return self.prediction.column("tag", self.words)

    @lazy
    def upos(self) -> tuple[str, ...]:
        """Return one universal part-of-speech tag per word; "" where there is none."""
        return self.prediction.column("upos", self.words)

    @lazy
    def lemmas(self) -> tuple[str, ...]:
        """Return one lemma per word; "" where there is none."""
        return self.prediction.column("lemma", self.words)

    @lazy
    def features(self) -> tuple[str, ...]:
        """Return one bundle of features per word, as CoNLL-U writes them; "" for a word without."""
        return self.prediction.column("feature", self.words)

    @property
    def heads(self) -> tuple[int, ...]:
        """The head of every word, 1..n, or 0 for the root."""
        return self.dependencies.heads

    @property
    def relations(self) -> tuple[str, ...]:
        """The relation of every word to its head."""
        return self.dependencies.relations

    @lazy
    def constituency(self) -> ConstituencyTree:
        """The constituency tree, with the wrapper TOP around it. ArcspanError where there is none."""
        prediction = self.prediction
        if prediction.nodes is None:
            self._refuse("constituents")
            nodes = ((0, len(self.words), 0, (WRAPPER,)),)
            prediction = replace(prediction.named(self.words), nodes=nodes)
        return prediction.constituency(self.words)  # type: ignore[return-value]

    @lazy
    def dependencies(self) -> DependencyTree:
        """The dependency tree. ArcspanError where there is none."""
        prediction = self.prediction
        if prediction.heads is None:
            self._refuse("dependencies")
            n = len(self.words)
            # A flat tree under the first word.
            heads = ((0,) + (1,) * (n - 1))[:n]
            relations = (("root",) + ("dep",) * (n - 1))[:n]
            prediction = replace(prediction.named(self.words), heads=heads, relations=relations)
        return prediction.dependencies(self.words)  # type: ignore[return-value]

    def _refuse(self, what: str) -> None:
        if self.error is None:
            raise ArcspanError(
                f"this parse has no {what}: the model or the file that it comes from has none"
            )

    @property
    def layers(self) -> tuple[str, ...]:
        """Which trees there are: "constituency", "dependency", or both."""
        has = {
            "constituency": self.prediction.nodes is not None,
            "dependency": self.prediction.heads is not None,
        }
        return tuple(layer for layer, there in has.items() if there or self.error is not None)

    @property
    def trees(self) -> tuple[ConstituencyTree | None, DependencyTree | None]:
        """Both trees; None for one that is not there."""
        return (
            self.constituency if "constituency" in self.layers else None,
            self.dependencies if "dependency" in self.layers else None,
        )

    @lazy
    def lexical(self) -> LexicalTree | None:
        """The lexicalized tree that holds both; None where there are not two trees that fit each other."""
        tree = (
            LexicalTree.fit(self.constituency, self.dependencies) if len(self.layers) == 2 else None
        )
        return tree if isinstance(tree, LexicalTree) else None

    @property
    def confidence(self) -> Confidence | None:
        """Probabilities of every constituent, arc, label and relation, and of the whole.

        They are computed when they are first asked for, which takes about as long as parsing did, and several times
        that over a hundred words. None where the parse is approximate or an error, and where they would take more
        memory than the parser may have.
        """
        known = self.__dict__["_confidence"]
        if known is not None and not isinstance(known, Confidence):
            known = self.__dict__["_confidence"] = known()
        return known  # type: ignore[no-any-return]

    # ---- clauses, phrases, queries

    @lazy
    def syntax(self) -> Syntax:
        """Clauses, coordinations and phrases; the properties below are its own."""
        from arcspan.syntax import Syntax

        return Syntax(*self.trees, **self._source())

    def _source(self) -> dict[str, Any]:
        confidence = lambda: self.confidence  # noqa: E731
        return {
            "tokens": self,
            "text": self.text,
            "offsets": self.offsets,
            "confidence": confidence,
        }

    @property
    def clauses(self) -> list[Clause]:
        """The clauses, in the order in which they begin."""
        return self.syntax.clauses

    @property
    def coordinations(self) -> list[Coordination]:
        """What is joined by "and" and the like, with what the conjuncts share."""
        return self.syntax.coordinations

    @property
    def verb_groups(self) -> list[VerbGroup]:
        """The verbs of the clauses with their auxiliaries, from left to right."""
        return self.syntax.verb_groups

    def noun_phrases(self, kind: Literal["base", "maximal", "all"] = "base") -> list[Phrase]:
        """The noun phrases: "base" ones do not overlap, "maximal" ones are in no other, or "all" of them."""
        return self.syntax.noun_phrases(kind)

    def subject_of(self, token: Token) -> Phrase | None:
        """The subject of a verb or predicate, through control and relative pronouns where the trees lead there."""
        return self.syntax.subject_of(token.position)

    def objects_of(self, token: Token) -> list[Phrase]:
        """The objects of a verb, with antecedents in the place of relative pronouns."""
        return self.syntax.objects_of(token.position)

    def find(self, query: str | TreeQuery) -> list[Match]:
        """Where a query over one tree or both fits: `find("NP <# ({} <obj {lemma:see})")`."""
        from arcspan.syntax import compiled

        found = compiled(query) if isinstance(query, str) else query
        return found.find(*self.trees, **self._source())

    @property
    def root(self) -> Token | None:
        """The word that depends on no other; None in a sentence without words."""
        return Token(self, self.dependencies.root) if self.words else None

    # ---- words and constituents as objects

    @property
    def start(self) -> int | None:
        """Where the sentence begins in the original text; None where words were given."""
        return self.offsets[0][0] if self.offsets else None

    @property
    def end(self) -> int | None:
        """Where the sentence ends in the original text; None where words were given."""
        return self.offsets[-1][1] if self.offsets else None

    def __len__(self) -> int:
        """The number of words."""
        return len(self.words)

    def __iter__(self) -> Iterator[Token]:
        return (Token(self, m) for m in range(1, len(self.words) + 1))

    @overload
    def __getitem__(self, place: int) -> Token: ...

    @overload
    def __getitem__(self, place: slice) -> list[Token]: ...

    def __getitem__(self, place: int | slice) -> Token | list[Token]:
        """A word by its place from 0, as in `words`, or several."""
        try:
            places = range(1, len(self.words) + 1)[place]
        except IndexError:
            raise IndexError(
                f"no word {place}: the sentence has {len(self.words)}, from 0"
            ) from None
        return Token(self, places) if isinstance(places, int) else [Token(self, m) for m in places]

    def nodes(self, label: str | None = None) -> list[Node]:
        """The constituents, top-down and from left to right; with a label, those that have it."""
        if label is not None and not isinstance(label, str):
            raise ArcspanError(
                f"nodes() takes one label or none, not {type(label).__name__}: {label!r}"
            )
        labels = [own for _, _, own in self.constituency.spans[1:]]  # the first is the wrapper
        return [Node(self, place) for place, own in enumerate(labels, 1) if label in (None, own)]

    @lazy
    def _children(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in range(len(self.words) + 1)]
        for m, h in enumerate(self.heads, 1):
            found[h].append(m)
        return found

    @lazy
    def _above(self) -> list[int]:
        """Of every span: the place of the smallest one around it."""
        return parents(self.constituency.spans)

    # ---- formats

    def brackets(self) -> str:
        """The constituency tree on one line, as treebanks write it."""
        return self.constituency.brackets()

    def conllu(
        self,
        *,
        constituency: bool = False,
        offsets: bool = False,
        comments: Sequence[str] = (),
        source: ConlluSentence | None = None,
    ) -> str:
        """Return the dependency tree in CoNLL-U, with the blank line at its end.

        constituency  add the other tree in a comment, `# constituency = (TOP ...)`
        offsets       add to MISC where each token stands in the text, `TokenRange=start:end`
        comments      lines that come first, such as `# sent_id = 1`
        source        the sentence whose words were parsed: its comments, forms, multiword tokens
                      and SpaceAfter are kept
        """
        text = [f"# text = {self._running_text()}"]
        positions = self.offsets if offsets else None
        spaces = self._spaces_after()

        def misc_of(first: int, last: int) -> str:
            entries = [write_spaces(spaces[last - 1])]
            if positions:
                entries.append(f"TokenRange={positions[first - 1][0]}:{positions[last - 1][1]}")
            return "|".join(filter(None, entries))

        misc = [misc_of(m, m) for m in range(1, len(self.words) + 1)]
        tokens = []
        for first, last, form in self.multiword:
            tokens.append(Multiword(first, last, form, misc_of(first, last)))
            # The spaces of a multiword token stand in its own line alone.
            misc[first - 1 : last] = [""] * (last - first + 1)
        remarks = self._remarks(constituency)
        if source is None:
            lines = [*comments, *self._paragraph_comment(), *text, *remarks]
            return format_conllu(self.dependencies, lines, multiword=tokens, misc=misc)
        if source.comment("text") is None:
            text = [f"# text = {source.spell()}"]
        else:
            text = []
        lines = [*comments, *_comments_for(source, self.rank or 1), *text]
        lines += [*self._paragraph_comment(), *remarks]
        words = source.words
        for index, word in enumerate(words):
            if not word.space_after:
                misc[index] = "SpaceAfter=No"
        return format_conllu(
            self.dependencies,
            lines,
            forms=[word.form for word in words],
            multiword=source.multiword(),
            misc=misc,
        )

    def _paragraph_comment(self) -> list[str]:
        # Of the k best parses, the first alone begins the paragraph.
        return ["# newpar"] if self.paragraph and self.rank in (None, 1) else []

    def _remarks(self, constituency: bool) -> list[str]:
        """Return the comments of CoNLL-U on the parse itself."""
        lines = []
        if self.error is not None:
            lines.append(f"# error = {' '.join(self.error.split())}")
        if self.approximate:
            lines.append("# approximate = yes")
        if self.rank is not None:
            lines.append(f"# rank = {self.rank}")
            lines.append(f"# score = {self.score:.6g}")
        if constituency and "constituency" in self.layers:
            lines.append(constituency_comment(self.constituency))
        return lines

    def _spaces_after(self) -> list[str]:
        """The white space after each word: of the text where there is one, otherwise a space."""
        if self.offsets is None or self.text is None:
            return [" "] * len(self.words)
        begin = self.sentence.start
        gaps = [
            self.text[end - begin : start - begin]
            for (_, end), (start, _) in pairwise(self.offsets)
        ]
        # Between words may stand markup that was taken out.
        gaps = [
            one if one.isspace() else " " * (one[:1].isspace() or one[-1:].isspace())
            for one in gaps
        ]
        return [*gaps, " " * self.sentence.space_after] if self.words else []

    def _running_text(self) -> str:
        """The tokens with a space where there is white space in the text."""
        forms = list(self.words)
        for first, last, form in self.multiword:
            forms[first - 1 : last] = [form, *[""] * (last - first)]
        spaces = self._spaces_after()
        return "".join(
            (one_line(form) if form else "") + (" " if space else "")
            for form, space in zip(forms, spaces, strict=True)
        ).rstrip(" ")

    def to_dict(self, *, syntax: bool = False) -> dict[str, Any]:
        """Everything as plain data, ready for JSON; spans are (i, j, label) and cover words i+1..j.

        `syntax`: with clauses, coordinations and phrases, and their probabilities where `confidence` is known.
        """
        c, d = self.trees
        found: dict[str, Any] = {
            "text": self.text if self.text is not None else " ".join(self.words),
            "words": list(self.words),
            "offsets": None if self.offsets is None else [list(pair) for pair in self.offsets],
            "multiword": [list(token) for token in self.multiword],
            "paragraph": self.paragraph,
            "space_after": self.sentence.space_after,
            **{name: list(getattr(self, name)) for name in ("tags", "upos", "lemmas", "features")},
            "heads": None if d is None else list(d.heads),
            "relations": None if d is None else list(d.relations),
            "constituents": None if c is None else [list(span) for span in c.spans],
            "brackets": None if c is None else c.brackets(),
            "score": self.score,
            "approximate": self.approximate,
        }
        if syntax:
            known = isinstance(self.__dict__["_confidence"], Confidence)
            found["syntax"] = None if d is None else self.syntax.to_dict(probabilities=known)
        own = {"rank": self.rank, "error": self.error}
        return found | {name: value for name, value in own.items() if value is not None}

    def to_nltk(self) -> Any:
        """The constituency tree as an `nltk.Tree` (needs nltk)."""
        from arcspan.trees.nltk_tree import to_nltk

        return to_nltk(self.constituency)

    def to_svg(self, **options: Any) -> str:
        """A picture of the trees that there are; the options are those of `arcspan.rendering.to_svg`."""
        from arcspan.rendering import to_svg

        return to_svg(*self.trees, **options)

    def to_png(self, *, scale: float = 2.0, **options: Any) -> bytes:
        """The picture of `to_svg(**options)` as a PNG, `scale` times as large (needs the extra `pictures`)."""
        from arcspan.rendering import to_png

        return to_png(self.to_svg(**options), scale)

    def to_pdf(self, **options: Any) -> bytes:
        """The picture of `to_svg(**options)` as a PDF of one page (needs the extra `pictures`)."""
        from arcspan.rendering import to_pdf

        return to_pdf(self.to_svg(**options))

    def to_tikz(self, *, layers: Layer | None = None, document: bool = True) -> str:
        """Both trees for LaTeX: a document, or a part of one; see `arcspan.rendering.to_tikz`."""
        from arcspan.rendering import to_tikz

        return to_tikz(*self.trees, layers=layers, document=document)

    def to_html(self, *, confidence: Confidence | None = None, **options: Any) -> str:
        """A stand-alone page with the picture under the original text; see `arcspan.rendering.to_html`."""
        from arcspan.rendering import to_html

        return to_html([self.trees], texts=[self.text], confidence=[confidence], **options)

    def draw(self, **options: Any) -> str:
        """Both trees drawn as text; the options are those of `arcspan.rendering.draw_terminal`."""
        from arcspan.rendering import draw_terminal

        return draw_terminal(*self.trees, **options)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        return self.draw()

    def __repr__(self) -> str:
        from arcspan.rendering.layout import visible

        text = self._running_text()
        shown = text if len(text) <= 60 else text[:57] + "..."
        mark = ", approximate" if self.approximate else ""
        if self.error is not None:
            return f"Parse({shown!r}, error={self.error!r})"
        constituency, dependencies = self.trees
        lines = []
        if constituency is not None:
            brackets = constituency.brackets()
            lines.append(brackets if len(brackets) <= 200 else brackets[:197] + "...")
        if dependencies is not None:
            rows = zip(self.words[:8], dependencies.heads, dependencies.relations, strict=False)
            arcs = " ".join(
                f"{relation}({self.words[head - 1] if head else 'ROOT'}, {word})"
                for word, head, relation in rows
            )
            lines.append(arcs + (" ..." if len(self.words) > 8 else ""))
        trees = "".join(f"\n  {visible(line, longest=len(line))}" for line in lines)
        return f"Parse({shown!r}{mark}{trees})"

    def _value(self) -> tuple[Any, ...]:
        own = self.words, self.offsets, self.text, self.multiword, self.approximate, self.error
        return (*own, *self.trees, self.tags, self.upos, self.lemmas, self.features)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parse):
            return NotImplemented
        return self is other or (self.words == other.words and self._value() == other._value())

    def __hash__(self) -> int:
        return hash((self.words, *self.trees))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Parse does not change")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        # In names: an inventory of all names would be many times as large.
        prediction = self.prediction.named(self.words)
        return _restore_parse, (self.sentence, prediction, self.rank, self.__dict__["_confidence"])


def _restore_parse(
    sentence: Sentence, prediction: Prediction, rank: int | None, confidence: Any
) -> Parse:
    return Parse(sentence, prediction, rank=rank, confidence=confidence)


# Comments of an earlier parse, which do not hold for another.
_REMARK = re.compile(r"#\s*(rank|score|approximate|error|constituency)\s*=")
_BEGINNING = re.compile(r"#\s*(newdoc|newpar)\b")


def _comments_for(source: ConlluSentence, rank: int) -> list[str]:
    r"""Return the comments of a sentence that hold for its parse of some rank.

    After the best parse, none begins a document or paragraph, and ids end in the rank.

    >>> _comments_for(ConlluSentence(["# newdoc id = a", "# sent_id = a-1", "# score = 2"]), 2)
    ['# sent_id = a-1-2']
    """
    lines = [line for line in source.comments if not _REMARK.match(line)]
    if rank == 1:
        return lines
    comments = []
    for line in lines:
        key, _, value = line[1:].partition("=")
        if key.strip() == "sent_id" and value.strip():
            line = f"{line.rstrip()}-{rank}"
        if not _BEGINNING.match(line):
            comments.append(line)
    return comments


def _located(sentence: ConlluSentence) -> dict[str, Any]:
    """The text of a sentence and where its words stand in it; nothing where they do not spell it."""
    text, spelled, position = sentence.text, sentence.spell(), 0
    if spelled.split() == text.split():
        text = spelled  # the same, with the white space of SpacesAfter
    offsets: list[Offsets] = []
    multiword = []
    space = True
    for token, first, last in sentence.surface():
        position += len(text[position:]) - len(text[position:].lstrip())
        if not text.startswith(token.form, position):
            return {}
        end = position + len(token.form)
        offsets += [(position, end)] * (last - first + 1)
        position, space = end, token.space_after
        if not token.is_word:
            multiword.append((first, last, token.form))
    return {
        "text": text,
        "offsets": tuple(offsets),
        "multiword": tuple(multiword),
        "space_after": space,
    }


class Shown(list["Parse"]):
    """Parses that a notebook shows as pictures, and a terminal as drawings."""

    def _repr_html_(self) -> str:
        return "".join(
            f"<div style='margin: 1em 0; overflow-x: auto'>{parse.to_svg()}</div>" for parse in self
        )

    def __repr__(self) -> str:
        return "\n\n".join(map(str, self))


def show(parses: Parse | Iterable[Parse]) -> Shown:
    """Parses as pictures, in a notebook: `arcspan.show(parser(text))`."""
    return Shown([parses] if isinstance(parses, Parse) else parses)


@dataclass(unsafe_hash=True, repr=False, slots=True)
class Token:
    """A word of a parse: a view, made when it is asked for.

    position  1..n, as heads count
    """

    _parse: Parse
    position: int

    @property
    def text(self) -> str:
        """The word."""
        return self._parse.words[self.position - 1]

    @property
    def tag(self) -> str:
        """Its part-of-speech tag, of the treebank's own set."""
        return self._parse.tags[self.position - 1]

    @property
    def upos(self) -> str:
        """Its universal part-of-speech tag."""
        return self._parse.upos[self.position - 1]

    @property
    def lemma(self) -> str:
        """Its lemma."""
        return self._parse.lemmas[self.position - 1]

    @property
    def features(self) -> str:
        """Its features, as CoNLL-U writes them."""
        return self._parse.features[self.position - 1]

    @property
    def head(self) -> Token | None:
        """The word that it depends on; None for the root."""
        head = self._parse.heads[self.position - 1]
        return Token(self._parse, head) if head else None

    @property
    def relation(self) -> str:
        """Its relation to its head."""
        return self._parse.relations[self.position - 1]

    @property
    def children(self) -> tuple[Token, ...]:
        """The words that depend on it, from left to right."""
        return tuple(Token(self._parse, m) for m in self._parse._children[self.position])

    @property
    def ancestors(self) -> tuple[Token, ...]:
        """Its head, that one's head, and so on up to the root."""
        found: list[Token] = []
        above = self.head
        while above is not None:
            found.append(above)
            above = above.head
        return tuple(found)

    @property
    def subtree(self) -> tuple[Token, ...]:
        """The word and all words below it, from left to right."""
        found = [self.position]
        for m in found:  # grows while it is read
            found += self._parse._children[m]
        return tuple(Token(self._parse, m) for m in sorted(found))

    @property
    def conjuncts(self) -> tuple[Token, ...]:
        """The words that it is coordinated with, from left to right, without itself."""
        return tuple(Token(self._parse, m) for m in self._parse.syntax.conjuncts(self.position))

    @property
    def start(self) -> int | None:
        """Where it begins in the original text; None where words were given."""
        offsets = self._parse.offsets
        return None if offsets is None else offsets[self.position - 1][0]

    @property
    def end(self) -> int | None:
        """Where it ends in the original text; None where words were given."""
        offsets = self._parse.offsets
        return None if offsets is None else offsets[self.position - 1][1]

    def __repr__(self) -> str:
        return f"Token({self.text!r}, {self.position})"


@dataclass(unsafe_hash=True, repr=False, slots=True)
class Node:
    """A constituent of a parse: a view, made when it is asked for."""

    _parse: Parse
    _place: int

    @property
    def span(self) -> tuple[int, int]:
        """(i, j): it covers the words i+1..j."""
        return self._parse.constituency.spans[self._place][:2]

    @property
    def label(self) -> str:
        """Its label."""
        return self._parse.constituency.spans[self._place][2]

    @property
    def tokens(self) -> list[Token]:
        """Its words."""
        i, j = self.span
        return self._parse[i:j]

    @property
    def text(self) -> str:
        """Its words as the original text has them; with spaces between them where words were given."""
        i, j = self.span
        parse = self._parse
        if parse.text is None or parse.start is None or self.start is None or self.end is None:
            return " ".join(parse.words[i:j])
        return parse.text[self.start - parse.start : self.end - parse.start]

    @property
    def head(self) -> Token:
        """Its head word: the one whose own head lies outside."""
        i, j = self.span
        heads = self._parse.heads
        return Token(self._parse, next(outgoing_words(heads, i, j)))

    @property
    def parent(self) -> Node | None:
        """The smallest constituent around it; None for the topmost."""
        above = self._parse._above[self._place]
        return Node(self._parse, above) if above > 0 else None

    @property
    def children(self) -> tuple[Node, ...]:
        """The constituents right below it, from left to right."""
        below = (place for place, above in enumerate(self._parse._above) if above == self._place)
        return tuple(Node(self._parse, place) for place in below)

    @property
    def start(self) -> int | None:
        """Where it begins in the original text; None where words were given."""
        return self.tokens[0].start

    @property
    def end(self) -> int | None:
        """Where it ends in the original text; None where words were given."""
        return self.tokens[-1].end

    def __repr__(self) -> str:
        return f"Node({self.label}, {self.text!r})"
