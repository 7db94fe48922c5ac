"""The triage log: readers' decisions on verdicts, append-only, and the readers' own verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

from recjudge_tui.domain.filters import VerdictFilter
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.database import Database, StoredRow, named_cells, now
from recjudge_tui.store.filters import DECIDED, conditions
from recjudge_tui.store.raters import ensure_rater, find_rater, put_verdict

Action = Literal["accept", "dismiss", "override", "note", "tag", "undo"]
# each as a state of a verdict
DECISIONS = {"accept": "accepted", "dismiss": "dismissed", "override": "overridden"}
# the columns that say what a row of the log is about, beside the verdict
_ABOUT = ("project_id", "case_id", "rater", "aspect", "protocol")
# in characters, for notes and tags
LONGEST_TEXT = 4_000


class TriageState(NamedTuple):
    """The current state of a verdict: the last decision (may be empty), its label, the tags, and the last note."""

    decision: str = ""
    label: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""


def record(
    db: Database,
    verdict_id: int,
    reader: str,
    action: Action,
    *,
    text: str = "",
    label: str = "",
    value: float | None = None,
) -> int:
    """Add a row about a verdict and return its id. An override also stores the verdict of the rater `reader`. Raises
    NotFoundError when the verdict no longer exists, UsageError when a note or tag is empty or longer than LONGEST_TEXT,
    or when the reader's name belongs to another kind of rater."""
    text = text.strip()
    if action in ("note", "tag") and not text:
        raise UsageError(f"the {action} is empty", next_step="Write some text.")
    if len(text) > LONGEST_TEXT:
        raise UsageError(
            f"the {action} has {len(text):,} characters",
            next_step=f"Shorten it to at most {LONGEST_TEXT:,} characters.",
        )
    with db.transaction():
        verdict = verdict_row(db, verdict_id)
        row = db.add(
            "triage_log", **named_cells(verdict, _ABOUT), verdict_id=verdict_id, reader=reader, action=action,
            label=label, value=value, text=text, created_at=now(),
        )  # fmt: skip
        if action == "override":
            _restate(db, verdict["project_id"], reader, verdict["case_id"], verdict["aspect"])
    return row


def undo_last(db: Database, project_id: int, reader: str) -> StoredRow | None:
    """Undo the reader's newest standing action; returns it, or None. An earlier override takes effect again."""
    with db.transaction():
        sql = f"{_ENTRIES} WHERE project_id = ? AND reader = ? AND standing ORDER BY log_id DESC LIMIT 1"
        entry = db.row(sql, (project_id, reader))
        if entry is None:
            return None
        db.add(
            "triage_log", **named_cells(entry, _ABOUT), verdict_id=entry.verdict_id, reader=reader, action="undo",
            undoes=entry.log_id, created_at=now(),
        )  # fmt: skip
        if entry.action == "override":
            _restate(db, project_id, reader, entry.case_id, entry.aspect)
    return entry


def verdict_row(db: Database, verdict_id: int) -> StoredRow:
    """The verdict, with `rater`. Raises NotFoundError when it no longer exists."""
    sql = "SELECT v.*, r.name AS rater FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE v.id = ?"
    return db.only(sql, (verdict_id,), verdict_gone())


def verdict_gone() -> NotFoundError:
    return NotFoundError("this verdict no longer exists", "Its run or import was deleted in the meantime.")


def verdict_entries(db: Database, verdict_id: int) -> tuple[StoredRow, ...]:
    """All rows of v_triage about a verdict, oldest first, including undone ones."""
    return tuple(db.rows(f"{_ENTRIES} WHERE verdict_id = ? ORDER BY log_id", (verdict_id,)))


def project_entries(db: Database, project_id: int) -> tuple[StoredRow, ...]:
    """The whole log of a project, oldest first."""
    return tuple(db.rows(f"{_ENTRIES} WHERE project_id = ? ORDER BY log_id", (project_id,)))


def triage_states(db: Database, ids: Sequence[int]) -> dict[int, TriageState]:
    """verdict id -> its triage state; without verdicts that have none."""
    states: dict[int, TriageState] = {}
    sql = f"{_ENTRIES} WHERE verdict_id IN (SELECT value FROM json_each(?)) AND standing ORDER BY log_id"
    for row in db.rows(sql, (json.dumps(list(ids)),)):
        held = states.get(row["verdict_id"], TriageState())
        if row["action"] in DECISIONS:
            held = held._replace(decision=row["action"], label=row["label"])
        elif row["action"] == "tag":
            held = held._replace(tags=(*held.tags, row["text"]))
        else:
            held = held._replace(note=row["text"])
        states[row["verdict_id"]] = held
    return states


