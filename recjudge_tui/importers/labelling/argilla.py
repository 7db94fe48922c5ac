"""Argilla's records as JSON: version 2, nested or flat, feedback datasets of version 1, and its older classification."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.files.json_records import first_keys, json_decoder, json_records, plain_cells
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import Notes, Row, RowFault
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.labelling.tasks import answer, choices, is_note, label_reads

_FLAT = ".responses"
_OWN_KEYS = frozenset(
    "annotation annotation_agent explanation fields id inputs metadata prediction prediction_agent responses _server_id"
    " status suggestions vectors".split()
)


class _Response(NamedTuple):
    """One person's answer to one question; `status` is empty if the export has none."""

    rater: str
    question: str
    value: Any
    status: str


def read_argilla(request: Request) -> Iterator[LocatedRecord]:
    """Each submitted response as a label: the question is the aspect, the user the rater.

    Draft, discarded and pending responses are left out and counted. An export without status (version 2, nested) does
    not distinguish them, so all its responses count as submitted, which is noted once.
    """
    yield from label_reads(request, _rows(request))


def _rows(request: Request) -> Iterator[Row]:
    warned = False
    for number, record in json_records(request.path, request.notes):
        identity = shown(str(record.get("id") or record.get("external_id") or number))
        cells = _task(record)
        responses = list(_responses(record))
        if not responses:
            request.notes.skip(number, "no answer", f"record {identity} has no response; left out")
        if not warned and any(not response.status for response in responses):
            warned = True
            text = "responses without a status count as submitted: this export does not mark drafts"
            request.notes.warn(number, "no status", text)
        for rater in dict.fromkeys(response.rater for response in responses):
            theirs = [response for response in responses if response.rater == rater]
            yield from _answers(number, cells, theirs, identity, request.notes)


def _answers(
    number: int, cells: Mapping[str, str], responses: list[_Response], identity: str, notes: Notes
) -> Iterator[Row]:
    note = " ".join(r.value for r in responses if is_note(r.question) and isinstance(r.value, str))
    for response in responses:
        if is_note(response.question):
            continue
        try:
            if response.status not in ("submitted", ""):
                raise RowFault(response.status, f"a {response.status} response; left out")
            for text in choices(_ranked(response.value)):
                yield number, answer(cells, response.rater, response.question, text, note)
        except RowFault as fault:
            notes.skip(number, fault.kind, f"record {identity}, {shown(response.question)}: {fault.text}")


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


def _task(record: dict[str, Any]) -> dict[str, str]:
    metadata = record.get("metadata")
    if isinstance(metadata, str):
        # feedback datasets on a hub store it as JSON text
        try:
            metadata = json_decoder().decode(metadata)
        except (json.JSONDecodeError, RecursionError):
            metadata = {}
    rest = {
        key: value for key, value in record.items() if key not in _OWN_KEYS and not _is_answer(key, value)
    }
    return plain_cells(metadata, record.get("fields"), record.get("inputs"), rest)


def _is_answer(key: str, value: Any) -> bool:
    return _FLAT in key or ".suggestion" in key or key.endswith("-suggestion") or _is_column(value)


def _is_column(value: Any) -> bool:
    """Whether the value is from a question's column of a feedback dataset on a hub: a list with each user's answer."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(v, dict) and {"user_id", "value"} <= v.keys() for v in value)
    )


def _responses(record: dict[str, Any]) -> Iterator[_Response]:
    responses = record.get("responses")
    if isinstance(responses, dict):
        for question, entries in responses.items():
            yield from _entries(question, entries)
    elif isinstance(responses, list):
        for response in responses:
            if isinstance(response, dict) and isinstance(response.get("values"), dict):
                rater, status = _text(response, "user_id"), _text(response, "status")
                for question, value in response["values"].items():
                    yield _Response(rater, question, _bare(value), status)
    elif "annotation_agent" in record:
        yield from _classification(record)
    else:
        for key, value in record.items():
            if key.endswith(_FLAT):
                yield from _flat(record, key)
            elif _is_column(value):
                yield from _entries(key, value)


def _entries(question: str, entries: Any) -> Iterator[_Response]:
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            value = _bare(entry.get("value"))
            yield _Response(_text(entry, "user_id"), question, value, _text(entry, "status"))


def _flat(record: dict[str, Any], key: str) -> Iterator[_Response]:
    values, users, statuses = (_list(record.get(key + end)) for end in ("", ".users", ".status"))
    for i, value in enumerate(values):
        rater = str(users[i] or "") if i < len(users) else ""
        status = str(statuses[i] or "") if i < len(statuses) else ""
        yield _Response(rater, key.removesuffix(_FLAT), _bare(value), status)


def _classification(record: dict[str, Any]) -> Iterator[_Response]:
    """The older datasets: one annotation per record, which counts only if it was validated."""
    status = {"Validated": "submitted", "Discarded": "discarded", "Default": "not validated"}
    annotation = record.get("annotation")
    if annotation is not None:
        named = _text(record, "status")
        yield _Response(_text(record, "annotation_agent"), "label", annotation, status.get(named, named))


def _bare(value: Any) -> Any:
    return value["value"] if isinstance(value, dict) and "value" in value else value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(entry: Mapping[str, Any], key: str) -> str:
    return str(entry.get(key) or "")


def _fits(sample: Sample, kind: ImportKind) -> bool:
    keys = first_keys(sample)
    feedback = "fields" in keys and keys.get("responses") in ("{", "[")
    older = "annotation" in keys and "annotation_agent" in keys
    hub = "external_id" in keys and any(key.endswith("-suggestion") for key in keys)
    return kind == "labels" and (feedback or older or hub or any(key.endswith(_FLAT) for key in keys))


ARGILLA = Layout(
    name="argilla",
    kinds=("labels",),
    about="Argilla's records as JSON, of version 1 or 2",
    fits=_fits,
    read=read_argilla,
    names=("*.json", "*.jsonl"),
    has_header=False,
)
