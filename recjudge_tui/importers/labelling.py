"""Exports of labelling tools: tasks with the answers of people. A tool that writes one answer a record is a declaration with
`task` (layouts/prodigy.toml); Label Studio and Argilla nest theirs in forms of their own.

Each answer becomes a row: every field of the task under its own name, and `rater`, `aspect`, `value` and `note` as
recorded by the tool. Fields named like columns of a plain table are used directly; a mapping with the tool as its
layout names the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.errors import InputError
from recjudge_tui.importers.columns import CASE, COLUMNS, TASK
from recjudge_tui.importers.layout import Layout, Part, Request, When, open_table, records_in, taken, value_at
from recjudge_tui.importers.reader import json_records, plain_cells
from recjudge_tui.importers.values import Row, RowFault, shown, storable

# names of questions that are not aspects
_PLAIN_NAMES = frozenset(
    "answer choice choices comparison label labels overall pairwise preference rating response stars verdict winner"
    " category pw".split()
)
_NOTE_NAMES = frozenset("comment comments explanation feedback note notes reason reasons remark why".split())
_ASPECT_IN_VALUE = re.compile(r"([^\W\d][\w \-/]{0,60}?)\s*[:=]\s*(\S.*)")


class _Answer(NamedTuple):
    """One answer of one person: the fields of the task, who said what, and the name of the task for messages."""

    line: int
    cells: dict[str, str]
    rater: str
    question: str
    value: Any
    note: str
    task: str


def answer_rows(request: Request, answers: Iterator[_Answer]) -> Iterator[Row]:
    """The rows of the answers; `request.mapping`, if there is one, names the fields.

    A value `aspect: value` names its own aspect; else the task names it, else the question, of which a generic name such as
    `rating` is `overall`. Raises InputError for a mapping that does not fit a labelling tool.
    """
    fields = _fields(request)
    for answer in answers:
        try:
            for text in _choices(answer.value):
                row = _row(answer, text)
                for name, field in fields.items():
                    row[name] = taken(field, row, request)
                row = {name: row[name] for name in COLUMNS["labels"].all if name in row}
                if not storable("".join(row.values())):
                    raise RowFault("broken text", "a lone surrogate or a NUL character; answer left out")
                if not any(row.get(name, "").strip() for name in ("user_id", TASK, CASE)):
                    text = "the task has no field user_id; left out (a mapping can name another field)"
                    raise RowFault("no user_id", text)
                yield answer.line, row
        except RowFault as fault:
            about = f"{answer.task}, {shown(answer.question)}: " if answer.task else ""
            request.notes.skip(answer.line, fault.kind, f"{about}{fault.text}")


def _fields(request: Request) -> Mapping[str, Any]:
    if request.mapping is None:
        return {}
    parts = request.mapping.kinds.get("labels", ())
    if len(parts) != 1 or parts[0].answers() or parts[0].case_pattern:
        raise InputError(
            f"the mapping {request.mapping.name} does not describe the fields of the labels",
            "For a labelling tool it needs one table [labels], without tables for raters or aspects.",
            "See “recjudge docs importing-labels”.",
        )
    return parts[0].fields


def _row(answer: _Answer, value: str) -> dict[str, str]:
    cells, aspect = answer.cells, answer.question
    pair = (cells.get("system_a", ""), cells.get("system_b", ""))
    named = None if value in pair else _ASPECT_IN_VALUE.fullmatch(value.strip())
    if named:
        aspect, value = named[1], named[2]
    elif cells.get("aspect", "").strip():
        aspect = cells["aspect"]
    elif aspect.lower() in _PLAIN_NAMES:
        aspect = OVERALL
    return {**cells, "rater": answer.rater, "aspect": aspect, "value": value, "note": answer.note}


def _choices(value: Any) -> list[str]:
    """The chosen values as text. Raises RowFault if there are none, or if they are not plain values.

    Several values are allowed only if each names its own aspect (`accuracy: 4`); else RowFault.
    """
    values = value if isinstance(value, list) else [value]
    texts = [str(part).strip() for part in values if isinstance(part, str | bool) and str(part).strip()]
    if len(texts) < len(values):
        raise RowFault("not a verdict", "an answer that is neither a choice nor a number; left out")
    if not texts:
        raise RowFault("no answer", "an empty answer; left out")
    if len(texts) > 1 and not all(map(_ASPECT_IN_VALUE.fullmatch, texts)):
        raise RowFault(
            "several choices", f"several choices in one answer: {shown(', '.join(texts))}; left out"
        )
    return texts


# ---- declared tools ----------------------------------------------------------------------------------------------


def declared_answers(request: Request, part: Part) -> Iterator[_Answer]:
    """The answers of a tool that writes one a record. `choice_text` is the text of a chosen option."""
    for line, raw in open_table(request, part).rows:
        for record in records_in(line, raw, part, request.notes):
            own = {
                field
                for spec in part.fields.values()
                for column in spec.column
                for field in column.split(".")[:1]
            }
            task = [_rest(record, own) if place == "" else value_at(record, place) for place in part.task]
            rater, note = (
                taken(part.fields[name], record, request) if name in part.fields else ""
                for name in ("rater", "note")
            )
            found = (value_at(record, column) for column in part.fields["value"].column)
            value: Any = next((answer for answer in found if answer is not None), [])
            # doccano's comments are a list
            note = note.replace("|", " ") if isinstance(value, list) and len(part.task) == 2 else note
            cells = plain_cells(*task)
            options = record.get("options")
            chosen = value[0] if isinstance(value, list) and len(value) == 1 else value
            for option in options if isinstance(options, list) else []:
                if isinstance(option, dict) and str(option.get("id")) == str(chosen):
                    cells["choice_text"] = str(option.get("text", ""))
            yield _Answer(
                line, cells, rater, OVERALL, value, note, f"example {shown(record.get('id', line))}"
            )


def _rest(record: Mapping[str, Any], own: set[str]) -> dict[str, Any]:
    left = {"answer", "options", "config", "tokens", "spans", "annotations", *own}
    return {key: value for key, value in record.items() if key not in left and key[:1] not in ("_", "@")}


# ---- Label Studio ------------------------------------------------------------------------------------------------

# the kind of control -> the key of its value
_CONTROLS = {"choices": "choices", "rating": "rating", "pairwise": "selected", "number": "number"}
_JSON_MIN = ("annotator", "annotation_id", "lead_time")


def _label_studio(request: Request) -> Iterator[_Answer]:
    """Each finished annotation's choices, ratings, numbers and pairwise selections.

    The control's name is the question, a text area the note. Skipped (cancelled), empty and draft annotations are left out
    and counted. Raises InputError for the export JSON-MIN, which does not mark skipped annotations.
    """
    notes = request.notes
    for line, task in json_records(request.path, notes):
        if "annotations" not in task and "completions" not in task:
            if all(key in task for key in _JSON_MIN):
                raise InputError(
                    f"{request.path} is Label Studio's JSON-MIN",
                    "It does not mark the annotations that were skipped.",
                    "Export the project again as JSON.",
                )
            notes.skip(line, "not a task", "no annotations or completions; left out")
            continue
        identity = f"task {shown(task.get('id', ''))}"
        cells = plain_cells(task.get("data"), task.get("meta"))
        for _ in _list(task.get("drafts")):
            notes.skip(line, "draft", f"a draft of {identity}; left out")
        for annotation in _list(task.get("annotations", task.get("completions"))):
            if fault := _unusable(annotation):
                notes.skip(line, fault[0], f"{fault[1]} of {identity}; left out")
                continue
            results = [
                part
                for part in annotation["result"]
                if isinstance(part, dict) and part.get("type") != "relation"
            ]
            note = " ".join(filter(None, map(_area, results)))
            for result in results:
                name, kind = str(result.get("from_name", "")), str(result.get("type", ""))
                if kind == "textarea" or name.lower() in _NOTE_NAMES:
                    continue
                value = result.get("value")
                if kind not in _CONTROLS or not isinstance(value, dict):
                    text = f"{identity}, {shown(name)}: an answer of kind {shown(kind)}; left out"
                    notes.skip(line, "not a verdict", text)
                    continue
                yield _Answer(
                    line, cells, _annotator(annotation), name, value.get(_CONTROLS[kind]), note, identity
                )


def _unusable(annotation: Any) -> tuple[str, str] | None:
    if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
        return "broken annotation", "an annotation without a result"
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        return "cancelled", "a skipped annotation"
    return None if annotation["result"] else ("no answer", "an empty annotation")


def _area(result: dict[str, Any]) -> str:
    value = result.get("value")
    text = value.get("text") if isinstance(value, dict) and result.get("type") == "textarea" else None
    return " ".join(str(part) for part in text) if isinstance(text, list) else str(text or "")


def _annotator(annotation: dict[str, Any]) -> str:
    """The annotator's e-mail address, else their number."""
    by = annotation.get("completed_by")
    if isinstance(by, dict):
        by = by.get("email") or by.get("username") or by.get("id")
    return str(by or annotation.get("created_username") or "").split(", ")[0].strip()


