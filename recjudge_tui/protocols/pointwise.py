"""Pointwise: one list -> Good, Partial or Poor Match, with reasoning and flagged items (SAER; Liu et al., SIGIR 2026)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from recjudge_tui.domain.calls import Answer, Flag, Order, ParsedReply, Reply, Request, Sampling
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.base import Protocol, answer_schema, object_schema, only_answer
from recjudge_tui.protocols.rendering import as_data, messages
from recjudge_tui.protocols.replies.parsing import field_key, label_of, read_fields


def _schema(prompt: Prompt, top_k: int) -> dict[str, Any]:
    aspect = prompt.aspects[0]
    fields = {"reasoning": {"type": "string"}, aspect.field: answer_schema(prompt, aspect.name)}
    if not prompt.issues:
        return object_schema(fields)
    flagged = object_schema(
        {
            "item": {"type": "integer", "enum": list(range(1, top_k + 1))},
            "issue": {"type": "string", "enum": [issue.name for issue in prompt.issues]},
            "reason": {"type": "string"},
        }
    )
    return object_schema({**fields, "flagged_items": {"type": "array", "items": flagged}})


def _request(prompt: Prompt, material: Material, order: Order, aspect: str, sampling: Sampling) -> Request:
    return Request(
        messages=messages(prompt, material, aspect),
        reply_schema=_schema(prompt, len(material.slates[0].items)),
        schema_name="list_verdict",
        label_field=prompt.aspects[0].field,
        sampling=sampling,
        material=material,
    )


def _parse(prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str) -> ParsedReply:
    spec = prompt.aspects[0]
    fields, parsed_by = read_fields(prompt, reply, (spec,))
    label = label_of(prompt, spec, fields[field_key(spec.field)])
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
        flags=_flags(prompt, material, fields.get("flagged_items")),
        parsed_by=parsed_by,
    )


def _flags(prompt: Prompt, material: Material, raw: object) -> tuple[Flag, ...]:
    if raw is None or not prompt.issues:
        return ()
    if not isinstance(raw, list):
        raise ReplyFault("“flagged_items” must be a list of objects with item, issue and reason")
    ids_by_title = cache(partial(_ids_by_title, material))
    return tuple(dict.fromkeys(_flag(prompt, material, ids_by_title, entry) for entry in raw))


def _flag(
    prompt: Prompt, material: Material, ids_by_title: Callable[[], dict[str, str]], entry: object
) -> Flag:
    if not isinstance(entry, dict):
        raise ReplyFault("every entry of “flagged_items” must be an object with item, issue and reason")
    issue = " ".join(str(entry.get("issue", "")).casefold().split())
    names = {" ".join(spec.name.casefold().split()): spec.name for spec in prompt.issues}
    if issue not in names:
        raise ReplyFault(f"issue “{issue[:60]}” is none of {', '.join(names.values())}")
    return Flag(
        item_id=_flagged_item(material, ids_by_title, entry.get("item")),
        issue=names[issue],
        reason=str(entry.get("reason") or ""),
    )


def _ids_by_title(material: Material) -> dict[str, str]:
    """The ids of the items by their titles, as in the data and as shown, in lower case; the first of equal titles."""
    ids: dict[str, str] = {}
    for item in material.slates[0].items:
        for title in (item.title.strip(), as_data(item.title)):
            ids.setdefault(title.casefold(), item.item_id)
    return ids


def _flagged_item(material: Material, ids_by_title: Callable[[], dict[str, str]], named: object) -> str:
    """The id of the item meant by its place in the list, or by its exact title."""
    items = material.slates[0].items
    text = str(named).strip()
    # no place has more than a few digits, and Python refuses to convert thousands of them
    if text.isdecimal() and len(text) < 10 and 1 <= int(text) <= len(items):
        return items[int(text) - 1].item_id
    if (item_id := ids_by_title().get(text.casefold())) is not None:
        return item_id
    raise ReplyFault(f"flagged item “{text[:60]}” is not a place in the list (1 to {len(items)})")


PROTOCOL = Protocol(
    facts=protocol_facts("pointwise"),
    orders=("",),
    request=_request,
    parse=_parse,
    verdict=only_answer,
)
