"""Training the learnt segmenter: minutes on one core, from CoNLL-U files alone.

The network adds what its dilated convolutions find to what they were given, and looks at nothing beyond the
text it gets: its answer is shorter than its input by the context on both sides, in training as in use.
"""

from __future__ import annotations

import io
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
from arcspan.training.config import SEGMENTER, Config, SegmenterSettings, Text
from arcspan.training.scoring import Say
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
_SHARES = (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)
_TOGETHER = 50  # sentences of a document that are shown in one style
_IGNORED = -1


class Network(nn.Module):
    """Characters [batch, 3, n + 2 * CONTEXT] to scores [batch, 5, n], in the order of `segmenting.learnt`."""

    def __init__(self, letters: int, channels: int, dropout: float) -> None:
        super().__init__()
        self.letter = nn.Embedding(letters, 32)
        self.kind = nn.Embedding(KINDS, 32)
        self.hint = nn.Embedding(SENTENCE + 1, 32)
        self.first = nn.Conv2d(
            32, channels, (1, 3)
        )  # two dimensions: ONNX Runtime is faster at those
        self.convolutions = nn.ModuleList(
            nn.Conv2d(channels, channels, (1, 3), dilation=(1, reach)) for reach in DILATIONS
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(len(DILATIONS) + 1))
        self.dropout = nn.Dropout(dropout)
        self.answer = nn.Conv2d(channels, 5, 1)

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        """Five scores for each character that has its context."""
        inputs = (
            self.letter(characters[:, 0])
            + self.kind(characters[:, 1])
            + self.hint(characters[:, 2])
        )
        hidden = torch.relu(self.norms[0](self.first(inputs.transpose(1, 2).unsqueeze(2))))
        for convolution, norm, reach in zip(
            self.convolutions, self.norms[1:], DILATIONS, strict=True
        ):
            found = self.dropout(torch.relu(norm(convolution(hidden))))
            hidden = hidden[:, :, :, reach:-reach] + found
        answer: torch.Tensor = self.answer(hidden).squeeze(2)
        return answer


def run_segmenter(config: Config, say: Say, *, resume: bool = False, check: bool = False) -> None:
    """Train the segmenter of a configuration into the folder `segmenter` of its output.

    With `resume`, one that was trained by the same settings is left as it is. With `check`, its files are only read.
    """
    if check:
        train, _ = read_texts(config.segmenter)
        say(f"segmenter: {sum(map(len, train)):,} sentences in {len(train):,} documents")
        return
    folder = Path(config.output) / SEGMENTER
    for path in (folder / SETTINGS, folder / RULES) if resume else ():
        kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        if kept.get("training") == _training(config):
            say(f"{folder}: this segmenter is finished")
            return
    _train(config, folder, say)


def _train(config: Config, folder: Path, say: Say) -> None:
    """Train a segmenter and write it, or that rules are better, into a folder."""
    settings, language = config.segmenter, config.language
    train, dev = read_texts(settings)
    letters = (
        letter_of(c)
        for document in train
        for gold in document
        for c in gold.text
        if not c.isspace()
    )
    counts = Counter(letters)
    alphabet = Alphabet(
        sorted(letter for letter, count in counts.items() if count >= settings.rare)
    )
    expansions = Expansions.learn(
        one for document in train for gold in document for one in gold.expansions
    )
    folder.mkdir(parents=True, exist_ok=True)
    say(
        f"{sum(map(len, train))} sentences, {sum(counts.values())} characters, {len(alphabet.letters)} letters"
    )
    network = _fit(train, alphabet, config, say)
    kept: dict[str, Any] = {
        "format": FORMAT,
        "language": language,
        "context": CONTEXT,
        "threshold": 0.0,
        "letters": alphabet.letters,
        "expansions": asdict(expansions),
        "arcspan": __version__,
        "training": _training(config),
    }
    graph = _graph(network)
    segmenter = Segmenter(graph, kept)
    kept["threshold"] = segmenter.threshold = _threshold(segmenter, dev)
    learnt, by_rules = (
        [score(one, file) for file in dev] for one in (segmenter, RuleSegmenter(language))
    )
    results = kept["scores"] = dict(zip(_named(settings.dev), learnt, strict=True))
    for name, found in results.items():
        say(f"{name}: " + ", ".join(f"{what} {value:.2f}" for what, value in found.items()))
    if sum(counts.values()) < LITTLE:
        say(
            f"{sum(counts.values()):,} characters are little to learn from"
            + ("" if dev else "; with segmenter.dev, rules are kept where they do better")
        )
    if _mean(by_rules) <= _mean(learnt):
        (folder / RULES).unlink(missing_ok=True)
        with atomic_write(folder / GRAPH, "wb") as file:
            file.write(graph)
        with atomic_write(folder / SETTINGS) as file:
            file.write(dump(kept))
        return
    said = f"rules are better on dev: {_mean(by_rules):.2f} against {_mean(learnt):.2f}"
    best, before = by_rules, []
    if (folder / SETTINGS).is_file():  # a base's, for one
        before = [score(Segmenter.load(folder), file) for file in dev]
    if before and _mean(before) >= _mean(by_rules):
        say(f"{said}; the segmenter that was there is kept: {_mean(before):.2f}")
        best = before
    else:
        say(f"{said}: no segmenter is kept")
        for name in (GRAPH, SETTINGS):
            (folder / name).unlink(missing_ok=True)
    results = dict(zip(_named(settings.dev), best, strict=True))
    with atomic_write(folder / RULES) as file:
        file.write(json.dumps({"training": kept["training"], "scores": results}) + "\n")


