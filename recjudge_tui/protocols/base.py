"""The parts of a protocol: case -> requests, reply -> answers, answers -> verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from recjudge_tui.domain.calls import (
    Answer,
    Message,
    Order,
    ParsedReply,
    Reply,
    Request,
    Sampling,
    VerdictDraft,
)
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import ProtocolFacts

# answers about one case and aspect, by the order shown; None where the call failed
AnswersByOrder = Mapping[Order, Answer | None]


@dataclass(frozen=True)
class Protocol:
    """One way of judging: its facts, and its steps as plain functions. `orders` are the orders in which a case is
    asked; without swapping, only the first one is used. `request(prompt, material, order, aspect, sampling)` builds a
    call; `material` always comes in the order of the systems, and the function swaps it if needed. `parse(prompt,
    material, reply, order, aspect)` reads the reply and maps labels back to the systems; it raises ReplyFault.
    `verdict(prompt, aspect, answers)` makes the verdict by a named rule.
    """

    facts: ProtocolFacts
    orders: tuple[Order, ...]
    request: Callable[[Prompt, Material, Order, str, Sampling], Request]
    parse: Callable[[Prompt, Material, Reply, Order, str], ParsedReply]
    verdict: Callable[[Prompt, str, AnswersByOrder], VerdictDraft]

    @property
    def name(self) -> str:
        return self.facts.name


def reask(request: Request, reply: Reply, fault: str) -> Request:
    """The request again, with the reply and its fault. Each reply gets one such second chance."""
    return request.model_copy(
        update={
            "messages": (
                *request.messages,
                Message(role="assistant", content=reply.text or "(empty)"),
                Message(
                    role="user",
                    content=f"That reply cannot be used: {fault}. "
                    "Answer again with one JSON object in the form asked for, and nothing else.",
                ),
            )
        }
    )


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema in the subset that every server supports: all fields required, no others allowed."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def answer_schema(prompt: Prompt, aspect: str) -> dict[str, Any]:
    """The schema of one field: a number on the scale, integers if all labels are integers, else words."""
    if prompt.scale is not None:
        return {"type": "number", "minimum": prompt.scale.low, "maximum": prompt.scale.high}
    replies = [label.reply for label in prompt.labels_of(aspect)]
    if all(reply.isascii() and reply.isdigit() for reply in replies):
        return {"type": "integer", "enum": sorted(int(reply) for reply in replies)}
    return {"type": "string", "enum": replies}


def only_answer(_: Prompt, aspect: str, answers: AnswersByOrder) -> VerdictDraft:
    """The rule for cases that are asked once: the answer itself."""
    answer = next(iter(answers.values()), None)
    if answer is None:
        return VerdictDraft(aspect=aspect, state="failed", rule="as answered", note="the call failed")
    return VerdictDraft(
        aspect=aspect,
        state="ok",
        value=answer.value,
        label=answer.label,
        rule="as answered",
        confidence=answer.confidence,
    )
