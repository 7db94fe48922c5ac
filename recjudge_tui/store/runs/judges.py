"""Stored data on judges: which were used, probe results, speed, and which models answered."""

from __future__ import annotations

import json
import sqlite3
from typing import NamedTuple

from pydantic import ValidationError

from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.store.database import Database, now


class ServedModel(NamedTuple):
    """The model that answered one run.

    `name` and `digest` come from the server, empty if it did not say; `models` are those named in the replies.
    `replies` of the `calls` were answered, `cached` of them from an earlier run.
    """

    run_id: int
    judge: str
    prompt: str
    name: str
    digest: str
    models: tuple[str, ...]
    calls: int
    cached: int
    created_at: str
    replies: int


class RunIdentity(NamedTuple):
    """The model that answered one run: as in `ServedModel`, but `models` are those named in the replies on its first
    and last case; `replies`: whether there are any.
    """

    judge: str
    prompt: str
    name: str
    digest: str
    models: tuple[str, ...]
    replies: bool


class PromptMatch(NamedTuple):
    """The number of calls that two raters share (case, order, aspect, sample), and how many have a changed prompt."""

    calls: int
    changed: int


def judges_used(db: Database) -> list[sqlite3.Row]:
    """Every judge used in this database, most recently used first. Columns: spec, runs, last_used."""
    return db.rows(
        """SELECT json_extract(judge, '$.spec') AS spec, count(*) AS runs, max(created_at) AS last_used
           FROM runs GROUP BY 1 ORDER BY last_used DESC"""
    )


def project_judges(db: Database, project_id: int) -> tuple[JudgeSpec, ...]:
    """The judges used in a project, most recently used first, each at the address of its last run."""
    rows = db.rows(
        """SELECT judge, json_extract(judge, '$.spec') AS spec
           FROM runs WHERE project_id = ? GROUP BY spec HAVING id = max(id) ORDER BY max(id) DESC""",
        (project_id,),
    )
    return tuple(JudgeSpec.model_validate_json(row["judge"]) for row in rows)


def save_capabilities(db: Database, judge: JudgeSpec, record: Capabilities) -> None:
    """Store the result of a probe; it replaces that of an earlier one."""
    with db.transaction():
        db.execute(
            """INSERT INTO capabilities (judge, base_urls, record, probed_at) VALUES (?, ?, ?, ?)
               ON CONFLICT (judge, base_urls) DO UPDATE SET record = excluded.record, probed_at = excluded.probed_at""",
            (judge.spec, _servers(judge), record.model_dump_json(), now()),
        )


def judge_capabilities(db: Database, judge: JudgeSpec) -> Capabilities | None:
    """The result of the last probe of this judge at these servers; None without a probe.

    A record that this version cannot read is ignored.
    """
    text = db.value(
        "SELECT record FROM capabilities WHERE judge = ? AND base_urls = ?", (judge.spec, _servers(judge))
    )
    try:
        return None if text is None else Capabilities.model_validate_json(text)
    except ValidationError:
        return None


def _servers(judge: JudgeSpec) -> str:
    """The base URLs as JSON, in a fixed order."""
    return json.dumps(sorted({url.rstrip("/") for url in judge.base_urls}))


def seconds_a_call(db: Database, judge: str) -> float | None:
    """Wall-clock seconds per call in the judge's last run that sent calls, at that run's concurrency.

    Without such a run, the latency of the newest probe divided by the judge's concurrency. A probe's calls are small,
    so this is a low estimate. None without either.
    """
    return _seconds_in_last_run(db, judge) or _seconds_in_probe(db, judge)


def model_owners(db: Database, judge: JudgeSpec) -> tuple[str, ...]:
    """What the judge's servers named as the owners of their models in its newest run that reached them."""
    listed: str | None = db.value(
        """SELECT json_extract(identity, '$.details.servers') FROM runs
           WHERE json_extract(judge, '$.spec') = ? AND json_extract(judge, '$.base_urls') = json(?)
             AND json_extract(identity, '$.details.servers') IS NOT NULL ORDER BY id DESC LIMIT 1""",
        (judge.spec, json.dumps(judge.base_urls)),
    )
    owners = json.loads(listed) if listed else []
    return tuple(owner for owner in owners if isinstance(owner, str)) if isinstance(owners, list) else ()


def _seconds_in_probe(db: Database, judge: str) -> float | None:
    seconds: float | None = db.value(
        """SELECT json_extract(record, '$.latency_s') / json_extract(record, '$.concurrency') FROM capabilities
           WHERE judge = ? ORDER BY probed_at DESC LIMIT 1""",
        (judge,),
    )
    return seconds


