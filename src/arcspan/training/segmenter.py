"""Training of the learnt segmenter: minutes on one core, from CoNLL-U files alone.

Each dilated convolution of the network adds its output to its input. Nothing is padded: the output
is shorter than the input by the context on both sides, in training as in use.
"""

from __future__ import annotations

import io
import itertools
import json
import math
import random
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from arcspan._version import __version__
from arcspan.errors import ConfigError
from arcspan.files import atomic_write, dump
from arcspan.segmenting import BaseSegmenter, RuleSegmenter, Segmenter, Sentence
from arcspan.segmenting.alphabet import KINDS, Alphabet, letter_of
from arcspan.segmenting.base import SENTENCE, TOKEN, read_marks, spaces
from arcspan.segmenting.expansion import Expansions
from arcspan.segmenting.learnt import FORMAT, GRAPH, SETTINGS, WINDOW, features
from arcspan.training.average import Average
from arcspan.training.config import SEGMENTER, Config, SegmenterSettings, SegmenterSource
from arcspan.training.dev_scores import Say
from arcspan.training.segmenting_data import (
    EXPANDED,
    GoldText,
    Paragraph,
    documents,
    joined,
    varied,
    wrapped,
)

DILATIONS = (1, 2, 4, 8, 16, 32)
CONTEXT = 1 + sum(DILATIONS)  # characters on either side that a decision depends on
LITTLE = 50_000  # characters of training text below which a warning is given
RULES = "rules.json"  # in place of a segmenter, where rules are better
_SHARES = (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)  # thresholds that dev chooses from
_TOGETHER = 50  # sentences of a document that are shown in one style
_RATE = 4e-3  # learning rate at its highest,
_WARMUP = 100  # after so many updates
_DROPOUT = 0.1
_HIDDEN = 0.02  # share of letters that are shown by their category only
_IGNORED = -1  # the mark of characters that teach nothing
_COLUMNS = ("tokens", "words", "sentences")


class SegmenterNetwork(nn.Module):
    """Characters [batch, 3, n + 2 * CONTEXT] to scores [batch, 5, n].

    The scores are in the order of `segmenting.learnt`.
    """

    def __init__(self, letters: int, channels: int) -> None:
        super().__init__()
        self.letter = nn.Embedding(letters, 32)
        self.kind = nn.Embedding(KINDS, 32)
        self.hint = nn.Embedding(SENTENCE + 1, 32)
        # Two dimensions, since ONNX Runtime is faster at those.
        self.first = nn.Conv2d(32, channels, (1, 3))
        self.convolutions = nn.ModuleList(
            nn.Conv2d(channels, channels, (1, 3), dilation=(1, reach)) for reach in DILATIONS
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(len(DILATIONS) + 1))
        self.dropout = nn.Dropout(_DROPOUT)
        self.answer = nn.Conv2d(channels, 5, 1)

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        """Return five scores for each character that has its context."""
        inputs = (
            self.letter(characters[:, 0])
            + self.kind(characters[:, 1])
            + self.hint(characters[:, 2])
        )
        hidden = torch.relu(self.norms[0](self.first(inputs.transpose(1, 2).unsqueeze(2))))
        for convolution, norm, reach in zip(
            self.convolutions, self.norms[1:], DILATIONS, strict=True
        ):
            change = self.dropout(torch.relu(norm(convolution(hidden))))
            hidden = hidden[:, :, :, reach:-reach] + change
        scores: torch.Tensor = self.answer(hidden).squeeze(2)
        return scores


def run_segmenter(config: Config, say: Say, *, resume: bool = False, check: bool = False) -> None:
    """Train the segmenter of a configuration into the folder `segmenter` of its output.

    With `resume`, one that was trained by the same settings is left unchanged. With `check`, its
    files are only read.
    """
    if check:
        train, _ = read_texts(config.segmenter)
        say(f"segmenter: {sum(map(len, train)):,} sentences in {len(train):,} documents")
        return
    folder = Path(config.output) / SEGMENTER
    if resume:
        for path in (folder / SETTINGS, folder / RULES):
            if path.is_file() and _is_trained_by(config, path):
                say(f"{folder}: this segmenter is finished")
                return
    _train(config, folder, say)


