"""The conditions under which the runs of a project were made: model, prompt, settings, dates, cases, failures."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import NamedTuple

from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts.prompts import UsedPrompt, used_prompt


class RunConditions(NamedTuple):
    """One run. `judge`, `identity` and `settings` are JSON as stored, `identity` empty if no server was asked."""

    id: int
    rater: str
    kind: RaterKind
    protocol: str
    judge: str
    identity: str
    settings: str
    prompt: UsedPrompt


class CallTotals(NamedTuple):
    """The calls of some runs. `calls` have ended, `open` have not; `reused` took their answer from calls of earlier
    runs.

    `first` and `last` (ISO 8601 UTC, empty if no call was sent) are when the calls that were sent ended. `cases`, `users`
    and `occasions` are those of all calls. `failures` is kind of error -> calls, most frequent first; `models` are those
    that replies name; `refused` are parameters that a server refused and that were therefore not sent.
    """

    calls: int
    failed: int
    reused: int
    open: int
    first: str
    last: str
    cases: int
    users: int
    occasions: int
    failures: dict[str, int]
    models: tuple[str, ...]
    refused: tuple[str, ...]


def run_conditions(db: Database, project_id: int) -> list[RunConditions]:
    """The runs of a project, oldest first."""
    rows = db.rows(
        """SELECT ru.id, r.name, r.kind, ru.protocol, ru.judge, ifnull(ru.identity, ''), ru.settings, ru.prompt_id
           FROM runs ru JOIN raters r ON r.id = ru.rater_id WHERE ru.project_id = ? ORDER BY ru.id""",
        (project_id,),
    )
    prompts = {number: used_prompt(db, number) for number in {row["prompt_id"] for row in rows}}
    return [RunConditions._make([*tuple(row)[:-1], prompts[row["prompt_id"]]]) for row in rows]


def call_totals(db: Database, runs: Collection[int]) -> CallTotals:
    """The calls of these runs together."""
    chosen = (json.dumps(sorted(runs)),)
    calls = db.row(
        """SELECT ifnull(sum(state <> 'planned'), 0), ifnull(sum(state = 'failed'), 0),
             ifnull(sum(cached_from IS NOT NULL), 0), ifnull(sum(state = 'planned'), 0),
             ifnull(min(CASE WHEN cached_from IS NULL THEN finished_at END), ''),
             ifnull(max(CASE WHEN cached_from IS NULL THEN finished_at END), '')
           FROM calls WHERE run_id IN (SELECT value FROM json_each(?))""",
        chosen,
    )
    cases = db.row(
        """SELECT count(*), count(DISTINCT user_id), count(DISTINCT json_array(user_id, context, served_at)) FROM cases
           WHERE id IN (SELECT case_id FROM run_cases WHERE run_id IN (SELECT value FROM json_each(?)))""",
        chosen,
    )
    failures = db.rows(
        """SELECT error_kind, count(*) FROM calls WHERE run_id IN (SELECT value FROM json_each(?)) AND state = 'failed'
           GROUP BY 1 ORDER BY 2 DESC, 1""",
        chosen,
    )
    models = db.rows(
        """SELECT DISTINCT model FROM calls
           WHERE run_id IN (SELECT value FROM json_each(?)) AND model IS NOT NULL AND model <> '' ORDER BY 1""",
        chosen,
    )
    refused = db.rows(
        """SELECT DISTINCT d.value FROM calls k, json_each(k.sent, '$.dropped') d
           WHERE k.run_id IN (SELECT value FROM json_each(?)) AND k.sent IS NOT NULL ORDER BY 1""",
        chosen,
    )
    assert calls is not None
    assert cases is not None
    named = (tuple(row[0] for row in rows) for rows in (models, refused))
    return CallTotals._make([*calls, *cases, {row[0]: row[1] for row in failures}, *named])
