"""What a database holds, a table for each kind of thing: projects, imports, cases, raters, prompts, runs and their settings,
failures, batches, the actions of readers and the progress of annotators.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings, sampling_of
from recjudge_tui.domain.run_options import RUN_OPTIONS, settings_that
from recjudge_tui.domain.text import money, one_line, quantity
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import seen_first, whole
from recjudge_tui.reports.common.table import Column, Note, Row, Table, columns, definition
from recjudge_tui.reports.declare import Options, table_of
from recjudge_tui.reports.early_stopping import stop_lines
from recjudge_tui.reports.runs import plain_value, reused_words
from recjudge_tui.reports.words import rater_notes
from recjudge_tui.stats.estimate import undefined
from recjudge_tui.steps import Step
from recjudge_tui.store import runs as run_store
from recjudge_tui.store.cases import case_count, list_cases
from recjudge_tui.store.data import event_counts, heldout_types, repeated_events, systems
from recjudge_tui.store.database import Database, StoredRow, now
from recjudge_tui.store.histories import held_out_copies
from recjudge_tui.store.imports import list_imports
from recjudge_tui.store.people import own_tasks, project_assignments
from recjudge_tui.store.projects import project_counts, project_overview
from recjudge_tui.store.prompts import list_prompts
from recjudge_tui.store.raters import list_raters
from recjudge_tui.store.ratings import project_raters
from recjudge_tui.store.triage import project_entries


def _listed(
    title: str, heads: tuple[Column, ...], rows: Iterable[StoredRow | Row], answer: str = "", *, none: str = "",
    notes: Iterable[str] = (), seen: str | Sequence[str] = (),
) -> Table:  # fmt: skip
    """A table of these cells of the rows, without rows with the note `none`; `seen`: the columns that people read first."""
    kept = tuple({column.name: row[column.name] for column in heads} for row in rows)
    notes = tuple(notes) if kept or not none else (*notes, none)
    table = Table(title, heads, kept, notes, answer=answer if kept else "")
    return seen_first(table, seen) if seen else table


_NOTHING_JUDGED = Note("nothing is judged yet", step=Step("judge"))


# ---- projects and their data -----------------------------------------------------------------------------------------

_PROJECTS = columns(
    "name|Project", "cases|Cases|int", "verdicts|Verdicts|int", "flagged|Flagged|int", "runs|Runs|int", "state|Newest run",
    "last_run|Last run|time", "created_at|Made|time",
)  # fmt: skip
_IMPORTS = columns(
    "id|Import", "kind|Kind", "layout|(Layout)", "path|File", "rows_read|Read|int", "rows_stored|Stored|int",
    "rows_skipped|Skipped|int", "warnings|(Warnings)|int", "created_at|When|time", "undone_at|Undone|time",
)  # fmt: skip
_CASES = columns(
    "case_id|Case", "kind|Kind", "user_id|User", "context|Context", "served_at|Served|time", "item_id|Item",
    "system_a|System A", "system_b|System B", "verdicts|Verdicts|int",
)  # fmt: skip


def projects(db: Database) -> Table:
    """One row per project."""
    found = project_overview(db)
    none = Note("no project yet: an import makes one", step=Step("import"))
    return _listed("Projects", _PROJECTS, found, f"{quantity(len(found), 'project')}.", none=none)


def project(of: Project) -> Table:
    """The content of one project, one row per kind of thing, with names if there are few."""
    db, key = of.db, of.id
    known, runs_made = list_raters(db, key), run_store.list_runs(db, key)
    verdicts = sum(row["verdicts"] for row in known)
    counts = dict(project_counts(db, key)) | {"cases": case_count(db, key), "raters": len(known)}
    counts |= {"verdicts": verdicts, "runs": len(runs_made)}
    details = {
        "events": ", ".join(f"{name} {count:,}" for name, count in event_counts(db, key).items()),
        "heldout": ", ".join(heldout_types(db, key)),
        "slates": ", ".join(systems(db, key)),
        "raters": ", ".join(row["name"] for row in known),
        "runs": ", ".join(f"{row['id']} {row['state']}" for row in runs_made[:5]),
    }
    rows = [{"what": what, "count": n, "details": details.get(what, "")} for what, n in counts.items()]
    notes = [Note(sentence, "warning") for sentence in held_out_copies(db, key).sentences]
    if repeated := repeated_events(db, key):
        once = "imported more than once: judges and metrics count each only once"
        notes.append(Note(f"{quantity(repeated, 'event')} {once}"))
    notes += [] if verdicts else [_NOTHING_JUDGED]
    said = f"{quantity(counts['users'], 'user')}, {quantity(counts['items'], 'item')}, {quantity(verdicts, 'verdict')}"
    by = f" of {quantity(len(known), 'rater')}" if known else ""
    return Table(
        f"Project {of.name}", columns("what|What", "count|Count|int", "details|Details"), tuple(rows), tuple(notes),
        answer=f"{said}{by}.",
    )  # fmt: skip


def imports(of: Project, _: Options) -> Table:
    """One row per import, newest first."""
    stored_rows = reversed(list_imports(of.db, of.id))
    found = [dict(row) | {"warnings": len(json.loads(row["warnings"]))} for row in stored_rows]
    stored, skipped = (sum(row[name] for row in found) for name in ("rows_stored", "rows_skipped"))
    answer = f"{quantity(len(found), 'import')}: {quantity(stored, 'row')} stored, {skipped:,} skipped."
    none = Note("no import yet", step=Step("import"))
    seen = "id kind path rows_stored rows_skipped created_at undone_at"
    return _listed("Imports", _IMPORTS, found, answer, none=none, seen=seen)


def cases(of: Project, choose: Options) -> Table:
    """One row per case with its number of verdicts; only the first `limit` cases."""
    found, total = list_cases(of.db, of.id, choose.limit), case_count(of.db, of.id)
    judged = sum(row["verdicts"] > 0 for row in found)
    notes = [Note(f"{len(found):,} of {total:,} cases")] if len(found) < total else []
    none = Note("no case yet: planning a run or importing labels makes them", step=Step("judge"))
    judged_words = "" if len(found) < total else f", {judged:,} with verdicts"
    some = ("context", "served_at", "item_id", "system_b")
    used = (name for name in some if any(row[name] for row in found))
    seen = ("case_id", "kind", "user_id", "system_a", "verdicts", *used)
    answer = f"{quantity(total, 'case')}{judged_words}."
    return _listed("Cases", _CASES, found, answer, none=none, notes=notes, seen=seen)


# ---- raters and prompts ----------------------------------------------------------------------------------------------

_RATERS = columns(
    "name|Rater", "kind|Kind", "protocols|Protocols", "verdicts|Verdicts|int", "failed|(Failed)|int", "recipe|Made from",
    "settings|Asked with", "created_at|(Made)|time",
)  # fmt: skip
_PROMPTS = columns(
    "name|Prompt", "version|Version|int", "protocol|Protocol", "domain|Domain", "origin|Origin", "runs|Runs|int",
    "description|Description",
)  # fmt: skip


def raters(of: Project, _: Options) -> Table:
    """One row per rater: its kind, its verdicts, the raters that it is made from, and how its runs were asked."""
    found = list_raters(of.db, of.id)
    asked: dict[str, dict[str, None]] = {}
    for run, prompt in run_store.run_conditions(of.db, of.id):
        spec = json.loads(run["judge"])["spec"]
        others = {"protocol", *settings_that("cases", "draw", "work")}
        said = "; ".join(filter(None, (spec, prompt.name, _unusual(run["settings"], others))))
        asked.setdefault(run["rater"], {})[said] = None
    rows = [
        {
            **row, "recipe": recipe_words(row["recipe"]), "protocols": row["protocols"].replace(",", ", "),
            "settings": " | ".join(asked.get(row["name"], ())),
        }
        for row in found
    ]  # fmt: skip
    total, failed = (sum(row[name] for row in found) for name in ("verdicts", "failed"))
    lost = f", {failed:,} failed" if failed else ""
    return _listed(
        "Raters", _RATERS, rows, f"{quantity(len(found), 'rater')} gave {quantity(total, 'verdict')}{lost}.",
        none=Note("nobody has judged anything yet", step=Step("judge")), seen="name kind protocols verdicts failed recipe",
        notes=map(Note, rater_notes(project_raters(of.db, of.id).values())),
    )  # fmt: skip


def recipe_words(text: str) -> str:
    """`conservative of anna, ben`: what the recipe of a rater, in JSON, makes it from."""
    recipe = json.loads(text)
    if "rule" in recipe and "raters" in recipe:
        return f"{recipe['rule']} of {', '.join(recipe['raters'])}"
    return "; ".join(f"{key}: {value}" for key, value in recipe.items())


def prompts(db: Database) -> Table:
    """One row per version of a prompt."""
    found = list_prompts(db)
    used = sum(row["runs"] > 0 for row in found)
    answer = f"{quantity(len(found), 'prompt')}, {used:,} used by runs."
    return _listed("Prompts", _PROMPTS, found, answer, seen="name version protocol domain origin runs")


# ---- runs ------------------------------------------------------------------------------------------------------------

_RUNS = columns(
    "id|Run", "name|(Name)", "project|Project", "rater|Rater", "protocol|Protocol", "judge|(Judge)", "prompt|Prompt",
    "state|State", "calls|Calls|int", "done|Done|int", "failed|Failed|int", "cached|(Cached)|int",
    "tokens_in|(Tokens in)|int", "tokens_out|(Tokens out)|int", "cost_usd|Cost|usd", "unknown_usd|(Not known)|usd",
    "seconds|Time|seconds", "address|(Address)",
)  # fmt: skip
_SETTINGS = columns(
    "id|Run", "rater|Rater", "protocol|Protocol", "judge|Judge", "model|Model", "digest|Digest", "prompt|Prompt",
    "prompt_digest|Prompt SHA-256", "top_k|Top k|int", "history|History|int", "history_days|Days|int", "swap|Both orders",
    "repeats|Repeats|int", "temperature|Temperature|float", "seed|Seed", "aspects|Aspects", "shots|Shots",
    "profile|Profile", "other|Other settings", "created_at|Planned|time",
)  # fmt: skip
_FAILURES = columns(
    "id|Run", "rater|Rater", "protocol|Protocol", "error_kind|Failure", "failed|Calls|int", "calls|Of|int",
    "example|For instance",
)  # fmt: skip
_BATCHES = columns(
    "id|Batch", "remote_id|At the provider", "state|State", "said|Provider says", "calls|Calls|int", "done|Answered|int",
    "failed|Failed|int", "submitted_at|(Submitted)|time", "server|(Server)", "error|(Error)",
)  # fmt: skip
# as JSON has them
_USUAL = json.loads(json.dumps({name: option.default for name, option in RUN_OPTIONS.items()}))
_SHOWN = {column.name for column in _SETTINGS} | {"protocol"}


def runs(db: Database, of: Project | None = None, only: Collection[int] = ()) -> Table:
    """One row per run, newest first; tokens and cost of new calls only, not of cached answers. `only`: of these runs."""
    project_id = None if of is None else of.id
    found = [run for run in run_store.list_runs(db, project_id) if not only or run["id"] in only]
    odd = [error.sentences for error in run_store.odd_runs(db, project_id)]
    said = (*odd, *(text for run in found for text in run_notes(run)))
    return _listed(
        "Runs", _RUNS, [{**run, "address": _address(run)} for run in found], _runs_answer(found),
        none="" if odd else Note("no run yet", step=Step("judge")), notes=[Note(text, "warning") for text in said],
        seen=f"{'' if of else 'project '}id rater protocol prompt state done failed cost_usd seconds",
    )  # fmt: skip


def _address(run: StoredRow) -> str:
    """The servers and the names of the variables that the run's judge has, where they are not its provider's own."""
    try:
        return JudgeSpec.model_validate_json(run["stored_judge"]).where
    except ValueError:
        return "cannot be read"


def _runs_answer(found: Sequence[StoredRow]) -> str:
    calls, done = (sum(run[name] for run in found) for name in ("calls", "done"))
    unpriced = sum(run["cost_usd"] is None and run["done"] > run["cached"] for run in found)
    cost = f"{money(sum(run['cost_usd'] or 0.0 for run in found))} spent"
    if unpriced:
        cost += f", the cost of {quantity(unpriced, 'run')} unknown"
    return f"{quantity(len(found), 'run')}: {done:,} of {quantity(calls, 'call')} answered, {cost}."


def run_notes(run: StoredRow) -> tuple[str, ...]:
    """What the figures of a row of v_runs do not include, and a pause requested by its server."""
    waits = run["state"] == "running" and (run["waiting_until"] or "") > now()
    notes = {
        f"{quantity(run['impossible'] or 0, 'call')} with an impossible stored cost or number of tokens (negative or beyond"
        " any bound), so there is no sum": run["impossible"],
        f"up to {money(run['unknown_usd'] or 0.0)} more may have been billed, for answers without a count of tokens, lost"
        " answers and calls in flight; a budget counts it as spent": run["unknown_usd"],
        f"waits until {run['waiting_until']}, because its server asked for a pause": waits,
    }  # fmt: skip
    return tuple(f"run {run['id']}: {note}" for note, holds in notes.items() if holds)


def run(db: Database, run_id: int) -> Table:
    """One run, with its settings; notes have its error and why calls failed. Raises NotFoundError."""
    summary, stored = run_store.run_summary(db, run_id), run_store.run_row(db, run_id)
    stands = stop_lines(db, run_id)
    # if a stopping rule ended the run, these lines give the reason
    named = ("error",) if not stands or summary["state"] != "done" else ()
    progress = run_store.run_progress(db, run_id)
    settings = {k: v for k, v in json.loads(stored["settings"]).items() if v not in ("", [], None)}
    address = _address(summary)
    notes = [
        *([f"asks {address}"] if address else []), *stands, *run_notes(summary),
        *failure_lines(db, run_id), *filter(None, [reused_words(progress)]),
        *(f"{key}: {summary[key]}" for key in (*named, "created_at", "started_at", "finished_at") if summary[key]),
        f"settings: {', '.join(f'{key} {plain_value(value)}' for key, value in settings.items())}",
    ]  # fmt: skip
    heads = (*_RUNS, Column("tokens_reused", "Reused", "int", minor=True))
    reused = progress.tokens_reused if progress.tokens_counted else None
    row = {**summary, "address": address, "tokens_reused": reused}
    said = [Note(text, "warning") for text in notes]
    table = _listed(f"Run {run_id}", heads, [row], _runs_answer([summary]), notes=said)
    return replace(table, settings=settings)


def run_settings(of: Project, _: Options) -> Table:
    """One row per run, oldest first: judge, served model, prompt, and the settings that change what is judged."""
    rows: list[Row] = []
    for run, prompt in run_store.run_conditions(of.db, of.id):
        settings, judge = json.loads(run["settings"]), json.loads(run["judge"])
        served = json.loads(run["identity"] or "{}")
        usual = {c.name: settings.get(c.name, "" if c.kind == "text" else None) for c in _SETTINGS}
        rows.append(usual | {name: run[name] for name in ("rater", "protocol", "created_at")} | {
            "temperature": sampling_of(RunSettings.model_validate_json(run["settings"]), 0).temperature,
            "swap": settings.get("swap"), "seed": str(settings.get("seed", "")), "id": str(run["id"]),
            "judge": judge["spec"], "model": served.get("name", ""), "digest": served.get("digest", ""),
            "prompt": prompt.name, "prompt_digest": prompt.digest, "other": _unusual(run["settings"]),
        })  # fmt: skip
    always = ("id", "rater", "protocol", "created_at", "prompt_digest", "digest")
    values = {c.label.lower(): {str(row[c.name]) for row in rows} for c in _SETTINGS if c.name not in always}
    differ = [label for label, different in values.items() if len(different) > 1]
    answer = f"{quantity(len(rows), 'run')}, which differ in {', '.join(differ)}." if differ else ""
    seen = "id rater protocol model prompt temperature repeats other"
    return _listed("Settings of the runs", _SETTINGS, rows, answer, none="no run yet", seen=seen)


def _unusual(settings: str, but: Collection[str] = _SHOWN) -> str:
    """The settings that are not at their defaults, without those named."""
    given = json.loads(settings).items()
    return ", ".join(f"{k} {plain_value(v)}" for k, v in given if k not in but and v != _USUAL.get(k))


def failures(of: Project, _: Options) -> Table:
    """One row per run and kind of failure, with one error as an example. Failures are not verdicts."""
    rows: list[dict[str, Any]] = [
        {
            **{name: run[name] for name in ("rater", "protocol", "calls")}, "id": str(run["id"]),
            "error_kind": failure["error_kind"], "failed": failure["calls"],
            "example": one_line(failure["example"] or "", 300),
        }
        for run in reversed(run_store.list_runs(of.db, of.id))
        for failure in run_store.run_failures(of.db, run["id"])
    ]  # fmt: skip
    kinds: Counter[str] = Counter()
    for row in rows:
        kinds[row["error_kind"].replace("_", " ")] += row["failed"]
    each = ", ".join(f"{n:,} {kind}" for kind, n in kinds.most_common())
    table = _listed("Failed calls", _FAILURES, rows, f"{quantity(kinds.total(), 'call')} failed: {each}.")
    return table if rows else replace(table, answer="No call failed.")


def failure_lines(db: Database, run_id: int) -> list[str]:
    """Why calls of a run failed, a line for each kind of error, most frequent first; its example is nearly whole."""
    return [
        f"{quantity(failure['calls'], 'call')} failed ({failure['error_kind']}), for instance:"
        f" {one_line(failure['example'] or '', 300 if at else 2000)}"
        for at, failure in enumerate(run_store.run_failures(db, run_id))
    ]


def batches(run_id: int, found: Sequence[StoredRow]) -> Table:
    """The batches of a run at a provider, oldest first."""
    sent, done = (sum(row[name] or 0 for row in found) for name in ("calls", "done"))
    answer = f"{done:,} of {quantity(sent, 'call')} answered in {quantity(len(found), 'batch', 'batches')}."
    rows = [{**row, "id": str(row["id"])} for row in found]
    none = f"run {run_id} has no batch at a provider"
    return _listed(f"Batches of run {run_id}", _BATCHES, rows, answer, none=none)


# ---- readers and annotators ------------------------------------------------------------------------------------------

_LOG = columns(
    "id|(Row)", "created_at|When|time", "reader|Reader", "action|Did", "case_id|Case", "rater|Rater", "protocol|(Protocol)",
    "aspect|Aspect", "label|To", "text|Text", "undoes|(Undoes)", "standing|In effect",
)  # fmt: skip


def triage_log(of: Project, _: Options) -> Table:
    """One row per action of a reader on a verdict, oldest first; `standing` is no for undone actions and the undo itself."""
    entries = project_entries(of.db, of.id)
    rows: list[Row] = [
        {**entry} | {
            "id": entry.log_id, "case_id": str(entry.case_id), "undoes": "" if entry.undoes is None else str(entry.undoes),
            "standing": "yes" if entry.standing else "no",
        }
        for entry in entries
    ]  # fmt: skip
    counts = Counter(entry.action for entry in entries if entry.standing)
    said = ", ".join(f"{n:,} {action}" for action, n in counts.most_common())
    answer = f"{quantity(len(entries), 'action')}; in effect: {said or 'none'}."
    table = _listed(
        f"Triage of {one_line(of.name, 60)}", _LOG, rows, answer,
        none="no reader has decided anything yet", seen="created_at reader action case_id rater label text standing",
    )  # fmt: skip
    return replace(table, settings={"project": of.name})


_ANNOTATION = columns(
    "annotator|Annotator", "protocol", "open|Open|int", "done|Done|int", "skipped|Skipped|int",
    "median_seconds|Median time|seconds", "stat|(Statistic)|statistic", "agreement|Agreement|float",
    "ci_low ci_high", "against|With", "n note",
)  # fmt: skip


def annotation(of: Project) -> Table:
    """One row per annotator and protocol. Undefined agreement is None with the reason in `note`."""
    assigned = sorted(project_assignments(of.db, of.id), key=lambda one: (one.protocol, one.rater))
    rows: list[Row] = []
    for one in assigned:
        times = [t.seconds for t in own_tasks(of.db, one.rater_id, one.protocol) if t.state == "done"]
        others = tuple(other.rater for other in assigned if other.protocol == one.protocol)
        rows.append({
            "annotator": one.rater, "protocol": one.protocol, "open": one.open, "done": one.done, "skipped": one.skipped,
            "median_seconds": median(times) if times else None, **_agreement(of, one.rater, one.protocol, others),
        })  # fmt: skip
    about = definition("agreement: with the annotator with whom most cases are shared, interval over users")
    notes = (about,) if rows else (Note("no annotators yet", step=Step("label")),)
    return Table("Annotation", _ANNOTATION, tuple(rows), notes)


def _agreement(project: Project, rater: str, protocol: str, annotators: tuple[str, ...]) -> Row:
    """The usual figure of an annotator and the one of the others with whom it shares most cases."""
    met = table_of(project, "agreement", protocol=protocol, raters=annotators).rows if annotators[1:] else ()
    mine = [row for row in met if rater in (row["rater_a"], row["rater_b"]) and row["n"]]
    if not mine:
        nothing = undefined("no case that another annotator has also finished")
        return {"stat": None, "agreement": None, **nothing.ends(), "n": 0, "note": nothing.note}
    most = max(mine, key=lambda row: whole(row, "n"))
    against = most["rater_b"] if most["rater_a"] == rater else most["rater_a"]
    cells = {name: most[name] for name in ("stat", "ci_low", "ci_high", "n", "note")}
    return {"against": against, "agreement": most["value"], **cells}
