"""Words to the arrays that an encoder reads, the same in training and in an installed parser.

There are two kinds of encoder with two kinds of input. `PieceInputs` cuts words into the word
pieces of a pretrained encoder; a sentence of more pieces than the encoder takes becomes several
overlapping rows, and each word takes its vector from the row where it stands furthest from an edge.
`WordInputs` looks words and characters up in vocabularies made from a training treebank. Both make
a dict of arrays by name: torch modules and ONNX graphs take the same names. `prepare` looks every
word up once and makes one encoding per sentence, `batch` pads several into arrays.

Positions: 0 is the sentence's beginning (the artificial root of the d-tree), 1..n the words, n+1
the end.
"""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from arcspan.errors import BundleError, MissingExtraError
from arcspan.prediction.word_pieces import WordPieces

Arrays = dict[str, np.ndarray]

# How many times as long a normalizer may make a text.
MOST_GROWTH = 1_000
# Characters that are read for each piece of a word that is used, at most.
CHARACTERS_PER_PIECE = 64
# UTF-8 cannot encode halves of surrogate pairs, and the tokenizers library fails on them.
_surrogate = re.compile("[\ud800-\udfff]")
# Ligatures that text from PDF files has in place of letters: no tokenizer saw them in training.
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}

_SPECIAL = ("begin", "end", "padding", "unknown")
_READING = ("window", "overlap", "pooling", "pieces_per_word")

# The written form of a word, for encoders that lower-case everything: the classes of `shape`.
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


class Encoding(Protocol):
    """A sentence that was looked up."""

    @property
    def cost(self) -> int:
        """Return the positions that the encoder has to read."""

    @property
    def shape_class(self) -> tuple[Any, ...]:
        """Return what sentences of one batch share, so that no sum depends on a neighbour."""


class InputEncoder(Protocol):
    """The way from words to the arrays that a network reads."""

    def prepare(self, sentences: Sequence[Sequence[str]]) -> Sequence[Encoding]:
        """Look every word up."""

    def batch(self, encodings: Sequence[Any]) -> Arrays:
        """Pad the encodings of a batch into arrays."""


def shape(word: str) -> int:
    """Return the class of a word's letters and digits, an index into SHAPES.

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
    """Return the class of a product's number of columns.

    onnxruntime cuts a sum into parts by the number of columns: up to 16, 32, 64, or more. The
    products that score spans and arcs have n+1 of them, and those of attention one for each piece.
    """
    for size in (16, 32, 64):
        if count <= size:
            return size
    return 128


def _tokenizer_text(word: str) -> str:
    r"""Return a word as the tokenizer can read it: "" if it cannot, letters in place of ligatures.

    >>> _tokenizer_text("o\ufb03ce")
    'office'
    """
    if word.isascii():
        return word
    return "" if _surrogate.search(word) else word.translate(_LIGATURES)


@contextlib.contextmanager
def _tokenizer_errors(problem: str) -> Iterator[None]:
    """Turn failures of the tokenizers library into our error."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # A panic in Rust is not even an Exception.
        raise BundleError(f"{problem}: {error}") from None


class PieceEncoding(NamedTuple):
    """A sentence in pieces.

    ids     int64 [P];  counts  int64 [n]: pieces of each word, at least one;  shapes  int64 [n]
    """

    ids: np.ndarray
    counts: np.ndarray
    shapes: np.ndarray
    cost: int
    shape_class: tuple[Any, ...]


