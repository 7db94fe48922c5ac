"""recjudge: language models judge recommendation lists and explanations, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recjudge_tui.notebook import NotebookProject, Report, RunResult, open_project

    __version__: str

__all__ = ["NotebookProject", "Report", "RunResult", "__version__", "open_project"]


def __getattr__(name: str) -> Any:
    """The Python interface, loaded when it is first used, because commands and the app do not need it."""
    from importlib import import_module

    if name == "__version__":
        return import_module("recjudge_tui.version").VERSION
    if name in __all__:
        return getattr(import_module("recjudge_tui.notebook"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
