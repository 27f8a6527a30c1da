"""The application: `POST /parse`, `/health`, `/metrics`, the page and the API's documentation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import resources
from itertools import islice
from typing import Annotated, Any

from fastapi import FastAPI, Header
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from arcspan._version import __version__
from arcspan.errors import ArcspanError
from arcspan.parser import Parser
from arcspan.serving import problems
from arcspan.serving.messages import (
    ErrorAnswer,
    ParseAnswer,
    ParseRequest,
    TextsAnswer,
    Write,
    write_brackets,
    write_conllu,
    write_json,
)
from arcspan.serving.metrics import CONTENT_TYPE, Metrics
from arcspan.serving.middleware import Middleware
from arcspan.serving.problems import Problem
from arcspan.serving.scheduler import Scheduler, Task, Wanted
from arcspan.serving.settings import Settings

# Pictures carry their own <style>; scripts come from this server or not at all.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILES = {  # path -> file in the package, media type
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/docs": ("docs.html", "text/html"),
    "/docs.js": ("docs.js", "text/javascript"),
}
REFUSALS = {
    400: "The request is not what the API takes.",
    401: "The token is missing or wrong.",
    408: "The body took too long.",
    413: "The body, the text, a sentence, the number of sentences or the answer is too large.",
    429: "Too many requests are waiting; see Retry-After.",
    503: "No answer in time, or the server is stopping; see Retry-After.",
}
WRITERS: dict[str, Write] = {"text/x-conllu": write_conllu, "text/x-brackets": write_brackets}  # besides JSON
CLOSING_SECONDS = 0.2  # for a sentence that nobody waits for any more
DESCRIPTION = """Constituency and dependency trees of sentences, guaranteed to fit each other.

