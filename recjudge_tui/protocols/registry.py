"""The module with the functions of each protocol. Its facts are in recjudge_tui/domain/protocols.py."""

from __future__ import annotations

from importlib import import_module

from recjudge_tui.domain.made_lists import ADVERSARIAL, PLANTED
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.protocols.base import Protocol

# protocol -> the module that holds its PROTOCOL
MODULES: dict[str, str] = {
    "pointwise": "recjudge_tui.protocols.pointwise",
    "pairwise": "recjudge_tui.protocols.pairwise",
    "arena": "recjudge_tui.protocols.arena",
    "absolute": "recjudge_tui.protocols.absolute",
    "explanation": "recjudge_tui.protocols.explanation",
    ADVERSARIAL: "recjudge_tui.protocols.adversarial",
    PLANTED: "recjudge_tui.protocols.planted",
}


def protocol(name: str) -> Protocol:
    """The protocol called `name`. Raises UsageError for an unknown one, naming those on offer."""
    protocol_facts(name)
    chosen: Protocol = import_module(MODULES[name]).PROTOCOL
    return chosen
