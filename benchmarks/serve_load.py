"""`arcspan serve` under load and attack, on loopback only: lost and mixed-up answers, latency,
memory, SIGTERM.

    python benchmarks/serve_load.py --model BUNDLE          # 2,000 requests, 32 at once
    python benchmarks/serve_load.py --requests 200 --at-once 8 --json
    python benchmarks/serve_load.py --requests 400 --stage throughput      # or: shares, attacks

Starts a server of its own with 256 file descriptors, compares every answer with what a parser in
this process says of the same words, and ends with exit code 1 where a check fails:

throughput 32 clients that send one sentence after the other against `parser.stream` of the same
sentences, by turns:
           at least 0.8 of its sentences per second; the processor time of both is printed beside it
shares     4 honest clients beside one with 1,000 sentences per request and one with constraints
           that contradict each other (800 forbidden arcs in 40 words): the honest 99th percentile
           is under 0.3 seconds
answers    every honest request, and every question for /health, is answered 200, with the trees of
           its own words
latency    the 95th percentile is under 10 times the median
memory     the most resident memory in the last quarter of the requests is less than 5% (or 16 MB)
           above the third's: in the first half it grows, because allocators keep what several long
           sentences at once have taken
attacks    meanwhile others attack (`ATTACKS`), hold half-sent requests open, or send long texts and
           leave: each gets the answers that it should
SIGTERM    in the middle of a second, smaller load and of the attacks: every honest request on a
           connection that was made is answered, and the process ends with exit code 0 within its
           grace period (and half a second to see it)
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from arcspan import load

SUBJECTS = [
    "the parser",
    "a tree",
    "Logic",
    "every word of the sentence",
    "she",
    "the old man on the hill",
]
VERBS = ["finds", "sees", "heads", "plays", "covers", "does n't like"]
OBJECTS = [
    "a maximal role",
    "the best span",
    "its head",
    "arcs and spans at once",
    "an exact search",
    "them",
]
TAILS = [
    "here",
    "in one search",
    "with a telescope",
    "because it must",
    "and then stops",
    "although nobody asked",
]
HEADERS = {"Content-Type": "application/json"}
GRACE = 5.0
SHARE, PATIENCE = 0.8, 0.3  # least throughput against the stream's; most seconds for honest clients
ROUNDS = 3  # of the stream and the server by turns
FILES = 256  # file descriptors of the server
HALF_OPEN = 300  # connections that send half a head or half a body, or nothing
HALVES = (
    b"",
    b"POST /parse HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{",
)
LONG_TEXT = json.dumps(
    {"text": "Logic plays a maximal role here. " * 6_000}
).encode()  # of a client that leaves
# name -> body, clients that send it again and again, the statuses that they may get
ATTACKS: dict[str, tuple[bytes, int, set[int]]] = {
    "112,500 pictures": (
        json.dumps({"words": ["Logic"] * 13, "svg": ["wide"] * 112_500}).encode(),
        4,
        {400},
    ),
    "80,000 unknown fields": (
        json.dumps(dict.fromkeys(map(str, range(80_000)), 1)).encode(),
        2,
        {400},
    ),
    "50 MB": (b" " * 50_000_000, 1, {413}),
    "a word of 900,000 characters": (
        json.dumps({"words": ["-" * 900_000]}).encode(),
        1,
        {200, 503},
    ),
    "words of many pieces": (
        json.dumps({"words": [["a-b-c-d-e-f-g-h"] * 10] * 900}).encode(),
        1,
        {200, 503},
    ),
    "longest sentences": (
        json.dumps({"words": [["Logic", "plays"] * 150] * 200}).encode(),
        2,
        {503},
    ),
    "all that may be asked": (
        json.dumps(
            {
                "text": "Logic plays a maximal role here. " * 900,
                "k": 10,
                "confidence": True,
                "svg": ["wide", "tall"],
            }
        ).encode(),
        2,
        {413, 503},
    ),
}


BULK = json.dumps(
    {"words": [["Logic", "plays", "a", "maximal", "role", "here", "."]] * 1_000}
).encode()
CONFLICT = json.dumps(
    {
        "words": ["Logic", "plays"] * 20,
        "forbid": [["arc", h, m] for m in range(1, 41) for h in range(21) if h != m][:800],
    }
).encode()


@dataclass
class Outcome:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    ended: float = 0.0


def sentence(number: int) -> list[str]:
    """Words of the request with this number; the number is one of them, so no two requests are the
    same.
    """
    dice = random.Random(number)
    clauses = []
    for _ in range(dice.choice([1, 1, 1, 2, 2, 3])):
        parts = (dice.choice(words) for words in (SUBJECTS, VERBS, OBJECTS, TAILS))
        clauses.append(" ".join(parts))
    return [*" , and ".join(clauses).split(), f"#{number}", "."]


@contextlib.contextmanager
def serving(model: str | None) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server in another process, and its port."""
    command = [sys.executable, "-m", "arcspan", "serve", "--port", "0", "--grace", str(GRACE)]
    command += ["--time-limit", "10", *(["--model", model] if model else [])]
    few = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES})); "
    command = [sys.executable, "-c", few + "os.execv(sys.argv[1], sys.argv[1:])", *command]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first_line = process.stderr.readline()
        if "http://127.0.0.1:" not in first_line:
            raise SystemExit(f"the server did not start: {first_line}{process.stderr.read()}")
        try:
            yield process, int(first_line.split("http://127.0.0.1:")[1].split()[0])
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)


