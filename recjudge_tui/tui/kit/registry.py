"""Screens that other screens open by name. Each is imported when it is first opened.

| name | called with |
|---|---|
| projects | nothing: the list of projects |
| home | project_id: what is in it, what was found, and what needs a reader |
| cases | project_id: every verdict and the case behind it; `filter_text` to begin with |
| runs | project_id: its runs |
| launch | project_id: the form that starts a run |
| monitor | run_id: the progress of a run |
| agreement | project_id: agreement and leaderboard |
| prompts | project_id: the prompts, rendered for its cases; `prompt` (name, version) and `case` (kind, id) to begin with |
| data | project_id: what was imported; `kind` to begin with |
| compare | project_id: two raters case by case |
| annotate | project_id: blind labels by people |
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from textual.screen import Screen

_SCREENS: dict[str, tuple[str, str]] = {
    "projects": ("recjudge_tui.tui.projects.screen", "ProjectsScreen"),
    "home": ("recjudge_tui.tui.home.screen", "HomeScreen"),
    "cases": ("recjudge_tui.tui.cases.screen", "CasesScreen"),
    "runs": ("recjudge_tui.tui.runs.screen", "RunsScreen"),
    "launch": ("recjudge_tui.tui.runs.launch", "LaunchScreen"),
    "monitor": ("recjudge_tui.tui.runs.monitor", "MonitorScreen"),
    "agreement": ("recjudge_tui.tui.agreement.screen", "AgreementScreen"),
    "prompts": ("recjudge_tui.tui.prompts.screen", "PromptsScreen"),
    "data": ("recjudge_tui.tui.data.screen", "DataScreen"),
    "compare": ("recjudge_tui.tui.compare.screen", "CompareScreen"),
    "annotate": ("recjudge_tui.tui.annotate.screen", "AnnotateScreen"),
}


def screen_names() -> tuple[str, ...]:
    return tuple(_SCREENS)


def is_screen(name: str, screen: Screen[Any]) -> bool:
    """Whether `screen` is the one called `name`."""
    return (type(screen).__module__, type(screen).__name__) == _SCREENS[name]


def make_screen(name: str, *identity: int, **more: object) -> Screen[Any]:
    """The screen called `name` for the project or run `identity`; `more` as the table says."""
    module, screen = _SCREENS[name]
    return cast("Screen[Any]", getattr(import_module(module), screen)(*identity, **more))
