"""The SVG: well-formed, complete, nothing on top of anything else, safe for any text."""

from __future__ import annotations

import importlib.util
import io
import re
import runpy
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arcspan
from arcspan.errors import ArcspanError
from arcspan.rendering import draw_terminal, to_png, to_svg
from arcspan.rendering.elements import COLOURS, Look, width
from arcspan.rendering.layout import arrange
from arcspan.rendering.svg import WideDrawing
from arcspan.trees import ConstituencyTree, DependencyTree
from tests.rendering.examples import (
    ARABIC,
    ARABIC_ARCS,
    CHINESE,
    CHINESE_ARCS,
    CONFIDENCE,
    LOGIC,
    LOGIC_ARCS,
    SVG,
    parts,
    random_pair,
    texts,
)

LAYOUTS = pytest.mark.parametrize("layout", ["wide", "tall", "indented"])


def boxes(svg: str) -> list[tuple[float, float, float, float, str]]:
    """The boxes of all texts (left, top, right, bottom), by the estimate of their widths."""
    boxes_of_texts = []
    for text in ET.fromstring(svg).iter(f"{SVG}text"):
        size, x, y = (float(text.get(key, "")) for key in ("font-size", "x", "y"))
        wide = 0.9 * width(text.text or "", size)  # the estimate is on the safe side
        at_left = text.get("text-anchor") == ("end" if text.get("direction") == "rtl" else "start")
        left = x if at_left else x - wide / 2 if text.get("text-anchor") == "middle" else x - wide
        boxes_of_texts.append((left, y - 0.7 * size, left + wide, y + 0.1 * size, text.text or ""))
    return boxes_of_texts


@LAYOUTS
def test_every_word_constituent_and_arc_says_what_it_is(layout: str) -> None:
    svg = to_svg(LOGIC, LOGIC_ARCS, layout=layout)  # type: ignore[arg-type]
    words = parts(svg, "word")
    assert [word.get("data-word") for word in words] == list("1234567")
    assert [word.get("data-head") for word in words] == list("2055222")
    assert [texts(word) for word in words][:2] == [["Logic", "NN"], ["plays", "VBZ"]]
    constituents = parts(svg, "constituent")
    assert [
        (group.get("data-span"), group.get("data-label"), group.get("data-head"))
        for group in constituents
    ] == [
        ("0,7", "S", "2"),
        ("0,1", "NP", "1"),
        ("1,6", "VP", "2"),
        ("2,5", "NP", "5"),
        ("5,6", "ADVP", "6"),
    ]
    arcs = {
        arc.get("data-word"): (arc.get("data-head"), arc.get("data-label"))
        for arc in parts(svg, "arc")
    }
    assert arcs["5"] == ("2", "dobj") and arcs["2"] == ("0", "root") and len(arcs) == 7


def test_heads_are_thick_lines_and_small_words() -> None:
    svg = to_svg(LOGIC, LOGIC_ARCS)
    assert [texts(group) for group in parts(svg, "constituent")] == [
        ["S", "plays"],
        ["NP"],
        ["VP", "plays"],
        ["NP", "role"],
        ["ADVP"],
    ]
    # S-VP, VP-plays, NP-Logic, NP-role, ADVP-here
    assert svg.count('class="spine"') == 5
    assert svg.count('class="edge"') == 6


def test_the_tree_is_above_the_words_and_the_arcs_are_below() -> None:
    svg = to_svg(LOGIC, LOGIC_ARCS)
    word_y = {
        float(text.get("y", ""))
        for text in ET.fromstring(svg).iter(f"{SVG}text")
        if text.get("class") == "form"
    }
    assert len(word_y) == 1
    y = word_y.pop()
    kinds = {"label": lambda at: at < y, "relation": lambda at: at > y}
    for text in ET.fromstring(svg).iter(f"{SVG}text"):
        check = kinds.get(text.get("class", ""))
        assert check is None or check(float(text.get("y", "")))


def test_a_confidence_that_is_none_is_refused() -> None:
    with pytest.raises(ArcspanError, match=r"takes the value of Parse\.confidence, not True"):
        to_svg(LOGIC, LOGIC_ARCS, confidence=True)  # type: ignore[arg-type]


