"""The settings in which each run of a project differs from the other runs of its protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from recjudge_tui.domain.run_options import RUN_OPTIONS
from recjudge_tui.domain.text import one_line
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.runs import run_setups

_LONGEST_WORD = 40


def run_differences(db: Database, project_id: int) -> dict[int, tuple[str, ...]]:
    """run id -> its own prompt and settings, where these are not the same in all runs of its protocol: `top K 5`.

    Settings of execution, such as concurrency, are included.
    """
    setups = [
        (row["id"], row["protocol"], {"prompt": row["prompt"], **json.loads(row["settings"])})
        for row in run_setups(db, project_id)
    ]
    by_protocol: dict[str, list[dict[str, Any]]] = {}
    for _, protocol, settings in setups:
        by_protocol.setdefault(protocol, []).append(settings)
    return {
        run_id: tuple(
            _word(name, settings.get(name)) for name in _varying(by_protocol[protocol]) if name in settings
        )
        for run_id, protocol, settings in setups
    }


def _varying(runs: Sequence[dict[str, Any]]) -> list[str]:
    """The settings, in the order of their declaration, that two of the runs do not share; one that an older run does not
    store has its default there."""
    names = ("prompt", *RUN_OPTIONS)
    defaults = {name: option.default for name, option in RUN_OPTIONS.items()}
    return [
        name
        for name in names
        if len({json.dumps(run.get(name, defaults.get(name)), sort_keys=True) for run in runs}) > 1
    ]


def _word(name: str, value: Any) -> str:
    label = RUN_OPTIONS[name].label if name in RUN_OPTIONS else name
    option = RUN_OPTIONS.get(name)
    if value in (None, "", [], {}):
        text = option.placeholder if option is not None and option.placeholder else "none"
    elif isinstance(value, bool) and option is not None and option.form_choices:
        text = option.form_choices[int(value != option.default)][1]
    elif isinstance(value, dict):
        text = ", ".join(f"{key}={word}" for key, word in value.items())
    else:
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return one_line(text if name == "prompt" else f"{label} {text}", _LONGEST_WORD)
