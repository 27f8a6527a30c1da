"""Put measured figures into the README and the model card: `python studies/readme_figures.py`.

Reads what studies/english/score.py writes (results.json, results-en-fast.json and
results-large.json) and rewrites what stands between the markers `<!-- figures: begin -->` and `<!--
figures: end -->`; without results there is nothing between them. The README also has a comparison
with other parsers, whose published figures are below. Figures within sentences, of any page, are
listed in studies/quoted.toml with the results that they come from, and rewritten too.
"""

from __future__ import annotations

import json
import re
import sys
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from arcspan.files import atomic_write

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "studies" / "english" / "results.json"
FAST = ROOT / "studies" / "english" / "results-en-fast.json"
LARGE = ROOT / "studies" / "english" / "results-large.json"
# Titles of columns, and where results have the figure: a name, or names inside one another.
COLUMNS = {
    "sentences": "sentences",
    "LAS": "las",
    "UAS": "uas",
    "LAS, subtypes": "las_subtypes",
    "LAS, no punctuation": "las_words",
    "LAS, no capitals": "las_lower",
    "LAS, all capitals": "las_upper",
    "F1": "f1",
    "F1, rewritten": "rewritten",
    "both trees right": "lcm_both",
    "XPOS": "tag_accuracy",
    "UPOS": "upos_accuracy",
    "features": "conll18.UFeats",
    "lemmas": "conll18.Lemmas",
}
FROM_RAW = (
    "Tokens",
    "Words",
    "Sentences",
    "UPOS",
    "XPOS",
    "UFeats",
    "Lemmas",
    "UAS",
    "LAS",
    "MLAS",
    "BLEX",
)
BRIEF = (
    "sentences",
    "LAS",
    "LAS from raw text",
    "F1",
    "both trees right",
    "UPOS",
    "features",
    "lemmas",
)
# The README has these treebanks and columns, the model card all of them.
FIRST = {
    "en": ("gum dev", "ewt dev", "masc dev", "genia dev", "craft-ud test"),
    "en-fast": ("gum dev", "ewt dev", "masc dev"),
    "large": ("gum dev", "ewt dev", "masc dev"),
}
FIRST_COLUMNS = ("sentences", "LAS", "LAS from raw text", "F1", "both trees right")
OF_GENRES = (
    "sentences",
    "LAS",
    "LAS from raw text",
    "UAS",
    "F1",
    "both trees right",
    "XPOS",
    "UPOS",
)
EVERYTHING = COLUMNS | {"LAS from raw text": "raw.LAS"}
RULES = (
    "Attachment and lemmas are counted as the CoNLL 2018 scorer does (punctuation counts, subtypes do not), F1 as "
    "EVALB with the COLLINS rules, except that the gold tags decide what is punctuation; both trees are right where "
    "constituents and dependencies are, those of punctuation aside. Words are the treebank's, "
    "except for raw text. Each treebank is parsed in its own style. The dev parts chose the model; craft-ud test did "
    "not. Made by `studies/english/score.py`."
)
FIRST_RULES = (
    "LAS is counted as the CoNLL 2018 scorer does, with punctuation, F1 as EVALB does; each treebank is parsed in its "
    "own style. The dev parts chose the model; craft-ud test did not. Tags, lemmas, features, genres, the default "
    "style and the rules in full: [model card](docs/model-card.md). Made by `studies/english/score.py`."
)


