"""What every SVG of a sentence is made of: sizes of type, colours, groups that say what they are.

A layout says where things are (`edge_to_constituent`, `constituent_parts`, ...); what is common stands here:
the groups with their data attributes and titles, and the order in which they are painted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from html import escape

from arcspan.rendering.layout import Arc, Confidence, Constituent, Picture, columns, is_right_to_left, visible

WORD, TAG, LABEL, HEAD, RELATION = 16.0, 10.5, 13.0, 9.5, 11.0  # sizes of type
INK, MUTED, LINE, SPINE, BLUE = "#1b1f24", "#6a737d", "#a3acb5", "#b3392b", "#23589f"
MARGIN = 18.0
CORNER = 6.0
PORT_GAP = 6.0  # between the ends of two arcs at one word

STYLE = """
.arcspan{--as-ink:var(--arcspan-ink,#1b1f24);--as-muted:var(--arcspan-muted,#6a737d);\
--as-line:var(--arcspan-line,#a3acb5);--as-head:var(--arcspan-head,#b3392b);--as-arc:var(--arcspan-arc,#23589f);\
--as-paper:var(--arcspan-paper,#fff)}
@media(prefers-color-scheme:dark){.arcspan{--as-ink:var(--arcspan-ink,#e8eaed);--as-muted:var(--arcspan-muted,#9aa4af);\
--as-line:var(--arcspan-line,#5d6873);--as-head:var(--arcspan-head,#ff8a75);--as-arc:var(--arcspan-arc,#82b4ff);\
--as-paper:var(--arcspan-paper,#15181c)}}
.arcspan text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif;\
stroke:none;fill:var(--as-ink)}
.arcspan .stripe{fill:var(--as-ink);opacity:.04}
.arcspan .paper{fill:var(--as-paper)}
.arcspan .edge{stroke:var(--as-line);stroke-width:1.2}
.arcspan .spine{stroke:var(--as-head);stroke-width:2.6}
.arcspan .constituent text.label{font-weight:600}
.arcspan text.head{fill:var(--as-head)}
.arcspan text.tag{fill:var(--as-muted)}
.arcspan .arc path{stroke:var(--as-arc);stroke-width:1.4}
.arcspan .arc .tip{fill:var(--as-arc);stroke:none}
.arcspan .arc text{fill:var(--as-arc);stroke:var(--as-paper);stroke-width:5;stroke-linejoin:round;\
paint-order:stroke}
.arcspan .arc text.beside{stroke:none}
.arcspan path.unsure{stroke-dasharray:4 3}
.arcspan .constituent.unsure text.label{font-weight:400;font-style:italic;text-decoration:underline dotted}
"""


class Drawing(ABC):
    """A picture with coordinates; `svg` puts its parts together."""

    width: float
    height: float

    def __init__(self, picture: Picture, confidence: Confidence | None, ids: bool) -> None:
        self.picture = picture
        self.confidence = confidence
        self.ids = ids
        self.rtl = is_right_to_left(picture.words)
        self.ports = Ports(picture)

    @abstractmethod
    def edge_to_constituent(self, position: int) -> str:
        """The path from a constituent's parent to the constituent."""

    @abstractmethod
    def edge_to_word(self, word: int, parent: int) -> str:
        """The path from the constituent at `parent` to a word right under it."""

    @abstractmethod
    def constituent_parts(self, position: int, one: Constituent) -> list[str]:
        """The elements of a constituent."""

    @abstractmethod
    def word_parts(self, position: int, word: str, tag: str) -> list[str]:
        """The elements of a word."""

    @abstractmethod
    def arc_parts(self, arc: Arc, attributes: str) -> list[str]:
        """The elements of an arc; `attributes` are those of its line."""

    def background(self) -> Iterator[str]:
        """What lies under everything else."""
        size = f'width="{number(self.width)}" height="{number(self.height)}"'
        yield f'<rect class="paper" {size} rx="8" fill="#fff"/>'

    def svg(self) -> str:
        """The whole document."""
        width, height = number(self.width), number(self.height)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="arcspan" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}" role="img" fill="none">',
                f"<title>{escape(' '.join(self.picture.words))}</title>",
                f"<style>{STYLE}</style>",
                *self.background(),
                *self._edges(),
                *self._constituents(),
                *self._words(),
                *self._arcs(),
                "</svg>",
                "",
            ]
        )

    def _edges(self) -> Iterator[str]:
        """Lines between constituents, and from constituents to words; thin ones first, spines over them."""
        picture = self.picture
        spines: list[str] = []
        others: list[str] = []
        for position, child in enumerate(picture.constituents):
            if child.parent >= 0:
                spine = picture.on_spine(position)
                data = self._data(span=f"{child.i},{child.j}", head=child.head if spine else None)
                line = _line(self.edge_to_constituent(position), spine, data)
                (spines if spine else others).append(line)
        for word, parent in enumerate(picture.above, 1):
            if parent >= 0:
                spine = picture.constituents[parent].head == word
                data = self._data(word=word, head=word if spine else None)
                line = _line(self.edge_to_word(word, parent), spine, data)
                (spines if spine else others).append(line)
        if others or spines:
            yield f'<g class="edges" stroke="{LINE}" stroke-width="1.2">'
            yield from others
            yield from spines
            yield "</g>"

    def _constituents(self) -> Iterator[str]:
        for position, one in enumerate(self.picture.constituents):
            head = f"head: {self.picture.words[one.head - 1]}" if one.head else "no single head"
            sure = self.confidence.spans.get((one.i, one.j)) if self.confidence is not None else None
            words = f"word {one.j}" if one.j - one.i == 1 else f"words {one.i + 1}–{one.j}"
            span = f"{one.i},{one.j}"
            data = self._data(span=span, label=one.label, head=one.head or None, confidence=sure)
            yield f'<g class="constituent{" unsure" if _is_unsure(sure) else ""}"{data}>'
            yield _title([one.label, words, head, _percent(sure)])
            yield from self.constituent_parts(position, one)
            yield "</g>"

    def _words(self) -> Iterator[str]:
        arcs = {arc.modifier: arc for arc in self.picture.arcs}
        for position, (word, tag) in enumerate(zip(self.picture.words, self.picture.tags, strict=True), 1):
            arc = arcs.get(position)
            data = self._data(word=position, tag=tag or None, head=arc.head if arc else None)
            relation = ""
            if arc is not None:
                relation = (
                    f"{arc.relation} of {self.picture.words[arc.head - 1]}" if arc.head else arc.relation
                )
            yield f'<g class="word"{data}>{_title([f"{position} {word}", tag, relation])}'
            yield from self.word_parts(position, word, tag)
            yield "</g>"

    def _arcs(self) -> Iterator[str]:
        """Arcs from the outermost to the innermost."""
        for arc in sorted(self.picture.arcs, key=lambda arc: -arc.level):
            sure = self.confidence.arcs[arc.modifier - 1] if self.confidence is not None else None
            data = self._data(word=arc.modifier, head=arc.head, label=arc.relation, confidence=sure)
            head = self.picture.words[arc.head - 1] if arc.head else "root"
            about = [f"{head} → {self.picture.words[arc.modifier - 1]}", arc.relation, _percent(sure)]
            yield f'<g class="arc" stroke="{BLUE}"{data}>{_title(about)}'
            yield from self.arc_parts(arc, ' class="unsure"' if _is_unsure(sure) else "")
            yield "</g>"

    def _data(self, **values: object) -> str:
        if not self.ids:
            return ""
        shown = {key: f"{value:.4f}" if isinstance(value, float) else value for key, value in values.items()}
        return "".join(
            f' data-{key}="{escape(str(value))}"' for key, value in shown.items() if value is not None
        )


class Ports:
    """The places along a word where its arcs end, so that arcs of one word do not lie on each other.

    On each side the longest arc is the nearest to the middle: arcs of one word never cross.
    """

    def __init__(self, picture: Picture) -> None:
        self.offsets: dict[tuple[int, int], float] = {}
        self.widths = [0.0] * (len(picture.words) + 1)
        sides: dict[int, tuple[list[Arc], list[Arc]]] = {}
        for arc in picture.arcs:
            if arc.head:
                sides.setdefault(arc.modifier, ([], []))[arc.head > arc.modifier].append(arc)
                sides.setdefault(arc.head, ([], []))[arc.modifier > arc.head].append(arc)
            else:
                self.offsets[arc.modifier, arc.modifier] = 0.0
        for word, (left, right) in sides.items():
            root = (word, word) in self.offsets
            left.sort(key=lambda arc: arc.level)
            right.sort(key=lambda arc: -arc.level)
            row: list[Arc | None] = [*left, *([None] if root else []), *right]
            middle = len(left) if root else (len(row) - 1) / 2
            for place, end in enumerate(row):
                if end is not None:
                    self.offsets[end.modifier, word] = (place - middle) * PORT_GAP
            self.widths[word] = 2 * max(middle, len(row) - 1 - middle) * PORT_GAP


_NARROW, _THIN, _BROAD = frozenset("iIjl.,:;'|!‘’`"), frozenset('frt()[]{}-/\\ "*“”'), frozenset("mwMW@%—…")


def width(text: str, size: float) -> float:
    """About how wide a text is in a sans-serif type, rather too wide than too narrow.

    >>> width("mm", 10) > width("nn", 10) > width("ii", 10)
    True
    """
    total = 0.0
    for character in text:
        if character in _NARROW:
            total += 0.32
        elif character in _THIN:
            total += 0.42
        elif character in _BROAD:
            total += 0.95
        elif character.isascii():
            total += 0.72 if character.isupper() else 0.6
        else:
            total += 0.62 * columns(character) if columns(character) < 2 else 1.05
    return total * size


def text(
    kind: str,
    x: float,
    y: float,
    size: float,
    content: str,
    colour: str,
    *,
    rtl: bool = False,
    anchor: str = "middle",
) -> str:
    """A text element, escaped."""
    direction = ' direction="rtl"' if rtl else ""
    return (
        f'<text class="{kind}" x="{number(x)}" y="{number(y)}" font-size="{size:g}" text-anchor="{anchor}" '
        f'fill="{colour}"{direction}>{escape(visible(content), quote=False)}</text>'
    )


def _title(parts: list[str]) -> str:
    return f"<title>{escape(' · '.join(part for part in parts if part), quote=False)}</title>"


def _is_unsure(probability: float | None) -> bool:
    return probability is not None and probability < 0.5


def _line(path: str, spine: bool, data: str) -> str:
    if spine:
        return f'<path class="spine" stroke="{SPINE}" stroke-width="2.6"{data} d="{path}"/>'
    return f'<path class="edge"{data} d="{path}"/>'


def _percent(probability: float | None) -> str:
    return "" if probability is None else f"{100 * probability:.1f}%"


def number(value: float) -> str:
    """A coordinate, as short as it can be written to a tenth."""
    return f"{value:.1f}".rstrip("0").rstrip(".")
