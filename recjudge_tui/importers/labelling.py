"""Exports of labelling tools, declared with `task`: tasks with the answers of people.

Each answer becomes a row: every field of the task under its own name, and `rater`, `aspect`, `value` and `note` as
recorded by the tool. Fields named like columns of a plain table are used directly; a mapping with the tool as its
layout names the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.importers.columns import CASE, COLUMNS, TASK
from recjudge_tui.importers.layout import Field, Part, Request, open_table, records_in, taken, value_at
from recjudge_tui.importers.reader import plain_cells
from recjudge_tui.importers.values import Row, RowFault, refusal, shown, storable

# names of questions that are not aspects
_PLAIN_NAMES = frozenset(
    "answer choice choices comparison label labels overall pairwise preference rating response stars verdict winner"
    " category pw".split()
)
_ASPECT_IN_VALUE = re.compile(r"([^\W\d][\w \-/]{0,60}?)\s*[:=]\s*(\S.*)")


def answer_rows(request: Request, part: Part) -> Iterator[Row]:
    """The rows of the answers; `request.mapping`, if there is one, names the fields.

    A value `aspect: value` names its own aspect; else the task names it, else the question, of which a generic name such as
    `rating` is `overall`. Raises InputError for a mapping that does not fit a labelling tool.
    """
    fields: Mapping[str, Field] = {}
    notes = request.notes
    if request.mapping is not None:
        parts = request.mapping.kinds.get("labels", ())
        if len(parts) != 1 or parts[0].answers or parts[0].case_pattern:
            raise refusal("mapping-tool", name=request.mapping.name)
        fields = parts[0].fields
    for remark in part.remarks:
        notes.remark(remark)
    sources = (*part.task, part.each, *(column for field in part.fields.values() for column in field.column))
    left = {*part.without, *(re.split(r"[.\[]", source)[0] for source in sources)}
    for line, raw in open_table(request, part).rows:
        for record in records_in(line, _by_person(raw), part, notes):
            own = {
                key: value for key, value in record.items() if key not in left and key[:1] not in ("_", "@")
            }
            cells = plain_cells(*(value_at(record, place) if place else own for place in part.task))
            found = (value_at(record, column) for column in part.fields["value"].column)
            value = _winner(next((answer for answer in found if answer is not None), []))
            cells |= _text_of_choice(record, value)
            rater, note, question = (
                taken(part.fields[name], record, request) if name in part.fields else ""
                for name in ("rater", "note", "aspect")
            )
            try:
                for text in _choices(value):
                    row = {**cells, **_answer(cells, question or OVERALL, text), "rater": rater, "note": note}
                    for name, field in fields.items():
                        row[name] = taken(field, row, request)
                    row = {name: row[name] for name in COLUMNS["labels"].all if name in row}
                    if not storable("".join(row.values())):
                        raise RowFault("broken text")
                    if not any(row.get(name, "").strip() for name in ("user_id", TASK, CASE)):
                        raise RowFault("no user_id")
                    yield line, row
            except RowFault as fault:
                about = ", ".join(filter(None, (shown(record.get("id", line)), question and shown(question))))
                notes.skip(line, fault.kind, f"task {about}: {fault.text}")


def _answer(cells: Mapping[str, str], question: str, value: str) -> dict[str, str]:
    pair = (cells.get("system_a", ""), cells.get("system_b", ""))
    if value not in pair and (named := _ASPECT_IN_VALUE.fullmatch(value.strip())):
        return {"aspect": named[1], "value": named[2]}
    generic = OVERALL if question.lower() in _PLAIN_NAMES else question
    return {"aspect": cells["aspect"] if cells.get("aspect", "").strip() else generic, "value": value}


def _choices(value: Any) -> list[str]:
    """The chosen values as text. Raises RowFault if there are none, or if they are not plain values.

    Several values are allowed only if each names its own aspect (`accuracy: 4`); else RowFault.
    """
    values = value if isinstance(value, list) else [value]
    texts = [str(part).strip() for part in values if isinstance(part, str | bool) and str(part).strip()]
    if len(texts) < len(values):
        raise RowFault("not a verdict")
    if not texts:
        raise RowFault("no answer")
    if len(texts) > 1 and not all(map(_ASPECT_IN_VALUE.fullmatch, texts)):
        raise RowFault("several choices", texts=", ".join(texts))
    return texts


def _winner(value: Any) -> Any:
    """The first of a ranking of two, or Tie; any other value unchanged."""
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(v, dict) for v in value):
        return value
    first, second = (str(v.get("rank", "")) for v in value)
    if first.isdigit() and second.isdigit():
        return "Tie" if first == second else value[int(first) > int(second)].get("value")
    return value


def _text_of_choice(record: Mapping[str, Any], value: Any) -> dict[str, str]:
    """The text of the option whose id was chosen, as Prodigy has it."""
    chosen = value[0] if isinstance(value, list) and len(value) == 1 else value
    options = record.get("options")
    for option in options if isinstance(options, list) else ():
        if isinstance(option, dict) and str(option.get("id")) == str(chosen):
            return {"choice_text": str(option.get("text", ""))}
    return {}


def _by_person(record: dict[str, Any]) -> dict[str, Any]:
    """Argilla's responses by person, as version 1 writes them, from those by question of version 2, nested or flat."""
    questions = record.get("responses")
    if not isinstance(questions, dict):
        flat = [key.removesuffix(".responses") for key in record if key.endswith(".responses")]
        if not flat:
            return record
        parts = ("responses", "responses.users", "responses.status")
        questions = {
            name: [
                dict(zip(("value", "user_id", "status"), entry, strict=True))
                for entry in zip_longest(*(record.get(f"{name}.{part}") or () for part in parts))
            ]
            for name in flat
        }
    people: dict[str, dict[str, Any]] = {}
    for question, entries in questions.items():
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                who = {"user_id": entry.get("user_id"), "status": entry.get("status")}
                values = people.setdefault(repr(who), {**who, "values": {}})["values"]
                values[question] = {"value": entry.get("value")}
    rest = {
        key: value for key, value in record.items() if ".responses" not in key and ".suggestion" not in key
    }
    return {**rest, "responses": list(people.values())}
