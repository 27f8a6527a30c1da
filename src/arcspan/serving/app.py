"""The routes: `POST /parse`, `/health`, `/metrics`, the page and the API's documentation."""

from __future__ import annotations

import asyncio
import json
import re
from importlib import resources
from importlib.util import find_spec
from itertools import islice
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import ValidationError
from starlette.responses import JSONResponse, Response

from arcspan._version import __version__
from arcspan.parser import Parser, Sentence
from arcspan.serving.messages import FILES, FORMATS, PICTURES, ParseRequest, name_sentences, writer
from arcspan.serving.middleware import ClientLeft, Middleware, Request, Route, client_left
from arcspan.serving.openapi import openapi
from arcspan.serving.refusals import Refusal, describe
from arcspan.serving.scheduler import Scheduler, Task
from arcspan.serving.settings import Settings

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
    "/glossary.json": ("serving", "glossary.json", "application/json"),
    "/docs": ("serving", "docs.html", "text/html"),
    "/docs.js": ("serving", "docs.js", "text/javascript"),
}
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
    """The ASGI application of a server; its lifespan ends the threads of `app.scheduler`."""
    scheduler = Scheduler(parser, settings)
    settings, metrics = scheduler.settings, scheduler.metrics
    metrics.info.info({"version": __version__, "model": str(parser.config.get("name", ""))})
    routes: dict[str, dict[str, Route]] = {
        "/parse": {"POST": Answers(scheduler).answer},
        "/openapi.json": {"GET": _file(json.dumps(openapi()).encode(), "application/json")},
    }
    for path, (package, name, kind) in PAGES.items():
        content = (resources.files(f"arcspan.{package}") / "page" / name).read_bytes()
        routes[path] = {"GET": _file(content, kind)}
    app = Middleware(routes, scheduler)
    model = {name: parser.config.get(name) for name in ("name", "language", "system", "licence")}
    missing = () if find_spec("vl_convert") else ("image/png", "application/pdf")

    async def health(_: Request) -> Response:
        if app.stopping:
            raise Refusal("stopping")
        if not scheduler.healthy:
            raise Refusal("broken")
        return JSONResponse(
            {
                "status": "ok",
                "version": __version__,
                "model": model,
                "styles": parser.styles,
                "limits": {name: getattr(settings, name) for name in LIMITS},
                "token": settings.token is not None,
                "formats": [kind for kind in FORMATS if kind not in missing],
            }
        )

    async def count(_: Request) -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    routes |= {"/health": {"GET": health}, "/metrics": {"GET": count}}
    return app


def _file(content: bytes, kind: str) -> Route:
    headers = {"Content-Security-Policy": POLICY} if kind == "text/html" else {}

    async def file(_: Request) -> Response:
        return Response(content, media_type=kind, headers=headers)

    return file


