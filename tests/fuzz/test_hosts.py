"""Host headers of a web page from elsewhere (DNS rebinding): none of them is taken for this machine."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterable

import httpx

from arcspan.parser import Parser
from arcspan.serving import Settings, create_app
from tests.fuzz.test_text import TOY

LABELS = ("localhost", "127.0.0.1", "127", "0", "1", "www", "xn--a", "a-b", "LOCALHOST", "named")
FOREIGN = (
    "evil.example",
    "EVIL.example",
    "nip.io",
    "localhost.com",
    "localhosts",
    "com",
    "10.0.0.7",
)
LOCAL = (
    "localhost",
    "LocalHost",
    "a.localhost",
    "127.0.0.1",
    "127.9.8.7",
    "[::1]",
    "named.example",
)
PORTS = ("", ":", ":80", ":8000", ":65535")


def draw_foreign(rng: random.Random) -> str:
    """Return a host that somebody else may own: local names stand before its own."""
    labels = rng.choices(LABELS, k=rng.randrange(4))
    owner = rng.choice(FOREIGN)
    # An address has nothing before it.
    host = owner if owner[0].isdigit() else ".".join([*labels, owner])
    return host + rng.choice(("", ".")) + rng.choice(PORTS)


def draw_local(rng: random.Random) -> str:
    return rng.choice(LOCAL) + rng.choice(PORTS)


async def _statuses(hosts: list[str]) -> list[int]:
    app = create_app(Parser(TOY, threads=1), Settings(hosts=("Named.example",)))
    # As the server says that listens on loopback only.
    app.is_local = True
    transport = httpx.ASGITransport(app=app)
    statuses = []
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for host in hosts:
            answer = await client.get("/health", headers={"Host": host})
            statuses.append(answer.status_code)
    return statuses


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    """Send requests with drawn hosts and count the answers."""
    rng, counts = random.Random(seed), Counter[str]()
    for _ in rounds:
        foreign = [draw_foreign(rng) for _ in range(200)]
        local = [draw_local(rng) for _ in range(50)]
        statuses = asyncio.run(_statuses([*foreign, *local]))
        for host, status in zip(foreign, statuses, strict=False):
            assert status == 403, f"{host!r} was answered"
        for host, status in zip(local, statuses[len(foreign) :], strict=True):
            assert status == 200, f"{host!r} was refused"
        counts += Counter(
            {"foreign hosts refused": len(foreign), "local hosts answered": len(local)}
        )
    return counts


def test_foreign_hosts_are_refused() -> None:
    assert run(seed=1, rounds=range(2))["foreign hosts refused"] == 400
