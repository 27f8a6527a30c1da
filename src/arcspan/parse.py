"""The result for one sentence: `Parse`, with `Token` and `Node` as views of its parts.

A `Parse` keeps the numbers that the model predicted, and makes trees and texts of them when they
are first read. It parses nothing, and opens no files.
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
_OF_PREDICTION = ("score", "temperature", "approximate", "error")
# Attributes of a parse, and of its sentence, that `to_dict` gives as they are.
_SIMPLE = ("paragraph", "space_after", *_OF_PREDICTION, "rank")
# Attributes with a string for each word, in the order of the columns of a d-tree.
_COLUMNS = ("tags", "upos", "lemmas", "features")


class Parse:
    """Both trees of one sentence, made by a `Parser`; immutable, compared by value, picklable.

    sentence     the words, and how they are written in the text that they come from
    prediction   the numbers that the model predicted
    score        of the best pair of trees, in the model's own unit
    temperature  of the score: the probabilities of a sentence's parses are in proportion to
                 exp(score / temperature)
    approximate  whether the search was not exact: the sentence is too long, so it was parsed in
                 pieces, or the best pair was not certain after 30 searches
    error        why this sentence could not be parsed: its trees are flat then and mean nothing;
                 None otherwise
    rank         1 for the best, 2 for the second ... of the k best parses; None for a single one

    It is a sequence of `Token`s; `nodes()` returns its constituents.
    """

    sentence: Sentence
    prediction: Prediction
    score: float
    temperature: float
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
        """Keep the probabilities, or the function that computes them when they are first read."""
        # A Parse does not change: `__setattr__` raises.
        self.__dict__.update(
            sentence=sentence,
            prediction=prediction,
            rank=rank,
            score=prediction.score,
            temperature=prediction.temperature,
            approximate=prediction.approximate,
            error=prediction.error,
            _confidence=confidence,
        )

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words of the sentence."""
        return self.sentence.words

    @property
    def text(self) -> str | None:
        """Return the sentence as it was written; None where the input was words."""
        return self.sentence.text

    @property
    def offsets(self) -> tuple[Offsets, ...] | None:
        """Return (start, end) of each word in the original text; None where the input was words."""
        sentence = self.sentence
        # An empty sentence of a text has offsets, too: none.
        is_of_text = sentence.offsets or (sentence.text is not None and not sentence.words)
        return sentence.offsets if is_of_text else None

    @property
    def multiword(self) -> tuple[tuple[int, int, str], ...]:
        """Return tokens of several words, such as (2, 3, "can't"): first word, last word, form."""
        return self.sentence.multiword

    @property
    def paragraph(self) -> bool:
        """Return whether a paragraph of the text begins with this sentence."""
        return self.sentence.paragraph

    # ---- from trees and files

    @classmethod
    def from_trees(
        cls,
        constituency: ConstituencyTree | None = None,
        dependencies: DependencyTree | None = None,
        **options: Any,
    ) -> Parse:
        """Return a parse with these trees.

        The options are attributes of the parse (score, approximate, error, rank) and of its
        `Sentence` (text, offsets, multiword, paragraph, space_after).
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
        """Return the parse of one bracketed tree, without dependencies."""
        return cls.from_trees(ConstituencyTree.from_brackets(text))

    @classmethod
    def from_conllu(cls, text: str) -> Parse:
        """Return the parse of one sentence in CoNLL-U.

        It has constituents where there is a comment `# constituency = ...`, and text and offsets
        where the words spell the text.
        """
        lines = text.strip("\n").split("\n")
        if lines == [""]:
            raise ArcspanError("no sentence: the text is empty")
        if "" in lines:
            raise ArcspanError(
                "several sentences: arcspan.treebanks.read_conllu reads a file of them"
            )
        sentence = ConlluSentence(lines)
        rank: int | None = None
        score = 0.0
        try:
            rank = int(sentence.comment("rank") or "")
            score = float(sentence.comment("score") or "")
        except ValueError:  # no such comments, or another program's
            rank = None
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
            temperature=sentence.temperature,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Parse:
        """Return the inverse of `to_dict`."""
        try:
            words = tuple(data["words"])
            spans = data.get("constituents")
            heads = data.get("heads")
            offsets = data.get("offsets")
            if data.get("space_after", True) not in (True, False):
                raise TypeError("space_after is neither true nor false")
            c = d = None
            if spans is not None:
                c = ConstituencyTree(words, data.get("tags"), map(tuple, spans))
            if heads is not None:
                columns = [data.get(name) for name in _COLUMNS]
                d = DependencyTree(heads, data["relations"], words, *columns)
            parse = cls.from_trees(
                c,
                d,
                text=None if offsets is None else data["text"],
                offsets=tuple((start, end) for start, end in offsets or ()),
                multiword=tuple(
                    (first, last, form) for first, last, form in data.get("multiword", ())
                ),
                **{name: data[name] for name in _SIMPLE if name in data},
            )
            # This reads all of it: parts that contradict each other are an error here, not later.
            parse.conllu()
            return parse
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ArcspanError(
                f"this is not what Parse.to_dict gives: {type(error).__name__}: {error}"
            ) from None

    # ---- predictions

    @lazy
    def tags(self) -> tuple[str, ...]:
        """Return one tag per word, of the treebank's own set; "" where there is none."""
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
        """Return the head of every word, 1..n, or 0 for the root."""
        return self.dependencies.heads

    @property
    def relations(self) -> tuple[str, ...]:
        """Return the relation of every word to its head."""
        return self.dependencies.relations

    @lazy
    def constituency(self) -> ConstituencyTree:
        """Return the constituency tree, with the wrapper TOP; ArcspanError where there is none."""
        prediction = self.prediction
        if prediction.nodes is None:
            self._check_failed("constituents")
            # A flat tree.
            nodes = ((0, len(self.words), 0, (WRAPPER,)),)
            prediction = replace(prediction.named(self.words), nodes=nodes)
        return prediction.constituency(self.words)  # type: ignore[return-value]

    @lazy
    def dependencies(self) -> DependencyTree:
        """Return the dependency tree; ArcspanError where there is none."""
        prediction = self.prediction
        if prediction.heads is None:
            self._check_failed("dependencies")
            n = len(self.words)
            # A flat tree under the first word.
            heads = ((0,) + (1,) * (n - 1))[:n]
            relations = (("root",) + ("dep",) * (n - 1))[:n]
            prediction = replace(prediction.named(self.words), heads=heads, relations=relations)
        return prediction.dependencies(self.words)  # type: ignore[return-value]

    def _check_failed(self, layer: str) -> None:
        """Raise ArcspanError unless the sentence could not be parsed: then it has flat trees."""
        if self.error is None:
            raise ArcspanError(
                f"this parse has no {layer}: the model or the file that it comes from has none"
            )

    @property
    def layers(self) -> tuple[str, ...]:
        """Return the names of its trees: "constituency", "dependency", or both."""
        names = []
        if self.prediction.nodes is not None or self.error is not None:
            names.append("constituency")
        if self.prediction.heads is not None or self.error is not None:
            names.append("dependency")
        return tuple(names)

    @property
    def trees(self) -> tuple[ConstituencyTree | None, DependencyTree | None]:
        """Return both trees; None for one that it does not have."""
        return (
            self.constituency if "constituency" in self.layers else None,
            self.dependencies if "dependency" in self.layers else None,
        )

    @lazy
    def lexical(self) -> LexicalTree | None:
        """Return the lexicalized tree of both; None unless there are two compatible trees."""
        if len(self.layers) < 2:
            return None
        tree = LexicalTree.fit(self.constituency, self.dependencies)
        return tree if isinstance(tree, LexicalTree) else None

    @property
    def confidence(self) -> Confidence | None:
        """Return the probabilities of every constituent, arc, label and relation, and of the whole.

        They are computed when they are first read, which takes about as long as parsing did, and
        several times that over a hundred words. None where the parse is approximate or an error,
        and where they would take more memory than the parser may have.
        """
        confidence = self.__dict__["_confidence"]
        if confidence is not None and not isinstance(confidence, Confidence):
            confidence = self.__dict__["_confidence"] = confidence()
        return confidence  # type: ignore[no-any-return]

    # ---- clauses, phrases, queries

    @lazy
    def syntax(self) -> Syntax:
        """Return the clauses, coordinations and phrases, which the properties below give, too."""
        from arcspan.syntax import Syntax

        return Syntax(*self.trees, **self._context())

    def _context(self) -> dict[str, Any]:
        """Return what analyses take from the parse besides its trees."""
        return {
            "tokens": self,
            "text": self.text,
            "offsets": self.offsets,
            # Computed only if a probability is read.
            "confidence": lambda: self.confidence,
        }

    @property
    def clauses(self) -> list[Clause]:
        """Return the clauses, in the order in which they begin."""
        return self.syntax.clauses

    @property
    def coordinations(self) -> list[Coordination]:
        """Return the phrases that "and" and the like join, with what the conjuncts share."""
        return self.syntax.coordinations

    @property
    def verb_groups(self) -> list[VerbGroup]:
        """Return the verbs of the clauses with their auxiliaries, from left to right."""
        return self.syntax.verb_groups

    def noun_phrases(self, kind: Literal["base", "maximal", "all"] = "base") -> list[Phrase]:
        """Return noun phrases: "base" (without overlap), "maximal" (in no other), or "all"."""
        return self.syntax.noun_phrases(kind)

    def subject_of(self, token: Token) -> Phrase | None:
        """Return the subject of a verb or predicate, also through control and relative pronouns."""
        return self.syntax.subject_of(token.position)

    def objects_of(self, token: Token) -> list[Phrase]:
        """Return the objects of a verb, with antecedents in place of relative pronouns."""
        return self.syntax.objects_of(token.position)

    def find(self, query: str | TreeQuery) -> list[Match]:
        """Return the matches of a query over the trees: `find("NP <# ({} <obj {lemma:see})")`."""
        from arcspan.syntax import compiled

        tree_query = compiled(query) if isinstance(query, str) else query
        return tree_query.find(*self.trees, **self._context())

    @property
    def root(self) -> Token | None:
        """Return the word that depends on no other; None in a sentence without words."""
        return Token(self, self.dependencies.root) if self.words else None

    # ---- words and constituents as objects

    @property
    def start(self) -> int | None:
        """Return where it begins in the original text; None where the input was words."""
        return self.offsets[0][0] if self.offsets else None

    @property
    def end(self) -> int | None:
        """Return where it ends in the original text; None where the input was words."""
        return self.offsets[-1][1] if self.offsets else None

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def __iter__(self) -> Iterator[Token]:
        return (Token(self, m) for m in range(1, len(self.words) + 1))

    @overload
    def __getitem__(self, index: int) -> Token: ...

    @overload
    def __getitem__(self, index: slice) -> list[Token]: ...

    def __getitem__(self, index: int | slice) -> Token | list[Token]:
        """Return a word by its index from 0, as in `words`, or a list of words."""
        try:
            positions = range(1, len(self.words) + 1)[index]
        except IndexError:
            raise IndexError(
                f"no word {index}: the sentence has {len(self.words)}, from 0"
            ) from None
        if isinstance(positions, int):
            return Token(self, positions)
        return [Token(self, m) for m in positions]

    def nodes(self, label: str | None = None) -> list[Node]:
        """Return the constituents, top-down, left to right; with a label, those that have it."""
        if label is not None and not isinstance(label, str):
            raise ArcspanError(
                f"nodes() takes one label or none, not {type(label).__name__}: {label!r}"
            )
        nodes = []
        # The first span is the wrapper.
        for index, (_, _, node_label) in enumerate(self.constituency.spans[1:], 1):
            if label in (None, node_label):
                nodes.append(Node(self, index))
        return nodes

    @lazy
    def _children(self) -> list[list[int]]:
        """Return the dependents of every word; index 0 has the root."""
        children: list[list[int]] = [[] for _ in range(len(self.words) + 1)]
        for m, h in enumerate(self.heads, 1):
            children[h].append(m)
        return children

    @lazy
    def _parents(self) -> list[int]:
        """Return the index of the smallest span around each span."""
        return parents(self.constituency.spans)

    # ---- formats

    def brackets(self) -> str:
        """Return the constituency tree on one line, as treebanks write it."""
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
            lines.append(f"# temperature = {self.temperature:.6g}")
        if constituency and "constituency" in self.layers:
            lines.append(constituency_comment(self.constituency))
        return lines

    def _spaces_after(self) -> list[str]:
        """Return the white space after each word: that of the text, or a space without one."""
        if self.offsets is None or self.text is None:
            return [" "] * len(self.words)
        if not self.words:
            return []
        start_of_text = self.sentence.start
        spaces = []
        for (_, end), (start, _) in pairwise(self.offsets):
            gap = self.text[end - start_of_text : start - start_of_text]
            # Markup that was taken out may stand between words.
            if not gap.isspace():
                gap = " " if gap[:1].isspace() or gap[-1:].isspace() else ""
            spaces.append(gap)
        spaces.append(" " if self.sentence.space_after else "")
        return spaces

    def _running_text(self) -> str:
        """Return the tokens with a space where there is white space in the text."""
        forms = list(self.words)
        for first, last, form in self.multiword:
            # The form stands for its first word, and the others are empty.
            forms[first - 1 : last] = [form, *[""] * (last - first)]
        pieces = []
        for form, space in zip(forms, self._spaces_after(), strict=True):
            pieces.append(one_line(form) if form else "")
            if space:
                pieces.append(" ")
        return "".join(pieces).rstrip(" ")

    def to_dict(self, *, syntax: bool = False) -> dict[str, Any]:
        """Return all as plain data, ready for JSON; spans are (i, j, label) over words i+1..j.

        `syntax` adds clauses, coordinations and phrases, with their probabilities if `confidence`
        has been computed.
        """
        c, d = self.trees
        data: dict[str, Any] = {
            "text": self.text if self.text is not None else " ".join(self.words),
            "words": list(self.words),
            "offsets": None if self.offsets is None else [list(pair) for pair in self.offsets],
            "multiword": [list(token) for token in self.multiword],
            "paragraph": self.paragraph,
            "space_after": self.sentence.space_after,
            **{name: list(getattr(self, name)) for name in _COLUMNS},
            "heads": None if d is None else list(d.heads),
            "relations": None if d is None else list(d.relations),
            "constituents": None if c is None else [list(span) for span in c.spans],
            "brackets": None if c is None else c.brackets(),
            "score": self.score,
            "approximate": self.approximate,
        }
        if syntax:
            is_computed = isinstance(self.__dict__["_confidence"], Confidence)
            data["syntax"] = None if d is None else self.syntax.to_dict(probabilities=is_computed)
        if self.rank is not None:
            data["rank"] = self.rank
            data["temperature"] = self.temperature
        if self.error is not None:
            data["error"] = self.error
        return data

    def to_nltk(self) -> Any:
        """Return the constituency tree as an `nltk.Tree` (needs nltk)."""
        from arcspan.trees.nltk_tree import to_nltk

        return to_nltk(self.constituency)

    def to_svg(self, **options: Any) -> str:
        """Draw the trees as SVG; the options are those of `arcspan.rendering.to_svg`."""
        from arcspan.rendering import to_svg

        return to_svg(*self.trees, **options)

    def to_png(self, *, scale: float = 2.0, **options: Any) -> bytes:
        """Draw `to_svg(**options)` as a PNG, `scale` times as large (extra `pictures`)."""
        from arcspan.rendering import to_png

        return to_png(self.to_svg(**options), scale)

    def to_pdf(self, **options: Any) -> bytes:
        """Draw `to_svg(**options)` as a PDF of one page (needs the extra `pictures`)."""
        from arcspan.rendering import to_pdf

        return to_pdf(self.to_svg(**options))

    def to_tikz(self, *, layers: Layer | None = None, document: bool = True) -> str:
        """Draw both trees for LaTeX, as a document or part of one: `arcspan.rendering.to_tikz`."""
        from arcspan.rendering import to_tikz

        return to_tikz(*self.trees, layers=layers, document=document)

    def to_html(self, *, confidence: Confidence | None = None, **options: Any) -> str:
        """Return a page with the picture under the text; see `arcspan.rendering.to_html`."""
        from arcspan.rendering import to_html

        return to_html([self.trees], texts=[self.text], confidence=[confidence], **options)

    def draw(self, **options: Any) -> str:
        """Draw both trees as text; the options are those of `arcspan.rendering.draw_terminal`."""
        from arcspan.rendering import draw_terminal

        return draw_terminal(*self.trees, **options)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        return self.draw()

    def __repr__(self) -> str:
        from arcspan.rendering.layout import visible

        text = _shortened(self._running_text(), 60)
        if self.error is not None:
            return f"Parse({text!r}, error={self.error!r})"
        constituency, dependencies = self.trees
        lines = []
        if constituency is not None:
            lines.append(_shortened(constituency.brackets(), 200))
        if dependencies is not None:
            words = ("ROOT", *self.words)
            arcs = []
            for m, (head, relation) in enumerate(zip(self.heads, self.relations, strict=True), 1):
                arcs.append(f"{relation}({words[head]}, {words[m]})")
            if len(arcs) > 8:
                arcs[8:] = ["..."]
            lines.append(" ".join(arcs))
        mark = ", approximate" if self.approximate else ""
        trees = "".join(f"\n  {visible(line, longest=len(line))}" for line in lines)
        return f"Parse({text!r}{mark}{trees})"

    def _value(self) -> tuple[Any, ...]:
        """Return all that two equal parses share."""
        return (
            self.words,
            self.offsets,
            self.text,
            self.multiword,
            self.approximate,
            self.error,
            *self.trees,
            *(getattr(self, name) for name in _COLUMNS),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parse):
            return NotImplemented
        # Words are compared first: no trees have to be made for sentences that differ.
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


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def _restore_parse(
    sentence: Sentence, prediction: Prediction, rank: int | None, confidence: Any
) -> Parse:
    return Parse(sentence, prediction, rank=rank, confidence=confidence)


