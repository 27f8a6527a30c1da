"""Addresses, and the end: SIGTERM under load loses no request."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from arcspan.errors import ArcspanError
from arcspan.serving import bind
from tests.serving.conftest import HeldParser, Start
from tests.serving.test_connections import HALF_HEAD, is_closed
from tests.serving.test_middleware import HALF, connect, wait_until
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
    with pytest.raises(ArcspanError, match="label too long"):
        bind("a" * 300, 80)


def test_a_server_told_to_stop_answers_what_it_has_taken(start: Start, held: HeldParser) -> None:
    server = start(held)
    answers: list[int] = []
    client = threading.Thread(
        target=lambda: answers.append(server.parse(text="Logic plays.").status_code)
    )
    client.start()
    assert held.begun.acquire(timeout=300)
    server.server.should_exit = True
    while not server.app.stopping:
        pass
    held.let_all_go()
    client.join(300)
    assert answers == [200]


def test_a_server_told_to_stop_waits_no_longer_than_its_grace_period(
    start: Start, held: HeldParser
) -> None:
    """Whatever the parser is busy with, and whatever half-sent requests there are."""
    server = start(held, grace=0.3, header_time_limit=1000, body_time_limit=1000)
    slow = [connect(server) for _ in range(2)]
    slow[0].sendall(HALF)
    answers: list[httpx.Response] = []
    client = threading.Thread(target=lambda: answers.append(server.parse(text="Logic plays.")))
    client.start()
    assert held.begun.acquire(timeout=300)
    server.stop()
    client.join(300)
    assert [answer.status_code for answer in answers] == [503]
    assert answers[0].json()["error"]["code"] == "stopping"
    assert all(is_closed(client) for client in slow)


@contextlib.contextmanager
def process(*options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`arcspan serve` in another process, and its port."""
    command = [sys.executable, "-m", "arcspan", "serve", "--port", "0", *options]
    # Not a child's own choice of a port: it is read from what the server says.
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=os.environ) as child:
        assert child.stderr is not None
        log = next(line for line in child.stderr if "serving toy at http://127.0.0.1:" in line)
        try:
            yield child, int(log.split(" (")[0].rpartition(":")[2])
        finally:
            child.kill()


def test_the_process_ends_though_a_long_search_runs(toy_bundle: Path) -> None:
    """SIGTERM took 90 seconds while four requests kept every thread busy."""
    with process("--model", str(toy_bundle), "--grace", "3") as (server, port):
        url = f"http://127.0.0.1:{port}"
        heavy = {"words": [["Logic", "plays"] * 150] * 250, "svg": ["wide", "tall"]}
        with ThreadPoolExecutor(4) as clients:
            answers = [
                clients.submit(httpx.post, f"{url}/parse", json=heavy, timeout=300)
                for _ in range(4)
            ]
            wait_until(
                lambda: "\narcspan_waiting 4.0\n" in httpx.get(f"{url}/metrics", timeout=300).text
            )
            server.send_signal(signal.SIGTERM)
            assert {answer.result().status_code for answer in answers} == {503}
        assert server.wait(60) == 0
        assert server.stderr is not None
        assert server.stderr.read() == ""


def test_with_256_file_descriptors_300_half_sent_requests_stop_nobody(toy_bundle: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        started = process("--model", str(toy_bundle))
        server, port = started.__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    try:
        halves = [socket.create_connection(("127.0.0.1", port), timeout=300) for _ in range(300)]
        for place, half in enumerate(halves):
            with contextlib.suppress(OSError):  # those that had to make room
                half.sendall((b"", HALF_HEAD, HALF)[place % 3])
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
            for _ in range(10):
                assert client.post("/parse", json={"words": ["Ada", "plays"]}).status_code == 200
        for _ in range(10):
            assert httpx.get(f"http://127.0.0.1:{port}/health", timeout=300).status_code == 200
        for half in halves:
            half.close()
        server.send_signal(signal.SIGTERM)
        assert server.wait(300) == 0
        assert server.stderr is not None
        assert server.stderr.read() == ""
    finally:
        started.__exit__(None, None, None)


def test_a_text_in_a_link_is_not_written_to_the_access_log(toy_bundle: Path) -> None:
    with process("--model", str(toy_bundle), "--access-log") as (server, port):
        assert httpx.get(f"http://127.0.0.1:{port}/?text=secret", timeout=300).status_code == 200
        server.send_signal(signal.SIGTERM)
        log = "".join(server.communicate(timeout=300))
    assert "secret" not in log
    assert '"GET / HTTP/1.1" 200' in log


def test_sigterm_under_load_loses_no_request(toy_bundle: Path) -> None:
    with process("--model", str(toy_bundle)) as (server, port):
        answered = threading.Semaphore(0)
        with ThreadPoolExecutor(16) as clients:
            loads = [clients.submit(load, port, seed, answered) for seed in range(16)]
            for _ in range(100):
                assert answered.acquire(timeout=300)
            server.send_signal(signal.SIGTERM)
            counts = [future.result(300) for future in loads]
        assert server.wait(300) == 0
        assert server.stderr is not None
        assert server.stderr.read() == ""
    assert sum(counts) >= 100


def load(port: int, seed: int, answered: threading.Semaphore) -> int:
    """Ask on one connection after the other until the server listens no more; how often it
    answered.

    A connection that was made must bring a whole and right answer.
    """
    sentences = [pair.constituency.words for pair in toy_pairs(20, seed=seed)]
    connection, count = http.client.HTTPConnection("127.0.0.1", port, timeout=300), 0
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
