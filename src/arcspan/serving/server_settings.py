"""The limits of a server, each with a safe default.

Every limit protects the other clients: no request can fill the memory, keep the parser to itself,
or hold its connection for ever.
"""

from __future__ import annotations

import re
from dataclasses import Field, dataclass, field, fields
from typing import Any

from arcspan.errors import ConfigError
from arcspan.settings import check, described


def limits() -> list[Field[Any]]:
    """Return the fields of `Settings` that are numbers, with their help in the metadata."""
    return [setting for setting in fields(Settings) if "doc" in setting.metadata]


@dataclass(frozen=True)
class Settings:
    """Limits of a server, and who may use it.

    origins   sites, such as https://example.org, whose pages may use it from a browser
    hosts     names in the header Host that are answered on loopback, besides those of this machine
    token     of the clients that may parse; None: all
    """

    max_body: int = described(1_000_000, "Bytes in the body of a request.", least=1)
    max_text: int = described(200_000, "Characters of text per request.", least=1)
    max_sentences: int = described(1_000, "Sentences per request.", least=1)
    max_words: int = described(300, "Words per sentence.", least=1)
    max_words_beyond: int = described(
        120,
        "Words per sentence for k best trees, probabilities and constraints, which take longer.",
        least=1,
    )
    max_k: int = described(10, "Trees per sentence that a request may ask for.", least=1)
    max_answer: int = described(16_000_000, "Bytes of an answer.", least=1)
    max_waiting: int = described(
        128,
        "Requests that wait or are being parsed; beyond it the one with the most work gets 429.",
        least=1,
    )
    max_connections: int = described(
        512,
        "Connections; of more, the one that has kept the server waiting longest is closed.",
        least=1,
    )
    max_client_connections: int = described(
        128, "Connections of one address; a proxy in front of the server is one.", least=1
    )
    time_limit: float = described(
        30.0,
        "Seconds to answer a request that has arrived; after that it is answered 503.",
        least=0,
    )
    header_time_limit: float = described(
        10.0,
        "Seconds for the headers of a request to arrive; after that it is answered 408.",
        least=0,
    )
    body_time_limit: float = described(
        10.0, "Seconds for a body to arrive; after that it is answered 408.", least=0
    )
    idle_time_limit: float = described(
        15.0, "Seconds that a connection may be idle between two requests.", least=0
    )
    grace: float = described(
        10.0,
        "Seconds from SIGTERM to the end of the process; requests not done a second before it "
        "are answered 503.",
        least=0,
    )
    batch_sentences: int = described(64, "Sentences that are parsed together.", least=1)
    batch_words: int = described(
        250,
        "Words that are parsed together; half of them are shared by requests of many sentences.",
        least=1,
    )
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check(self)
        # As browsers write it in the header Origin, which is compared letter by letter.
        for origin in self.origins:
            if not re.fullmatch(r"https?://[^/\s]+", origin):
                raise ConfigError(
                    f"an origin is like https://example.org, without a path, not {origin!r}"
                )
        # The port of the header Host is not compared.
        for host in self.hosts:
            if not re.fullmatch(r"[\w.-]+", host):
                raise ConfigError(f"a host is like example.org, without a port, not {host!r}")
        # A header can carry nothing else.
        is_visible = self.token is None or (self.token.isascii() and self.token.isprintable())
        if not is_visible or (self.token is not None and not self.token.strip()):
            raise ConfigError("the token must be visible ASCII characters")
