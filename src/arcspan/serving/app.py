"""The application: `POST /parse`, `/health`, `/metrics`, the page and the API's documentation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from arcspan._version import __version__
from arcspan.parser import Parser
from arcspan.serving import problems
from arcspan.serving.batching import Batcher, Source, Wanted
from arcspan.serving.gate import Gate
from arcspan.serving.messages import ErrorAnswer, ParseAnswer, ParseRequest, sentence_answer
from arcspan.serving.metrics import CONTENT_TYPE, Metrics
from arcspan.serving.problems import Problem
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
    413: "The body, a sentence, or the number of sentences is too large.",
    429: "Too many requests are waiting; see Retry-After.",
    503: "No answer in time, or the server is stopping; see Retry-After.",
}
DESCRIPTION = """Constituency and dependency trees of sentences, guaranteed to fit each other.

Words are numbered from 1; head 0 is the root. A span (i, j) covers words i+1 to j."""


def create_app(parser: Parser, settings: Settings | None = None) -> Gate:
    """The ASGI application of a server; `gate.batcher` is its parsing thread, ended by the lifespan's end."""
    settings = settings if settings is not None else Settings()
    metrics = Metrics()
    metrics.info.info({"version": __version__, "model": str(parser.config.get("name", ""))})
    batcher = Batcher(
        parser,
        most=settings.max_waiting,
        batch_sentences=settings.batch_sentences,
        batch_words=settings.batch_words,
        metrics=metrics,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(batcher.close)

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
    gate = Gate(api, settings=settings, batcher=batcher, metrics=metrics, paths=paths)
    _add_parse(api, parser, settings, batcher, metrics)
    _add_status(api, parser, settings, gate)
    _add_files(api)
    # FastAPI promises 422 for bodies that do not fit; here they are answered 400.
    for operations in api.openapi()["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
    return gate


def _add_parse(api: FastAPI, parser: Parser, settings: Settings, batcher: Batcher, metrics: Metrics) -> None:
    refusals: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorAnswer, "description": what} for status, what in REFUSALS.items()
    }

    @api.post("/parse", response_model=ParseAnswer, responses=refusals, summary="Parse text or words")
    async def parse(request: ParseRequest) -> Response:
        """Parse raw text, or sentences that are already in words."""
        answer = _answer(request, parser, settings, batcher, metrics)
        try:
            return await asyncio.wait_for(answer, settings.time_limit)
        except asyncio.TimeoutError:
            raise problems.out_of_time(settings.time_limit) from None


async def _answer(
    request: ParseRequest, parser: Parser, settings: Settings, batcher: Batcher, metrics: Metrics
) -> Response:
    if request.k > settings.max_k:
        raise problems.bad_request(f"k: this server gives at most {settings.max_k} trees a sentence")
    sources = await run_in_threadpool(_sources, request, parser)
    _check_lengths(sources, settings)
    found = await asyncio.wrap_future(batcher.submit(sources, Wanted(request.k, request.confidence)))
    render = partial(sentence_answer, confidence=request.confidence, layouts=request.svg)
    content = await run_in_threadpool(lambda: _json({"sentences": [render(parses) for parses in found]}))
    metrics.sentences.inc(len(sources))
    metrics.words.inc(sum(len(source.words) for source in sources))
    return Response(content, media_type="application/json")


def _sources(request: ParseRequest, parser: Parser) -> list[Source]:
    if request.text is None:
        return [Source(tuple(sentence)) for sentence in request.words or []]
    text = request.text
    return [
        Source(
            one.words,
            text[one.start : one.end],
            one.offsets,
            one.end < len(text) and not text[one.end].isspace(),
        )
        for one in parser.split(text)
    ]


def _check_lengths(sources: list[Source], settings: Settings) -> None:
    if len(sources) > settings.max_sentences:
        raise Problem(
            413,
            "too_many_sentences",
            f"{len(sources)} sentences, but this server takes {settings.max_sentences} a request: send several",
        )
    for number, source in enumerate(sources, 1):
        if len(source.words) > settings.max_words:
            raise Problem(
                413,
                "sentence_too_long",
                f"sentence {number} has {len(source.words)} words, but this server takes {settings.max_words} "
                "a sentence",
            )


def _json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def _add_status(api: FastAPI, parser: Parser, settings: Settings, gate: Gate) -> None:
    @api.get("/health", summary="Whether the server takes requests, and what it serves")
    async def health() -> dict[str, Any]:
        """503 while the server is stopping, 200 otherwise."""
        if gate.stopping:
            raise problems.stopping()
        config = parser.config
        return {
            "status": "ok",
            "version": __version__,
            "model": {name: config.get(name) for name in ("name", "language", "system", "licence")},
            "limits": {
                name: getattr(settings, name)
                for name in ("max_body", "max_sentences", "max_words", "max_k", "time_limit")
            },
            "token": settings.token is not None,
        }

    @api.get("/metrics", summary="Counters for Prometheus", response_class=Response)
    async def metrics() -> Response:
        """In Prometheus' text format."""
        return Response(gate.metrics.text(), media_type=CONTENT_TYPE)


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