# Comments of an earlier parse, which do not hold for another.
_REMARK = re.compile(r"#\s*(rank|score|temperature|approximate|error|constituency)\s*=")
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
    """Return the text of a sentence and the offsets of its words; {} where they do not spell it."""
    text = sentence.text
    spelled = sentence.spell()
    if spelled.split() == text.split():
        # The same, with the white space of SpacesAfter.
        text = spelled
    offsets: list[Offsets] = []
    multiword = []
    position = 0
    space_after = True
    for token, first, last in sentence.surface():
        position += len(text[position:]) - len(text[position:].lstrip())
        if not text.startswith(token.form, position):
            return {}
        end = position + len(token.form)
        # Words of one token have the same offsets.
        offsets += [(position, end)] * (last - first + 1)
        position = end
        space_after = token.space_after
        if not token.is_word:
            multiword.append((first, last, token.form))
    return {
        "text": text,
        "offsets": tuple(offsets),
        "multiword": tuple(multiword),
        "space_after": space_after,
    }


class ParseDisplay(list["Parse"]):
    """Parses that a notebook shows as pictures, and a terminal as drawings."""

    def _repr_html_(self) -> str:
        style = "margin: 1em 0; overflow-x: auto"
        return "".join(f"<div style='{style}'>{parse.to_svg()}</div>" for parse in self)

    def __repr__(self) -> str:
        return "\n\n".join(map(str, self))


