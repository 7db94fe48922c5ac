"""The facts that a methods section must state about a project's runs: one record for runs made under the same
conditions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from recjudge_tui.domain.calls import Sampling
from recjudge_tui.domain.judge import Identity, JudgeSpec
from recjudge_tui.domain.roles import RaterKind, is_language_model
from recjudge_tui.domain.run import RunSettings, sampling_of
from recjudge_tui.domain.run_options import settings_that
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.conditions import (
    CallTotals,
    RunConditions,
    call_totals,
    failed_calls,
    refused_parameters,
    replied_models,
    run_conditions,
)

SHORT_DIGEST = 12
# settings that change neither what one call asks nor how cases are drawn
_OF_THE_RUN = settings_that("cases", "work")
_COLUMNS = (
    Column("rater", "Rater"),
    Column("kind", "Kind"),
    Column("protocol", "Protocol"),
    Column("judge", "Judge"),
    Column("model", "Served model"),
    Column("digest", "Digest"),
    Column("replies", "Model in replies"),
    Column("first", "First call", "time"),
    Column("last", "Last call", "time"),
    Column("prompt", "Prompt"),
    Column("prompt_digest", "Prompt SHA-256"),
    Column("temperature", "Temperature", "float", trimmed=True),
    Column("seed", "Seed"),
    Column("max_tokens", "Max tokens", "int"),
    Column("repeats", "Repeats", "int"),
    Column("not_sent", "Refused by the server"),
    Column("cases", "Cases", "int"),
    Column("users", "Users", "int"),
    Column("occasions", "Occasions", "int"),
    Column("calls", "Calls", "int"),
    Column("failed", "Failed", "int"),
    Column("failures", "Failures"),
    Column("reused", "Reused", "int"),
    Column("open", "Not made", "int"),
)


class Conditions(NamedTuple):
    """Runs of one rater and protocol that asked the same: the same judge, served model, prompt and settings."""

    rater: str
    kind: RaterKind
    protocol: str
    judge: JudgeSpec
    served: Identity | None
    settings: RunSettings
    prompt: str
    prompt_digest: str
    shipped: bool
    models: tuple[str, ...]
    refused: tuple[str, ...]
    totals: CallTotals
    failures: dict[str, int]

    @property
    def sampling(self) -> Sampling:
        return sampling_of(self.settings, 0)


def conditions_of(db: Database, project_id: int, raters: Iterable[str] = ()) -> list[Conditions]:
    """The conditions of the named raters (all if empty), in the order of their first runs. Reads every call."""
    named = set(raters)
    alike: defaultdict[tuple[object, ...], list[RunConditions]] = defaultdict(list)
    for run in run_conditions(db, project_id):
        if not named or run.rater in named:
            alike[_key(run)].append(run)
    return [_conditions(db, runs) for runs in alike.values()]


def _key(run: RunConditions) -> tuple[object, ...]:
    settings = {k: v for k, v in json.loads(run.settings).items() if k not in _OF_THE_RUN}
    served = _identity(run)
    model = (served.name, served.digest) if served else None
    return run.rater, run.protocol, run.judge, model, run.prompt, json.dumps(settings, sort_keys=True)


def _identity(run: RunConditions) -> Identity | None:
    return Identity.model_validate_json(run.identity) if run.identity else None


def _conditions(db: Database, runs: list[RunConditions]) -> Conditions:
    first, numbers = runs[0], [run.id for run in runs]
    return Conditions(
        first.rater,
        first.kind,
        first.protocol,
        JudgeSpec.model_validate_json(first.judge),
        _identity(first),
        RunSettings.model_validate_json(first.settings),
        first.prompt,
        first.digest,
        first.origin == "shipped",
        replied_models(db, numbers),
        refused_parameters(db, numbers),
        call_totals(db, numbers),
        failed_calls(db, numbers),
    )


def conditions_table(conditions: Iterable[Conditions]) -> Table:
    """One row for each of the conditions."""
    return Table("Judges and their runs", _COLUMNS, tuple(map(_row, conditions)))


def _row(of: Conditions) -> Row:
    model = is_language_model(of.kind)
    totals = of.totals._asdict()
    return {
        "rater": of.rater,
        "kind": of.kind,
        "protocol": of.protocol,
        "judge": of.judge.spec,
        "model": of.served.name if of.served else "",
        "digest": of.served.digest if of.served else "",
        "replies": ", ".join(of.models),
        "prompt": of.prompt,
        "prompt_digest": of.prompt_digest,
        "temperature": of.sampling.temperature if model else None,
        "seed": str(of.settings.seed),
        "max_tokens": of.sampling.max_tokens if model else None,
        "repeats": of.settings.repeats,
        "not_sent": ", ".join(of.refused),
        "failures": ", ".join(f"{count:,} {kind}" for kind, count in of.failures.items()),
        **{name: totals[name] or None if name in ("first", "last") else totals[name] for name in totals},
    }
