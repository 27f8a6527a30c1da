"""Clients that misbehave: huge bodies, half bodies, no body, gone before the answer. The others
notice nothing.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from arcspan.parser import Parser, Sentence
from tests.serving.conftest import HeldParser, Running, Start

HALF = (
    b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b'Content-Length: 100\r\n\r\n{"text": '
)


def connect(server: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=300)


def read_answer(connection: socket.socket) -> tuple[int, dict[str, dict[str, object]]]:
    """The status and content of a refusal, after which the server closes the connection."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    assert answer.getheader("Connection") == "close"
    return answer.status, json.loads(answer.read())


def wait_until(met: Callable[[], bool]) -> None:
    """Ask until it is so; each condition here asks the server, which takes time enough."""
    for _ in range(5_000):
        if met():
            return
    raise AssertionError("never happened")


def test_a_body_that_says_it_is_50_megabytes_is_refused_before_it_is_sent(start: Start) -> None:
    server = start()
    with connect(server) as client:
        client.sendall(
            b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Expect: 100-continue\r\nContent-Length: 50000000\r\n\r\n"
        )
        status, answer = read_answer(client)
    assert status == 413
    assert answer["error"]["code"] == "body_too_large"


def test_a_client_that_sends_all_50_megabytes_still_reads_its_refusal(start: Start) -> None:
    server = start()
    before = server.metric("process_resident_memory_bytes")
    answer = server.client.post(
        "/parse", content=b" " * 50_000_000, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 413
    assert server.metric("process_resident_memory_bytes") - before < 200_000_000
    assert server.parse(text="Logic plays.").status_code == 200


def test_an_endless_body_without_a_length_is_cut_off(start: Start) -> None:
    server = start(max_body=100_000)
    with connect(server) as client:
        client.sendall(
            b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        piece = b"2710\r\n" + b" " * 10_000 + b"\r\n"
        for _ in range(12):
            client.sendall(piece)
        client.sendall(b"0\r\n\r\n")
        status, answer = read_answer(client)
    assert status == 413
    assert answer["error"]["code"] == "body_too_large"


def test_half_a_body_hurts_nobody_else_and_is_408_in_the_end(start: Start) -> None:
    server = start(body_time_limit=2)  # in which an honest body is surely sent
    hanging = [connect(server) for _ in range(20)]
    for client in hanging:
        client.sendall(HALF)
    assert server.parse(text="Logic plays a role.").status_code == 200
    for client in hanging:
        status, answer = read_answer(client)
        assert status == 408
        assert answer["error"]["code"] == "body_too_slow"
        client.close()
    assert server.metric("arcspan_reading") == 0


def test_a_client_that_says_nothing_hurts_nobody(start: Start) -> None:
    server = start()
    silent = [connect(server) for _ in range(20)]
    assert server.parse(text="Logic plays a role.").status_code == 200
    for client in silent:
        client.close()


def test_the_work_of_a_client_that_left_is_given_up(start: Start, held: HeldParser) -> None:
    server = start(held)
    body = json.dumps({"words": [["Logic", "plays"]] * 300}).encode()
    with connect(server) as client:
        client.sendall(
            b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        assert held.begun.acquire(timeout=300)
    wait_until(lambda: server.metric("arcspan_waiting") == 0)
    held.let_all_go()
    assert server.parse(text="Logic plays.").status_code == 200
    assert held.sizes == [36, 1]  # its share of the first batch, and nothing more
    assert server.metric('arcspan_requests_total{path="/parse",status="499"}') == 1


def test_clients_that_leave_do_not_each_leave_a_thread_behind(
    start: Start, toy_bundle: Path
) -> None:
    """Their texts were split all at once, and /health waited for seconds."""
    begun, go = threading.Semaphore(0), threading.Event()

    class Splitting(Parser):
        def split(self, text: str, *, one_sentence: bool = False) -> list[Sentence]:
            begun.release()
            assert go.wait(300)
            return super().split(text, one_sentence=one_sentence)

    server = start(Splitting(toy_bundle, threads=1))
    body = json.dumps({"text": "Logic plays. " * 1_000}).encode()
    head = (
        b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n"
    )
    for number in range(3):
        with connect(server) as client:
            client.sendall(head % len(body) + body)
            if number == 0:
                assert begun.acquire(timeout=300)
            wait_until(lambda: not server.metric("arcspan_reading"))
        wait_until(lambda: len(server.connections) == 1)  # that of /metrics
    for _ in range(20):
        assert server.client.get("/health").status_code == 200
    assert not begun.acquire(blocking=False)
    go.set()
    assert server.parse(text="Logic plays.").status_code == 200


@pytest.mark.parametrize(
    "text", [" " * 199_990 + "x", "a\n" + " " * 199_990 + "b", "(" * 200_000, ". " * 100_000]
)
def test_health_is_answered_while_a_hostile_text_is_split(start: Start, text: str) -> None:
    """One request of spaces stopped everything: a quadratic pattern keeps the lock of the
    interpreter.
    """
    server = start()
    answers: list[int] = []
    splitting = threading.Thread(target=lambda: answers.append(server.parse(text=text).status_code))
    splitting.start()
    with httpx.Client(
        base_url=server.url, timeout=60
    ) as other:  # a quadratic pattern takes minutes
        while splitting.is_alive():
            assert other.get("/health").status_code == 200
    assert answers and answers[0] in (200, 413, 503)


def test_more_requests_at_once_than_allowed_are_429(start: Start, held: HeldParser) -> None:
    server = start(held, max_waiting=1)
    answers: list[int] = []
    first = threading.Thread(
        target=lambda: answers.append(server.parse(text="Logic plays.").status_code)
    )
    first.start()
    assert held.begun.acquire(timeout=300)
    answer = server.parse(text="Logic plays.")
    assert answer.status_code == 429
    assert answer.json()["error"]["code"] == "too_busy"
    assert answer.headers["Retry-After"] == "1"
    assert server.client.get("/health").status_code == 200
    held.let_all_go()
    first.join(300)
    assert answers == [200]
    assert server.parse(text="Logic plays.").status_code == 200


def test_no_answer_in_time_is_503(start: Start, held: HeldParser) -> None:
    server = start(held, time_limit=0.2)
    answer = server.parse(text="Logic plays.")
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "out_of_time"
    assert answer.headers["Retry-After"] == "1"
    held.let_all_go()
    wait_until(lambda: server.parse(text="Logic plays.").status_code == 200)


def test_the_time_limit_ends_the_work(start: Start, held: HeldParser) -> None:
    """It ended the waiting only: all sentences were parsed, and their pictures drawn, for nobody."""
    server = start(held, time_limit=0.2, batch_sentences=3)
    answer = server.parse(words=[["Logic", "plays"]] * 300, svg=["wide"])
    assert answer.json()["error"]["code"] == "out_of_time"
    assert server.client.get("/health").status_code == 200
    wait_until(lambda: server.metric("arcspan_waiting") == 0)
    held.let_all_go()
    wait_until(lambda: server.parse(text="Logic plays.").status_code == 200)
    assert held.sizes[0] == 3
    assert set(held.sizes[1:]) == {1}


def status_for(server: Running, host: str, path: str = "/health") -> tuple[int, str]:
    answer = server.client.get(path, headers={"Host": host})
    code = answer.json()["error"]["code"] if answer.is_error else ""
    return answer.status_code, code


@pytest.mark.parametrize("path", ["/", "/health", "/metrics", "/parse", "/no/such/path"])
def test_on_loopback_a_foreign_host_is_refused(start: Start, path: str) -> None:
    """The page of a site whose name leads to 127.0.0.1 (DNS rebinding) could read the answers."""
    server = start()
    for host in (
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "192.0.2.1",
        "[::2]",
    ):
        assert status_for(server, host, path) == (403, "foreign_host")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:80",
        "a.localhost:8000",
        "127.0.0.1",
        "127.0.1.1:8000",
        "[::1]:8000",
        "",
    ],
)
def test_names_of_this_machine_are_answered(server: Running, host: str) -> None:
    assert status_for(server, host) == (200, "")


def test_hosts_that_are_named_are_answered(start: Start) -> None:
    server = start(hosts=("Trees.example",))
    assert status_for(server, "trees.example:443") == (200, "")
    assert status_for(server, "other.example") == (403, "foreign_host")


def test_on_a_network_any_host_is_answered(start: Start) -> None:
    """Its clients know it by names that it does not know itself."""
    server = start()
    assert server.app.is_local
    server.app.is_local = False
    assert status_for(server, "trees.example") == (200, "")
