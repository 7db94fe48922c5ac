"""Times as they are stored."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone


def now(later_s: float = 0.0) -> str:
    """The current time, or one so many seconds later, ISO 8601 in UTC, with milliseconds."""
    return (datetime.now(timezone.utc) + timedelta(seconds=later_s)).isoformat(timespec="milliseconds")