def _training(config: Config) -> dict[str, Any]:
    """What a segmenter was trained by, without local folders."""
    files = {part: _named(getattr(config.segmenter, part)) for part in ("train", "dev")}
    return {**asdict(config.segmenter), "seed": config.seed, **files}


def _mean(scores: Sequence[dict[str, float]]) -> float:
    """F1 of words and sentences, averaged over files."""
    return sum(one["words"] + one["sentences"] for one in scores) / max(1, 2 * len(scores))


def read_texts(
    settings: SegmenterSettings,
) -> tuple[list[list[GoldText]], list[list[list[GoldText]]]]:
    """The documents to train on, and those of every dev file; an error names what has none."""
    train = [
        document
        for source in settings.train
        for document in documents(source.conll, every=source.every, without=settings.without)
    ]
    if not train:
        raise ConfigError("segmenter.train: no sentence whose text holds its words")
    dev = [list(documents(source.conll)) for source in settings.dev]
    for source, file in zip(settings.dev, dev, strict=True):
        if not file:
            raise ConfigError(
                f"segmenter.dev: {source.conll}: no sentence whose text holds its words"
            )
    return train, dev


def _named(sources: Iterable[Text]) -> list[str]:
    """Files as a bundle names them: with their folder, and nothing above it."""
    return ["/".join(Path(source.conll).parts[-2:]) for source in sources]


def _fit(train: list[list[GoldText]], alphabet: Alphabet, config: Config, say: Say) -> Network:
    """The average of the weights along the way, which does better than the last ones."""
    settings, seed, rules = config.segmenter, config.seed, RuleSegmenter(config.language)
    chance = random.Random(seed)
    torch.manual_seed(seed)
    network = Network(len(alphabet), settings.channels, settings.dropout)
    average = Average(network, 0.998)
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=0.01)
    update, updates, begun = 0, 0, time.monotonic()
    for epoch in range(1, settings.epochs + 1):
        shown = [
            paragraph
            for document in train
            for begin in range(0, len(document), _TOGETHER)
            for paragraph in varied(document[begin : begin + _TOGETHER], chance)
        ]
        chance.shuffle(shown)
        characters, marks = _stream(shown, alphabet, rules)
        begins = list(range(0, len(marks), WINDOW))
        chance.shuffle(begins)
        updates = updates or settings.epochs * math.ceil(len(begins) / settings.batch)
        losses = []
        for place in range(0, len(begins), settings.batch):
            batch = begins[place : place + settings.batch]
            inputs = np.stack(
                [characters[:, begin : begin + WINDOW + 2 * CONTEXT] for begin in batch]
            )
            unknown = np.random.default_rng((seed, update)).random(inputs[:, 0].shape) < 0.02
            inputs[:, 0][unknown] = inputs[:, 1][unknown]
            gold = torch.from_numpy(np.stack([marks[begin : begin + WINDOW] for begin in batch]))
            rate = (
                settings.rate
                * min(1, (update + 1) / 100)
                * (1 + math.cos(math.pi * update / updates))
                / 2
            )
            for group in optimizer.param_groups:
                group["lr"] = rate
            loss = _loss(network(torch.from_numpy(inputs)), gold)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            average.update(update)
            update += 1
            losses.append(loss.item())
        say(f"epoch {epoch}: loss {np.mean(losses):.4f}, {time.monotonic() - begun:.0f} s")
    network.load_state_dict(average.weights)
    return network.eval()