class Answers:
    """From a request to its answer."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler, self.parser = scheduler, scheduler.parser
        self.settings, self.metrics = scheduler.settings, scheduler.metrics

    async def answer(self, incoming: Request) -> Response:
        """The answer in the accepted format; it is given up when the client leaves or its time is over."""
        kind = _accepted(incoming.headers.get("accept", ""))
        answer = asyncio.ensure_future(self._answer(_read(incoming), kind))
        left = asyncio.ensure_future(client_left(incoming.receive))
        try:
            both: set[asyncio.Future[Any]] = {answer, left}
            limit = self.settings.time_limit
            await asyncio.wait(both, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise ClientLeft if left.done() else Refusal("out_of_time", limit=limit)
        finally:
            answer.cancel()
            left.cancel()

    async def _answer(self, request: ParseRequest, kind: str) -> Response:
        self._check_request(request)
        # An unknown style is refused before the work of splitting.
        best = self.parser.query(style=request.style)
        # The sentences of each text; those in words are one list.
        each = [[Sentence(tuple(words)) for words in request.words or []]]
        if request.text is not None:
            each = await asyncio.wrap_future(
                self.scheduler.split(request.texts, request.one_sentence)
            )
        sentences = [sentence for own in each for sentence in own]
        asked = {
            name: list(map(tuple, getattr(request, name)))
            for name in ("require", "forbid", "prefer")
        }
        self._check_sentences(sentences, any(asked.values()), kind in PICTURES)
        # A query may take as long as a picture.
        pictures = (
            1 if kind in PICTURES else 0 if kind else len(request.svg) + (request.find is not None)
        )
        query = self.parser.query(
            style=request.style,
            k=request.k if request.k > 1 else None,
            confidence=request.confidence and kind not in FILES,
            **asked,
        )
        short = self.settings.max_words_beyond
        tasks = [
            Task(one, query if len(one.words) <= short else best, pictures) for one in sentences
        ]
        found = await asyncio.wrap_future(
            self.scheduler.submit(tasks, writer(request, kind, short))
        )
        pieces = iter(found)
        self.metrics.sentences.inc(len(sentences))
        self.metrics.words.inc(sum(len(one.words) for one in sentences))
        texts = [list(islice(pieces, len(own))) for own in each]
        if kind == "text/x-conllu" and request.documents:
            return Response(
                b"".join(map(name_sentences, request.documents, texts)), media_type=kind
            )
        if kind:
            begin = (
                b"# newdoc\n" if kind == "text/x-conllu" and isinstance(request.text, list) else b""
            )
            return Response(
                b"".join(begin + b"".join(own) for own in texts if own), media_type=kind
            )
        names = [f'"document":{json.dumps(name)},'.encode() for name in request.documents]
        parts = [
            b"{" + name + b'"sentences":[' + b",".join(own) + b"]}"
            for name, own in zip(names or [b""] * len(texts), texts, strict=True)
        ]
        if isinstance(request.text, list):
            parts = [b'{"texts":[' + b",".join(parts) + b"]}"]
        return Response(parts[0], media_type="application/json")

    def _check_request(self, request: ParseRequest) -> None:
        settings = self.settings
        if request.k > settings.max_k:
            reason = f"k: this server gives at most {settings.max_k} trees per sentence"
            raise Refusal("bad_request", reason=reason)
        length = sum(map(len, request.texts))
        if length > settings.max_text:
            raise Refusal("text_too_long", count=length, limit=settings.max_text)
        # Before the work of splitting; a text of no sentence counts too.
        self._check_count(max(len(request.texts), len(request.words or [])))

    def _check_count(self, count: int) -> None:
        if count > self.settings.max_sentences:
            raise Refusal("too_many_sentences", count=count, limit=self.settings.max_sentences)

    def _check_sentences(self, sentences: list[Sentence], constrained: bool, drawn: bool) -> None:
        self._check_count(len(sentences))
        if (constrained or drawn) and len(sentences) != 1:
            about = "constraints are about the words of" if constrained else "a picture shows"
            how = 'send one, as "words" or with "one_sentence" if its text is split in two'
            reason = f"{about} one sentence, but there are {len(sentences)}: {how}"
            raise Refusal("bad_request", reason=reason)
        limit = self.settings.max_words_beyond if constrained else self.settings.max_words
        for number, sentence in enumerate(sentences, 1):
            if len(sentence.words) > limit:
                where = " with constraints" if constrained else ""
                count = len(sentence.words)
                raise Refusal(
                    "sentence_too_long", number=number, count=count, limit=limit, where=where
                )


def _read(request: Request) -> ParseRequest:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = request.body and (kind == "application/json" or kind.endswith("+json"))
    try:
        content = json.loads(request.body) if is_json else None
    except RecursionError:
        raise Refusal(
            "bad_request", reason="the body is not JSON: it is nested too deeply"
        ) from None
    except ValueError as error:
        where = (
            f"{error.msg} at character {error.pos}"
            if isinstance(error, json.JSONDecodeError)
            else error
        )
        raise Refusal("bad_request", reason=f"the body is not JSON: {where}") from None
    if not isinstance(content, dict):
        example = '{"text": "Logic plays a role."}'
        reason = f"the body must be a JSON object, such as {example}, sent as application/json"
        raise Refusal("bad_request", reason=reason)
    try:
        return ParseRequest.model_validate(content)
    except ValidationError as error:
        raise Refusal("bad_request", reason=describe(error)) from None


def _accepted(header: str) -> str:
    """Which of `FORMATS` an Accept header prefers; "" for JSON.

    >>> _accepted("text/html, text/x-conllu;q=0.5, */*;q=0.1")
    'text/x-conllu'
    """
    found = [(0.0, "")]
    for part in header.split(",")[:16]:
        kind, _, options = part.strip().lower().partition(";")
        weight = re.search(r"\bq\s*=\s*([01](?:\.\d{0,3})?)", options)
        if kind in FORMATS or kind in ("application/json", "*/*"):
            found.append((float(weight[1]) if weight else 1.0, kind))
    _, kind = max(found, key=lambda pair: pair[0])
    return kind if kind in FORMATS else ""