def ask(connection: http.client.HTTPConnection, words: list[str]) -> tuple[int, dict[str, Any]]:
    connection.request("POST", "/parse", json.dumps({"words": words}), HEADERS)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """Processor time of the server (Linux)."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as status:
        fields = status.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask_quickly(port: int, bodies: list[bytes], at_once: int) -> None:
    """Send all bodies on so many connections with as little work as possible for the client."""
    head = (
        b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n"
    )
    waiting = iter([head % len(body) + body for body in bodies])
    with selectors.DefaultSelector() as selector:
        for request in islice(waiting, at_once):
            client = socket.create_connection(("127.0.0.1", port))
            client.sendall(request)
            selector.register(client, selectors.EVENT_READ, bytearray())
        while selector.get_map():
            for key, _ in selector.select():
                client, answer = key.fileobj, key.data
                answer += client.recv(1 << 20)
                header_match = re.match(
                    rb"HTTP/1.1 200.*?content-length: (\d+).*?\r\n\r\n",
                    answer,
                    re.DOTALL | re.IGNORECASE,
                )
                if not header_match or len(answer) < header_match.end() + int(header_match[1]):
                    continue
                answer.clear()
                if request := next(waiting, None):
                    client.sendall(request)
                else:
                    selector.unregister(client)
                    client.close()


def throughput(
    parser: Any, process: subprocess.Popen[str], port: int, numbers: list[int], at_once: int
) -> Any:
    """Sentences per second, and per second of processor time, of the server and of the stream."""
    sentences = [sentence(number) for number in numbers]
    bodies = [json.dumps({"words": words}).encode() for words in sentences]
    ask_quickly(port, bodies[:50], at_once)
    totals = [0.0] * 4
    for _ in range(ROUNDS):
        begun, used = time.perf_counter(), time.process_time()
        for _ in parser.stream(sentences):
            pass
        middle, then = time.perf_counter(), time.process_time()
        server = cpu_seconds(process)
        ask_quickly(port, bodies, at_once)
        ended = time.perf_counter()
        for measure, seconds in enumerate(
            (then - used, cpu_seconds(process) - server, middle - begun, ended - middle)
        ):
            totals[measure] += seconds
    count = ROUNDS * len(numbers)
    return {
        "ms of processor, stream": round(1000 * totals[0] / count, 2),
        "ms of processor, server": round(1000 * totals[1] / count, 2),
        "server / stream by processor time": round(totals[0] / totals[1], 3),
        "sentences per second, stream": round(count / totals[2]),
        "sentences per second, server": round(count / totals[3]),
        "server / stream by the clock": round(totals[2] / totals[3], 3),
    }


def shares(port: int, numbers: list[int], hostile: Sequence[bytes]) -> list[float]:
    """Seconds of 4 honest clients, sorted, while others send hostile bodies again and again."""
    over = threading.Event()

    def flood(body: bytes) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not over.is_set():
            connection.request("POST", "/parse", body, HEADERS)
            connection.getresponse().read()

    def honest(requests: list[int]) -> list[float]:
        connection, latencies = http.client.HTTPConnection("127.0.0.1", port, timeout=60), []
        for number in requests:
            begun = time.perf_counter()
            ask(connection, sentence(number))
            latencies.append(time.perf_counter() - begun)
        return latencies

    with ThreadPoolExecutor(4 + len(hostile)) as clients:
        flooding = [clients.submit(flood, body) for body in hostile]
        answered = [clients.submit(honest, numbers[offset::4]) for offset in range(4)]
        latencies = sorted(seconds for client in answered for seconds in client.result())
        over.set()
        for flooder in flooding:
            flooder.result()
    return latencies


def resident(process: subprocess.Popen[str]) -> int:
    """Bytes of the server's memory (Linux)."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def run_load(
    port: int, numbers: list[int], at_once: int, expected: dict[int, str], process: Any
) -> Outcome:
    """All requests, each on one of `at_once` connections that are kept open."""
    outcome, lock = Outcome(), threading.Lock()
    waiting = iter(numbers)

    def client() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            with lock:
                number = next(waiting, None)
            if number is None:
                return
            begun = time.perf_counter()
            status, content = ask(connection, sentence(number))
            latency = time.perf_counter() - begun
            problem = check(number, status, content, expected)
            with lock:
                outcome.seconds.append(latency)
                if problem:
                    outcome.wrong.append(problem)
                if len(outcome.seconds) % max(1, len(numbers) // 20) == 0:
                    outcome.memory.append(resident(process))

    with ThreadPoolExecutor(at_once) as clients:
        for done in [clients.submit(client) for _ in range(at_once)]:
            done.result()
    return outcome


def check(number: int, status: int, content: dict[str, Any], expected: dict[int, str]) -> str:
    """What is wrong with an answer, or nothing."""
    if status != 200:
        return f"request {number}: status {status}: {content}"
    (parsed,) = content["sentences"]
    if parsed["words"] != sentence(number):
        return f"request {number}: the words of another request: {parsed['words']}"
    if parsed["brackets"] + parsed["conllu"] != expected[number]:
        return f"request {number}: other trees than the parser's"
    return ""


@contextlib.contextmanager
def attack(port: int) -> Iterator[dict[str, Counter[int]]]:
    """All attacks at once until the caller is done; what each was answered."""
    over = threading.Event()
    answers: dict[str, Counter[int]] = {name: Counter() for name in (*ATTACKS, "/health")}

    def flood(name: str, body: bytes) -> None:
        while not over.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("POST", "/parse", body, HEADERS)
                answers[name][connection.getresponse().status] += 1
            connection.close()
            over.wait(0.2)

    def half_open() -> None:
        sockets: list[socket.socket] = []
        while not over.wait(0.02):
            with contextlib.suppress(OSError):
                sockets.append(socket.create_connection(("127.0.0.1", port)))
                sockets[-1].sendall(random.choice(HALVES))
            while len(sockets) > HALF_OPEN:
                sockets.pop(0).close()
        for open_socket in sockets:
            open_socket.close()

    def leave() -> None:
        head = (
            b"POST /parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n"
        )
        while not over.wait(0.3):
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", port)) as client,
            ):
                client.sendall(head % len(LONG_TEXT) + LONG_TEXT)
                over.wait(0.1)  # for the server to begin

    def ask_health() -> None:
        while not over.wait(0.1):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("GET", "/health")
                answers["/health"][connection.getresponse().status] += 1
            except ConnectionRefusedError:
                return  # it has stopped
            except (OSError, http.client.HTTPException):
                answers["/health"][0] += 1
            connection.close()

    threads = [threading.Thread(target=behaviour) for behaviour in (half_open, leave, ask_health)]
    for name, (body, clients, _) in ATTACKS.items():
        threads += [threading.Thread(target=flood, args=(name, body)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        over.set()
        for thread in threads:
            thread.join()


def stop_under_load(
    process: subprocess.Popen[str], port: int, at_once: int, expected: dict[int, str]
) -> Outcome:
    """SIGTERM when 100 requests are answered; clients go on until no connection can be made.

    The outcome has the time from SIGTERM to the end of the process.
    """
    outcome, answered = Outcome(), threading.Semaphore(0)
    numbers = list(expected)

    def client(first: int) -> None:
        connection, position = http.client.HTTPConnection("127.0.0.1", port, timeout=60), first
        while True:
            if connection.sock is None:
                try:
                    connection.connect()
                except ConnectionRefusedError:
                    return
            number = numbers[position % len(numbers)]
            position += 1
            begun = time.perf_counter()
            try:
                problem = check(number, *ask(connection, sentence(number)), expected)
            except (OSError, http.client.HTTPException) as error:
                problem = f"request {number}: {error!r}"
                connection.close()
            outcome.seconds.append(time.perf_counter() - begun)
            if problem:
                outcome.wrong.append(problem)
            answered.release()

    with ThreadPoolExecutor(at_once) as clients:
        running = [clients.submit(client, 50 * client_number) for client_number in range(at_once)]
        for _ in range(100):
            answered.acquire()
        process.send_signal(signal.SIGTERM)
        signalled = time.perf_counter()
        process.wait(120)
        outcome.ended = time.perf_counter() - signalled
        for client_future in running:
            client_future.result()
    return outcome


def attacked(
    arguments: argparse.Namespace, parser: Any, process: Any, port: int
) -> tuple[Any, Any]:
    """Figures of the load under attack and of the stop, and which checks failed."""
    numbers = list(range(arguments.requests))
    parses = parser.pipe([sentence(number) for number in numbers])
    expected = {
        number: parse.brackets() + parse.conllu()
        for number, parse in zip(numbers, parses, strict=True)
    }
    with attack(port) as answers:
        begun = time.perf_counter()
        outcome = run_load(port, numbers, arguments.at_once, expected, process)
        seconds = time.perf_counter() - begun
        met = {name: dict(statuses) for name, statuses in answers.items()}
        last = stop_under_load(process, port, arguments.at_once, expected)
    code = process.wait(60)
    median = statistics.median(outcome.seconds)
    p95 = statistics.quantiles(outcome.seconds, n=20)[18]
    quarter = len(outcome.memory) // 4
    middle, end = max(outcome.memory[-2 * quarter : -quarter]), max(outcome.memory[-quarter:])
    figures: dict[str, Any] = {
        "requests": len(outcome.seconds),
        "at once": arguments.at_once,
        "requests per second": round(len(outcome.seconds) / seconds, 1),
        "median ms": round(1000 * median, 1),
        "p95 ms": round(1000 * p95, 1),
        "slowest ms": round(1000 * max(outcome.seconds), 1),
        "memory MB, most of third quarter": round(middle / 1e6, 1),
        "memory MB, most of last quarter": round(end / 1e6, 1),
        "statuses of /health": met.pop("/health"),
        **{f"attack: {name}": statuses for name, statuses in met.items()},
        "answered around SIGTERM": len(last.seconds),
        "seconds to the end": round(last.ended, 1),
        "exit code": code,
    }
    failures = {
        "answers": outcome.wrong[:5] or len(outcome.seconds) != arguments.requests,
        "latency": p95 >= 10 * median,
        "memory": end - middle > max(0.05 * middle, 16e6),
        "/health": set(figures["statuses of /health"]) != {200},
        "attacks": [
            name for name, statuses in met.items() if not set(statuses) <= ATTACKS[name][2]
        ],
        "SIGTERM": last.wrong[:5] or code != 0 or last.ended > GRACE + 0.5,
    }
    return figures, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--model", help="a bundle; the English model inside the package if none is named"
    )
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument(
        "--stage", choices=("throughput", "shares", "attacks"), help="one stage only"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()

    parser_of_model = load(arguments.model)
    figures: dict[str, Any] = {}
    failures: dict[str, Any] = {}
    with serving(arguments.model) as (process, port):
        numbers = list(range(min(arguments.requests, 400)))
        if arguments.stage in (None, "throughput"):
            figures |= throughput(parser_of_model, process, port, numbers, arguments.at_once)
            failures["throughput"] = figures["server / stream by the clock"] < SHARE
        if arguments.stage in (None, "shares"):
            for name, hostile in {"alone": [], "beside hostile clients": [BULK, CONFLICT]}.items():
                seconds = shares(port, numbers, hostile)
                for quantile, fraction in {"median": 0.5, "p99": 0.99}.items():
                    figures[f"honest {quantile} ms, {name}"] = round(
                        1000 * seconds[int(fraction * len(seconds))], 1
                    )
            failures["shares"] = seconds[int(0.99 * len(seconds))] >= PATIENCE
        if arguments.stage in (None, "attacks"):
            more, failed = attacked(arguments, parser_of_model, process, port)
            figures |= more
            failures |= failed
    if arguments.json:
        print(
            json.dumps(
                {
                    **figures,
                    "failed": {name: failure for name, failure in failures.items() if failure},
                }
            )
        )
    else:
        for name, value in figures.items():
            print(f"{name:36}{value!s:>12}")
        for name, failure in failures.items():
            print(
                f"{name:36}{'FAILED' if failure else 'ok':>12}  {'' if failure in (True, False, []) else failure}"
            )
    return 1 if any(failures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