# What other parsers publish: LAS as the CoNLL 2018 scorer counts it, on test parts.
PLACES = {
    "GUM, gold words": "gum dev.las",
    "GUM, raw text": "gum dev.raw.LAS",
    "EWT, gold words": "ewt dev.las",
    "EWT, raw text": "ewt dev.raw.LAS",
}
PEERS: tuple[tuple[str, tuple[float | None, ...], str], ...] = (
    (
        "UDPipe 2, mBERT, test",
        (92.14, 91.54, 92.36, 89.91),
        "[UD 2.17](https://github.com/ufal/udpipe/blob/udpipe-2/docs/models_ud217.md)",
    ),
    (
        "Stanza, large transformer, test",
        (None, None, 93.72, None),
        "[its code](https://github.com/stanfordnlp/stanza/blob/dev/stanza/models/parser.py), mean of 5 seeds",
    ),
    (
        "Stanza 1.5.1, no transformer, test",
        (None, 88.24, None, 86.77),
        "[UD 2.12](https://stanfordnlp.github.io/stanza/performance.html)",
    ),
    (
        "Trankit base, test",
        (None, 88.43, None, 87.96),
        "[UD 2.5](https://trankit.readthedocs.io/en/latest/performance.html)",
    ),
)


def comparison(models: dict[str, dict[str, Any]]) -> str:
    """The README's table of LAS beside other parsers, with the models that have results."""
    rows = [
        (
            f"arcspan `{name}`, dev",
            tuple(value(results["treebanks"], figure_path) for figure_path in PLACES.values()),
            "measured, `studies/english/score.py`",
        )
        for name, results in models.items()
    ]
    rows += PEERS
    lines = [f"| LAS | {' | '.join(PLACES)} | source |", "|---" + "|---:" * len(PLACES) + "|---|"]
    for name, figures, source in rows:
        lines.append(f"| {name} | {' | '.join(map(shown, figures))} | {source} |")
    return "\n".join(lines) + "\n"


def readme(models: dict[str, dict[str, Any]]) -> str:
    """The README's table: a line for each treebank and model."""
    rows = {
        f"{treebank}, `{name}`" if name != "en" else treebank: entry
        for name, results in models.items()
        for treebank, entry in results["treebanks"].items()
        if treebank in FIRST[name]
    }
    return f"{table('treebank', rows, FIRST_COLUMNS)}\n\n{FIRST_RULES}\n"


def model_card(results: dict[str, Any], others: list[dict[str, Any]]) -> str:
    """The model card's tables: all figures of treebanks, from their words and from raw text, and of
    genres.
    """
    model, treebanks = results["model"], results["treebanks"]
    raw = {name: entry for name, entry in treebanks.items() if "raw" in entry}
    parts = [
        f"Scores of the model `{model['name']}` ({model['system']}, {model['precision']}).",
        table("treebank", treebanks, tuple(COLUMNS)),
        RULES,
    ]
    if raw:
        parts += [
            "From raw text, with a blank line between paragraphs:",
            table("treebank", raw, FROM_RAW, "raw."),
        ]
    for name, entry in treebanks.items():
        if "genres" in entry:
            parts += [f"By genre, {name}:", table("genre", entry["genres"], OF_GENRES)]
        if "errors" in entry:
            parts += errors(name, entry["errors"])
    for other in others:
        parts += [
            f"Scores of the model `{other['model']['name']}`.",
            table("treebank", other["treebanks"], BRIEF),
        ]
    return "\n\n".join(parts) + "\n"


def errors(name: str, mistakes: dict[str, Any]) -> list[str]:
    """What is wrong most often in a treebank."""
    labels = ["| gold | predicted | constituents |", "|---|---|---:|"]
    labels += [
        f"| {gold_label} | {got} | {count:,} |" for gold_label, got, count in mistakes["labels"]
    ]
    relations = [
        "| gold relation | words | wrong head | right head, wrong relation |",
        "|---|---:|---:|---:|",
    ]
    relations += [
        f"| {relation} | {' | '.join(f'{n:,}' for n in counts)} |"
        for relation, *counts in mistakes["relations"]
    ]
    return [
        f"The most frequent errors, {name}. Constituents, with gold trees rewritten as in training; `(none)` where one "
        "tree has no constituent over these words:",
        "\n".join(labels),
        "Dependencies:",
        "\n".join(relations),
    ]


