"""Chooses the rater of a run's verdicts: runs of one judge with one prompt and the same settings are a series."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import settings_that
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.runs.plan.domain import without_domain_words
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.raters import find_rater, judged_kinds
from recjudge_tui.store.runs import prompt_label, stored_runs


class AlreadyJudgedError(RunError):
    """Every case of a run has a verdict of its rater. The same run with `again` would replace them."""

    def __init__(self, rater: str, cases: int) -> None:
        super().__init__(
            f"“{rater}” has already judged these {cases:,} cases"
            if cases > 1
            else f"“{rater}” has already judged this case",
            "Nothing is left to judge with the same judge, prompt and settings.",
            "Give another rater name, or judge again (--again): the new verdicts replace these.",
        )
        self.rater = rater


def series_name(
    db: Database, project_id: int, judge_name: str, judge: JudgeSpec, prompt_id: int, settings: RunSettings
) -> str:
    """The rater of an unnamed run: that of earlier runs with the same judge, prompt and settings; else the first free of
    the judge's own name, the name with the protocol, and the name with a number. `rater list` shows their settings.
    """
    same = _same_series(db, project_id, judge, prompt_id, settings)
    if same is not None:
        return same
    return next(
        name
        for name in _names(db, project_id, judge_name, settings)
        if (rater_id := find_rater(db, project_id, name)) is None
        or (
            _is_free(db, rater_id, protocol_named(settings.protocol))
            # another provider may serve a model of the same name
            and all(
                json.loads(run["judge"])["spec"] == judge.spec for run in stored_runs(db, rater_id=rater_id)
            )
        )
    )


def check_series(
    db: Database, project_id: int, rater: str, judge: JudgeSpec, prompt_id: int, settings: RunSettings
) -> None:
    """Raises UsageError when a rater's verdicts on such cases come from another judge, prompt or settings."""
    rater_id = find_rater(db, project_id, rater)
    protocol = protocol_named(settings.protocol)
    if rater_id is None or _is_free(db, rater_id, protocol):
        return
    runs = _runs_on(db, rater_id, protocol)
    if runs and _asked_the_same(runs[-1], judge, prompt_id, settings):
        return
    why = "The verdicts were imported."
    if runs:
        why = f"It was asked with other settings: {', '.join(_differences(db, runs[-1], judge, prompt_id, settings))}."
    raise UsageError(
        f"rater “{rater}” has already judged such cases",
        why,
        "Choose another --name, or delete the earlier run or import.",
    )


def is_free_or_same(
    db: Database, rater_id: int, judge: JudgeSpec, prompt_id: int, settings: RunSettings
) -> bool:
    """Whether a run may belong to this rater: it judged no such cases, or was asked the same."""
    protocol = protocol_named(settings.protocol)
    runs = _runs_on(db, rater_id, protocol)
    if runs:
        return _asked_the_same(runs[-1], judge, prompt_id, settings)
    return _is_free(db, rater_id, protocol)


def _same_series(
    db: Database, project_id: int, judge: JudgeSpec, prompt_id: int, settings: RunSettings
) -> str | None:
    """The rater of the newest run with the same judge, prompt and settings."""
    rows = db.rows(
        """SELECT r.name, ru.* FROM runs ru JOIN raters r ON r.id = ru.rater_id
           WHERE ru.project_id = ? AND ru.protocol = ? AND ru.prompt_id = ? ORDER BY ru.id DESC""",
        (project_id, settings.protocol, prompt_id),
    )
    return next((row["name"] for row in rows if _asked_the_same(row, judge, prompt_id, settings)), None)


def _names(db: Database, project_id: int, judge_name: str, settings: RunSettings) -> Iterator[str]:
    """`rules`, `rules arena` if the name belongs to another protocol, `rules #2`, `rules #3`, ..."""
    yield judge_name
    rater_id = find_rater(db, project_id, judge_name)
    runs = [] if rater_id is None else _runs_on(db, rater_id, protocol_named(settings.protocol))
    if not runs or runs[-1]["protocol"] != settings.protocol:
        yield f"{judge_name} {settings.protocol}"
    yield from (f"{judge_name} #{number}" for number in count(2))


def _runs_on(db: Database, rater_id: int, protocol: Protocol) -> list[StoredRow]:
    """The rater's runs on the same subject, oldest first."""
    subject = protocol.facts.subject
    return [
        row
        for row in stored_runs(db, rater_id=rater_id)
        if protocol_named(row["protocol"]).facts.subject == subject
    ]


def _is_free(db: Database, rater_id: int, protocol: Protocol) -> bool:
    return not _runs_on(db, rater_id, protocol) and protocol.facts.subject not in judged_kinds(db, rater_id)


def _asked_the_same(run: StoredRow, judge: JudgeSpec, prompt_id: int, settings: RunSettings) -> bool:
    stored = RunSettings.model_validate_json(run["settings"])
    return (
        run["protocol"] == settings.protocol
        and run["prompt_id"] == prompt_id
        and json.loads(run["judge"])["spec"] == judge.spec
        and not _changed_settings(stored, settings)
    )


def _differences(
    db: Database, run: StoredRow, judge: JudgeSpec, prompt_id: int, settings: RunSettings
) -> list[str]:
    stored = RunSettings.model_validate_json(run["settings"])
    spec = str(json.loads(run["judge"])["spec"])
    changes = [] if spec == judge.spec else [f"judge {spec}"]
    changes += [] if run["protocol"] == settings.protocol else [str(run["protocol"])]
    changes += [] if run["prompt_id"] == prompt_id else [f"prompt {prompt_label(db, run['prompt_id'])}"]
    return changes + _changed_settings(settings, stored)


def _changed_settings(before: RunSettings, after: RunSettings) -> list[str]:
    """The settings of `after` that ask something else than `before`, as `NAME=VALUE`."""
    hidden = {*settings_that("cases", "draw", "work"), "protocol"}
    old, new = (settings.model_dump(mode="json", exclude=hidden) for settings in (before, after))
    words, other_words = new.pop("variables"), old.pop("variables")
    changed = [f"{name}={_word(new[name])}" for name in new if new[name] != old[name]]
    return changed + _changed_words(other_words, words)


def _changed_words(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The variables that differ; for a domain's words, only its name if that differs."""
    changed = {
        name: after.get(name, "") for name in {**before, **after} if before.get(name) != after.get(name)
    }
    return [f"{name}={_word(word)}" for name, word in without_domain_words(changed).items()]


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    # commas separate raters on the command line
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return text.replace(",", ";")
