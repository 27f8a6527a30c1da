"""Rules for full stops: they end an abbreviation, an initial or the number of an item, or a
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from arcspan.segmenting.characters import STOP
from arcspan.segmenting.sentence import Offsets


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


# Words too (no, art, fig): abbreviations only where a number or a single letter follows.
_BEFORE_NUMBERS = word_set(
    "no nos p pp ch chap sec art para tab vol vols ed cat mar sep ref refs eq eqs fig figs jun "
    "jul jan feb apr aug oct nov dec wed fri chr ill ca est"
)
# Before a name only; otherwise they are words: "in the wash."
_BEFORE_NAMES = word_set(
    "co la pa mo del ore ind miss mont wash ark tex art gen rep col ala rev hon str"
)
# Written with a capital letter; without it they are units or words: "500 ms."
_CAPITALIZED = word_set(
    "mr mrs ms messrs dr drs prof profs sgt capt cpt cmdr maj adm gov sen reps pres supt st sts "
    "mt jr sr esq ave blvd rd bldg dept univ assn bros inc ltd corp llc plc ariz calif colo conn "
    "fla ga ill kan ky md mich minn neb nev okla penn tenn va vt wis wyo"
)
_ANYWHERE = word_set(
    "abbr al approx assoc cf dist eds etc excl ft gmbh ibid incl intl lt mlle mme natl resp sept "
    "suppl thurs tues viz vs"
)
_ABBREVIATIONS = _ANYWHERE | _BEFORE_NUMBERS | _BEFORE_NAMES | _CAPITALIZED
_INITIALS = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}$")
_AFTER = re.compile(r" *([(\[\"“'‘]*)([^\W_]*)")

OPENERS = word_set(
    "the a an this that these those he she it we they i you in on at for as but and or if when "
    "while after before although though however there here what who how why where which my his "
    "her our their its your one some many most all both each every no not so then thus therefore "
    "moreover furthermore finally also since because during to from by with within without under "
    "over such other another several few first second third next last later now today yet still "
    "only even do does did is are was were has have had can could will would may might should let "
    "to interestingly surprisingly additionally consequently similarly conversely hence indeed "
    "instead meanwhile nevertheless nonetheless notably overall perhaps recently specifically "
    "together unlike despite given mice results data using based compared following consistent "
    "interest"
)


def keeps_stop(shadow: str, tokens: list[Offsets], begin: int, last: int, english: bool) -> bool:
    """Return whether the full stop after shadow[begin:last] belongs to it, as in "Dr." and "1."."""
    if last - begin > 16 or shadow.startswith("...", last):
        return False
    word, previous = shadow[begin:last], shadow[slice(*tokens[-1])] if tokens else ""
    after = _AFTER.match(shadow, last + 1)
    following = after.group(2) if after else ""
    spaced = shadow.startswith(" ", last + 1)
    if _INITIALS.match(word):
        return True
    before_comma = shadow.startswith((",", ";"), last + 1)  # no sentence ends there
    if len(word) == 1 and word.isalpha():
        attached = bool(tokens) and tokens[-1][1] == begin and shadow[begin - 1] in "/-–"
        return not attached and (before_comma or _is_initial(word, previous, following, spaced))
    if word[0].isdigit():  # the number of a list item or a heading
        numbering = spaced and following and _NUMBERING.match(word)
        return bool(numbering) and previous in _BEFORE_ITEMS
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
        lettered = len(following) <= 2 < len(lower) and following[:1].isupper()
        return lettered or any(map(str.isdigit, following[:24]))
    if lower in _BEFORE_NAMES:
        return word[0].isupper() and following[:1].isupper() and following.lower() not in OPENERS
    return True


_BEFORE_PEOPLE = word_set("and from with for the but that than was were are president author")
_BEFORE_ITEMS = frozenset(("", ".", "!", "?", ":", STOP))  # nothing: it begins the text
_NUMBERING = re.compile(r"\d{1,2}(?:\.\d{1,2})*$")


def _is_initial(letter: str, previous: str, following: str, spaced: bool) -> bool:
    """Return whether a letter with a full stop is an initial, and not the end of a sentence."""
    if not following:
        return False
    # b. (born), d. (died), p. (page), c. (circa); Roe v. Wade
    if letter.islower():
        versus = letter == "v" and previous[:1].isupper() and following[0].isupper()
        return versus or (
            letter in "pcvdbm" and (following[0].isdigit() or (previous == "(" and spaced))
        )
    if len(previous) == 2 and previous[1] == ".":  # one of several: H. R. 1280, P. A. Hargrave
        return True
    if following[0].isdigit() or (len(following) > 1 and following.lower() in OPENERS):
        return False
    # "vitamin C. Later": the letter belongs to the noun before it.
    follows_noun = len(previous) > 2 and previous.islower() and previous not in _BEFORE_PEOPLE
    if spaced and following[0].isupper() and follows_noun:
        return False
    if letter == "I" and spaced:
        return previous[:1].isupper() and following[0].isupper()
    return True


def sentence_ends(shadow: str, tokens: list[Offsets], english: bool) -> Iterator[int]:
    """Yield the positions in `tokens` after which a sentence ends, the last position included."""
    count = len(tokens)
    position = 0
    while position < count:
        start, stop = tokens[position]
        position += 1
        if shadow[stop - 1] in ".?!…" or STOP in shadow[start : min(stop, start + 4)]:
            mark, next_token = _skip_closers(shadow, tokens, position)
            if next_token < count and _is_end(shadow, tokens, mark, next_token, english):
                yield next_token
            position = next_token
    if count:
        yield count


def _skip_closers(shadow: str, tokens: list[Offsets], position: int) -> tuple[int, int]:
    """Skip what follows a full stop and belongs to its sentence: quotes, brackets, citations.

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


