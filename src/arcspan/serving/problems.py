"""What goes wrong, in one JSON format: {"error": {"status": 413, "code": "body_too_large", "message": "..."}}.

The code is for programs and never changes, the message is for people and says what to do.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

BUSY_SECONDS = 1  # when a refused client may try again
LONGEST_MESSAGE = 500  # characters; it may quote the request


class Problem(Exception):
    """Why a request gets no parse."""

    def __init__(self, status: int, code: str, message: str, *, retry: bool = False) -> None:
        message = message.encode("utf-8", "backslashreplace").decode()  # it may quote half a surrogate pair
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]} ..."
        self.retry = retry

    def response(self, headers: dict[str, str] | None = None) -> JSONResponse:
        """The answer in the one format."""
        found = dict(headers or {})
        if self.retry:
            found["Retry-After"] = str(BUSY_SECONDS)
        if self.status == HTTPStatus.UNAUTHORIZED:
            found["WWW-Authenticate"] = "Bearer"
        content = {"error": {"status": self.status, "code": self.code, "message": self.message}}
        return JSONResponse(content, self.status, headers=found)


def bad_request(message: str) -> Problem:
    """The client's input is wrong."""
    return Problem(400, "bad_request", message)


def body_too_large(limit: int) -> Problem:
    """More bytes than the limit."""
    return Problem(
        413, "body_too_large", f"the body is larger than {limit} bytes: send the text in several requests"
    )


def answer_too_large(limit: int) -> Problem:
    """More bytes in the answer than the limit."""
    return Problem(
        413,
        "answer_too_large",
        f"the answer is larger than {limit} bytes: send fewer sentences, or ask for fewer trees or pictures",
    )


def too_busy(waiting: int) -> Problem:
    """As many requests are waiting as may."""
    return Problem(429, "too_busy", f"{waiting} requests are waiting already: try again later", retry=True)


def too_many_connections() -> Problem:
    """As many connections as there may be."""
    return Problem(503, "too_many_connections", "too many requests at once: try again later", retry=True)


def head_too_slow(seconds: float) -> Problem:
    """The headers of a request did not arrive in time."""
    return Problem(408, "head_too_slow", f"the request's headers did not arrive within {seconds:g} seconds")


def body_too_slow(seconds: float) -> Problem:
    """The body did not arrive in time."""
    return Problem(408, "body_too_slow", f"the body did not arrive within {seconds:g} seconds")


def out_of_time(seconds: float) -> Problem:
    """The answer was not ready in time."""
    return Problem(
        503, "out_of_time", f"no answer within {seconds:g} seconds: send less text, or try again", retry=True
    )


def stopping() -> Problem:
    """The server takes no more work."""
    return Problem(503, "stopping", "the server is stopping", retry=True)


def unauthorized() -> Problem:
    """The token is missing or wrong."""
    return Problem(
        401, "unauthorized", "this server asks for a token: send the header Authorization: Bearer TOKEN"
    )


def internal() -> Problem:
    """A bug, or a failure of the machine; the log says more."""
    return Problem(500, "internal", "the server failed on this request; its log says why")


async def answer_problem(_: Request, problem: Problem) -> JSONResponse:
    """The handler of `Problem`."""
    return problem.response()


async def answer_http(_: Request, error: HTTPException) -> JSONResponse:
    """Unknown paths, wrong methods, bodies that are not JSON."""
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_").replace("-", "_")
    return Problem(error.status_code, code, str(error.detail)).response(dict(error.headers or {}))


async def answer_invalid(_: Request, error: RequestValidationError) -> JSONResponse:
    """A body that is not what the API takes: 400, with the first place and reason."""
    return bad_request(describe(error.errors()[0])).response()


async def answer_failure(_: Request, __: Exception) -> JSONResponse:
    """Anything unforeseen: the server's log has the traceback, the client none of it."""
    return internal().response()


def describe(error: dict[str, Any]) -> str:
    """One line about one validation error of pydantic.

    >>> describe({"type": "greater_than_equal", "loc": ("body", "k"), "msg": "Input should be greater than 0"})
    'k: Input should be greater than 0'
    """
    if error["type"] == "json_invalid":
        reason = error.get("ctx", {}).get("error", error["msg"])
        return f"the body is not JSON: {reason} at character {error['loc'][-1]}"
    where = ".".join(str(part) for part in error["loc"][1:])
    if not where and error["type"] in ("missing", "model_attributes_type"):
        return 'the body must be a JSON object, such as {"text": "Logic plays a role."}, sent as application/json'
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
