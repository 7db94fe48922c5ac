"""Next steps as keys of the app."""

from __future__ import annotations

from typing import Any

from textual.app import App

from recjudge_tui.steps import Action, Step
from recjudge_tui.tui.widgets import key_name

_LABEL = ("home.annotate", "label")
_RUNS = ("home.runs", "see the runs")
_REPORTS = ("home.reports", "open the reports")
# action -> (binding, what it does) on the home of the project
_KEYS: dict[Action, tuple[str, str]] = {
    "import": ("home.import", "import"), "import lists": ("home.import", "import lists"),
    "import items": ("home.import", "import items"), "import events": ("home.import", "import events"),
    "import labels": ("home.import", "import labels"), "list imports": ("home.data", "see the data"),
    "judge": ("home.launch", "start a run"), "retry": _RUNS, "resume": _RUNS, "list runs": _RUNS,
    "label": _LABEL, "more labels": _LABEL, "answer tasks": _LABEL, "list cases": ("home.triage", "see the verdicts"),
    "robustness": _REPORTS, "position": _REPORTS, "planted": _REPORTS, "copy prompt": ("home.prompts", "open the prompts"),
}  # fmt: skip


def advice(app: App[Any], step: Step | None) -> str:
    """The key that takes a step; empty where the app has none for it."""
    if step is None or step.action not in _KEYS:
        return ""
    binding, does = _KEYS[step.action]
    return f"Press {key_name(app, binding)} on the project's home to {does}."