def test_confidence_is_written_and_doubt_is_seen() -> None:
    svg = to_svg(LOGIC, LOGIC_ARCS, confidence=CONFIDENCE)
    spans = {
        group.get("data-span"): (group.get("data-confidence"), group.get("class"))
        for group in parts(svg, "constituent")
    }
    assert spans["1,6"] == ("0.2500", "constituent unsure") and spans["2,5"] == (
        "0.7500",
        "constituent doubtful",
    )
    assert spans["0,1"] == ("0.9000", "constituent likely") and spans["0,7"] == (
        "1.0000",
        "constituent",
    )
    assert spans["5,6"] == (None, "constituent")
    arcs = {arc.get("data-word"): arc for arc in parts(svg, "arc")}
    assert arcs["3"].get("data-confidence") == "0.3000"
    assert arcs["3"].find(f"{SVG}path[@stroke-dasharray]") is not None
    assert arcs["4"].find(f"{SVG}path[@stroke-dasharray]") is None
    assert "25.0%" in svg
    # a colour for each band, which the legend explains
    assert len({arcs[word].get("fill") for word in "1235"}) == 4
    (legend,) = parts(svg, "legend")
    assert texts(legend) == ["probability", "at least 95%", "80–95%", "50–80%", "below 50%"]


def test_without_probabilities_there_is_no_legend_and_it_names_only_bands_that_occur() -> None:
    assert not parts(to_svg(LOGIC, LOGIC_ARCS), "legend")
    sure = SimpleNamespace(spans={}, arcs=[1.0] * 7)
    (legend,) = parts(to_svg(LOGIC, LOGIC_ARCS, confidence=sure), "legend")
    assert texts(legend) == ["probability", "at least 95%"]


@LAYOUTS
@pytest.mark.parametrize("trees", [(LOGIC, None), (None, LOGIC_ARCS)])
def test_one_tree_alone_is_drawn(
    trees: tuple[ConstituencyTree, DependencyTree], layout: str
) -> None:
    svg = to_svg(*trees, layout=layout)  # type: ignore[arg-type]
    assert len(parts(svg, "word")) == 7
    assert bool(parts(svg, "constituent")) == (trees[0] is not None)
    assert bool(parts(svg, "arc")) == (trees[1] is not None)


@pytest.mark.parametrize(
    ("layout", "room"), [("wide", 1200), ("tall", 1200), ("indented", 1200), ("indented", 340)]
)
@given(st.integers(0, 10**6), st.integers(1, 40), st.booleans())
def test_no_text_lies_on_another_or_outside(
    layout: str, room: float, seed: int, n: int, sure: bool
) -> None:
    confidence = SimpleNamespace(spans={}, arcs=[k / n for k in range(n)]) if sure else None
    svg = to_svg(*random_pair(seed, n), layout=layout, width=room, confidence=confidence)  # type: ignore[arg-type]
    root = ET.fromstring(svg)
    wide, high = float(root.get("width", "")), float(root.get("height", ""))
    boxes_of_texts = sorted(boxes(svg))
    for position, (left, top, right, bottom, text) in enumerate(boxes_of_texts):
        assert left >= 0 and right <= wide and top >= 0 and bottom <= high, text
        for other_left, other_top, _, other_bottom, other in boxes_of_texts[position + 1 :]:
            if other_left >= right:
                break
            assert other_bottom <= top or bottom <= other_top, (text, other)


@given(st.integers(0, 10**6), st.integers(2, 40))
def test_arcs_that_end_at_one_word_end_at_different_places(seed: int, n: int) -> None:
    drawing = WideDrawing(arrange(*random_pair(seed, n)), Look())
    offsets_by_word: dict[int, list[float]] = {}
    for (_, word), offset in drawing.offsets.items():
        offsets_by_word.setdefault(word, []).append(offset)
    for offsets in offsets_by_word.values():
        assert len({round(offset, 3) for offset in offsets}) == len(offsets)


def test_a_script_from_right_to_left_begins_at_the_right() -> None:
    wide = WideDrawing(arrange(ARABIC, ARABIC_ARCS), Look())
    assert wide.word_centres == sorted(wide.word_centres, reverse=True)
    assert 'direction="rtl"' in to_svg(ARABIC, ARABIC_ARCS)
    wide = WideDrawing(arrange(CHINESE, CHINESE_ARCS), Look())
    assert wide.word_centres == sorted(wide.word_centres)