def _is_trained_by(config: Config, path: Path) -> bool:
    trained_by = json.loads(path.read_text(encoding="utf-8")).get("training", {})
    # Another version may have written more settings.
    return all(trained_by.get(name) == value for name, value in _training(config).items())


def _train(config: Config, folder: Path, say: Say) -> None:
    """Train a segmenter and write it into a folder, or write there that rules are better."""
    settings, language = config.segmenter, config.language
    train, dev = read_texts(settings)
    counts: Counter[str] = Counter()
    for gold in itertools.chain.from_iterable(train):
        counts.update(letter_of(c) for c in gold.text if not c.isspace())
    frequent = sorted(letter for letter, count in counts.items() if count >= settings.rare)
    alphabet = Alphabet(frequent)
    all_expansions = (gold.expansions for gold in itertools.chain.from_iterable(train))
    expansions = Expansions.learn(itertools.chain.from_iterable(all_expansions))
    folder.mkdir(parents=True, exist_ok=True)
    characters = sum(counts.values())
    say(
        f"{sum(map(len, train))} sentences, {characters} characters, "
        f"{len(alphabet.letters)} letters"
    )
    graph = _graph(_fit(train, alphabet, config, say))
    description: dict[str, Any] = {
        "format": FORMAT,
        "language": language,
        "context": CONTEXT,
        "threshold": 0.0,
        "letters": alphabet.letters,
        "expansions": asdict(expansions),
        "arcspan": __version__,
        "training": _training(config),
    }
    segmenter = Segmenter(graph, description)
    description["threshold"] = segmenter.threshold = _threshold(segmenter, dev)
    scores = [score(segmenter, file) for file in dev]
    scores_by_rules = [score(RuleSegmenter(language), file) for file in dev]
    description["scores"] = dict(zip(_file_names(settings.dev), scores, strict=True))
    for name, file_scores in description["scores"].items():
        say(f"{name}: " + ", ".join(f"{unit} {f1:.2f}" for unit, f1 in file_scores.items()))
    if characters < LITTLE:
        advice = "" if dev else "; with segmenter.dev, rules are kept where they do better"
        say(f"{characters:,} characters are little to learn from{advice}")
    if _mean(scores_by_rules) <= _mean(scores):
        (folder / RULES).unlink(missing_ok=True)
        with atomic_write(folder / GRAPH, "wb") as file:
            file.write(graph)
        with atomic_write(folder / SETTINGS) as file:
            file.write(dump(description))
        return
    comparison = f"{_mean(scores_by_rules):.2f} against {_mean(scores):.2f}"
    # A segmenter that is in the folder may come from the model that training started from.
    scores_before = []
    if (folder / SETTINGS).is_file():
        scores_before = [score(Segmenter.load(folder), file) for file in dev]
    if scores_before and _mean(scores_before) >= _mean(scores_by_rules):
        say(
            f"rules are better on dev: {comparison}; the segmenter that was there is kept: "
            f"{_mean(scores_before):.2f}"
        )
        best = scores_before
    else:
        say(f"rules are better on dev: {comparison}: no segmenter is kept")
        best = scores_by_rules
        for name in (GRAPH, SETTINGS):
            (folder / name).unlink(missing_ok=True)
    results = dict(zip(_file_names(settings.dev), best, strict=True))
    with atomic_write(folder / RULES) as file:
        file.write(json.dumps({"training": description["training"], "scores": results}) + "\n")


def _training(config: Config) -> dict[str, Any]:
    """Return the settings that a segmenter was trained by, without local folders."""
    return {
        **asdict(config.segmenter),
        "seed": config.seed,
        "train": _file_names(config.segmenter.train),
        "dev": _file_names(config.segmenter.dev),
    }


def _mean(scores: Sequence[dict[str, float]]) -> float:
    """Return F1 of words and sentences, averaged over files."""
    total = sum(file_scores["words"] + file_scores["sentences"] for file_scores in scores)
    return total / max(1, 2 * len(scores))


