"""Servers as they are: what they refuse, where they put the answer, how they say what is wrong. Each kind has siblings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recjudge_tui.domain.calls import Reply, Usage
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import CallError
from recjudge_tui.judges import replies
from recjudge_tui.judges.openai import OpenAIJudge
from recjudge_tui.judges.registry import Judge, make_judge
from tests.support.judge_calls import asking, judge_error, workload
from tests.support.stub_server import Stub, answer, completion, in_turn, serving

VALUE = {"reasoning": "r", "category": "Good Match"}
GOOD = json.dumps(VALUE)
NO_LIST = answer(404, {"error": {"message": "not found"}})


def at(stub: Stub, path: str = "", provider: str = "openai") -> Judge:
    return make_judge(JudgeSpec(spec=f"{provider}:m", base_urls=(stub.url + path,)))


def refused(message: object, status: int = 400, **more: object) -> bytes:
    return answer(status, {"error": {"message": message, **more}})


async def answered(*responses: bytes, calls: int = 1) -> tuple[list[Reply], Stub]:
    """The replies to calls at a server with these answers; the last one again and again."""
    with serving(in_turn(*responses, to_get=NO_LIST)) as stub:
        judge = at(stub)
        replies = [await judge.ask(asking()) for _ in range(calls)]
    return replies, stub


class TestParts:
    """A part of the request that a server refuses is left out or exchanged once, for the rest of the run, and told."""

    @pytest.mark.parametrize(
        "error",
        [
            refused("System role not supported System role not supported", code=400),
            answer(400, {"object": "error", "message": "System role not supported", "code": 400}),
            refused("Conversation roles must alternate user/assistant/user/assistant/..."),
            refused(
                "Unsupported value: 'messages[0].role' does not support 'system'.", param="messages[0].role"
            ),
            refused("Developer instruction is not enabled for models/gemma-3-27b-it"),
            refused("Only user and assistant roles are supported!", status=500),
            answer(422, {"detail": "messages: unexpected role 'system'"}),
        ],
    )
    async def test_the_system_text_goes_in_front_of_the_users(self, error: bytes) -> None:
        replies, stub = await answered(error, answer(200, completion(GOOD)), calls=2)
        first, second, third = (stub.sent(n)["messages"] for n in range(3))
        assert len(stub.bodies) == 3
        assert (
            second
            == third
            == [{"role": "user", "content": f"{first[0]['content']}\n\n{first[1]['content']}"}]
        )
        assert {reply.dropped for reply in replies} == {("system",)}

    async def test_a_cap_that_the_server_does_not_know_is_exchanged(self) -> None:
        """It ends at its own cap of 20 tokens and says nothing of ours."""
        cut = {**completion(GOOD[:20], "length"), "usage": {"prompt_tokens": 500, "completion_tokens": 20}}
        whole = {**completion(GOOD), "usage": {"prompt_tokens": 500, "completion_tokens": 40}}
        (reply, again), stub = await answered(answer(200, cut), answer(200, whole), calls=2)
        assert [("max_tokens" in stub.sent(n), "max_completion_tokens" in stub.sent(n)) for n in range(3)] == [
            (False, True), (True, False), (True, False),
        ]  # fmt: skip
        assert (reply.text, reply.usage, again.usage.input) == (GOOD, Usage(input=1000, output=60), 500)

    async def test_an_answer_that_is_complete_is_not_asked_for_again(self) -> None:
        body = {**completion(GOOD, "length"), "usage": {"prompt_tokens": 500, "completion_tokens": 20}}
        ((reply,), stub) = await answered(answer(200, body))
        assert (reply.text, len(stub.bodies), reply.dropped) == (GOOD, 1, ())

    @pytest.mark.parametrize(
        ("message", "kind"),
        [
            ("max_completion_tokens is too large: 2048. This model supports at most 1024 completion tokens.", "bad_request"),
            ("`max_completion_tokens` must be less than or equal to `1024`", "bad_request"),
            ("max_tokens is too large: 2048. The maximum context length is 3000 and you have 1600 tokens", "overflow"),
        ],
    )  # fmt: skip
    async def test_a_cap_that_is_too_large_is_no_reason_to_send_none(self, message: str, kind: str) -> None:
        with serving(in_turn(refused(message, param="max_completion_tokens"), to_get=NO_LIST)) as stub:
            with pytest.raises(CallError) as caught:
                await at(stub).ask(asking())
            assert len(stub.bodies) == 1
        assert caught.value.kind == kind
        assert "--max-tokens" in str(caught.value)

    @pytest.mark.parametrize(
        "message",
        [
            "Unknown name \"additionalProperties\" at 'generation_config.response_schema': Cannot find field.",
            "Invalid value at 'generation_config.response_schema.properties[1].value.enum[0]' (TYPE_STRING), 1",
            "response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later",
            "JSON mode is not enabled for models/gemma-3-27b-it",
            "[{'loc': ['body', 'response_format', 'type'], 'msg': \"Input should be 'text' or 'json_object'\"}]",
        ],
    )
    async def test_a_schema_that_is_refused_in_other_words_is_left_out(self, message: str) -> None:
        ((reply,), _) = await answered(refused(message), answer(200, completion(GOOD)))
        assert reply.dropped == ("response_format",)

    async def test_a_penalty_that_is_refused_sends_nothing_twice(self) -> None:
        error = refused("Unsupported parameter: 'frequency_penalty' is not supported with this model.")
        with serving(in_turn(error, to_get=NO_LIST)) as stub:
            judge = at(stub)
            with pytest.raises(CallError, match="takes no penalty"):
                await judge.ask(asking(extra={"frequency_penalty": 1.0}))
            assert len(stub.bodies) == 1
        assert getattr(judge, "repetition_penalty", 1) is None

    @pytest.mark.parametrize(
        ("part", "error"),
        [
            ("frequency_penalty", refused("Unsupported parameter: 'frequency_penalty' is not supported.")),
            ("temperature", refused("Input validation error: `temperature` must be strictly positive", 422)),
            ("provider", refused("No endpoints found that can handle the requested parameters.", 404)),
            ("logprobs", refused("You are not allowed to request logprobs from this model", 403)),
        ],
    )
    async def test_a_users_option_that_is_refused_is_left_out(self, part: str, error: bytes) -> None:
        with serving(in_turn(error, answer(200, completion(GOOD)), to_get=NO_LIST)) as stub:
            reply = await at(stub, "/v1").ask(asking(extra={part: 0.5}))
        assert (reply.text, reply.dropped) == (GOOD, (part,))

    def test_openrouter_gets_the_older_name_of_the_cap(self) -> None:
        judge = OpenAIJudge(JudgeSpec(spec="openai:m", base_urls=("https://openrouter.ai/api/v1",)))
        sent = json.loads(judge.batch_body(asking()))
        assert ("max_tokens" in sent, "max_completion_tokens" in sent) == (True, False)

    async def test_of_a_schema_only_the_bounds_are_left_out(self) -> None:
        error = refused("Invalid schema for response_format: 'maxLength' is not permitted.")
        ((reply,), stub) = await answered(error, answer(200, completion(GOOD)))
        assert reply.dropped == ("maxLength",)
        assert "response_format" in stub.sent(1)


class TestAddress:
    @pytest.mark.parametrize(
        ("given", "served"),
        [
            ("", "/v1/chat/completions"), ("/v1", "/v1/chat/completions"), ("", "/chat/completions"),
            ("/v1/chat/completions", "/v1/chat/completions"),
            ("/serving-endpoints/", "/serving-endpoints/chat/completions"),
            ("/serving-endpoints/chat/completions", "/serving-endpoints/chat/completions"),
            ("/api/v1beta/openai", "/api/v1beta/openai/chat/completions"),
        ],
    )  # fmt: skip
    async def test_it_works_with_and_without_its_version_and_as_the_whole_path(
        self, given: str, served: str
    ) -> None:
        def script(line: str, number: int) -> bytes:
            if f"POST {served} " in f"{line} ":
                return answer(200, completion(GOOD))
            return answer(404, {"error_code": "ENDPOINT_NOT_FOUND", "message": f"No API found for '{line}'"})

        with serving(script) as stub:
            judge = at(stub, given)
            await judge.prepare(workload())
            assert [(await judge.ask(asking())).text for _ in range(2)] == [GOOD] * 2
        assert len([head for head in stub.heads if head.startswith("POST")]) <= 3


class TestErrors:
    """The words of an error are read, not only its number."""

    @pytest.mark.parametrize(
        ("status", "body", "seconds"),
        [
            (429, {"error": {"message": "Too many tokens. Please try again in 25.5s.", "code": "rate_limit"}}, 25.5),
            (429, {"error": {"message": "Rate limit reached. Please try again in 1m2.5s. Visit x"}}, 62.5),
            (429, {"error": {"message": "Please retry after 20 seconds."}}, 20.0),
            (429, {"error": {"message": "try again in 120ms"}}, 0.12),
            (429, {"message": "Try again in 1 minute and 26 seconds"}, 86.0),
            (429, [{"error": {"code": 429, "message": "Q", "details": [{"@type": "R", "retryDelay": "24.712s"}]}}], 24.712),
            (429, {"error": {"code": 429, "message": "Quota.", "details": [{"retryDelay": "3s"}]}}, 3.0),
            (503, {"error": {"message": "busy, retry in 3 s"}}, 3.0),
            (429, b"try again in 7s", 7.0),
            (429, {"error": {"message": "wait, there are 30 states"}}, None),
        ],
    )  # fmt: skip
    async def test_a_delay_in_the_body_is_kept(
        self, status: int, body: object, seconds: float | None
    ) -> None:
        with pytest.raises(CallError) as caught:
            await answered(answer(status, body))
        assert (caught.value.retry, caught.value.retry_after) == (True, seconds)

    @pytest.mark.parametrize("early", [True, False], ids=["prepare", "ask"])
    @pytest.mark.parametrize(
        "body",
        [
            {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: k***1."},
            [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}],
            [{"error": {"code": 400, "message": "m", "details": [{"reason": "API_KEY_INVALID"}]}}],
            {"error": {"message": "API key expired. Please renew the API key."}},
            {"error": {"message": "no", "code": "invalid_api_key"}},
            {"error": "Invalid bearer token"},
        ],
    )  # fmt: skip
    async def test_a_bad_key_answered_with_400_ends_the_run(
        self, monkeypatch: pytest.MonkeyPatch, body: object, early: bool
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "wrongkey1")
        with serving(lambda line, n: answer(400, body) if early or "POST" in line else NO_LIST) as stub:
            judge = at(stub)
            await (judge_error(judge) if early else judge.prepare(workload()))
            error = await judge_error(judge, in_ask=True)
        assert "refused the key in OPENAI_API_KEY" in error.title
        assert "[{" not in error.cause
        assert len(stub.heads) == 2

    @pytest.mark.parametrize(
        "error",
        [
            refused("Failed to generate JSON.", code="json_validate_failed", failed_generation='{"reasoning": "f'),
            refused("Failed to validate JSON. Please adjust your prompt.", code="json_validate_failed"),
            refused("Generated JSON does not match the expected schema.", status=422),
            refused("Parsing failed.", code="output_parse_failed"),
            refused("additionalProperties 'x' not allowed", code="json_validate_failed"),
        ],
    )  # fmt: skip
    async def test_a_reply_that_the_server_could_not_read_is_asked_for_again(self, error: bytes) -> None:
        with pytest.raises(CallError) as caught:
            await answered(error)
        assert (caught.value.kind, caught.value.retry) == ("bad_reply", True)

    @pytest.mark.parametrize(
        "message",
        ["Loading model", "Model m is currently loading", "The model is still loading, please wait"],
    )
    async def test_a_model_that_is_being_loaded_is_waited_for_and_kept_apart(
        self, monkeypatch: pytest.MonkeyPatch, message: str
    ) -> None:
        loading = answer(503, {"error": {"code": 503, "message": message, "type": "unavailable_error"}})

        def script(line: str, number: int) -> bytes:
            return loading if number < 4 else answer(200, {"data": [{"id": "m"}]})

        with serving(script) as stub, monkeypatch.context() as quick:
            quick.setattr(replies, "LOADING_S", 0.01)
            identity = await at(stub).prepare(workload())
        assert (identity.name, len(stub.heads)) == ("m", 5)
        with pytest.raises(CallError) as caught:
            await answered(loading)
        assert (caught.value.kind, caught.value.retry, caught.value.retry_after) == ("loading", True, 2.0)


class TestPlaces:
    """An answer that is not in the content is read where it is, and the place is noted."""

    @pytest.mark.parametrize(
        ("message", "place"),
        [
            ({"content": None, "reasoning_content": GOOD}, "thinking"),
            ({"content": "", "reasoning": GOOD}, "thinking"),
            ({"content": f"<think>\n{GOOD}"}, "thinking"),
            ({"content": [{"type": "thinking", "thinking": t} for t in ([{"text": GOOD[:9]}], GOOD[9:])]}, "thinking"),
            ({"content": None, "reasoning_details": [{"type": "reasoning.text", "text": GOOD}]}, "thinking"),
            ({"content": None, "parsed": VALUE}, "field “parsed”"),
            ({"content": VALUE}, None),
            ({"content": [GOOD]}, None),
            ({"content": [{"text": GOOD}]}, None),
            ({"content": None, "tool_calls": [{"function": {"arguments": VALUE}}] * 2}, "tool call"),
            ({"content": None, "tool_calls": [{"function": {"name": "j", "arguments": GOOD}}]}, "tool call"),
            ({"content": None, "function_call": {"name": "j", "arguments": GOOD}}, "tool call"),
            ({"content": [{"type": "output_text", "text": GOOD}]}, None),
        ],
    )  # fmt: skip
    async def test_it_is_found(self, message: dict[str, Any], place: str | None) -> None:
        body = {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]}
        ((reply,), _) = await answered(answer(200, body))
        assert (reply.text, reply.thinking, reply.sent.get("answer_in")) == (GOOD, "", place)

    @pytest.mark.parametrize(
        "thinking",
        [f"First I thought {GOOD}", f"{GOOD} but then", '{"category": "Good Match"}', "Good Match", "[1]"],
    )
    async def test_no_label_is_taken_from_inside_the_thinking(self, thinking: str) -> None:
        with pytest.raises(CallError) as caught:
            await answered(answer(200, completion(None, reasoning_content=thinking)))
        error = caught.value
        assert (error.kind, error.retry, error.thinking) == ("empty", False, thinking)
        assert "thinking" in error.title

    @pytest.mark.parametrize(
        "message",
        [
            {"content": f"<think>{GOOD}</think>"},
            {"content": "", "tool_calls": [{"function": {"arguments": {**VALUE, "category": c}}} for c in ("a", "b")]},
        ],
    )  # fmt: skip
    async def test_what_is_thought_or_said_in_two_ways_is_no_answer(self, message: dict[str, Any]) -> None:
        body = {"choices": [{"message": message, "finish_reason": "stop"}]}
        with pytest.raises(CallError, match="The content of the answer is empty"):
            await answered(answer(200, body))

    @pytest.mark.parametrize(
        ("body", "said", "retry"),
        [
            (completion("", "SAFETY"), "safety filter", False),
            ({"code": 1113, "message": "out of credit"}, "not a chat completion: out of credit", True),
        ],
    )
    async def test_the_reason_is_named(self, body: object, said: str, retry: bool) -> None:
        with pytest.raises(CallError, match=said) as caught:
            await answered(answer(200, body))
        assert caught.value.retry is retry


class TestStreams:
    def sse(self, *events: object, end: bool = True) -> bytes:
        lines = [f"data: {json.dumps(event)}\n\n" for event in events]
        return (": KEEP-ALIVE\n\n" + "".join(lines) + "data: [DONE]\n\n" * end).encode()

    def chunks(self, *texts: str, field: str = "content") -> list[dict[str, Any]]:
        parts = [
            {"model": "s", "choices": [{"delta": {field: text}, "finish_reason": None}]} for text in texts
        ]
        usage = {"prompt_tokens": 500, "completion_tokens": 40}
        return [*parts, {"model": "s", "choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}]

    async def test_a_stream_of_lines_and_one_of_calls_of_a_tool_are_read(self) -> None:
        lines = "\n".join(json.dumps(event) for event in self.chunks(GOOD[:9], GOOD[9:])).encode()
        calls = [
            {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}}]}
            for text in (GOOD[:9], GOOD[9:])
        ]
        for body in (lines, self.sse(*calls, *self.chunks())):
            ((reply,), _) = await answered(answer(200, body))
            assert reply.text == GOOD

    async def test_a_stream_that_is_cut_or_ends_with_an_error_is_no_answer(self) -> None:
        cut = self.sse(*self.chunks(GOOD)[:-1], end=False)
        broken = self.sse(*self.chunks(GOOD)[:-1], {"error": {"message": "gone", "code": 502}})
        for body, kind in ((cut, "bad_body"), (cut[:-9], "bad_body"), (broken, "server_error")):
            with pytest.raises(CallError) as caught:
                await answered(answer(200, body))
            assert (caught.value.kind, caught.value.retry) == (kind, True)

    async def test_ollamas_and_anthropics_are_read(self) -> None:
        lines = [{"model": "m", "message": {"content": text}, "done": False} for text in (GOOD[:9], GOOD[9:])]
        lines.append(
            {"model": "m", "message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 9}
        )
        events = [
            {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 5}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": GOOD[:9]}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": GOOD[9:]}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        ]
        bodies = {
            "ollama": "\n".join(map(json.dumps, lines)).encode(),
            "anthropic": self.sse(*events, end=False),
        }
        for provider, body in bodies.items():
            with serving(lambda line, n, body=body: answer(200, body)) as stub:
                judge = at(stub, provider=provider)
                reply = await judge.ask(asking())
            assert (reply.text, reply.usage.output) == (GOOD, 9)
        broken = "\n".join(map(json.dumps, [lines[0], {"error": "the runner has stopped"}])).encode()
        with serving(in_turn(answer(200, broken))) as stub, pytest.raises(CallError, match="runner"):
            await at(stub, provider="ollama").ask(asking())


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": 5, "cost": {"total_cost": 0.003}}, Usage(input=5, cost_usd=0.003)),
        ({"prompt_tokens": 5, "completion_tokens": 4, "cost": "0.003"}, Usage(input=5, output=4)),
        ({"prompt_tokens": 5, "prompt_tokens_details": None, "completion_tokens_details": {"x": None}}, Usage(input=5)),
        ({"prompt_tokens": 500.0, "completion_tokens": "40"}, Usage()),
        ([1, 2], Usage()),
        (None, Usage()),
    ],
)  # fmt: skip
async def test_odd_counts_are_unknown_and_never_0(usage: object, read: Usage) -> None:
    ((reply,), _) = await answered(answer(200, {**completion(GOOD), "usage": usage}))
    assert reply.usage == read
