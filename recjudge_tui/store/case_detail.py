"""Everything about the case of one verdict: all verdicts, their reasoning and flags, and what was shown."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from recjudge_tui.domain.calls import PROFILE
from recjudge_tui.domain.material import ExplanationView, SlateView, UserView
from recjudge_tui.domain.occasions import NO_OCCASION, Occasion
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.roles import PEOPLE
from recjudge_tui.store.calls import profile_reply
from recjudge_tui.store.cases import load_material
from recjudge_tui.store.data import explanation_view, image_contents, slate_top
from recjudge_tui.store.database import Database, StoredRow, named_cells
from recjudge_tui.store.facts import sql_list
from recjudge_tui.store.histories import read_history
from recjudge_tui.store.triage import verdict_entries, verdict_gone

_RECENT_EVENTS = 40
# longer than any list
_MOST_ITEMS = 1 << 30
Slates = tuple[tuple[str, SlateView], ...]


class CaseDetail(NamedTuple):
    """One verdict and its case. `slates` are (system, list) in the order of the case's systems. `run_shown`: the run
    whose snapshots are shown; None: the material is that of the current imports. `run_answers`: those of the verdict's
    run on every aspect: call, aspect (empty: all), set_one (the system shown first, empty unless a pair), sample,
    label, reasoning, confidence, parsed_by, failed, error_kind, error, attempts. `opinions`: the verdicts on this
    protocol's questions and the case as a whole: rater, rater_kind, protocol, aspect, label, value, failed, flipped,
    confidence, `reason` (only about texts), `mine`; `aspects`: theirs, as in the prompt. `flags`: rater, item_id,
    issue, reason, set_one, `mine`; `flags_beyond`: other raters' on positions not shown in this run. `profile`: the
    reply with it (may be empty). `triage`: the readers' actions. `images`: digest -> JPEG."""

    verdict_id: int
    case_id: int
    kind: str
    user_id: str
    item_id: str
    rater: str
    rater_kind: str
    protocol: str
    aspect: str
    label: str
    value: float | None
    failed: bool
    flipped: bool
    confidence: float | None
    rule: str
    note: str
    run_id: int | None
    prompt: str
    created_at: str
    run_shown: int | None
    opinions: tuple[StoredRow, ...]
    aspects: tuple[str, ...]
    run_answers: tuple[StoredRow, ...]
    flags: tuple[StoredRow, ...]
    user: UserView
    slates: Slates
    explanation: ExplanationView | None
    explanation_system: str
    profile: str
    example: ExplanationView | None
    triage: tuple[StoredRow, ...] = ()
    occasion: Occasion = NO_OCCASION
    images: Mapping[str, bytes] = MappingProxyType({})
    flags_beyond: int = 0

    @property
    def answers(self) -> tuple[StoredRow, ...]:
        """The answers on the aspect of this verdict."""
        return tuple(answer for answer in self.run_answers if answer.aspect in ("", self.aspect))


def case_detail(db: Database, verdict_id: int) -> CaseDetail:
    """Read everything about a verdict. Raises NotFoundError when it no longer exists."""
    sql = """SELECT v.*, v.id AS verdict_id, c.project_id, c.kind, c.user_id, c.item_id, c.system_a, c.system_b, c.context,
               c.served_at,
               c.slate_a, c.slate_b, c.explanation_id, r.name AS rater, r.kind AS rater_kind,
               ifnull((SELECT p.name || '@' || p.version FROM runs ru JOIN prompts p ON p.id = ru.prompt_id
                 WHERE ru.id = v.run_id), '') AS prompt
             FROM verdicts v JOIN cases c ON c.id = v.case_id JOIN raters r ON r.id = v.rater_id WHERE v.id = ?"""
    row = db.only(sql, (verdict_id,), verdict_gone())
    sql = """SELECT * FROM run_cases WHERE case_id = ? ORDER BY run_id = ? DESC, run_id DESC LIMIT 1"""
    shown = db.row(sql, (row["case_id"], row["run_id"]))
    if shown:
        material = load_material(db, shown["run_id"], row["case_id"], 0)
        systems = (row["system_a"], row["system_b"])
        slates, user = tuple(zip(systems, material.slates, strict=False)), material.user
        explanation, example = material.explanation, material.example
    else:
        (user, slates, explanation), example = imported_case(db, row), None
    opinions = _opinions(db, row)
    listed = [item for _, slate in slates for item in slate.items]
    flags, flags_beyond = _flags(db, row, {item.item_id for item in listed})
    items = listed if explanation is None else [*listed, explanation.item]
    images = {item.image.digest for item in items if item.image is not None}
    return CaseDetail(
        **named_cells(row, CaseDetail._fields),
        occasion=Occasion(row["context"], row["served_at"]),
        failed=row["state"] == "failed",
        flipped=row["order_consistent"] == 0,
        run_shown=shown["run_id"] if shown else None,
        opinions=opinions,
        aspects=_aspects(db, row, opinions),
        run_answers=_run_answers(db, row),
        flags=flags,
        user=user,
        slates=slates,
        explanation=explanation,
        explanation_system=row["system_a"],
        profile=(shown and profile_reply(db, shown["run_id"], row["case_id"])) or "",
        example=example,
        triage=verdict_entries(db, verdict_id),
        images=image_contents(db, images) if images else {},
        flags_beyond=flags_beyond,
    )


