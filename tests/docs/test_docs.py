"""What the README and the documentation say is so: every code block runs, every file they name
exists.
"""

from __future__ import annotations

import importlib
import lzma
import re
import subprocess
import sys
from pathlib import Path

import pytest

import arcspan
from arcspan.treebanks import Pair, write_pairs
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.docs.blocks import Block, Page, blocks
from tests.toy import toy_pairs

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
HAS_MODEL = (ROOT / "src" / "arcspan" / "models" / "en" / "config.json").is_file()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the pages speak of: a small paired treebank, predictions of two parsers, a
    text.
    """
    names = {"train": 30, "dev": 10, "test": 10, "gold": 10, "a": 10, "b": 10}
    for name, count in names.items():
        pairs = toy_pairs(count, seed=2 if count == 10 else 1)
        if name in ("a", "b"):
            pairs = _spoilt(pairs, "obj" if name == "a" else "nsubj")
        write_pairs(pairs, tmp_path / f"{name}.ptb", tmp_path / f"{name}.conllu")
        for suffix in ("ptb", "conllu"):
            plain = tmp_path / f"{name}.{suffix}"
            (tmp_path / f"{plain.name}.xz").write_bytes(lzma.compress(plain.read_bytes()))
    (tmp_path / "text.txt").write_text(
        "Logic plays a maximal role here. Ada sees every tree.\n\nKurt often sees the old dog.\n",
        encoding="utf-8",
    )
    (tmp_path / "sentences.txt").write_text(
        "Logic plays a maximal role here .\nAda sees every tree .\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    # Another process that a page starts finds the package as this one does.
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    return tmp_path


def _spoilt(pairs: list[Pair], wrong: str) -> list[Pair]:
    """Predictions with one relation always wrong, and no adverb phrases."""
    spoilt = []
    for c, d in pairs:
        relations = ["dep" if relation == wrong else relation for relation in d.relations]
        spans = [span for span in c.spans if span[2] != "ADVP"]
        spoilt.append(
            Pair(
                ConstituencyTree(c.words, c.tags, spans),
                DependencyTree(d.heads, relations, d.words, d.tags, d.upos),
            )
        )
    return spoilt


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_block_of_a_page_runs(path: Path, folder: Path) -> None:
    page = Page(HAS_MODEL)
    for block in blocks(path):
        page.run(block)
    if page.left_out:
        pytest.skip(
            f"the package has no English model inside, which these need: {', '.join(page.left_out)}"
        )


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_file_that_a_page_names_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    mentioned = re.findall(
        r"(?<![\w/.-])((?:benchmarks|docs|scripts|src|studies|tests)/[\w./-]*\w)", text
    )
    mentioned += [
        str((path.parent / target).relative_to(ROOT))
        for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]*)?\)", text)
    ]
    # The model is the one thing that a checkout may be without.
    missing = sorted(
        {name for name in mentioned if not (ROOT / name).exists() and "models/en" not in name}
    )
    assert not missing


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_few_blocks_are_left_alone_and_each_says_why(path: Path) -> None:
    runnable = [block for block in blocks(path) if block.language in ("python", "console", "bash")]
    assert sum(not block.run for block in runnable) <= max(3, len(runnable) // 2)


def test_a_wrong_output_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ arcspan --version\narcspan, version 0\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="should print"):
        Page(has_model=False).run(next(blocks(page)))
    page.write_text("```python\n>>> 1 + 1\n3\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="Expected"):
        Page(has_model=False).run(next(blocks(page)))


def test_what_hangs_on_the_model_is_left_out_with_it(tmp_path: Path) -> None:
    page = Page(has_model=False)

    def block(code: str, language: str = "python") -> Block:
        return Block(tmp_path / "page.md", 1, language, "", code, True)

    page.run(block("parser = arcspan.load()\n"))
    page.run(block("trees = parser('Logic.')\n"))
    page.run(block("number = 1\n"))
    page.run(block("$ arcspan parse 'Logic.'\n", "console"))
    assert len(page.left_out) == 3
    assert page.namespace["number"] == 1


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "index.html").is_file()
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r"""(?:src|href)=["'](https?://[^"']+\.(?:js|css|woff2?))""", page)
    assert not loaded, "the site loads nothing from elsewhere"
    assert 'class="mermaid"' not in (tmp_path / "architecture" / "index.html").read_text(
        encoding="utf-8"
    )
    for room in ("trees", "treebanks", "decoding", "evaluation", "rendering", "training"):
        reference = (tmp_path / "reference" / room / "index.html").read_text(encoding="utf-8")
        package = importlib.import_module(f"arcspan.{room}")
        public = {name for name in package.__all__ if callable(getattr(package, name))}
        assert public <= set(re.findall(rf'id="arcspan\.{room}\.(?:\w+\.)?(\w+)"', reference))
    reference = (tmp_path / "reference" / "parser" / "index.html").read_text(encoding="utf-8")
    assert {*arcspan.__all__} - {"__version__"} <= set(
        re.findall(r'id="arcspan\.(\w+)"', reference)
    )
