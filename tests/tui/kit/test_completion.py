from __future__ import annotations

import pytest

from recjudge_tui.domain.filters import COMPARED, KEYS, STATES, WHY, parse_filter
from recjudge_tui.tui.widgets import MOST, suggestions, word_start

VALUES = {"judge": ("qwen2.5:14b", "llama3.1", "two words"), "label": ("A", "B", "Tie")}


def taken(line: str, shown: str, cursor: int | None = None) -> tuple[str, int]:
    place = len(line) if cursor is None else cursor
    found = {s.shown: s for s in suggestions(line, place, VALUES)}
    return found[shown].line, found[shown].cursor


@pytest.mark.parametrize(
    ("line", "shown", "made"),
    [
        ("wh", "why:", "why:"),
        ("WH", "why:", "why:"),
        ("co", "conf<", "conf<"),
        ("why:sw", "why:swap", "why:swap "),
        ("why:", "why:failed", "why:failed "),
        ("state:o", "state:ok", "state:ok "),
        ("judge:14", "judge:qwen2.5:14b", "judge:qwen2.5:14b "),
        ("judge:two", 'judge:"two words"', 'judge:"two words" '),
        ('judge:"two w', 'judge:"two words"', 'judge:"two words" '),
        ("label=t", "label:Tie", "label:Tie "),
        ("judge=two", 'judge="two words"', 'judge="two words" '),
        ('why:swap "some text" la', "label:", 'why:swap "some text" label:'),
    ],
)
def test_what_is_typed_is_completed(line: str, shown: str, made: str) -> None:
    assert taken(line, shown) == (made, len(made))


def test_in_the_middle_of_a_line_the_rest_stays() -> None:
    assert taken("wh label:A", "why:", 2) == ("why:label:A", 4)
    assert taken("why:sw label:A", "why:swap", 6) == ("why:swap label:A", 9)


@pytest.mark.parametrize(
    "line", ["", "why:swap ", "zzz", "judge:nobody", "why:swap", '"quoted wh', "user:1", "conf<"]
)
def test_nothing_is_offered_where_nothing_fits_or_all_is_said(line: str) -> None:
    assert suggestions(line, len(line), VALUES) == ()


def test_nothing_is_offered_within_a_word() -> None:
    assert suggestions("whatever", 2, VALUES) == ()


def test_all_keys_are_offered_on_request() -> None:
    found = suggestions("why:swap ", 9, VALUES, anything=True)
    assert [s.shown.rstrip(":<") for s in found] == list(KEYS)
    assert all(s.note == KEYS[s.shown.rstrip(":<")] for s in found)


def test_words_come_from_the_grammar_and_can_all_be_read() -> None:
    for key, words in (("why", WHY), ("state", STATES)):
        assert [s.shown for s in suggestions(f"{key}:", len(key) + 1, {})] == [
            f"{key}:{word}" for word in words
        ]
        assert all(parse_filter(f"{key}:{word}") for word in words)
    for key in KEYS:
        start = f"{key}<" if key in COMPARED else f"{key}:"
        assert start in [s.shown for s in suggestions(key, len(key), {})]


def test_at_most_so_many() -> None:
    assert len(suggestions("judge:", 6, {"judge": [f"j{n}" for n in range(500)]})) == MOST


def test_a_quoted_text_is_one_word() -> None:
    assert word_start('a judge:"x y', 12) == 2
    assert word_start('"x y" z', 7) == 6
