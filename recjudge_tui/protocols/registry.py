"""The protocols: each its facts, what it asks and its reading of replies; and the verdict on answers.

The facts are in recjudge_tui/domain/protocols.py. Pointwise, pairwise and adversarial follow SAER (Liu et al., SIGIR 2026),
arena and absolute RecSys Arena (Wu et al., 2024), explanation Zhang et al. (2024). Adversarial asks the question of pairwise
in one drawn order, and planted that of pointwise: nothing tells the judge that a list is somebody else's or changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

from recjudge_tui.domain.calls import (
    Answer,
    Flag,
    Message,
    Order,
    ParsedReply,
    Reply,
    Request,
    Sampling,
    VerdictDraft,
)
from recjudge_tui.domain.event_types import owned
from recjudge_tui.domain.made_lists import ADVERSARIAL, PLANTED
from recjudge_tui.domain.material import ItemView, Material
from recjudge_tui.domain.prompt import AspectSpec, LabelSpec, Prompt
from recjudge_tui.domain.protocols import LINES, OVERALL, THEMES, ProtocolFacts, protocol_facts
from recjudge_tui.errors import PromptError, ReplyFault
from recjudge_tui.protocols.rendering import as_data, messages, profile_messages, system_text
from recjudge_tui.protocols.replies import PROFILE_FIELD, label_of, name_key, read_fields, read_lines, text_of


class ReplyForm(NamedTuple):
    """The fields of a reply with their schemas, a name for the whole, and the field whose confidence is wanted, if one."""

    name: str
    fields: dict[str, Any]
    label_field: str = ""


@dataclass(frozen=True)
class Protocol:
    """One way of judging: its facts, and its steps as plain functions. `orders` are the orders in which a case is asked;
    without swapping, only the first one is used. `form(prompt, material, aspect)` is that of the reply. `parse(prompt,
    material, reply, order, aspect)` reads the reply and maps labels back to the systems; it raises ReplyFault. `material`
    always comes in the order of the systems. `adjudicate` makes the verdict, but where a protocol only reads texts."""

    facts: ProtocolFacts
    orders: tuple[Order, ...]
    form: Callable[[Prompt, Material, str], ReplyForm]
    parse: Callable[[Prompt, Material, Reply, Order, str], ParsedReply]

    @property
    def name(self) -> str:
        return self.facts.name

    def request(
        self, prompt: Prompt, material: Material, order: Order, aspect: str, sampling: Sampling
    ) -> Request:
        """A call; the lists are shown in this order."""
        shown = material.swapped() if order == "ba" else material
        form = self.form(prompt, shown, aspect)
        return Request(
            messages=messages(prompt, shown, aspect),
            reply_schema=object_schema(form.fields),
            schema_name=form.name,
            label_field=form.label_field,
            sampling=sampling,
            material=shown,
        )


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


# ---- verdicts ----------------------------------------------------------------------------------------------------

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


def adjudicate(prompt: Prompt, aspect: str, answers: Mapping[Order, Answer | None]) -> VerdictDraft:
    """The verdict on the answers about one case and aspect, by the order shown; None where the call failed. One answer
    counts as it is. Orders that agree give their common answer. Orders that disagree give a tie, marked as
    position-dependent. On a graded scale, two answers in the same direction give the weaker one. If the call of either
    order failed, the verdict is failed, never a tie."""
    rule = BOTH_ORDERS if len(answers) > 1 else ONE_ORDER if any(answers) else "as answered"
    given = [answer for answer in answers.values() if answer is not None]
    if len(given) < len(answers) or not given:
        missing = ", ".join(order for order, answer in answers.items() if answer is None)
        note = f"the call in order {missing} failed" if missing else "the call failed"
        return VerdictDraft(aspect=aspect, state="failed", rule=rule, note=note)
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


def protocol(name: str) -> Protocol:
    """The protocol called `name`. Raises UsageError for an unknown one, naming those on offer."""
    protocol_facts(name)
    return PROTOCOLS[name]


def analysis_field(spec: AspectSpec) -> str:
    """The reply's field for the analysis of an aspect; it comes before the aspect's winner."""
    return f"{spec.field}_analysis"


def _fields(prompt: Prompt, aspects: tuple[AspectSpec, ...]) -> dict[str, Any]:
    """A reasoning, unless the variable `reasoning` is `none`, and the label of each aspect."""
    reasoning = {"reasoning": text_schema(LONGEST_REASONING)}
    return {
        **({} if prompt.variables.get("reasoning") == "none" else reasoning),
        **{spec.field: answer_schema(prompt, spec.name) for spec in aspects},
    }


def ratings_form(prompt: Prompt, material: Material, aspect: str, name: str = "ratings") -> ReplyForm:
    """A rating of each aspect asked about, after its reasoning unless the variable `reasoning` is `none`."""
    aspects = prompt.aspects_of(aspect)
    alone = len(aspects) == 1 and prompt.scale is None
    return ReplyForm(name, _fields(prompt, aspects), aspects[0].field if alone else "")


def parse_ratings(prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str) -> ParsedReply:
    """One answer for each aspect asked about, all with the reply's reasoning. Raises ReplyFault."""
    return _parsed(prompt, reply, order, prompt.aspects_of(aspect))[0]