def show(parses: Parse | Iterable[Parse]) -> ParseDisplay:
    """Return parses as pictures, in a notebook: `arcspan.show(parser(text))`."""
    return ParseDisplay([parses] if isinstance(parses, Parse) else parses)


@dataclass(unsafe_hash=True, repr=False, slots=True)
class Token:
    """A word of a parse, as a view.

    position  1..n, as heads count
    """

    _parse: Parse
    position: int

    @property
    def text(self) -> str:
        """Return the word."""
        return self._parse.words[self.position - 1]

    @property
    def tag(self) -> str:
        """Return its part-of-speech tag, of the treebank's own set."""
        return self._parse.tags[self.position - 1]

    @property
    def upos(self) -> str:
        """Return its universal part-of-speech tag."""
        return self._parse.upos[self.position - 1]

    @property
    def lemma(self) -> str:
        """Return its lemma."""
        return self._parse.lemmas[self.position - 1]

    @property
    def features(self) -> str:
        """Return its features, as CoNLL-U writes them."""
        return self._parse.features[self.position - 1]

    @property
    def head(self) -> Token | None:
        """Return the word that it depends on; None for the root."""
        head = self._parse.heads[self.position - 1]
        return Token(self._parse, head) if head else None

    @property
    def relation(self) -> str:
        """Return its relation to its head."""
        return self._parse.relations[self.position - 1]

    @property
    def children(self) -> tuple[Token, ...]:
        """Return the words that depend on it, from left to right."""
        return tuple(Token(self._parse, m) for m in self._parse._children[self.position])

    @property
    def ancestors(self) -> tuple[Token, ...]:
        """Return its head, the head of its head, and so on up to the root."""
        ancestors: list[Token] = []
        head = self.head
        while head is not None:
            ancestors.append(head)
            head = head.head
        return tuple(ancestors)

    @property
    def subtree(self) -> tuple[Token, ...]:
        """Return the word and all words below it, from left to right."""
        positions = [self.position]
        # The list grows while it is read, until all words below are in it.
        for m in positions:
            positions += self._parse._children[m]
        return tuple(Token(self._parse, m) for m in sorted(positions))

    @property
    def conjuncts(self) -> tuple[Token, ...]:
        """Return the words that it is coordinated with, from left to right, without itself."""
        return tuple(Token(self._parse, m) for m in self._parse.syntax.conjuncts(self.position))

    @property
    def start(self) -> int | None:
        """Return where it begins in the original text; None where the input was words."""
        offsets = self._parse.offsets
        return None if offsets is None else offsets[self.position - 1][0]

    @property
    def end(self) -> int | None:
        """Return where it ends in the original text; None where the input was words."""
        offsets = self._parse.offsets
        return None if offsets is None else offsets[self.position - 1][1]

    def __repr__(self) -> str:
        return f"Token({self.text!r}, {self.position})"