Words are numbered from 1; head 0 is the root. A span (i, j) covers words i+1 to j."""


def create_app(parser: Parser, settings: Settings | None = None) -> Middleware:
    """The ASGI application of a server; `app.scheduler` has the thread that parses, which ends with the lifespan."""
    settings = settings if settings is not None else Settings()
    metrics = Metrics()
    metrics.info.info({"version": __version__, "model": str(parser.config.get("name", ""))})
    scheduler = Scheduler(parser, settings, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(scheduler.close, CLOSING_SECONDS)

    # FastAPI's own documentation pages load scripts from elsewhere; ours work offline.
    api = FastAPI(
        title="arcspan",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    api.add_exception_handler(Problem, problems.answer_problem)
    api.add_exception_handler(HTTPException, problems.answer_http)
    api.add_exception_handler(RequestValidationError, problems.answer_invalid)
    api.add_exception_handler(Exception, problems.answer_failure)
    paths = frozenset({"/parse", "/health", "/metrics", "/openapi.json", *FILES})
    app = Middleware(api, settings=settings, scheduler=scheduler, metrics=metrics, paths=paths)
    _add_parse(api, parser, settings, scheduler, metrics)
    _add_status(api, parser, settings, app)
    _add_files(api)
    # FastAPI promises 422 for bodies that do not fit; here they are answered 400.
    for operations in api.openapi()["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
    return app


def _add_parse(
    api: FastAPI, parser: Parser, settings: Settings, scheduler: Scheduler, metrics: Metrics
) -> None:
    refusals: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorAnswer, "description": what} for status, what in REFUSALS.items()
    }
    texts = {kind: {"schema": {"type": "string"}} for kind in WRITERS}
    responses = {**refusals, 200: {"content": texts}}
    answers = Answers(parser, settings, scheduler, metrics)

    @api.post(
        "/parse", response_model=ParseAnswer | TextsAnswer, responses=responses, summary="Parse text or words"
    )
    async def parse(request: ParseRequest, accept: Annotated[str, Header()] = "") -> Response:
        """Parse raw text, or sentences that are already in words.

        With `Accept: text/x-conllu` or `text/x-brackets` the answer is that file instead of JSON.
        """
        try:
            return await asyncio.wait_for(answers.answer(request, accept), settings.time_limit)
        except asyncio.TimeoutError:
            raise problems.out_of_time(settings.time_limit) from None


class Answers:
    """From a request to its answer."""

    def __init__(self, parser: Parser, settings: Settings, scheduler: Scheduler, metrics: Metrics) -> None:
        self.parser, self.settings, self.scheduler, self.metrics = parser, settings, scheduler, metrics

    async def answer(self, request: ParseRequest, accept: str) -> Response:
        """The answer in the format that is accepted."""
        self._check_request(request)
        each = await self._split(request)
        sentences = [sentence for own in each for sentence in own]
        self._check_sentences(sentences, bool(request.require or request.forbid))
        kind = _accepted(accept)
        layouts = [] if kind else request.svg
        wanted = Wanted(
            request.k,
            request.confidence and not kind,
            tuple(map(tuple, request.require)),
            tuple(map(tuple, request.forbid)),
            len(layouts),
        )
        best = Wanted(pictures=len(layouts))
        short = self.settings.max_words_beyond
        tasks = [Task(one, wanted if len(one.words) <= short else best) for one in sentences]
        write = WRITERS[kind] if kind else write_json(request, short)
        found = await asyncio.wrap_future(self.scheduler.submit(tasks, write))
        self.metrics.sentences.inc(len(sentences))
        self.metrics.words.inc(sum(len(one.words) for one in sentences))
        pieces = iter(found)
        texts = [list(islice(pieces, len(own))) for own in each]
        if kind:
            begin = b"# newdoc\n" if kind == "text/x-conllu" and isinstance(request.text, list) else b""
            return Response(b"".join(begin + b"".join(own) for own in texts if own), media_type=kind)
        parts = [b'{"sentences":[' + b",".join(own) + b"]}" for own in texts]
        if isinstance(request.text, list):
            parts = [b'{"texts":[' + b",".join(parts) + b"]}"]
        return Response(parts[0], media_type="application/json")

    def _check_request(self, request: ParseRequest) -> None:
        settings = self.settings
        if request.k > settings.max_k:
            raise problems.bad_request(f"k: this server gives at most {settings.max_k} trees per sentence")
        length = sum(map(len, request.texts))
        if length > settings.max_text:
            raise Problem(
                413,
                "text_too_long",
                f"{length} characters, but this server takes {settings.max_text} per request: send several",
            )
        # Before the work of splitting; a text of no sentence counts too.
        self._check_count(max(len(request.texts), len(request.words or [])))

    async def _split(self, request: ParseRequest) -> list[list[Any]]:
        """The sentences of each text; those in words are one list."""
        style, one = request.style, request.one_sentence
        try:
            if request.text is None:
                each = (self.parser.sentences(words, style=style) for words in request.words or [])
                return [[sentence for own in each for sentence in own]]
            return await asyncio.wrap_future(self.scheduler.split(request.texts, style, one))
        except ArcspanError as error:
            raise problems.bad_request(str(error)) from None

    def _check_count(self, count: int) -> None:
        if count > self.settings.max_sentences:
            raise Problem(
                413,
                "too_many_sentences",
                f"{count} sentences, but this server takes {self.settings.max_sentences} per request: send several",
            )

    def _check_sentences(self, sentences: list[Any], constrained: bool) -> None:
        self._check_count(len(sentences))
        if constrained and len(sentences) != 1:
            raise problems.bad_request(
                f"constraints are about the words of one sentence, but there are {len(sentences)}: "
                'send one, as "words" if its text is split in two'
            )
        most = self.settings.max_words_beyond if constrained else self.settings.max_words
        for number, sentence in enumerate(sentences, 1):
            if len(sentence.words) > most:
                raise Problem(
                    413,
                    "sentence_too_long",
                    f"sentence {number} has {len(sentence.words)} words, but this server takes {most} per sentence"
                    + (" with constraints" if constrained else ""),
                )


def _accepted(header: str) -> str:
    """Which of `WRITERS` an Accept header wants most; "" for JSON.

    >>> _accepted("text/html, text/x-conllu;q=0.5, */*;q=0.1")
    'text/x-conllu'
    """
    found = [(0.0, "")]
    for part in header.split(",")[:16]:
        kind, _, options = part.strip().lower().partition(";")
        weight = re.search(r"\bq\s*=\s*([01](?:\.\d{0,3})?)", options)
        if kind in WRITERS or kind in ("application/json", "*/*"):
            found.append((float(weight[1]) if weight else 1.0, kind))
    _, kind = max(found, key=lambda pair: pair[0])
    return kind if kind in WRITERS else ""


def _add_status(api: FastAPI, parser: Parser, settings: Settings, app: Middleware) -> None:
    @api.get("/health", summary="Whether the server takes requests, and what it serves")
    async def health() -> dict[str, Any]:
        """503 while the server is stopping, 200 otherwise."""
        if app.stopping:
            raise problems.stopping()
        config = parser.config
        return {
            "status": "ok",
            "version": __version__,
            "model": {name: config.get(name) for name in ("name", "language", "system", "licence")},
            "styles": parser.styles,
            "limits": {
                name: getattr(settings, name)
                for name in (
                    "max_body",
                    "max_text",
                    "max_sentences",
                    "max_words",
                    "max_words_beyond",
                    "max_k",
                    "time_limit",
                )
            },
            "token": settings.token is not None,
        }

    @api.get("/metrics", summary="Counters for Prometheus", response_class=Response)
    async def metrics() -> Response:
        """In Prometheus' text format."""
        return Response(app.metrics.text(), media_type=CONTENT_TYPE)


def _add_files(api: FastAPI) -> None:
    folder = resources.files("arcspan.serving") / "page"
    for path, (name, kind) in FILES.items():
        content = (folder / name).read_bytes()
        headers = {"Content-Security-Policy": POLICY} if kind == "text/html" else {}
        api.add_route(path, _file(content, kind, headers), include_in_schema=False)


def _file(content: bytes, kind: str, headers: dict[str, str]) -> Callable[[Request], Awaitable[Response]]:
    async def file(_: Request) -> Response:
        return Response(content, media_type=kind, headers=headers)

    return file
