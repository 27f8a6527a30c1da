"""Install hints work for whoever reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arcspan import errors
from arcspan.errors import MissingExtraError

ROOT = Path(__file__).resolve().parents[1]


class Installed:
    """A distribution that pip installed from a place."""

    def __init__(self, url: str | None) -> None:
        self.url = url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.url is None else json.dumps({"url": self.url})


def test_in_a_checkout_the_hint_installs_the_checkout() -> None:
    assert str(MissingExtraError("training", "train")) == (
        f"training needs packages that are not installed: pip install -e '{ROOT}[train]'"
    )


@pytest.mark.parametrize("kind", ["folder", "index", "gone", "git"])
def test_elsewhere_the_hint_names_what_arcspan_was_installed_from(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a checkout"
    folder.mkdir()
    urls = {
        "folder": folder.as_uri(),
        "index": None,
        "gone": (tmp_path / "none").as_uri(),
        "git": "https://example.org/arcspan.git",
    }
    monkeypatch.setattr(
        errors, "__file__", str(tmp_path / "site-packages" / "arcspan" / "errors.py")
    )
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed(urls[kind]))
    source = f"'{folder}[serve]'" if kind == "folder" else "'arcspan[serve]'"
    assert str(MissingExtraError("serving", "serve")).endswith(f"pip install {source}")
