"""An answer that ends at the token cap: a loop is asked once more with a penalty, another with a cap that fits."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support.runs import calls, make_project, planned, server_judge
from tests.support.stub_server import answer, completion, serving

GOOD = completion(json.dumps({"reasoning": "Fine.", "category": "Good Match", "flagged_items": []}))
LOOP = completion('{"reasoning": "' + "The list fits the user well because of its films. " * 60, finish="length")
CUT = completion('{"reasoning": "The user likes crime films, and of these', finish="length")
NOTHING = completion("", finish="length")
USAGE = {"prompt_tokens": 1000, "completion_tokens": 2048, "prompt_tokens_details": {"cached_tokens": 400}}


def asked(
    db: Database, answers: Callable[[int], dict[str, Any]], context: int | None = None, **settings: Any
) -> tuple[list[dict[str, Any]], Any]:
    """The bodies sent for one call whose n-th answer is `answers(n)`, and its row."""
    make_project(db, users=1)
    seen: list[int] = []

    def script(line: str, number: int) -> bytes:
        if line.startswith("GET"):
            return answer(200, {"data": [{"id": "hash-judge", "max_model_len": context}]})
        seen.append(number)
        return answer(200, {**answers(len(seen)), "usage": USAGE})

    with serving(script) as stub:
        run = planned(db, server_judge(stub.url), "pointwise", limit=1, systems=("als",), **settings)
        work(db.path, run)
        return [json.loads(body) for body in stub.bodies if body], calls(db, run)[0]


def test_a_model_that_repeats_itself_is_asked_once_more_with_a_penalty_and_named(db: Database) -> None:
    bodies, call = asked(db, lambda _: LOOP)
    assert [body.get("frequency_penalty") for body in bodies] == [None, 1.0]
    assert {body["max_completion_tokens"] for body in bodies} == {2048}
    assert (call["state"], call["error_kind"], call["attempts"]) == ("failed", "loop", 2)
    assert call["error"].startswith("The model repeats itself")
    assert call["reply"] == LOOP["choices"][0]["message"]["content"]
    assert (call["tokens_in"], call["tokens_out"], call["tokens_cached"]) == (2000, 4096, 800)


def test_an_answer_after_a_loop_is_kept_with_the_loop(db: Database) -> None:
    _, call = asked(db, lambda number: LOOP if number == 1 else GOOD)
    assert (call["state"], call["attempts"], call["tokens_out"]) == ("done", 2, 4096)
    [(kind, text)] = json.loads(call["sent"])["earlier"]
    assert (kind, text) == ("length", LOOP["choices"][0]["message"]["content"])


@pytest.mark.parametrize(("cut", "kind"), [(CUT, "length"), (NOTHING, "thinking")])
def test_a_larger_cap_is_tried_once_where_it_fits_the_context(
    db: Database, cut: dict[str, Any], kind: str
) -> None:
    bodies, call = asked(db, lambda _: cut, context=6000)
    assert [body["max_completion_tokens"] for body in bodies] == [2048, 5000]
    assert (call["error_kind"], call["attempts"]) == (kind, 2)
    assert "5,000 tokens" in call["error"]


def test_a_cap_that_does_not_fit_is_not_tried(db: Database) -> None:
    bodies, call = asked(db, lambda _: CUT, context=3200)
    assert len(bodies) == 1
    assert "the context has 3,200" in call["error"]
    assert call["reply"] == CUT["choices"][0]["message"]["content"]


def test_nothing_is_sent_again_unchanged_at_temperature_0(db: Database) -> None:
    empty = completion("")
    bodies, call = asked(db, lambda number: GOOD if number == 3 else empty)
    assert (call["state"], call["attempts"]) == ("done", 3)
    assert [body["temperature"] for body in bodies] == [0.0, 0.3, 0.3]
