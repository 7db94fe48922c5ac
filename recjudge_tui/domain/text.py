"""Makes text from data or a model safe to show, on a terminal and in a spreadsheet."""

from __future__ import annotations

import math
import re
import unicodedata
from itertools import takewhile

_BIDI = {
    0x061C: "ALM", 0x200E: "LRM", 0x200F: "RLM", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF",
    0x202D: "LRO", 0x202E: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
}  # fmt: skip
_DROPPED = [c for c in range(0x20) if c not in (0x09, 0x0A)] + [0x7F, *range(0x80, 0xA0)]
_SHOWN_FOR: dict[str, str] = {
    **dict.fromkeys(map(chr, _DROPPED), ""),
    **{chr(code): f"‹{name}›" for code, name in _BIDI.items()},
    "\u2028": "\n",
    "\u2029": "\n",
}
# these and lone surrogates; searching for them first takes a sixth of the time of `str.translate`
_REPLACED = re.compile(f"[{re.escape(''.join(_SHOWN_FOR))}\ud800-\udfff]")
_HIDDEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_NAMES = {
    0x00AD: "SHY", 0x034F: "CGJ", 0x180E: "MVS", 0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x2060: "WJ", 0xFEFF: "BOM",
    **{0xFE00 + n: f"VS{n + 1}" for n in range(16)}, **{0xE0100 + n: f"VS{n + 17}" for n in range(240)},
}  # fmt: skip
_JOINERS = "\u200c\u200d"
_EMOJI_FORMS = "\ufe0e\ufe0f"
# categories of the characters that have a form as text and one as emoji
_TWO_FORMS = {"So", "Sm", "Sk", "Po", "Pd"}
# the flags of England, Scotland and Wales are written with tag characters
_FLAG, _FLAGS = "\U0001f3f4", {"gbeng\x7f", "gbsct\x7f", "gbwls\x7f"}
# characters without width, which must never be painted
_UNPAINTED = re.compile(
    f"[{re.escape(''.join(map(chr, (*_DROPPED, 0x0A, *_BIDI))))}"
    "\u2028\u2029\u00ad\u200b\u2060-\u206f\ufeff\U000e0000-\U000e00ff]+"
)


def safe_text(text: object) -> str:
    """The text without anything that moves the cursor, rings, colours, reorders or hides: safe for any output. Drops C0
    controls (not newline, tab), DEL and C1; shows characters that reorder or are invisible by name (`‹RLO›`, `‹U+2061›`,
    `‹TAG words›`), but those that scripts and emoji need. Lone surrogates become U+FFFD. Markup stays: show it as plain
    content."""
    raw = str(text)
    if raw.isascii() and raw.isprintable():
        return raw
    return _HIDDEN.sub(_named, _REPLACED.sub(lambda found: _SHOWN_FOR.get(found.group(), "\ufffd"), raw))


def paintable(line: str) -> str:
    """A painted line without control and invisible characters. They are dropped and not named, so that the width stays
    the same."""
    return _UNPAINTED.sub("", line)


def _named(run: re.Match[str]) -> str:
    """A run of invisible characters, by name except for those that the text needs."""
    before = run.string[run.start() - 1] if run.start() else ""
    characters = run.group()
    if before == _FLAG and _untagged(characters) in _FLAGS:
        return ""
    parts: list[str] = []
    place = 0
    while place < len(characters):
        character = characters[place]
        if tags := _untagged(characters[place:]):
            words = "".join(tag if tag.isprintable() else " " for tag in tags).strip()
            parts.append(f"‹TAG {words}›" if words else "‹TAG›")
            place += len(tags)
            before = ""
            continue
        twice = character in _EMOJI_FORMS and characters[place - 1 : place] in ("\ufe0e", "\ufe0f")
        needed = not twice and _is_needed(character, before, run.string[run.end() : run.end() + 1])
        code = ord(character)
        parts.append(character if needed else f"‹{_NAMES.get(code) or f'U+{code:04X}'}›")
        before = (before if character in _EMOJI_FORMS else "") if needed else ""
        place += 1
    return "".join(parts)


def _untagged(characters: str) -> str:
    """The ASCII that the tag characters at the beginning spell."""
    tags = takewhile(lambda character: 0xE0020 <= ord(character) <= 0xE007F, characters)
    return "".join(chr(ord(character) - 0xE0000) for character in tags)


def _is_needed(character: str, before: str, after: str) -> bool:
    """Whether it has a meaning after this visible character: it selects the form of an emoji or ideograph, or joins two."""
    if not before:
        return False
    if character in _EMOJI_FORMS:
        keycap = before in "0123456789#*" and after == "\u20e3"
        return keycap or (not before.isascii() and unicodedata.category(before) in _TWO_FORMS)
    if character in _JOINERS:
        return not before.isascii()
    return 0xE0100 <= ord(character) <= 0xE01EF and "IDEOGRAPH" in unicodedata.name(before, "")


def quantity(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 call`, `2,000 calls`. `plural` is for nouns whose plural does not just add an s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def money(dollars: float) -> str:
    """US dollars with at least two significant digits: `$0`, `$0.0016`, `$0.12`, `$1,234.50`."""
    if dollars == 0:
        return "$0"
    decimals = 2 if abs(dollars) >= 0.1 else 1 - math.floor(math.log10(abs(dollars)))
    return f"{'-' if dollars < 0 else ''}${abs(dollars):,.{decimals}f}"


def without_braces(text: str) -> str:
    """The text with parentheses for braces, which a template or a prompt's placeholder would read."""
    return text.replace("{", "(").replace("}", ")")


def one_line(text: object, limit: int | None = None) -> str:
    """`safe_text` on one line (runs of white space become one space), cut to `limit` characters with `…`. With a limit,
    only a small multiple of it is read, so a very long text costs nothing."""
    raw = str(text)
    if limit is not None:
        raw = raw[: limit * 8 + 64]
    line = " ".join(safe_text(raw).split())
    if limit is not None and len(line) > limit:
        return line[: max(limit - 1, 0)] + "…"
    return line


def finite(value: object) -> object:
    """The value with null for NaN and infinite numbers, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return {name: finite(part) for name, part in value.items()} if isinstance(value, dict) else value


# ---- formulas ----------------------------------------------------------------------------------------------------


MARK = "'"
# = + - @ at the start, ASCII or full width, after any blanks; a leading tab or line end would hide them
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_NUMBER = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def marked(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would run it. A negative number stays as it is. A text that
    already has such apostrophes gets one more, so that `unmarked(marked(text)) == text` for every text."""
    return MARK + text if _runs(text) else text


def unmarked(cell: str) -> str:
    """The inverse of `marked`; an apostrophe that is not a mark stays."""
    return cell[1:] if cell.startswith(MARK) and _runs(cell[1:]) else cell


def _runs(text: str) -> bool:
    bare = text.lstrip(MARK)
    return _FORMULA.match(bare) is not None and _NUMBER.fullmatch(bare) is None


def short(value: float, decimals: int = 2) -> str:
    """A coefficient without a leading zero: .06, -.12, 1.00."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{round(value, decimals) or 0:.{decimals}f}")
