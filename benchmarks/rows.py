"""Rows of the table of measurements."""

from __future__ import annotations

from typing import Any


def bounded_row(name: str, ours: float, bound: float, least: bool, note: str) -> dict[str, Any]:
    """A figure that must be at least `bound`, or at most if not `least`."""
    return {
        "name": name, "ours": round(ours, 3), "comparison": None, "ratio": None, "bound": round(bound, 3),
        "holds": ours >= bound if least else ours <= bound, "note": note,
    }  # fmt: skip
