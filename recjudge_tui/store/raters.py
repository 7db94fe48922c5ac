"""Raters, and those made from others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from recjudge_tui.domain.roles import IMPORTED
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.database import Database, StoredRow, empty_log, merge_search_index, now, read_cell
from recjudge_tui.store.facts import about_systems, sane_name, with_unit_in

if TYPE_CHECKING:
    from recjudge_tui.domain.roles import RaterKind


def ensure_rater(
    db: Database, project_id: int, name: str, kind: RaterKind, recipe: dict[str, Any] | None = None
) -> int:
    """The rater's id; creates the rater if it is new. Raises UsageError when the name belongs to another kind."""
    row = db.row("SELECT id, kind FROM raters WHERE project_id = ? AND name = ?", (project_id, name))
    if row is not None:
        if row["kind"] != kind:
            raise UsageError(
                f"rater “{name}” is of kind {row['kind']}, not {kind}", next_step="Choose another name."
            )
        return int(row["id"])
    text = json.dumps(recipe or {}, ensure_ascii=False)
    return db.add("raters", project_id=project_id, name=name, kind=kind, recipe=text, created_at=now())


def find_rater(db: Database, project_id: int, name: str) -> int | None:
    return db.found("SELECT id FROM raters WHERE project_id = ? AND name = ?", (project_id, name))


def rater_kind(db: Database, project_id: int, name: str) -> RaterKind | None:
    """The kind of the rater called `name`; None if there is none."""
    sql = "SELECT kind FROM raters WHERE project_id = ? AND name = ?"
    return cast("RaterKind | None", db.value(sql, (project_id, name)))


def change_kind(db: Database, project_id: int, name: str, kind: RaterKind) -> None:
    """Set the kind of an imported rater: a person, the users, or a judge. Raises UsageError for any other rater."""
    rater = rater_row(db, project_id, name)
    if rater["kind"] not in IMPORTED:
        raise UsageError(
            f"the kind of rater “{name}” cannot be changed",
            f"It is of kind {rater['kind']}, made by recjudge.",
        )
    if db.any("SELECT 1 FROM runs WHERE rater_id = ?", (rater["id"],)):
        raise UsageError(f"the kind of rater “{name}” cannot be changed", "A run used it, so it is a judge.")
    db.change("raters", rater["id"], kind=kind)


def judged_kinds(db: Database, rater_id: int) -> set[str]:
    """The kinds of cases (list, pair, explanation, adversarial) on which the rater has a verdict."""
    sql = f"""SELECT DISTINCT CASE WHEN {about_systems("v.protocol")} THEN c.kind ELSE v.protocol END
        FROM verdicts v JOIN cases c ON c.id = v.case_id WHERE v.rater_id = ?"""
    return set(db.column(sql, (rater_id,)))


def rater_row(db: Database, project_id: int, name: str) -> StoredRow:
    """The rater called `name`. Raises NotFoundError naming the existing raters."""
    row = db.row("SELECT * FROM raters WHERE project_id = ? AND name = ?", (project_id, name))
    if row is None:
        names = ", ".join(rater_names(db, project_id))
        raise NotFoundError(f"no rater “{name}” in this project", f"Available: {names or 'none'}.")
    return _read(row)


def _read(row: StoredRow) -> StoredRow:
    """The row of a rater, once its recipe is known to be one: a file may come from anybody."""
    from recjudge_tui.domain.judge import Recipe

    read_cell(Recipe, row["recipe"], "raters", row["id"], "recipe")
    return row


def rater_names(db: Database, project_id: int) -> list[str]:
    return db.column("SELECT name FROM raters WHERE project_id = ? ORDER BY name", (project_id,))


def list_raters(db: Database, project_id: int) -> list[StoredRow]:
    """One row per rater. Columns: id, name, kind, verdicts, failed, protocols (comma-separated), created_at, recipe."""
    sql = """SELECT r.id, r.name, r.kind, r.recipe, r.created_at,
               count(v.id) AS verdicts, ifnull(sum(v.state = 'failed'), 0) AS failed,
               ifnull(group_concat(DISTINCT v.protocol), '') AS protocols
             FROM raters r LEFT JOIN verdicts v ON v.rater_id = r.id
             WHERE r.project_id = ? GROUP BY r.id ORDER BY r.name"""
    return list(map(_read, db.rows(sql, (project_id,))))


def provenance(db: Database, project_id: int) -> dict[str, StoredRow]:
    """rater -> how its verdicts came: `imported` of them from files; `blind` were given to a task in recjudge, by an
    annotator who had been shown no other verdict on the case and had reviewed none. Without raters that have none."""
    sql = """SELECT r.name, sum(v.import_id IS NOT NULL) AS imported,
               sum(v.run_id IS NULL AND v.import_id IS NULL
                 AND EXISTS (SELECT 1 FROM annotation_tasks t WHERE t.rater_id = r.id AND t.case_id = v.case_id
                   AND t.protocol = v.protocol AND t.state = 'done')
                 AND NOT EXISTS (SELECT 1 FROM annotation_tasks t WHERE t.rater_id = r.id AND t.case_id = v.case_id
                   AND t.revealed_at < v.created_at)
                 AND NOT EXISTS (SELECT 1 FROM triage_log g WHERE g.reader = r.name AND g.case_id = v.case_id
                   AND g.created_at < v.created_at)) AS blind
             FROM raters r JOIN verdicts v ON v.rater_id = r.id WHERE r.project_id = ? GROUP BY r.id"""
    return {row.name: row for row in db.rows(sql, (project_id,))}


