"""Raw text to sentences and words, with the place of every word in the original.

A parser reads the words of its treebank, so the English rules follow what the treebanks of the English
model agree on (UD / OntoNotes style): clitics are words (did|n't, can|not, gon|na), hyphens and slashes
between words are words (well|-|known) unless a prefix is written with a hyphen (non-profit, e-mail), an
abbreviation keeps its full stop. `benchmarks/text.py` measures both against them. Any other language gets
rules that only look at Unicode properties.

The text is read through a *shadow* of the same length, in which every character is replaced by a
representative of its kind (all apostrophes are one, all Han characters are one, combining marks are
letters): the patterns stay short and every offset in the shadow is an offset in the original. Patterns have
bounded look-ahead, so time is linear in the text whatever it holds, and the scanner's last alternative
takes any character, so nothing but white space is ever lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

Offsets = tuple[int, int]


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text: `text[start:end]`, its words, and for each the (start, end) in the same text."""

    start: int
    end: int
    words: tuple[str, ...]
    offsets: tuple[Offsets, ...]

    def __len__(self) -> int:
        return len(self.words)


def split_text(text: str, *, language: str = "en") -> list[Sentence]:
    r"""Split raw text into sentences and words.

    A blank line (or a form feed, or U+2029) ends a sentence, a single line break does not, but in a list, where
    every line that begins with a mark (2. or -) is an item. `language` is
    "en" for the English rules; every other code gets the rules that know Unicode only.

    >>> [sentence.words for sentence in split_text("It didn't work.\nDr. Who left!")]
    [('It', 'did', "n't", 'work', '.'), ('Dr.', 'Who', 'left', '!')]
    """
    shadow = text.translate(_SHADOW)
    english = language == "en"
    sentences = []
    for begin, end in _paragraphs(text):
        tokens = _scan(shadow, begin, end, english)
        first = 0
        for last in _sentence_ends(shadow, tokens, english):
            sentences.append(_sentence(text, tokens[first:last]))
            first = last
    return sentences


def split_words(text: str, *, language: str = "en") -> Sentence:
    """Split one sentence into words, whatever full stops and line breaks it has inside.

    >>> split_words("We cannot say: it's well-known.").words
    ('We', 'can', 'not', 'say', ':', 'it', "'s", 'well', '-', 'known', '.')
    """
    shadow = text.translate(_SHADOW)
    return _sentence(text, _scan(shadow, 0, len(text), language == "en"))


def _sentence(text: str, tokens: list[Offsets]) -> Sentence:
    words = tuple(text[start:end] for start, end in tokens)
    start, end = (tokens[0][0], tokens[-1][1]) if tokens else (0, 0)
    return Sentence(start, end, words, tuple(tokens))


# ---------------------------------------------------------------------------------------------- the shadow

MARK = "\u02d0"  # combining marks are part of a word, as this letter is
HIDDEN = "\u2060"  # format and control characters: stay with the word before them
JOINER = "\u200d"  # ZERO WIDTH JOINER: makes one emoji of two
BREAK = "\u200b"  # ZERO WIDTH SPACE: a word ends here, though nothing is seen
HAN, HIRAGANA, KATAKANA = "漢", "あ", "ア"
PICTURE, FLAG = "☺", "⚑"
STOP = "。"  # ends a sentence whatever follows, space or not

_SAME = {
    **dict.fromkeys("’ʼ´＇", "'"),
    **dict.fromkeys("。！？｡．‼⁇⁈⁉؟۔।॥։።፧፨។៕။", STOP),
    "\u200d": JOINER,
    "\u200b": BREAK,
    "〇": HAN,
    "々": HAN,
    "ー": KATAKANA,
    "ｰ": KATAKANA,
}
_HAN = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))


