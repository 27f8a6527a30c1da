"""Requests that schemathesis makes of the API's own description: no answer is a failure, or one it does not describe.

It runs where the program `schemathesis` is on the PATH; its pytest plugin need not be in this environment.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable

import pytest

from arcspan.parser import Parser
from arcspan.serving import create_app
from tests.fuzz.test_http import LIMITS
from tests.fuzz.test_text import TOY
from tests.serving.conftest import Running

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
EXAMPLES = 25  # for each operation, in each round


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    counts = Counter[str]()
    program = shutil.which("schemathesis")
    if program is None:
        return Counter({"rounds left out: schemathesis is not installed": 1})
    server = Running(create_app(Parser(TOY, threads=1), LIMITS))
    command = [
        program,
        "run",
        f"{server.url}/openapi.json",
        "--checks",
        CHECKS,
        "--no-color",
        "--no-shrink",
    ]
    command += [
        "--max-examples",
        str(EXAMPLES),
        "--phases",
        "examples,coverage,fuzzing",
        "--warnings",
        "off",
    ]
    try:
        for number, _ in enumerate(rounds):
            seeded_command = [*command, "--seed", str(seed + number)]
            with tempfile.TemporaryDirectory() as folder:  # for the files that it leaves
                done = subprocess.run(
                    seeded_command, capture_output=True, text=True, check=False, cwd=folder
                )
            assert done.returncode == 0, done.stdout[-5_000:] + done.stderr
            counts["requests"] += sum(map(int, re.findall(r"(\d+) generated", done.stdout)))
            assert server.client.get("/health").status_code == 200
        assert server.metric('arcspan_requests_total{path="/parse",status="500"}') == 0
    finally:
        server.stop()
    return counts


@pytest.mark.skipif(shutil.which("schemathesis") is None, reason="schemathesis is not installed")
def test_answers_are_those_that_the_description_promises() -> None:
    assert run(seed=1, rounds=range(1))
