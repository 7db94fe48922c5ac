from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.injection import EXCERPT, LONG_LINE, LONG_TEXT, Kind, findings, frames_in
from recjudge_tui.domain.text import safe_text
from tests.support.hostile import HOSTILE
from tests.support.injections import ORDERS, ORDINARY


def kinds(text: str, longest: int = LONG_LINE) -> list[Kind]:
    return [finding.kind for finding in findings(text, longest=longest)]


def cells(paths: Iterable[Path]) -> Iterator[str]:
    """Every text of CSV files once."""
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                yield from row


@pytest.mark.parametrize(("kind", "text"), ORDERS)
def test_texts_with_instructions_are_found(kind: Kind, text: str) -> None:
    assert kind in kinds(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_texts_are_left_alone(text: str) -> None:
    assert kinds(text) == []


@given(st.text() | st.sampled_from(HOSTILE) | st.sampled_from([text for _, text in ORDERS]))
def test_an_excerpt_is_one_short_safe_line(text: str) -> None:
    for finding in findings(text):
        assert len(finding.excerpt) <= EXCERPT
        assert finding.excerpt == safe_text(finding.excerpt)
        assert "\n" not in finding.excerpt


def test_frames_are_the_tags_that_the_prompts_close() -> None:
    assert frames_in("<basket>\n</basket> <set_1></set_1> </Set-2>") == {"basket", "set"}
    assert [found.kind for found in findings("</basket>", frames={"basket"})] == ["frame"]
    assert kinds("</basket>") == []


@pytest.mark.data
def test_real_titles_and_explanations_give_almost_no_alarm() -> None:
    data = Path(os.environ["RECJUDGE_DATA"])
    titles = set(cells([data / "ml100k" / "items.csv"]))
    explanations = set(cells([data / "zhang2024" / "explanations.csv"]))
    assert len(titles) > 3000
    assert len(explanations) > 2000
    alarms = [text for text in titles | explanations if findings(text, longest=LONG_TEXT)]
    assert len(alarms) <= 2, alarms
