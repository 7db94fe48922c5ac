"""The exit code of a command that checked a gate."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.reliability.gate import NOT_MET, UNKNOWN

GATE_NOT_MET = 3
CANNOT_TELL = 1


class GateExit(NamedTuple):
    """The exit code, and one line with the reason."""

    exit_code: int
    message: str


def gate_exit(table: Table) -> GateExit:
    """0 if every check of a table of `gate_table` is met, 3 if one is not, 1 if one cannot be determined."""
    states = [row["state"] for row in table.rows]
    failed, unknown = states.count(NOT_MET), states.count(UNKNOWN)
    if failed:
        return GateExit(GATE_NOT_MET, f"gate not met: {failed} of {len(states)} checks failed")
    if unknown:
        message = f"gate undecided: {unknown} of {len(states)} checks could not be determined"
        return GateExit(CANNOT_TELL, message)
    return GateExit(0, f"gate met: {len(states)} {'check' if len(states) == 1 else 'checks'}")