def _parsed(
    prompt: Prompt, reply: Reply, order: Order, aspects: tuple[AspectSpec, ...]
) -> tuple[ParsedReply, dict[str, Any]]:
    """An answer for each aspect, in the order of the systems, all with the reply's reasoning; and the fields read."""
    fields, parsed_by = read_fields(prompt, reply, aspects)
    sure = reply.label_confidence if len(aspects) == 1 else None
    answers, said = [], text_of(fields.get("reasoning"))
    for spec in aspects:
        label = label_of(prompt, spec, fields[name_key(spec.field)])
        label = turned(prompt, spec.name, label, order) if order else label
        answers.append(
            Answer(aspect=spec.name, value=label.value, label=label.name, reasoning=said, confidence=sure)
        )
    return ParsedReply(answers=tuple(answers), parsed_by=parsed_by), fields


def _list_form(prompt: Prompt, material: Material, aspect: str) -> ReplyForm:
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
    return ReplyForm("list_verdict", fields, spec.field)


def _pointwise_parse(
    prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str
) -> ParsedReply:
    parsed, fields = _parsed(prompt, reply, "", prompt.aspects[:1])
    try:
        flags = FlagReader(prompt, material).read(fields.get("flagged_items"))
    except ReplyFault as fault:
        # the label and the flags that can be read are not lost if the others are no better the second time
        raise ReplyFault(
            str(fault), usable=parsed.model_copy(update={"flags": fault.usable or ()})
        ) from fault
    return parsed.model_copy(update={"flags": flags})


def _arena_form(prompt: Prompt, material: Material, aspect: str) -> ReplyForm:
    aspects, fields = prompt.aspects_of(aspect), dict[str, Any]()
    for spec in aspects:
        fields[analysis_field(spec)] = text_schema(LONGEST_ANALYSIS)
        fields[spec.field] = answer_schema(prompt, spec.name)
    return ReplyForm("arena_verdict", fields, _decisive(aspects).field)


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


def _lines_form(prompt: Prompt, material: Material, aspect: str) -> ReplyForm:
    assert prompt.scale is not None
    lines = {"type": "array", "items": text_schema(LONGEST_REASON), "maxItems": int(prompt.scale.high)}
    return ReplyForm("lines", {prompt.aspects[0].field: lines})


def _lines_parse(prompt: Prompt, material: Material, reply: Reply, order: Order, aspect: str) -> ParsedReply:
    """One answer: how many lines, and the lines as its reasoning. Raises ReplyFault for none, and for those that stand in
    the instructions."""
    assert prompt.scale is not None
    spec = prompt.aspects[0]
    lines = [as_data(line)[:LONGEST_REASON] for line in read_lines(reply, spec.field)]
    told = " ".join(system_text(prompt, material.top_k).casefold().split())
    if copied := next((line for line in lines if line.casefold() in told), ""):
        raise ReplyFault(f"“{copied[:60]}” stands in the instructions: it comes from no text")
    kept = list(dict.fromkeys(lines))[: int(prompt.scale.high)]
    answer = Answer(aspect=spec.name, value=float(len(kept)), label=str(len(kept)), reasoning="\n".join(kept))
    return ParsedReply(answers=(answer,), parsed_by="json")


