"""How the docstrings of the package become Markdown, for the reference pages.

Docstrings are written to be read in the source: names and what they mean in two columns, examples as `>>>` lines.
Markdown would run the columns together and take `>>>` for quotations; this makes lists and code blocks of them.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ENTRY = re.compile(r"(?P<name>[\w.*`'\"][^\s].*?|\w) {2,}(?P<text>\S.*)")


class Plain(griffe.Extension):
    """Rewrites docstrings as they are loaded."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(docstring: str) -> str:
    """Return the same text with columns as lists and examples fenced."""
    out: list[str] = []
    state = ""
    for line in docstring.splitlines():
        entry = None if line.startswith((" ", ">>>", "-")) else _ENTRY.fullmatch(line)
        if line.startswith(">>>") and state != "example":
            out += ["", "```pycon"]
            state = "example"
        elif state == "example" and not line.strip():
            out.append("```")
            state = ""
        if state == "example":
            out.append("" if line == "<BLANKLINE>" else re.sub(r"\s*# doctest: .*", "", line))
        elif entry:
            if state != "list":
                out.append("")
            name = entry["name"].strip("`")
            out.append(f"- `{name}`: {entry['text']}")
            state = "list"
        elif state == "list" and line.startswith(" "):
            out.append(f"  {line.strip()}")
        else:
            if state == "list" and line.strip():
                out.append("")
            state = ""
            out.append(line)
    if state == "example":
        out.append("```")
    return "\n".join(out)
