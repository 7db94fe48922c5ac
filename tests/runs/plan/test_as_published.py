"""Runs as published: what the preset sets and stores, and what the rendered prompts of real cases show."""

from __future__ import annotations

import re
from typing import Any

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import Plan, RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import store_prompt
from tests.support.cases import shipped
from tests.support.requests import sent_request, sent_texts
from tests.support.runs import RULES, calls, load, make_project, plan_run


def published(
    db: Database, protocol: str, *, prompt: str = "", dry_run: bool = False, **options: Any
) -> Plan:
    settings = settings_for(protocol, as_published=True, **options)
    request = RunRequest(project_id(db, "films"), RULES, settings, "published", prompt)
    return plan_run(db, request, dry_run=dry_run)


def texts(db: Database, made: Plan) -> list[str]:
    assert made.run_id is not None
    return sent_texts(db, made.run_id)


def in_order(text: str, *parts: str) -> bool:
    places = [text.index(part) for part in parts]
    return places == sorted(places)


@pytest.mark.parametrize("domain", ["shop", "films"])
def test_saer_shows_examples_context_list_guidelines_output(db: Database, domain: str) -> None:
    make_project(db, users=2)
    for text in texts(db, published(db, "pointwise", domain=domain)):
        assert in_order(text, "# Examples", "\n<customer>\n", "<list>\n", "# Guidelines", "# Output form")
        assert text.count("Answer: {") == 5
        assert "open task" not in text
        assert "Exception: " in text
        assert "Issues are minor when" not in text
        assert "- Good Match: 3 or more of 4 items are relevant" in text
        assert "\n\n\n" not in text
    ours = settings_for("pointwise", domain=domain)
    made = plan_run(db, RunRequest(project_id(db, "films"), RULES, ours, "ours"))
    for text in texts(db, made):
        assert in_order(text, "# Examples", "# Guidelines", "# Output form", "\n<customer>\n", "<list>\n")
        assert text.count("Answer: {") == 6
        assert "Exception: " in text
        assert "\n\n\n" not in text


def test_arena_shows_five_titles_with_genres_and_the_tested_system_first(db: Database) -> None:
    make_project(db, users=3, systems=("als", "pop", "zed"))
    load(
        db,
        "events",
        [
            ("user_id", "item_id", "type", "timestamp", "value"),
            *(("u00", f"i{n}", "rating", f"2024-05-1{n}T12:00:00Z", 4) for n in range(6)),
        ],
    )
    made = published(db, "arena", baseline="pop")
    assert made.run_id is not None
    rows = db.rows(
        "SELECT k.list_order, c.system_a FROM calls k JOIN cases c ON c.id = k.case_id WHERE k.run_id = ?",
        (made.run_id,),
    )
    assert len(rows) == 6
    assert all(("ba" if row["system_a"] == "pop" else "ab") == row["list_order"] for row in rows)
    history = [re.search(r"<history>\n(.*?)\n</history>", text, re.S) for text in texts(db, made)]
    shown = sorted({found[1] for found in history if found})
    assert len(shown) == 3
    assert all(re.fullmatch(r"(- Film number \d+ \(genre \d\)\n?){3,5}", text) for text in shown)
    assert max(text.count("\n") for text in shown) == 4
    assert not any("rated" in text or "2024" in text for text in shown)


def explained(db: Database) -> None:
    make_project(db, users=2)
    rows = [(f"u0{n}", "i1", "knn", f"Text number {n}") for n in range(2)]
    load(db, "explanations", [("user_id", "item_id", "system", "text"), *rows])


@pytest.mark.parametrize("aspects", ["multi", "single"])
def test_zhang_asks_for_scores_alone_with_words_for_the_ends(db: Database, aspects: str) -> None:
    explained(db)
    made = published(db, "explanation", aspects=aspects)
    assert made.run_id is not None
    for call in calls(db, made.run_id):
        request = sent_request(db, call["id"])
        text = "\n".join(message.content for message in request.messages)
        assert "reasoning" not in text
        assert "reasoning" not in request.reply_schema["required"]
        assert len(request.reply_schema["required"]) == (4 if aspects == "multi" else 1)
        assert "# Scale\n5 = strongly agree\n1 = strongly disagree\n" in text
        assert "History" not in text
    work(db.path, made.run_id)
    assert db.value("SELECT count(*) FROM verdicts WHERE state = 'ok'") == 8


@pytest.mark.parametrize("aspects", ["multi", "single"])
@pytest.mark.parametrize("reasoning", ["first", "none"])
def test_reasoning_is_offered_with_one_aspect_and_with_all(
    db: Database, aspects: str, reasoning: str
) -> None:
    explained(db)
    settings = settings_for("explanation", aspects=aspects, reasoning=reasoning)
    made = plan_run(db, RunRequest(project_id(db, "films"), RULES, settings, "r"))
    assert made.run_id is not None
    for call in calls(db, made.run_id):
        request = sent_request(db, call["id"])
        required = request.reply_schema["required"]
        assert (required[0] == "reasoning") is (reasoning == "first")
        text = "\n".join(message.content for message in request.messages)
        assert ('- "reasoning"' in text) is (reasoning == "first")
        assert "3 = neither agree nor disagree" in request.messages[0].content


@pytest.mark.parametrize(
    ("protocol", "option"),
    [
        ("pointwise", {"top_k": 5}),
        ("arena", {"history": 20}),
        ("arena", {"aspects": "single"}),
        ("explanation", {"temperature": 0.7}),
        ("pairwise", {"repeats": 3}),
    ],
)
def test_an_option_that_contradicts_the_preset_is_refused(protocol: str, option: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="--as-published sets"):
        settings_for(protocol, as_published=True, **option)


def test_what_has_no_published_form_says_so(db: Database) -> None:
    explained(db)
    with pytest.raises(UsageError, match="absolute has no published form"):
        settings_for("absolute", as_published=True)
    mine = shipped("pairwise-media").model_copy(
        update={"name": "mine", "variables": {}, "system": "Judge.", "user": "{{ slates }}", "parts": None}
    )
    store_prompt(db, mine)
    with pytest.raises(UsageError, match="prompt “mine” cannot be run as published"):
        published(db, "pairwise", prompt="mine")
