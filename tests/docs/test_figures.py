"""The tables of the README and the model card are made from measured results, and only from them."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENTRY = {
    "sentences": 1575,
    "las": 86.123,
    "uas": 88.0,
    "f1": 85.5,
    "tag_accuracy": 95.5,
    "lcm_both": 40.0,
}
OTHERS = ("docs/study.md", "docs/train.md")  # made from results as a whole; examples of training
# Figures that others have published.
FOREIGN = ("spaCy's small English model", "constituency parsers that were trained")
WORDS = {"sentences": 9, "f1": 90.0}
RESULTS: dict[str, Any] = {
    "model": {"name": "en", "system": "joint2o", "precision": "fp16"},
    "treebanks": {
        "gum dev": {
            **ENTRY,
            "genres": {"news": {**ENTRY, "sentences": 64}},
            "raw": {"LAS": 84.26, "Words": 99.5},
        },
        "masc dev": WORDS,
    },
}


@pytest.fixture
def figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "readme_figures", ROOT / "studies" / "readme_figures.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_have_the_figures_of_the_results_file(figures: ModuleType) -> None:
    for page, content in figures.pages().items():
        assert page.read_text(encoding="utf-8") == content, "run studies/readme_figures.py"


def test_sentences_quote_the_figures_of_their_results(figures: ModuleType) -> None:
    for quotation in figures.quotations():
        page = (ROOT / quotation["page"]).read_text(encoding="utf-8")
        assert figures.quoted(page, quotation) == page, (
            f"{quotation['page']}: run studies/readme_figures.py"
        )


def test_scores_in_sentences_are_listed_with_their_results(figures: ModuleType) -> None:
    """A sentence with LAS, UAS or F1 and a figure is another program's, or in studies/quoted.toml."""
    listed: dict[str, list[str]] = {quotation["page"]: [] for quotation in figures.quotations()}
    for quotation in figures.quotations():
        listed[quotation["page"]].append(
            re.sub(r"\s+", " ", quotation["text"]).split("{}")[0].strip()
        )
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]:
        name = str(path.relative_to(ROOT))
        text = re.sub(
            r"```.*?```|<!-- (\w+): begin -->.*?<!-- \1: end -->",
            "",
            path.read_text("utf-8"),
            flags=re.DOTALL,
        )
        for sentence in re.split(r"(?<=[.;:])\s|\n\n|\n[|-]", text):
            sentence = re.sub(r"\s+", " ", sentence)
            if name in OTHERS or not re.search(
                r"\b(LAS|UAS|F1)\b.*\b\d\d\.\d|\b\d\d\.\d.*\b(LAS|UAS|F1)\b", sentence
            ):
                continue
            is_listed = any(begin in sentence for begin in listed.get(name, []))
            assert is_listed or any(words in sentence for words in FOREIGN), f"{name}: {sentence}"


def test_a_figure_that_differs_is_mended_and_a_sentence_that_is_gone_is_named(
    figures: ModuleType,
) -> None:
    quotation = next(
        quotation
        for quotation in figures.quotations()
        if quotation["page"] == "docs/parse.md" and "LAS" in quotation["text"]
    )
    right = (ROOT / quotation["page"]).read_text(encoding="utf-8")
    begin = quotation["text"].split("{}")[0]
    wrong = re.sub(rf"({begin})\d+\.\d+", r"\g<1>12.34", right)
    assert wrong != right and figures.quoted(wrong, quotation) == right
    with pytest.raises(ValueError, match=r"docs/parse.md: no such sentence"):
        figures.quoted(right.replace("LAS changes", "LAS went"), quotation)


def test_results_become_tables(figures: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(RESULTS), encoding="utf-8")
    none = tmp_path / "none.json"
    readme, card = figures.pages(path, none, none).values()
    assert "| treebank | sentences | LAS | LAS from raw text | F1 | both trees right |" in readme
    assert "| gum dev | 1,575 | 86.1 | 84.3 | 85.5 | 40.0 |" in readme
    assert "| masc dev | 9 | - | - | 90.0 | - |" in readme
    assert "| gum dev | 1,575 | 86.1 | 88.0 | 85.5 | 40.0 | 95.5 |" in card
    assert "| treebank | Words | LAS |\n|---|---:|---:|\n| gum dev | 99.5 | 84.3 |" in card
    assert "| news | 64 | 86.1 | 88.0 |" in card
    without = figures.pages(none, none, none)[ROOT / "README.md"]
    assert figures.filled(
        figures.filled(readme, "figures", ""), "comparison", ""
    ) == figures.filled(without, "comparison", "")


def test_the_other_models_stand_beside_it(figures: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(RESULTS), encoding="utf-8")
    readme, card = figures.pages(path, path, path).values()
    for name in ("", ", `en-fast`", ", `large`"):
        assert f"| gum dev{name} | 1,575 | 86.1 |" in readme
    assert card.count("| gum dev | 1,575 | 86.1 |") == 3


def test_the_comparison_has_our_figures_where_they_were_measured(figures: ModuleType) -> None:
    alone, beside = figures.comparison({}), figures.comparison({"en": RESULTS})
    assert (
        "arcspan" not in alone
        and "| UDPipe 2, mBERT, test | 92.1 | 91.5 | 92.4 | 89.9 | [UD 2.17]" in alone
    )
    assert "| arcspan `en`, dev | 86.1 | 84.3 | - | - | measured" in beside


def test_the_model_card_is_about_the_model_inside() -> None:
    path = ROOT / "src" / "arcspan" / "models" / "en" / "config.json"
    if not path.is_file():
        pytest.skip("the package has no English model inside")
    config = json.loads(path.read_text(encoding="utf-8"))
    card = (ROOT / "docs" / "model-card.md").read_text(encoding="utf-8")
    systems = {"sep": "SEP", "mtl": "MTL", "joint1o": "Joint1o", "joint2o": "Joint2o"}
    weights = {
        "fp16": "half precision",
        "fp32": "single precision",
        "int8": "whole numbers of 8 bits",
    }
    assert f"| system | {systems[config['system']]}:" in card
    assert f"| licence | {config['licence']} " in card
    assert f"**{config['licence']}**" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"weights in {weights[config['precision']]}" in card


def test_without_results_there_are_no_figures(figures: ModuleType, tmp_path: Path) -> None:
    for content in figures.pages(*[tmp_path / "none.json"] * 3).values():
        assert "<!-- figures: begin -->\n<!-- figures: end -->" in content
