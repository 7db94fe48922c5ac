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
from recjudge_tui.domain.prompt import LabelSpec, Prompt
from recjudge_tui.domain.protocols import ProtocolFacts
from recjudge_tui.errors import PromptError

# answers about one case and aspect, by the order shown; None where the call failed
AnswersByOrder = Mapping[Order, Answer | None]


@dataclass(frozen=True)
class Protocol:
    """One way of judging: its facts, and its steps as plain functions. `orders` are the orders in which a case is asked;
    without swapping, only the first one is used. `request(prompt, material, order, aspect, sampling)` builds a call;
    `material` always comes in the order of the systems, and the function swaps it if needed. `parse(prompt, material,
    reply, order, aspect)` reads the reply and maps labels back to the systems; it raises ReplyFault. `verdict(prompt,
    aspect, answers)` makes the verdict by a named rule; it is not called where a protocol only reads texts."""

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
    wanted = "Answer again with one JSON object in the form asked for, and nothing else."
    said = Message(role="assistant", content=reply.text or "(empty)")
    told = Message(role="user", content=f"That reply cannot be used: {fault}. {wanted}")
    return request.model_copy(update={"messages": (*request.messages, said, told)})


# the longest reasoning, and analysis of one aspect, in characters: what loops ends there, on servers that enforce it
LONGEST_REASONING, LONGEST_ANALYSIS, LONGEST_REASON = 1_500, 600, 200


def text_schema(longest: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest}


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
    answer, rule = next(iter(answers.values()), None), "as answered"
    if answer is None:
        return VerdictDraft(aspect=aspect, state="failed", rule=rule, note="the call failed")
    value, label, confidence = answer.value, answer.label, answer.confidence
    return VerdictDraft(aspect=aspect, state="ok", value=value, label=label, rule=rule, confidence=confidence)


# ---- both orders -------------------------------------------------------------------------------------------------

BOTH_ORDERS = "both orders"
ONE_ORDER = "one order"


def turned(prompt: Prompt, aspect: str, label: LabelSpec, order: Order) -> LabelSpec:
    """The label about Set 1 and Set 2 as a label about systems a and b: in order `ba` the sign changes. Raises PromptError
    when no label has the opposite value."""
    value = -label.value if order == "ba" else label.value
    for spec in prompt.labels_of(aspect):
        if spec.value == value:
            return spec
    raise PromptError(
        f"prompt “{prompt.name}” cannot be asked in both orders",
        f"Its label “{label.reply}” has the value {label.value:g}, and no label has {value:g}.",
        "Give every label a counterpart with the opposite value.",
    )


def adjudicate(prompt: Prompt, aspect: str, answers: AnswersByOrder) -> VerdictDraft:
    """Orders that agree give their common answer. Orders that disagree give a tie, marked as position-dependent. On a
    graded scale, two answers in the same direction give the weaker one. If the call of either order failed, the verdict is
    failed, never a tie."""
    rule = BOTH_ORDERS if len(answers) > 1 else ONE_ORDER
    given = [answer for answer in answers.values() if answer is not None]
    if len(given) < len(answers) or not given:
        missing = ", ".join(order or "only" for order, answer in answers.items() if answer is None)
        return VerdictDraft(
            aspect=aspect, state="failed", rule=rule, note=f"the call in order {missing} failed"
        )
    weakest = min(given, key=lambda answer: abs(answer.value))
    values = [answer.value for answer in given]
    consistent = min(values) * max(values) > 0 or not any(values)
    tie = next((label for label in prompt.labels_of(aspect) if label.value == 0), None)
    confidences = [a.confidence for a in given if a.confidence is not None]
    return VerdictDraft(
        aspect=aspect,
        state="ok",
        value=weakest.value if consistent else 0.0,
        label=weakest.label if consistent else (tie.name if tie else "Tie"),
        rule=rule,
        order_consistent=consistent if len(answers) > 1 else None,
        confidence=min(confidences) if len(confidences) == len(given) else None,
        note="" if consistent else "position-dependent",
    )
