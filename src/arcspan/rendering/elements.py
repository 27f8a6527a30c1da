"""The parts that every SVG of a sentence shares: font sizes, colours, groups with data attributes.

A layout decides where things go. The groups with their titles and the order in which they are painted are the same for
all layouts, and are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import inf
from typing import Literal, get_args

from arcspan.errors import ArcspanError
from arcspan.rendering.layout import (
    Arc,
    Confidence,
    Constituent,
    Picture,
    columns,
    is_right_to_left,
)

Colours = Literal["auto", "light", "black"]
"""Colours that follow the page and its dark mode, colours that stay light, or black and white."""

# On light and on dark paper. The last three mark constituents and arcs of lower probability.
COLOURS = {
    "ink": ("#1b1f24", "#e8eaed"),
    "muted": ("#6a737d", "#9aa4af"),
    "line": ("#a3acb5", "#5d6873"),
    "head": ("#b3392b", "#ff8a75"),
    "arc": ("#23589f", "#82b4ff"),
    "paper": ("#ffffff", "#15181c"),
    "likely": ("#7a6a00", "#d9c24a"),
    "doubtful": ("#bf5600", "#ff9d52"),
    "unsure": ("#c2156b", "#ff86bd"),
}
LIGHT = {name: light for name, (light, _) in COLOURS.items()}
BLACK = {name: "#ffffff" if name == "paper" else "#000000" for name in COLOURS}
BANDS = (
    ("sure", 0.95, "at least 95%"),
    ("likely", 0.8, "80–95%"),
    ("doubtful", 0.5, "50–80%"),
    ("unsure", 0.0, "below 50%"),
)
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif"
WORD, TAG, LABEL, HEAD, RELATION = 16.0, 10.5, 13.0, 9.5, 11.0  # sizes of type
# by the class of a text; "beside" is a relation beside its word
SIZES = {
    "form": WORD,
    "tag": TAG,
    "label": LABEL,
    "head": HEAD,
    "relation": RELATION,
    "beside": RELATION,
}
LOOKS = {  # besides the size; {} is filled with colours
    "tag": ' fill="{muted}"',
    "label": ' font-weight="600"',
    "head": ' fill="{head}"',
    "relation": ' stroke="{paper}" stroke-width="5" stroke-linejoin="round" paint-order="stroke"',
}
MARGIN = 18.0
CORNER = 6.0
PORT_GAP = 6.0  # between the ends of two arcs at one word


def _variables(shade: int) -> str:
    return ";".join(
        f"--as-{name}:var(--arcspan-{name},{both[shade]})" for name, both in COLOURS.items()
    )


# Attributes carry sizes and colours, so that programs with little CSS draw the same picture. The style only lets the
# page and the dark mode change colours; programs without CSS variables skip @supports.
STYLE = f"""
@supports(color:var(--as-ink)){{
.arcspan{{{_variables(0)}}}
@media(prefers-color-scheme:dark){{.arcspan{{{_variables(1)}}}}}
{"".join(f".arcspan .{name}{{--as-ink:var(--as-{name});--as-arc:var(--as-{name})}}" for name, *_ in BANDS[1:])}
.arcspan text,.arcspan .stripe,.arcspan circle{{fill:var(--as-ink)}}
.arcspan .paper{{fill:var(--as-paper)}}
.arcspan .edge{{stroke:var(--as-line)}}
.arcspan .spine{{stroke:var(--as-head)}}
.arcspan text.head{{fill:var(--as-head)}}
.arcspan text.tag{{fill:var(--as-muted)}}
.arcspan .arc path{{stroke:var(--as-arc)}}
.arcspan .arc .tip{{stroke:none;fill:var(--as-arc)}}
.arcspan .arc text{{fill:var(--as-arc)}}
.arcspan .arc text.relation{{stroke:var(--as-paper)}}
}}
"""


@dataclass(frozen=True)
class Look:
    """How a picture is drawn in any layout; the fields are options of `to_svg`."""

    width: float = inf
    confidence: Confidence | None = None
    heads: bool = True
    colours: Colours = "auto"

    def __post_init__(self) -> None:
        if self.confidence is not None and not hasattr(self.confidence, "arcs"):
            raise ArcspanError(
                f"confidence takes the value of Parse.confidence, not {self.confidence!r}"
            )
        if self.colours not in get_args(Colours):
            known = ", ".join(get_args(Colours))
            raise ArcspanError(f"unknown colours {self.colours!r}: choose one of {known}")


class Drawing(ABC):
    """A picture with coordinates, which a layout's `place` finds; `svg` puts its parts together.

    A point has a coordinate `along` the words and one `across`, away from them: x and y where words are side by
    side, y and x where they are below each other (`turned`).
    """

    turned = False
    width: float
    height: float
    places: list[float]  # along: the middle of each word
    anchors: list[float]  # along: the middle of each constituent
    # Across: where the edge to each constituent ends, where those from it begin and where they turn; edges to words
    ends: list[float]
    starts: list[float]
    bends: list[float]
    word_ends: list[float]
    pressed: list[
        float
    ]  # the distance between the ends of two arcs at each word, compared with `PORT_GAP`
    arcs_edge: float  # across: where arcs begin and end
    arc_pitch: float
    has_arcs = True
    root: float | None = (
        None  # the length of the root's arc, where that does not depend on its level
    )
    drop = 0.0  # how far from a constituent's middle the edges to its children begin, along
    row = 0.0
    stripes: Sequence[
        float
    ] = ()  # the middles of lines, of which every other is shaded for the eye

    def __init__(self, picture: Picture, look: Look) -> None:
        self.picture, self.look = picture, look
        self.colours = BLACK if look.colours == "black" else LIGHT
        self.rtl = is_right_to_left(picture.words)
        self.offsets, self.arc_room = _ports(picture)
        self.anchors = []
        self.place()
        self.anchors = self.anchors or picture.anchors(self.places)

    @abstractmethod
    def place(self) -> None:
        """Find the coordinates above."""

    @abstractmethod
    def constituent_texts(self, position: int, one: Constituent) -> list[str]:
        """The elements of a constituent."""

    @abstractmethod
    def word_texts(self, position: int, word: str, tag: str) -> list[str]:
        """The elements of a word."""

    @abstractmethod
    def relation(self, arc: Arc, at: float, level: float) -> str:
        """The relation of an arc that ends at `at`, along, and is at `level`, across."""

    def port(self, arc: Arc, word: int) -> float:
        """Where an arc meets a word, along."""
        return self.places[word - 1] + self.offsets[arc.modifier, word] * self.pressed[word - 1]

    def svg(self) -> str:
        """The whole document."""
        legend = self._legend()
        width, height, row = map(number, (self.width, self.height, self.row))
        size, ink = f'width="{width}" height="{height}"', self.colours["ink"]
        stripe = f'width="{width}" height="{row}" fill="{ink}" opacity=".04"'
        tops = (number(y - self.row / 2) for y in self.stripes[::2])
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="arcspan" viewBox="0 0 {width} {height}" '
                f'{size} role="img" fill="none" font-family="{FONTS}">',
                f"<title>{escape(' '.join(self.picture.words))}</title>",
                *([f"<style>{STYLE}</style>"] if self.look.colours == "auto" else []),
                f'<rect class="paper" {size} rx="8" fill="{self.colours["paper"]}"/>',
                *(f'<rect class="stripe" y="{y}" {stripe}/>' for y in tops),
                *self._edges(),
                *self._constituents(),
                *self._words(),
                *self._arcs(),
                *legend,
                "</svg>",
                "",
            ]
        )

    def _legend(self) -> list[str]:
        """The colours of probabilities explained, below the picture, which grows for it."""
        sure = self.look.confidence
        if sure is None or self.look.colours == "black":
            return []
        spans = [sure.spans.get((one.i, one.j)) for one in self.picture.constituents]
        bands = {
            _band(probability)
            for probability in [*spans, *(sure.arcs if self.picture.arcs else ())]
        }
        x, y = MARGIN, self.height + 2
        found = ['<g class="legend">', self.text("tag", x, y, "probability", anchor="start")]
        x += width("probability", TAG) + 8
        for name, _, meaning in BANDS:
            if name in bands:
                found.append(
                    f'<g class="{name}" fill="{self.colours.get(name, self.colours["ink"])}">'
                    f'<circle cx="{number(x)}" cy="{number(y - 3.5)}" r="4"/>'
                    f"{self.text('tag', x + 8, y, meaning, anchor='start')}</g>"
                )
                x += width(meaning, TAG) + 22
        self.height += 12
        self.width = max(self.width, x)
        return [*found, "</g>"]

    def _edges(self) -> Iterator[str]:
        """Lines between constituents, and from constituents to words; thin ones first, spines over them."""
        found: list[tuple[bool, str]] = []
        for parent, child, word, spine in self.picture.edges():
            if parent < 0:
                continue
            spine = spine and self.look.heads
            at, start, bend = self.anchors[parent], self.starts[parent], self.bends[parent]
            if word:
                to, end = self.places[word - 1], self.word_ends[word - 1]
                data = _data(word=word, head=word if spine else None)
            else:
                one = self.picture.constituents[child]
                to, end = self.anchors[child], self.ends[child]
                data = _data(span=f"{one.i},{one.j}", head=one.head if spine else None)
            thick = f'class="spine" stroke="{self.colours["head"]}" stroke-width="2.6"'
            look = thick if spine else 'class="edge"'
            points = [(at, start), (to, end)]
            if at != to:
                at += self.drop
                points = [(at, start), (at, bend), (to, bend), (to, end)]
            found.append((spine, f'<path {look}{data} d="{self.path(*points, radius=CORNER)}"/>'))
        if found:
            yield f'<g class="edges" stroke="{self.colours["line"]}" stroke-width="1.2">'
            yield from (line for _, line in sorted(found, key=lambda line: line[0]))
            yield "</g>"

    def path(self, *points: tuple[float, float], radius: float = 0.0) -> str:
        """The data of a line through points (along, across), its corners round."""
        turned = [complex(*(point[::-1] if self.turned else point)) for point in points]
        found = f"M{_point(turned[0])}"
        for before, corner, after in zip(turned, turned[1:], turned[2:], strict=False):
            cut = min(radius, abs(before - corner) / 2, abs(after - corner) / 2)
            start, end = (
                corner + cut * (to - corner) / (abs(to - corner) or 1) for to in (before, after)
            )
            found += f"L{_point(start)}" + (f"Q{_point(corner)} {_point(end)}" if cut else "")
        return found + f"L{_point(turned[-1])}"

    def _constituents(self) -> Iterator[str]:
        for position, one in enumerate(self.picture.constituents):
            head = f"head: {self.picture.words[one.head - 1]}" if one.head else "no single head"
            sure = self.look.confidence.spans.get((one.i, one.j)) if self.look.confidence else None
            words = f"word {one.j}" if one.j - one.i == 1 else f"words {one.i + 1}–{one.j}"
            span = f"{one.i},{one.j}"
            data = _data(span=span, label=one.label, head=one.head or None, confidence=sure)
            italic = ' font-style="italic"' if _band(sure) == "unsure" else ""
            yield f'<g{_look("constituent", sure)} fill="{self._colour(sure, "ink")}"{italic}{data}>'
            yield _title([one.label, words, head, _percent(sure)])
            yield from self.constituent_texts(position, one)
            yield "</g>"

    def _words(self) -> Iterator[str]:
        arcs = {arc.modifier: arc for arc in self.picture.arcs}
        for position, (word, tag) in enumerate(
            zip(self.picture.words, self.picture.tags, strict=True), 1
        ):
            arc = arcs.get(position)
            data = _data(word=position, tag=tag or None, head=arc.head if arc else None)
            relation = arc.relation if arc else ""
            if arc and arc.head:
                relation += f" of {self.picture.words[arc.head - 1]}"
            yield f'<g class="word" fill="{self.colours["ink"]}"{data}>{_title([f"{position} {word}", tag, relation])}'
            yield from self.word_texts(position, word, tag)
            yield "</g>"

    def _arcs(self) -> Iterator[str]:
        """Arcs from the outermost to the innermost."""
        for arc in sorted(self.picture.arcs, key=lambda arc: -arc.level):
            sure = self.look.confidence.arcs[arc.modifier - 1] if self.look.confidence else None
            data = _data(word=arc.modifier, head=arc.head, label=arc.relation, confidence=sure)
            head = self.picture.words[arc.head - 1] if arc.head else "root"
            about = [
                f"{head} → {self.picture.words[arc.modifier - 1]}",
                arc.relation,
                _percent(sure),
            ]
            colour = self._colour(sure, "arc")
            yield f'<g{_look("arc", sure)} fill="{colour}"{data}>{_title(about)}'
            yield from self._arc_parts(
                arc, f'fill="none" stroke="{colour}" stroke-width="1.4"', _band(sure)
            )
            yield "</g>"

    def _arc_parts(self, arc: Arc, look: str, band: str) -> Iterator[str]:
        """From the head away from the words, along, and back to the modifier, with the relation on the way."""
        at, near = self.port(arc, arc.modifier), self.arcs_edge
        level = near + arc.level * self.arc_pitch
        if arc.head:
            start = self.port(arc, arc.head)
            points = [(start, near), (start, level), (at, level), (at, near + 4)]
        else:
            points = [(at, level if self.root is None else near + self.root), (at, near + 4)]
        if self.has_arcs:
            dashes = ' stroke-dasharray="4 3"' if band == "unsure" else ""
            yield f'<path {look}{dashes} d="{self.path(*points, radius=CORNER + 2)}"/>'
            tip = self.path((at, near - 2), (at - 3.5, near + 5), (at + 3.5, near + 5))
            yield f'<path class="tip" d="{tip}z"/>'
        if arc.relation:
            yield self.relation(arc, at, level)

    def text(
        self,
        kind: str,
        x: float,
        y: float,
        content: str,
        *,
        rtl: bool = False,
        anchor: str = "middle",
    ) -> str:
        """A text element, escaped; its colour is that of its group unless its kind has one."""
        look = LOOKS.get(kind, "").format(**self.colours) + (' direction="rtl"' if rtl else "")
        return (
            f'<text class="{kind}" x="{number(x)}" y="{number(y)}" font-size="{SIZES[kind]:g}" '
            f'text-anchor="{anchor}"{look}>{escape(content, quote=False)}</text>'
        )

    def _colour(self, probability: float | None, otherwise: str) -> str:
        return self.colours.get(_band(probability), self.colours[otherwise])


def _data(**values: object) -> str:
    shown = {
        key: f"{value:.4f}" if isinstance(value, float) else value for key, value in values.items()
    }
    return "".join(
        f' data-{key}="{escape(str(value))}"' for key, value in shown.items() if value is not None
    )


def _ports(picture: Picture) -> tuple[dict[tuple[int, int], float], list[float]]:
    """Where the arc to a modifier meets a word, from the word's middle, and the room that each word's arcs take.

    Arcs of one word do not lie on each other, and since on each side the longest is the nearest to the middle, they
    never cross.
    """
    offsets: dict[tuple[int, int], float] = {}
    widths = [0.0] * len(picture.words)
    ends: dict[
        int, list[tuple[int, int, Arc]]
    ] = {}  # of each word: on which side of it, order there, arc
    for arc in picture.arcs:
        side = (
            1 if arc.head > arc.modifier else -1 if arc.head else 0
        )  # the root's arc is in the middle
        ends.setdefault(arc.modifier, []).append((side, -side * arc.level, arc))
        if arc.head:
            ends.setdefault(arc.head, []).append((-side, side * arc.level, arc))
    for word, own in ends.items():
        own.sort(key=lambda end: end[:2])
        sides = [side for side, *_ in own]
        middle = sides.index(0) if 0 in sides else (len(own) - 1) / 2
        for place, (*_, arc) in enumerate(own):
            offsets[arc.modifier, word] = (place - middle) * PORT_GAP
        widths[word - 1] = 2 * max(middle, len(own) - 1 - middle) * PORT_GAP
    return offsets, widths


_WIDTHS = {
    **{character: 0.72 if character.isupper() else 0.6 for character in map(chr, range(128))},
    **dict.fromkeys("iIjl.,:;'|!‘’`", 0.32),
    **dict.fromkeys('frt()[]{}-/\\ "*“”', 0.42),
    **dict.fromkeys("mwMW@%—…", 0.95),
    "\ufe0f": 0.45,  # makes an emoji of the sign before it
}


def width(text: str, size: float) -> float:
    """About how wide a text is in a sans-serif type, rather too wide than too narrow."""
    return size * sum(_WIDTHS.get(one) or (0.0, 0.62, 1.05)[columns(one)] for one in text)


def _band(probability: float | None) -> str:
    """The name of the band of a probability; an unknown one is drawn like a high one."""
    return next(name for name, least, _ in BANDS if probability is None or probability >= least)


def _look(kind: str, probability: float | None) -> str:
    band = _band(probability)
    return f' class="{kind}"' if band == "sure" else f' class="{kind} {band}"'


def _title(parts: list[str]) -> str:
    return f"<title>{escape(' · '.join(part for part in parts if part), quote=False)}</title>"


def _percent(probability: float | None) -> str:
    return "" if probability is None else f"{100 * probability:.1f}%"


def _point(place: complex) -> str:
    return f"{number(place.real)} {number(place.imag)}"


def number(value: float) -> str:
    """A coordinate, as short as it can be written to a tenth."""
    return f"{value:.1f}".rstrip("0").rstrip(".")
