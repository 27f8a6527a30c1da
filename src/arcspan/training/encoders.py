"""Pretrained encoders: their configuration and tokenizer, read once, then stored with the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from arcspan.errors import ConfigError
from arcspan.neural.encoder import architecture_of
from arcspan.neural.model_settings import EncoderSettings
from arcspan.prediction.inputs import Inputs, PieceInputs, WordInputs
from arcspan.training.instances import TrainingSentence

_WINDOW = 512  # most pieces read at once, if the encoder takes as many
_OVERLAP = 128  # pieces that neighbouring windows of a long sentence share
# Absolute positions of these start after the padding index: they take two pieces fewer than stated.
_POSITIONS_AFTER_PADDING = ("roberta", "xlm-roberta", "camembert", "mpnet")


def make_inputs(settings: EncoderSettings, sentences: Sequence[TrainingSentence]) -> Inputs:
    """Return the encoder's own tokenizer, or vocabularies of the training sentences."""
    if settings.kind == "lstm" or not settings.path:
        # A sentence that is repeated counts once.
        unique = {id(sentence): sentence.words for sentence in sentences}
        return WordInputs.count(unique.values(), least=settings.least_count)
    tokenizer = _read("AutoTokenizer", settings.path)
    if not getattr(tokenizer, "is_fast", False):
        raise ConfigError(
            f"encoder.path = {settings.path!r}: it has no fast tokenizer (tokenizer.json)"
        )
    begin = _first(tokenizer.cls_token_id, tokenizer.bos_token_id)
    end = _first(tokenizer.sep_token_id, tokenizer.eos_token_id)
    padding = _first(tokenizer.pad_token_id, end)
    unknown = _first(tokenizer.unk_token_id, padding)
    if begin is None or end is None or padding is None or unknown is None:
        raise ConfigError(
            f"encoder.path = {settings.path!r}: its tokenizer has no tokens for begin and end"
        )
    return PieceInputs(
        mark_words(tokenizer.backend_tokenizer.to_str()),
        begin=begin,
        end=end,
        padding=padding,
        unknown=unknown,
        window=_window(settings.path),
        overlap=_OVERLAP,
        pooling=settings.pooling,
    )


def mark_words(text: str) -> str:
    """Change a `tokenizer.json` so that every word is cut like a word after a space.

    Byte-level and SentencePiece tokenizers mark where words begin. Many of them would cut words
    that they get one by one as if each stood inside a word. The mark is made where nothing else has
    cut the word yet.

    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> tokenizer = Tokenizer(models.BPE())
    >>> tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    >>> marked = Tokenizer.from_str(mark_words(tokenizer.to_str()))
    >>> marked.pre_tokenizer.pre_tokenize_str("role")
    [('Ġrole', (0, 4))]
    """
    tokenizer = json.loads(text)
    steps = _steps(tokenizer, "pre_tokenizer", "pretokenizers")
    normalizers = _steps(tokenizer, "normalizer", "normalizers")
    types = [step["type"] for step in steps]
    marker = min((types.index(t) for t in ("ByteLevel", "Metaspace") if t in types), default=None)
    prepended = any(step["type"] == "Prepend" for step in normalizers)
    if marker is None:
        # The mark is written by the normalizer alone, in place of spaces.
        writes_mark = any(
            step["type"] == "Replace" and step["pattern"] == {"String": " "} for step in normalizers
        )
        if writes_mark and not prepended:
            normalizers.insert(0, {"type": "Prepend", "prepend": " "})
    elif set(types[:marker]) <= {"Whitespace", "WhitespaceSplit", "BertPreTokenizer"}:
        if types[marker] == "ByteLevel":
            steps[marker]["add_prefix_space"] = not prepended
        elif not prepended:
            steps[marker]["prepend_scheme"] = "always"
    elif not prepended and not steps[marker].get("add_prefix_space"):
        # Words are cut before the mark is made, at digits for example: only their first piece gets
        # it.
        normalizers.append({"type": "Prepend", "prepend": " "})
    if normalizers:
        tokenizer["normalizer"] = {"type": "Sequence", "normalizers": normalizers}
    return json.dumps(tokenizer, ensure_ascii=False)


def _steps(tokenizer: dict[str, Any], name: str, list_name: str) -> list[dict[str, Any]]:
    """Return the steps of a pre-tokenizer or normalizer, which may be missing, one or a sequence."""
    step = tokenizer.get(name)
    if not step:
        return []
    if step["type"] == "Sequence":
        steps: list[dict[str, Any]] = step[list_name]
        return steps
    return [step]


def pretrained_architecture(settings: EncoderSettings) -> dict[str, Any]:
    """Return the configuration of a pretrained encoder."""
    return architecture_of(_read("AutoConfig", settings.path))


def _window(path: str) -> int:
    """Return the most pieces that are read at once."""
    architecture = architecture_of(_read("AutoConfig", path))
    limit = int(architecture.get("max_position_embeddings") or _WINDOW)
    if architecture.get("model_type") in _POSITIONS_AFTER_PADDING:
        limit -= 2
    return min(limit, _WINDOW)


def _read(class_name: str, path: str) -> Any:
    """Read a folder or hub name by a class of transformers, without its warnings."""
    import transformers

    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    try:
        return getattr(transformers, class_name).from_pretrained(path, trust_remote_code=False)
    except (OSError, ValueError) as error:
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"encoder.path = {path!r}: {first_line}") from None
    finally:
        transformers.logging.set_verbosity(verbosity)


def _first(*ids: int | None) -> int | None:
    """Return the first id that a tokenizer has."""
    return next((id for id in ids if id is not None), None)
