"""Statistics of the calls of one judge: failures, latencies, repeated answers, and the lists and texts it was shown."""

from __future__ import annotations

import json
from typing import NamedTuple

from recjudge_tui.store.database import Database


class RaterRun(NamedTuple):
    """One run of a rater: the judge (a JudgeSpec as JSON), the prompt by id, name and SHA-256 (hex), the settings (JSON)."""

    id: int
    protocol: str
    judge: str
    prompt_id: int
    prompt: str
    prompt_digest: str
    settings: str


class CallCount(NamedTuple):
    """The number of finished calls about one user that ended with `error_kind`, empty for success."""

    user_id: str
    error_kind: str
    calls: int


class RepeatedAnswer(NamedTuple):
    """One answer to a repeated question; `question` is the same number for all repeats."""

    rater: str
    protocol: str
    user_id: str
    question: int
    aspect: str
    value: float


class OrderCount(NamedTuple):
    """How many calls of runs in one order showed the list of `first` before that of `second`."""

    rater: str
    protocol: str
    first: str
    second: str
    calls: int


def one_order_counts(db: Database, project_id: int) -> list[OrderCount]:
    """Counts by rater, protocol and systems.

    Covers the runs that asked about each pair in one order only, and imported verdicts given in one order.
    """
    # begins with the games, which most projects do not have; SQLite would begin with every verdict
    rows = db.rows(
        """SELECT * FROM (SELECT r.name, ru.protocol, iif(k.list_order = 'ab', c.system_a, c.system_b) AS first,
             iif(k.list_order = 'ab', c.system_b, c.system_a) AS second, count(*)
           FROM runs ru JOIN raters r ON r.id = ru.rater_id
           JOIN calls k ON k.run_id = ru.id JOIN cases c ON c.id = k.case_id
           WHERE ru.project_id = ? AND json_extract(ru.settings, '$.swap') = 0 AND k.list_order <> ''
           GROUP BY r.name, ru.protocol, first, second
           UNION ALL
           SELECT r.name, v.protocol, iif(g.list_order = 'ab', c.system_a, c.system_b) AS first,
             iif(g.list_order = 'ab', c.system_b, c.system_a) AS second, count(*)
           FROM games g CROSS JOIN verdicts v ON v.id = g.verdict_id JOIN raters r ON r.id = v.rater_id
           JOIN cases c ON c.id = v.case_id
           WHERE v.project_id = ? AND v.rule = 'one order'
           GROUP BY r.name, v.protocol, first, second)
           ORDER BY 1, 2, 3, 4""",
        (project_id, project_id),
    )
    return [OrderCount(*row) for row in rows]


def rater_runs(db: Database, rater_id: int) -> list[RaterRun]:
    """The runs of a rater, oldest first."""
    return [
        RaterRun(*row)
        for row in db.rows(
            """SELECT ru.id, ru.protocol, ru.judge, ru.prompt_id, p.name || '@' || p.version, p.digest, ru.settings
               FROM runs ru JOIN prompts p ON p.id = ru.prompt_id WHERE ru.rater_id = ? ORDER BY ru.id""",
            (rater_id,),
        )
    ]


def call_counts(db: Database, rater_id: int) -> list[CallCount]:
    """Finished calls by user and error kind; without answers taken from earlier runs."""
    return [
        CallCount(*row)
        for row in db.rows(
            """SELECT c.user_id, ifnull(k.error_kind, ''), count(*) FROM calls k JOIN cases c ON c.id = k.case_id
               WHERE k.run_id IN (SELECT id FROM runs WHERE rater_id = ?) AND k.state <> 'planned'
                 AND k.cached_from IS NULL
               GROUP BY 1, 2 ORDER BY 1, 2""",
            (rater_id,),
        )
    ]


def cached_calls(db: Database, rater_id: int) -> int:
    """The number of answers taken from earlier runs."""
    count: int = db.value(
        """SELECT count(*) FROM calls WHERE cached_from IS NOT NULL
             AND run_id IN (SELECT id FROM runs WHERE rater_id = ?)""",
        (rater_id,),
    )
    return count


def latencies(db: Database, rater_id: int) -> list[float]:
    """The latency in seconds of every call that was sent and answered."""
    return [
        row[0]
        for row in db.rows(
            """SELECT latency_s FROM calls WHERE state = 'done' AND cached_from IS NULL AND latency_s IS NOT NULL
                 AND run_id IN (SELECT id FROM runs WHERE rater_id = ?)""",
            (rater_id,),
        )
    ]


def repeated_answers(db: Database, project_id: int, runs: list[RaterRun]) -> list[RepeatedAnswer]:
    """The answers of all runs of the project that use a judge and prompt of `runs` and repeat every call."""
    alike = json.dumps(sorted({(run.judge, run.prompt_id) for run in runs}))
    rows = db.rows(
        """SELECT r.name, ru.protocol, c.user_id,
             dense_rank() OVER (ORDER BY ru.id, k.case_id, k.list_order, k.aspect, a.aspect), a.aspect, a.value
           FROM runs ru JOIN raters r ON r.id = ru.rater_id JOIN calls k ON k.run_id = ru.id AND k.state = 'done'
           JOIN cases c ON c.id = k.case_id JOIN answers a ON a.call_id = k.id
           WHERE ru.project_id = ? AND json_extract(ru.settings, '$.repeats') > 1
             AND EXISTS (SELECT 1 FROM json_each(?) j WHERE json_extract(j.value, '$[0]') = ru.judge
               AND json_extract(j.value, '$[1]') = ru.prompt_id)""",
        (project_id, alike),
    )
    return [RepeatedAnswer(*row) for row in rows]