@LAYOUTS
def test_text_is_text_whatever_it_says(layout: str) -> None:
    words = [
        "<script>alert(1)</script>",
        "&amp;",
        '"><b',
        "\x00\x1b",
        "\ud800",
        "]]>",
        "a" * 100_000,
        "👩‍🚀",
    ]
    c = ConstituencyTree(words, ['"T"'] * 8, [(0, 8, "<S>"), (0, 2, "&")])
    d = DependencyTree([0] + [1] * 7, ['"<r>'] * 8, words)
    svg = to_svg(c, d, layout=layout)  # type: ignore[arg-type]
    assert "<script" not in svg and len(svg) < 40_000
    svg.encode("utf-8")
    first = parts(svg, "word")[0]
    assert texts(first)[0] == "<script>alert(1)</script>"
    assert parts(svg, "constituent")[0].get("data-label") == "<S>"


@LAYOUTS
def test_trees_that_do_not_fit_are_drawn_too(layout: str) -> None:
    c = ConstituencyTree.from_brackets("(S (X (A a) (B b)) (Y (C c) (D d)))")
    d = DependencyTree([3, 4, 0, 3], ["x", "y", "root", "z"], c.words)  # crossing arcs
    svg = to_svg(c, d, layout=layout)  # type: ignore[arg-type]
    assert [group.get("data-head") for group in parts(svg, "constituent")] == ["3", None, "3"]
    assert "no single head" in svg


@LAYOUTS
@pytest.mark.parametrize("n", [0, 1])
def test_the_smallest_sentences_are_drawn(layout: str, n: int) -> None:
    words = ["Yes"] * n
    c = ConstituencyTree(words, ["UH"] * n, [(0, 1, "INTJ")] * n)
    d = DependencyTree([0] * n, ["root"] * n, words)
    assert len(parts(to_svg(c, d, layout=layout), "word")) == n  # type: ignore[arg-type]


def test_a_very_long_sentence_is_drawn() -> None:
    c, d = random_pair(1, 1500)
    assert len(parts(to_svg(c, d), "word")) == 1500


@pytest.mark.parametrize(
    ("words", "room", "expected"),
    [
        (5, 1200, "wide"),
        (40, 1200, "tall"),
        (40, 340, "indented"),
        (5, 1, "indented"),
        (40, 1e6, "wide"),
    ],
)
def test_the_layout_is_the_widest_that_fits_unless_one_is_named(
    words: int, room: float, expected: str
) -> None:
    trees = random_pair(7, words)
    assert to_svg(*trees, width=room) == to_svg(*trees, width=room, layout=expected)  # type: ignore[arg-type]


def test_an_unknown_layout_is_refused_with_those_that_there_are() -> None:
    for draw in (to_svg, draw_terminal):
        with pytest.raises(
            ArcspanError, match="unknown layout 'round': choose one of auto, wide, tall, indented"
        ):
            draw(LOGIC, LOGIC_ARCS, layout="round")  # type: ignore[arg-type,operator]


def test_the_indented_list_gives_constituents_lines_of_their_own() -> None:
    svg = to_svg(LOGIC, LOGIC_ARCS, layout="indented")
    ys = {
        text.text: float(text.get("y", ""))
        for text in ET.fromstring(svg).iter(f"{SVG}text")
        if text.text != "NP"
    }
    order = ["S", "Logic", "VP", "plays", "a", "maximal", "role", "here"]
    assert [ys[word] for word in order] == sorted(ys[word] for word in order)
    assert abs(ys["ADVP"] - ys["here"]) < 2  # a constituent of one word is on its line
    assert ys["a"] - ys["plays"] > 40  # the line of an NP is between


def test_where_arcs_have_no_room_numbers_tell_the_heads() -> None:
    svg = to_svg(LOGIC, LOGIC_ARCS, layout="indented", width=270)
    assert not any(arc.findall(f"{SVG}path") for arc in parts(svg, "arc"))
    assert [texts(word)[-1] for word in parts(svg, "word")] == list("1234567")
    assert sorted(texts(arc)[0] for arc in parts(svg, "arc"))[:3] == ["advmod 2", "amod 5", "det 5"]
    assert float(ET.fromstring(svg).get("width", "")) <= 270


def test_programs_without_css_see_the_same_picture() -> None:
    """The halo of labels and all colours are attributes, and all of the style is inside @supports."""
    plain = to_svg(LOGIC, LOGIC_ARCS, colours="light")
    assert "<style" not in plain and "var(" not in plain
    relation = parts(plain, "arc")[0].find(f"{SVG}text")
    assert relation is not None
    assert (relation.get("stroke"), relation.get("paint-order")) == ("#ffffff", "stroke")
    label = parts(plain, "constituent")[0].find(f"{SVG}text")
    assert label is not None and label.get("font-weight") == "600"
    style = ET.fromstring(to_svg(LOGIC, LOGIC_ARCS)).find(f"{SVG}style")
    assert style is not None and re.fullmatch(
        r"\s*@supports\([^)]*\)\)\{.*\}\s*", style.text or "", re.DOTALL
    )


