"""Label Studio's JSON export: tasks with their annotations, in one array (or one task on each line)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.json_records import first_keys, json_records, plain_cells
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import Notes, Row, RowFault
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.labelling.tasks import answer, choices, is_note, label_reads

# the kind of control -> the key of its value
_VALUES = {"choices": "choices", "rating": "rating", "pairwise": "selected", "number": "number"}
_JSON_MIN = ("annotator", "annotation_id", "lead_time")


def read_label_studio(request: Request) -> Iterator[LocatedRecord]:
    """Each finished annotation's choices, ratings, numbers and pairwise selections as labels.

    The control's name is the aspect, a text area the note. Skipped (cancelled), empty and draft annotations
    are left out and counted. Raises InputError for the export JSON-MIN, which does not mark skipped annotations.
    """
    yield from label_reads(request, _rows(request))


def _rows(request: Request) -> Iterator[Row]:
    for number, task in json_records(request.path, request.notes):
        if "annotations" not in task and "completions" not in task:
            if all(key in task for key in _JSON_MIN):
                raise InputError(
                    f"{request.path} is Label Studio's JSON-MIN",
                    "It does not mark the annotations that were skipped.",
                    "Export the project again as JSON.",
                )
            request.notes.skip(number, "not a task", "no annotations or completions; left out")
            continue
        yield from _task(number, task, request.notes)


def _task(number: int, task: dict[str, Any], notes: Notes) -> Iterator[Row]:
    identity = shown(str(task.get("id", "")))
    cells = plain_cells(task.get("data"), task.get("meta"))
    drafts = task.get("drafts")
    for _ in drafts if isinstance(drafts, list) else []:
        notes.skip(number, "draft", f"a draft of task {identity}; left out")
    annotations = task.get("annotations", task.get("completions"))
    for annotation in annotations if isinstance(annotations, list) else []:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
            notes.skip(
                number, "broken annotation", f"an annotation of task {identity} without a result; left out"
            )
        elif annotation.get("was_cancelled") or annotation.get("skipped"):
            notes.skip(number, "cancelled", f"a skipped annotation of task {identity}; left out")
        elif not annotation["result"]:
            notes.skip(number, "no answer", f"an empty annotation of task {identity}; left out")
        else:
            yield from _annotation(number, cells, annotation, identity, notes)


def _annotation(
    number: int, cells: dict[str, str], annotation: dict[str, Any], identity: str, notes: Notes
) -> Iterator[Row]:
    results = [
        part for part in annotation["result"] if isinstance(part, dict) and part.get("type") != "relation"
    ]
    rater, note = _rater(annotation), " ".join(filter(None, map(_text, results)))
    for result in results:
        name, kind, value = str(result.get("from_name", "")), str(result.get("type", "")), result.get("value")
        if kind == "textarea" or is_note(name):
            continue
        key = _VALUES.get(kind)
        try:
            if key is None or not isinstance(value, dict):
                raise RowFault("not a verdict", f"an answer of kind {shown(kind)}; left out")
            for text in choices(value.get(key)):
                yield number, answer(cells, rater, name, text, note)
        except RowFault as fault:
            notes.skip(number, fault.kind, f"task {identity}, {shown(name)}: {fault.text}")


def _text(result: dict[str, Any]) -> str:
    value = result.get("value")
    if not isinstance(value, dict):
        return ""
    text = value.get("text") if result.get("type") == "textarea" else None
    return " ".join(str(part) for part in text) if isinstance(text, list) else str(text or "")


def _rater(annotation: dict[str, Any]) -> str:
    """The annotator's e-mail address, else their number."""
    by = annotation.get("completed_by")
    if isinstance(by, dict):
        by = by.get("email") or by.get("username") or by.get("id")
    return str(by or annotation.get("created_username") or "").split(", ")[0].strip()


def _fits(sample: Sample, kind: ImportKind) -> bool:
    keys = first_keys(sample)
    tasks = keys.get("data") == "{" and "[" in (keys.get("annotations"), keys.get("completions"))
    return kind == "labels" and (tasks or all(key in keys for key in _JSON_MIN))


LABEL_STUDIO = Layout(
    name="label-studio",
    kinds=("labels",),
    about="Label Studio's JSON export",
    fits=_fits,
    read=read_label_studio,
    names=("*.json", "*.jsonl"),
    has_header=False,
)
