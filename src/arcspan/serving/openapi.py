"""The description of the API for programs (OpenAPI 3.1), made from the messages."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from arcspan._version import __version__
from arcspan.serving.messages import FORMATS, ErrorAnswer, ParseAnswer, ParseRequest, TextsAnswer
from arcspan.serving.refusals import STATUSES

DESCRIPTION = """Constituency and dependency trees of sentences, guaranteed to be compatible.

Words are numbered from 1; head 0 is the root. A span (i, j) covers words i+1 to j."""


def openapi() -> dict[str, Any]:
    """All paths with their fields, answers and refusals."""
    models = (ParseRequest, ParseAnswer, TextsAnswer, ErrorAnswer)
    references, definitions = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/components/schemas/{model}"
    )
    request, parse, texts, error = (references[model, "validation"] for model in models)
    refusals = {
        str(status): {
            "description": description,
            "content": {"application/json": {"schema": error}},
        }
        for status, description in STATUSES.items()
    }
    files = {kind: {"schema": {"type": "string"}} for kind in FORMATS}
    answer = {"application/json": {"schema": {"anyOf": [parse, texts]}}, **files}
    accept = {
        "name": "Accept",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "default": ""},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "arcspan", "version": __version__, "description": DESCRIPTION},
        "paths": {
            "/parse": {
                "post": {
                    "operationId": "parse",
                    "summary": "Parse text or words",
                    "description": "Parse raw text, or sentences already split into words. Where Accept names a file "
                    "or picture format, the answer is that file instead of JSON.",
                    "parameters": [accept],
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": request}},
                    },
                    "responses": {
                        "200": {"description": "The parses.", "content": answer},
                        **refusals,
                    },
                }
            },
            "/health": _get(
                "health",
                "Whether the server takes requests, and what it serves",
                "200, or 503 while the server is stopping or after one of its threads has ended.",
                {"application/json": {"schema": {"type": "object"}}},
            ),
            "/metrics": _get(
                "metrics",
                "Counters for Prometheus",
                "In Prometheus' text format.",
                {"text/plain": {"schema": {"type": "string"}}},
            ),
        },
        "components": {"schemas": definitions["$defs"]},
    }


def _get(name: str, summary: str, description: str, content: dict[str, Any]) -> dict[str, Any]:
    answer = {"200": {"description": summary, "content": content}}
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "description": description,
            "responses": answer,
        }
    }
