"""Limits that make no sense are refused when they are set."""

from __future__ import annotations

import pytest

from arcspan.errors import ConfigError
from arcspan.serving.server_settings import Settings, limits


def test_every_limit_has_a_default_that_is_allowed_and_a_help() -> None:
    for limit in limits():
        assert getattr(Settings(), limit.name) >= limit.metadata["least"]
        assert limit.metadata["doc"].endswith(".")


@pytest.mark.parametrize("name", ["max_body", "max_words", "max_waiting", "time_limit"])
def test_a_limit_below_the_least_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} should be a .*number, at least"):
        Settings(**{name: -1})  # type: ignore[arg-type]


@pytest.mark.parametrize("token", ["", " ", "geheim\n", "schlüssel"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="token"):
        Settings(token=token)


@pytest.mark.parametrize("origin", ["*", "example.org", "https://example.org/", "https://a b"])
def test_an_origin_that_no_browser_sends_is_refused(origin: str) -> None:
    with pytest.raises(ConfigError, match="an origin is like"):
        Settings(origins=(origin,))


@pytest.mark.parametrize("host", ["*", "https://example.org", "example.org:80", ""])
def test_a_host_that_no_header_names_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="a host is like"):
        Settings(hosts=(host,))
