"""The glossary as data for the web page: names, meanings and examples from docs/glossary.md.

python docs/glossary.py            # writes src/arcspan/serving/page/glossary.json
"""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = {
    "Constituents": "label",
    "Relations": "relation",
    "Universal tags": "universal tag",
    "Treebank tags": "tag",
}


def glossary() -> str:
    """JSON: for each kind of name, its names with meaning and example; the words in question are
    between asterisks.
    """
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for section in text.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        rows = re.findall(r"^\| (`+) ?(\S+?) ?\1 \| (.+?) \|(.*)\|$", body, re.MULTILINE)
        found[SECTIONS[title]] = {
            name: (meaning, example.strip().replace("&lt;", "<").replace("&gt;", ">"))
            for _, name, meaning, example in rows
        }
    return json.dumps(found, ensure_ascii=False, indent=0) + "\n"


if __name__ == "__main__":
    (ROOT / "src/arcspan/serving/page/glossary.json").write_text(glossary(), encoding="utf-8")