@pytest.mark.skipif(
    shutil.which("rsvg-convert") is None, reason="librsvg's rsvg-convert is not installed"
)
@pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="Pillow is not installed")
@LAYOUTS
def test_librsvg_and_our_own_renderer_see_the_colours_of_a_browser(layout: str) -> None:
    from PIL import Image

    svg = to_svg(LOGIC, LOGIC_ARCS, confidence=CONFIDENCE, layout=layout)  # type: ignore[arg-type]
    drawn = subprocess.run(
        ["rsvg-convert", "--zoom=2"], input=svg.encode(), capture_output=True, check=True
    )
    for png in (drawn.stdout, to_png(svg)):
        counts = Image.open(io.BytesIO(png)).convert("RGB").getcolors(2**24)
        colours = {colour: count for count, colour in counts}
        for name in ("ink", "head", "arc", "paper", "unsure", "doubtful", "likely"):
            value = COLOURS[name][0]
            assert colours.get(tuple(bytes.fromhex(value[1:])), 0) > 10, name


@LAYOUTS
def test_one_of_two_trees_is_drawn_with_the_heads_of_the_other(layout: str) -> None:
    brackets = to_svg(LOGIC, LOGIC_ARCS, layers="constituency", layout=layout)  # type: ignore[arg-type]
    assert not parts(brackets, "arc")
    assert brackets.count('class="spine"') == to_svg(LOGIC, LOGIC_ARCS).count('class="spine"') > 0
    arcs = to_svg(LOGIC, LOGIC_ARCS, layers="dependency", layout=layout)  # type: ignore[arg-type]
    assert arcs == to_svg(None, LOGIC_ARCS, layout=layout)  # type: ignore[arg-type]
    with pytest.raises(ArcspanError, match="no dependency tree"):
        to_svg(LOGIC, None, layers="dependency")
    with pytest.raises(
        ArcspanError, match="unknown layer 'both': choose one of constituency, dependency"
    ):
        to_svg(LOGIC, LOGIC_ARCS, layers="both")  # type: ignore[arg-type]


def test_heads_can_be_left_out() -> None:
    svg = to_svg(LOGIC, LOGIC_ARCS, heads=False)
    assert 'class="spine"' not in svg and 'class="head"' not in svg
    assert len(parts(svg, "constituent")) == len(LOGIC.without_wrapper().spans)


@LAYOUTS
def test_black_and_white_has_no_other_colour(layout: str) -> None:
    svg = to_svg(LOGIC, LOGIC_ARCS, colours="black", layout=layout, confidence=CONFIDENCE)  # type: ignore[arg-type]
    assert set(re.findall(r"#[0-9a-f]{6}", svg)) == {"#000000", "#ffffff"}
    assert "<style" not in svg and "stroke-dasharray" in svg
    with pytest.raises(
        ArcspanError, match="unknown colours 'pink': choose one of auto, light, black"
    ):
        to_svg(LOGIC, LOGIC_ARCS, colours="pink")  # type: ignore[arg-type]


def test_light_and_dark_colours_are_variables() -> None:
    svg = to_svg(LOGIC, LOGIC_ARCS)
    assert "prefers-color-scheme:dark" in svg
    for name in ("ink", "muted", "line", "head", "arc", "paper"):
        assert len(re.findall(rf"var\(--arcspan-{name},#", svg)) == 2
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_the_readmes_pictures_are_those_of_their_script() -> None:
    folder = Path(__file__).resolve().parents[2] / "docs" / "pictures"
    pictures = runpy.run_path(str(folder / "make.py"))["pictures"]()
    for name, content in pictures.items():
        assert (folder / name).read_text(encoding="utf-8") == content


def test_the_readmes_picture_shows_what_the_model_gives() -> None:
    scope = runpy.run_path(
        str(Path(__file__).resolve().parents[2] / "docs" / "pictures" / "make.py")
    )
    c = ConstituencyTree.from_brackets(scope["BRACKETS"])
    parse = arcspan.load().parse(list(c.words))
    assert parse.constituency.without_wrapper() == c
    assert (list(parse.dependencies.heads), list(parse.dependencies.relations)) == (
        scope["HEADS"],
        scope["RELATIONS"],
    )
