"""Stores labels: finds their rater and case, and handles earlier answers of the same rater."""

from __future__ import annotations

from collections.abc import Iterable

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.records import Label
from recjudge_tui.domain.roles import IMPORTED, RaterKind, kind_by_name
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.files.layout import LocatedRecord
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.import_job import ImportJob
from recjudge_tui.store.imports import Clash, add_verdict, case_of_label
from recjudge_tui.store.people import close_answered, task_by_token
from recjudge_tui.store.raters import ensure_rater, rater_kind
from recjudge_tui.store.ratings import add_scale, scale_source, stored_scales
from recjudge_tui.store.verdicts import COUNTED

# votes that were left out, as they are counted
REPEATED = "repeated vote"
ANOTHER_VERDICT = "another verdict by the same rater"
ANSWERED = "another answer to a task that is answered"
TELL_APART = "name the session, query or battle of each row in a column context (docs/occasions.md)"
_SHOWN_NAMES = 5


def store_labels(job: ImportJob, reads: Iterable[tuple[LocatedRecord, Label]]) -> None:
    """Store the labels of a batch in the orientation of their cases.

    Answers to tasks are stored for the person assigned to the task.
    """
    for read, label in reads:
        if label.task:
            _task_answer(job, read.line, label)
            continue
        _store_scale(job, read.line, label)
        rater = _rater(job, read.line, label)
        case, turned, occasions = case_of_label(job.target, job.known.cases, label)
        if occasions > 1:
            text = (
                f"user {shown(label.user_id)} was shown {occasions} such lists or texts, and context and "
                f"served_at do not say which one was judged; the label is kept without a list"
            )
            job.notes.warn(read.line, "unclear occasion", text)
        _add_label(job, read.line, rater, case, label, turned=turned)


def _add_label(job: ImportJob, line: int, rater: int, case: int, label: Label, *, turned: bool) -> None:
    """Store a label in the orientation of its case; the case has the systems in the other order if it is `turned`."""
    of_case = label
    if turned and label.value is not None:
        value = 0.0 - label.value
        names = protocol_facts(label.protocol).labels
        of_case = label.model_copy(update={"value": value, "label": names.get(value, label.label)})
    clash = add_verdict(job.target, rater, case, of_case)
    if clash is None:
        job.counts.stored += 1
        job.counts.keep(label)
        return
    if label.rule == COUNTED:
        raise _counted_before(job, line, clash)
    repeated = clash.import_id is not None and clash.import_id >= job.target.since
    job.counts.repeats += repeated
    if not clash.same and label.task and not repeated:
        job.counts.answered[clash.import_id] += 1
        _note_clash(job, line, label, clash, ANSWERED)
    elif not clash.same:
        _note_clash(job, line, label, clash, ANOTHER_VERDICT)
    elif repeated:
        text = (
            f"{shown(label.rater)} answered {label.aspect} of this case above, with the same answer; left out"
        )
        job.notes.skip(line, REPEATED, text)
    else:
        job.counts.unchanged += 1


def _counted_before(job: ImportJob, line: int, clash: Clash) -> InputError:
    origin = f" (import {clash.import_id})" if clash.import_id else ""
    return InputError(
        f"{job.notes.file}:{line}: the counts of this row are already stored",
        f"They came from a table with the same file name{origin}, and counts do not show which battles are "
        f"new.",
        "Nothing was stored. Undo that import to replace it (recjudge imports undo ID), or rename the file if these are"
        " other battles.",
    )


def remark_repeats(job: ImportJob) -> None:
    counts = job.counts
    if counts.repeats:
        job.notes.remark(
            f"{counts.repeats:,} of {counts.records:,} votes are on a case that the same rater answered above: these rows do"
            f" not tell the cases apart; {TELL_APART}"
        )
    if counts.answered:
        job.notes.remark(
            f"{counts.answered.total():,} of {counts.records:,} answers differ from those that their tasks already have,"
            f" which are kept; to replace these, {' and '.join(map(_replacement, counts.answered))}"
        )
    if counts.unchanged and counts.tasks:
        job.notes.remark(f"{counts.unchanged:,} of {counts.records:,} answers are stored already")
    elif counts.unchanged:
        job.notes.remark(
            f"{counts.unchanged:,} of {counts.records:,} votes are in an earlier import with the same answer and are not"
            f" counted twice. If they are another session, {TELL_APART}"
        )


