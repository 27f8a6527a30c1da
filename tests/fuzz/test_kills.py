"""Kills of bulk parsing: `arcspan parse --resume` after SIGKILLs gives the same bytes as one quiet run."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.toy import toy_pairs

TOY = Path(__file__).parents[1] / "bundles" / "toy"
SETTINGS = [("--words", "brackets"), ("--words", "conllu"), ("--text", "json")]


def call(source: Path, out: Path, input_form: str, form: str) -> list[str]:
    options = ["--words"] if input_form == "--words" else []
    command = [
        sys.executable,
        "-m",
        "arcspan",
        "-q",
        "parse",
        "-m",
        str(TOY),
        str(source),
        "--resume",
        "--threads",
        "1",
    ]
    return [*command, *options, "-f", form, "-o", str(out)]


def run(seed: int, rounds: Iterable[object], sentences: int = 8_000) -> Counter[str]:
    rng, counts = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        source = work / "in.txt"
        lines = [" ".join(c.words) for c, _ in toy_pairs(500, seed=seed)]
        with source.open("w", encoding="utf-8") as file:
            file.writelines(
                f"{rng.choice(lines)}\n{rng.choice(('', '', chr(10)))}" for _ in range(sentences)
            )
        quiet_outputs: dict[str, tuple[bytes, float]] = {}
        for _ in rounds:
            input_form, form = rng.choice(SETTINGS)
            out = work / f"out.{form}"
            if form not in quiet_outputs:
                begin = time.monotonic()
                subprocess.run(call(source, out, input_form, form), check=True)
                quiet_outputs[form] = out.read_bytes(), time.monotonic() - begin
                counts["quiet runs"] += 1
            out.unlink(missing_ok=True)
            shutil.rmtree(work / ".arcspan", ignore_errors=True)
            expected, took = quiet_outputs[form]
            for _ in range(rng.randrange(1, 6)):
                with subprocess.Popen(call(source, out, input_form, form)) as process:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(timeout=rng.uniform(0, 1.2 * took))
                    process.kill()
                counts["kills" if process.returncode else "runs that were done before"] += 1
                assert out.exists() or process.returncode, "a run ended without its output"
            subprocess.run(call(source, out, input_form, form), check=True)
            assert out.read_bytes() == expected, f"{form}: other bytes after kills (seed {seed})"
            assert not [path for path in work.rglob("*") if path.suffix in (".part", ".draft")]
            counts["outputs"] += 1
    return counts


def test_a_run_that_is_killed_continues_as_if_nothing_had_happened() -> None:
    assert run(seed=1, rounds=range(1), sentences=2_000)["outputs"]
