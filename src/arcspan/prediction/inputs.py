"""Words to the arrays that an encoder reads, the same in training and in an installed parser.

Two kinds of encoder, two kinds of input. `PieceInputs` cuts words into the word pieces of a pretrained
encoder; a sentence of more pieces than the encoder takes becomes several overlapping rows, and each word
takes its vector from the row where it stands furthest from an edge. `WordInputs` looks words and characters
up in vocabularies made from a training treebank. Both hand out a dict of arrays by name: torch modules and
ONNX graphs take the same names. `prepare` looks every word up once and gives one opaque item a sentence,
`cost` says how much the encoder has to read for it, `batch` pads several into arrays.

Positions: 0 is the sentence's beginning (the artificial root of the d-tree), 1..n the words, n+1 the end.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from arcspan.errors import BundleError, MissingExtraError
from arcspan.prediction.word_pieces import WordPieces

Arrays = dict[str, np.ndarray]


class InputEncoder(Protocol):
    """The way from words to the arrays that a network reads."""

    def prepare(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        """Look every word up; return one opaque encoding per sentence."""

    def cost(self, encoded: Any) -> int:
        """Return how many positions the encoder has to read."""

    def shape_class(self, encoded: Any) -> tuple[Any, ...]:
        """Return what sentences of one batch must share, so that no sum depends on a neighbour."""

    def batch(self, encoded: Sequence[Any]) -> Arrays:
        """Pad the encodings of a batch into arrays."""


MOST_GROWTH = 1_000  # times that a normalizer may lengthen a text
CHARACTERS_PER_PIECE = 64  # at most
_surrogate = re.compile("[\ud800-\udfff]")  # what UTF-8 cannot encode

# How a word is written, for encoders that lower-case everything: the classes of `shape`.
SHAPES = (
    "special",
    "lower",
    "capitalised",
    "upper",
    "mixed",
    "digits",
    "letters and digits",
    "other",
    "letter",
)


def shape(word: str) -> int:
    """The class of a word's letters and digits, an index into SHAPES.

    >>> [SHAPES[shape(word)] for word in ("role", "Logic", "DNA", "mRNA", "1999", "p53", "-", "A", "學")]
    ['lower', 'capitalised', 'upper', 'mixed', 'digits', 'letters and digits', 'other', 'letter', 'other']
    """
    letters = word.isalpha()
    if not letters and any(letter.isdigit() for letter in word):
        return 6 if any(letter.isalpha() for letter in word) else 5
    if word.islower():
        return 1
    if word.isupper() and not (letters and word.istitle()):
        return 3
    if word.istitle():
        return 8 if letters and len(word) == 1 and word.isupper() else 2
    return 4 if any(letter.isupper() for letter in word) else 7


def column_class(count: int) -> int:
    """The class of a product's number of columns.

    onnxruntime cuts a sum into parts by the number of columns: up to 16, 32, 64, or more. The products that score spans
    and arcs have n+1 of them, and those of attention one for each piece.
    """
    return next((size for size in (16, 32, 64) if count <= size), 128)


@contextlib.contextmanager
def _failures(what: str) -> Iterator[None]:
    """Turn what the tokenizers library raises into our error; a panic in Rust is not even an Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise BundleError(f"{what}: {error}") from None


