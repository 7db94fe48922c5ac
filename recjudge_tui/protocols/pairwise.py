"""Pairwise: two lists as Set 1 and Set 2, asked in both orders (SAER; Liu et al., SIGIR 2026)."""

from __future__ import annotations

from recjudge_tui.domain.calls import Answer, Order, ParsedReply, Reply, Request, Sampling
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.protocols.adjudication import adjudicate, turned
from recjudge_tui.protocols.base import Protocol, answer_schema, object_schema
from recjudge_tui.protocols.rendering import messages
from recjudge_tui.protocols.replies.parsing import field_key, label_of, read_fields


def _request(prompt: Prompt, material: Material, order: Order, aspect: str, sampling: Sampling) -> Request:
    shown = material.swapped() if order == "ba" else material
    spec = prompt.aspects[0]
    return Request(
        messages=messages(prompt, shown, aspect),
        reply_schema=object_schema(
            {"reasoning": {"type": "string"}, spec.field: answer_schema(prompt, spec.name)}
        ),
        schema_name="pair_verdict",
        label_field=spec.field,
        sampling=sampling,
        material=shown,
    )


def _parse(prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str) -> ParsedReply:
    spec = prompt.aspects[0]
    fields, parsed_by = read_fields(prompt, reply, (spec,))
    label = turned(prompt, spec.name, label_of(prompt, spec, fields[field_key(spec.field)]), order)
    return ParsedReply(
        answers=(
            Answer(
                aspect=spec.name,
                value=label.value,
                label=label.name,
                reasoning=str(fields.get("reasoning") or ""),
                confidence=reply.label_confidence,
            ),
        ),
        parsed_by=parsed_by,
    )


PROTOCOL = Protocol(
    facts=protocol_facts("pairwise"),
    orders=("ab", "ba"),
    request=_request,
    parse=_parse,
    verdict=adjudicate,
)
