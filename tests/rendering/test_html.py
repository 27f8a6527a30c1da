"""The stand-alone page."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from arcspan.rendering import to_html
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.rendering.examples import ARABIC, ARABIC_ARCS, CONFIDENCE, LOGIC, LOGIC_ARCS, random_pair


class Elements(HTMLParser):
    """The elements of a page and their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def count(self, name: str) -> int:
        return sum(tag == name for tag, _ in self.found)


def test_a_page_has_a_picture_of_each_sentence() -> None:
    page = to_html(
        [(LOGIC, LOGIC_ARCS), (ARABIC, ARABIC_ARCS)], title="Two sentences", layout="wide"
    )
    elements = Elements(page)
    assert elements.count("svg") == elements.count("figure") == 2
    assert "<title>Two sentences</title>" in page
    assert page.index("Logic plays a maximal") < page.index("يلعب")


def test_headings_show_the_original_text_and_what_is_said_of_the_tree() -> None:
    page = to_html(
        [(LOGIC, LOGIC_ARCS)] * 2,
        texts=["Logic  plays a <maximal>\nrole here.", None],
        notes=["tree 2 of 3 · 12.5%", ""],
    )
    assert "Logic plays a &lt;maximal&gt; role here." in page and "tree 2 of 3 · 12.5%" in page
    assert page.count("Logic plays a maximal role here .</title>") >= 2  # the pictures
    assert "</small>Logic plays a maximal role here .<small" in page  # no text: the words


def test_a_page_holds_pictures_for_narrow_and_wide_screens() -> None:
    long = random_pair(3, 40)
    automatic = to_html([long])
    assert Elements(automatic).count("svg") == 1 + automatic.count("@container") > 2
    for layout in ("wide", "tall"):
        assert Elements(to_html([long], layout=layout)).count("svg") == 1  # type: ignore[arg-type]


def test_a_page_loads_nothing() -> None:
    page = to_html([(LOGIC, LOGIC_ARCS)])
    assert not re.search(r"https?:|@import|url\(", page.replace("http://www.w3.org/2000/svg", ""))
    assert not any({"src", "href"} & set(attributes) for _, attributes in Elements(page).found)
    assert "default-src 'none'" in page


def test_a_script_in_the_text_is_shown_and_not_run() -> None:
    words = ["<script>alert(1)</script>", "</svg>"]
    c = ConstituencyTree(words, ["A", "B"], [(0, 2, "S")])
    page = to_html([(c, DependencyTree([0, 1], ["root", "x"], words))], title="</title><script>")
    assert Elements(page).count("script") == 1  # the page's own
    assert Elements(page).count("svg") == 1


def test_confidence_is_taken_for_each_sentence() -> None:
    page = to_html(
        [(LOGIC, LOGIC_ARCS), (LOGIC, LOGIC_ARCS)], confidence=[None, CONFIDENCE], layout="tall"
    )
    first, second = page.split("<figure")[1:]
    assert "data-confidence" not in first and "data-confidence" in second


def test_a_page_without_sentences_is_a_page() -> None:
    assert Elements(to_html([])).count("svg") == 0