@dataclass(unsafe_hash=True, repr=False, slots=True)
class Node:
    """A constituent of a parse, as a view."""

    _parse: Parse
    _index: int

    @property
    def span(self) -> tuple[int, int]:
        """Return (i, j): it covers the words i+1..j."""
        return self._parse.constituency.spans[self._index][:2]

    @property
    def label(self) -> str:
        """Return its label."""
        return self._parse.constituency.spans[self._index][2]

    @property
    def tokens(self) -> list[Token]:
        """Return its words."""
        i, j = self.span
        return self._parse[i:j]

    @property
    def text(self) -> str:
        """Return its words as in the original text, or with spaces if the input was words."""
        i, j = self.span
        parse = self._parse
        if parse.text is None or parse.start is None or self.start is None or self.end is None:
            return " ".join(parse.words[i:j])
        return parse.text[self.start - parse.start : self.end - parse.start]

    @property
    def head(self) -> Token:
        """Return its head word: the one whose own head lies outside."""
        i, j = self.span
        heads = self._parse.heads
        return Token(self._parse, next(outgoing_words(heads, i, j)))

    @property
    def parent(self) -> Node | None:
        """Return the smallest constituent around it; None for the topmost."""
        parent = self._parse._parents[self._index]
        # Span 0 is the wrapper.
        return Node(self._parse, parent) if parent > 0 else None

    @property
    def children(self) -> tuple[Node, ...]:
        """Return the constituents right below it, from left to right."""
        children = []
        for index, parent in enumerate(self._parse._parents):
            if parent == self._index:
                children.append(Node(self._parse, index))
        return tuple(children)

    @property
    def start(self) -> int | None:
        """Return where it begins in the original text; None where the input was words."""
        return self.tokens[0].start

    @property
    def end(self) -> int | None:
        """Return where it ends in the original text; None where the input was words."""
        return self.tokens[-1].end

    def __repr__(self) -> str:
        return f"Node({self.label}, {self.text!r})"
