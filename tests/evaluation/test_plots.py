"""Pictures: drawn in each format, the same each time, with everything on them that should be."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import pytest

from arcspan.errors import ArcspanError, MissingExtraError
from arcspan.evaluation import breakdown
from arcspan.evaluation.plots import _draw_curve, draw_curves
from tests.evaluation.samples import GOLD, PREDICTED

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
matplotlib = pytest.importorskip("matplotlib")


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_pictures_come_in_each_format_and_are_the_same_each_time(kind: str) -> None:
    system = breakdown(GOLD, PREDICTED)
    first = draw_curves({"a": system}, kind)
    assert first.startswith(MAGIC[kind])
    assert first == draw_curves({"a": system}, kind)


def test_curves_name_every_system_and_every_axis() -> None:
    svg = draw_curves(
        {"SEP": breakdown(GOLD, PREDICTED), "Joint2o": breakdown(GOLD, GOLD)}, "svg"
    ).decode()
    for text in (
        "SEP",
        "Joint2o",
        "(a) F1 by sentence length",
        "(d) LAS by dependency length",
        "LAS (%)",
        "root",
    ):
        assert f">{text}<" in svg


def test_a_panel_shows_every_bin_above_the_bars_and_names_both_axes() -> None:
    from matplotlib.figure import Figure

    panel = Figure().subplots()
    _draw_curve(panel, "las_by_distance", {"a": breakdown(GOLD, PREDICTED)})
    bins = [label.get_text() for label in panel.get_xticklabels()]
    assert (
        bins[0] == "root" and len(bins) > 1 and list(panel.get_xticks()) == list(range(len(bins)))
    )
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("dependency length (words)", "LAS (%)")
    assert panel.get_xlim() == pytest.approx((-0.6, len(bins) - 0.4))
    heights: Any = panel.get_lines()[0].get_ydata()
    low, high = panel.get_ylim()
    assert low <= min(heights) - 0.2 * (max(heights) - min(heights)) or low == 0
    assert high > max(heights) and not panel.spines["top"].get_visible()


def test_one_layer_has_its_two_panels() -> None:
    system = breakdown([(c, None) for c, _ in GOLD], [(c, None) for c, _ in PREDICTED])
    svg = draw_curves({"a": system}, "svg").decode()
    assert "(b) F1 by constituent width" in svg and "LAS" not in svg


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ArcspanError, match="nothing was scored"):
        draw_curves({"a": breakdown([], [])})
    with pytest.raises(ArcspanError, match="png, svg, pdf, not 'gif'"):
        draw_curves({"a": breakdown(GOLD, GOLD)}, "gif")


def test_without_matplotlib_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[plots\]'"):
        draw_curves({"a": breakdown(GOLD, GOLD)})
