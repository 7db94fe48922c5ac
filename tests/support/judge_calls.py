"""What the tests of judges ask."""

from __future__ import annotations

from typing import Any

from recjudge_tui.domain.calls import Message, Request, Sampling
from recjudge_tui.domain.judge import Workload
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges.registry import Judge

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "category": {"type": "string", "enum": ["Good Match", "Partial Match", "Poor Match"]},
    },
    "required": ["reasoning", "category"],
    "additionalProperties": False,
}
LABELS = {"Good Match", "Partial Match", "Poor Match"}


def asking(text: str = "Ten films for user 7.", *, sample: int = 0, **sampling: Any) -> Request:
    messages = (Message(role="system", content="You judge lists."), Message(role="user", content=text))
    return Request(messages=messages, reply_schema=SCHEMA, sampling=Sampling(**sampling), sample=sample)


def workload(**changes: Any) -> Workload:
    settings: dict[str, Any] = {
        "calls": 1,
        "longest_prompt_tokens": 1000,
        "max_tokens": 2048,
        "concurrency": 1,
        "timeout_s": 20.0,
    }
    return Workload(**{**settings, **changes})


async def call_error(judge: Judge, request: Request | None = None) -> CallError:
    """The CallError that asking ends in; fails when it ends otherwise."""
    try:
        reply = await judge.ask(request or asking())
    except CallError as error:
        return error
    raise AssertionError(f"no CallError but {reply!r}")


async def judge_error(judge: Judge, *, in_ask: bool = False, **changes: Any) -> JudgeError:
    """The JudgeError of `prepare`, or of `ask`; fails when it ends otherwise."""
    try:
        done: object = await (judge.ask(asking()) if in_ask else judge.prepare(workload(**changes)))
    except JudgeError as error:
        return error
    raise AssertionError(f"no JudgeError but {done!r}")
