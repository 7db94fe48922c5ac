"""recjudge: language models judge recommendation lists and explanations, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recjudge_tui.notebook import Project, Report, RunResult, open_project

__all__ = ["Project", "Report", "RunResult", "__version__", "open_project"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The Python face, loaded when it is first used: commands and the app do without."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("recjudge_tui.notebook"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
