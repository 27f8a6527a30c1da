"""The end of Python, and forks, while other threads are at work."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from arcspan.prediction import runner

PARSE_UNTIL_THE_END = """
import sys, threading
from arcspan.parser import Parser
parser, begun = Parser(sys.argv[1], threads=2), threading.Semaphore(0)
def work():
    while True:
        parser.parse(["Logic", "plays", "a", "maximal", "role"] * 4, confidence=True).confidence
        parser("Logic plays a maximal role here. " * 4)
        begun.release()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
for _ in range(4):
    begun.acquire()
"""

ASK_EVERYTHING = """
import sys
from arcspan.parser import MODELS, Parser
parser = Parser(MODELS / "en-fast", threads=2)
known = set(sys.modules)
text = "Logic plays a maximal role here. \\"Yes\\", he said, and what he did did n\u2019t matter \u2026"
for options in ({}, {"k": 3}, {"confidence": True}, {"require": [("span", 0, 2)]}):
    for found in parser(text, **options):
        for parse in found if isinstance(found, list) else [found]:
            parse.lemmas, parse.features, parse.confidence, parse.brackets(), parse.conllu()
list(parser.pipe([text, ["Logic", "plays"]]))
print(sorted(set(sys.modules) - known))
"""


def test_parsing_imports_nothing() -> None:
    """The first parse imported numpy.ma; where another thread forked meanwhile, the child waited
    for it forever.
    """
    done = subprocess.run(
        [sys.executable, "-c", ASK_EVERYTHING], capture_output=True, text=True, timeout=300
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_python_ends_while_daemon_threads_parse(toy_bundle: Path) -> None:
    """It aborted ("terminate called"), or a thread printed that pools take no more work."""
    command = [sys.executable, "-c", PARSE_UNTIL_THE_END, str(toy_bundle)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_imports_of_other_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forked process that imported the same module waited forever for a thread that it does not
    have.
    """
    (tmp_path / "slowly_imported.py").write_text(
        "import sys\nsys.begun.set()\nassert sys.go.wait(300)\nsum(range(3_000_000))\ndone = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    begun, go = threading.Event(), threading.Event()
    monkeypatch.setattr(sys, "begun", begun, raising=False)
    monkeypatch.setattr(sys, "go", go, raising=False)
    thread = threading.Thread(target=__import__, args=("slowly_imported",))
    thread.start()
    assert begun.wait(300)
    go.set()
    runner._finish_imports()  # what is done before every fork
    assert vars(sys.modules["slowly_imported"])["done"]
    thread.join(300)