def profile_request(prompt: Prompt, material: Material, sampling: Sampling) -> Request:
    """The request for a user's profile, without anything about the case. Raises PromptError."""
    return Request(
        messages=profile_messages(prompt, material),
        reply_schema=object_schema({PROFILE_FIELD: {"type": "string"}}),
        schema_name="user_profile",
        sampling=sampling,
    )


_PAIR_FORM = partial(ratings_form, name="pair_verdict")
_POINTWISE = Protocol(protocol_facts("pointwise"), ("",), _list_form, _pointwise_parse)
_PAIRWISE = Protocol(protocol_facts("pairwise"), ("ab", "ba"), _PAIR_FORM, parse_ratings)
_RATING = Protocol(protocol_facts("absolute"), ("",), ratings_form, parse_ratings)
PROTOCOLS: dict[str, Protocol] = {
    each.name: each
    for each in (
        _POINTWISE,
        _PAIRWISE,
        Protocol(protocol_facts("arena"), ("ab", "ba"), _arena_form, _arena_parse),
        _RATING,
        replace(_RATING, facts=protocol_facts("explanation")),
        replace(_PAIRWISE, facts=protocol_facts(ADVERSARIAL), orders=("ab",)),
        replace(_POINTWISE, facts=protocol_facts(PLANTED)),
        Protocol(protocol_facts(LINES), ("",), _lines_form, _lines_parse),
        replace(_PAIRWISE, facts=protocol_facts(THEMES), form=partial(ratings_form, name="themes")),
    )
}


# ---- flagged items ---------------------------------------------------------------------------------------------------


