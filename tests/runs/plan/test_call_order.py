"""Calls whose prompts begin alike follow each other: each part of a prompt is read once by a server that remembers its
last prompt."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

import pytest

from recjudge_tui.domain.calls import shared_start
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import store_prompt
from tests.support.cases import shipped
from tests.support.requests import sent_request
from tests.support.runs import RULES, calls, load, make_project, plan_run, planned

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


def read(texts: Sequence[str]) -> int:
    """The characters that a server reads if it remembers the prompt before."""
    return len(texts[0]) + sum(len(b) - shared_start(a, b) for a, b in pairwise(texts))


def test_the_second_order_of_two_lists_comes_right_after_the_first(db: Database) -> None:
    make_project(db, users=2)
    run = planned(db, protocol="pairwise")
    orders = [("als", "pop"), ("pop", "als")]
    assert shown(db, run) == [(user, *pair) for user in ("u00", "u01") for pair in orders]


def test_of_several_pairs_those_with_the_same_first_list_follow_each_other(db: Database) -> None:
    make_project(db, users=2, systems=SYSTEMS)
    run = planned(db, protocol="pairwise")
    firsts = [(user, first) for user, first, _ in shown(db, run)]
    assert [key for key, _ in groupby(firsts)] == [(u, s) for u in ("u00", "u01") for s in SYSTEMS]
    assert shown(db, run)[0] == ("u00", "als", "pop")


def test_repeats_of_a_prompt_and_the_calls_about_an_aspect_follow_each_other(db: Database) -> None:
    make_project(db, users=2)
    run = planned(db, protocol="arena", aspects="single", repeats=2, swap=True)
    listed = [(c["aspect"], c["case_id"], c["list_order"], c["sample"]) for c in calls(db, run)]
    assert [sample for *_, sample in listed] == [0, 1] * (len(listed) // 2)
    assert len(listed) == len(set(listed))
    blocks = [key for key, _ in groupby(listed, key=lambda call: (call[1], call[2]))]
    assert len(blocks) == len(set(blocks)) == 2 * 2


def test_calls_whose_guidelines_name_the_aspect_stand_aspect_by_aspect(db: Database) -> None:
    make_project(db, users=2)
    arena = shipped("arena-shopping")
    named_early = arena.model_copy(
        update={"name": "mine", "system": "{{ aspects[0].name }}\n" + arena.system}
    )
    store_prompt(db, named_early)
    settings = RunSettings(protocol="arena", aspects="single", swap=True)
    run = plan_run(db, RunRequest(project_id(db, "films"), RULES, settings, prompt="mine")).run_id
    assert run is not None
    blocks = [key for key, _ in groupby(call["aspect"] for call in calls(db, run))]
    assert len(blocks) == 2 * 7


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


def test_the_occasions_of_a_user_stand_together_if_they_show_the_same_of_the_user(db: Database) -> None:
    make_project(db, users=4)
    rows = [
        (f"u{n:02d}", system, f"i{n * 7 + rank + len(system) + place * 3}", rank, f"place {place}")
        for n in range(4) for system in ("als", "pop") for place in range(3) for rank in (1, 2)
    ]  # fmt: skip
    load(db, "lists", [("user_id", "system", "item_id", "rank", "context"), *rows])
    run = planned(db, protocol="pairwise", sample=16)
    users = [user for user, *_ in shown(db, run)]
    assert [len(list(group)) for _, group in groupby(users)] == [8] * 4
