"""The pictures of a breakdown, as one would put them in a paper. Needs matplotlib (the extra `plots`).

Colours are those of Okabe and Ito, which colour-blind readers can distinguish; markers and line styles differ too, so
that a print in grey stays readable. Behind each curve pale bars show how the gold items are spread over the
bins.
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
    **dict.fromkeys(("font.size", "axes.labelsize", "legend.fontsize"), 8),
    **{"axes.titlesize": 9, "xtick.labelsize": 7, "ytick.labelsize": 7},
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    **{"lines.linewidth": 1.2, "lines.markersize": 4},
    **{"svg.fonttype": "none", "svg.hashsalt": "arcspan", "pdf.fonttype": 42},
}
# By format. No date inside: the same numbers give the same bytes.
_METADATA = {"png": None, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def draw_curves(systems: Mapping[str, Breakdown], kind: str = "png") -> bytes:
    """The curves of all systems, one panel per curve, as the bytes of a picture file."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError:
        raise MissingExtraError("drawing pictures", "plots") from None
    names = [name for name in CURVES if any(system.curves[name] for system in systems.values())]
    if not names:
        raise ArcspanError("nothing was scored, so there is nothing to draw")
    with matplotlib.rc_context(_STYLE):
        rows, across = (2, 2) if len(names) > 2 else (1, len(names))
        figure = matplotlib.figure.Figure(
            figsize=(3.35 * across, 2.3 * rows + 0.35), layout="constrained"
        )
        panels = figure.subplots(rows, across, squeeze=False).ravel()
        for letter, panel, name in zip("abcd", panels, names, strict=False):
            _draw_curve(panel, name, systems)
            figure_name, over = CURVES[name]
            panel.set_title(f"({letter}) {figure_name} by {over}", loc="left")
        lines, labels = panels[0].get_legend_handles_labels()
        if len(systems) > 1:
            place = {"loc": "outside upper center", "ncols": min(len(labels), 6)}
            figure.legend(lines, labels, frameon=False, handlelength=3, **place)
        if kind not in _METADATA:
            raise ArcspanError(f"pictures are drawn as {', '.join(_METADATA)}, not {kind!r}")
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=300, metadata=_METADATA[kind])
        return out.getvalue()


def _draw_curve(panel: Any, name: str, systems: Mapping[str, Breakdown]) -> None:
    curves = [system.curves[name] for system in systems.values()]
    bins = list(dict.fromkeys(bin_name for curve in curves for bin_name in curve))
    heights: list[float] = []
    looks = zip(cycle(_COLOURS), cycle(_MARKERS), cycle(_DASHES), strict=False)
    for (title, system), (colour, marker, dash) in zip(systems.items(), looks, strict=False):
        points = {
            x: value for x, b in enumerate(bins) if (value := system.value(name, b)) is not None
        }
        heights += points.values()
        look = {"color": colour, "marker": marker, "linestyle": dash, "zorder": 3}
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.5}
        panel.plot(list(points), list(points.values()), label=title, **look, **edge)
    low, high = min(heights, default=0), max(heights, default=100)
    height = max(4.0, high - low)
    # The curves keep to the upper two thirds, above the bars.
    panel.set_ylim(max(0.0, low - 0.6 * height), min(100 + 0.05 * height, high + 0.1 * height))
    _draw_shares(panel, [curves[0].get(b, Tally()).gold for b in bins])
    panel.set_xticks(range(len(bins)), bins)
    panel.set_xlim(-0.6, len(bins) - 0.4)
    panel.set_ylabel(f"{CURVES[name][0]} (%)")
    panel.set_xlabel(f"{CURVES[name][1]} (words)")
    panel.grid(axis="y", color="#d9d9d9", linewidth=0.5, zorder=0)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _draw_shares(panel: Any, gold: list[int]) -> None:
    """Pale bars: the share of the gold items in each bin, the largest a quarter of the panel high."""
    total = sum(gold)
    if not total:
        return
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
    panel.set_zorder(behind.get_zorder() + 1)
    panel.patch.set_visible(False)