def read_texts(
    settings: SegmenterSettings,
) -> tuple[list[list[GoldText]], list[list[list[GoldText]]]]:
    """Return the documents to train on, and those of every dev file."""
    train: list[list[GoldText]] = []
    for source in settings.train:
        train += documents(source.conll, every=source.every, without=settings.without)
    if not train:
        raise ConfigError("segmenter.train: no sentence whose text holds its words")
    dev = [list(documents(source.conll)) for source in settings.dev]
    for source, file in zip(settings.dev, dev, strict=True):
        if not file:
            raise ConfigError(
                f"segmenter.dev: {source.conll}: no sentence whose text holds its words"
            )
    return train, dev


def _file_names(sources: Iterable[SegmenterSource]) -> list[str]:
    """Return files as a bundle names them: with their folder, and nothing above it."""
    return ["/".join(Path(source.conll).parts[-2:]) for source in sources]


def _fit(
    train: list[list[GoldText]], alphabet: Alphabet, config: Config, say: Say
) -> SegmenterNetwork:
    """Train a network; its weights are the average along the way, which is better than the last."""
    settings, seed = config.segmenter, config.seed
    rules = RuleSegmenter(config.language)
    chance = random.Random(seed)
    torch.manual_seed(seed)
    network = SegmenterNetwork(len(alphabet), settings.channels)
    average = Average(network, 0.998)
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=0.01)
    update = updates = 0
    started = time.monotonic()
    for epoch in range(1, settings.epochs + 1):
        paragraphs: list[Paragraph] = []
        for document in train:
            for start in range(0, len(document), _TOGETHER):
                paragraphs += varied(document[start : start + _TOGETHER], chance)
        chance.shuffle(paragraphs)
        characters, marks = _stream(paragraphs, alphabet, rules)
        windows = list(range(0, len(marks), WINDOW))
        chance.shuffle(windows)
        # The styles of the first epoch stand for those of all: lengths hardly differ.
        updates = updates or settings.epochs * math.ceil(len(windows) / settings.batch)
        losses = []
        for first in range(0, len(windows), settings.batch):
            starts = windows[first : first + settings.batch]
            with_context = WINDOW + 2 * CONTEXT
            inputs = np.stack([characters[:, start : start + with_context] for start in starts])
            # Some letters are shown by their category, as are letters that training never sees.
            letters, categories = inputs[:, 0], inputs[:, 1]
            hidden = np.random.default_rng((seed, update)).random(letters.shape) < _HIDDEN
            letters[hidden] = categories[hidden]
            gold = torch.from_numpy(np.stack([marks[start : start + WINDOW] for start in starts]))
            for group in optimizer.param_groups:
                group["lr"] = _rate(update, updates)
            loss = _loss(network(torch.from_numpy(inputs)), gold)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            average.update(update)
            update += 1
            losses.append(loss.item())
        say(f"epoch {epoch}: loss {np.mean(losses):.4f}, {time.monotonic() - started:.0f} s")
    network.load_state_dict(average.weights)
    return network.eval()


def _rate(update: int, updates: int) -> float:
    """Return the learning rate of an update: it rises at once, then falls like a cosine."""
    warm = min(1, (update + 1) / _WARMUP)
    return _RATE * warm * (1 + math.cos(math.pi * update / updates)) / 2


def _stream(
    paragraphs: Iterable[Paragraph], alphabet: Alphabet, rules: RuleSegmenter
) -> tuple[np.ndarray, np.ndarray]:
    """Join paragraphs, with gaps between them, to whole windows.

    Returns the characters [3, n + 2 * CONTEXT], with context around, and the marks [n].
    """
    gap = np.zeros((3, CONTEXT), np.int64)
    characters = [gap]
    marks = [np.zeros(0, np.int64)]
    for text, paragraph_marks in paragraphs:
        learnt = np.where(spaces(text), _IGNORED, paragraph_marks)
        if paragraph_marks[-1] % EXPANDED == SENTENCE:
            # Where a paragraph ends so does a sentence: nothing to learn.
            learnt[-1] = _IGNORED
        characters += [features(text, alphabet, rules), gap]
        marks += [learnt, np.full(CONTEXT, _IGNORED)]
    remainder = -sum(map(len, marks)) % WINDOW
    characters.append(np.zeros((3, remainder + CONTEXT), np.int64))
    marks.append(np.full(remainder, _IGNORED))
    return np.concatenate(characters, axis=1), np.concatenate(marks)


