"""Hostile requests: each is answered or cut off, none by a failure, and honest clients notice nothing."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import random
import select
import socket
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import httpx

from arcspan.parser import Parser
from arcspan.serving import Settings, create_app
from tests.fuzz.test_text import TOY, draw
from tests.serving.conftest import Running

HONEST = "Logic plays a maximal role here. Ada sees every tree."
LIMITS = Settings(
    time_limit=600,  # to parse; what is not sent in time is closed much sooner
    max_body=20_000,
    max_text=5_000,
    max_sentences=50,
    max_words=60,
    max_words_beyond=30,
    max_answer=2_000_000,
    max_connections=40,
    max_waiting=16,
)
SENDING_SECONDS = 1.0  # for a head or a body, and between two requests
FIELDS = (
    "text",
    "words",
    "k",
    "confidence",
    "svg",
    "require",
    "forbid",
    "style",
    "one_sentence",
    "width",
    "find",
    "",
    "__proto__",
)
ATOMS = [
    *(None, True, False, 0, 1, 2, -1, 10**30, 1e308, -0.0, math.nan, math.inf, "", " ", "a", "wide", "tall", "arc"),
    *("span", "root", "head", "NP", "\x00", "\u202e", "\ud800", "\U0010ffff", "<svg onload=x>", "Ada sees", "x" * 900),
    *("NP < (", "__=a .. (__=b .. __=c)", "/(a|aa)*b/", "{upos:NOUN} >det {}", "!" * 300),
]  # fmt: skip
HEADERS = [
    *(b"Content-Length: -1", b"Content-Length: 99999999999", b"Content-Length: 5, 6", b"Content-Length: x"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Expect: 100-continue", b"Upgrade: h2c"),
    *(b"Connection: close", b"Connection: upgrade", b"Host: \xff"),
    b"Host: evil.example:80",
    *(b"Authorization: Bearer \xe9", b"Accept: ;q=,,;q=9"),
    *(b"Accept: text/x-conllu;q=1e9", b"X: " + b"y" * 70_000, b": no name", b"A\x00: b", b"Range: bytes=0-"),
]  # fmt: skip
METHODS = [
    b"POST",
    b"POST",
    b"POST",
    b"GET",
    b"HEAD",
    b"PUT",
    b"OPTIONS",
    b"CONNECT",
    b"\x00",
    b"P\xffST",
    b"get",
]
PATHS = [
    b"/parse",
    b"/parse",
    b"/parse",
    b"/health",
    b"/metrics",
    b"/",
    b"/?text=x",
    b"//",
    b"*",
    b"/%00",
    b"/../etc",
    b"\xff",
]


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    rng, counts = random.Random(seed), Counter[str]()
    failures = logging.getLogger("arcspan.serving")
    parser = Parser(TOY, threads=1)
    server = Running(create_app(parser, _limits(parser)))
    # A connection that is kept may be closed, for its silence, just when the next request is sent.
    server.client = httpx.Client(
        base_url=server.url, timeout=600, limits=httpx.Limits(max_keepalive_connections=0)
    )
    expected = [parse.brackets() for parse in parser(HONEST)]
    try:
        for _ in rounds:
            _check_texts(rng, server, parser, counts)
            _check_bodies(rng, server, counts)
            _check_bytes(rng, server, counts)
            slow = _Slow(rng, server)
            honest = server.parse(text=HONEST)
            assert honest.status_code == 200, (honest.status_code, honest.text)
            assert [sentence["brackets"] for sentence in honest.json()["sentences"]] == expected
            assert server.client.get("/health").status_code == 200
            counts["honest requests"] += 2
            counts.update(slow.finish())
        assert server.metric('arcspan_requests_total{path="/parse",status="500"}') == 0, failures
    finally:
        server.stop()
    return counts


def _limits(parser: Parser) -> Settings:
    """Time limits for clients that get as little of a busy machine as this process does."""
    begun, used = time.monotonic(), time.process_time()
    parser.parse(["Ada", "sees"], k=3, confidence=True)  # which compiles everything
    slow = max(1.0, (time.monotonic() - begun) / max(0.001, time.process_time() - used))
    names = ("header_time_limit", "body_time_limit", "idle_time_limit")
    limits: dict[str, Any] = dict.fromkeys(names, slow * SENDING_SECONDS)
    return replace(LIMITS, **limits)


def _check_texts(rng: random.Random, server: Running, parser: Parser, counts: Counter[str]) -> None:
    """What the parser says of a hostile text is what the server says."""
    text = draw(rng)[: LIMITS.max_text]
    answer = server.parse(
        text=text, k=rng.choice((1, 1, 3)), confidence=rng.random() < 0.3, svg=["tall"]
    )
    longest = max((len(sentence.words) for sentence in parser.split(text)), default=0)
    if longest > LIMITS.max_words:
        assert answer.status_code == 413, (text, answer.text)
    else:
        assert answer.status_code == 200, (text, answer.text)
        answered = [
            (answered_sentence["brackets"], answered_sentence["offsets"])
            for answered_sentence in answer.json()["sentences"]
        ]
        assert answered == [
            (p.brackets(), [list(o) for o in p.offsets or ()]) for p in parser(text)
        ], text
    counts["texts"] += 1


def _check_bodies(rng: random.Random, server: Running, counts: Counter[str]) -> None:
    """JSON that is wrong, or almost right."""
    for _ in range(10):
        request = {rng.choice(FIELDS): _value(rng) for _ in range(rng.randrange(4))}
        request |= rng.choice(({}, {"text": "Ada sees."}, {"words": ["Ada", "sees", "trees"]}))
        body = json.dumps(request).encode()
        if rng.random() < 0.3:
            body = _damaged(rng, body)
        answer = server.client.post(
            "/parse", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code in (200, 400, 413), (body, answer.status_code, answer.text)
        assert (answer.status_code == 200) != ("error" in answer.json()), body
        counts[f"bodies answered {answer.status_code}"] += 1


def _value(rng: random.Random, depth: int = 0) -> Any:
    if depth < 3 and rng.random() < 0.5:
        return [_value(rng, depth + 1) for _ in range(rng.choice((0, 1, 2, 3, 3, 4, 70)))]
    if depth < 3 and rng.random() < 0.1:
        return {"a": _value(rng, depth + 1)}
    return rng.choice(ATOMS)


def _damaged(rng: random.Random, data: bytes) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        position = rng.randrange(len(damaged) + 1)
        damaged[position : position + rng.randrange(3)] = bytes(
            rng.randrange(256) for _ in range(rng.randrange(3))
        )
    return bytes(damaged)


def _check_bytes(rng: random.Random, server: Running, counts: Counter[str]) -> None:
    """What is not HTTP, or only half of it: an answer that is no failure, or a closed connection."""
    sent = []
    for _ in range(20):
        body = rng.choice(
            (b"", b'{"text": "Ada sees."}', b'{"words": ["Ada"', b"5\r\nhello\r\n0\r\n\r\n")
        )
        head = [
            b"%s %s HTTP/1.%d"
            % (rng.choice(METHODS), rng.choice(PATHS), rng.choice((0, 1, 1, 1, 7)))
        ]
        head += [
            rng.choice((b"Host: localhost", b"Host: 127.0.0.1:80", b"Host: x")),
            b"Content-Type: application/json",
            *rng.sample(HEADERS, rng.randrange(3)),
        ]
        if rng.random() < 0.7:
            head.append(b"Content-Length: %d" % len(body))
        data = b"\r\n".join(head) + b"\r\n\r\n" + body
        if rng.random() < 0.4:
            data = _damaged(rng, data)
        data = data[
            : rng.choice((len(data), len(data), rng.randrange(len(data) + 1)))
        ] * rng.choice((1, 1, 1, 3))
        client = socket.create_connection(("127.0.0.1", server.port), timeout=600)
        sent.append((client, data))
        try:
            client.sendall(data)
        except OSError:
            counts["cut off"] += 1
    for client, data in sent:
        answer = b""
        try:
            while piece := client.recv(65_536):
                answer += piece
        except ConnectionError:
            pass
        client.close()
        status = answer[9:12].decode() if answer.startswith(b"HTTP/1.1 ") else "no answer"
        assert status == "no answer" or (status[0] in "1234" or status == "503"), (data, answer)
        assert answer == b"" or status != "no answer", (data, answer)
        counts[f"raw: {status}"] += 1


class _Slow:
    """Clients that send a byte now and then, or never read: they are closed in time, and nobody waits for them."""

    def __init__(self, rng: random.Random, server: Running) -> None:
        body = json.dumps({"text": HONEST, "svg": ["wide", "tall", "indented"]}).encode()
        head = (
            b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n"
        )
        request = head % len(body) + body
        self.left: dict[socket.socket, bytes] = {}
        for _ in range(6):
            sent = rng.randrange(1, len(request))
            client = socket.create_connection(("127.0.0.1", server.port), timeout=600)
            client.sendall(request[:sent])
            self.left[client] = request[sent:-1]  # the last byte never comes

    def finish(self) -> Counter[str]:
        """Send on, byte by byte, until the server closes; what came of it."""
        counts = Counter[str]()
        while self.left:
            for client, unsent in list(self.left.items()):
                try:
                    client.sendall(unsent[:1])
                    closed = bool(select.select([client], [], [], 0.01)[0])
                except OSError:
                    closed = True
                self.left[client] = unsent[1:]
                if closed:
                    answer = b""
                    with contextlib.suppress(OSError):
                        answer = client.recv(65_536)
                    assert answer[9:12] in (b"408", b""), answer
                    counts["slow clients closed"] += 1
                    client.close()
                    del self.left[client]
        return counts


def test_hostile_requests_do_not_disturb_honest_ones() -> None:
    assert run(seed=1, rounds=range(2))["honest requests"]
