"""The protocols: each its facts, and its request, its reading of replies and its verdict.

The facts are in recjudge_tui/domain/protocols.py. Pointwise, pairwise and adversarial follow SAER (Liu et al., SIGIR
2026), arena and absolute RecSys Arena (Wu et al., 2024), explanation Zhang et al. (2024). Adversarial asks the question
of pairwise in one drawn order, and planted that of pointwise: nothing tells the judge that a list was made for somebody
else, or changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from recjudge_tui.domain.calls import Answer, Order, ParsedReply, Reply, Request, Sampling
from recjudge_tui.domain.made_lists import ADVERSARIAL, PLANTED
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import AspectSpec, Prompt
from recjudge_tui.domain.protocols import OVERALL, protocol_facts
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.base import (
    LONGEST_ANALYSIS,
    LONGEST_REASON,
    LONGEST_REASONING,
    Protocol,
    adjudicate,
    answer_schema,
    object_schema,
    only_answer,
    text_schema,
    turned,
)
from recjudge_tui.protocols.flags import FlagReader
from recjudge_tui.protocols.prose import name_key
from recjudge_tui.protocols.rendering import messages, profile_messages
from recjudge_tui.protocols.replies import PROFILE_FIELD, Fields, label_of, read_fields, text_of


def protocol(name: str) -> Protocol:
    """The protocol called `name`. Raises UsageError for an unknown one, naming those on offer."""
    protocol_facts(name)
    return PROTOCOLS[name]


def analysis_field(spec: AspectSpec) -> str:
    """The reply's field for the analysis of an aspect; it comes before the aspect's winner."""
    return f"{spec.field}_analysis"


def _question(
    prompt: Prompt,
    shown: Material,
    aspect: str,
    sampling: Sampling,
    fields: dict[str, Any],
    names: tuple[str, str],
) -> Request:
    """The request for these fields; `names` are the schema's and that of the field whose confidence is wanted."""
    return Request(
        messages=messages(prompt, shown, aspect),
        reply_schema=object_schema(fields),
        schema_name=names[0],
        label_field=names[1],
        sampling=sampling,
        material=shown,
    )


def _fields(prompt: Prompt, aspects: tuple[AspectSpec, ...]) -> dict[str, Any]:
    """A reasoning, unless the variable `reasoning` is `none`, and the label of each aspect."""
    reasoning = {"reasoning": text_schema(LONGEST_REASONING)}
    return {
        **({} if prompt.variables.get("reasoning") == "none" else reasoning),
        **{spec.field: answer_schema(prompt, spec.name) for spec in aspects},
    }


def rating_request(
    prompt: Prompt, material: Material, order: Order, aspect: str, sampling: Sampling
) -> Request:
    """A request for a rating of each aspect asked about, after its reasoning unless the variable `reasoning` is `none`."""
    aspects = prompt.aspects_of(aspect)
    field = aspects[0].field if len(aspects) == 1 and prompt.scale is None else ""
    return _question(prompt, material, aspect, sampling, _fields(prompt, aspects), ("ratings", field))


def parse_ratings(prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str) -> ParsedReply:
    """One answer for each aspect asked about, all with the reply's reasoning. Raises ReplyFault."""
    return _parsed(prompt, reply, order, prompt.aspects_of(aspect))[0]


def _parsed(
    prompt: Prompt, reply: Reply, order: Order, aspects: tuple[AspectSpec, ...]
) -> tuple[ParsedReply, Fields]:
    """An answer for each aspect, in the order of the systems, all with the reply's reasoning; and the fields read."""
    fields, parsed_by = read_fields(prompt, reply, aspects)
    confidence = reply.label_confidence if len(aspects) == 1 else None
    answers = []
    for spec in aspects:
        label = label_of(prompt, spec, fields[name_key(spec.field)])
        label = turned(prompt, spec.name, label, order) if order else label
        reasoning = text_of(fields.get("reasoning"))
        answers.append(
            Answer(
                aspect=spec.name,
                value=label.value,
                label=label.name,
                reasoning=reasoning,
                confidence=confidence,
            )
        )
    return ParsedReply(answers=tuple(answers), parsed_by=parsed_by), fields


