"""Addresses, and the end: SIGTERM under load loses no request."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from arcspan.errors import ArcspanError
from arcspan.serving import bind
from tests.serving.conftest import HeldParser, Start
from tests.toy import toy_pairs


def test_an_address_that_is_taken_or_unknown_is_named() -> None:
    with bind("127.0.0.1", 0) as first:
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(
            ArcspanError, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"
        ):
            bind("127.0.0.1", port)
    with pytest.raises(ArcspanError, match=r"cannot listen on no\.such\.host\.invalid port 80"):
        bind("no.such.host.invalid", 80)


def test_a_server_told_to_stop_answers_what_it_has_taken(start: Start, held: HeldParser) -> None:
    server = start(held)
    answers: list[int] = []
    client = threading.Thread(target=lambda: answers.append(server.parse(text="Logic plays.").status_code))
    client.start()
    assert held.begun.acquire(timeout=30)
    server.server.should_exit = True
    while not server.gate.stopping:
        pass
    held.let_all_go()
    client.join(30)
    assert answers == [200]


def test_sigterm_under_load_loses_no_request(toy_bundle: Path) -> None:
    command = [sys.executable, "-m", "arcspan", "serve", "--port", "0", "--model", str(toy_bundle)]
    # Not a child's own choice of a port: it is read from what the server says.
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert "serving toy at http://127.0.0.1:" in said
        port = int(said.split(" (")[0].rpartition(":")[2])
        answered = threading.Semaphore(0)
        with ThreadPoolExecutor(16) as clients:
            loads = [clients.submit(load, port, place, answered) for place in range(16)]
            for _ in range(100):
                assert answered.acquire(timeout=30)
            process.send_signal(signal.SIGTERM)
            counts = [one.result(60) for one in loads]
        assert process.wait(30) == 0
        assert process.stderr.read() == ""
    assert sum(counts) >= 100


def load(port: int, place: int, answered: threading.Semaphore) -> int:
    """Ask on one connection after the other until the server listens no more; how often it answered.

    A connection that was made must bring a whole and right answer.
    """
    sentences = [pair.constituency.words for pair in toy_pairs(20, seed=place)]
    connection, count = http.client.HTTPConnection("127.0.0.1", port, timeout=30), 0
    while True:
        words = sentences[count % len(sentences)]
        if connection.sock is None:
            try:
                connection.connect()
            except ConnectionRefusedError:
                return count
        connection.request(
            "POST", "/parse", json.dumps({"words": words}), {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        content = json.loads(answer.read())
        assert answer.status == 200
        assert tuple(content["sentences"][0]["words"]) == words
        count += 1
        answered.release()
