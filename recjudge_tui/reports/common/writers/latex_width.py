"""The width of text in Computer Modern at 10 points, to lay out a table for the column of a paper."""

from __future__ import annotations

import unicodedata

# advance widths in points, by the characters that have them
_WIDTHS = {
    width: characters
    for characters, width in (
        ("!',.:;Iijl[]_`", 2.78), ("frst -()", 3.95), ("ceosz\"/0123456789?$^~*{}", 5.0),
        ("abdghknpquvxy", 5.56), ("ELFSJZ", 6.81), ("ABCDGHKNOPQRTUVXY", 7.78), ("wm#%&+=<>@", 8.34), ("MW|", 10.28),
    )
}  # fmt: skip
_WIDTH_OF = {character: width for width, characters in _WIDTHS.items() for character in characters}
# accented letters are as wide as the plain letter; unknown characters, such as Chinese, are as wide as letters are high
_UNKNOWN = 10.0
# \small is 9 points in a paper of 10 points, and the font of 9 points is a little wider than the scaled one
SMALL = 0.925
# longer text is wrapped anyway
_READ = 1000


def text_width(text: str) -> float:
    """The width in points at 10 points, at most a few hundredths less than the true width."""
    return sum(_WIDTH_OF.get(base[0], _UNKNOWN) for base in map(_base, text[:_READ]))


def _base(character: str) -> str:
    return character if character in _WIDTH_OF else unicodedata.normalize("NFD", character)