def decided_among(db: Database, ids: Sequence[int]) -> set[int]:
    """Those of these verdicts that have a decision."""
    return {key for key, state in triage_states(db, ids).items() if state.decision}


def count_triaged(
    db: Database, project_id: int, chosen: VerdictFilter, only: Sequence[int] | None = None
) -> int:
    """The number of verdicts that pass the filter (with `only`, on these cases) and have a decision."""
    where, parameters = conditions(project_id, chosen)
    if only is not None:
        where += " AND v.case_id IN (SELECT value FROM json_each(:only))"
        parameters["only"] = json.dumps(list(only))
    return db.number(f"SELECT count(*) FROM verdicts v WHERE v.id IN ({DECIDED}) AND {where}", parameters)


def _restate(db: Database, project_id: int, reader: str, case_id: int, aspect: str) -> None:
    """Update the reader's verdict to their last override that is not undone; delete it without one."""
    sql = f"""{_ENTRIES} WHERE project_id = ? AND reader = ? AND case_id = ? AND aspect = ? AND action = 'override'
              AND standing ORDER BY log_id DESC LIMIT 1"""
    last = db.row(sql, (project_id, reader, case_id, aspect))
    if last is None:
        sql = "DELETE FROM verdicts WHERE rater_id = ? AND case_id = ? AND aspect = ?"
        db.execute(sql, (find_rater(db, project_id, reader), case_id, aspect))
        return
    about = (ensure_rater(db, project_id, reader, "reader"), case_id, aspect, last["protocol"])
    put_verdict(db, about, (last["value"], last["label"]), "override")


# the log; `standing`: nobody took the action back
_ENTRIES = "SELECT * FROM v_triage"


class Choices(NamedTuple):
    """The possible answers: (label, value), best first, or a number from `low` to `high`."""

    labels: tuple[tuple[str, float], ...]
    low: float = 0.0
    high: float = 0.0


def choices(db: Database, verdict_id: int) -> Choices:
    """The answers that can replace a verdict: the labels or scale of its prompt; without a run, of the protocol's newest
    run or prompt; else the labels given so far. Raises NotFoundError, or UsageError when there are none."""
    from recjudge_tui.store.prompts import prompt_by_id

    verdict = verdict_row(db, verdict_id)
    prompt_id = db.value(
        """SELECT prompt_id FROM runs WHERE id = :run OR (project_id = :project AND protocol = :protocol)
           ORDER BY id = :run DESC, id DESC LIMIT 1""",
        {"run": verdict["run_id"], "project": verdict["project_id"], "protocol": verdict["protocol"]},
    ) or db.value(
        "SELECT id FROM prompts WHERE protocol = ? ORDER BY id DESC LIMIT 1", (verdict["protocol"],)
    )
    if prompt_id is not None:
        prompt = prompt_by_id(db, prompt_id)
        if prompt.scale is not None:
            return Choices((), prompt.scale.low, prompt.scale.high)
        labels = prompt.labels_of(verdict["aspect"])
        if labels:
            return Choices(tuple((label.name, label.value) for label in labels))
    sql = """SELECT DISTINCT label, value FROM verdicts WHERE project_id = ? AND protocol = ? AND aspect = ?
               AND label <> '' AND state = 'ok' ORDER BY value DESC LIMIT 9"""
    given = db.rows(sql, (verdict["project_id"], verdict["protocol"], verdict["aspect"]))
    if not given:
        raise UsageError(
            "there are no answers to choose from",
            f"No {verdict['protocol']} prompt asks for “{verdict['aspect']}”, and no label was given so far.",
            "Override the verdict of a judge or a person.",
        )
    return Choices(tuple((row["label"], row["value"]) for row in given))


def parse_choice(db: Database, verdict_id: int, wanted: str) -> tuple[str, float]:
    """The (label, value) among the choices that matches `wanted`, ignoring case. A prefix is enough if only one label has
    it. Raises NotFoundError, or UsageError naming the choices."""
    offered = choices(db, verdict_id)
    if not offered.labels:
        try:
            value = float(wanted)
        except ValueError:
            value = float("nan")
        if offered.low <= value <= offered.high:
            return f"{value:g}", value
        raise UsageError(f"“{wanted}” is not a number from {offered.low:g} to {offered.high:g}")
    lowered = wanted.casefold()
    exact = [pair for pair in offered.labels if pair[0].casefold() == lowered]
    begun = [pair for pair in offered.labels if lowered and pair[0].casefold().startswith(lowered)]
    for matches in (exact, begun):
        if len(matches) == 1:
            return matches[0]
    names = ", ".join(label for label, _ in offered.labels)
    raise UsageError(f"no label “{wanted}” for this verdict", f"Available: {names}.")
