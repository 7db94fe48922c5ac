"""The details of the project selected on the Projects screen: its raters, and the distribution of verdicts."""

from __future__ import annotations

import json
from typing import NamedTuple

from recjudge_tui.domain.protocols import OVERALL, protocol_facts
from recjudge_tui.domain.roles import REVIEWED, RUN_RATERS
from recjudge_tui.store.data.catalogue import LISTS, TEXTS, was_replaced
from recjudge_tui.store.database import Database
from recjudge_tui.store.facts import about_systems, sql_list


class LabelShare(NamedTuple):
    label: str
    verdicts: int
    share: float


class ProjectPanel(NamedTuple):
    """The figures of one project.

    `shares` are the label shares of `protocol` (that of the newest run, else the one with most verdicts) among
    the judges (all raters if there are no judges), of each rater on the newest lists that it judged; none if verdicts
    are numbers without labels.
    `disagreements` counts the questions on which two judges gave different values.
    """

    runs: int
    imports: int
    judges: tuple[str, ...]
    others: tuple[str, ...]
    prompt: str
    protocol: str
    aspect: str
    shares: tuple[LabelShare, ...]
    failed_calls: int
    finished_calls: int
    disagreements: int
    flips: int


def project_panel(db: Database, project_id: int) -> ProjectPanel:
    """The figures of a project. Reads every verdict of the project, so call it in a worker."""
    raters = db.rows("SELECT name, kind FROM raters WHERE project_id = ? ORDER BY name", (project_id,))
    judging = tuple(r["name"] for r in raters if r["kind"] in RUN_RATERS)
    newest = db.row(
        f"""SELECT ru.protocol, p.name || '@' || p.version AS prompt FROM runs ru JOIN prompts p ON p.id = ru.prompt_id
           WHERE ru.project_id = ? AND {about_systems("ru.protocol")} ORDER BY ru.id DESC LIMIT 1""",
        (project_id,),
    )
    protocol, aspect = _question(db, project_id, newest["protocol"] if newest else None)
    calls = db.row(
        """SELECT count(*) AS finished, ifnull(sum(k.state = 'failed'), 0) AS failed
           FROM runs ru JOIN calls k ON k.run_id = ru.id
           WHERE ru.project_id = ? AND k.state IN ('done', 'failed')""",
        (project_id,),
    )
    assert calls is not None
    return ProjectPanel(
        runs=db.value("SELECT count(*) FROM runs WHERE project_id = ?", (project_id,)),
        imports=db.value(
            "SELECT count(*) FROM imports WHERE project_id = ? AND undone_at IS NULL", (project_id,)
        ),
        judges=judging,
        others=tuple(r["name"] for r in raters if r["name"] not in judging),
        prompt=newest["prompt"] if newest else "",
        protocol=protocol,
        aspect=aspect,
        shares=_shares(db, project_id, protocol, aspect, judges_only=bool(judging)),
        failed_calls=calls["failed"],
        finished_calls=calls["finished"],
        disagreements=_disagreements(db, project_id),
        flips=db.value(
            """SELECT count(*) FROM raters r JOIN verdicts v ON v.rater_id = r.id
               WHERE r.project_id = ? AND v.order_consistent = 0""",
            (project_id,),
        ),
    )


def _question(db: Database, project_id: int, protocol: str | None) -> tuple[str, str]:
    """The protocol and aspect whose labels are shown; empty when there is no verdict."""
    row = db.row(
        f"""SELECT v.protocol, v.aspect FROM raters r JOIN verdicts v ON v.rater_id = r.id
           WHERE r.project_id = ? AND v.protocol = ifnull(?, v.protocol) AND {about_systems("v.protocol")}
           GROUP BY v.protocol, v.aspect ORDER BY v.aspect = '{OVERALL}' DESC, count(*) DESC, v.aspect LIMIT 1""",
        (project_id, protocol),
    )
    return (row["protocol"], row["aspect"]) if row else ("", "")


def _shares(
    db: Database, project_id: int, protocol: str, aspect: str, *, judges_only: bool
) -> tuple[LabelShare, ...]:
    """The six most frequent labels with their shares of the valid verdicts, best value first."""
    if not protocol or not protocol_facts(protocol).labels:
        return ()
    among = f"r.kind IN {sql_list(RUN_RATERS)}" if judges_only else "1"
    replaced = any(was_replaced(db, project_id, content) for content in (LISTS, TEXTS))
    if replaced:
        among += " AND (v.rater_id, v.case_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:newest))"
    rows = db.rows(
        f"""SELECT v.label, max(v.value) AS value, count(*) AS n FROM raters r JOIN verdicts v ON v.rater_id = r.id
            WHERE r.project_id = :project AND v.protocol = :protocol AND v.aspect = :aspect AND v.state = 'ok'
              AND {among}
            GROUP BY v.label ORDER BY n DESC""",
        {
            "project": project_id,
            "protocol": protocol,
            "aspect": aspect,
            "newest": _newest(db, project_id, protocol, aspect) if replaced else "",
        },
    )
    total = sum(row["n"] for row in rows)
    most = sorted(rows[:6], key=lambda row: -row["value"])
    return tuple(LabelShare(row["label"], row["n"], row["n"] / total) for row in most)


def _newest(db: Database, project_id: int, protocol: str, aspect: str) -> str:
    """Rater and case of each verdict on the newest lists that its rater judged, as JSON."""
    # the app starts without NumPy
    from recjudge_tui.store.verdicts.ratings import load_ratings

    ratings = load_ratings(db, project_id, protocols=(protocol,), aspect=aspect)
    return json.dumps([
        [ratings.raters[question.rater].id, case]
        for question, verdicts in ratings.verdicts.items()
        for case in ratings.cases.ids[verdicts.row].tolist()
    ])  # fmt: skip


def _disagreements(db: Database, project_id: int) -> int:
    count: int = db.value(
        f"""SELECT count(*) FROM (
              SELECT 1 FROM verdicts v WHERE v.state = 'ok' AND {about_systems("v.protocol")}
                AND v.rater_id IN (SELECT id FROM raters WHERE project_id = ? AND kind IN {sql_list(REVIEWED)})
              GROUP BY v.case_id, v.aspect, v.protocol HAVING min(v.value) <> max(v.value))""",
        (project_id,),
    )
    return count
