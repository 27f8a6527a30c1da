"""Put measured figures into the README and the model card: `python studies/readme_figures.py`.

Reads studies/english/results.json, which studies/english/score.py writes, and rewrites what stands between the markers
`<!-- figures: begin -->` and `<!-- figures: end -->`. Without results there is nothing between them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from arcspan.files import atomic_write

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "studies" / "english" / "results.json"
SECTION = re.compile(r"(<!-- figures: begin -->\n).*?(<!-- figures: end -->)", re.DOTALL)
COLUMNS = {
    "sentences": "sentences",
    "LAS": "las",
    "UAS": "uas",
    "F1": "f1",
    "F1, gold punctuation": "f1_gold_tags",
    "tags": "tag_accuracy",
    "both trees right": "lcm_both",
    "compatible": "compatible",
    "left out by EVALB": "evalb_errors",
}
BRIEF = ("sentences", "LAS", "UAS", "F1", "tags")
RULES = (
    "LAS and UAS leave out punctuation and relation subtypes; F1 is EVALB's with the COLLINS rules; tags are over all "
    "words, and words are the treebank's. The dev parts chose the model, the test part did not. Made by "
    "`studies/english/score.py`."
)


def readme(results: dict[str, Any]) -> str:
    """The README's table: a line for each treebank."""
    return f"{table('treebank', results['treebanks'], BRIEF)}\n\n{RULES}\n"


def model_card(results: dict[str, Any]) -> str:
    """The model card's tables: treebanks with more figures, and the genres of gum."""
    model = results["model"]
    parts = [
        f"Scores of the model `{model['name']}` ({model['system']}, {model['precision']}).",
        table("treebank", results["treebanks"], tuple(COLUMNS)),
        RULES,
        "EVALB deletes punctuation by the predicted tags, and leaves out a sentence whose words then differ; with "
        "gold punctuation, none is left out.",
    ]
    for name, entry in results["treebanks"].items():
        if "genres" in entry:
            parts += [f"By genre, {name}:", table("genre", entry["genres"], BRIEF)]
    return "\n\n".join(parts) + "\n"


def table(title: str, rows: dict[str, dict[str, Any]], columns: tuple[str, ...]) -> str:
    """A Markdown table with a line for each of the rows."""
    lines = [f"| {title} | " + " | ".join(columns) + " |", "|---" + "|---:" * len(columns) + "|"]
    for name, row in rows.items():
        lines.append(
            f"| {name} | " + " | ".join(shown(row.get(COLUMNS[column])) for column in columns) + " |"
        )
    return "\n".join(lines)


def shown(value: float | None) -> str:
    """A figure with one decimal, a count as it is."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"


def filled(page: str, section: str) -> str:
    """The page with this between its markers."""
    if not SECTION.search(page):
        raise SystemExit("the page has no markers for figures")
    inside = f"\n{section}\n" if section else ""
    return SECTION.sub(lambda found: f"{found[1]}{inside}{found[2]}", page)


PAGES = {ROOT / "README.md": readme, ROOT / "docs" / "model-card.md": model_card}


def pages(path: Path = RESULTS) -> dict[Path, str]:
    """The pages as they should be, by the results in a file, which may be missing."""
    results = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return {
        page: filled(page.read_text(encoding="utf-8"), make(results) if results else "")
        for page, make in PAGES.items()
    }


if __name__ == "__main__":
    for page, content in pages().items():
        with atomic_write(page) as file:
            file.write(content)
