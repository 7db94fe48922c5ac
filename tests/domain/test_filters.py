from __future__ import annotations

import pytest

from recjudge_tui.domain.filters import Term, parse_filter
from recjudge_tui.errors import UsageError
from tests.support.hostile import HOSTILE


def test_every_kind_of_term() -> None:
    chosen = parse_filter('flag:any label:"Good Match" conf<.6 case:0007 "two words" word')
    assert chosen.terms == (
        Term("flag", ":", "any"), Term("label", ":", "Good Match"), Term("conf", "<", ".6"), Term("case", ":", "0007"),
        Term("text", ":", "two words"), Term("text", ":", "word"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "flag:any why:swap",
        'label:"Good Match" conf>=.25',
        '"a: b" judge:llama3.1:8b',
        "conf=1 plain",
        "disagree:ndcg@10 spread>=2 spread<3.5 distance=0",
        'disagree:"GPT 4o"',
        '"a<b" "x=1" "conf<.6"',
        'system:"my ""best"" one" "say ""no"" twice" 5"x',
        'tag:"a\tb" "c\u00a0d"',
    ],
)
def test_chips_read_back_as_the_same_filter(text: str) -> None:
    chosen = parse_filter(text)
    assert parse_filter(chosen.text()) == chosen
    assert chosen.chips() == tuple(chosen.text().split(" ")) or '"' in chosen.text()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        chosen = parse_filter(text)
    except UsageError:
        return
    assert bool(chosen) == bool(text.strip())
