"""The description of the API for programs (OpenAPI 3.1).

`page/openapi.json` has the paths and the schemas of answers; the schema of requests is that of the
class which reads them, and the formats are those that the server writes.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from arcspan._version import __version__
from arcspan.formats import formats_by_media_type
from arcspan.serving.messages import ParseRequest

_REFERENCE = "#/components/schemas/{model}"


def openapi() -> dict[str, Any]:
    """Return all paths with their fields, answers and refusals."""
    path = resources.files("arcspan.serving") / "page" / "openapi.json"
    api: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    api["info"]["version"] = __version__
    schemas = api["components"]["schemas"]
    schemas["ParseRequest"] = ParseRequest.model_json_schema(ref_template=_REFERENCE)
    # The best trees of a sentence stand beside its words, the others in `alternatives`.
    sentence = schemas["SentenceAnswer"]
    sentence["properties"] |= schemas["TreesAnswer"]["properties"]
    sentence["required"] += schemas["TreesAnswer"]["required"]
    responses = api["paths"]["/parse"]["post"]["responses"]
    error = {"schema": {"$ref": _REFERENCE.format(model="ErrorAnswer")}}
    for status, response in responses.items():
        if status != "200":
            response["content"] = {"application/json": error}
    for media_type in formats_by_media_type():
        responses["200"]["content"][media_type] = {"schema": {"type": "string"}}
    return api