def delete_rater(db: Database, project_id: int, name: str) -> int:
    """Delete a rater with its runs and verdicts; returns the number of deleted verdicts. Nothing of its replies stays in
    the file."""
    rater = rater_row(db, project_id, name)
    gone = db.number("SELECT count(*) FROM verdicts WHERE rater_id = ?", (rater["id"],))
    with db.transaction():
        db.execute("DELETE FROM raters WHERE id = ?", (rater["id"],))
        merge_search_index(db)
    empty_log(db)
    return gone


def rename_rater(db: Database, project_id: int, name: str, new_name: str) -> None:
    """Give a rater another name, also in the recipes of the raters that are made from it. Raises NotFoundError, and
    UsageError when the new name is empty, too long or taken."""
    rater = rater_row(db, project_id, name)
    new_name = sane_name(new_name, "the rater")
    if not new_name:
        raise UsageError("a rater needs a name")
    if new_name == name:
        return
    if find_rater(db, project_id, new_name) is not None:
        raise UsageError(f"there is a rater “{new_name}” already", next_step="Choose another name.")
    with db.transaction():
        db.change("raters", rater["id"], name=new_name)
        for other in map(_read, db.rows("SELECT id, recipe FROM raters WHERE project_id = ?", (project_id,))):
            recipe = json.loads(other["recipe"])
            if name in recipe.get("raters", ()):
                recipe["raters"] = sorted(new_name if made == name else made for made in recipe["raters"])
                db.change("raters", other["id"], recipe=json.dumps(recipe, ensure_ascii=False))


# ---- combined ----------------------------------------------------------------------------------------------------


class DerivedVerdict(NamedTuple):
    """A verdict made by an adjudication rule or a metric."""

    case_id: int
    aspect: str
    protocol: str
    value: float
    label: str
    note: str
    confidence: float | None = None


def input_verdicts(db: Database, rater_ids: Sequence[int]) -> list[StoredRow]:
    """All verdicts of these raters, by case and aspect; `value` is None if it failed."""
    sql = """SELECT v.rater_id, v.case_id, c.kind AS case_kind, v.aspect, v.protocol, v.value, v.label
             FROM verdicts v JOIN cases c ON c.id = v.case_id
             WHERE v.rater_id IN (SELECT value FROM json_each(?)) ORDER BY v.case_id, v.aspect, v.protocol"""
    return db.rows(sql, (json.dumps(list(rater_ids)),))


def tie_label(db: Database, project_id: int) -> str:
    """The label of a tie in this project."""
    sql = f"""SELECT v.label FROM verdicts v JOIN raters r ON r.id = v.rater_id
        WHERE r.project_id = ? AND {with_unit_in("v.protocol", "pair")} AND v.value = 0 AND v.label <> '' LIMIT 1"""
    label: str | None = db.value(sql, (project_id,))
    return label or "Tie"


def replace_verdicts(
    db: Database,
    rater_id: int,
    made: Sequence[DerivedVerdict],
    rule: str,
    *,
    protocol: str = "",
    but: str = "",
) -> None:
    """Replace the rater's verdicts (with `protocol`, those under it by this rule) by these: writes the changed ones and
    removes all others. Verdicts by the rule `but` stay. Call inside a transaction."""
    kept = json.dumps([[verdict.case_id, verdict.aspect] for verdict in made])
    sql = """DELETE FROM verdicts WHERE rater_id = ? AND (case_id, aspect) NOT IN (
               SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))
             AND (?3 = '' OR protocol = ?3 AND rule = ?4)"""
    db.execute(sql, (rater_id, kept, protocol, rule))
    sql = """INSERT INTO verdicts (rater_id, case_id, aspect, protocol, state, value, label, rule, note, confidence,
               created_at, project_id)
             VALUES (?1, ?, ?, ?, 'ok', ?, ?, ?, ?, ?, ?, (SELECT project_id FROM raters WHERE id = ?1))
             ON CONFLICT (rater_id, case_id, aspect) DO UPDATE SET protocol = excluded.protocol, value = excluded.value,
               label = excluded.label, rule = excluded.rule, note = excluded.note, confidence = excluded.confidence,
               created_at = excluded.created_at
             WHERE rule <> ?11 AND (value <> excluded.value OR label <> excluded.label OR note <> excluded.note
               OR confidence IS NOT excluded.confidence)"""
    db.execute_many(sql, [(rater_id, *verdict[:5], rule, *verdict[5:], now(), but) for verdict in made])


def put_verdict(
    db: Database,
    about: tuple[int, int, str, str],
    answer: tuple[float, str],
    rule: str,
    *,
    note: str = "",
    flags: int = 0,
    own_only: bool = False,
) -> int | None:
    """Store the `answer` (value, label) of a rater `about` (rater, case, aspect, protocol) in place of an earlier one; its
    id. None with `own_only` where that one came from a run or an import."""
    kept = "WHERE run_id IS NULL AND import_id IS NULL" if own_only else ""
    sql = f"""INSERT INTO verdicts (rater_id, case_id, aspect, protocol, state, value, label, rule, note, flag_count,
                created_at, project_id)
              VALUES (?1, ?2, ?3, ?4, 'ok', ?5, ?6, ?7, ?8, ?9, ?10, (SELECT project_id FROM raters WHERE id = ?1))
              ON CONFLICT (rater_id, case_id, aspect) DO UPDATE SET protocol = excluded.protocol, value = excluded.value,
                label = excluded.label, rule = excluded.rule, note = excluded.note, flag_count = excluded.flag_count,
                created_at = excluded.created_at {kept} RETURNING id"""
    return db.found(sql, (*about, *answer, rule, note, flags, now()))