def _opinions(db: Database, row: StoredRow) -> tuple[StoredRow, ...]:
    sql = f"""SELECT rater, rater_kind, protocol, aspect, label, value, state = 'failed' AS failed,
          order_consistent IS 0 AS flipped, confidence, iif(?3, reasoning, '') AS reason, verdict_id = ?2 AS mine
        FROM v_verdicts WHERE case_id = ?1
        ORDER BY rater_kind IN {sql_list(PEOPLE)}, rater, aspect <> '{OVERALL}', verdict_id
        LIMIT 400"""
    opinions = db.rows(sql, (row["case_id"], row["id"], row["kind"] == "explanation"))
    # six aspects of an arena tell nothing of a pairwise verdict
    asked = {opinion.aspect for opinion in opinions if opinion.protocol == row["protocol"]} | {OVERALL}
    return tuple(opinion for opinion in opinions if opinion.aspect in asked)


# the system shown first in the call `k` about the case `c`; empty unless that is a pair
_SET_ONE = "CASE k.list_order WHEN 'ab' THEN c.system_a WHEN 'ba' THEN c.system_b ELSE '' END AS set_one"


def _aspects(db: Database, row: StoredRow, opinions: tuple[StoredRow, ...]) -> tuple[str, ...]:
    """The aspects with verdicts, in the order of the prompts that ask for them, newest run first."""
    sql = """SELECT json_extract(a.value, '$.name') AS name
             FROM (SELECT max(ru.id) AS run, ru.prompt_id FROM run_cases rc JOIN runs ru ON ru.id = rc.run_id
                   WHERE rc.case_id = ? GROUP BY ru.prompt_id) q
             JOIN prompts p ON p.id = q.prompt_id, json_each(p.content, '$.aspects') a
             ORDER BY q.run DESC, a.key"""
    rows = db.rows(sql, (row["case_id"],))
    judged = dict.fromkeys(opinion.aspect for opinion in opinions)
    order = dict.fromkeys([name for (name,) in rows if name in judged])
    return tuple(order | dict.fromkeys(sorted(judged, key=lambda name: name == OVERALL)))


def _run_answers(db: Database, row: StoredRow) -> tuple[StoredRow, ...]:
    sql = f"""SELECT k.id AS call, ifnull(a.aspect, k.aspect) AS aspect, {_SET_ONE}, k.sample,
               ifnull(a.label, '') AS label, ifnull(a.reasoning, '') AS reasoning, a.confidence,
               ifnull(k.parsed_by, '') AS parsed_by, k.state = 'failed' AS failed, ifnull(k.error_kind, '') AS error_kind,
               ifnull(k.error, '') AS error, k.attempts
             FROM calls k JOIN cases c ON c.id = k.case_id LEFT JOIN answers a ON a.call_id = k.id
             WHERE k.run_id = ? AND k.case_id = ? AND k.state <> 'planned' AND k.aspect <> ?
             ORDER BY k.sample, k.list_order, k.id, a.aspect LIMIT 400"""
    return tuple(db.rows(sql, (row["run_id"], row["case_id"], PROFILE)))


def _flags(db: Database, row: StoredRow, shown: set[str]) -> tuple[tuple[StoredRow, ...], int]:
    """The flags on the items shown and on items of no list, and the number of flags on positions that were not shown in
    this run; only raters who were shown longer lists could flag those."""
    sql = f"""SELECT r.name AS rater, f.item_id, f.issue,
               CASE f.refuted WHEN '' THEN f.reason ELSE f.reason || ' [refuted: ' || f.refuted || ']' END AS reason,
               {_SET_ONE}, k.run_id IS :run AS mine
               FROM calls k JOIN cases c ON c.id = k.case_id JOIN flags f ON f.call_id = k.id
               JOIN runs ru ON ru.id = k.run_id JOIN raters r ON r.id = ru.rater_id WHERE k.case_id = :case
             UNION ALL
             SELECT r.name, f.item_id, f.issue, f.reason, '', v.id = :verdict
               FROM verdicts v JOIN flags f ON f.verdict_id = v.id JOIN raters r ON r.id = v.rater_id
               WHERE v.case_id = :case
             LIMIT 400"""
    flags = db.rows(sql, {"case": row["case_id"], "verdict": row["id"], "run": row["run_id"] or -1})
    sql = "SELECT item_id FROM slate_items WHERE slate_id IN (?, ?)"
    listed = set(db.column(sql, (row["slate_a"], row["slate_b"])))
    kept = [flag for flag in flags if flag.mine or flag.item_id not in listed - shown]
    return tuple(sorted(kept, key=lambda flag: not flag.mine)), len(flags) - len(kept)


def imported_case(db: Database, row: StoredRow) -> tuple[UserView, Slates, ExplanationView | None]:
    """Profile and newest visible events, lists by system, and text as imported, of the case in `row`."""
    project, occasion = row["project_id"], Occasion(row["context"], row["served_at"])
    slates = tuple(
        (row[system], SlateView(items=slate_top(db, project, row[column], _MOST_ITEMS)))
        for system, column in (("system_a", "slate_a"), ("system_b", "slate_b"))
        if row[column] is not None
    )
    known = row["explanation_id"] is not None
    explanation = explanation_view(db, project, row["explanation_id"]) if known else None
    history = read_history(db, project, row["user_id"])
    events = history.within("", "", _RECENT_EVENTS, before=occasion.served_at, occasion=occasion)
    newest = tuple(events[:_RECENT_EVENTS])
    user = UserView(user_id=row["user_id"], attributes=history.attributes, history=newest)
    return user, slates, explanation
