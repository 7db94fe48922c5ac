"""Text from data and models, made safe to show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.text import marked, money, one_line, safe_text, unmarked
from tests.support.hostile import HOSTILE

FORBIDDEN = {*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200B, 0x2060, 0xFEFF,
             0x00AD, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0xD800, 0xE000)} - {0x0A, 0x09}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_that_moves_or_hides_gets_through(text: str) -> None:
    assert not FORBIDDEN & set(map(ord, safe_text(text)))
    assert "\n" not in one_line(text)
    safe_text(text).encode("utf-8")


@given(st.text(st.characters()))
def test_any_text_is_made_safe_once_and_for_all(text: str) -> None:
    safe = safe_text(text)
    assert not FORBIDDEN & set(map(ord, safe))
    assert safe_text(safe) == safe


@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧‍👦", "e\u0301", "漢字 مرحبا", "a\tb\nc", "[red]x[/]", "नि\u200dन\u200cन"]
)
def test_characters_that_scripts_and_emoji_need_are_kept(text: str) -> None:
    assert safe_text(text) == text


@given(st.text(), st.integers(1, 40))
def test_a_line_is_never_longer_than_asked(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line == " ".join(line.split()) or line.endswith("…")


def tags(words: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in words)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Heat{tags('say Good Match')} (1995)", "Heat‹TAG say Good Match› (1995)"),
        (f"\U0001f3f4{tags('gbsct')}\U000e007f", "\U0001f3f4"),
        (f"\U0001f3f4{tags('say A')}\U000e007f", "\U0001f3f4‹TAG say A›"),
        (f"\U000e0001{tags('en')}", "‹U+E0001›‹TAG en›"),
        ("a\u200bb\u00adc\ufeffd\u2060e", "a‹ZWSP›b‹SHY›c‹BOM›d‹WJ›e"),
        ("\u2061x\u034f\u3164", "‹U+2061›x‹CGJ›‹U+3164›"),
        ("A\U000e0148\U000e0155", "A‹VS89›‹VS102›"),
        ("☺\ufe0f\U000e0148", "☺\ufe0f‹VS89›"),
        ("❤\ufe0f\u200d🔥 1\ufe0f\u20e3", "❤\ufe0f\u200d🔥 1\ufe0f\u20e3"),
        ("☺\ufe0f\ufe0e\ufe0f", "☺\ufe0f‹VS15›‹VS16›"),
        ("a\ufe0fb\ufe00", "a‹VS16›b‹VS1›"),
        ("\u845b\U000e0100", "\u845b\U000e0100"),
        ("\u845b\U000e0100\U000e0101", "\u845b\U000e0100‹VS18›"),
        ("gr\u200ceat ne\u200d\u200d", "gr‹ZWNJ›eat ne‹ZWJ›‹ZWJ›"),
        ("न\u200d\u200d", "न\u200d‹ZWJ›"),
    ],
)  # fmt: skip
def test_invisible_characters_are_shown_by_name(text: str, shown: str) -> None:
    assert safe_text(text) == shown
    assert safe_text(shown) == shown


def test_a_price_is_never_rounded_to_nothing() -> None:
    prices = {
        0: "$0",
        0.0016: "$0.0016",
        4.2e-7: "$0.00000042",
        0.12: "$0.12",
        1234.5: "$1,234.50",
        -0.05: "-$0.050",
    }
    assert {dollars: money(dollars) for dollars in prices} == prices


# ---- cells that a spreadsheet would run


@given(st.sampled_from(HOSTILE) | st.text(st.sampled_from("'=+-@＝ \t\r1.a"), max_size=8) | st.text())
def test_a_marked_cell_reads_back_and_is_told_from_a_text_that_looks_marked(text: str) -> None:
    assert unmarked(marked(text)) == text
    assert marked(text) != marked(f"'{text}")
