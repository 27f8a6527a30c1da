"""What a server allows, each limit with a safe default.

Every limit protects the other clients: one request can neither fill the memory, nor keep the parser to
itself, nor hold its place for ever.
"""

from __future__ import annotations

import re
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
    """Limits of a server, its token, and the origins (https://example.org) whose pages may use it.

    >>> Settings(max_words=100).max_words
    100
    """

    max_body: int = _limit(1_000_000, "Bytes in the body of a request.")
    max_text: int = _limit(200_000, "Characters of text per request.")
    max_sentences: int = _limit(1_000, "Sentences per request.")
    max_words: int = _limit(300, "Words per sentence.")
    max_words_beyond: int = _limit(
        120, "Words per sentence for k best trees, probabilities and constraints, which take longer."
    )
    max_k: int = _limit(10, "Trees per sentence that a request may ask for.")
    max_answer: int = _limit(16_000_000, "Bytes of an answer.")
    max_waiting: int = _limit(
        128,
        "Requests that wait or are worked on at once; beyond it the one with the most work is answered 429.",
    )
    max_connections: int = _limit(
        512, "Connections; when there are more, the one that has kept the server waiting longest is closed."
    )
    max_client_connections: int = _limit(
        128, "Connections of one address; a proxy in front of the server is one."
    )
    time_limit: float = _limit(
        30.0, "Seconds to answer a request that has arrived; after that it is answered 503.", 0
    )
    header_time_limit: float = _limit(
        10.0, "Seconds for the headers of a request to arrive; after that it is answered 408.", 0
    )
    body_time_limit: float = _limit(10.0, "Seconds for a body to arrive; after that it is answered 408.", 0)
    idle_time_limit: float = _limit(15.0, "Seconds that a connection may be idle between two requests.", 0)
    grace: float = _limit(
        10.0,
        "Seconds from SIGTERM to the end of the process; requests not done a second before it are answered 503.",
        0,
    )
    batch_sentences: int = _limit(64, "Sentences that the parser is given at once.")
    batch_words: int = _limit(1_000, "Words that the parser is given at once.")
    origins: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for one in limits():
            least, value = one.metadata["least"], getattr(self, one.name)
            if not value >= least:
                raise ConfigError(f"{one.name} must be at least {least:g}, not {value}")
        for origin in self.origins:
            if not re.fullmatch(r"https?://[^/\s]+", origin):
                raise ConfigError(f"an origin is like https://example.org, without a path, not {origin!r}")
        if self.token is not None and not (
            self.token.isascii() and self.token.isprintable() and self.token.strip()
        ):
            raise ConfigError("the token must be visible ASCII characters")