def table(
    title: str, rows: dict[str, dict[str, Any]], columns: tuple[str, ...], prefix: str = ""
) -> str:
    """A Markdown table with a line for each of the rows, without columns that no row has."""
    figure_paths = {column: prefix + column if prefix else EVERYTHING[column] for column in columns}
    shown_columns = [
        column
        for column in columns
        if any(value(row, figure_paths[column]) is not None for row in rows.values())
    ]
    lines = [
        f"| {title} | " + " | ".join(shown_columns) + " |",
        "|---" + "|---:" * len(shown_columns) + "|",
    ]
    for name, row in rows.items():
        lines.append(
            f"| {name} | "
            + " | ".join(shown(value(row, figure_paths[column])) for column in shown_columns)
            + " |"
        )
    return "\n".join(lines)


def value(row: dict[str, Any], figure_path: str) -> Any:
    """The figure at `place` of a row, None where it has none."""
    for name in figure_path.split("."):
        row = row.get(name) if isinstance(row, dict) else None  # type: ignore[assignment]
    return row


def shown(value: float | None) -> str:
    """A figure with one decimal, a count as it is."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.1f}"


def filled(page: str, name: str, section: str) -> str:
    """The page with this between its markers of a name."""
    markers = re.compile(rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)", re.DOTALL)
    if not markers.search(page):
        raise SystemExit(f"the page has no markers for {name}")
    inside = f"\n{section}\n" if section else ""
    return markers.sub(lambda match: f"{match[1]}{inside}{match[2]}", page)


def quotations() -> list[dict[str, Any]]:
    """The sentences of pages that quote figures; see studies/quoted.toml."""
    sentences: list[dict[str, Any]] = tomllib.loads(
        (ROOT / "studies" / "quoted.toml").read_text(encoding="utf-8")
    )["quoted"]
    return sentences


def quoted(page: str, sentence: dict[str, Any]) -> str:
    """The page with the figures of one sentence as the results have them; ValueError where it has
    no such sentence.
    """
    results = json.loads((ROOT / sentence["from"]).read_text(encoding="utf-8"))
    figures = [
        sentence.get("scale", 1) * reduce(getitem, figure_path.split("/"), results)
        for figure_path in sentence["places"]
    ]
    shown = iter(f"{figure:.{sentence.get('digits', 1)}f}" for figure in figures)
    # A sentence may be broken into lines anywhere.
    words = (
        re.escape(word).replace(r"\{\}", r"(\d+(?:\.\d+)?)") for word in sentence["text"].split()
    )
    match = re.search(r"\s+".join(words), page)
    if match is None:
        raise ValueError(f"{sentence['page']}: no such sentence: {sentence['text']}")
    spans = [match.span(k) for k in range(1, 1 + len(figures))]
    for (begin, end), text in reversed(list(zip(spans, shown, strict=True))):
        page = page[:begin] + text + page[end:]
    return page


def pages(path: Path = RESULTS, fast: Path = FAST, large: Path = LARGE) -> dict[Path, str]:
    """The pages as they should be, by the results in three files, which may be missing."""
    models = {
        name: json.loads(results_path.read_text(encoding="utf-8"))
        for name, results_path in (("en", path), ("en-fast", fast), ("large", large))
        if results_path.is_file()
    }
    first, card = ROOT / "README.md", ROOT / "docs" / "model-card.md"
    page = filled(first.read_text(encoding="utf-8"), "figures", readme(models) if models else "")
    others = [models[name] for name in ("en-fast", "large") if name in models]
    scores = model_card(models["en"], others) if "en" in models else ""
    return {
        first: filled(page, "comparison", comparison(models)),
        card: filled(card.read_text(encoding="utf-8"), "figures", scores),
    }


if __name__ == "__main__":
    for page, content in pages().items():
        with atomic_write(page) as file:
            file.write(content)
    for quotation in quotations():
        page = ROOT / quotation["page"]
        content = quoted(page.read_text(encoding="utf-8"), quotation)
        with atomic_write(page) as file:
            file.write(content)