class PieceInputs:
    """Word pieces for a pretrained encoder.

    `tokenizer` is the text of a `tokenizer.json`; `window` the most pieces that the encoder takes
    at once, the two special ones included; `overlap` how many pieces neighbouring windows share;
    `pooling` is `mean` over a word's pieces or `first`; of a very long word, `pieces_per_word`
    pieces are read.
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
        self.begin = begin
        self.end = end
        self.padding = padding
        self.unknown = unknown
        self.window = window
        # Windows that share more than half of their pieces would hardly move on.
        self.overlap = min(overlap, max(0, (window - 2) // 2))
        self.pooling = pooling
        self.pieces_per_word = pieces_per_word
        with _tokenizer_errors("not a tokenizer"):
            word_pieces = WordPieces.from_json(json.loads(tokenizer))
        self._pieces = word_pieces or LibraryPieces(tokenizer)
        for name in _SPECIAL:
            if not self._pieces.has(getattr(self, name)):
                raise BundleError(f"{name} = {getattr(self, name)} is not a token of the tokenizer")

    def to_json(self) -> dict[str, Any]:
        """Return everything but the tokenizer's text, which is a file of its own."""
        settings = {name: getattr(self, name) for name in (*_SPECIAL, *_READING)}
        return {"kind": self.kind, **settings}

    def prepare(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        """Cut the words of each sentence into pieces."""
        return [self._encode(words) for words in sentences]

    def _encode(self, words: Sequence[str]) -> PieceEncoding:
        # No more of a word is cut than is read: a word of a million characters would stop all
        # threads.
        longest = CHARACTERS_PER_PIECE * self.pieces_per_word
        clean = [_tokenizer_text(word[:longest]) for word in words]
        ids: list[int] = []
        counts = []
        for pieces in self._pieces.cut(clean):
            word_ids = pieces[: self.pieces_per_word] or [self.unknown]
            ids += word_ids
            counts.append(len(word_ids))
        # The vectors that a word is summed from: up to 4, 8, 16 and so on. Few classes make full
        # batches.
        summed = 1
        if self.pooling == "mean":
            summed = max(4, 1 << (max(counts, default=1) - 1).bit_length())
        cost = len(ids) + 2
        return PieceEncoding(
            np.array(ids, dtype=np.int64),
            np.array(counts, dtype=np.int64),
            np.array([shape(word) for word in words], dtype=np.int64),
            cost,
            (column_class(cost), summed),
        )

    def batch(self, encodings: Sequence[Any]) -> Arrays:
        """Return `pieces`, `mask`, `shapes` [R, P] for R rows, and `index`, `weight` [B, n+2, M].

        `index` has the pieces of each word, counted along the flattened rows; a word is the
        weighted sum of their vectors.
        """
        rows: list[tuple[np.ndarray, np.ndarray]] = []
        # Of each sentence: (row, column) of its beginning, every piece, and its end.
        positions: list[np.ndarray] = []
        for encoding in encodings:
            positions.append(self._add_windows(encoding, rows))
        width = max((len(ids) for ids, _ in rows), default=0) + 2
        pieces = np.full((len(rows), width), self.padding, dtype=np.int64)
        mask = np.zeros((len(rows), width), dtype=np.int64)
        shapes = np.zeros((len(rows), width), dtype=np.int64)
        for row, (ids, piece_shapes) in enumerate(rows):
            end = len(ids) + 1
            pieces[row, 0] = self.begin
            pieces[row, 1:end] = ids
            pieces[row, end] = self.end
            shapes[row, 1:end] = piece_shapes
            mask[row, : end + 1] = 1
        arrays = {"pieces": pieces, "mask": mask, "shapes": shapes}
        n = max((len(encoding.counts) for encoding in encodings), default=0)
        summed = max((encoding.shape_class[1] for encoding in encodings), default=1)
        index = np.zeros((len(encodings), n + 2, summed), dtype=np.int64)
        weight = np.zeros((len(encodings), n + 2, summed), dtype=np.float32)
        for b, (encoding, position) in enumerate(zip(encodings, positions, strict=True)):
            counts = encoding.counts
            flat = position[:, 0] * width + position[:, 1]
            end = len(counts) + 1
            index[b, 0, 0] = flat[0]
            weight[b, 0, 0] = 1
            index[b, end, 0] = flat[-1]
            weight[b, end, 0] = 1
            if self.pooling == "mean":
                is_piece = np.arange(summed) < counts[:, None]
                index[b, 1:end][is_piece] = flat[1:-1]
                weight[b, 1:end] = is_piece / counts[:, None]
            else:
                index[b, 1:end, 0] = flat[1 + np.cumsum(counts) - counts]
                weight[b, 1:end, 0] = 1
        return {**arrays, "index": index, "weight": weight}

    def _add_windows(
        self, encoding: PieceEncoding, rows: list[tuple[np.ndarray, np.ndarray]]
    ) -> np.ndarray:
        """Add the rows of a sentence; return the (row, column) of its beginning, pieces and end."""
        ids = encoding.ids
        piece_shapes = np.repeat(encoding.shapes, encoding.counts)
        # Two positions are those of the special pieces.
        size = self.window - 2
        last_start = max(0, len(ids) - size)
        starts = np.asarray([*range(0, last_start, size - self.overlap), last_start])
        first_row = len(rows)
        for start in starts.tolist():
            rows.append((ids[start : start + size], piece_shapes[start : start + size]))
        piece = np.arange(len(ids))
        stops = np.minimum(starts + size, len(ids))
        # The distance to the nearer edge [pieces, windows]; the sentence's own ends are no edges.
        left = np.where(starts == 0, len(ids), piece[:, None] - starts)
        right = np.where(stops == len(ids), len(ids), stops - 1 - piece[:, None])
        is_inside = (piece[:, None] >= starts) & (piece[:, None] < stops)
        best = np.where(is_inside, np.minimum(left, right), -1).argmax(axis=1)
        position = np.empty((len(ids) + 2, 2), dtype=np.int64)
        position[0] = first_row, 0
        position[1:-1, 0] = first_row + best
        position[1:-1, 1] = piece - starts[best] + 1
        position[-1] = len(rows) - 1, len(rows[-1][0]) + 1
        return position


class WordEncoding(NamedTuple):
    """A sentence as the ids of its words, and of each word's characters."""

    ids: list[int]
    spellings: list[list[int]]
    cost: int
    shape_class: tuple[Any, ...]


class WordInputs:
    """Words and characters for the encoder that is trained from scratch.

    Ids 0, 1, 2, 3 are padding, unknown, begin, end, in both vocabularies. A word is looked up as
    written, then in lower case; of a long word, the first and last characters are read.
    """

    kind = "words"
    special = 4
    characters_read = 24

    def __init__(self, words: Sequence[str], characters: Sequence[str]) -> None:
        self.words = list(words)
        self.characters = list(characters)
        self._word_ids = {word: id for id, word in enumerate(self.words, self.special)}
        self._character_ids = {
            character: id for id, character in enumerate(self.characters, self.special)
        }

    @classmethod
    def count(cls, sentences: Iterable[Sequence[str]], *, least: int = 2) -> WordInputs:
        """Return the vocabularies of a treebank: words seen at least `least` times, all
        characters.
        """
        counts = Counter(word for sentence in sentences for word in sentence)
        words = sorted(word for word, count in counts.items() if count >= least)
        # A configuration in UTF-8 cannot hold half of a surrogate pair.
        characters = [letter for letter in set("".join(counts)) if not _surrogate.match(letter)]
        return cls(words, sorted(characters))

    def to_json(self) -> dict[str, Any]:
        """Return both vocabularies."""
        return {"kind": self.kind, "words": self.words, "characters": self.characters}

    def prepare(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        """Look the words of each sentence up, and their characters."""
        ids = self._word_ids
        encodings = []
        for words in sentences:
            word_ids = [ids.get(word) or ids.get(word.lower(), 1) for word in words]
            cost = len(words) + 2
            spellings = [self._spell(word) for word in words]
            encodings.append(WordEncoding(word_ids, spellings, cost, (column_class(cost),)))
        return encodings

    def _spell(self, word: str) -> list[int]:
        if len(word) > self.characters_read:
            half = self.characters_read // 2
            word = word[:half] + word[-half:]
        return [self._character_ids.get(character, 1) for character in word] or [1]

    def batch(self, encodings: Sequence[Any]) -> Arrays:
        """Return `words` [B, n+2], `characters` [B, n+2, C], and `reverse` [B, n+2].

        `reverse` turns a sentence round. C is always the same: the rounding of sums over characters
        must not depend on a neighbour's words.
        """
        count = len(encodings)
        width = max((len(encoding.ids) for encoding in encodings), default=0) + 2
        words = np.zeros((count, width), dtype=np.int64)
        characters = np.zeros((count, width, self.characters_read), dtype=np.int64)
        reverse = np.tile(np.arange(width), (count, 1))
        for b, encoding in enumerate(encodings):
            end = len(encoding.ids) + 1
            words[b, 0] = 2
            words[b, 1:end] = encoding.ids
            words[b, end] = 3
            characters[b, 0, 0] = 2
            characters[b, end, 0] = 3
            for m, spelling in enumerate(encoding.spellings, 1):
                characters[b, m, : len(spelling)] = spelling
            reverse[b, : end + 1] = np.arange(end, -1, -1)
        return {"words": words, "characters": characters, "reverse": reverse}


class LibraryPieces:
    """The tokenizers library in the role of `WordPieces`, for all other tokenizers."""

    def __init__(self, text: str) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtraError("a model whose tokenizer is not BERT's", "tokenizers") from None
        with _tokenizer_errors("not a tokenizer"):
            self._tokenizer = Tokenizer.from_str(text)
        if self._tokenizer.normalizer is not None:
            _refuse_growth(json.loads(self._tokenizer.normalizer.__getstate__()))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def has(self, id: int) -> bool:
        """Return whether a piece has this id."""
        return self._tokenizer.id_to_token(id) is not None

    def cut(self, words: Sequence[str]) -> list[list[int]]:
        """Return the pieces of each word of a sentence."""
        # One sentence at a time: `encode_batch` is no faster, starts threads, and then complains of
        # forks.
        with _tokenizer_errors("the tokenizer fails"):
            encoding = self._tokenizer.encode(words, is_pretokenized=True, add_special_tokens=False)
        pieces: list[list[int]] = [[] for _ in words]
        for word, id in zip(encoding.word_ids, encoding.ids, strict=True):
            if word is not None:
                pieces[word].append(id)
        return pieces


def _refuse_growth(normalizer: dict[str, Any]) -> None:
    """Raise BundleError if a normalizer's replacements could make a text over a thousand times as
    long.
    """
    growth = 1
    steps = [normalizer]
    while steps:
        step = steps.pop()
        growth *= max(1, len(step.get("content", "")), len(step.get("prepend", "")))
        steps += step.get("normalizers", ())
    if growth > MOST_GROWTH:
        raise BundleError(
            f"the tokenizer makes texts up to {growth:,} times as long; {MOST_GROWTH:,} is the limit"
        )


Inputs = PieceInputs | WordInputs
"""The inputs of a single network."""


def inputs_from_json(data: dict[str, Any], tokenizer: str | None = None) -> Inputs:
    """Return the inputs of `to_json` and, for pieces, of the text of `tokenizer.json`.

    >>> inputs = inputs_from_json(WordInputs(["role"], ["r"]).to_json())
    >>> inputs.batch(inputs.prepare([["role", "play"]]))["words"]
    array([[2, 4, 1, 3]])
    """
    settings = {name: value for name, value in data.items() if name != "kind"}
    if data["kind"] == WordInputs.kind:
        return WordInputs(**settings)
    if tokenizer is None:
        raise ValueError("word pieces need the text of a tokenizer.json")
    return PieceInputs(tokenizer, **settings)
