"""The costs of the cases of runs."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.store.database import Database


class CaseCost(NamedTuple):
    """One case of one run whose calls have all ended, and the form of the run's prompt.

    `aspects` and `shots` are empty for runs from before these settings existed. `calls` were sent, `cached` were
    answered from an earlier run. `priced` of the `done` calls have a known cost; `cost_usd` is the known spending,
    including failed calls. `impossible` calls have an impossible stored cost or number of tokens, which is left out.
    """

    rater: str
    judge: str
    protocol: str
    prompt: str
    aspects: str
    shots: str
    user_id: str
    calls: int
    cached: int
    done: int
    priced: int
    cost_usd: float
    tokens_in: int
    tokens_out: int
    impossible: int


def case_costs(db: Database, project_id: int) -> list[CaseCost]:
    """Costs by rater, protocol, prompt and form; without cases that still have a call outstanding."""
    rows = db.rows(
        """SELECT r.name, json_extract(ru.judge, '$.spec'), ru.protocol, p.name || '@' || p.version,
             ifnull(json_extract(ru.settings, '$.aspects'), ''), ifnull(json_extract(ru.settings, '$.shots'), ''),
             c.user_id, k.calls, k.cached, k.done, k.priced, k.cost_usd, k.tokens_in, k.tokens_out,
             k.impossible
           FROM (
             SELECT run_id, case_id, sum(cached_from IS NULL) AS calls, sum(cached_from IS NOT NULL) AS cached,
               sum(cached_from IS NULL AND state = 'done') AS done,
               sum(cached_from IS NULL AND state = 'done' AND ifnull(cost_usd BETWEEN 0 AND 1e9, 0)) AS priced,
               total(CASE WHEN cached_from IS NULL AND cost_usd BETWEEN 0 AND 1e9 THEN cost_usd END) AS cost_usd,
               ifnull(sum(CASE WHEN cached_from IS NULL AND tokens_in BETWEEN 0 AND 1e12 THEN tokens_in END), 0)
                 AS tokens_in,
               ifnull(sum(CASE WHEN cached_from IS NULL AND tokens_out BETWEEN 0 AND 1e12 THEN tokens_out END), 0)
                 AS tokens_out,
               ifnull(sum(cached_from IS NULL AND (tokens_in NOT BETWEEN 0 AND 1e12
                 OR tokens_out NOT BETWEEN 0 AND 1e12 OR cost_usd NOT BETWEEN 0 AND 1e9)), 0) AS impossible
             FROM calls WHERE run_id IN (SELECT id FROM runs WHERE project_id = ?)
             GROUP BY run_id, case_id HAVING sum(state = 'planned') = 0
           ) k
           JOIN runs ru ON ru.id = k.run_id JOIN raters r ON r.id = ru.rater_id
           JOIN prompts p ON p.id = ru.prompt_id JOIN cases c ON c.id = k.case_id
           ORDER BY ru.protocol, r.name, 4, 5, 6, k.run_id, k.case_id""",
        (project_id,),
    )
    return [CaseCost(*row) for row in rows]
