"""Refused requests, in one JSON format.

{"error": {"status": 413, "code": "body_too_large", "message": "..."}}

The code is for programs and never changes; the message is for people and suggests what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from starlette.responses import JSONResponse

RETRY_SECONDS = 1
LONGEST_MESSAGE = 500  # characters; it may quote the request
_TOO_MUCH = "but this server takes {limit} per request: send several requests"
REFUSALS = {
    "bad_request": (400, "{reason}"),
    "unauthorized": (401, "this server needs a token: send the header Authorization: Bearer TOKEN"),
    "foreign_host": (
        403,
        "this server answers requests to this machine, not to {host}: start it with --allow-host",
    ),
    "not_found": (404, "no such path: {path}"),
    "method_not_allowed": (405, "this path takes {methods} only"),
    "head_too_slow": (408, "the request's headers did not arrive within {limit:g} seconds"),
    "body_too_slow": (408, "the body did not arrive within {limit:g} seconds"),
    "body_too_large": (
        413,
        "the body is larger than {limit} bytes: send the text in several requests",
    ),
    "text_too_long": (413, "{count} characters, " + _TOO_MUCH),
    "too_many_sentences": (413, "{count} sentences, " + _TOO_MUCH),
    "sentence_too_long": (
        413,
        "sentence {number} has {count} words, but this server takes {limit} per "
        "sentence{condition}",
    ),
    "answer_too_large": (
        413,
        "the answer is larger than {limit} bytes: send fewer sentences, or ask for fewer trees "
        "or pictures",
    ),
    "too_busy": (429, "{limit} requests are waiting already: try again later"),
    "internal": (500, "the server failed on this request; see its log"),
    "out_of_time": (503, "no answer within {limit:g} seconds: send less text, or try again"),
    "too_many_connections": (503, "too many connections: try again later"),
    "stopping": (503, "the server is stopping"),
    "broken": (503, "a thread of the server has ended: restart the server"),
}


class Refusal(Exception):
    """The reason why a request gets no parse: one of `REFUSALS`, with the values in its message."""

    def __init__(self, code: str, **values: Any) -> None:
        self.status, template = REFUSALS[code]
        self.code = code
        # Half a surrogate pair cannot be sent.
        message = template.format(**values).encode("utf-8", "backslashreplace").decode()
        if len(message) > LONGEST_MESSAGE:
            message = f"{message[:LONGEST_MESSAGE]} ..."
        self.message = message
        super().__init__(message)

    def response(self, headers: Mapping[str, str] | None = None) -> JSONResponse:
        """Return the answer, in the one format of all refusals."""
        content = {"error": {"status": self.status, "code": self.code, "message": self.message}}
        response = JSONResponse(content, self.status, headers=headers)
        if self.status in (429, 503):
            response.headers["Retry-After"] = str(RETRY_SECONDS)
        if self.status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response


def describe(error: ValidationError) -> str:
    """Return one line about the first problem that pydantic found."""
    # The input stays out of it: it may be long, and the client knows it.
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    return f"{path}: {message}" if path else message