class _Shadow(dict[int, str]):
    """Representative of each character, worked out when a character is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = found = self._kind(chr(code), code)
        return found

    @staticmethod
    def _kind(character: str, code: int) -> str:
        if character in _SAME:
            return _SAME[character]
        if character.isspace():
            return " "
        category = unicodedata.category(character)
        if category in ("Cf", "Cc") or 0xFE00 <= code <= 0xFE0F or 0x1F3FB <= code <= 0x1F3FF:
            return HIDDEN  # variation selectors and skin tones go with the picture before them
        if category[0] == "M":
            return MARK
        if category == "Lo":
            if any(low <= code <= high for low, high in _HAN):
                return HAN
            if 0x3040 <= code <= 0x309F:
                return HIRAGANA
            if 0x30A0 <= code <= 0x30FF or 0x31F0 <= code <= 0x31FF or 0xFF66 <= code <= 0xFF9F:
                return KATAKANA
        if 0x1F1E6 <= code <= 0x1F1FF:
            return FLAG
        if category == "So" and code > 0x2190:
            return PICTURE
        return character


_SHADOW = _Shadow()


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# A blank line: line breaks with nothing but space between them. \r\n is one line break.
_LINE = r"(?:\r\n|\r(?!\n)|[\n\x85\u2028])"
_BLANK_LINE = re.compile(rf"{_LINE}[^\S\r\n\x85\u2028]*{_LINE}\s*|[\f\u2029]\s*")


# A list: it begins a paragraph with a mark, and each line with such a mark is an item of its own.
_MARK = r"[^\S\r\n\x85\u2028]*(?:\d{1,2}[.)]|[-*•‣▪])[^\S\r\n\x85\u2028]"
_LIST = re.compile(rf"\s*{_MARK}")
_NEXT_ITEM = re.compile(rf"{_LINE}(?={_MARK})")


def _paragraphs(text: str) -> Iterator[Offsets]:
    begin = 0
    for gap in _BLANK_LINE.finditer(text):
        yield from _items(text, begin, gap.start())
        begin = gap.end()
    yield from _items(text, begin, len(text))


def _items(text: str, begin: int, end: int) -> Iterator[Offsets]:
    """The items of a paragraph that is a list; otherwise the paragraph."""
    if _LIST.match(text, begin, end):
        for gap in _NEXT_ITEM.finditer(text, begin, end):
            yield begin, gap.start()
            begin = gap.end()
    yield begin, end


# ----------------------------------------------------------------------------------------------- words

# A letter, digit or mark of a script that writes spaces; hidden characters may stand inside a word.
_LETTER = f"[^\\W{HAN}{HIRAGANA}{KATAKANA}]"
_RUN = f"{_LETTER}+(?:[{HIDDEN}{JOINER}]+{_LETTER}+)*"
_TAIL = f"[{MARK}{HIDDEN}{JOINER}{BREAK}]*"  # what begins a word only where nothing stands before it
_REST = f'[^\\s<>"“”«»{STOP}{HAN}{HIRAGANA}]'  # of an address on the net
_DOMAINS = (
    "com|org|net|edu|gov|mil|int|info|biz|io|ai|uk|us|de|fr|es|it|nl|ch|at|eu|ca|au|nz|jp|cn|br|ru|se|dk|pl"
)
# Prefixes and suffixes that stay with their word (LDC's addendum to the treebank guidelines, kept by both
# treebanks of the English model).
_PREFIXES = "|".join(
    f"[{prefix[0].upper()}{prefix[0]}]{prefix[1:]}"
    for prefix in """
    agro ante anti arch auto bi co contra counter cross cyber de di electro extra hetero homo hyper
    infra inter intra macro mal mega meta micro mid mini mono multi neo non over paleo pan para peri
    poly post(?!-hoc) pre pro proto pseudo quasi re semi sub super supra tri ultra un uni vice uh mm
    e(?=-(?:mail|book|commerce|learning|reader|zine)) x(?=-ray) o(?=-kay)
    """.split()  # noqa: SIM905
)
_SUFFIXES = "esque|ette|fest|fold|gate|itis|less|most|rama|wise"


def _scanner(english: bool) -> re.Pattern[str]:
    # "end.Next": a space is missing after the full stop, the two are not one word
    inside = r"(?<=\w)(?:['&]|(?<![a-z]{3})\.|\.(?![A-Z][a-z]))(?=\w)"
    if english:
        # "pre- and post-": the hyphen is a word; "th- they": a word that was broken off keeps it.
        broken = r"-(?=\ (?!and\b|or\b|to\b|but\b|versus\b|vs\b))"
        prefixes = f"(?:(?:{_PREFIXES})-(?=\\w)){{0,2}}"
        word = f"{prefixes}{_RUN}(?:{inside}{_RUN})*(?:-(?i:{_SUFFIXES})(?!\\w)|{broken})?"
        fraction = r"(?<![\w/.-])(?:[1-9]/[2-9]|\d{1,2}/\d{1,2}/\d{2,4}|9/11|24/7)(?![\w/]|,\d)"
        number = rf"\d{{1,3}}(?:,\d{{3}})+(?!\d)(?:\.\d+)? | {fraction}"
    else:
        word = f"{_RUN}(?:(?:{inside}|(?<=\\w)[-‐‑](?=\\w)){_RUN})*"
        number = r"\d+(?:[.,:/]\d+)+(?!\w)"
    return re.compile(
        f"""
        (?P<plain> [A-Za-z]+ )(?=[ ,]|$)
      | [{HIDDEN}{JOINER}{BREAK}{MARK}]*
        (?:
          (?P<address> (?i:(?:https?|ftps?|file)://|www\\.(?=\\w)|mailto:(?=\\w)|doi:(?=\\d)){_REST}+
            | [\\w.+-]{{1,64}}@(?:[\\w-]{{1,63}}\\.){{1,8}}[^\\W\\d_]{{2,24}}
            | (?:[^\\W_](?:[\\w-]{{0,62}}[^\\W_])?\\.){{1,8}}(?:{_DOMAINS})(?![\\w@'-]|\\.\\w)(?:/{_REST}*)? )
        | \\+\\d{{7,15}}(?:-\\d{{3,}})? | \\d{{3}}-(?:\\d{{3}}-)?\\d{{4}}(?![\\w-])
        | [0-2]?\\d:[0-5]\\d(?::[0-5]\\d)?(?![\\w:,])
        | {number}
        | \\#(?=[^\\W\\d_]{{0,128}}[a-z])(?=\\w{{4}})[^\\W\\d]{{1,128}}(?![\\w-]) | @[^\\W\\d]\\w{{2,63}}
        | '\\d0'?s(?!\\w) | '\\d\\d(?!\\w)
        | (?i:'(?:em|cause|til|till|bout|round|cuz|nuff)(?!\\w) | 't(?=(?:is|was|were|will)(?!\\w)))
        | (?:US|AU|NZ|HK|CA|[AC])\\$ | °[CFK](?!\\w) | \\.\\d+(?!\\w)
        | [:;=]['-]?[)(DPp](?=\\ |$) | <3(?!\\w)
        | (?P<word> {word} )
        | {HAN} | {HIRAGANA}+ | {KATAKANA}+
        | (?:{FLAG}{_TAIL}){{2}} | {PICTURE}{_TAIL}(?:(?<={JOINER}){PICTURE}{_TAIL})*
        | \\.{{2,}} | …+ | -{{2,}} | _{{2,}} | ={{2,}} | \\*{{2,}} | ~{{2,}} | [–—]{{2,}} | \'\' | ``
        | [^ ]
        )
        {_TAIL}
      | [^ ]
        """,
        re.VERBOSE,
    )


_SCANNERS = {True: _scanner(True), False: _scanner(False)}


def _scan(shadow: str, begin: int, end: int, english: bool) -> list[Offsets]:
    """The words of shadow[begin:end], in order."""
    tokens: list[Offsets] = []
    scanner = _SCANNERS[english].match
    spaces = _SPACES.match
    while begin < end:
        begin = spaces(shadow, begin, end).end()  # type: ignore[union-attr]
        found = scanner(shadow, begin, end)
        if found is None:
            break
        kind, last = found.lastgroup, found.end()
        if kind == "plain" or kind == "word":
            if shadow[last : last + 1] == "." and _keeps_stop(shadow, tokens, begin, last, end, english):
                last += 1
            if english:
                tokens.extend(_clitics(shadow, begin, last))
            else:
                tokens.append((begin, last))
        else:
            if kind == "address":
                last = _address_end(shadow, begin, last)
            tokens.append((begin, last))
        begin = last
    return tokens


_SPACES = re.compile(" *")
_TRAILING = ".,;:!?'\"’)]}*…"


def _address_end(shadow: str, begin: int, end: int) -> int:
    """Where an address ends: punctuation after it is the sentence's, a bracket that it opened is its own."""
    opened = shadow.count("(", begin, end) - shadow.count(")", begin, end)
    while end - begin > 1 and shadow[end - 1] in _TRAILING:
        if shadow[end - 1] == ")":
            if opened >= 0:
                break
            opened += 1
        end -= 1
    return end


_NOT = re.compile(r"(?i:n't)$")
_CLITIC = re.compile(r"(?i:'(?:s|re|ve|ll|d|m))$")
_TWO_WORDS = {
    **dict.fromkeys(("gonna", "wanna", "gotta", "cannot", "gimme", "lemme"), 3),
    "lotta": 3,
    "y'all": 2,
    "d'you": 2,
    "d'ye": 2,
    "t'is": 2,
    "t'was": 2,
    "more'n": 4,
}
_LONGEST_CLITIC_HOST = 64  # a longer "word" is data, not English


def _clitics(shadow: str, begin: int, end: int) -> list[Offsets]:
    """An English word with its clitics apart: did|n't, she|'d|'ve, can|not."""
    if end - begin > _LONGEST_CLITIC_HOST:
        return [(begin, end)]
    word = shadow[begin:end].lower()
    if word in _TWO_WORDS:
        middle = begin + _TWO_WORDS[word]
        return [(begin, middle), (middle, end)]
    parts: list[Offsets] = []
    while "'" in word:
        found = _NOT.search(word) or _CLITIC.search(word)
        # 1930's, O's: a plural that is written with an apostrophe after a number is one word
        if found is None or found.start() == 0 or (word[found.start() - 1].isdigit() and word.endswith("'s")):
            break
        parts.append((begin + found.start(), end))
        end = begin + found.start()
        word = word[: found.start()]
    parts.append((begin, end))
    return parts[::-1]


# ------------------------------------------------------------------------------------------ abbreviations

_ABBREVIATIONS = _set(
    """
    mr mrs ms messrs mlle mme dr drs prof profs rev hon gen col lt sgt capt cpt cmdr maj adm gov sen rep
    reps pres supt st sts mt ft jr sr esq ave blvd rd bldg dept univ assn bros inc ltd corp co llc plc
    gmbh etc al vs cf viz ibid approx ca incl excl resp est fig figs eq eqs ref refs eds ed vol vols
    suppl nos abbr jan feb mar apr jun jul aug sep sept oct nov dec tues thurs wed fri ala ariz ark
    calif colo conn del fla ga ill ind kan ky la md mich minn miss mo mont neb nev okla ore pa penn tenn
    tex va vt wash wis wyo no p pp ch chap sec art para tab chr str cat assoc dist natl intl
    """
)
# Words too (no, art, fig): abbreviations only where a number or a single letter follows.
_BEFORE_NUMBERS = _set(
    """
    no nos p pp ch chap sec art para tab vol vols ed cat mar sep may sun sat mon ref refs eq eqs fig
    figs jun jul jan feb apr aug oct nov dec wed fri chr ill ca
    """
)
# Before a name only; otherwise they are words: "in the wash."
_BEFORE_NAMES = _set(
    """
    co la pa mo del ore ind miss mont wash ark tex art gen rep col ala rev hon est str
    """
)
# Written with a capital letter; without it they are units or words: "500 ms."
_CAPITALIZED = _set(
    """
    mr mrs ms messrs dr drs prof profs sgt capt cpt cmdr maj adm gov sen reps pres supt st sts mt jr sr
    esq ave blvd rd bldg dept univ assn bros inc ltd corp llc plc ariz calif colo conn fla ga ill kan ky
    md mich minn neb nev okla penn tenn va vt wis wyo
    """
)
_INITIALS = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}$")
_AFTER = re.compile(r" *([(\[\"“'‘]*)([^\W_]*)")

_OPENERS = _set(
    """
    the a an this that these those he she it we they i you in on at for as but and or if when while
    after before although though however there here what who how why where which my his her our their
    its your one some many most all both each every no not so then thus therefore moreover furthermore
    finally also since because during to from by with within without under over such other another
    several few first second third next last later now today yet still only even do does did is are was
    were has have had can could will would may might should let to interestingly surprisingly
    additionally consequently similarly conversely hence indeed instead meanwhile nevertheless
    nonetheless notably overall perhaps recently specifically together unlike despite given mice results
    data using based compared following consistent interest
    """
)


def _keeps_stop(shadow: str, tokens: list[Offsets], begin: int, last: int, end: int, english: bool) -> bool:
    """Whether the full stop after shadow[begin:last] is part of it: an abbreviation, an initial, "1."."""
    if last - begin > 16 or shadow.startswith("...", last):
        return False
    word = shadow[begin:last]
    after = _AFTER.match(shadow, last + 1, end)
    following = after.group(2) if after else ""
    spaced = shadow[last + 1 : last + 2] == " "
    if _INITIALS.match(word):
        return True
    before_comma = shadow[last + 1 : last + 2] in (",", ";")  # no sentence ends there
    if len(word) == 1 and word.isalpha():
        attached = bool(tokens) and tokens[-1][1] == begin and shadow[begin - 1] in "/-–"
        return not attached and (before_comma or _is_initial(shadow, tokens, word, following, spaced))
    if word[0].isdigit():
        # the number of a list item or a heading
        return (
            spaced
            and bool(following)
            and _NUMBERING.match(word) is not None
            and _opens_sentence(shadow, tokens)
        )
    lower = word.lower()
    if lower == "ph" and following == "D":
        return True
    if not english or lower not in _ABBREVIATIONS:
        return False
    if before_comma:
        return True
    if lower in _CAPITALIZED and word[0].islower():
        return False
    if lower in _BEFORE_NUMBERS:
        return any(map(str.isdigit, following[:24])) or (
            len(following) <= 2 < len(lower) and following[:1].isupper()
        )
    if lower in _BEFORE_NAMES:
        return word[0].isupper() and following[:1].isupper() and following.lower() not in _OPENERS
    return True


_BEFORE_PEOPLE = _set("and from with for the but that than was were are president author")
_BEFORE_ITEMS = frozenset((".", "!", "?", ":", STOP))
_NUMBERING = re.compile(r"\d{1,2}(?:\.\d{1,2})*$")


def _is_initial(shadow: str, tokens: list[Offsets], letter: str, following: str, spaced: bool) -> bool:
    if not following:
        return False
    previous = shadow[tokens[-1][0] : tokens[-1][1]] if tokens else ""
    if letter.islower():  # born, died, page, circa
        return letter in "pcvdbm" and (following[0].isdigit() or (previous == "(" and spaced))
    if len(previous) == 2 and previous[1] == ".":  # one of several: H. R. 1280, P. A. Hargrave
        return True
    if following[0].isdigit() or (len(following) > 1 and following.lower() in _OPENERS):
        return False
    if (
        spaced
        and following[0].isupper()
        and len(previous) > 2
        and previous.islower()
        and previous not in _BEFORE_PEOPLE
    ):
        return False  # "vitamin C. Later": the letter names a kind of something
    if letter == "I" and spaced:
        return previous[:1].isupper() and following[0].isupper()
    return True


def _opens_sentence(shadow: str, tokens: list[Offsets]) -> bool:
    return not tokens or shadow[tokens[-1][0] : tokens[-1][1]] in _BEFORE_ITEMS


# ---------------------------------------------------------------------------------------------- sentences


def _sentence_ends(shadow: str, tokens: list[Offsets], english: bool) -> Iterator[int]:
    """Positions in `tokens` after which a sentence ends, the last position included."""
    count = len(tokens)
    position = 0
    while position < count:
        start, stop = tokens[position]
        position += 1
        if shadow[stop - 1] in ".?!…" or STOP in shadow[start : min(stop, start + 4)]:
            mark, here = _with_closers(shadow, tokens, position)
            if here < count and _is_end(shadow, tokens, mark, here, english):
                yield here
            position = here
    if count:
        yield count


def _with_closers(shadow: str, tokens: list[Offsets], position: int) -> tuple[int, int]:
    """What stands behind a full stop and belongs before the break: quotes, brackets, citations.

    Returns the position of the last full stop among them, and the position after all of them.
    """
    mark = position - 1
    while position < len(tokens):
        start, stop = tokens[position]
        text = shadow[start:stop]
        adjacent = start == tokens[position - 1][1]
        if adjacent and text in _CLOSERS:
            position += 1
        elif adjacent and text in _MARKS:
            mark = position
            position += 1
        elif text == "[" and (citation := _CITATION.match(shadow, start)):
            while position < len(tokens) and tokens[position][1] <= citation.end():
                position += 1
        else:
            break
    return mark, position


def _is_end(shadow: str, tokens: list[Offsets], mark: int, here: int, english: bool) -> bool:
    """Whether the sentence that has its full stop at token `mark` ends before token `here`."""
    text = shadow[slice(*tokens[mark])]
    following = shadow[slice(*tokens[here])]
    if STOP in text:
        return following not in _NEVER_FIRST
    if tokens[here][0] == tokens[here - 1][1]:
        return english and mark > 0 and _GLUED.match(shadow, tokens[mark - 1][1] - 3) is not None
    if following in _NEVER_FIRST:
        return False
    if _ITEM.match(shadow, tokens[here][0]):
        return True
    opener = next((word for word in _words_from(shadow, tokens, here) if word[0].isalnum()), "")
    if text[-1] == "." and len(text) > 1 and text[-2] != ".":  # an abbreviation
        lower = text[:-1].lower()
        if here == mark + 1 and opener[:1].isdigit():
            return False
        return opener[:1].isupper() and (
            lower in _ALWAYS_END or (lower in _MAY_END and opener.lower() in _OPENERS)
        )
    if opener[:1].islower() and opener.islower():
        return _ends_before_lower(shadow, tokens, mark, here)
    quoted = here > mark + 1 and text in "?!…" and shadow[tokens[here - 1][0]] in "\"”'’»"
    return not (quoted and english and _SAID.match(shadow, tokens[here][0]))


def _words_from(shadow: str, tokens: list[Offsets], position: int) -> Iterator[str]:
    for start, stop in tokens[position : position + 6]:
        yield shadow[start:stop]


def _ends_before_lower(shadow: str, tokens: list[Offsets], mark: int, here: int) -> bool:
    """A small letter follows: the sentence ends where the word before the full stop is no abbreviation."""
    if mark == 0 or here != mark + 1 or shadow[slice(*tokens[mark])] != ".":
        return False
    start, stop = tokens[mark - 1]
    word = shadow[start:stop]
    return stop == tokens[mark][0] and (word in ")]" or (len(word) > 3 and word.isalpha() and word.islower()))


_CLOSERS = frozenset("\"'”’)]}»›」』）】〉》″") | {"''"}
_MARKS = frozenset("?!.") | {STOP, "…", "..."}
_GLUED = re.compile(r"[a-z]{3}[.?!][A-Z][a-z]")
_CITATION = re.compile(r"\[[\d,–\- ]{1,24}\]")
_ITEM = re.compile(r"\((?:[A-Za-z]|\d{1,2}|[ivx]{1,4})(?:[-–,] ?[a-z])?\)|[*•†‡§¶·] *\w")
_SAID = re.compile(
    r"(?:I|[Hh]e|[Ss]he|[Ww]e|[Tt]hey|[A-Z]\w{1,15}(?: [A-Z]\w{1,15})?|[Tt]he \w{1,15}) "
    r"(?:said|asked|cried|shouted|replied|answered|whispered|yelled|howled|screamed|exclaimed|called|muttered|says|asks)\b"
)
_NEVER_FIRST = frozenset(",;:.?!)]}%/&=<>+-–—…，、；：－") | {"--", "...", "..", "]"}
_MAY_END = _set(
    """
    etc a.m p.m u.s d.c u.k u.n u.s.a inc ltd corp co jr sr al ph.d n.y l.a
    """
)
_ALWAYS_END = _set("etc a.m p.m")
