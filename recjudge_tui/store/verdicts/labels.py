"""The labelled set: readers' verdicts stored as labels of an annotator, for measuring and for examples."""

from __future__ import annotations

from recjudge_tui.errors import UsageError
from recjudge_tui.store.database import Database, now
from recjudge_tui.store.raters.raters import ensure_rater

LABELLED = "labelled"


def verdict_to_keep(db: Database, verdict_id: int, reader: str) -> int:
    """The verdict that a reader means to keep while `verdict_id` is selected: this one, or the one just overridden.

    After an override the list moves on to the next verdict. So if the reader's last action was an override, and the
    selected verdict has no decision yet, the overridden verdict is meant.
    """
    last = db.row(
        """SELECT l.verdict_id, l.action FROM verdicts v JOIN triage_log l ON l.project_id = v.project_id
           WHERE v.id = ? AND l.reader = ? ORDER BY l.id DESC LIMIT 1""",
        (verdict_id, reader),
    )
    if last is None or last["action"] == "undo" or _answer(db, last["verdict_id"], reader) != "override":
        return verdict_id
    return int(last["verdict_id"]) if _answer(db, verdict_id, reader) in ("", "dismiss") else verdict_id


def _answer(db: Database, verdict_id: int | None, reader: str) -> str:
    """The reader's current decision on a verdict; empty without one."""
    label: str | None = db.value(
        "SELECT action FROM v_triage WHERE verdict_id = ? AND reader = ? AND decides", (verdict_id, reader)
    )
    return label or ""


def keep_as_label(db: Database, verdict_id: int, reader: str, name: str = LABELLED) -> int:
    """Store the reader's verdict as a label of the annotator `name`; returns the annotator's number of labels.

    The reader's verdict is their override, or the verdict itself if they accepted it. An existing label is replaced.
    Raises UsageError when the reader did neither, or when `name` is a rater of another kind.
    """
    with db.transaction():
        own = db.row(
            """SELECT o.* FROM verdicts v JOIN verdicts o ON o.case_id = v.case_id AND o.aspect = v.aspect
               JOIN raters r ON r.id = o.rater_id AND r.kind = 'reader' AND r.name = ? WHERE v.id = ?""",
            (reader, verdict_id),
        )
        if own is None and _answer(db, verdict_id, reader) == "accept":
            own = db.row("SELECT * FROM verdicts WHERE id = ? AND state = 'ok'", (verdict_id,))
        if own is None:
            raise UsageError(
                "you have not decided on this verdict yet", next_step="Accept or override it first."
            )
        rater = ensure_rater(db, own["project_id"], name, "annotator")
        db.execute(
            """INSERT INTO verdicts (project_id, rater_id, case_id, aspect, protocol, state, value, label, rule, note,
                 created_at) VALUES (?, ?, ?, ?, ?, 'ok', ?, ?, 'kept', ?, ?)
               ON CONFLICT (rater_id, case_id, aspect) DO UPDATE SET protocol = excluded.protocol,
                 value = excluded.value, label = excluded.label, note = excluded.note, created_at = excluded.created_at""",
            (
                *(own["project_id"], rater, own["case_id"], own["aspect"], own["protocol"]),
                *(own["value"], own["label"], f"from {reader}", now()),
            ),
        )
        count: int = db.value("SELECT count(*) FROM verdicts WHERE rater_id = ?", (rater,))
    return count