def _loss(scores: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of what ends at every character.

    Where a token ends, it includes whether a sentence does and whether the token is expanded.
    """
    ends = torch.where(marks >= 0, (marks % EXPANDED).clamp(max=TOKEN), _IGNORED)
    loss = functional.cross_entropy(scores[:, : TOKEN + 1], ends, ignore_index=_IGNORED)
    tokens = ends == TOKEN
    token_marks = marks[tokens]
    for row, target in ((3, token_marks % EXPANDED > TOKEN), (4, token_marks >= EXPANDED)):
        logits = scores[:, row][tokens]
        loss = loss + 0.5 * functional.binary_cross_entropy_with_logits(logits, target.float())
    return loss


def _graph(network: SegmenterNetwork) -> bytes:
    """Return the network as ONNX."""
    stream = io.BytesIO()
    example = torch.zeros(1, 3, WINDOW + 2 * CONTEXT, dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            (example,),
            stream,
            dynamo=False,
            input_names=["characters"],
            output_names=["scores"],
            dynamic_axes={"characters": {2: "length"}, "scores": {2: "decided"}},
        )
    return stream.getvalue()


def _threshold(segmenter: Segmenter, dev: Sequence[Sequence[Sequence[GoldText]]]) -> float:
    """Return the log odds above which a sentence ends, with the best mean over the dev files."""
    best_score, best_threshold = -1.0, 0.0
    for share in _SHARES if dev else (0.5,):
        segmenter.threshold = round(math.log(share / (1 - share)), 3)
        total = sum(score(segmenter, file)["sentences"] for file in dev)
        # Of equal scores, the highest threshold.
        if total >= best_score:
            best_score, best_threshold = total, segmenter.threshold
    return best_threshold


def score(
    segmenter: BaseSegmenter,
    file: Iterable[Sequence[GoldText]],
    *,
    gap: str = "\n\n",
    width: int = 0,
) -> dict[str, float]:
    """Return F1 of the tokens, words and sentences of documents in percent.

    Their texts are as `plain_text` returns them.
    """
    # Rows are tokens, words and sentences; columns: gold, predicted, correct.
    counts = np.zeros((3, 3), np.int64)
    for document in file:
        text, gold = plain_text(document, gap=gap, width=width)
        both = zip(_spans(gold), _spans(segmenter.split(text)), strict=True)
        for row, (gold_spans, predicted_spans) in enumerate(both):
            counts[row] += len(gold_spans), len(predicted_spans), len(gold_spans & predicted_spans)
    scores = {}
    for name, (gold_count, predicted, correct) in zip(_COLUMNS, counts.tolist(), strict=True):
        scores[name] = round(200 * correct / (gold_count + predicted), 2)
    return scores


def plain_text(
    document: Sequence[GoldText], *, gap: str = "\n\n", width: int = 0
) -> tuple[str, list[Sentence]]:
    """Return a document as raw text, and its sentences.

    `gap` is put between paragraphs; with a `width`, lines are wrapped.
    """
    text, marks = joined(document, " ", gap)
    expansions = iter([words for gold in document for _, words in gold.expansions])
    token_lists = read_marks(
        text, marks % EXPANDED, spaces(text), marks >= EXPANDED, lambda _: next(expansions)
    )
    sentences = []
    for gold, tokens in zip(document, token_lists, strict=True):
        sentences.append(Sentence.of(text, tokens, paragraph=gold.paragraph))
    return wrapped(text, width) if width else text, sentences


def _spans(sentences: Iterable[Sentence]) -> tuple[set[Any], set[Any], set[Any]]:
    """Return where tokens are, where words are, with their form, and where sentences are."""
    tokens: set[Any] = set()
    words: set[Any] = set()
    spans: set[Any] = set()
    for sentence in sentences:
        spans.add((sentence.start, sentence.end))
        words.update(zip(sentence.words, sentence.offsets, strict=True))
        in_multiword: set[int] = set()
        for first, last, _ in sentence.multiword:
            in_multiword.update(range(first, last + 1))
            tokens.add((sentence.offsets[first - 1][0], sentence.offsets[last - 1][1]))
        for number, offsets in enumerate(sentence.offsets, 1):
            if number not in in_multiword:
                tokens.add(offsets)
    return tokens, words, spans
