"""The steps of a night: import files, judge cases, report; and their dry run."""

from __future__ import annotations

from collections.abc import Iterator

from recjudge_tui.domain.text import money
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.nights.anchors import anchor_tasks, draw_anchors, settle_anchors
from recjudge_tui.nights.judging import JudgedTask, Task, Work, dry_cases, judge_task, unfinished_run
from recjudge_tui.nights.new_files import Copy, FileImport, NewFile, WatchFile, import_new, new_files
from recjudge_tui.nights.night import FAILED, Night, Say
from recjudge_tui.nights.reports import gate_report, write_trend
from recjudge_tui.nights.watch_file import JudgeEntry, Watch
from recjudge_tui.reports.projects.run_settings import failure_lines
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.projects import find_project
from recjudge_tui.store.projects.watches import save_watched_file


def dry_lines(db: Database, watch: Watch) -> Iterator[str]:
    """Lines that say what a night would do. Changes nothing."""
    project_id = find_project(db, watch.project)
    for new in new_files(db, project_id, watch):
        if isinstance(new, FileImport):
            yield _failure(new)
        elif isinstance(new, Copy):
            yield new.note
        else:
            yield f"would import {new.path}{f' as {new.entry.kind}' if new.entry.kind else ''}"
    for task in (task for entry in watch.judges for task in _tasks(entry)):
        name = f"{task.protocol} by {task.rater} ({task.entry.spec})"
        run = None if project_id is None else unfinished_run(db, project_id, task)
        if run is not None:
            yield f"would resume run {run}: {name}"
        elif project_id is not None:
            try:
                yield f"would judge {dry_cases(db, project_id, task):,} cases and those of new files: {name}"
            except RecjudgeError as error:
                yield f"would judge the cases of new files, {name}; now: {error}"
        else:
            yield f"would judge the cases of new files: {name}"
    yield from (
        f"would write {report.file}" for report in (watch.trend, watch.gate) if report and report.file
    )


def _tasks(entry: JudgeEntry) -> list[Task]:
    return [Task(entry, protocol, entry.name) for protocol in entry.protocols]


def import_files(
    db: Database, project_id: int, watch: Watch, new: list[WatchFile], night: Night, say: Say
) -> None:
    for file in new:
        if isinstance(file, Copy):
            say(file.note)
            save_watched_file(db, project_id, file.file)
            continue
        imported = import_new(db, project_id, watch, file) if isinstance(file, NewFile) else file
        if imported.error is not None:
            night.failures.append(str(imported.path))
            say(_failure(imported))
        for summary in imported.summaries:
            for part in summary.files:
                stored = (
                    "imported before" if part.earlier else f"{part.stored:,} of {part.read:,} rows stored"
                )
                say(f"{part.path}: {summary.kind}, {stored}")
            for warning in summary.warnings:
                say(warning)


def _failure(file: FileImport) -> str:
    text = file.error.sentences if file.error else ""
    return f"failed: {text if str(file.path) in text else f'{file.path}: {text}'}"


def judge_cases(db: Database, project_id: int, watch: Watch, night: Night, say: Say, work: Work) -> bool:
    """False if somebody interrupted the judges; True if all of them finished or failed."""
    for entry in watch.judges:
        left = entry.budget
        settle_anchors(db, project_id, entry)
        for task in _tasks_of_night(db, project_id, entry):
            if left is not None and left <= 0:
                say(f"{task.protocol} by {task.rater}: waits for the next night, because the budget is spent")
                night.is_unfinished = True
                continue
            judged = _judge(db, project_id, task, left, night, say, work)
            if judged.is_interrupted:
                say("interrupted; the same command resumes the night")
                return False
            night.is_unfinished |= judged.is_unfinished
            left = None if left is None else left - judged.spent
        settle_anchors(db, project_id, entry)
    return True


def _tasks_of_night(db: Database, project_id: int, entry: JudgeEntry) -> Iterator[Task]:
    """The tasks on anchors, then those on new cases. Missing anchors are drawn from the cases judged tonight."""
    yield from anchor_tasks(db, project_id, entry)
    yield from _tasks(entry)
    draw_anchors(db, project_id, entry)
    yield from anchor_tasks(db, project_id, entry)


def _judge(
    db: Database, project_id: int, task: Task, left: float | None, night: Night, say: Say, work: Work
) -> JudgedTask:
    what = f"{task.protocol} by {task.rater}"
    try:
        judged = judge_task(db, project_id, task, left, work)
    except RecjudgeError as error:
        night.failures.append(what)
        say(f"failed: {what}: {error.sentences}")
        return JudgedTask()
    if judged.run_id is None:
        say(f"{what}: nothing to judge")
        return judged
    verb = "resumed" if judged.is_resumed else "run"
    cost = f", {money(judged.spent)}" if judged.spent else ""
    failed = f", {judged.failed:,} failed" if judged.failed else ""
    say(f"{what}: {verb} {judged.run_id}, {judged.judged:,} calls done{failed}{cost}")
    if judged.reason:
        say(f"{what}: {judged.reason}")
    if judged.failed and not judged.judged:
        night.failures.append(what)
        say(f"failed: {what}: nothing was judged")
        for line in failure_lines(db, judged.run_id):
            say(line)
    return judged


def report(db: Database, project_id: int, watch: Watch, night: Night, say: Say) -> None:
    try:
        if watch.trend is not None:
            say(f"trend written to {write_trend(db, project_id, watch, watch.trend)}")
        if watch.gate is not None:
            night.exit_code, message, night.gate = gate_report(db, project_id, watch, watch.gate)
            say(message)
    except RecjudgeError as error:
        night.failures.append("report")
        say(f"failed: {error.sentences}")
    if night.failures and night.exit_code == 0:
        night.exit_code = FAILED
