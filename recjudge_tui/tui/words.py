"""Next steps as keys of the app."""

from __future__ import annotations

from typing import Any

from textual.app import App

from recjudge_tui.steps import Action, Step
from recjudge_tui.tui.widgets import key_name

_IMPORT = ("home.import", "i", "import")
_LABEL = ("home.annotate", "l", "label")
_RUNS = ("home.runs", "r", "see the runs")
_REPORTS = ("home.reports", "a", "open the reports")
# action -> (binding, shipped key, what it does) on the home of the project
_KEYS: dict[Action, tuple[str, str, str]] = {
    "import": _IMPORT,
    "import lists": ("home.import", "i", "import lists"),
    "import items": ("home.import", "i", "import items"),
    "import events": ("home.import", "i", "import events"),
    "import labels": ("home.import", "i", "import labels"),
    "judge": ("home.launch", "n", "start a run"),
    "label": _LABEL,
    "more labels": _LABEL,
    "answer tasks": _LABEL,
    "retry": _RUNS,
    "resume": _RUNS,
    "list runs": _RUNS,
    "robustness": _REPORTS,
    "position": _REPORTS,
    "planted": _REPORTS,
    "list cases": ("home.triage", "t", "see the verdicts"),
    "list imports": ("home.data", "B", "see the data"),
    "copy prompt": ("home.prompts", "p", "open the prompts"),
}


def advice(app: App[Any], step: Step | None) -> str:
    """The key that takes a step; empty where the app has none for it."""
    if step is None or step.action not in _KEYS:
        return ""
    binding, shipped, does = _KEYS[step.action]
    return f"Press {key_name(app, binding, shipped)} on the project's home to {does}."
