from __future__ import annotations

import json
import math
from typing import Any

import pytest

from recjudge_tui.domain.calls import Message, Request
from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.judges import openai as openai_judge
from recjudge_tui.judges.openai import make
from recjudge_tui.judges.replies import label_confidence
from tests.support.judge_calls import SCHEMA, asking, workload
from tests.support.servers.process import ServerProcess
from tests.support.stub_server import answer, completion, serving

ASKED = asking().model_copy(update={"label_field": "category"})
Alternatives = dict[str, float]  # token -> probability


def entry(token: str, alternatives: Alternatives | None = None, **more: Any) -> dict[str, Any]:
    """One token as servers list it; by default it was the only possibility."""
    listed = {token: 0.99} if alternatives is None else alternatives
    top = [{"token": t, "logprob": math.log(p), "bytes": list(t.encode())} for t, p in listed.items()]
    return {"token": token, "logprob": -0.1, "bytes": list(token.encode()), "top_logprobs": top, **more}


def entries(text: str, place: str, *tokens: dict[str, Any]) -> list[dict[str, Any]]:
    """The text before `place` and what comes after `tokens` as one token each, `tokens` in between."""
    start = text.index(place)
    middle = "".join(t["token"] for t in tokens)
    assert text.startswith(middle, start)
    return [entry(text[:start]), *tokens, entry(text[start + len(middle) :])]


GOOD = json.dumps({"reasoning": "so", "category": "Good Match"})


def test_one_deciding_token_is_normalised_over_the_labels_that_were_seen() -> None:
    deciding = entry("Good", {"Good": 0.6, "Poor": 0.2, "Partial": 0.1, "Great": 0.05})
    found = label_confidence(ASKED, GOOD, entries(GOOD, "Good", deciding, entry(" Match")))
    assert found == pytest.approx(0.6 / 0.9)


def test_scores_are_labels_too_and_one_digit_may_be_another() -> None:
    schema = {"properties": {"score": {"type": "integer", "enum": [1, 2, 10]}}}
    request = Request(messages=(), reply_schema=schema, label_field="score")
    text = '{"score": 1}'
    first = entry("1", {"1": 0.6, "2": 0.2})
    closing = entry("}", {"}": 0.7, "0": 0.1})
    assert label_confidence(request, text, [entry('{"score": '), first, closing]) == pytest.approx(
        (0.6 / 0.8) * (0.7 / 0.8)
    )


def test_thinking_before_the_answer_and_the_same_words_inside_it_are_passed_over() -> None:
    text = json.dumps({"reasoning": 'not "category": "Poor Match"', "category": "Good Match"})
    deciding = entry("Good", {"Good": 0.9, "Poor": 0.1})
    listed = [entry("<think>Poor Match? Good Match!</think>"), *entries(text, "Good", deciding)]
    assert label_confidence(ASKED, text, listed) == pytest.approx(0.9)


DECIDED = entry("Good", {"Good": 0.9, "Poor": 0.1})


@pytest.mark.parametrize(
    ("request_", "text", "listed"),
    [
        (ASKED, GOOD, []),
        (ASKED, GOOD, None),
        (ASKED, GOOD, [{"token": 1}]),
        (ASKED, GOOD, entries(GOOD, "Good", {**DECIDED, "top_logprobs": []})),  # no alternatives
        (ASKED, GOOD, entries(GOOD, "Good", entry("Good", {"Poor": 0.9}))),  # a grammar chose it
        (ASKED, GOOD, [entry("something else")]),
        (ASKED, "Good Match", [DECIDED, entry(" Match")]),  # not JSON
        (ASKED, '{"category": "Fine"}', [entry('{"category": "Fine"}')]),
        (ASKED, '{"reasoning": "Good Match"}', [entry('{"reasoning": "Good Match"}')]),
        (ASKED, GOOD[:-1], entries(GOOD[:-1], "Good", DECIDED)),  # cut off
        (asking(), GOOD, entries(GOOD, "Good", DECIDED)),  # no label was named
        (ASKED.model_copy(update={"label_field": "reasoning"}), GOOD, entries(GOOD, "Good", DECIDED)),
    ],
)
def test_where_nothing_follows_there_is_none(request_: Request, text: str, listed: object) -> None:
    assert label_confidence(request_, text, listed) is None


async def test_logprobs_are_asked_for_only_where_they_are_known_to_work() -> None:
    choice = completion(GOOD)
    choice["choices"][0]["logprobs"] = {"content": entries(GOOD, "Good", DECIDED)}
    with serving(lambda line, n: answer(200, choice) if "POST" in line else answer(404, {})) as stub:
        replies = []
        for known in (None, Capabilities(), Capabilities(logprobs=True)):
            judge = make(JudgeSpec(spec="openai:m", base_urls=(stub.url,)))
            await judge.prepare(workload(known=known))
            replies.append(await judge.ask(ASKED))
            await judge.close()
        sent = [json.loads(body) for body in stub.bodies if body]
    assert ["logprobs" in body for body in sent] == [False, False, True]
    assert sent[-1]["top_logprobs"] == 5
    assert replies[-1].label_confidence == pytest.approx(0.9)


async def test_a_real_server_gives_logprobs_that_fit_its_text(
    llama_server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        openai_judge, "TOP_LOGPROBS", 5000
    )  # its whole vocabulary: the grammar's choice is among it
    judge = make(JudgeSpec(spec="openai:tiny-stair", base_urls=(llama_server.url,)))
    await judge.prepare(workload(known=Capabilities(logprobs=True)))
    request = Request(
        messages=(Message(role="system", content="x"), Message(role="user", content="which?")),
        reply_schema=SCHEMA,
        label_field="category",
    )
    replies = [
        await judge.ask(request.model_copy(update={"messages": (Message(role="user", content=f"{n}?"),)}))
        for n in range(8)
    ]
    await judge.close()
    assert all(reply.logprobs for reply in replies)
    found = [reply.label_confidence for reply in replies]
    assert all(confidence is not None and 0 < confidence <= 1 for confidence in found), found
    assert len(set(found)) > 1