# ---- Argilla -----------------------------------------------------------------------------------------------------

_FLAT = ".responses"
_OWN_KEYS = frozenset("fields id metadata responses _server_id status suggestions vectors".split())


class _Response(NamedTuple):
    """One person's answer to one question; `status` is empty if the export has none."""

    rater: str
    question: str
    value: Any
    status: str


def _argilla(request: Request) -> Iterator[_Answer]:
    """Each submitted response of Argilla's records: version 2, nested or flat, and the feedback records of version 1. The
    question is the aspect, the user the rater.

    Draft, discarded and pending responses are left out and counted. An export without status (version 2, nested) does not
    distinguish them, so all its responses count as submitted, which is noted once.
    """
    warned, notes = False, request.notes
    for line, record in json_records(request.path, notes):
        identity = f"record {shown(record.get('id') or record.get('external_id') or line)}"
        responses = list(_responses(record))
        if not responses:
            notes.skip(line, "no answer", f"{identity} has no response; left out")
        if not warned and any(not response.status for response in responses):
            warned = True
            text = "responses without a status count as submitted: this export does not mark drafts"
            notes.warn(line, "no status", text)
        cells = _fields_of(record)
        remarks: dict[str, list[str]] = {}
        for response in responses:
            if response.question.lower() in _NOTE_NAMES and isinstance(response.value, str):
                remarks.setdefault(response.rater, []).append(response.value)
        for rater in dict.fromkeys(response.rater for response in responses):
            for response in responses:
                if response.rater != rater or response.question.lower() in _NOTE_NAMES:
                    continue
                if response.status not in ("submitted", ""):
                    text = f"{identity}, {shown(response.question)}: a {response.status} response; left out"
                    notes.skip(line, response.status, text)
                    continue
                note = " ".join(remarks.get(rater, ()))
                yield _Answer(line, cells, rater, response.question, _ranked(response.value), note, identity)


