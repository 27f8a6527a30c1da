"""The page in a real browser: Chromium without a screen, driven by chromedriver."""

from __future__ import annotations

import asyncio
import re
import shutil
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import arcspan
from arcspan.parser import Parser
from arcspan.treebanks import read_brackets, read_conll
from tests.serving.conftest import Running, Start

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException  # noqa: E402
from selenium.webdriver import ActionChains, Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="needs chromium and chromedriver (Debian: chromium, chromium-driver)",
)

SENTENCE = "Logic plays a maximal role here."


class Page:
    """The page, by what a user does with it."""

    def __init__(self, driver: Any, server: Running, downloads: Path) -> None:
        self.driver = driver
        self.server = server
        self.downloads = downloads

    def open(self, path: str = "/", *, width: int = 1280, dark: bool = False) -> None:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get(self.server.url + path)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def wait(self, met: Callable[[], Any]) -> Any:
        # What was found may be drawn anew before it is read: look again.
        passing = [NoSuchElementException, StaleElementReferenceException]
        waiting = WebDriverWait(self.driver, 120, poll_frequency=0.02, ignored_exceptions=passing)
        return waiting.until(lambda _: met())

    def parse(self, text: str) -> None:
        """Type a text, press Enter, and wait for the pictures of its answer."""
        before = self.all("#results > article")
        field = self.find("#text")
        field.clear()
        field.send_keys(text, Keys.ENTER)
        self.wait(lambda: self.all("svg.arcspan") and self.all("#results > article") != before)

    def point_at(self, selector: str) -> str:
        ActionChains(self.driver).move_to_element(self.find(selector)).perform()
        return self.details

    @property
    def details(self) -> str:
        text: str = self.find(".details").text
        return text

    def save(self, suffix: str, card: str = ".sentence") -> None:
        """Choose a format in the menu."""
        self.find(f"{card} .menu summary").click()
        self.find(f"{card} [data-save={suffix}]").click()

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def saved(self, name: str) -> str:
        """The content of a download, when it is there."""
        return self.saved_bytes(name).decode("utf-8")

    def saved_bytes(self, name: str) -> bytes:
        path = self.downloads / name
        self.wait(lambda: path.exists() and path.stat().st_size)
        content = path.read_bytes()
        path.unlink()
        return content

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def page(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    downloads = tmp_path_factory.mktemp("downloads")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield Page(driver, start(), downloads)
    finally:
        driver.quit()


def test_a_typed_sentence_appears_with_both_trees(page: Page, parser: Parser) -> None:
    page.open()
    page.parse(SENTENCE)
    (parse,) = parser(SENTENCE)
    assert [word.text for word in page.all(".word .form")] == list(parse.words)
    labels = [label.text for label in page.all(".constituent .label")]
    assert labels == [label for _, _, label in parse.constituency.without_wrapper().spans]
    arcs = {
        arc.get_attribute("data-word"): arc.get_attribute("data-head") for arc in page.all(".arc")
    }
    assert arcs == {str(m): str(head) for m, head in enumerate(parse.dependencies.heads, 1)}
    assert "1 sentence, 7 words" in page.find("#status").text
    assert page.complaints() == []


@pytest.fixture
def slow(page: Page, start: Start) -> Iterator[threading.Event]:
    """A server whose `/health` waits for this event, as over a slow network."""
    server = start()
    released = threading.Event()
    health = server.app.routes["/health"]["GET"]

    async def wait_first(request: Any) -> Any:
        await asyncio.to_thread(released.wait, 300)
        return await health(request)

    server.app.routes["/health"] = {"GET": wait_first}  # type: ignore[index]
    fast_server, page.server = page.server, server
    yield released
    released.set()
    page.server = fast_server


def test_typing_while_the_page_loads_is_kept(page: Page, slow: threading.Event) -> None:
    """The page emptied the field when the answers about the server had arrived."""
    page.open()
    page.find("#text").send_keys("The dog")
    page.find("#find").send_keys("NP")
    slow.set()
    page.wait(lambda: page.find("#examples").is_displayed())
    page.find("#text").send_keys(" barked.")
    assert page.find("#text").get_property("value") == "The dog barked."
    assert page.find("#find").get_property("value") == "NP"


def test_a_link_is_in_the_form_at_once_and_parsed_unless_edited(
    page: Page, slow: threading.Event
) -> None:
    page.open("/?text=Logic+plays&find=NP&layers=constituency&k=3")
    assert page.find("#text").get_property("value") == "Logic plays"
    assert page.find("#find").get_property("value") == "NP"
    assert page.find("#k").get_property("value") == "3"
    page.find("#text").send_keys(" chess.")
    slow.set()
    page.wait(lambda: page.find("#examples").is_displayed())
    assert page.find("#text").get_property("value") == "Logic plays chess."
    assert page.all("svg.arcspan") == []
    page.open("/?text=Logic+plays&layers=constituency")
    page.wait(lambda: page.all("svg.arcspan"))
    assert page.all(".arc") == []


def test_a_sentence_that_is_sent_while_the_page_loads_is_parsed_once(
    page: Page, slow: threading.Event
) -> None:
    page.open("/?text=Logic+plays")
    page.find("#text").send_keys(Keys.ENTER)
    page.wait(lambda: page.all("svg.arcspan"))
    article = page.find("#results > article")
    slow.set()
    page.wait(lambda: page.find("#examples").is_displayed())
    assert page.find("#results > article") == article
    assert page.server.metric('arcspan_requests_total{path="/parse",status="200"}') == 1


def test_pointing_shows_head_span_and_confidence_and_dims_the_rest(page: Page) -> None:
    page.open()
    page.parse(SENTENCE)
    height = page.find(".foot").rect["height"]
    word = page.point_at('.word[data-word="4"]')
    assert (
        page.find(".foot").rect["height"] == height
    )  # or the picture moves, and the pointer is elsewhere
    for fact in (
        "maximal",
        "head role",
        "relation amod",
        "confidence",
        "tag JJ adjective",
        "universal tag",
    ):
        assert fact in word
    assert "focus" in page.find("svg.arcspan").get_attribute("class")
    assert "governor" in page.find('.word[data-word="5"]').get_attribute("class")
    assert "on" not in page.find('.word[data-word="1"]').get_attribute("class").split()
    constituent = page.point_at('.constituent[data-span="2,5"]')
    for fact in ("NP noun phrase", "words 3–5", "“a maximal role”", "head role", "confidence", "%"):
        assert fact in constituent
    arc = page.point_at('.arc[data-word="1"] text')
    assert "plays → Logic" in arc
    assert "relation nsubj" in arc
    page.point_at("#text")
    assert "focus" not in page.find("svg.arcspan").get_attribute("class")


def test_everything_can_be_reached_from_the_keyboard(page: Page) -> None:
    page.open()
    page.parse(SENTENCE)
    page.find("#text").send_keys(Keys.TAB)
    page.press(Keys.ENTER)
    assert page.details.startswith("Logic")
    page.press(Keys.ARROW_RIGHT)
    assert page.details.startswith("plays")
    page.press(Keys.ARROW_UP)
    assert page.details.startswith("VP")
    page.press(Keys.ARROW_UP)
    assert page.details.startswith("S")
    page.press(Keys.ARROW_DOWN)
    assert page.details.startswith("NP")
    page.press(Keys.END)
    assert page.details.startswith(".")
    page.press("h")
    assert page.details.startswith("plays")
    page.press(Keys.ARROW_DOWN)
    assert page.details.startswith("root → plays")
    page.press(Keys.ESCAPE)
    assert "Point at a word" in page.details


def test_one_switches_among_the_k_best(page: Page) -> None:
    page.open()
    page.parse(SENTENCE)
    ranks = page.all(".ranks input")
    assert len(ranks) == 5
    best = page.find("svg.arcspan").get_attribute("innerHTML")
    ranks[1].click()
    assert page.details.startswith("Unlike tree 1: ")
    assert page.find("svg.arcspan").get_attribute("innerHTML") != best
    assert page.all(".changed")
    ranks[1].send_keys(Keys.ARROW_LEFT)
    assert page.all(".changed") == []
    assert page.find(".word .form").text == "Logic"


def test_downloads_hold_what_is_shown(page: Page, parser: Parser, tmp_path: Path) -> None:
    page.open()
    page.parse(SENTENCE)
    (parse,) = parser(SENTENCE)
    files = {}
    for suffix, ending in (
        ("svg",) * 2,
        ("png",) * 2,
        ("tikz", "tex"),
        ("conllu",) * 2,
        ("brackets", "ptb"),
    ):
        page.save(suffix)
        # One after the other: of several at once Chromium may drop one.
        files[ending] = page.saved_bytes(f"sentence-1.{ending}")
    assert ET.fromstring(files["svg"]).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"<style" not in files["svg"]  # it stays light
    assert files["png"].startswith(b"\x89PNG")
    assert files["tex"].decode("utf-8") == parse.to_tikz()
    if page.find(".sentence [data-save=pdf]").get_attribute("hidden") is None:
        page.save("pdf")
        assert page.saved_bytes("sentence-1.pdf").startswith(b"%PDF")
    (tmp_path / "a.conllu").write_bytes(files["conllu"])
    assert [tree.heads for tree in read_conll(tmp_path / "a.conllu")] == [parse.dependencies.heads]
    (tmp_path / "a.ptb").write_bytes(files["ptb"])
    assert list(read_brackets(tmp_path / "a.ptb")) == [parse.constituency]
    page.all(".ranks input")[1].click()
    page.save("brackets")
    assert page.saved("sentence-1-tree-2.ptb").startswith("(TOP ")
    second = parser(SENTENCE, k=5)[1]
    page.save("tikz")
    assert page.saved("sentence-1-tree-2.tex") == second.to_tikz()


def test_several_sentences_are_saved_together(page: Page, parser: Parser) -> None:
    text = "Logic plays a role here. The old dog sees every tree."
    page.open()
    page.parse(text)
    assert len(page.all("#results > article")) == 2
    page.find("#all [data-save=conllu]").click()
    saved = page.saved("sentences.conllu").splitlines(keepends=True)
    remarks = ("# rank", "# score", "# temperature")
    without_ranks = [line for line in saved if not line.startswith(remarks)]
    assert "".join(without_ranks) == "".join(parse.conllu() for parse in parser(text))


def test_a_script_in_the_text_is_shown_as_text(page: Page) -> None:
    page.open()
    page.parse(
        "Ada sees <script>document.title='evil'</script> <img src=x onerror=document.title='evil'>"
    )
    shown = "".join(word.text for word in page.all(".word .form"))
    assert "<script>" in shown
    assert "onerror" in shown
    assert "<script>" in page.find(".sentence h2").text
    for word in page.all(".word"):
        page.driver.execute_script(
            "arguments[0].dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))", word
        )
    assert page.driver.title == "arcspan"
    assert page.all("#results script, #results img") == []
    assert page.complaints() == []


def test_words_that_are_split_already_are_kept(page: Page) -> None:
    page.open()
    page.find("#spaced").click()
    field = page.find("#text")
    field.send_keys(
        "Ada sees e.g. didn't", Keys.SHIFT, Keys.ENTER, Keys.NULL, "Kurt plays", Keys.ENTER
    )
    page.wait(lambda: len(page.all("#results > article")) == 2)
    words = [word.text for word in page.all(".word .form")]
    assert words == ["Ada", "sees", "e.g.", "didn't", "Kurt", "plays"]


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_nothing_is_wider_than_the_screen(page: Page, dark: bool) -> None:
    page.open(width=360, dark=dark)
    page.parse("In a tree, the old dog with Ada sees every parser of this word here.")
    assert page.find(".layouts input[value=indented]").is_selected()
    assert page.find("#find").is_displayed()
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 360
    rights = page.driver.execute_script(
        "return [...document.querySelectorAll('.word, .arc')].map(one => one.getBoundingClientRect().right)"
    )
    assert max(rights) < 360
    # a phone scrolls to the picture, which may take the word from under the pointer
    page.wait(lambda: page.point_at('.word[data-word="7"]').startswith("dog"))
    paper = page.driver.execute_script(
        "return getComputedStyle(document.querySelector('.arcspan .paper')).fill"
    )
    assert paper == ("rgb(23, 26, 31)" if dark else "rgb(255, 255, 255)")


def test_a_refusal_is_told_and_a_token_can_be_given(page: Page, start: Start) -> None:
    open_server, page.server = page.server, start(token="s3cret", max_k=1)
    try:
        page.open(width=390)
        page.wait(lambda: page.find("#token").is_displayed())
        page.find("#text").send_keys("Logic plays.", Keys.ENTER)
        page.wait(lambda: "needs a token" in page.find("#status").text)
        page.find("#token").send_keys("s3cret", Keys.ENTER)
        page.wait(lambda: page.all("svg.arcspan"))
        assert not page.find(".ranks").is_displayed()
    finally:
        page.server = open_server
        page.complaints()


def test_the_documentation_page_works_offline(page: Page) -> None:
    page.open("/docs")
    page.wait(lambda: len(page.all("#paths .card")) == 3)
    assert "POST /parse" in page.find("#paths").text
    assert page.complaints() == []


def test_a_link_holds_the_sentence(page: Page) -> None:
    page.open()
    page.parse("The old dog sees Ada & Kurt.")
    link = page.driver.current_url
    assert "?text=The+old+dog" in link
    page.open(link.removeprefix(page.server.url))
    page.wait(lambda: page.all("svg.arcspan"))
    assert page.find("#text").get_property("value") == "The old dog sees Ada & Kurt."
    assert "".join(word.text for word in page.all(".word .form")) == "TheolddogseesAda&Kurt."
    page.parse("Logic plays.")
    page.driver.back()
    page.wait(lambda: page.find(".sentence h2").text == "The old dog sees Ada & Kurt.")
    page.open("/?words=1&text=Ada+sees+e.g.")
    page.wait(lambda: [word.text for word in page.all(".word .form")] == ["Ada", "sees", "e.g."])
    assert page.complaints() == []


def test_a_link_holds_the_choices_the_demands_and_the_tree(page: Page) -> None:
    page.open()
    page.parse("Ada sees Kurt. " + SENTENCE)
    second = "#results > article:nth-child(2)"
    page.driver.execute_script("arguments[0].scrollIntoView()", page.find(second))
    page.find(f'{second} .constituent[data-span="2,5"] .label').click()
    page.find(f"{second} .acts button:nth-child(2)").click()
    page.wait(lambda: "2,5" not in part_data(page, f"{second} .constituent", "span"))
    page.all(f"{second} .ranks input")[2].click()
    page.find("#view summary").click()
    page.find("#heads").click()
    page.wait(lambda: not page.all(".spine") and page.all(f"{second} .demands button"))
    page.find("#copy").click()  # maybe before the trees under the demand are there again
    page.wait(lambda: "link" in page.find("#status").text)
    page.wait(lambda: page.all(f"{second} .ranks label:nth-of-type(3) input:checked"))
    heads = part_data(page, f"{second} .arc", "head")
    link = page.driver.current_url
    page.open("/")
    page.open(link.removeprefix(page.server.url))
    # Trees of several ranks may have the same heads: the choice itself is waited for.
    page.wait(lambda: page.all(f"{second} .ranks label:nth-of-type(3) input:checked"))
    page.wait(lambda: part_data(page, f"{second} .arc", "head") == heads)
    assert page.find(f"{second} .demands").text == "without a constituent “a maximal role” ×"
    assert not page.find("#heads").get_property("checked") and page.driver.current_url == link
    assert page.all("#results > article:first-child .demands button") == []
    page.open(
        '/?text=Ada+plays.&s1={"tree":"x","require":5}&s2=nonsense&k=99&colours=pink'
    )  # not one of ours
    page.wait(lambda: page.all("svg.arcspan"))
    assert page.find("#k").get_property("value") == "5"
    assert page.complaints() == []


def test_one_tree_is_shown_and_the_picture_is_drawn_for_paper(page: Page) -> None:
    page.open(f"/?text={SENTENCE}&layers=dependency&colours=black")
    page.wait(lambda: page.all(".arc"))
    assert page.all(".constituent") == []
    assert page.find(".word").get_attribute("fill") == "#000000"
    page.save("svg")
    assert set(re.findall("#[0-9a-f]{6}", page.saved("sentence-1.svg"))) == {"#000000", "#ffffff"}


def test_clauses_are_listed_and_shown_in_the_picture(page: Page, start: Start) -> None:
    open_server, page.server = page.server, start(arcspan.load())
    try:
        page.open()
        page.parse("When the committee met, nobody who had read the report believed it.")
        clauses = page.all(".clauses button")
        assert [button.text.split()[0] for button in clauses] == ["main", "adverbial", "relative"]
        ActionChains(page.driver).move_to_element(clauses[2]).perform()
        for fact in ("relative clause", "verb had read", "subject who", "object the report"):
            assert fact in page.details
        on = part_data(page, ".word.on", "word")
        assert on == ["7", "8", "9", "10", "11"]
        page.point_at("#text")
        assert part_data(page, ".word.on", "word") == []
        assert page.complaints() == []
    finally:
        page.server = open_server


def test_matches_of_a_query_are_marked_and_the_link_holds_the_query(page: Page) -> None:
    page.open()
    page.parse("Ada sees Kurt. " + SENTENCE)
    page.find("#find").send_keys("NP <# ({}=noun >amod {}=adjective)", Keys.ENTER)
    page.wait(lambda: "1 match," in page.find("#status").text)
    assert part_data(page, ".constituent.match", "span") == ["2,5"]
    assert part_data(page, ".word.match", "word") == ["4", "5"]
    (button,) = page.all(".matches button")
    assert button.text == "NP a maximal role"
    ActionChains(page.driver).move_to_element(button).perform()
    for fact in ("NP noun phrase", "“a maximal role”", "noun role", "adjective maximal"):
        assert fact in page.all(".details")[1].text
    assert part_data(page, ".word.on", "word") == ["3", "4", "5"]
    link = page.driver.current_url
    page.open("/")
    page.open(link.removeprefix(page.server.url))
    page.wait(lambda: part_data(page, ".constituent.match", "span") == ["2,5"])
    assert page.find("#find").get_property("value") == "NP <# ({}=noun >amod {}=adjective)"
    assert page.complaints() == []
    page.find("#find").send_keys(" <", Keys.ENTER)
    page.wait(lambda: "Find: the pattern cannot be read" in page.find("#status.problem").text)
    assert page.find("#status").text.endswith("^")
    page.complaints()  # that the server refused it


def test_names_are_explained_and_linked_to_the_glossary(page: Page) -> None:
    page.open()
    page.parse(SENTENCE)
    page.find('.constituent[data-span="2,5"] .label').click()
    link = page.find(".details a").get_attribute("href")
    assert link.endswith("/glossary#label-NP")
    page.open(link.removeprefix(page.server.url))
    page.wait(lambda: page.find("tr.changed").text.startswith("NP noun phrase"))
    assert page.complaints() == []


def test_a_tree_fills_a_projector_and_can_be_made_larger(page: Page) -> None:
    page.open(width=1920)
    page.parse(SENTENCE)

    def size() -> float:
        found: float = page.driver.execute_script(
            "return document.querySelector('.word').getBoundingClientRect().height"
        )
        return found

    usual = size()
    page.find("[data-zoom='1']").click()
    assert size() == pytest.approx(1.25 * usual, rel=0.05)
    page.find(".present").click()
    page.wait(lambda: size() > 1.8 * usual)
    assert page.find(".presented").rect["width"] >= 1900
    page.find(".present").click()
    page.wait(lambda: size() == pytest.approx(usual, rel=0.05))
    page.find("#fold").click()
    assert not page.find("#ask").is_displayed()
    page.find("#fold").click()
    assert page.find("#ask").is_displayed()
    assert page.complaints() == []


def part_data(page: Page, selector: str, name: str) -> list[str]:
    """The data attributes of parts of the pictures, at one moment."""
    script = (
        "return [...document.querySelectorAll(arguments[0])].map(one => one.dataset[arguments[1]])"
    )
    values: list[str] = page.driver.execute_script(script, selector, name)
    return values


def spans(page: Page) -> set[str]:
    return set(part_data(page, ".constituent", "span"))


def test_a_constituent_can_be_forbidden_and_taken_back(page: Page) -> None:
    page.open()
    page.parse(SENTENCE)
    before = spans(page)
    page.find('.constituent[data-span="2,5"] .label').click()
    assert [button.text for button in page.all(".acts button")] == [
        "Require NP",
        "Forbid constituent",
        "Forbid NP",
    ]
    page.point_at('.word[data-word="1"]')  # on the way to the button
    assert page.details.startswith("NP")
    page.find(".acts button:nth-child(2)").click()
    page.wait(lambda: "2,5" not in spans(page))
    assert page.find(".demands").text == "without a constituent “a maximal role” ×"
    assert page.details.startswith("Unlike before: ")
    assert page.find(".sentence h2").text == SENTENCE
    page.save("conllu")
    assert "SpaceAfter=No" in page.saved("sentence-1.conllu")
    page.find(".demands button").click()
    page.wait(lambda: spans(page) == before)
    assert not page.find(".demands").is_displayed()
    assert page.complaints() == []


def test_an_arc_can_be_forbidden_from_the_keyboard(page: Page) -> None:
    page.open()
    page.parse("Ada sees Kurt. " + SENTENCE)
    card = page.all("#results > article")[1]
    card.find_element("css selector", ".menu summary").send_keys(Keys.TAB)
    page.press(Keys.ARROW_DOWN, Keys.TAB, Keys.TAB)
    assert page.driver.switch_to.active_element.text == "Forbid arc"
    page.press(Keys.ENTER)
    arc = "#results > article:nth-child(2) .arc[data-word='1']"
    page.wait(lambda: part_data(page, arc, "head") not in ([], ["2"]))
    assert card.find_element("css selector", ".demands").text == "without plays → Logic ×"
    assert page.complaints() == []


def test_demands_that_cannot_be_met_are_told_and_can_be_taken_back(page: Page) -> None:
    page.open()
    page.parse("Ada plays")
    page.find(".word[data-word='2'] .form").click()
    page.all(".acts button")[1].click()
    page.wait(lambda: "0" in part_data(page, ".arc[data-word='1']", "head"))
    page.find(".word[data-word='1'] .form").click()
    page.all(".acts button")[1].click()
    page.wait(lambda: "root" in page.find(".sentence .problem").text)
    assert page.find(".demands").text == "without root → plays ×\nwithout root → Ada ×"
    page.find(".demands button").click()
    page.wait(lambda: "0" in part_data(page, ".arc[data-word='2']", "head"))
    assert not page.find(".sentence .problem").is_displayed()
    page.find('.word[data-word="1"] .form').click()
    page.press(Keys.ESCAPE)
    assert page.all(".acts button") == []
    page.complaints()  # that the server refused one


def test_why_there_are_no_percentages_is_told(page: Page, start: Start) -> None:
    open_server, page.server = page.server, start(max_words_beyond=3)
    try:
        page.open()
        page.parse(SENTENCE)
        assert "for up to 3 words" in page.find(".reason").text
        assert not page.find(".ranks").is_displayed()
    finally:
        page.server = open_server


def test_a_layout_that_was_not_sent_is_fetched(page: Page) -> None:
    page.open(width=1400)
    page.parse(SENTENCE)
    assert page.find(".layouts input[value=wide]").is_selected()
    wide = page.find("svg.arcspan").get_dom_attribute("viewBox")
    page.find(".layouts input[value=indented]").click()
    page.wait(lambda: page.find("svg.arcspan").get_dom_attribute("viewBox") != wide)
    page.all(".ranks input")[1].click()
    assert page.find(".layouts input[value=indented]").is_selected()
    assert page.complaints() == []
