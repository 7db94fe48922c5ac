"""Arena: the judge plays the user and compares lists A and B aspect by aspect, then overall (RecSys Arena)."""

from __future__ import annotations

from typing import Any

from recjudge_tui.domain.calls import Answer, Order, ParsedReply, Reply, Request, Sampling
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import AspectSpec, Prompt
from recjudge_tui.domain.protocols import OVERALL, protocol_facts
from recjudge_tui.protocols.adjudication import adjudicate, turned
from recjudge_tui.protocols.base import Protocol, answer_schema, object_schema
from recjudge_tui.protocols.rendering import messages
from recjudge_tui.protocols.replies.objects import Fields
from recjudge_tui.protocols.replies.parsing import field_key, label_of, read_fields, text_of


def analysis_field(spec: AspectSpec) -> str:
    """The reply's field for the analysis of an aspect; it comes before the aspect's winner."""
    return f"{spec.field}_analysis"


def _request(prompt: Prompt, material: Material, order: Order, aspect: str, sampling: Sampling) -> Request:
    shown = material.swapped() if order == "ba" else material
    aspects = prompt.aspects_of(aspect)
    fields: dict[str, Any] = {}
    for spec in aspects:
        fields[analysis_field(spec)] = {"type": "string"}
        fields[spec.field] = answer_schema(prompt, spec.name)
    return Request(
        messages=messages(prompt, shown, aspect),
        reply_schema=object_schema(fields),
        schema_name="arena_verdict",
        label_field=_decisive(aspects).field,
        sampling=sampling,
        material=shown,
    )


def _decisive(aspects: tuple[AspectSpec, ...]) -> AspectSpec:
    """The final verdict if it is asked for, else the last aspect."""
    return next((spec for spec in aspects if spec.name == OVERALL), aspects[-1])


def _parse(prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str) -> ParsedReply:
    aspects = prompt.aspects_of(aspect)
    fields, parsed_by = read_fields(prompt, reply, aspects)
    answers = []
    for spec in aspects:
        label = turned(prompt, spec.name, label_of(prompt, spec, fields[field_key(spec.field)]), order)
        decisive = spec == _decisive(aspects)
        answers.append(
            Answer(
                aspect=spec.name,
                value=label.value,
                label=label.name,
                reasoning=_analysis(fields, spec, decisive),
                confidence=reply.label_confidence if decisive else None,
            )
        )
    return ParsedReply(answers=tuple(answers), parsed_by=parsed_by)


def _analysis(fields: Fields, spec: AspectSpec, decisive: bool) -> str:
    """An aspect's own analysis; if a reply has one reasoning for all aspects, it belongs to the decisive aspect."""
    own = fields.get(field_key(analysis_field(spec)))
    return text_of(own or (fields.get("reasoning") if decisive else ""))


PROTOCOL = Protocol(
    facts=protocol_facts("arena"),
    orders=("ab", "ba"),
    request=_request,
    parse=_parse,
    verdict=adjudicate,
)
