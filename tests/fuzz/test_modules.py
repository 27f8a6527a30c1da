"""Bundles whose settings name modules, anywhere: loading and fine-tuning import none of them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from arcspan.errors import ArcspanError
from arcspan.parser import Parser
from tests.fuzz.test_bundles import BUNDLES, WORDS, _places, _seal

MODULE = "arcspan_fuzz_part"
FLAG = "imported.txt"
CODE = f"from pathlib import Path\nPath({FLAG!r}).write_text('this code has run')\nPart = object\n"
NAMES = (f"{MODULE}:Part", f"bundle.{MODULE}:Part", f"{MODULE}.py", MODULE, f"{MODULE}:os.system")
# Fields that name parts in a bundle, or that training keeps in it.
FIELDS = (
    ("decoder",),
    ("search",),
    ("training", "model", "loss"),
    ("training", "model", "decoder"),
    ("training", "model", "scorers", "span"),
    ("training", "model", "scorers", "arc"),
    ("training", "encoder", "kind"),
    ("training", "encoder", "path"),
    ("training", "model", "start"),
)


def name_modules(config: dict[str, Any], rng: random.Random) -> None:
    """Name a module in fields that parts have, or in any other place."""
    for _ in range(rng.randrange(1, 4)):
        name = rng.choice(NAMES)
        if rng.random() < 0.3:
            holder, key = rng.choice(list(_places(config)))
            holder[key] = name
            continue
        *path, field = rng.choice(FIELDS)
        holder = config
        for key in path:
            # Whatever stood there before.
            if not isinstance(holder.get(key), dict):
                holder[key] = {}
            holder = holder[key]
        holder[field] = name


def attempt(rng: random.Random, folder: Path) -> str:
    """Load a bundle that names modules, and start from it; the current folder is beside it."""
    from arcspan.training.starting import load_start

    bundle = folder / "bundle"
    shutil.copytree(rng.choice(BUNDLES), bundle)
    config = json.loads((bundle / "config.json").read_text(encoding="utf-8"))
    name_modules(config, rng)
    (bundle / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (bundle / f"{MODULE}.py").write_text(CODE)
    (folder / f"{MODULE}.py").write_text(CODE)
    # Sometimes the module is one of the bundle's own files.
    _seal(bundle, "config.json", *rng.choice(((), (f"{MODULE}.py",))))
    outcome = "loaded"
    try:
        Parser(bundle, threads=1).parse(WORDS)
    except ArcspanError:
        outcome = "refused"
    with contextlib.suppress(ArcspanError):
        load_start(str(bundle))
    assert not list(folder.rglob(FLAG)), "the module was imported"
    assert not [name for name in sys.modules if MODULE in name]
    return outcome


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    """Load bundles that name modules and count what happened."""
    rng, counts = random.Random(seed), Counter[str]()
    current_folder = os.getcwd()
    for _ in rounds:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                counts[attempt(rng, Path(folder))] += 1
            finally:
                os.chdir(current_folder)
    return counts


def test_no_module_that_a_bundle_names_is_imported() -> None:
    pytest.importorskip("torch")
    assert run(seed=1, rounds=range(40))["refused"]
