"""Prodigy's annotations in JSON Lines: one answered task on each line, as `prodigy db-out` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.files.json_records import first_keys, json_records, plain_cells
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import Row, RowFault
from recjudge_tui.importers.files.reading import stem
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.labelling.tasks import answer, choices, label_reads

_OWN_KEYS = ("_task_hash", "_input_hash", "_view_id", "_annotator_id", "_session_id")


def read_prodigy(request: Request) -> Iterator[LocatedRecord]:
    """Accepted choices, or the label of an accepted task, as labels. The rater is the annotator, else the session or file.

    Ignored and rejected tasks are left out and counted. `choice_text` is the text of the chosen option.
    """
    yield from label_reads(request, _rows(request))


def _rows(request: Request) -> Iterator[Row]:
    notes = request.notes
    for number, task in json_records(request.path, notes):
        task_answer = task.get("answer")
        if task_answer in ("ignore", "reject"):
            notes.skip(
                number, {"ignore": "ignored", "reject": "rejected"}[task_answer], f"{task_answer}: left out"
            )
            continue
        if task_answer != "accept":
            notes.skip(number, "not answered", f"answer {shown(str(task_answer))}: left out")
            continue
        cells = plain_cells(task.get("meta"), task.get("data"), _without_own_keys(task))
        named = str(task.get("_annotator_id") or task.get("_session_id") or "")
        rater = named or stem(request.path)
        note = str(task.get("user_input") or "")
        try:
            for text in choices(task["accept"] if "accept" in task else task.get("label", [])):
                chosen = {**cells, "choice_text": _option_text(task, text)}
                yield number, answer(chosen, rater, OVERALL, text, note)
        except RowFault as fault:
            notes.skip(number, fault.kind, fault.text)


def _without_own_keys(task: dict[str, Any]) -> dict[str, Any]:
    """The fields of the task without those of its answer."""
    own = ("answer", "accept", "label", "options", "meta", "data", "user_input", "config", "tokens", "spans")
    return {key: value for key, value in task.items() if key not in own and not key.startswith("_")}


def _option_text(task: dict[str, Any], chosen: str) -> str:
    options = task.get("options")
    for option in options if isinstance(options, list) else []:
        if isinstance(option, dict) and str(option.get("id")) == chosen:
            return str(option.get("text", ""))
    return ""


def _fits(sample: Sample, kind: ImportKind) -> bool:
    keys = first_keys(sample)
    return kind == "labels" and "answer" in keys and any(key in keys for key in _OWN_KEYS)


PRODIGY = Layout(
    name="prodigy",
    kinds=("labels",),
    about="Prodigy's annotations in JSON Lines (db-out)",
    fits=_fits,
    read=read_prodigy,
    names=("*.jsonl", "*.json"),
    has_header=False,
)