def _stream(
    shown: Iterable[Paragraph], alphabet: Alphabet, rules: RuleSegmenter
) -> tuple[np.ndarray, np.ndarray]:
    """All paragraphs, with room between them, in whole windows: characters with context around, and marks."""
    room = np.zeros((3, CONTEXT), np.int64)
    characters, marks = [room], [np.zeros(0, np.int64)]
    for text, own in shown:
        inputs = features(text, alphabet, rules)
        seen = np.where(spaces(text), _IGNORED, own)
        if (
            own[-1] % EXPANDED == SENTENCE
        ):  # where a paragraph ends so does a sentence: nothing to learn
            seen[-1] = _IGNORED
        characters += [inputs, room]
        marks += [seen, np.full(CONTEXT, _IGNORED)]
    rest = -sum(map(len, marks)) % WINDOW
    characters.append(np.zeros((3, rest + CONTEXT), np.int64))
    marks.append(np.full(rest, _IGNORED))
    return np.concatenate(characters, axis=1), np.concatenate(marks)


def _loss(scores: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
    """What ends at every character; and where a token does, whether a sentence does and whether it is expanded."""
    ends = torch.where(marks >= 0, (marks % EXPANDED).clamp(max=TOKEN), _IGNORED)
    loss = functional.cross_entropy(scores[:, : TOKEN + 1], ends, ignore_index=_IGNORED)
    tokens = ends == TOKEN
    known = marks[tokens]
    for row, target in ((3, known % EXPANDED > TOKEN), (4, known >= EXPANDED)):
        logits = scores[:, row][tokens]
        loss = loss + 0.5 * functional.binary_cross_entropy_with_logits(logits, target.float())
    return loss


def _graph(network: Network) -> bytes:
    """The network as ONNX."""
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
    """The log odds above which a sentence ends, with the best mean over the dev files."""
    best = (-1.0, 0.0)
    for share in _SHARES if dev else (0.5,):
        segmenter.threshold = round(math.log(share / (1 - share)), 3)
        best = max(
            best, (sum(score(segmenter, file)["sentences"] for file in dev), segmenter.threshold)
        )
    return best[1]


def score(
    segmenter: BaseSegmenter,
    file: Iterable[Sequence[GoldText]],
    *,
    gap: str = "\n\n",
    width: int = 0,
) -> dict[str, float]:
    """F1 of the tokens, words and sentences of documents in percent; their texts are as `plain_text` has them."""
    counts = np.zeros((3, 3), np.int64)
    for document in file:
        text, gold = plain_text(document, gap=gap, width=width)
        for row, (right, found) in enumerate(
            zip(_spans(gold), _spans(segmenter.split(text)), strict=True)
        ):
            counts[row] += len(right), len(found), len(right & found)
    return {
        name: round(200 * int(both) / int(right + found), 2)
        for name, (right, found, both) in zip(("tokens", "words", "sentences"), counts, strict=True)
    }


def plain_text(
    document: Sequence[GoldText], *, gap: str = "\n\n", width: int = 0
) -> tuple[str, list[Sentence]]:
    """A document as raw text, `gap` between paragraphs and lines wrapped at a width, and its sentences."""
    text, marks = joined(document, " ", gap)
    answers = iter([words for gold in document for _, words in gold.expansions])
    found = read_marks(
        text, marks % EXPANDED, spaces(text), marks >= EXPANDED, lambda _: next(answers)
    )
    sentences = [
        Sentence.of(text, tokens, paragraph=gold.paragraph)
        for gold, tokens in zip(document, found, strict=True)
    ]
    return wrapped(text, width) if width else text, sentences


def _spans(sentences: Iterable[Sentence]) -> tuple[set[Any], set[Any], set[Any]]:
    tokens, words, whole = set(), set(), set()
    for sentence in sentences:
        whole.add((sentence.start, sentence.end))
        words |= set(zip(sentence.words, sentence.offsets, strict=True))
        several = [sentence.offsets[first - 1 : last] for first, last, _ in sentence.multiword]
        inside = {
            number for first, last, _ in sentence.multiword for number in range(first, last + 1)
        }
        tokens |= {own for number, own in enumerate(sentence.offsets, 1) if number not in inside}
        tokens |= {(own[0][0], own[-1][1]) for own in several}
    return tokens, words, whole