def _pointwise_request(
    prompt: Prompt, material: Material, order: Order, aspect: str, sampling: Sampling
) -> Request:
    spec, places = prompt.aspects[0], len(material.slates[0].items)
    fields = _fields(prompt, (spec,))
    if prompt.issues:
        flagged = {
            "item": {"type": "integer", "enum": list(range(1, places + 1))},
            "issue": {"type": "string", "enum": [issue.name for issue in prompt.issues]},
            "reason": text_schema(LONGEST_REASON),
        }
        items = object_schema(flagged)
        fields["flagged_items"] = {"type": "array", "items": items, "maxItems": 2 * places}
    return _question(prompt, material, aspect, sampling, fields, ("list_verdict", spec.field))


def _pointwise_parse(
    prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str
) -> ParsedReply:
    parsed, fields = _parsed(prompt, reply, "", prompt.aspects[:1])
    try:
        flags = FlagReader(prompt, material).read(fields.get("flagged_items"))
    except ReplyFault as fault:
        # the label is clear, and is not lost if the flags are no better the second time
        raise ReplyFault(str(fault), usable=parsed) from fault
    return parsed.model_copy(update={"flags": flags})


def _shown(material: Material, order: Order) -> Material:
    return material.swapped() if order == "ba" else material


def _pair_request(
    prompt: Prompt, material: Material, order: Order, aspect: str, sampling: Sampling
) -> Request:
    fields, names = _fields(prompt, prompt.aspects[:1]), ("pair_verdict", prompt.aspects[0].field)
    return _question(prompt, _shown(material, order), aspect, sampling, fields, names)


def _pair_parse(prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str) -> ParsedReply:
    return _parsed(prompt, reply, order, prompt.aspects[:1])[0]


def _arena_request(
    prompt: Prompt, material: Material, order: Order, aspect: str, sampling: Sampling
) -> Request:
    aspects = prompt.aspects_of(aspect)
    fields: dict[str, Any] = {}
    for spec in aspects:
        fields[analysis_field(spec)] = text_schema(LONGEST_ANALYSIS)
        fields[spec.field] = answer_schema(prompt, spec.name)
    names = ("arena_verdict", _decisive(aspects).field)
    return _question(prompt, _shown(material, order), aspect, sampling, fields, names)


def _decisive(aspects: tuple[AspectSpec, ...]) -> AspectSpec:
    """The final verdict if it is asked for, else the last aspect."""
    return next((spec for spec in aspects if spec.name == OVERALL), aspects[-1])


def _arena_parse(prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str) -> ParsedReply:
    aspects = prompt.aspects_of(aspect)
    parsed, fields = _parsed(prompt, reply, order, aspects)
    answers = []
    for spec, answer in zip(aspects, parsed.answers, strict=True):
        last = spec == _decisive(aspects)
        # if a reply has one reasoning for all aspects, it belongs to the decisive one
        analysis = fields.get(name_key(analysis_field(spec))) or (fields.get("reasoning") if last else "")
        confidence = reply.label_confidence if last else None
        told = {"reasoning": text_of(analysis), "confidence": confidence}
        answers.append(answer.model_copy(update=told))
    return parsed.model_copy(update={"answers": tuple(answers)})


def profile_request(prompt: Prompt, material: Material, sampling: Sampling) -> Request:
    """The request for a user's profile, without anything about the case. Raises PromptError."""
    return Request(
        messages=profile_messages(prompt, material),
        reply_schema=object_schema({PROFILE_FIELD: {"type": "string"}}),
        schema_name="user_profile",
        sampling=sampling,
    )


_POINTWISE = Protocol(protocol_facts("pointwise"), ("",), _pointwise_request, _pointwise_parse, only_answer)
_PAIRWISE = Protocol(protocol_facts("pairwise"), ("ab", "ba"), _pair_request, _pair_parse, adjudicate)
_RATING = Protocol(protocol_facts("absolute"), ("",), rating_request, parse_ratings, only_answer)
PROTOCOLS: dict[str, Protocol] = {
    each.name: each
    for each in (
        _POINTWISE,
        _PAIRWISE,
        Protocol(protocol_facts("arena"), ("ab", "ba"), _arena_request, _arena_parse, adjudicate),
        _RATING,
        replace(_RATING, facts=protocol_facts("explanation")),
        replace(_PAIRWISE, facts=protocol_facts(ADVERSARIAL), orders=("ab",)),
        replace(_POINTWISE, facts=protocol_facts(PLANTED)),
    )
}
