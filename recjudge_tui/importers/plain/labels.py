"""Turns one row of a table of labels into a Label."""

from __future__ import annotations

import json
from collections.abc import Sequence

from recjudge_tui.domain.annotation import AS_GIVEN
from recjudge_tui.domain.made_lists import ADVERSARIAL, adversarial_pair
from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.protocols import PROTOCOLS, ProtocolFacts, protocol_facts, with_unit
from recjudge_tui.domain.records import Label, LabelFlag
from recjudge_tui.domain.roles import RATER_KINDS, RaterKind
from recjudge_tui.importers.files.notes import Notes, RowFault
from recjudge_tui.importers.files.values import number, occasion_of, plain_number, shown
from recjudge_tui.importers.plain.aspect_scales import AspectScales, GivenScale, aspect_of, on_scale
from recjudge_tui.importers.plain.columns import CASE
from recjudge_tui.importers.plain.task_answers import answers_task, task_answer
from recjudge_tui.store.verdicts import COUNTED

_NO_SCALES = AspectScales({})
_OK = ("", "ok", "done", "success", "succeeded", "finished", "complete", "completed", "valid")
FAILED = (
    "failed", "failure", "error", "unparsable", "unparseable", "invalid", "parse error", "timeout", "refused", "refusal",
)  # fmt: skip


def label_of(row: dict[str, str], line: int, notes: Notes, scales: AspectScales = _NO_SCALES) -> Label:
    """The label in one row of plain columns. Raises RowFault.

    A scale of its aspect replaces the protocol's own, except for pairs and labels such as Good.
    A score without a system and an item has no scale unless one is given.
    """
    if answers_task(row):
        return task_answer(row)
    a, b = row.get("system_a", ""), row.get("system_b", "")
    given = scales.given(row)
    facts = protocol_facts(_protocol(row, scales, given))
    text = row["value"].strip()
    scale = given.scale or scales.stored.get((facts.name, aspect_of(row)))
    if given.of_aspect and not facts.scores:
        raise RowFault(
            "a scale that does not fit",
            f"{facts.name} has its own answers ({', '.join(facts.labels.values())}), so {aspect_of(row)} cannot have the"
            f" scale {given.of_aspect.described()}; left out",
        )
    failed = _failed(row, line, notes)
    if not text and not failed:
        rater, aspect = row["rater"], aspect_of(row)
        raise RowFault("no value", f"no value for {aspect} by {rater}; left out")
    value: float | None
    if failed:
        value, label = None, ""
    elif facts.scores and scale:
        value, label = on_scale(text, scale, aspect_of(row))
    elif facts.scores:
        value = _scored(text, _own_scale(row, facts))
        label = plain_number(value)
    else:
        value = _winner(text, facts, a, b) if facts.of_pairs else _labelled(text, facts)
        label = facts.labels[value]
    return Label(
        rater=row["rater"],
        user_id=row["user_id"],
        aspect=aspect_of(row),
        value=value,
        label=label,
        item_id=row.get("item_id", ""),
        system=row.get("system", ""),
        system_a=a,
        system_b=b,
        protocol=facts.name,
        rater_kind=_rater_kind(row),
        flags=_flags(row.get("flags", ""), line, notes),
        note=row.get("note", ""),
        case_id=int(row[CASE]) if row.get(CASE) else None,
        scale=given.scale if facts.scores else None,
        rule=COUNTED if row.get("rule", "").strip() == COUNTED else AS_GIVEN,
        **occasion_of(row)._asdict(),
    )


def _failed(row: dict[str, str], line: int, notes: Notes) -> bool:
    """Whether the rater was asked but the answer could not be read; its value is then ignored."""
    state = row.get("state", "").strip().lower().replace("_", " ")
    if state not in _OK and state not in FAILED:
        notes.warn(line, "unknown state", f"state {shown(state)} is not one of ok, failed; read as ok")
    return state in FAILED


def _protocol(row: dict[str, str], scales: AspectScales, given: GivenScale) -> str:
    a, b = row.get("system_a", ""), row.get("system_b", "")
    if bool(a) != bool(b):
        raise RowFault("half a pair", "only one of system_a and system_b is filled; left out")
    if a and a == b:
        raise RowFault("half a pair", f"system_a and system_b are both {shown(a)}; left out")
    named = row.get("protocol", "").strip().lower()
    unit = _unit(row)
    fitting = with_unit(unit)
    usual = fitting[0]
    if named in ("", usual) and a and adversarial_pair(a, b):
        return ADVERSARIAL
    if not named:
        scored = [name for name in fitting if PROTOCOLS[name].scores]
        if scored and (given.scale or (scored[0], aspect_of(row)) in scales.stored):
            return scored[0]
        return _protocol_with(row["value"], fitting) or usual
    if named not in PROTOCOLS:
        raise RowFault(
            "unknown protocol", f"protocol {shown(named)} is not one of {', '.join(PROTOCOLS)}; left out"
        )
    if named == ADVERSARIAL and not adversarial_pair(a, b):
        raise RowFault(
            "no adversarial pair", "the lists must be named foreign:SYSTEM and own:SYSTEM; left out"
        )
    if PROTOCOLS[named].of_pairs != bool(a):
        raise RowFault("half a pair", f"protocol {named} does not fit the systems of this row; left out")
    return named


