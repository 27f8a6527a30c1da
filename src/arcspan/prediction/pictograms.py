r"""Words that are pictures: emoji and emoticons.

By the guidelines of Universal Dependencies such a word is `discourse` (or `punct`) and has no
dependents. A parser that has seen few of them takes them for nouns: it makes them subjects, or
heads of the words around them.

Only what is hardly ever anything else counts: no arrows, bullets or signs such as ©, and no
emoticons that may be words or numbers (`XP`, `8)`, `:3`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

# Log-weight against a pictogram with dependents, and against other relations: more than scores
# make good, and still finite, so that users may require what it rules out.
PENALTY = 30.0

_EMOJI = (
    # Flags are pairs of letters, and the signs in the older block stand alone.
    r"(?:[\U0001F1E6-\U0001F1FF]{2}|[\U0001F300-\U0001FAFF]|.\ufe0f"
    r"|[\u2600-\u2604\u2614\u2615\u2639-\u263b\u2661\u2665\u26a1\u26bd\u26be"
    r"\u2705\u2708-\u270d\u2728\u2753-\u2755\u2757\u2763\u2764\u2b50])"
    # A selector of the variant, the frame of a key, or a skin tone.
    r"[\ufe0e\ufe0f\u20e3\U0001F3FB-\U0001F3FF]*"
)
_EMOTICONS = (
    # With eyes, perhaps a nose, and a mouth: :) ;-) :'( :D
    r"[:;]['’^o-]{0,2}(?:[)(\]\[|/\\*]+|[DPpOo])",
    # An equation may end in = and a bracket that opens, but not like this: =) =D =P
    r"=[-^]?(?:\)+|\]+|[DPp])",
    # The other way round: (: (-;
    r"\(+[-^]?[:;]",
    # Hearts: <3 </3
    r"</?3+",
    # Eyes side by side: ^_^ -_- o_O >_< T_T ^^
    r"[\^>-][_.]+[\^<-]",
    r"[TtoO0;]_+[TtoO0;]",
    r"\^\^+",
    r"¯\\_\(ツ\)_/¯",
    r"[xX]D+",
)
_PICTOGRAM = re.compile(
    # Joiners make one emoji of several.
    rf"(?:{_EMOJI}(?:\u200d{_EMOJI})*)+|{'|'.join(_EMOTICONS)}"
)


# Text repeats its words: looking one up takes a fifth of the time of the expression.
@lru_cache(maxsize=8192)
def is_pictogram(word: str) -> bool:
    """Return whether a word is an emoji, a row of emoji, or an emoticon.

    >>> [is_pictogram(word) for word in ("😀", "👍🏽👍🏽", ":-)", "<3", ":", "©", "8)")]
    [True, True, True, True, False, False, False]
    """
    return _PICTOGRAM.fullmatch(word) is not None


def find_pictograms(words: Sequence[str]) -> list[int]:
    """Return the positions, from 1, of words that are pictograms; none if there is no other word.

    >>> find_pictograms(["Great", "!", ":)"]), find_pictograms([":)", "!"])
    ([3], [])
    """
    positions = [m for m, word in enumerate(words, 1) if is_pictogram(word)]
    if positions:
        other_words = [word for m, word in enumerate(words, 1) if m not in positions]
        # Punctuation alone should not become the root in place of a pictogram.
        if not any(character.isalnum() for word in other_words for character in word):
            return []
    return positions
