"""Request and parsing for protocols that ask once for a rating of each aspect, by default after its reasoning."""

from __future__ import annotations

from recjudge_tui.domain.calls import Answer, Order, ParsedReply, Reply, Request, Sampling
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.protocols.base import answer_schema, object_schema
from recjudge_tui.protocols.rendering import messages
from recjudge_tui.protocols.replies.parsing import field_key, label_of, read_fields, text_of


def rating_request(
    prompt: Prompt, material: Material, order: Order, aspect: str, sampling: Sampling
) -> Request:
    """A request for a rating of each aspect asked about, after its reasoning unless the variable `reasoning` is `none`."""
    aspects = prompt.aspects_of(aspect)
    ratings = {spec.field: answer_schema(prompt, spec.name) for spec in aspects}
    reasoning = {} if prompt.variables.get("reasoning") == "none" else {"reasoning": {"type": "string"}}
    return Request(
        messages=messages(prompt, material, aspect),
        reply_schema=object_schema({**reasoning, **ratings}),
        schema_name="ratings",
        label_field=aspects[0].field if len(aspects) == 1 and prompt.scale is None else "",
        sampling=sampling,
        material=material,
    )


def parse_ratings(prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str) -> ParsedReply:
    """One answer for each aspect asked about, all with the reply's reasoning. Raises ReplyFault."""
    aspects = prompt.aspects_of(aspect)
    fields, parsed_by = read_fields(prompt, reply, aspects)
    ratings = [(spec, label_of(prompt, spec, fields[field_key(spec.field)])) for spec in aspects]
    return ParsedReply(
        answers=tuple(
            Answer(
                aspect=spec.name,
                value=rating.value,
                label=rating.name,
                reasoning=text_of(fields.get("reasoning")),
                confidence=reply.label_confidence if len(aspects) == 1 else None,
            )
            for spec, rating in ratings
        ),
        parsed_by=parsed_by,
    )
