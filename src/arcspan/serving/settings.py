"""What a server allows, each limit with a safe default.

Every limit protects the other clients: one request can neither fill the memory, nor keep the parser to
itself, nor hold a place for ever.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import Any

from arcspan.errors import ConfigError


def limits() -> list[Field[Any]]:
    """The fields of `Settings` that are numbers, with their help in the metadata."""
    return [one for one in fields(Settings) if "help" in one.metadata]


def _limit(default: Any, what: str, least: float = 1) -> Any:
    return field(default=default, metadata={"help": what, "least": least})


@dataclass(frozen=True)
class Settings:
    """Limits of a server, and its token.

    >>> Settings(max_words=100).max_words
    100
    """

    max_body: int = _limit(1_000_000, "Bytes of a request's body.")
    max_sentences: int = _limit(1_000, "Sentences of a request.")
    max_words: int = _limit(300, "Words of a sentence.")
    max_k: int = _limit(10, "Trees of a sentence that a request may ask for.")
    max_waiting: int = _limit(128, "Requests that wait or are worked on at once; the next is answered 429.")
    max_reading: int = _limit(
        512, "Requests whose bodies are on their way at once; the next is answered 503."
    )
    time_limit: float = _limit(
        30.0, "Seconds to answer a request once it is there; then it is answered 503.", 0
    )
    body_time_limit: float = _limit(10.0, "Seconds for a body to arrive; then it is answered 408.", 0)
    batch_sentences: int = _limit(64, "Sentences that are parsed together.")
    batch_words: int = _limit(1_000, "Words that are parsed together.")
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for one in limits():
            least, value = one.metadata["least"], getattr(self, one.name)
            if not value >= least:
                raise ConfigError(f"{one.name} must be at least {least:g}, not {value}")
        if self.token is not None and not (
            self.token.isascii() and self.token.isprintable() and self.token.strip()
        ):
            raise ConfigError("the token must be visible ASCII characters")
