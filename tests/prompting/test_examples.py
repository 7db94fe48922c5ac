from __future__ import annotations

import json
from typing import Any

import pytest

from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import UsageError
from recjudge_tui.prompting.drafts import (
    case_example,
    example_of_verdict,
    examples_from_outcomes,
    with_examples,
)
from recjudge_tui.prompting.trial import request_now
from recjudge_tui.protocols.lint import lint
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt, list_prompts
from recjudge_tui.store.triage import record
from tests.support.runs import RULES, load, make_project, planned

WHY = "The second list repeats what the person rated low."


@pytest.fixture(autouse=True)
def _project(db: Database) -> None:
    make_project(db, users=2)
    work(db.path, planned(db, RULES, "pointwise"))
    work(db.path, planned(db, RULES, "pairwise"))


def case(db: Database, kind: str) -> int:
    return db.number("SELECT min(id) FROM cases WHERE kind = ?", (kind,))


def added(db: Database, name: str, kind: str, values: dict[str, Any]) -> Prompt:
    prompt = get_prompt(db, name)[2]
    return with_examples(prompt, [case_example(db, prompt, case(db, kind), values, WHY)])


@pytest.mark.parametrize(("name", "kind", "values"), [
    ("pairwise-media", "pair", {"overall": "Tie"}),
    ("pointwise-shopping", "list", {"overall": "Poor"}),
])  # fmt: skip
def test_the_judge_is_shown_the_texts_of_the_cases_own_request(
    db: Database, name: str, kind: str, values: dict[str, Any]
) -> None:
    own = request_now(db, get_prompt(db, name)[2], case(db, kind)).messages[1].content
    prompt = added(db, name, kind, values)
    shown = prompt.examples[-1].input
    assert "customer" in shown
    assert len(shown) == (3 if kind == "pair" else 2)
    assert shown["customer"].startswith("Date: 2024-05-05")
    for key, value in shown.items():
        block = own.split(f"<{key}>\n")[1].split(f"\n</{key}>")[0]
        if isinstance(value, list):
            assert [f"{n}. {line}" for n, line in enumerate(value, 1)] == block.split("\n")
        else:
            assert value == block
    system = request_now(db, prompt, case(db, kind)).messages[0].content
    assert shown["customer"] in system
    assert json.dumps(WHY, ensure_ascii=False) in system


def test_nothing_of_the_future_is_shown(db: Database) -> None:
    prompt = added(db, "pairwise-media", "pair", {"overall": "A"})
    assert "The Held Out Film" not in prompt.model_dump_json()


# ---- what a reader said of a verdict


def verdict(db: Database, kind: str) -> int:
    return db.number(
        "SELECT min(v.id) FROM verdicts v JOIN cases c ON c.id = v.case_id WHERE c.kind = ? AND v.run_id IS NOT NULL",
        (kind,),
    )


def test_an_overridden_case_becomes_an_example_with_the_note_as_its_reason(db: Database) -> None:
    chosen = verdict(db, "pair")
    record(db, chosen, "me", "override", label="B", value=-1.0)
    with pytest.raises(UsageError, match="needs a reason") as raised:
        example_of_verdict(db, chosen, "me")
    assert "Add a note" in raised.value.next_step
    record(db, chosen, "me", "note", text=WHY)
    run = db.value("SELECT p.name FROM verdicts v JOIN runs r ON r.id = v.run_id JOIN prompts p ON p.id = r.prompt_id"
                   " WHERE v.id = ?", (chosen,))  # fmt: skip
    assert example_of_verdict(db, chosen, "me") == (f"my-{run}", 1)
    row = next(row for row in list_prompts(db) if row["name"] == f"my-{run}")
    assert (row["origin"], row["version"]) == ("user", 1)
    reply = get_prompt(db, f"my-{run}")[2].examples[-1].reply
    assert reply == {"reasoning": WHY, "winner": "Set 2"}


def test_examples_add_up_in_the_newest_version(db: Database) -> None:
    for kind, label, value in (("pair", "A", 1.0), ("list", "Poor", 0.0)):
        record(db, verdict(db, kind), "me", "override", label=label, value=value)
        record(db, verdict(db, kind), "me", "note", text=WHY)
        example_of_verdict(db, verdict(db, kind), "me")
    other = db.value(
        "SELECT max(v.id) FROM verdicts v JOIN cases c ON c.id = v.case_id WHERE c.kind = 'pair' AND v.run_id IS NOT NULL"
    )
    record(db, other, "me", "override", label="Tie", value=0.0)
    record(db, other, "me", "note", text="Neither.")
    name, version = example_of_verdict(db, other, "me")
    assert version == 2
    assert [e.reply["winner"] for e in get_prompt(db, name)[2].examples[-2:]] == ["Set 1", "Tie"]


def test_an_accepted_verdict_brings_the_judges_own_words_and_flags(db: Database) -> None:
    chosen = verdict(db, "list")
    call = db.row("SELECT c.id, a.reasoning, a.label, c.case_id FROM verdicts v JOIN calls c ON c.run_id = v.run_id"
                  " AND c.case_id = v.case_id JOIN answers a ON a.call_id = c.id WHERE v.id = ?", (chosen,))  # fmt: skip
    db.execute("DELETE FROM flags")
    sql = "SELECT s.item_id FROM slate_items s JOIN cases c ON c.slate_a = s.slate_id WHERE c.id = ? AND s.rank = 2"
    item = db.value(sql, (call["case_id"],))
    for flagged in (item, "not in the list"):
        db.add("flags", call_id=call["id"], item_id=flagged, issue="other", reason="odd")
    with pytest.raises(UsageError, match="an answer of yours"):
        example_of_verdict(db, chosen, "me")
    record(db, chosen, "me", "accept")
    name, _ = example_of_verdict(db, chosen, "me")
    reply = get_prompt(db, name)[2].examples[-1].reply
    assert reply["reasoning"] == call["reasoning"]
    assert reply["category"] == f"{call['label'].removesuffix(' Match')} Match"
    assert reply["flagged_items"] == [{"item": 2, "issue": "other", "reason": "odd"}]


def test_what_users_took_afterwards_becomes_examples(db: Database) -> None:
    """Pairs of which one list has the item: half of the examples favour each place."""
    pairs = db.rows("SELECT id, user_id FROM cases WHERE kind = 'pair' ORDER BY id")
    prompt = get_prompt(db, "pairwise-media")[2]
    rows: list[tuple[str, ...]] = [("user_id", "item_id", "type", "timestamp")]
    for place, (case_id, user) in enumerate(pairs):
        material = request_now(db, prompt, case_id).material
        ours, other = material.slates if place % 2 == 0 else material.slates[::-1]
        (item, *_) = {i.item_id for i in ours.items} - {i.item_id for i in other.items}
        rows.append((user, item, "heldout_purchase", "2030-01-01T00:00:00Z"))
    project = db.value("SELECT id FROM projects")
    with pytest.raises(UsageError, match="no outcome can be an example"):
        examples_from_outcomes(db, project, "pairwise-media")
    load(db, "events", rows)
    name, version, users = examples_from_outcomes(db, project, "pairwise-media")
    stored = get_prompt(db, f"{name}@{version}")[2]
    new = stored.examples[len(prompt.examples) :]
    assert sorted(example.reply["winner"] for example in new) == ["Set 1", "Set 2"]
    assert all("Afterwards this person chose" in example.reply["reasoning"] for example in new)
    assert set(users) == {user for _, user in pairs[:2]}
    assert lint(stored) == []
    with pytest.raises(UsageError, match="cannot be examples"):
        examples_from_outcomes(db, project, "pointwise-media")
