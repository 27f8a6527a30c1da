"""Damaged and forged model bundles: an error that says what is wrong, or a parser whose trees are trees."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from arcspan.errors import ArcspanError, BundleError
from arcspan.parser import MODELS, Parser
from arcspan.runtime.bundle import SEGMENTER

TESTS = Path(__file__).parents[1]
BUNDLES = (TESTS / "bundles/toy", TESTS / "runtime/bundles/joint2o")  # of words, and of pieces
WORDS = ["Ada", "sees", "every", "tree", "."]
TEXT = "Ada sees every tree. 中 \u07ff can't."
VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**63,
    0.5,
    math.nan,
    math.inf,
    "",
    "x",
    "../x",
    "NP",
    [],
    [None],
    ["x"],
    {},
    {"x": 1},
]


def add_segmenter(folder: Path) -> None:
    """Give the bundle the segmenter of another one."""
    for name in SEGMENTER:
        shutil.copy(MODELS / "en" / name, folder / name)
    _seal(folder, *SEGMENTER)


def _seal(folder: Path, *names: str) -> None:
    """Make the checksums of these files right."""
    sums = json.loads((folder / "checksums.json").read_text(encoding="utf-8"))
    sums |= {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / "checksums.json").write_text(json.dumps(sums), encoding="utf-8")


def damage(folder: Path, rng: random.Random) -> str:
    """Spoil one file of a bundle; returns what was done."""
    file = rng.choice(sorted(folder.iterdir()))
    change = rng.choice(("flip", "cut", "append", "delete", "empty"))
    data = bytearray(file.read_bytes())
    if change == "delete":
        file.unlink()
        return f"{change} {file.name}"
    if change == "flip":
        for _ in range(rng.randrange(1, 20)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif change == "cut":
        del data[rng.randrange(len(data)) :]
    elif change == "append":
        data += rng.randbytes(rng.randrange(1, 100))
    else:
        data.clear()
    file.write_bytes(data)
    return f"{change} {file.name}"


def forge(folder: Path, rng: random.Random) -> str:
    """Change values of the configuration, and make the checksums right again."""
    other_files = [name for name in (SEGMENTER[0], "tokenizer.json") if (folder / name).exists()]
    path = folder / rng.choice(("config.json",) * 9 + ("checksums.json",) + tuple(other_files * 9))
    content = json.loads(path.read_text(encoding="utf-8"))
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        holder, key = rng.choice(list(_places(content)))
        change = rng.choice(("replace", "delete", "cut", "double"))
        value = holder[key]
        if change == "delete":
            del holder[key]
        elif change == "cut" and isinstance(value, list):
            del value[rng.randrange(len(value) + 1) :]
        elif change == "double" and isinstance(value, list):
            value += value
        else:
            holder[key] = copy.deepcopy(
                rng.choice(VALUES)
            )  # a value that is shared would be changed, and hold itself
        done.append(
            f"{change} {key!r} {holder[key]!r}"[:80] if change == "replace" else f"{change} {key!r}"
        )
        if not list(_places(content)):
            break
    path.write_text(json.dumps(content), encoding="utf-8")
    if path.name != "checksums.json":
        _seal(folder, path.name)
    return f"{path.name}: {'; '.join(done)}"


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every key of every object and every index of every list, however deep."""
    unvisited = [content]
    while unvisited:
        holder = unvisited.pop()
        if isinstance(holder, dict | list):
            for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
                yield holder, key
                unvisited.append(holder[key])


def attempt(folder: Path) -> str:
    """Load and parse; what came of it."""
    try:
        parser = Parser(folder, threads=1)
    except BundleError:
        return "refused"
    try:
        parse = parser.parse(WORDS)
        texts = parser(TEXT)
    except ArcspanError:  # only a sentence shows that a vocabulary is larger than its graph's
        return "refused at a sentence"
    assert parse.words == tuple(WORDS) and len(parse.dependencies.heads) == len(WORDS)
    assert math.isfinite(parse.score)
    assert parse.brackets() and parse.conllu()
    in_words = {
        offset
        for text_parse in texts
        for start, end in text_parse.offsets or ()
        for offset in range(start, end)
    }
    assert all(offset in in_words or TEXT[offset] == " " for offset in range(len(TEXT)))
    return "harmless"


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    rng, counts = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as work:
        for _ in rounds:
            folder = Path(work) / "bundle"
            shutil.copytree(rng.choice(BUNDLES), folder)
            if rng.random() < 0.3:
                add_segmenter(folder)
            how = rng.choice((damage, forge))
            changes = how(folder, rng)
            try:
                counts[f"{'damaged' if how is damage else 'forged'} {attempt(folder)}"] += 1
            except Exception as error:
                raise AssertionError(f"{changes}: {type(error).__name__}: {error}") from error
            shutil.rmtree(folder)
    return counts


def test_damaged_bundles_are_read_or_refused() -> None:
    assert sum(run(seed=1, rounds=range(60)).values())