class PieceInputs:
    """Word pieces for a pretrained encoder.

    `tokenizer` is the text of a `tokenizer.json`; `window` the most pieces that the encoder takes at once,
    the two special ones included; `overlap` how many pieces neighbouring windows share; `pooling` is `mean`
    over a word's pieces or `first`; of a very long word, `pieces_per_word` pieces are read.
    """

    kind = "pieces"

    def __init__(
        self,
        tokenizer: str,
        *,
        begin: int,
        end: int,
        padding: int,
        unknown: int,
        window: int = 512,
        overlap: int = 128,
        pooling: str = "mean",
        pieces_per_word: int = 16,
    ) -> None:
        self.text = tokenizer
        self.begin, self.end, self.padding, self.unknown = begin, end, padding, unknown
        self.window, self.overlap = window, min(overlap, max(0, (window - 2) // 2))
        self.pooling, self.pieces_per_word = pooling, pieces_per_word
        with _failures("not a tokenizer"):
            own = WordPieces.from_json(json.loads(tokenizer))
        self._pieces = own or LibraryPieces(tokenizer)
        for name in ("begin", "end", "padding", "unknown"):
            if not self._pieces.has(getattr(self, name)):
                raise BundleError(f"{name} = {getattr(self, name)} is not a token of the tokenizer")

    def to_json(self) -> dict[str, Any]:
        """Everything but the tokenizer's own text, which is a file of its own."""
        names = (
            "begin",
            "end",
            "padding",
            "unknown",
            "window",
            "overlap",
            "pooling",
            "pieces_per_word",
        )
        return {"kind": self.kind, **{name: getattr(self, name) for name in names}}

    def prepare(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        """For each sentence: piece ids, pieces of each word (at least one), the shape of each word."""
        most = CHARACTERS_PER_PIECE * self.pieces_per_word
        found = []
        for words in sentences:
            # A word the tokenizer could stumble over (empty, or a lone surrogate) is looked up as unknown.
            # No more of a word than the pieces that are read: a word of a million characters would stop all threads.
            clean = ["" if _surrogate.search(word, 0, most) else word[:most] for word in words]
            read = [
                ids[: self.pieces_per_word] or [self.unknown] for ids in self._pieces.cut(clean)
            ]
            ids = np.array([id for own in read for id in own], dtype=np.int64)
            counts = np.array([len(own) for own in read], dtype=np.int64)
            found.append((ids, counts, np.array([shape(word) for word in words], dtype=np.int64)))
        return found

    def cost(self, prepared: Any) -> int:
        """Pieces, the two special ones included."""
        return len(prepared[0]) + 2

    def shape_class(self, prepared: Any) -> tuple[int, ...]:
        """What sentences of one batch have in common, so that no sum depends on a neighbour's words.

        The columns of attention, and how many vectors a word is summed from: the pieces of the longest word, up to 4,
        8, 16 and so on. Few different numbers make full batches.
        """
        ids, counts, _ = prepared
        longest = int(counts.max(initial=1))
        return column_class(len(ids) + 2), max(
            4, 1 << (longest - 1).bit_length()
        ) if self.pooling == "mean" else 1

    def batch(self, prepared: Sequence[Any]) -> Arrays:
        """`pieces`, `mask`, `shapes` [R, P] for R rows, and which pieces make a word: `index`, `weight` [B, n+2, M].

        `index` counts along the flattened rows; a word is the weighted sum of its pieces' vectors.
        """
        rows: list[tuple[np.ndarray, np.ndarray]] = []
        places: list[np.ndarray] = []  # of each sentence: (row, column) of begin, every piece, end
        room = self.window - 2
        for ids, counts, shapes in prepared:
            piece_shapes = np.repeat(shapes, counts)
            last = max(0, len(ids) - room)  # where the last window begins
            starts = [*range(0, last, room - self.overlap), last]
            first = len(rows)
            rows += [
                (ids[start : start + room], piece_shapes[start : start + room]) for start in starts
            ]
            place = np.empty((len(ids) + 2, 2), dtype=np.int64)
            position = np.arange(len(ids))
            begins = np.asarray(starts)
            ends = np.minimum(begins + room, len(ids))
            # The distance to the nearer edge; the sentence's own ends are no edges.
            left = np.where(begins == 0, len(ids), position[:, None] - begins)
            right = np.where(ends == len(ids), len(ids), ends - 1 - position[:, None])
            inside = (position[:, None] >= begins) & (position[:, None] < ends)
            best = np.where(inside, np.minimum(left, right), -1).argmax(axis=1)
            place[1:-1, 0], place[1:-1, 1] = first + best, position - begins[best] + 1
            place[0] = first, 0
            place[-1] = len(rows) - 1, len(rows[-1][0]) + 1
            places.append(place)
        width = max((len(ids) for ids, _ in rows), default=0) + 2
        pieces = np.full((len(rows), width), self.padding, dtype=np.int64)
        mask = np.zeros((len(rows), width), dtype=np.int64)
        shaped = np.zeros((len(rows), width), dtype=np.int64)
        for row, (ids, piece_shapes) in enumerate(rows):
            length = len(ids)
            pieces[row, 0], pieces[row, length + 1] = self.begin, self.end
            pieces[row, 1 : length + 1] = ids
            shaped[row, 1 : length + 1] = piece_shapes
            mask[row, : length + 2] = 1
        index, weight = self._pooling_arrays(prepared, places, width)
        return {"pieces": pieces, "mask": mask, "shapes": shaped, "index": index, "weight": weight}

    def _pooling_arrays(
        self, prepared: Sequence[Any], places: Sequence[np.ndarray], width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        longest = max((len(counts) for _, counts, _ in prepared), default=0)
        most = max((self.shape_class(one)[1] for one in prepared), default=1)
        index = np.zeros((len(prepared), longest + 2, most), dtype=np.int64)
        weight = np.zeros((len(prepared), longest + 2, most), dtype=np.float32)
        for b, ((_, counts, _), place) in enumerate(zip(prepared, places, strict=True)):
            flat = place[:, 0] * width + place[:, 1]
            n = len(counts)
            index[b, 0, 0], weight[b, 0, 0] = flat[0], 1
            index[b, n + 1, 0], weight[b, n + 1, 0] = flat[-1], 1
            if self.pooling == "mean":
                taken = np.arange(most) < counts[:, None]
                index[b, 1 : n + 1][taken] = flat[1:-1]
                weight[b, 1 : n + 1] = taken / counts[:, None]
            else:
                index[b, 1 : n + 1, 0] = flat[1 + np.cumsum(counts) - counts]
                weight[b, 1 : n + 1, 0] = 1
        return index, weight


class WordInputs:
    """Words and characters for the encoder that is trained from scratch.

    Ids 0, 1, 2, 3 are padding, unknown, begin, end, in both vocabularies. A word is looked up as written,
    then in lower case; of a long word, the first and last characters are read.
    """

    kind = "words"
    special = 4
    characters_read = 24

    def __init__(self, words: Sequence[str], characters: Sequence[str]) -> None:
        self.words, self.characters = list(words), list(characters)
        self._words = {word: id for id, word in enumerate(self.words, self.special)}
        self._characters = {
            character: id for id, character in enumerate(self.characters, self.special)
        }

    @classmethod
    def count(cls, sentences: Iterable[Sequence[str]], *, least: int = 2) -> WordInputs:
        """The vocabularies of a treebank: words seen at least `least` times, all characters."""
        words = Counter(word for sentence in sentences for word in sentence)
        return cls(
            sorted(word for word, times in words.items() if times >= least),
            sorted(
                character for character in set("".join(words)) if not _surrogate.match(character)
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """Both vocabularies."""
        return {"kind": self.kind, "words": self.words, "characters": self.characters}

    def prepare(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        """For each sentence: the ids of its words, and of each word's characters."""
        known = self._words
        return [
            (
                [known.get(word) or known.get(word.lower(), 1) for word in words],
                list(map(self._spell, words)),
            )
            for words in sentences
        ]

    def _spell(self, word: str) -> list[int]:
        half = self.characters_read // 2
        read = word if len(word) <= self.characters_read else word[:half] + word[-half:]
        return [self._characters.get(character, 1) for character in read] or [1]

    def cost(self, prepared: Any) -> int:
        """Words, begin and end included."""
        return len(prepared[0]) + 2

    def shape_class(self, prepared: Any) -> tuple[int, ...]:
        """The columns of products over words."""
        return (column_class(len(prepared[0]) + 2),)

    def batch(self, prepared: Sequence[Any]) -> Arrays:
        """`words` [B, n+2], `characters` [B, n+2, C], and `reverse` [B, n+2], which turns a sentence round.

        C is always the same: the rounding of sums over characters must not depend on a neighbour's words.
        """
        longest = max((len(ids) for ids, _ in prepared), default=0) + 2
        spelt = self.characters_read
        words = np.zeros((len(prepared), longest), dtype=np.int64)
        characters = np.zeros((len(prepared), longest, spelt), dtype=np.int64)
        reverse = np.tile(np.arange(longest), (len(prepared), 1))
        for b, (ids, spellings) in enumerate(prepared):
            n = len(ids)
            words[b, 0], words[b, 1 : n + 1], words[b, n + 1] = 2, ids, 3
            characters[b, 0, 0], characters[b, n + 1, 0] = 2, 3
            for word, spelling in enumerate(spellings, 1):
                characters[b, word, : len(spelling)] = spelling
            reverse[b, : n + 2] = np.arange(n + 1, -1, -1)
        return {"words": words, "characters": characters, "reverse": reverse}


class LibraryPieces:
    """What `WordPieces` does, for every other tokenizer, by the tokenizers library."""

    def __init__(self, text: str) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtraError("a model whose tokenizer is not BERT's", "tokenizers") from None
        with _failures("not a tokenizer"):
            self._tokenizer = Tokenizer.from_str(text)
        if self._tokenizer.normalizer is not None:
            _refuse_growth(json.loads(self._tokenizer.normalizer.__getstate__()))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def has(self, id: int) -> bool:
        """Whether a piece has this id."""
        return self._tokenizer.id_to_token(id) is not None

    def cut(self, words: Sequence[str]) -> list[list[int]]:
        """The pieces of each word of a sentence."""
        # One sentence at a time: `encode_batch` is no faster, starts threads, and then complains of forks.
        with _failures("the tokenizer fails"):
            encoding = self._tokenizer.encode(words, is_pretokenized=True, add_special_tokens=False)
        found: list[list[int]] = [[] for _ in words]
        for word, id in zip(encoding.word_ids, encoding.ids, strict=True):
            if word is not None:
                found[word].append(id)
        return found


def _refuse_growth(normalizer: dict[str, Any]) -> None:
    """BundleError where a normalizer's replacements could make a text over a thousand times as long."""
    growth, rest = 1, [normalizer]
    while rest:
        step = rest.pop()
        growth *= max(1, len(step.get("content", "")), len(step.get("prepend", "")))
        rest += step.get("normalizers", ())
    if growth > MOST_GROWTH:
        raise BundleError(
            f"the tokenizer makes texts up to {growth:,} times as long; {MOST_GROWTH:,} is the limit"
        )


Inputs = PieceInputs | WordInputs
"""What turns words into the arrays of a model."""


def inputs_from_json(data: dict[str, Any], tokenizer: str | None = None) -> Inputs:
    """Make the inputs again from `to_json` and, for pieces, the text of `tokenizer.json`.

    >>> again = inputs_from_json(WordInputs(["role"], ["r"]).to_json())
    >>> again.batch(again.prepare([["role", "play"]]))["words"]
    array([[2, 4, 1, 3]])
    """
    rest = {name: value for name, value in data.items() if name != "kind"}
    if data["kind"] == WordInputs.kind:
        return WordInputs(**rest)
    if tokenizer is None:
        raise ValueError("word pieces need the text of a tokenizer.json")
    return PieceInputs(tokenizer, **rest)
