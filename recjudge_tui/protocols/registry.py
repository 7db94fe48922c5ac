"""The protocols there are, by name."""

from __future__ import annotations

from importlib import import_module

from recjudge_tui.errors import UsageError
from recjudge_tui.protocols.base import Protocol

_MODULES = {
    "pointwise": "recjudge_tui.protocols.pointwise",
    "pairwise": "recjudge_tui.protocols.pairwise",
    "arena": "recjudge_tui.protocols.arena",
    "absolute": "recjudge_tui.protocols.absolute",
    "explanation": "recjudge_tui.protocols.explanation",
}
# those that `recjudge run` and the app offer; `robustness adversarial` picks its own cases
PROTOCOLS = tuple(_MODULES)
_MODULES["adversarial"] = "recjudge_tui.protocols.adversarial"


def protocol(name: str) -> Protocol:
    """The protocol called `name`; raises UsageError for one that does not exist."""
    if name not in _MODULES:
        raise UsageError(f"no protocol “{name}”", f"There are: {', '.join(PROTOCOLS)}.")
    found: Protocol = import_module(_MODULES[name]).PROTOCOL
    return found
