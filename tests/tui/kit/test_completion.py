from __future__ import annotations

import pytest

from recjudge_tui.tui.widgets import suggestions, word_start

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


def test_a_quoted_text_is_one_word() -> None:
    assert word_start('a judge:"x y', 12) == 2
    assert word_start('"x y" z', 7) == 6
