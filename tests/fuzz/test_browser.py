"""Hostile text in pictures and pages, opened in Chromium: it is shown, and no script runs."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from arcspan.parser import Parser
from arcspan.rendering import to_html, to_svg
from arcspan.serving import create_app
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.fuzz.test_text import TOY, draw
from tests.serving.conftest import Running

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
SIGN = "document.documentElement.dataset.evil=1"  # what a script of ours would leave behind
HOSTILE = [
    f"<script>{SIGN}</script>",
    f"</script><script>{SIGN}</script>",
    f"</style><script>{SIGN}</script>",
    f"</title><svg/onload={SIGN}>",
    f"<img/src=x/onerror={SIGN}>",
    f"\"onmouseover='{SIGN}'x=\"",
    f"'onfocus={SIGN}'",
    f"javascript:{SIGN}",
    f"]]><script>{SIGN}</script>",
    f"--><script>{SIGN}</script>",
    f"&lt;script&gt;{SIGN}",
    f"<foreignObject><body/onload={SIGN}></foreignObject>",
    f"<a/href=javascript:{SIGN}>",
    f"<animate/onbegin={SIGN}>",
    f"{{{{{SIGN}}}}}`${{{SIGN}}}`",
    "\u202e<\x00script>\u2028",
]


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    rng, counts = random.Random(seed), Counter[str]()
    if not (CHROMIUM and DRIVER):
        return Counter({"rounds left out: chromium or chromedriver is not installed": 1})
    server = Running(create_app(Parser(TOY, threads=1)))
    driver = _browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for _ in rounds:
                for name, content in _files(rng).items():
                    path = Path(folder) / name
                    path.write_text(content, encoding="utf-8")
                    _check(driver, path.as_uri())
                    counts[f"files .{path.suffix[1:]}"] += 1
                text, find = " ".join([*_words(rng), "."])[:600], rng.choice((*HOSTILE, "NP", "__"))
                _check(
                    driver,
                    f"{server.url}/?text={quote(text)}&find={quote(find)}&s1={quote(rng.choice(HOSTILE))}",
                )
                counts["pages of the server"] += 1
    finally:
        driver.quit()
        server.stop()
    return counts


def _words(rng: random.Random) -> list[str]:
    """Hostile words among others."""
    parts = [rng.choice(HOSTILE) for _ in range(rng.randrange(1, 5))] + draw(rng).split()[:8]
    rng.shuffle(parts)
    return [part for part in ("".join(part.split()) for part in parts) if part]


def _files(rng: random.Random) -> dict[str, str]:
    """A picture and a page of trees whose words, labels, tags and relations are all hostile."""
    words = _words(rng)
    n = len(words)
    names = [rng.choice(HOSTILE).replace(" ", "") for _ in range(n)]
    c = ConstituencyTree(words, names, [(0, n, "TOP"), (0, n, rng.choice(HOSTILE))])
    d = DependencyTree([0, *[1] * (n - 1)], names, words, names)
    layout: Any = rng.choice(("wide", "tall", "indented"))
    page = to_html(
        [(c, d)],
        title=rng.choice(HOSTILE),
        texts=[rng.choice(HOSTILE)],
        notes=[rng.choice(HOSTILE)],
    )
    return {"picture.svg": to_svg(c, d, layout=layout), "page.html": page}


def _browser() -> Any:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


def _check(driver: Any, url: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get(url)
    if url.startswith("http"):
        shown = "return document.querySelector('svg.arcspan, #status.problem') !== null"
        WebDriverWait(driver, 300, poll_frequency=0.05).until(
            lambda _: driver.execute_script(shown)
        )
    # Point at everything, and give handlers that were smuggled in their events.
    driver.execute_script(
        "for (const one of document.querySelectorAll('*')) for (const name of ['mouseover', 'focus', 'load', 'error'])"
        " one.dispatchEvent(new Event(name))"
    )
    assert driver.execute_script("return document.documentElement.dataset.evil ?? null") is None, (
        url
    )
    scripts = "return [...document.scripts].map(one => one.textContent)"
    assert not any(SIGN in script for script in driver.execute_script(scripts)), url


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver")
def test_no_script_in_a_text_runs() -> None:
    pytest.importorskip("selenium")
    assert run(seed=1, rounds=range(2))["pages of the server"] == 2