def _replacement(import_id: int | None) -> str:
    """How to replace the answers of an import, or those given in the app."""
    if import_id is None:
        return "change them in the app (recjudge annotate open)"
    return f"undo import {import_id} first (recjudge imports undo {import_id})"


def _task_answer(job: ImportJob, line: int, label: Label) -> None:
    """Store the answer to an exported task for the person assigned to it, and close the task."""
    task = task_by_token(job.target.db, job.target.project_id, label.task)
    if task is None or task.protocol != label.protocol:
        text = f"task {shown(label.task)} is not a {label.protocol} task of this project; left out"
        job.notes.skip(line, "unknown task", text)
        return
    if label.rater not in ("", task.rater):
        text = (
            f"answered by {shown(label.rater)}; stored as the answer of {shown(task.rater)}, to whom the "
            "task is assigned"
        )
        job.notes.warn(line, "answered by another name", text)
    job.counts.tasks += 1
    named = label.model_copy(update={"rater": task.rater})
    _add_label(job, line, task.rater_id, task.case_id, named, turned=task.first == "b")
    close_answered(job.target.db, task.id)


def _rater(job: ImportJob, line: int, label: Label) -> int:
    key = (label.rater, label.rater_kind)
    if key not in job.known.raters:
        kind = label.rater_kind or _kind_by_name(job, label.rater)
        try:
            job.known.raters[key] = ensure_rater(job.target.db, job.target.project_id, label.rater, kind)
        except UsageError as error:
            raise InputError(
                f"{job.notes.file}:{line}: {error.title}", error.cause, error.next_step
            ) from error
    return job.known.raters[key]


def _kind_by_name(job: ImportJob, name: str) -> RaterKind:
    """The kind of a rater whose row does not name one: its stored kind if it was imported before, else the kind
    suggested by its name.
    """
    kind = kind_by_name(name)
    stored = rater_kind(job.target.db, job.target.project_id, name)
    if stored in IMPORTED and kind != "ground_truth":
        kind = stored
    elif kind == "judge":
        job.counts.guessed_judges.append(name)
    return kind


def remark_guessed_judges(job: ImportJob) -> None:
    names = job.counts.guessed_judges
    if names:
        more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
        job.notes.remark(
            f"named like language models, so not counted as people: {', '.join(map(shown, names[:_SHOWN_NAMES]))}"
            f"{more}; a column rater_kind (judge, annotator) decides, or “recjudge rater kind NAME annotator”"
        )


def _note_clash(job: ImportJob, line: int, label: Label, clash: Clash, kind: str) -> None:
    if clash.import_id == job.target.import_id:
        origin = "above in this file"
    elif clash.import_id is not None:
        origin = f"in import {clash.import_id}"
    else:
        origin = f"in run {clash.run_id}" if clash.run_id is not None else "already"
    answer = f"answered {shown(clash.label)}" if clash.label else "failed"
    text = f"{shown(label.rater)} {answer} on {label.aspect} of this case {origin}; that answer is kept"
    job.notes.skip(line, kind, text)


def _store_scale(job: ImportJob, line: int, label: Label) -> None:
    """Store the scale of the label's aspect, once for each file. Raises InputError if the aspect has another one."""
    if label.scale is None:
        return
    target, key = job.target, (label.protocol, label.aspect)
    known = job.known.scales
    if known is None:
        known = job.known.scales = dict(stored_scales(target.db, target.project_id))
    scale = known.get(key, label.scale)
    if scale != label.scale:
        source = scale_source(target.db, target.project_id, *key)
        origin = "above in this file" if source == target.import_id else f"since import {source}"
        raise InputError(
            f"{job.notes.file}:{line}: {label.aspect} ({label.protocol}) cannot have the scale {label.scale.described()}",
            f"Its scale is {scale.described()} {origin}, and one aspect has one scale.",
            "Nothing was stored. Give these labels an aspect of their own, turn their values into that scale, or undo that"
            " import.",
        )
    if (target.import_id, *key) not in job.known.scaled:
        job.known.scaled.add((target.import_id, *key))
        known[key] = label.scale
        add_scale(target.db, target.project_id, target.import_id, *key, label.scale)
        job.notes.remark(f"scale of {label.aspect} ({label.protocol}): {label.scale.described()}")
