"""Clients that keep the server waiting lose their connections; the others notice nothing."""

from __future__ import annotations

import http.client
import json
import select
import socket

import pytest

from arcspan.serving import Settings, connections
from tests.serving.conftest import HeldParser, Running, Start
from tests.serving.test_middleware import HALF, connect, read_answer, wait_until

HALF_HEAD = b"POST /parse HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


def is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(1_000) == b""
    except ConnectionResetError:
        return True


def ask_health(client: socket.socket) -> None:
    client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = http.client.HTTPResponse(client)
    answer.begin()
    assert (answer.status, json.loads(answer.read())["status"]) == (200, "ok")


def test_a_request_may_name_its_whole_address(server: Running) -> None:
    """As to a proxy; it was answered 404."""
    for target, media_type in (
        ("http://x/health", "application/json"),
        ("HTTP://x:80", "text/html"),
    ):
        with connect(server) as client:
            client.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            answer = http.client.HTTPResponse(client)
            answer.begin()
            assert answer.status == 200
            assert answer.headers.get_content_type() == media_type


def test_half_sent_headers_are_408_however_slowly_they_go_on(start: Start) -> None:
    """They were never timed out."""
    server = start(header_time_limit=0.5)
    with connect(server) as client:
        client.sendall(HALF_HEAD)
        while not select.select([client], [], [], 0.05)[0]:
            client.sendall(b"a")
        status, answer = read_answer(client)
        assert status == 408
        assert answer["error"]["code"] == "head_too_slow"
        assert is_closed(client)


def test_the_headers_of_a_second_request_have_their_time_too(start: Start) -> None:
    server = start(header_time_limit=2)  # in which the first request is surely sent
    with connect(server) as client:
        ask_health(client)
        client.sendall(HALF_HEAD)
        assert read_answer(client)[0] == 408


def test_a_connection_that_is_silent_is_closed(start: Start) -> None:
    with connect(start(header_time_limit=0.3)) as client:
        assert is_closed(client)
    with connect(start(idle_time_limit=0.3)) as client:
        ask_health(client)
        assert is_closed(client)


def test_what_is_not_http_is_400_in_the_one_format(server: Running) -> None:
    with connect(server) as client:
        client.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        status, answer = read_answer(client)
    assert (status, answer["error"]["code"]) == (400, "bad_request")


def test_a_broken_chunk_of_a_body_is_400_in_the_one_format(server: Running) -> None:
    with connect(server) as client:
        client.sendall(
            b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        client.sendall(b"2\r\n{}\r\nnot a length\r\n")
        status, answer = read_answer(client)
        assert (status, answer["error"]["code"]) == (400, "bad_request")
        assert is_closed(client)


def test_requests_on_one_connection_are_answered_in_order(server: Running) -> None:
    """Also where a request's own answer is 400, which is not the end of the connection."""
    paths = ["/health", "/parse", "/health"]
    with connect(server) as client, client.makefile("rb") as answers:
        for path in paths:
            method = "POST" if path == "/parse" else "GET"
            client.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        statuses = []
        for _ in paths:
            statuses.append(int(answers.readline().split()[1]))
            headers = http.client.parse_headers(answers)
            answers.read(int(headers["Content-Length"]))
    assert statuses == [200, 400, 200]


def test_two_lengths_of_one_body_are_refused_and_the_connection_is_closed(server: Running) -> None:
    """A proxy that believes the other one would take the rest of the body for the next request."""
    with connect(server) as client:
        client.sendall(
            b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        )
        status, answer = read_answer(client)
        assert (status, answer["error"]["code"]) == (400, "bad_request")
        assert is_closed(client)


@pytest.mark.parametrize("limit", ["max_connections", "max_client_connections"])
@pytest.mark.parametrize("sent", [b"", HALF_HEAD, HALF])
def test_new_clients_find_room_where_others_keep_the_server_waiting(
    start: Start, limit: str, sent: bytes
) -> None:
    server = start(**{limit: 4})
    waiting = []
    for number in range(10):
        waiting.append(connect(server))
        waiting[-1].sendall(sent)
        wait_until(lambda number=number: len(server.connections) >= min(4, number + 1))  # type: ignore[misc]
    assert server.parse(text="Logic plays a role.").status_code == 200
    assert all(is_closed(client) for client in waiting[:6])
    for client in waiting:
        client.close()


def test_a_client_that_was_answered_stays_longest(start: Start) -> None:
    server = start(max_client_connections=4)
    assert server.client.get("/health").status_code == 200
    (healthy,) = server.connections
    waiting = [connect(server) for _ in range(10)]
    wait_until(lambda: is_closed(waiting[0]))
    assert server.client.get("/health").status_code == 200
    assert healthy in server.connections
    for client in waiting:
        client.close()


def test_where_all_are_worked_on_the_next_is_refused(start: Start, held: HeldParser) -> None:
    server = start(held, max_connections=1)
    with connect(server) as working:
        body = b'{"text": "Logic plays."}'
        working.sendall(
            b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body)
        )
        assert held.begun.acquire(timeout=300)
        with connect(server) as client:
            status, answer = read_answer(client)
            assert (status, answer["error"]["code"]) == (503, "too_many_connections")
        held.let_all_go()
        assert working.recv(20).startswith(b"HTTP/1.1 200")


def test_a_client_that_does_not_read_its_answer_is_cut_off(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "DRAIN_SECONDS", 0.2)
    server = start()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect(("127.0.0.1", server.port))
        wait_until(lambda: bool(server.connections))
        (connection,) = server.connections
        connection.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096
        )
        client.sendall(b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        wait_until(
            lambda: server.client.get("/health").is_success and connection not in server.connections
        )


def test_file_descriptors_limit_connections_too() -> None:
    resource = pytest.importorskip("resource")
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert connections.connection_limit(Settings(max_connections=3)) == 3
    assert 0 < connections.connection_limit(Settings(max_connections=1 << 40)) < allowed
