"""The costs of runs and their cases."""

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


class RunCost(NamedTuple):
    """What the calls of one run cost: `sent` went to the server, `cached` were answered from an earlier run.

    `tokens_in`, `tokens_out` and `cost_a_call` are means over calls; cached calls count with their original values,
    because a cached reply does not make the prompt cheaper. `cost_usd` is what this run spent. None if unknown.
    """

    prompt: str
    sent: int
    cached: int
    tokens_in: float | None
    tokens_out: float | None
    cost_a_call: float | None
    cost_usd: float | None
    seconds: float


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


def run_cost(db: Database, run_id: int) -> RunCost:
    """Calls, tokens, cost and time of one run."""
    row = db.row(
        f"""SELECT p.name || '@' || p.version, sum(k.cached_from IS NULL AND k.state <> 'planned'),
             sum(k.cached_from IS NOT NULL), {_mean("tokens_in", 1e12)}, {_mean("tokens_out", 1e12)},
             {_mean("cost_usd", 1e9)},
             CASE WHEN ifnull(sum(k.cached_from IS NULL AND k.cost_usd NOT BETWEEN 0 AND 1e9), 0) = 0
               THEN sum(CASE WHEN k.cached_from IS NULL THEN k.cost_usd END) END, ru.seconds
           FROM runs ru JOIN prompts p ON p.id = ru.prompt_id JOIN calls k ON k.run_id = ru.id
           LEFT JOIN calls o ON o.id = k.cached_from
           WHERE ru.id = ? GROUP BY ru.id""",
        (run_id,),
    )
    assert row is not None, f"run {run_id} has no calls"
    return RunCost(*row)


def _mean(column: str, most: float) -> str:
    """SQL for the mean over calls; cached calls have the original's value. NULL if any value is impossible."""
    value = f"ifnull(k.{column}, o.{column})"
    return f"CASE WHEN ifnull(sum({value} NOT BETWEEN 0 AND {most}), 0) = 0 THEN avg({value}) END"
