"""The shadow of a text: every character replaced by a representative of its class.

All apostrophes become one character, all Han characters another, and combining marks become
letters. The shadow is as long as its text, so the patterns of the rules stay short and every offset
in it is an offset in the original.
"""

from __future__ import annotations

import unicodedata

MARK = "\u02d0"  # combining marks are part of a word, as this letter is
HIDDEN = "\u2060"  # format and control characters: stay with the word before them
JOINER = "\u200d"  # ZERO WIDTH JOINER: makes one emoji of two
BREAK = "\u200b"  # ZERO WIDTH SPACE: a word ends here, though nothing is seen
HAN, HIRAGANA, KATAKANA = "漢", "あ", "ア"
PICTURE, FLAG = "☺", "⚑"
STOP = "。"  # ends a sentence whatever follows, space or not

_REPRESENTATIVES = {
    **dict.fromkeys("’ʼ´＇", "'"),
    **dict.fromkeys("。！？｡．‼⁇⁈⁉؟۔।॥։።፧፨។៕။", STOP),
    "\u200d": JOINER,
    "\u200b": BREAK,
    "〇": HAN,
    "々": HAN,
    "ー": KATAKANA,
    "ｰ": KATAKANA,
}
HAN_RANGES = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))


class _Shadow(dict[int, str]):
    """The representative of each character, computed when a character first occurs."""

    def __missing__(self, code: int) -> str:
        representative = _representative(chr(code), code)
        self[code] = representative
        return representative


def _representative(character: str, code: int) -> str:
    """Return the character that stands for a character in the shadow."""
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category in ("Cf", "Cc") or 0xFE00 <= code <= 0xFE0F or 0x1F3FB <= code <= 0x1F3FF:
        return HIDDEN  # variation selectors and skin tones go with the picture before them
    if category[0] == "M":
        return MARK
    if category == "Lo":
        if any(low <= code <= high for low, high in HAN_RANGES):
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


# text.translate(SHADOW) is the shadow of a text
SHADOW = _Shadow({ord(character): stand_in for character, stand_in in _REPRESENTATIVES.items()})
