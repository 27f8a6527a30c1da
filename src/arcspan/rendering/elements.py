"""The parts that every SVG of a sentence shares: font sizes, colours, groups with data attributes.

A layout computes coordinates. The groups with their titles and the order in which they are painted
are the same for all layouts, and are written here.
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
    Constituent,
    Picture,
    PictureArc,
    Probabilities,
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
# Sizes of type.
WORD = 16.0
TAG = 10.5
LABEL = 13.0
HEAD = 9.5
RELATION = 11.0
# By the class of a text; "beside" is a relation beside its word.
SIZES = {
    "form": WORD,
    "tag": TAG,
    "label": LABEL,
    "head": HEAD,
    "relation": RELATION,
    "beside": RELATION,
}
# Attributes of texts besides the size, with colours to be filled in.
TEXT_ATTRIBUTES = {
    "tag": ' fill="{muted}"',
    "label": ' font-weight="600"',
    "head": ' fill="{head}"',
    "relation": ' stroke="{paper}" stroke-width="5" stroke-linejoin="round" paint-order="stroke"',
}
MARGIN = 18.0
CORNER = 6.0
# Between the ends of two arcs at one word.
PORT_GAP = 6.0


def _variables(shade: int) -> str:
    variables = []
    for name, shades in COLOURS.items():
        variables.append(f"--as-{name}:var(--arcspan-{name},{shades[shade]})")
    return ";".join(variables)


# Attributes carry sizes and colours, so that programs with little CSS draw the same picture. The
# style only lets the page and the dark mode change colours; programs without CSS variables skip
# @supports.
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
    """Options of `to_svg` that hold for every layout."""

    width: float = inf
    confidence: Probabilities | None = None
    heads: bool = True
    colours: Colours = "auto"

    def __post_init__(self) -> None:
        if self.confidence is not None and not hasattr(self.confidence, "arcs"):
            raise ArcspanError(
                f"confidence takes the value of Parse.confidence, not {self.confidence!r}"
            )
        names = get_args(Colours)
        if self.colours not in names:
            raise ArcspanError(
                f"unknown colours {self.colours!r}: choose one of {', '.join(names)}"
            )


class Drawing(ABC):
    """A picture with coordinates, which a layout's `arrange` computes; `svg` puts its parts
    together.

    A point has a coordinate `along` the words and one `across`, away from them: x and y where words
    are side by side, y and x where they are below each other (`turned`).

    word_centres, anchors  along: the middle of each word, of each constituent
    ends, starts, bends    across: the edge to each constituent ends, those from it begin and turn
    word_ends              across: the edge to each word ends
    port_scales            by word: the distance between the ends of two arcs, compared with
                           `PORT_GAP`
    arcs_edge              across: arcs begin and end
    root                   the length of the root's arc, unless its level decides it
    drop                   along: how far from a constituent's middle the edges to its children
                           begin
    stripes                the middles of lines, of which every other is shaded for the eye
    """

    turned = False
    width: float
    height: float
    word_centres: list[float]
    anchors: list[float]
    ends: list[float]
    starts: list[float]
    bends: list[float]
    word_ends: list[float]
    port_scales: list[float]
    arcs_edge: float
    arc_pitch: float
    has_arcs = True
    root: float | None = None
    drop = 0.0
    row = 0.0
    stripes: Sequence[float] = ()

    def __init__(self, picture: Picture, look: Look) -> None:
        self.picture = picture
        self.look = look
        self.colours = BLACK if look.colours == "black" else LIGHT
        self.rtl = is_right_to_left(picture.words)
        self.offsets, self.arc_widths = _ports(picture)
        self.anchors = []
        self.arrange()
        if not self.anchors:
            self.anchors = picture.anchors(self.word_centres)

    @abstractmethod
    def arrange(self) -> None:
        """Compute the coordinates above."""

    @abstractmethod
    def constituent_texts(self, index: int, constituent: Constituent) -> list[str]:
        """Return the elements of a constituent."""

    @abstractmethod
    def word_texts(self, position: int, word: str, tag: str) -> list[str]:
        """Return the elements of a word."""

    @abstractmethod
    def relation(self, arc: PictureArc, at: float, level: float) -> str:
        """Return the relation of an arc that ends at `at`, along, and is at `level`, across."""

    def port(self, arc: PictureArc, word: int) -> float:
        """Return where an arc meets a word, along."""
        offset = self.offsets[arc.modifier, word] * self.port_scales[word - 1]
        return self.word_centres[word - 1] + offset

    def svg(self) -> str:
        """Return the whole document."""
        # The legend makes the picture larger.
        legend = self._legend()
        width, height, row = number(self.width), number(self.height), number(self.row)
        size = f'width="{width}" height="{height}"'
        elements = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="arcspan" viewBox="0 0 {width} {height}" '
            f'{size} role="img" fill="none" font-family="{FONTS}">',
            f"<title>{escape(' '.join(self.picture.words))}</title>",
        ]
        if self.look.colours == "auto":
            elements.append(f"<style>{STYLE}</style>")
        elements.append(f'<rect class="paper" {size} rx="8" fill="{self.colours["paper"]}"/>')
        for y in self.stripes[::2]:
            elements.append(
                f'<rect class="stripe" y="{number(y - self.row / 2)}" width="{width}" height="{row}" '
                f'fill="{self.colours["ink"]}" opacity=".04"/>'
            )
        elements += self._edges()
        for index, constituent in enumerate(self.picture.constituents):
            elements += self._constituent(index, constituent)
        elements += self._words()
        # From the outermost to the innermost, so that tips are painted over longer arcs.
        for arc in sorted(self.picture.arcs, key=lambda arc: -arc.level):
            elements += self._arc(arc)
        return "\n".join([*elements, *legend, "</svg>\n"])

    def _legend(self) -> list[str]:
        """Return the colours of probabilities explained, below the picture, which grows for it."""
        probabilities = self.look.confidence
        if probabilities is None or self.look.colours == "black":
            return []
        shown = {_band(probabilities.spans.get((c.i, c.j))) for c in self.picture.constituents}
        if self.picture.arcs:
            shown.update(map(_band, probabilities.arcs))
        x, y = MARGIN, self.height + 2
        elements = ['<g class="legend">', self.text("tag", x, y, "probability", anchor="start")]
        x += width("probability", TAG) + 8
        for name, _, meaning in BANDS:
            if name in shown:
                elements.append(
                    f'<g class="{name}" fill="{self.colours.get(name, self.colours["ink"])}">'
                    f'<circle cx="{number(x)}" cy="{number(y - 3.5)}" r="4"/>'
                    f"{self.text('tag', x + 8, y, meaning, anchor='start')}</g>"
                )
                x += width(meaning, TAG) + 22
        self.height += 12
        self.width = max(self.width, x)
        return [*elements, "</g>"]

    def _edges(self) -> list[str]:
        """Return lines between constituents, and from constituents to words; spines are painted
        over thin ones.
        """
        thin: list[str] = []
        spines: list[str] = []
        for parent, child, word, is_spine in self.picture.edges():
            if parent < 0:
                continue
            if word:
                to, end = self.word_centres[word - 1], self.word_ends[word - 1]
                head = word
                data = _data(word=word)
            else:
                to, end = self.anchors[child], self.ends[child]
                i, j, _, _, _, head = self.picture.constituents[child]
                data = _data(span=f"{i},{j}")
            at, start, bend = self.anchors[parent], self.starts[parent], self.bends[parent]
            points = [(at, start), (to, end)]
            if at != to:
                at += self.drop
                points = [(at, start), (at, bend), (to, bend), (to, end)]
            line = self.path(*points, radius=CORNER)
            if is_spine and self.look.heads:
                look = f'class="spine" stroke="{self.colours["head"]}" stroke-width="2.6"'
                spines.append(f'<path {look}{data}{_data(head=head)} d="{line}"/>')
            else:
                thin.append(f'<path class="edge"{data} d="{line}"/>')
        if not thin and not spines:
            return []
        group = f'<g class="edges" stroke="{self.colours["line"]}" stroke-width="1.2">'
        return [group, *thin, *spines, "</g>"]

    def path(self, *points: tuple[float, float], radius: float = 0.0) -> str:
        """Return the data of a line through points (along, across), its corners round."""
        turned = [complex(*(point[::-1] if self.turned else point)) for point in points]
        commands = f"M{_point(turned[0])}"
        for before, corner, after in zip(turned, turned[1:], turned[2:], strict=False):
            cut = min(radius, abs(before - corner) / 2, abs(after - corner) / 2)
            start, end = (
                corner + cut * (to - corner) / (abs(to - corner) or 1) for to in (before, after)
            )
            commands += f"L{_point(start)}"
            if cut:
                commands += f"Q{_point(corner)} {_point(end)}"
        return f"{commands}L{_point(turned[-1])}"

    def _constituent(self, index: int, constituent: Constituent) -> list[str]:
        i, j, label, _, _, head = constituent
        probability = None
        if self.look.confidence is not None:
            probability = self.look.confidence.spans.get((i, j))
        about = f"head: {self.picture.words[head - 1]}" if head else "no single head"
        words = f"word {j}" if j - i == 1 else f"words {i + 1}–{j}"
        data = _data(span=f"{i},{j}", label=label, head=head or None, confidence=probability)
        italic = ' font-style="italic"' if _band(probability) == "unsure" else ""
        colour = self._colour(probability, "ink")
        return [
            f'<g{_class("constituent", probability)} fill="{colour}"{italic}{data}>',
            _title(label, words, about, _percent(probability)),
            *self.constituent_texts(index, constituent),
            "</g>",
        ]

    def _words(self) -> Iterator[str]:
        arcs = {arc.modifier: arc for arc in self.picture.arcs}
        pairs = zip(self.picture.words, self.picture.tags, strict=True)
        for position, (word, tag) in enumerate(pairs, 1):
            head = None
            relation = ""
            if arc := arcs.get(position):
                head, relation = arc.head, arc.relation
                if head:
                    relation += f" of {self.picture.words[head - 1]}"
            data = _data(word=position, tag=tag or None, head=head)
            title = _title(f"{position} {word}", tag, relation)
            yield f'<g class="word" fill="{self.colours["ink"]}"{data}>{title}'
            yield from self.word_texts(position, word, tag)
            yield "</g>"

    def _arc(self, arc: PictureArc) -> Iterator[str]:
        """Yield an arc from the head away from the words, along, and back to the modifier, with the
        relation.
        """
        m, head, label, _ = arc
        probability = self.look.confidence.arcs[m - 1] if self.look.confidence else None
        data = _data(word=m, head=head, label=label, confidence=probability)
        head_word = self.picture.words[head - 1] if head else "root"
        title = _title(f"{head_word} → {self.picture.words[m - 1]}", label, _percent(probability))
        colour = self._colour(probability, "arc")
        yield f'<g{_class("arc", probability)} fill="{colour}"{data}>{title}'
        at, near = self.port(arc, m), self.arcs_edge
        level = near + arc.level * self.arc_pitch
        points = [(at, level), (at, near + 4)]
        if head:
            start = self.port(arc, head)
            points = [(start, near), (start, level), *points]
        elif self.root is not None:
            points[0] = (at, near + self.root)
        if self.has_arcs:
            dashes = ' stroke-dasharray="4 3"' if _band(probability) == "unsure" else ""
            look = f'fill="none" stroke="{colour}" stroke-width="1.4"{dashes}'
            yield f'<path {look} d="{self.path(*points, radius=CORNER + 2)}"/>'
            tip = self.path((at, near - 2), (at - 3.5, near + 5), (at + 3.5, near + 5))
            yield f'<path class="tip" d="{tip}z"/>'
        if label:
            yield self.relation(arc, at, level)
        yield "</g>"

    def text(
        self,
        role: str,
        x: float,
        y: float,
        content: str,
        *,
        rtl: bool = False,
        anchor: str = "middle",
    ) -> str:
        """Return a text element, escaped; its colour is that of its group unless its role has one."""
        attributes = TEXT_ATTRIBUTES.get(role, "").format(**self.colours)
        if rtl:
            attributes += ' direction="rtl"'
        return (
            f'<text class="{role}" x="{number(x)}" y="{number(y)}" font-size="{SIZES[role]:g}" '
            f'text-anchor="{anchor}"{attributes}>{escape(content, quote=False)}</text>'
        )

    def _colour(self, probability: float | None, default: str) -> str:
        return self.colours.get(_band(probability), self.colours[default])


def _data(**values: object) -> str:
    """Return data attributes, without those that are None."""
    attributes = ""
    for key, value in values.items():
        if isinstance(value, float):
            value = f"{value:.4f}"
        if value is not None:
            attributes += f' data-{key}="{escape(str(value))}"'
    return attributes


def _ports(picture: Picture) -> tuple[dict[tuple[int, int], float], list[float]]:
    """Return where the arc to a modifier meets a word, from the word's middle, and the width of
    each word's arcs.

    Keys are (modifier, word). Arcs of one word do not lie on each other, and since on each side the
    longest is the nearest to the middle, they never cross.
    """
    offsets: dict[tuple[int, int], float] = {}
    # By word: the side of the word, the order on that side, and the modifier.
    ends: list[list[tuple[int, int, int]]] = [[] for _ in picture.words]
    for m, head, _, level in picture.arcs:
        # The root's arc is in the middle.
        side = 0
        if head:
            side = 1 if head > m else -1
            ends[head - 1].append((-side, side * level, m))
        ends[m - 1].append((side, -side * level, m))
    widths = []
    for word, word_ends in enumerate(ends, 1):
        word_ends.sort(key=lambda end: end[:2])
        sides = [side for side, _, _ in word_ends]
        middle = sides.index(0) if 0 in sides else (len(sides) - 1) / 2
        for index, (_, _, m) in enumerate(word_ends):
            offsets[m, word] = (index - middle) * PORT_GAP
        widths.append(2 * max(middle, len(sides) - 1 - middle, 0) * PORT_GAP)
    return offsets, widths


_CHARACTERS = map(chr, range(128))
_WIDTHS = {character: 0.72 if character.isupper() else 0.6 for character in _CHARACTERS}
_WIDTHS |= dict.fromkeys("iIjl.,:;'|!‘’`", 0.32)
_WIDTHS |= dict.fromkeys('frt()[]{}-/\\ "*“”', 0.42)
_WIDTHS |= dict.fromkeys("mwMW@%—…", 0.95)
# This character makes an emoji of the sign before it.
_WIDTHS["\ufe0f"] = 0.45
# Of other characters, by their columns in a terminal.
_COLUMN_WIDTHS = (0.0, 0.62, 1.05)


def width(text: str, size: float) -> float:
    """Return about how wide a text is in a sans-serif type, rather too wide than too narrow."""
    return size * sum(_WIDTHS.get(letter) or _COLUMN_WIDTHS[columns(letter)] for letter in text)


def _band(probability: float | None) -> str:
    """Return the name of the band of a probability; an unknown one is drawn like a high one."""
    return next(name for name, least, _ in BANDS if probability is None or probability >= least)


def _class(role: str, probability: float | None) -> str:
    band = _band(probability)
    return f' class="{role}"' if band == "sure" else f' class="{role} {band}"'


def _title(*parts: str) -> str:
    return f"<title>{escape(' · '.join(filter(None, parts)), quote=False)}</title>"


def _percent(probability: float | None) -> str:
    return "" if probability is None else f"{100 * probability:.1f}%"


def _point(point: complex) -> str:
    return f"{number(point.real)} {number(point.imag)}"


def number(value: float) -> str:
    """Return a coordinate, as short as it can be written to a tenth."""
    return f"{value:.1f}".rstrip("0").rstrip(".")