def _ranked(value: Any) -> Any:
    """The winner of a ranking of two, or Tie; any other value unchanged."""
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(isinstance(v, dict) and "rank" in v for v in value)
    ):
        return value
    first, second = (str(v["rank"]) for v in value)
    if first == second:
        return "Tie"
    if not (first.isdigit() and second.isdigit()):
        return value
    return value[0 if int(first) < int(second) else 1].get("value")


def _fields_of(record: dict[str, Any]) -> dict[str, str]:
    rest = {
        key: value
        for key, value in record.items()
        if key not in _OWN_KEYS and _FLAT not in key and ".suggestion" not in key
    }
    return plain_cells(record.get("metadata"), record.get("fields"), rest)


def _responses(record: dict[str, Any]) -> Iterator[_Response]:
    responses = record.get("responses")
    if isinstance(responses, dict):
        for question, entries in responses.items():
            for entry in _list(entries):
                if isinstance(entry, dict):
                    value = _bare(entry.get("value"))
                    yield _Response(_text(entry, "user_id"), question, value, _text(entry, "status"))
    elif isinstance(responses, list):
        for response in responses:
            if isinstance(response, dict) and isinstance(response.get("values"), dict):
                rater, status = _text(response, "user_id"), _text(response, "status")
                for question, value in response["values"].items():
                    yield _Response(rater, question, _bare(value), status)
    else:
        for key, value in record.items():
            if key.endswith(_FLAT):
                users, statuses = _list(record.get(f"{key}.users")), _list(record.get(f"{key}.status"))
                for one, user, said in zip_longest(_list(value), users, statuses):
                    question = key.removesuffix(_FLAT)
                    yield _Response(str(user or ""), question, _bare(one), str(said or ""))


def _bare(value: Any) -> Any:
    return value["value"] if isinstance(value, dict) and "value" in value else value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(entry: Mapping[str, Any], key: str) -> str:
    return str(entry.get(key) or "")


_LS_TASKS = (
    When(opens={"data": "{", "annotations": "["}),
    When(opens={"data": "{", "completions": "["}),
    When(has=_JSON_MIN),
)
_ARGILLA = (
    When(has=("fields",), opens={"responses": "{["}),
    When(found=r'\A\[?\s*\{[^\n]*"[^"]+\.responses"\s*:', no_text=r'\A\[?\s*\{[^{]*"responses"\s*:'),
)
LABEL_STUDIO = Layout(
    name="label-studio",
    kinds=("labels",),
    about="Label Studio's JSON export",
    fits=lambda sample, kind: kind == "labels" and any(when.fits(sample) for when in _LS_TASKS),
    rows=lambda request: answer_rows(request, _label_studio(request)),
    names=("*.json", "*.jsonl"),
    has_header=False,
)
ARGILLA = Layout(
    name="argilla",
    kinds=("labels",),
    about="Argilla's records as JSON, of version 1 or 2",
    fits=lambda sample, kind: kind == "labels" and any(when.fits(sample) for when in _ARGILLA),
    rows=lambda request: answer_rows(request, _argilla(request)),
    names=("*.json", "*.jsonl"),
    has_header=False,
)