def _is_end(shadow: str, tokens: list[Offsets], mark: int, after: int, english: bool) -> bool:
    """Return whether the sentence with its full stop at token `mark` ends before token `after`."""
    text = shadow[slice(*tokens[mark])]
    following = shadow[slice(*tokens[after])]
    # A full stop of Chinese or Hindi needs no space after it.
    if STOP in text:
        return following not in _NEVER_FIRST
    if tokens[after][0] == tokens[after - 1][1]:
        return english and mark > 0 and _GLUED.match(shadow, tokens[mark - 1][1] - 3) is not None
    if following in _NEVER_FIRST:
        return False
    if _ITEM.match(shadow, tokens[after][0]):
        return True
    words = (shadow[start:stop] for start, stop in tokens[after : after + 6])
    opener = next((word for word in words if word[0].isalnum()), "")
    if text[-1] == "." and len(text) > 1 and text[-2] != ".":  # an abbreviation
        lower = text[:-1].lower()
        if after == mark + 1 and opener[:1].isdigit():
            return False
        return opener[:1].isupper() and (
            (lower in _ALWAYS_END and opener.lower() not in _TIMES)
            or (lower in _MAY_END and opener.lower() in OPENERS)
        )
    if opener[:1].islower() and opener.islower():
        # The sentence ends where the word before the full stop is not an abbreviation.
        if mark == 0 or after != mark + 1 or text != ".":
            return False
        start, stop = tokens[mark - 1]
        word = shadow[start:stop]
        long = len(word) > 3 and word.isalpha() and word.islower()
        return stop == tokens[mark][0] and (word in ")]" or long)
    quoted = after > mark + 1 and text in "?!…" and shadow[tokens[after - 1][0]] in "\"”'’»"
    return not (quoted and english and _SAID.match(shadow, tokens[after][0]))


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
_MAY_END = word_set("etc a.m p.m u.s d.c u.k u.n u.s.a inc ltd corp co jr sr al ph.d n.y l.a")
_ALWAYS_END = word_set("etc a.m p.m")
_TIMES = word_set(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat "
    "sun january february march april may june july august september october november december "
    "est edt et cst cdt ct mst mdt pst pdt pt gmt utc cet bst eastern central mountain pacific"
)