def _unit(row: dict[str, str]) -> CaseKind:
    """The unit that was judged, from the filled columns."""
    if row.get("system_a"):
        return "pair"
    return "list" if row.get("system") and not row.get("item_id") else "explanation"


def _protocol_with(text: str, protocols: Sequence[str]) -> str:
    """The first of the protocols with this value as a label; empty if there is none."""
    labelled = (name for name in protocols if not PROTOCOLS[name].scores)
    return next((name for name in labelled if _label_value(text, PROTOCOLS[name]) is not None), "")


def _own_scale(row: dict[str, str], facts: ProtocolFacts) -> tuple[float, float] | None:
    if not facts.labels:
        return facts.ends
    stands_alone = not row.get("protocol", "").strip() and not (row.get("system") and row.get("item_id"))
    return None if stands_alone else (facts.low, facts.high)


def _label_value(text: str, facts: ProtocolFacts) -> float | None:
    """The value of a label by its name, one of its other spellings, or its number; None for anything else."""
    word = " ".join(text.lower().split())
    if word in facts.value_of_word:
        return facts.value_of_word[word]
    try:
        value = number(text.strip(), "value")
    except RowFault:
        return None
    return value if value in facts.labels else None


def _winner(text: str, facts: ProtocolFacts, a: str, b: str) -> float:
    """The value of a pair's label, given by its name or by the name of the preferred system."""
    by_name = facts.high if text == a else facts.low if text == b else None
    by_label = _label_value(text, facts)
    if by_name is not None and by_label is not None and by_name != by_label:
        raise RowFault(
            "ambiguous winner",
            f"{shown(text)} means one side of the pair and is the name of the other system; left out",
        )
    value = by_label if by_name is None else by_name
    if value is None:
        # the sides, then the tie
        names = ", ".join(facts.labels[value] for value in sorted(facts.labels, key=lambda v: v == 0))
        raise RowFault(
            "unknown value", f"{shown(text)} is not one of {names} or the systems' names; left out"
        )
    return value


def _labelled(text: str, facts: ProtocolFacts) -> float:
    value = _label_value(text, facts)
    if value is not None:
        return value
    names, numbers = ", ".join(facts.labels.values()), ", ".join(map(plain_number, facts.labels))
    others = [other for other in map(protocol_facts, with_unit(facts.unit)) if not other.labels]
    advice = "".join(
        f" (scores from {plain_number(other.low)} to {plain_number(other.high)} need protocol = {other.name})"
        for other in others
    )
    raise RowFault("outside the scale", f"{shown(text)} is not one of {names} ({numbers}); left out{advice}")


def _scored(text: str, scale: tuple[float, float] | None) -> float:
    value = number(text, "value")
    if scale and not scale[0] <= value <= scale[1]:
        low, high = map(plain_number, scale)
        raise RowFault("outside the scale", f"value {shown(text)} is outside {low} to {high}; left out")
    return value


def _rater_kind(row: dict[str, str]) -> RaterKind | None:
    named = row.get("rater_kind", "").strip().lower()
    if not named:
        return None
    if named not in RATER_KINDS:
        raise RowFault(
            "unknown rater kind",
            f"rater_kind {shown(named)} is not one of {', '.join(RATER_KINDS)}; left out",
        )
    return named


def _flags(text: str, line: int, notes: Notes) -> tuple[LabelFlag, ...]:
    """Parse a JSON array of objects, or `item:issue;item:issue`. Unreadable flags are noted; the label is kept."""
    text = text.strip()
    if not text or text == "[]":
        return ()
    try:
        return tuple(_json_flags(text) if text.startswith("[") else _short_flags(text))
    except (ValueError, RecursionError):
        notes.warn(line, "bad flags", f"flags {shown(text)} cannot be read; the label is kept without them")
        return ()


def _json_flags(text: str) -> list[LabelFlag]:
    flags = []
    for entry in json.loads(text, parse_int=str, parse_float=str):
        if isinstance(entry, str):
            flags += _short_flags(entry)
            continue
        if not isinstance(entry, dict):
            raise ValueError("not an object")
        flags.append(
            _flag(str(entry.get("item_id", "")), str(entry.get("issue", "")), str(entry.get("reason") or ""))
        )
    return flags


def _short_flags(text: str) -> list[LabelFlag]:
    pairs = [part.rpartition(":") for part in text.split(";") if part.strip()]
    return [_flag(item, issue, "") for item, _, issue in pairs]


def _flag(item_id: str, issue: str, reason: str) -> LabelFlag:
    flag = LabelFlag(item_id=item_id.strip(), issue=issue.strip(), reason=reason)
    if not flag.item_id or not flag.issue:
        raise ValueError("a flag without item or issue")
    (flag.item_id + flag.issue + flag.reason).encode()
    return flag