_NONE = re.compile(
    r"(?:none(?: flagged)?|(?:there (?:are|were) )?no(?: (?:flagged |quality )?(?:items?|issues?|flags?)"
    r"(?: (?:are |were )?(?:flagged|found))?)?|null|nil|n a|nothing)?"
)
_PLACE = re.compile(
    r"\W*(?:\d{1,3}[.)]\s+)?(?:item|position|rank|no\.?|#)\s*#?(\d{1,4})\b|\W*(\d{1,4})\b", re.IGNORECASE
)
_ITEM = re.compile(r"(?:(?:item|position|rank|no\.?)\s*#?\s*|#)?(\d{1,4})(?:\.0)?", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:item\s*#?)?(\d{1,4})[.):]\s+(.*)", re.DOTALL | re.IGNORECASE)
# the names under which a flag has its item
_PLACES = ("item", "position", "item_number", "number", "rank", "title")
_WORD = re.compile(r"\w+")
_EPISODE = re.compile(
    r"\b(season|episode|series|volume|part)s?\s+(?:\d+|one|two|three|[ivx]+)\b", re.IGNORECASE
)
_FILM = re.compile(r"\b(?:film|movie)s?\b", re.IGNORECASE)
_SERIAL = re.compile(r"series|serial|tv|show", re.IGNORECASE)
_OWNED = "already owned"


class FlagReader:
    """Reads the flagged items of replies about one case."""

    def __init__(self, prompt: Prompt, material: Material) -> None:
        self._material = material
        self._issues = {name_key(spec.name): spec.name for spec in prompt.issues}

    def read(self, raw: object) -> tuple[Flag, ...]:
        """The flags, each once. Raises ReplyFault, whose message names the entry, with the flags that can be read."""
        entries = raw
        if isinstance(raw, str):
            entries = None
            with suppress(ValueError, RecursionError):
                entries = json.loads(raw, strict=False)
            entries = entries if isinstance(entries, list | dict) else [raw]
        entries = [entries] if isinstance(entries, dict) else entries
        if not entries or not self._issues:
            return ()
        if not isinstance(entries, list):
            raise ReplyFault(
                "“flagged_items” must be a list of objects with item, issue and reason", usable=()
            )
        flags: dict[Flag, None] = {}
        first: ReplyFault | None = None
        for entry in filter(None, entries):
            try:
                for each in self._lines(entry) if isinstance(entry, str) else [entry]:
                    flags[self._flag(each)] = None
            except ReplyFault as fault:
                first = first or fault
        if first is not None:
            raise ReplyFault(str(first), usable=tuple(flags))
        return tuple(flags)

    def _flag(self, entry: object) -> Flag:
        if not isinstance(entry, dict):
            raise ReplyFault("every entry of “flagged_items” must be an object with item, issue and reason")
        told = {name_key(name): value for name, value in entry.items()}
        issue = str(told.get("issue", told.get("issue_type", "")))[:200]
        if (name := self._issues.get(name_key(issue))) is None:
            raise ReplyFault(f"issue “{issue[:60]}” is none of {', '.join(self._issues.values())}")
        item = next((told[place] for place in _PLACES if place in told), None)
        flag = Flag(item_id=self._item(item), issue=name, reason=str(told.get("reason") or ""))
        return flag.model_copy(update={"refuted": refuted_by_data(flag, self._material) or ""})

    def _item(self, named: object) -> str:
        """The id of the item meant by its place in the list, or by its exact title."""
        items = self._material.slates[0].items
        text = str(named).strip()
        if place := _ITEM.fullmatch(text):
            text = place[1]
        elif (numbered := _NUMBERED.match(text)) and 0 < int(numbered[1]) <= len(items):
            title = numbered[2].strip().casefold()
            text = numbered[1] if title in _titles(items[int(numbered[1]) - 1]) else text
        # no place has more than a few digits, and Python refuses to convert thousands of them
        if text.isdecimal() and len(text) < 10 and 1 <= int(text) <= len(items):
            return items[int(text) - 1].item_id
        if (item_id := self._ids.get(text.casefold())) is not None:
            return item_id
        raise ReplyFault(f"flagged item “{text[:60]}” is not a place in the list (1 to {len(items)})")

    @cached_property
    def _ids(self) -> dict[str, str]:
        """Titles -> id; the first of equal titles."""
        ids: dict[str, str] = {}
        for item in self._material.slates[0].items:
            for title in _titles(item):
                ids.setdefault(title, item.item_id)
        return ids

    def _lines(self, text: str) -> Iterator[dict[str, object]]:
        """The entries of the published text form: `- Item 3 (Title): off-category - why`, a line each; none for “None”."""
        if len(text) < 200 and _NONE.fullmatch(" ".join(_WORD.findall(text.casefold()))):
            return
        for line in filter(str.strip, re.split(r"[\n;]", text[:20_000])):
            folded = line.casefold()
            named = [key for key in self._issues if _issue(key).search(folded)]
            found = _issue(named[0]).search(folded) if len(named) == 1 else None
            item = line.strip()
            if found is None:
                needs = "name its place, one issue type, and the reason"
                raise ReplyFault(f"“{item[:60]}” is no flagged item: {needs}")
            if place := _PLACE.match(line):
                item = next(filter(None, place.groups()))
            elif len(t := [t for t in self._ids if re.search(rf"(?<!\w){re.escape(t)}(?!\w)", folded)]) == 1:
                item = t[0]
            yield {"item": item, "issue": named[0], "reason": line[found.end() :].strip(" \t*:–—-().")}


def _titles(item: ItemView) -> set[str]:
    """Its title as in the data and as shown, in lower case."""
    return {item.title.strip().casefold(), as_data(item.title).casefold()}


def _issue(key: str) -> re.Pattern[str]:
    return re.compile(rf"\b{key.replace('_', '[^a-z0-9]{1,3}')}\b")


def refuted_by_data(flag: Flag, material: Material) -> str | None:
    """Why the data shown refute a flag: an item flagged as owned that no event names, or the season of a film. Only what
    is plain counts: an event whose title shares half of its words may be another edition."""
    items = (item for slate in material.slates for item in slate.items)
    item = next((item for item in items if item.item_id == flag.item_id), None)
    if item is None:
        return None
    user = material.user
    if name_key(flag.issue) == name_key(_OWNED):
        events = [event for event in (*user.history, *user.others) if event.item and owned(event.type)]
        if not any(_alike(item, event.item) for event in events if event.item):
            return "no event shown says that the user has it"
    is_film = _FILM.search(item.category) and not _SERIAL.search(item.category)
    if (episode := _EPISODE.search(flag.reason)) and is_film and not _EPISODE.search(item.title):
        return f"its category is {as_data(item.category)[:60]}, which has no {episode[1].casefold()}s"
    return None


def _alike(first: ItemView, second: ItemView) -> bool:
    if first.item_id == second.item_id:
        return True
    one, other = (set(_WORD.findall(item.title.casefold())) for item in (first, second))
    return 2 * len(one & other) >= min(len(one), len(other)) > 0
