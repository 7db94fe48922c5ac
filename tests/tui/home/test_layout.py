"""The parts of the home."""

from __future__ import annotations

import pytest

from recjudge_tui.reports.home import Board, First, Home, PeopleAgreement, QueueSizes, Totals, conclusion
from recjudge_tui.reports.topics import Topic
from recjudge_tui.store.answers import FlipCount
from recjudge_tui.store.projects import DataCounts
from recjudge_tui.store.verdicts import Opinions, VerdictRow
from recjudge_tui.tui.home import PARTS, Destination, HomeState

_ROW = VerdictRow(
    7, 3, "qwen2.5:14b", "judge", "pairwise", "overall", "A", 0.41, False, False, 0, "", "", False, True, (1, 2),
    value=1.0, user_id="u-17", systems=("exp-als-2024", "exp-cooc-2024"), people=(Opinions("B", -1.0, 2),),
)  # fmt: skip
_FIRST = (First(_ROW, "judge against people", "[Set 1 = als] repeats two sequels"),)
_SYSTEM = {"rank": 1, "rank_low": 1, "rank_high": 2, "n": 5, "wins": 3, "ties": 1, "losses": 1, "cases": ""}
_FULL = Home(
    totals=Totals(200, 400, 0, 2, 2, "qwen2.5:14b"),
    runs=(),
    data=DataCounts(40, 400, 0, ("als", "cooc"), 360, 0, 2, "2024-03-21", "2024-05-15", 480, 0,
                    {"anna": 5}, 5),
    queue=QueueSizes(None, ()),
    flips=(FlipCount("qwen2.5:14b", "pairwise", "overall", 2, 10),),
    board=Board(
        Topic("pairwise", "overall"), "qwen2.5:14b", "win rate",
        ({**_SYSTEM, "system": "exp-als-2024", "score": 0.6, "ci_low": 0.5, "ci_high": 0.7},
         {**_SYSTEM, "system": "exp-cooc-2024", "score": 0.4, "ci_low": 0.3, "ci_high": 0.5}),
        answer="als leads.",
    ),
    agreement=PeopleAgreement(
        "Quadratic weighted κ", "rules", "anna", 0.2, 6, 0.61, 6, "", "", (-0.1, 0.5), (0.3, 0.8)
    ),
)  # fmt: skip


@pytest.mark.parametrize("home", [Home(), Home(runs=()), _FULL])
def test_every_part_is_made_of_what_is_known(home: Home) -> None:
    for make in PARTS.values():
        title, entries = make(HomeState(home), ())
        assert title or not entries


def test_what_it_says() -> None:
    lines = []
    for make in PARTS.values():
        title, entries = make(HomeState(_FULL, _FIRST), ())
        cells = [
            [text if isinstance(text, str) else text(20) for text, _ in entry.cells] for entry in entries
        ]
        lines += [title, *(" ".join(line) for line in cells)]
    text = " ".join(" ".join(lines).split())
    for words in (
        "exp-…", "1-2 als-2024", "3/1/1", "als-2024 ◂ cooc-2024 B B against people", "only 6 cases: too few",
        "no held-out events: no nDCG", "served 2024-03-21 to 2024-05-15", "“repeats two sequels”", "rules·anna .20",
        "people·people .61",
    ):  # fmt: skip
        assert words in text
    (only,) = PARTS["first"](HomeState(_FULL, _FIRST), ())[1]
    assert only.opens == Destination("first", "7")
    assert " ".join(conclusion(_FULL)) == (
        "als leads. Agreement of rules with anna: Quadratic weighted κ .20 [-.10, .50]; people agree with each other .61."
    )
