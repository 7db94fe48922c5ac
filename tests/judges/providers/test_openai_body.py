from __future__ import annotations

import json

from recjudge_tui.domain.calls import Message, Request, Sampling
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges.providers.openai import OpenAIJudge

SCHEMA = {"type": "object", "properties": {"category": {"type": "string", "enum": ["é", "b"]}}}
HARD = 'quotes " and \\ and \n, “typographic”, \u2028, \x00, 😀'


def request(user: str, system: str = f"System. {HARD}", **more: object) -> Request:
    messages = (Message(role="system", content=system), Message(role="user", content=user))
    return Request(messages=messages, reply_schema=SCHEMA, **{"label_field": "category", **more})


def judge() -> OpenAIJudge:
    return OpenAIJudge(JudgeSpec(spec='openai:the "model"'), ("http://127.0.0.1:1/v1",))


def test_a_body_does_not_depend_on_earlier_bodies() -> None:
    requests = [
        request("one"),
        request(HARD),
        request("one", system="another"),
        request("one", sampling=Sampling(seed=8, temperature=0.7)),
        request("one", schema_name="pair_verdict"),
        request("one").model_copy(update={"reply_schema": {"type": "object"}}),
        request("one"),
    ]
    kept = judge()
    bodies = [kept.batch_body(each) for each in requests]
    assert bodies == [judge().batch_body(each) for each in requests]
    assert len(set(bodies)) == len(requests) - 1


def test_every_message_and_parameter_is_in_the_body() -> None:
    asked = request(HARD)
    longer = asked.model_copy(
        update={"messages": (*asked.messages, Message(role="assistant", content="{"), asked.messages[1])}
    )
    body = json.loads(judge().batch_body(longer))
    assert body["model"] == 'the "model"'
    assert body["messages"] == [{"role": m.role, "content": m.content} for m in longer.messages]
    assert body["response_format"]["json_schema"] == {"name": "verdict", "schema": SCHEMA, "strict": True}
    assert (body["temperature"], body["seed"], body["max_completion_tokens"]) == (0.0, 7, 2048)


def test_the_shared_text_comes_first_and_byte_identical() -> None:
    kept = judge()
    one, two = kept.batch_body(request("one")), kept.batch_body(request("two"))
    shared = one.index(b'{"role":"user"')
    assert one[:shared] == two[:shared]


def test_what_utf8_cannot_hold_becomes_a_question_mark() -> None:
    body = json.loads(judge().batch_body(request("half \ud83d of a pair", system="and \udc00")))
    assert [m["content"] for m in body["messages"]] == ["and ?", "half ? of a pair"]
