"""The stand-alone page in a real browser, on a phone, a tablet and a desktop: Chromium without a
screen.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import arcspan
from arcspan.rendering import to_html

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="needs chromium and chromedriver (Debian: chromium, chromium-driver)",
)

TEXTS = {
    5: "Logic plays a role.",
    25: "The old astronomer who had lived near the river bank for thirty years saw a strange light with his "
    "new telescope one night.",
    65: "When the committee that had been appointed by the president in the autumn of last year finally met to discuss "
    "the proposals which several of the smaller companies had put forward, it turned out that hardly anybody had read "
    "the long report, so the annoyed chairman decided to postpone the decision until the members had "
    "found the time to study it.",
}
# What is shown, whether it scrolls sideways, and how far right its words and arcs reach.
MEASURE = """
const shown = [...document.querySelectorAll("figure svg.arcspan")].filter(svg => svg.getClientRects().length);
const right = selector => Math.max(...[...shown[0].querySelectorAll(selector)].map(
  one => one.getBoundingClientRect().right));
const room = document.querySelector(".picture");
return {shown: shown.length, words: right(".word text.form"), all: right(".word, .arc, .constituent"),
  scrolls: room.scrollWidth > room.clientWidth || document.documentElement.scrollWidth > innerWidth,
  arcs: shown[0].querySelectorAll(".arc path").length, paper: getComputedStyle(shown[0].querySelector(".paper")).fill,
  size: shown[0].getBoundingClientRect().width / shown[0].viewBox.baseVal.width};
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """A page with a sentence of about so many words, as the model parses it."""
    parser, paths = arcspan.load(), {}
    for size, text in TEXTS.items():
        (parse,) = parser(text)
        assert abs(len(parse.words) - size) < 4
        paths[size] = tmp_path_factory.mktemp("pages") / f"{size}.html"
        page = to_html([(parse.constituency, parse.dependencies)], texts=[text])
        paths[size].write_text(page, encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 800, 1440])
@pytest.mark.parametrize("words", TEXTS)
def test_one_picture_is_shown_and_nothing_of_it_is_cut_off(
    driver: Any, pages: dict[int, Path], words: int, width: int, dark: bool
) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get(pages[words].as_uri())
    sizes = driver.execute_script(MEASURE)
    assert sizes["shown"] == 1
    assert sizes["words"] < width and sizes["all"] < width and not sizes["scrolls"]
    assert bool(sizes["arcs"]) == (width > 390 or words == 5), "arcs wherever there is room"
    assert sizes["size"] > 0.74, "not too small to read"
    assert sizes["paper"] == ("rgb(21, 24, 28)" if dark else "rgb(255, 255, 255)")
