"""Pretrained encoders as they come: their configuration and tokenizer, read once, then kept with the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from arcspan.errors import ConfigError
from arcspan.neural.encoder import architecture_of
from arcspan.neural.model_settings import EncoderSettings
from arcspan.prediction.inputs import Inputs, PieceInputs, WordInputs
from arcspan.training.instances import Sentence


def make_inputs(settings: EncoderSettings, sentences: Sequence[Sentence]) -> Inputs:
    """What turns words into the encoder's arrays: its own tokenizer, or vocabularies of the training data."""
    if settings.kind == "lstm" or not settings.path:
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
        window=_window(settings),
        overlap=settings.overlap,
        pooling=settings.pooling,
    )


def mark_words(text: str) -> str:
    """A `tokenizer.json` that cuts every given word as it cuts a word after a space, whatever class it comes with.

    Byte-level and SentencePiece tokenizers mark where words begin. Given words one by one, many of them would
    cut each as if it stood inside a word. The mark is made where nothing else has cut the word yet.

    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> tokenizer = Tokenizer(models.BPE())
    >>> tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    >>> Tokenizer.from_str(mark_words(tokenizer.to_str())).pre_tokenizer.pre_tokenize_str("role")
    [('Ġrole', (0, 4))]
    """
    data = json.loads(text)
    steps, forms = _steps(data, "pre_tokenizer"), _steps(data, "normalizer")
    kinds = [step["type"] for step in steps]
    place = next((p for p, kind in enumerate(kinds) if kind in ("ByteLevel", "Metaspace")), None)
    prepended = any(form["type"] == "Prepend" for form in forms)
    if place is None:
        # The mark is written by the normalizer alone, in place of spaces.
        spaces = any(
            form["type"] == "Replace" and form["pattern"] == {"String": " "} for form in forms
        )
        if spaces and not prepended:
            forms.insert(0, {"type": "Prepend", "prepend": " "})
    elif set(kinds[:place]) <= {"Whitespace", "WhitespaceSplit", "BertPreTokenizer"}:
        if kinds[place] == "ByteLevel":
            steps[place]["add_prefix_space"] = not prepended
        elif not prepended:
            steps[place]["prepend_scheme"] = "always"
    elif not prepended and not steps[place].get("add_prefix_space"):
        # Words are cut before the mark is made, at digits for example: only their first piece gets one.
        forms.append({"type": "Prepend", "prepend": " "})
    if forms:
        data["normalizer"] = {"type": "Sequence", "normalizers": forms}
    return json.dumps(data, ensure_ascii=False)


def _steps(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The steps of a tokenizer's pre-tokenizer or normalizer, whether it has none, one or several."""
    one = data.get(name)
    if one and one["type"] == "Sequence":
        found: list[dict[str, Any]] = one[
            "pretokenizers" if name == "pre_tokenizer" else "normalizers"
        ]
        return found
    return [one] if one else []


def pretrained_architecture(settings: EncoderSettings) -> dict[str, Any]:
    """The configuration of a pretrained encoder."""
    return architecture_of(_read("AutoConfig", settings.path))


def _window(settings: EncoderSettings) -> int:
    """The most pieces that the encoder takes; absolute positions may start after the padding index."""
    architecture = pretrained_architecture(settings)
    most = int(architecture.get("max_position_embeddings") or 512)
    if architecture.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        most -= 2
    if settings.window > most:
        raise ConfigError(
            f"encoder.window = {settings.window}: the encoder takes at most {most} pieces"
        )
    return settings.window or min(most, 512)


def _read(kind: str, path: str) -> Any:
    """What a class of transformers reads from a folder or the hub, without its warnings."""
    import transformers

    quiet = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    try:
        return getattr(transformers, kind).from_pretrained(path)
    except (OSError, ValueError) as error:
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ConfigError(f"encoder.path = {path!r}: {first_line}") from None
    finally:
        transformers.logging.set_verbosity(quiet)


def _first(*ids: int | None) -> int | None:
    return next((id for id in ids if id is not None), None)
