"""Pretrained encoders as they come: their configuration and tokenizer, read once, then kept with the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from arcspan.errors import ConfigError
from arcspan.neural.settings import EncoderSettings
from arcspan.runtime.inputs import PieceInputs, WordInputs
from arcspan.training.instances import Sentence


def make_inputs(settings: EncoderSettings, sentences: Sequence[Sentence]) -> PieceInputs | WordInputs:
    """What turns words into the encoder's arrays: its own tokenizer, or vocabularies of the training data."""
    if settings.kind == "lstm":
        unique = {id(sentence): sentence.words for sentence in sentences}
        return WordInputs.count(unique.values(), least=settings.least_count)
    tokenizer = _tokenizer(settings.path)
    begin = _first(tokenizer.cls_token_id, tokenizer.bos_token_id)
    end = _first(tokenizer.sep_token_id, tokenizer.eos_token_id)
    padding = _first(tokenizer.pad_token_id, end)
    unknown = _first(tokenizer.unk_token_id, padding)
    if begin is None or end is None or padding is None or unknown is None:
        raise ConfigError(f"encoder.path = {settings.path!r}: its tokenizer has no tokens for begin and end")
    return PieceInputs(
        tokenizer.backend_tokenizer.to_str(),
        begin=begin,
        end=end,
        padding=padding,
        unknown=unknown,
        window=_window(settings),
        overlap=settings.overlap,
        pooling=settings.pooling,
    )


def pretrained_architecture(settings: EncoderSettings) -> dict[str, Any] | None:
    """The encoder's own configuration; None for the one trained from scratch."""
    if settings.kind == "lstm":
        return None
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(settings.path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"encoder.path = {settings.path!r}: {_first_line(error)}") from None
    found: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
    return found


def _window(settings: EncoderSettings) -> int:
    """The most pieces that the encoder takes; absolute positions may start after the padding index."""
    architecture = pretrained_architecture(settings) or {}
    most = int(architecture.get("max_position_embeddings") or 512)
    if architecture.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        most -= 2
    if settings.window > most:
        raise ConfigError(f"encoder.window = {settings.window}: the encoder takes at most {most} pieces")
    return settings.window or min(most, 512)


def _tokenizer(path: str) -> Any:
    import transformers

    quiet = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, add_prefix_space=True)
    except (OSError, ValueError) as error:
        raise ConfigError(f"encoder.path = {path!r}: {_first_line(error)}") from None
    finally:
        transformers.logging.set_verbosity(quiet)
    if not getattr(tokenizer, "is_fast", False):
        raise ConfigError(f"encoder.path = {path!r}: it has no fast tokenizer (tokenizer.json)")
    return tokenizer


def _first(*ids: int | None) -> int | None:
    return next((id for id in ids if id is not None), None)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
