"""doccano's JSON and JSON Lines of a classification project: one file per annotator, named after the annotator."""

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

_LABELS = ("label", "labels", "cats")
_TEXTS = ("text", "data")
_COMMENTS = ("Comments", "comments")


def read_doccano(request: Request) -> Iterator[LocatedRecord]:
    """The category of each example as a label; the rater is the file name without its extension.

    In old exports that name the user of each annotation, the user is the rater. Examples without a label are left out
    and counted.
    """
    yield from label_reads(request, _rows(request))


def _rows(request: Request) -> Iterator[Row]:
    rater = stem(request.path)
    for number, example in json_records(request.path, request.notes):
        own = (*_LABELS, *_COMMENTS, "meta", "annotations")
        cells = plain_cells(example.get("meta"), {k: v for k, v in example.items() if k not in own})
        note = " ".join(_words(next((example[key] for key in _COMMENTS if key in example), [])))
        for who, answers in _answers(example, rater):
            try:
                for text in choices(answers):
                    yield number, answer(cells, who, OVERALL, text, note)
            except RowFault as fault:
                identity = shown(str(example.get("id", "")))
                request.notes.skip(number, fault.kind, f"example {identity}: {fault.text}")


def _answers(example: dict[str, Any], rater: str) -> list[tuple[str, Any]]:
    annotations = example.get("annotations")
    if isinstance(annotations, list):
        by_user: dict[str, list[Any]] = {}
        for entry in annotations:
            if isinstance(entry, dict):
                by_user.setdefault(str(entry.get("user") or rater), []).append(entry.get("label"))
        return list(by_user.items()) or [(rater, [])]
    return [(rater, next((example[key] for key in _LABELS if key in example), []))]


def _words(value: Any) -> list[str]:
    return [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str)]


def _fits(sample: Sample, kind: ImportKind) -> bool:
    keys = first_keys(sample)
    labels = any(keys.get(key) == "[" for key in (*_LABELS, "annotations"))
    foreign = "value" in keys or "rater" in keys or keys.get("data") == "{" or "answer" in keys
    return kind == "labels" and "id" in keys and labels and any(key in keys for key in _TEXTS) and not foreign


DOCCANO = Layout(
    name="doccano",
    kinds=("labels",),
    about="doccano's JSON or JSON Lines, one file per annotator",
    fits=_fits,
    read=read_doccano,
    names=("*.jsonl", "*.json"),
    has_header=False,
)
