"""Pictures of a breakdown, in the style of a paper; they need matplotlib (the extra `plots`).

Colours are those of Okabe and Ito, which colour-blind readers can distinguish; markers and line
styles differ too, so that a print in grey stays readable. Behind each curve pale bars show the
share of gold constituents or dependencies in each bin.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from itertools import cycle
from typing import Any

from arcspan.errors import ArcspanError, MissingExtraError
from arcspan.evaluation.breakdown import CURVES, Breakdown
from arcspan.evaluation.metrics import Tally

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 2)), ":")
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 8,
    "axes.titlesize": 9,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    # Text stays text, and identifiers do not change from run to run.
    "svg.fonttype": "none",
    "svg.hashsalt": "arcspan",
    "pdf.fonttype": 42,
}
# By format. No date inside: the same numbers give the same bytes.
_METADATA = {"png": None, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def draw_curves(systems: Mapping[str, Breakdown], format: str = "png") -> bytes:
    """Draw the curves of all systems, one panel per curve; return the bytes of a picture file."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError:
        raise MissingExtraError("drawing pictures", "plots") from None
    # No panel for a layer that was not scored.
    names = [name for name in CURVES if any(system.curves[name] for system in systems.values())]
    if not names:
        raise ArcspanError("nothing was scored, so there is nothing to draw")
    with matplotlib.rc_context(_STYLE):
        rows = 2 if len(names) > 2 else 1
        across = 1 if len(names) == 1 else 2
        figure = matplotlib.figure.Figure(
            figsize=(3.35 * across, 2.3 * rows + 0.35), layout="constrained"
        )
        panels = figure.subplots(rows, across, squeeze=False).ravel()
        for letter, panel, name in zip("abcd", panels, names, strict=False):
            _draw_curve(panel, name, systems)
            figure_name, over = CURVES[name]
            panel.set_title(f"({letter}) {figure_name} by {over}", loc="left")
        lines, labels = panels[0].get_legend_handles_labels()
        # One legend for all panels.
        if len(systems) > 1:
            figure.legend(
                lines,
                labels,
                loc="outside upper center",
                ncols=min(len(labels), 6),
                frameon=False,
                handlelength=3,
            )
        if format not in _METADATA:
            raise ArcspanError(f"pictures are drawn as {', '.join(_METADATA)}, not {format!r}")
        picture = io.BytesIO()
        figure.savefig(picture, format=format, dpi=300, metadata=_METADATA[format])
        return picture.getvalue()


def _draw_curve(panel: Any, name: str, systems: Mapping[str, Breakdown]) -> None:
    """Draw one curve of all systems, with its bars and axes, into a panel."""
    curves = [system.curves[name] for system in systems.values()]
    # The bins of all systems, each once and in order.
    bins = list(dict.fromkeys(bin_name for curve in curves for bin_name in curve))
    heights: list[float] = []
    styles = zip(cycle(_COLOURS), cycle(_MARKERS), cycle(_DASHES), strict=False)
    for (title, system), (colour, marker, dash) in zip(systems.items(), styles, strict=False):
        points = {}
        for x, bin_name in enumerate(bins):
            value = system.value(name, bin_name)
            if value is not None:
                points[x] = value
        heights += points.values()
        panel.plot(
            list(points),
            list(points.values()),
            label=title,
            color=colour,
            marker=marker,
            linestyle=dash,
            markeredgecolor="white",
            markeredgewidth=0.5,
            zorder=3,
        )
    low = min(heights, default=0)
    high = max(heights, default=100)
    height = max(4.0, high - low)
    # The curves keep to the upper two thirds, above the bars.
    panel.set_ylim(max(0.0, low - 0.6 * height), min(100 + 0.05 * height, high + 0.1 * height))
    _draw_shares(panel, [curves[0].get(bin_name, Tally()).gold for bin_name in bins])
    panel.set_xticks(range(len(bins)), bins)
    panel.set_xlim(-0.6, len(bins) - 0.4)
    panel.set_ylabel(f"{CURVES[name][0]} (%)")
    panel.set_xlabel(f"{CURVES[name][1]} (words)")
    panel.grid(axis="y", color="#d9d9d9", linewidth=0.5, zorder=0)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _draw_shares(panel: Any, gold: list[int]) -> None:
    """Draw pale bars for the shares of the bins; the largest is a quarter of the panel high."""
    total = sum(gold)
    if not total:
        return
    # Axes of their own for the bars, drawn before the curves.
    behind = panel.twinx()
    shares = [100 * count / total for count in gold]
    behind.bar(range(len(shares)), shares, width=0.72, color="#e9ecef", zorder=0)
    behind.set_ylim(0, 4 * max(shares))
    behind.set_yticks([])
    for side in behind.spines.values():
        side.set_visible(False)
    for x, share in enumerate(shares):
        panel.text(
            x,
            share + 0.04 * max(shares),
            f"{share:.0f}%" if share >= 1 else "<1%",
            ha="center",
            va="bottom",
            fontsize=5.5,
            color="#868e96",
            transform=behind.transData,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
            zorder=2,
        )
    # The panel with the curves goes over the bars, and lets them be seen.
    panel.set_zorder(behind.get_zorder() + 1)
    panel.patch.set_visible(False)
