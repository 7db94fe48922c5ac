"""Calls whose prompts begin alike follow each other: each part of a prompt is read once by a server that remembers its
last prompt."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from recjudge_tui.store.database import Database
from tests.support.requests import sent_request
from tests.support.runs import calls, make_project, planned

SYSTEMS = ("als", "pop", "svd")


def shown(db: Database, run: int) -> list[tuple[str, str, str]]:
    """(user, system shown first, system shown second) of each call in the order of the plan."""
    rows = db.rows(
        """SELECT c.user_id, c.system_a, c.system_b, k.list_order FROM calls k JOIN cases c ON c.id = k.case_id
           WHERE k.run_id = ? ORDER BY k.id""",
        (run,),
    )
    return [(user, *((b, a) if order == "ba" else (a, b))) for user, a, b, order in rows]


def prompts(db: Database, run: int) -> list[str]:
    requests = [sent_request(db, call["id"]) for call in calls(db, run)]
    return ["\0".join(message.content for message in request.messages) for request in requests]


def shared_start(a: Sequence[object], b: Sequence[object]) -> int:
    """How many elements at the beginning of both are the same."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def read(texts: Sequence[str]) -> int:
    """The characters that a server reads if it remembers the prompt before."""
    return len(texts[0]) + sum(len(b) - shared_start(a, b) for a, b in pairwise(texts))


def test_prompts_about_the_aspects_of_two_lists_differ_after_the_lists(db: Database) -> None:
    make_project(db, users=1)
    texts = prompts(db, planned(db, protocol="arena", aspects="single", swap=False))
    assert len(texts) == 7
    assert all("</list_b>" in a[: shared_start(a, b)] for a, b in pairwise(texts))


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [
        ("pointwise", {}),
        ("pairwise", {}),
        ("pairwise", {"repeats": 3, "swap": False}),
        ("arena", {"swap": True}),
        ("pairwise", {"sample": 9}),
    ],
)
def test_no_other_order_lets_a_server_read_less(
    db: Database, protocol: str, settings: dict[str, Any]
) -> None:
    make_project(db, users=5, systems=SYSTEMS)
    texts = prompts(db, planned(db, protocol=protocol, **settings))
    assert read(texts) == read(sorted(texts))