def _seconds_in_last_run(db: Database, judge: str) -> float | None:
    seconds: float | None = db.value(
        """SELECT ru.seconds / count(*) FROM runs ru JOIN calls k ON k.run_id = ru.id
           WHERE ru.id = (
             SELECT max(r.id) FROM runs r WHERE json_extract(r.judge, '$.spec') = ? AND r.seconds > 0 AND EXISTS (
               SELECT 1 FROM calls c WHERE c.run_id = r.id AND c.state = 'done' AND c.cached_from IS NULL))
             AND k.state = 'done' AND k.cached_from IS NULL
           GROUP BY ru.id""",
        (judge,),
    )
    return seconds


def served_models(db: Database, project_id: int, rater: str, protocols: set[str]) -> list[ServedModel]:
    """The model behind each of the rater's runs of these protocols, oldest first; empty for a rater without runs."""
    rows = db.rows(
        """SELECT ru.id, json_extract(ru.judge, '$.spec'), p.name || '@' || p.version,
             ifnull(json_extract(ru.identity, '$.name'), ''), ifnull(json_extract(ru.identity, '$.digest'), ''),
             (SELECT json_group_array(model) FROM (SELECT DISTINCT model FROM calls
                WHERE run_id = ru.id AND model IS NOT NULL ORDER BY model)),
             (SELECT count(*) FROM calls WHERE run_id = ru.id),
             (SELECT count(*) FROM calls WHERE run_id = ru.id AND cached_from IS NOT NULL), ru.created_at,
             (SELECT count(*) FROM calls WHERE run_id = ru.id AND state = 'done')
           FROM runs ru JOIN raters r ON r.id = ru.rater_id JOIN prompts p ON p.id = ru.prompt_id
           WHERE ru.project_id = ? AND r.name = ? AND ru.protocol IN (SELECT value FROM json_each(?))
           ORDER BY ru.id""",
        (project_id, rater, json.dumps(sorted(protocols))),
    )
    return [ServedModel(*row)._replace(models=tuple(json.loads(row[5]))) for row in rows]


def run_identities(db: Database, project_id: int, rater: str, protocol: str) -> dict[int, RunIdentity]:
    """Run id -> the model that answered it, oldest first, for the rater's runs of a protocol.

    Reads only two calls of each run, so it stays fast with many calls.
    """
    named = "SELECT model FROM calls WHERE run_id = ru.id AND model IS NOT NULL ORDER BY case_id"
    rows = db.rows(
        f"""SELECT ru.id, json_extract(ru.judge, '$.spec'), p.name || '@' || p.version,
              ifnull(json_extract(ru.identity, '$.name'), ''), ifnull(json_extract(ru.identity, '$.digest'), ''),
              ({named} LIMIT 1), ({named} DESC LIMIT 1),
              EXISTS (SELECT 1 FROM calls WHERE run_id = ru.id AND state = 'done')
            FROM runs ru JOIN raters r ON r.id = ru.rater_id JOIN prompts p ON p.id = ru.prompt_id
            WHERE ru.project_id = ? AND r.name = ? AND ru.protocol = ? ORDER BY ru.id""",
        (project_id, rater, protocol),
    )
    return {
        run: RunIdentity(judge, prompt, name, digest, tuple(sorted({first, last} - {None})), bool(replies))
        for run, judge, prompt, name, digest, first, last, replies in rows
    }


def prompt_match(db: Database, later: list[ServedModel], earlier: list[ServedModel]) -> PromptMatch:
    """Compare the prompts of two raters' runs by the hash of texts and schema, over finished calls."""
    row = db.row(
        """SELECT count(*), ifnull(sum(a.content_hash <> b.content_hash), 0) FROM calls a
           JOIN calls b ON b.case_id = a.case_id AND b.list_order = a.list_order AND b.aspect = a.aspect
             AND b.sample = a.sample AND b.run_id IN (SELECT value FROM json_each(?2))
           WHERE a.run_id IN (SELECT value FROM json_each(?1))
             AND a.content_hash IS NOT NULL AND b.content_hash IS NOT NULL""",
        tuple(json.dumps([run.run_id for run in runs]) for runs in (later, earlier)),
    )
    assert row is not None
    return PromptMatch(*row)


def newest_judges(db: Database, project_id: int) -> dict[str, str]:
    """rater -> the judge (SPEC) of its newest run; without raters that have no run."""
    rows = db.rows(
        """SELECT r.name, json_extract(ru.judge, '$.spec') FROM runs ru JOIN raters r ON r.id = ru.rater_id
           WHERE ru.project_id = ? ORDER BY ru.id""",
        (project_id,),
    )
    return {row[0]: row[1] for row in rows}
