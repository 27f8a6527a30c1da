"""One SVG of a sentence: constituents above the words, dependency arcs below them.

Plain SVG text, no drawing library: a picture is a few hundred lines and boxes, and the page, the notebook
and the README need no more than a browser. Colours are CSS variables with a light and a dark set; whoever
embeds the picture may set `--arcspan-ink`, `--arcspan-muted`, `--arcspan-line`, `--arcspan-head`,
`--arcspan-arc` and `--arcspan-paper`. Colours stand in attributes too, for programs that know no variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from arcspan.rendering.layout import (
    Arc,
    Confidence,
    Constituent,
    Picture,
    arrange,
    columns,
    is_right_to_left,
    visible,
)
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree

WORD, TAG, LABEL, HEAD, RELATION = 16.0, 10.5, 13.0, 9.5, 11.0  # sizes of type
MARGIN = 18.0
GAP = 12.0  # between columns
PITCH = 36.0  # from one level of constituents to the next
ARC_PITCH = 19.0
PORT = 6.0  # between the ends of two arcs at one word
CORNER = 6.0
LONG = 300.0  # an arc whose ends are not seen together

STYLE = """
.arcspan{--as-ink:var(--arcspan-ink,#1b1f24);--as-muted:var(--arcspan-muted,#6a737d);\
--as-line:var(--arcspan-line,#a3acb5);--as-head:var(--arcspan-head,#b3392b);--as-arc:var(--arcspan-arc,#23589f);\
--as-paper:var(--arcspan-paper,#fff)}
@media(prefers-color-scheme:dark){.arcspan{--as-ink:var(--arcspan-ink,#e8eaed);--as-muted:var(--arcspan-muted,#9aa4af);\
--as-line:var(--arcspan-line,#5d6873);--as-head:var(--arcspan-head,#ff8a75);--as-arc:var(--arcspan-arc,#82b4ff);\
--as-paper:var(--arcspan-paper,#15181c)}}
.arcspan text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif;\
text-anchor:middle;stroke:none;fill:var(--as-ink)}
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
.arcspan path.unsure{stroke-dasharray:4 3}
.arcspan .constituent.unsure text.label{font-weight:400;font-style:italic;text-decoration:underline dotted}
"""


def to_svg(
    c_tree: ConstituencyTree | None,
    d_tree: DependencyTree | None,
    *,
    lexical: LexicalTree | None = None,
    confidence: Confidence | None = None,
    ids: bool = True,
) -> str:
    """Draw both trees of a sentence (or one, where the other is None) as one SVG document.

    The path from each constituent to its head word is a thick line, with the head word in small type under
    the label. With `ids`, elements say what they are: groups `.constituent` carry data-span="i,j",
    data-label and data-head, `.word` carry data-word, data-tag and data-head, `.arc` carry data-word,
    data-head and data-label, and all of them data-confidence where `confidence` is given; what is less
    probable than one half is dashed or dotted. `lexical` overrules `d_tree` on which words are heads.

    >>> c = ConstituencyTree.from_brackets("(S (NP (NN Logic)) (VP (VBZ plays)))")
    >>> svg = to_svg(c, DependencyTree([2, 0], ["nsubj", "root"], c.words))
    >>> 'data-span="0,1" data-label="NP" data-head="1"' in svg
    True
    """
    return _Drawing(arrange(c_tree, d_tree, lexical), confidence, ids).svg()


class _Drawing:
    """The coordinates of a picture and its parts as SVG elements.

    Columns are computed from left to right and turned round at the end where the script runs the other way.
    """

    def __init__(self, picture: Picture, confidence: Confidence | None, ids: bool) -> None:
        self.picture = picture
        self.confidence = confidence
        self.ids = ids
        self.rtl = is_right_to_left(picture.words)
        self.ports = _Ports(picture)
        centres, self.width = _columns(picture, self.ports)
        self.centres = [self.width - x for x in centres] if self.rtl else centres
        levels = picture.levels
        self.words_y = MARGIN + (levels * PITCH + WORD if levels else WORD)
        tagged = any(picture.tags)
        self.arcs_y = self.words_y + (TAG + 9 if tagged else 5)
        deepest = picture.depth
        self.height = self.arcs_y + (deepest * ARC_PITCH + 14 if deepest else 0) + MARGIN
        self.anchors = self._anchors()

    # where things are

    def x(self, word: int) -> float:
        """The middle of a word's column (words are 1..n)."""
        return self.centres[word - 1]

    def label_y(self, level: int) -> float:
        """The baseline of the labels of a level."""
        return self.words_y - WORD - level * PITCH + LABEL

    def bottom(self, constituent: Constituent) -> float:
        """Where lines leave a constituent downwards: under its label and the head word that it shows."""
        shown = constituent.head and not self._is_bare(constituent)
        return self.label_y(constituent.level) + (HEAD + 5 if shown else 4)

    def _is_bare(self, constituent: Constituent) -> bool:
        return constituent.j - constituent.i == 1

    def _anchors(self) -> list[float]:
        """The middle of each constituent: its head's column, or the middle of its words."""
        return [
            self.x(one.head) if one.head else (self.x(one.i + 1) + self.x(one.j)) / 2
            for one in self.picture.constituents
        ]

    # what is drawn

    def svg(self) -> str:
        width, height = _number(self.width), _number(self.height)
        title = escape(" ".join(self.picture.words))
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="arcspan" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}" role="img" fill="none">',
                f"<title>{title}</title>",
                f"<style>{STYLE}</style>",
                f'<rect class="paper" width="{width}" height="{height}" rx="8" fill="#fff"/>',
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
                top = self.label_y(child.level) - LABEL
                data = self._data(span=f"{child.i},{child.j}")
                line = self._line(child.parent, self.anchors[position], top, picture.on_spine(position), data)
                (spines if picture.on_spine(position) else others).append(line)
        for word, parent in enumerate(picture.above, 1):
            if parent >= 0:
                is_head = picture.constituents[parent].head == word
                line = self._line(parent, self.x(word), self.words_y - WORD, is_head, self._data(word=word))
                (spines if is_head else others).append(line)
        if others or spines:
            yield '<g class="edges" stroke="#a3acb5" stroke-width="1.2">'
            yield from others
            yield from spines
            yield "</g>"

    def _line(self, parent: int, x: float, top: float, spine: bool, data: str) -> str:
        above = self.picture.constituents[parent]
        from_x, from_y = self.anchors[parent], self.bottom(above)
        if abs(from_x - x) < 0.05:
            path = f"M{_number(x)} {_number(from_y)}V{_number(top)}"
        else:
            bus = from_y + 4
            path = f"M{_number(from_x)} {_number(from_y)}V{_number(bus)}{_elbow(from_x, bus, x, top)}"
        if spine:
            return f'<path class="spine" stroke="#b3392b" stroke-width="2.6"{data} d="{path}"/>'
        return f'<path class="edge"{data} d="{path}"/>'

    def _constituents(self) -> Iterator[str]:
        for one, x in zip(self.picture.constituents, self.anchors, strict=True):
            y = self.label_y(one.level)
            head = self.picture.words[one.head - 1] if one.head else ""
            sure = self.confidence.spans.get((one.i, one.j)) if self.confidence is not None else None
            data = self._data(
                span=f"{one.i},{one.j}", label=one.label, head=one.head or None, confidence=sure
            )
            words = f"word {one.j}" if self._is_bare(one) else f"words {one.i + 1}–{one.j}"
            about = [one.label, words, f"head: {head}" if head else "no single head", _percent(sure)]
            unsure = " unsure" if sure is not None and sure < 0.5 else ""
            yield f'<g class="constituent{unsure}"{data}>{_title(about)}'
            yield _text("label", x, y, LABEL, one.label or "∅", "#1b1f24")
            if head and not self._is_bare(one):
                yield _text("head", x, y + HEAD + 1, HEAD, head, "#b3392b", self.rtl)
            yield "</g>"

    def _words(self) -> Iterator[str]:
        heads = {arc.modifier: arc for arc in self.picture.arcs}
        for position, (word, tag) in enumerate(zip(self.picture.words, self.picture.tags, strict=True), 1):
            arc = heads.get(position)
            data = self._data(word=position, tag=tag or None, head=arc.head if arc else None)
            relation = f"{arc.relation} of {self._name(arc.head)}" if arc else ""
            yield f'<g class="word"{data}>{_title([f"{position} {word}", tag, relation])}'
            yield _text("form", self.x(position), self.words_y, WORD, word, "#1b1f24", self.rtl)
            if tag:
                yield _text("tag", self.x(position), self.words_y + TAG + 4, TAG, tag, "#6a737d")
            yield "</g>"

    def _name(self, head: int) -> str:
        return self.picture.words[head - 1] if head else "the root"

    def _arcs(self) -> Iterator[str]:
        for arc in sorted(self.picture.arcs, key=lambda arc: -arc.level):
            sure = self.confidence.arcs[arc.modifier - 1] if self.confidence is not None else None
            data = self._data(word=arc.modifier, head=arc.head, label=arc.relation, confidence=sure)
            about = [
                f"{self._name(arc.head)} → {self.picture.words[arc.modifier - 1]}",
                arc.relation,
                _percent(sure),
            ]
            unsure = ' class="unsure"' if sure is not None and sure < 0.5 else ""
            x, y = self._port(arc, arc.modifier), self.arcs_y + arc.level * ARC_PITCH
            tip = f"M{_number(x)} {_number(self.arcs_y - 2)}l-3.5 7h7z"
            if arc.head:
                from_x = self._port(arc, arc.head)
                path = f"M{_number(from_x)} {_number(self.arcs_y)}{_arch(from_x, x, y, self.arcs_y + 4)}"
                label = _text(
                    "relation", self._label_x(arc, from_x, x), y + 3.5, RELATION, arc.relation, "#23589f"
                )
            else:
                path = f"M{_number(x)} {_number(y)}V{_number(self.arcs_y + 4)}"
                label = _text("relation", x, y + RELATION, RELATION, arc.relation, "#23589f")
            yield f'<g class="arc" stroke="#23589f"{data}>{_title(about)}<path{unsure} d="{path}"/>'
            yield f'<path class="tip" fill="#23589f" d="{tip}"/>'
            if arc.relation:
                yield label
            yield "</g>"

    @staticmethod
    def _label_x(arc: Arc, from_x: float, x: float) -> float:
        """The middle of a short arc; on a long one near the modifier, so that one need not search for it."""
        if abs(x - from_x) <= LONG:
            return (from_x + x) / 2
        side = 1 if from_x > x else -1
        return x + side * (40 + width(arc.relation, RELATION) / 2)

    def _port(self, arc: Arc, word: int) -> float:
        """Where an arc meets a word."""
        offset = self.ports.offsets[arc.modifier, word]
        return self.x(word) + (-offset if self.rtl else offset)

    def _data(self, **values: object) -> str:
        if not self.ids:
            return ""
        shown = (
            (key, f"{value:.4f}" if isinstance(value, float) else value) for key, value in values.items()
        )
        return "".join(f' data-{key}="{escape(str(value))}"' for key, value in shown if value is not None)


class _Ports:
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
                    self.offsets[end.modifier, word] = (place - middle) * PORT
            self.widths[word] = 2 * max(middle, len(row) - 1 - middle) * PORT


def _columns(picture: Picture, ports: _Ports) -> tuple[list[float], float]:
    """The middle of each word's column from the left, and the whole width.

    A column is as wide as the widest thing in it, and two words that an arc joins are as far apart as the
    arc's relation is long.
    """
    n = len(picture.words)
    widths = [
        max(width(word, WORD), width(tag, TAG), ports.widths[position])
        for position, (word, tag) in enumerate(zip(picture.words, picture.tags, strict=True), 1)
    ]
    for one in picture.constituents:
        middle = one.head or (one.i + 1 + one.j) // 2
        widths[middle - 1] = max(widths[middle - 1], width(one.label, LABEL))
    ending: dict[int, list[tuple[int, float]]] = {}
    for arc in picture.arcs:
        if arc.head:
            left, right = sorted((arc.head, arc.modifier))
            shift = ports.offsets[arc.modifier, left] - ports.offsets[arc.modifier, right]
            ending.setdefault(right, []).append((left, width(arc.relation, RELATION) + 22 + shift))
        else:
            widths[arc.modifier - 1] = max(widths[arc.modifier - 1], width(arc.relation, RELATION))
    centres: list[float] = []
    for position in range(1, n + 1):
        nearest = centres[-1] + (widths[position - 2] + widths[position - 1]) / 2 + GAP if centres else 0.0
        for left, apart in ending.get(position, ()):
            nearest = max(nearest, centres[left - 1] + apart)
        centres.append(nearest)
    if not centres:
        return [], 2 * MARGIN
    start = MARGIN + widths[0] / 2
    return [start + x for x in centres], start + centres[-1] + widths[-1] / 2 + MARGIN


# ------------------------------------------------------------------------------------------------- elements

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


def _text(kind: str, x: float, y: float, size: float, text: str, colour: str, rtl: bool = False) -> str:
    direction = ' direction="rtl"' if rtl else ""
    return (
        f'<text class="{kind}" x="{_number(x)}" y="{_number(y)}" font-size="{size:g}" text-anchor="middle" '
        f'fill="{colour}"{direction}>{escape(visible(text), quote=False)}</text>'
    )


def _title(parts: list[str]) -> str:
    return f"<title>{escape(' · '.join(part for part in parts if part), quote=False)}</title>"


def _percent(probability: float | None) -> str:
    return "" if probability is None else f"{100 * probability:.1f}%"


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _elbow(x: float, y: float, to_x: float, to_y: float) -> str:
    """Along y to to_x, round the corner, down to to_y."""
    side = 1 if to_x > x else -1
    radius = min(CORNER, abs(to_x - x), abs(to_y - y))
    return (
        f"H{_number(to_x - side * radius)}Q{_number(to_x)} {_number(y)} {_number(to_x)} {_number(y + radius)}"
        f"V{_number(to_y)}"
    )


def _arch(x: float, to_x: float, y: float, top: float) -> str:
    """Down to y, along to to_x, up to top."""
    side = 1 if to_x > x else -1
    radius = min(CORNER + 2, abs(to_x - x) / 2)
    return (
        f"V{_number(y - radius)}Q{_number(x)} {_number(y)} {_number(x + side * radius)} {_number(y)}"
        f"H{_number(to_x - side * radius)}Q{_number(to_x)} {_number(y)} {_number(to_x)} {_number(y - radius)}"
        f"V{_number(top)}"
    )
