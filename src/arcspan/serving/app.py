"""The routes: `POST /parse`, `/health`, `/metrics`, the page and the API's documentation."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from functools import partial
from importlib import resources
from importlib.util import find_spec
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import ValidationError
from starlette.responses import JSONResponse, Response

from arcspan._version import __version__
from arcspan.errors import ArcspanError
from arcspan.formats import Format, formats_by_media_type
from arcspan.parser import Parser, Query, Sentence
from arcspan.serving.messages import ParseRequest
from arcspan.serving.middleware import ClientLeft, HttpRequest, Middleware, Route, client_left
from arcspan.serving.openapi import openapi
from arcspan.serving.refusals import Refusal, describe
from arcspan.serving.scheduler import ScheduledRequest, ScheduledSentence, Scheduler
from arcspan.serving.server_settings import Settings
from arcspan.serving.writers import JSON, AnswerWriter, check_options

# Pictures carry their own <style>; scripts come from this server or not at all.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGES = {  # path -> package, file, media type
    "/": ("serving", "index.html", "text/html"),
    "/page.css": ("serving", "page.css", "text/css"),
    "/page.js": ("serving", "page.js", "text/javascript"),
    "/picture.js": ("rendering", "picture.js", "text/javascript"),
    "/glossary": ("serving", "glossary.html", "text/html"),
    "/glossary.js": ("serving", "glossary.js", "text/javascript"),
    "/glossary.json": ("serving", "glossary.json", JSON),
    "/docs": ("serving", "docs.html", "text/html"),
    "/docs.js": ("serving", "docs.js", "text/javascript"),
}
SMALL_ANSWER = 1 << 20  # bytes that are put together in a millisecond
Result = TypeVar("Result")
LIMITS = (
    "max_body",
    "max_text",
    "max_sentences",
    "max_words",
    "max_words_beyond",
    "max_k",
    "time_limit",
)


def create_app(parser: Parser, settings: Settings | None = None) -> Middleware:
    """Return the ASGI application of a server; its lifespan ends the threads of `app.scheduler`."""
    scheduler = Scheduler(parser, settings)
    metrics = scheduler.metrics
    metrics.info.info({"version": __version__, "model": str(parser.config.get("name", ""))})
    routes: dict[str, dict[str, Route]] = {
        "/parse": {"POST": ParseRoute(scheduler)},
        "/openapi.json": {"GET": _file(json.dumps(openapi()).encode(), JSON)},
    }
    for path, (package, name, media_type) in PAGES.items():
        content = (resources.files(f"arcspan.{package}") / "page" / name).read_bytes()
        routes[path] = {"GET": _file(content, media_type)}
    app = Middleware(routes, scheduler)
    # Nothing in it changes while the server runs.
    description = _describe_server(scheduler)

    async def health(_: HttpRequest) -> Response:
        if app.stopping:
            raise Refusal("stopping")
        if not scheduler.is_healthy:
            raise Refusal("broken")
        return JSONResponse(description)

    async def show_metrics(_: HttpRequest) -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    routes["/health"] = {"GET": health}
    routes["/metrics"] = {"GET": show_metrics}
    return app


def _describe_server(scheduler: Scheduler) -> dict[str, Any]:
    """Return what `/health` says of a server that is well."""
    parser = scheduler.parser
    settings = scheduler.settings
    media_types = []
    for media_type, format in formats_by_media_type().items():
        if format.requires is None or find_spec(format.requires):
            media_types.append(media_type)
    return {
        "status": "ok",
        "version": __version__,
        "model": {
            name: parser.config.get(name) for name in ("name", "language", "system", "licence")
        },
        "styles": parser.styles,
        "limits": {name: getattr(settings, name) for name in LIMITS},
        "token": settings.token is not None,
        "formats": media_types,
    }


def _file(content: bytes, media_type: str) -> Route:
    headers = {"Content-Security-Policy": POLICY} if media_type == "text/html" else {}

    async def send_file(_: HttpRequest) -> Response:
        return Response(content, media_type=media_type, headers=headers)

    return send_file


class _Plan(NamedTuple):
    """A request that has been read: the sentences of each text, and how to answer."""

    texts: list[list[Sentence]]
    words: int
    writer: AnswerWriter
    scheduled: ScheduledRequest


class ParseRoute:
    """The handler of `POST /parse`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.parser = scheduler.parser
        self.settings = scheduler.settings
        self.metrics = scheduler.metrics

    async def __call__(self, incoming: HttpRequest) -> Response:
        """Answer in the accepted format; give up when the client leaves or its time is over."""
        format = _accepted(incoming.headers.get("accept", ""))
        answer = asyncio.ensure_future(self._answer(incoming, format))
        departure = asyncio.ensure_future(client_left(incoming.receive))
        try:
            events: set[asyncio.Future[Any]] = {answer, departure}
            limit = self.settings.time_limit
            # Whichever comes first ends the other, and the sentences that have had no turn are
            # dropped.
            await asyncio.wait(events, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise ClientLeft if departure.done() else Refusal("out_of_time", limit=limit)
        finally:
            answer.cancel()
            departure.cancel()

    async def _answer(self, incoming: HttpRequest, format: Format | None) -> Response:
        plan = await self._run(partial(self._plan, incoming, format), len(incoming.body))
        # The event loop only waits: for other threads that read, parse and write.
        sentence_pieces = await asyncio.wrap_future(self.scheduler.submit(plan.scheduled))
        pieces = iter(sentence_pieces)
        texts = [list(islice(pieces, len(sentences))) for sentences in plan.texts]
        size = sum(map(len, sentence_pieces))
        if size < SMALL_ANSWER:
            content = plan.writer.join(texts)
        else:
            content = await self._run(partial(plan.writer.join, texts), size)
        self.metrics.sentences.inc(len(sentence_pieces))
        self.metrics.words.inc(plan.words)
        return Response(content, media_type=JSON if format is None else format.media_type)

    async def _run(self, work: Callable[[], Result], size: int) -> Result:
        """Run what can take some milliseconds outside the thread that answers all clients."""
        return await asyncio.wrap_future(self.scheduler.run(work, size))

    def _plan(self, incoming: HttpRequest, format: Format | None) -> _Plan:
        """Read and check a request, and split its texts into sentences."""
        request = _read(incoming)
        self._check_request(request)
        check_options(request, format)
        # An unknown style or an impossible constraint is refused before the work of splitting.
        plain = self.parser.query(style=request.style)
        query = self._query(request)
        texts = [[Sentence(tuple(words)) for words in request.words or []]]  # one list
        if request.text is not None:
            split = partial(self.parser.split, one_sentence=request.one_sentence)
            texts = [split(text) for text in request.texts]
        sentences = [sentence for text in texts for sentence in text]
        is_constrained = bool(request.require or request.forbid or request.prefer)
        is_picture = format is not None and format.is_picture
        self._check_sentences(sentences, is_constrained, is_picture)
        pictures = _count_pictures(request, is_picture)
        scheduled = []
        for sentence in sentences:
            # A long sentence gets its best tree alone; the answer says why.
            is_short = len(sentence.words) <= self.settings.max_words_beyond
            scheduled.append(ScheduledSentence(sentence, query if is_short else plain, pictures))
        writer = AnswerWriter(request, texts, format, self.settings.max_words_beyond)
        words = sum(len(sentence.words) for sentence in sentences)
        return _Plan(texts, words, writer, ScheduledRequest(scheduled, writer))

    def _query(self, request: ParseRequest) -> Query:
        return self.parser.query(
            style=request.style,
            k=request.k if request.k > 1 else None,
            confidence=request.confidence,
            require=list(map(tuple, request.require)),
            forbid=list(map(tuple, request.forbid)),
            prefer=list(map(tuple, request.prefer)),
        )

    def _check_request(self, request: ParseRequest) -> None:
        settings = self.settings
        if request.k > settings.max_k:
            raise ArcspanError(f"k: this server gives at most {settings.max_k} trees per sentence")
        length = sum(map(len, request.texts))
        if length > settings.max_text:
            raise Refusal("text_too_long", count=length, limit=settings.max_text)
        # Before the work of splitting; a text of no sentence counts too.
        self._check_count(max(len(request.texts), len(request.words or [])))

    def _check_count(self, count: int) -> None:
        if count > self.settings.max_sentences:
            raise Refusal("too_many_sentences", count=count, limit=self.settings.max_sentences)

    def _check_sentences(
        self, sentences: list[Sentence], is_constrained: bool, is_drawn: bool
    ) -> None:
        self._check_count(len(sentences))
        if (is_constrained or is_drawn) and len(sentences) != 1:
            subject = "constraints are about the words of" if is_constrained else "a picture shows"
            advice = 'send one, as "words" or with "one_sentence" if its text is split in two'
            raise ArcspanError(f"{subject} one sentence, but there are {len(sentences)}: {advice}")
        limit = self.settings.max_words_beyond if is_constrained else self.settings.max_words
        condition = " with constraints" if is_constrained else ""
        for number, sentence in enumerate(sentences, 1):
            count = len(sentence.words)
            if count > limit:
                raise Refusal(
                    "sentence_too_long",
                    number=number,
                    count=count,
                    limit=limit,
                    condition=condition,
                )


def _count_pictures(request: ParseRequest, is_picture: bool) -> int:
    """Return how many pictures are drawn of each parse; a query may take as long as a picture."""
    if is_picture:
        return 1
    return len(request.svg) + (0 if request.find is None else 1)


def _read(request: HttpRequest) -> ParseRequest:
    """Return the checked content of a request."""
    # A page of another site may send text/plain without asking first; it may not send JSON.
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = request.body and (media_type == JSON or media_type.endswith("+json"))
    try:
        content = json.loads(request.body) if is_json else None
    except RecursionError:
        raise ArcspanError("the body is not JSON: it is nested too deeply") from None
    except ValueError as error:  # no JSON, or no UTF-8
        raise ArcspanError(f"the body is not JSON: {error}") from None
    if not isinstance(content, dict):
        example = '{"text": "Logic plays a role."}'
        raise ArcspanError(
            f"the body must be a JSON object, such as {example}, sent as application/json"
        )
    try:
        return ParseRequest.model_validate(content)
    except ValidationError as error:
        raise ArcspanError(describe(error)) from None


def _accepted(header: str) -> Format | None:
    """Return the format that an Accept header prefers; None for JSON.

    >>> _accepted("text/html, text/x-conllu;q=0.5, */*;q=0.1").name
    'conllu'
    """
    formats = formats_by_media_type()
    best_weight = 0.0
    accepted = None
    # The header comes from the client: no browser sends more than a few types.
    for part in header.split(",")[:16]:
        media_type, _, options = part.strip().lower().partition(";")
        match = re.search(r"\bq\s*=\s*(?P<weight>[01](?:\.\d{0,3})?)", options)
        weight = float(match["weight"]) if match else 1.0
        is_known = media_type in formats or media_type in (JSON, "*/*")
        # Of equal weights the first counts; a weight of 0 forbids the type.
        if is_known and weight > best_weight:
            best_weight = weight
            accepted = formats.get(media_type)
    return accepted
