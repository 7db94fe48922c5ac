"""Turns the tasks and answers of all labelling tools into rows of labels.

A tool's layout yields one row per answer: every field of the task under its own name, and `rater`, `aspect`, `value`
and `note` as recorded by the tool. Fields named like columns of a plain table are used directly; a mapping with the
tool as its layout names the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.json_records import storable_cells
from recjudge_tui.importers.files.layout import LocatedRecord, Request
from recjudge_tui.importers.files.mapping import KindMapping, taken
from recjudge_tui.importers.files.notes import Notes, Row, RowFault
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.plain.columns import CASE, COLUMNS, TASK
from recjudge_tui.importers.plain.tables import records_of

# names of questions that are not aspects
PLAIN_NAMES = frozenset(
    "answer choice choices comparison label labels overall pairwise preference rating response stars verdict winner"
    " category".split()
)
NOTE_NAMES = frozenset("comment comments explanation feedback note notes reason reasons remark why".split())
_SIDES = {"left": "A", "right": "B"}
_ASPECT_IN_VALUE = re.compile(r"([^\W\d][\w \-/]{0,60}?)\s*[:=]\s*(\S.*)")


def label_reads(request: Request, rows: Iterator[Row]) -> Iterator[LocatedRecord]:
    """The answers as labels; `request.mapping`, if there is one, names the fields.

    Raises InputError for a mapping that does not fit a labelling tool.
    """
    mapping = _mapping_of(request)
    yield from records_of(request, _plain_rows(rows, mapping, request.notes), mapping)


def _mapping_of(request: Request) -> KindMapping | None:
    if request.mapping is None:
        return None
    mapping = request.mapping.kinds.get("labels")
    if mapping is None or mapping.answers() or mapping.case_pattern:
        raise InputError(
            f"the mapping {request.mapping.name} does not describe the fields of the labels",
            "For a labelling tool it needs one table [labels], without tables for raters or aspects.",
            "See docs/importing-labels.md.",
        )
    return mapping


def _plain_rows(rows: Iterator[Row], mapping: KindMapping | None, notes: Notes) -> Iterator[Row]:
    fields = mapping.fields if mapping else {}
    for line, cells in rows:
        row = {name: cells[name] for name in COLUMNS["labels"].all if name in cells}
        try:
            for name, field in fields.items():
                row[name] = taken(field, cells)
        except RowFault as fault:
            notes.skip(line, fault.kind, f"{fault.text}; answer left out")
            continue
        if not storable_cells(row):
            notes.skip(line, "broken text", "a lone surrogate or a NUL character; answer left out")
            continue
        if not any(row.get(name, "").strip() for name in ("user_id", TASK, CASE)):
            text = "the task has no field user_id; left out (a mapping can name another field)"
            notes.skip(line, "no user_id", text)
            continue
        yield line, row


def answer(task: Mapping[str, str], rater: str, aspect: str, value: str, note: str = "") -> dict[str, str]:
    """The cells of one answer. A value `aspect: value` names its own aspect; left and right mean A and B of a pair.
    If the task names the aspect, that name is used. A generic name such as `rating` becomes `overall`.
    """
    pair = (task.get("system_a", ""), task.get("system_b", ""))
    named = None if value in pair else _ASPECT_IN_VALUE.fullmatch(value.strip())
    if named:
        aspect, value = named[1], named[2]
    elif task.get("aspect", "").strip():
        aspect = task["aspect"]
    elif aspect.lower() in PLAIN_NAMES:
        aspect = OVERALL
    if all(pair) and value not in pair:
        value = _SIDES.get(value.strip().lower(), value)
    return {**task, "rater": rater, "aspect": aspect, "value": value, "note": note}


def is_note(name: str) -> bool:
    """Whether a question with this name asks for a comment, not for a verdict."""
    return name.lower() in NOTE_NAMES


def choices(result_value: Any) -> list[str]:
    """The chosen values as text. Raises RowFault if there are none, or if they are not plain values.

    Several values are allowed only if each names its own aspect (`accuracy: 4`); else RowFault.
    """
    values = result_value if isinstance(result_value, list) else [result_value]
    texts = [str(value).strip() for value in values if isinstance(value, str | bool) and str(value).strip()]
    if len(texts) < len(values):
        raise RowFault("not a verdict", "an answer that is neither a choice nor a number; left out")
    if not texts:
        raise RowFault("no answer", "an empty answer; left out")
    if len(texts) > 1 and not all(_ASPECT_IN_VALUE.fullmatch(text) for text in texts):
        several = shown(", ".join(texts))
        raise RowFault("several choices", f"several choices in one answer: {several}; left out")
    return texts
