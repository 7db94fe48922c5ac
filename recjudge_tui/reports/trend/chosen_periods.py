"""The periods that a trend shows: from the first to the last one named."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

from recjudge_tui.domain.occasions import Over, period_of
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.trend.measured import period_order

_PERIOD = re.compile(r"(\d{4})(?:-W(\d\d)|-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_DAY = timedelta(days=1)


class PeriodRange(NamedTuple):
    """The first and the last period, named as in the trend; empty: no bound."""

    first: str
    last: str

    def has(self, period: str) -> bool:
        place = period_order(period)
        after = not self.first or place >= period_order(self.first)
        return after and (not self.last or place <= period_order(self.last))


def period_range(over: Over, since: str, until: str) -> PeriodRange:
    """The periods of a trend from `since` to `until`, which may be longer or shorter than these: every period counts that
    has a day in common with them (2026-03-31 means its week or month, 2026-03 all of its days). By import, they are numbers
    of imports. Raises UsageError."""
    if over == "import":
        bounds = PeriodRange(_import(since), _import(until))
    else:
        bounds = PeriodRange(
            since and period_of(_days(since)[0].isoformat(), over),
            until and period_of(_days(until)[1].isoformat(), over),
        )
    if bounds.first and not PeriodRange("", bounds.last).has(bounds.first):
        raise UsageError(f"--from {since} is after --to {until}", next_step="Swap them.")
    return bounds


def _import(text: str) -> str:
    number = text.strip().removeprefix("import").strip()
    if text and not (number.isascii() and number.isdigit()):
        raise UsageError(
            f"“{one_line(text, 40)}” is not the number of an import",
            "By import, --from and --to are numbers, as “recjudge imports list” shows them.",
        )
    return text and f"import {int(number)}"


def _days(text: str) -> tuple[date, date]:
    """The first and the last day of a year, month, week or day. Raises UsageError."""
    try:
        match = _PERIOD.fullmatch(text.strip())
        year, week, month, day = (int(part or 0) for part in match.groups()) if match else (0, 0, 0, 0)
        if week:
            return date.fromisocalendar(year, week, 1), date.fromisocalendar(year, week, 7)
        if day:
            return date(year, month, day), date(year, month, day)
        first = date(year, month or 1, 1)
        following = date(year, month + 1, 1) if 0 < month < 12 else date(year + 1, 1, 1)
        return first, following - _DAY
    except ValueError:
        raise UsageError(
            f"“{one_line(text, 40)}” is not a period", "Write it as 2026, 2026-03, 2026-W10 or 2026-03-31."
        ) from None
