"""Rules from constituents to dependencies in files: head tables as text, learnt rules as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arcspan.errors import FileError
from arcspan.files import atomic_write
from arcspan.trees.conversion import HeadRules, LearntRules
from arcspan.trees.conversion.head_tables import TABLES as PACKAGED
from arcspan.trees.conversion.learnt import TABLES


def load_rules(source: str | os.PathLike[str]) -> HeadRules | LearntRules:
    """Rules by name ("ptb", "ctb") or from a file: learnt rules (.json) or a head table (any other)."""
    if source in PACKAGED:
        return HeadRules.load(str(source))
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            return LearntRules.from_json(json.loads(text))
        return HeadRules.parse(text, name=str(path))
    except OSError as error:
        what = f"no such rules: {error.strerror} (head tables by name: {', '.join(PACKAGED)})"
        raise FileError(what, path=path) from error
    except UnicodeDecodeError as error:
        raise FileError(f"not a text in UTF-8: {error.reason}", path=path) from error
    except json.JSONDecodeError as error:
        raise FileError(f"not JSON: {error.msg}", path=path, line=error.lineno) from error
    except FileError:
        raise
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in brackets
        raise FileError(str(error), path=path) from error


def save_rules(rules: LearntRules, path: str | os.PathLike[str]) -> None:
    """Write learnt rules as JSON, one context per line, so that they can be read and edited."""
    with atomic_write(path) as file:
        file.writelines(_json_lines(rules.to_json()))


def _json_lines(data: Mapping[str, Any]) -> Iterator[str]:
    fields = [
        f"{json.dumps(name)}: {json.dumps(value)}" for name, value in data.items() if name not in TABLES
    ]
    yield "{\n" + ",\n".join(fields)
    for name in TABLES:
        yield f",\n{json.dumps(name)}: ["
        for number, level in enumerate(data[name]):
            yield f'{"," if number else ""}\n  {{"context": {json.dumps(level["context"])}, "counts": {{'
            lines = (
                f"    {json.dumps(key, ensure_ascii=False)}: {json.dumps(answers, ensure_ascii=False)}"
                for key, answers in level["counts"].items()
            )
            yield "\n" + ",\n".join(lines) + "\n  }}"
        yield "\n]"
    yield "\n}\n"
