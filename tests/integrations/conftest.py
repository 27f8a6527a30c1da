"""The toy model, which every integration parses with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from arcspan.parse import Parse
from arcspan.parser import Parser, Sentence

BUNDLE = Path(__file__).resolve().parents[1] / "bundles" / "toy"


@pytest.fixture(scope="session")
def bundle() -> Path:
    """The folder of a small model that knows a toy grammar."""
    return BUNDLE


@pytest.fixture(scope="session")
def parser(bundle: Path) -> Parser:
    return Parser(bundle, threads=1)


@pytest.fixture(scope="session")
def whole_rows(parser: Parser) -> Parse:
    """A parse as of a model that predicts lemmas and features, too."""
    words = ("Ada", "sees", "trees")
    prediction = parser.parse(words).prediction.named(words)
    more = {
        "lemma": ("Ada", "see", "tree"),
        "feature": ("Number=Sing", "", "Case=Acc|Number=Plur"),
    }
    return Parse(Sentence(words), replace(prediction, words={**prediction.words, **more}))
