"""Occasions: a user is recommended many lists, each in a context (a visit, a placement, a query) and at a time."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, datetime, time, timedelta, timezone
from typing import Literal, NamedTuple, get_args

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import UsageError

LAST_SECOND = time(23, 59, 59)


class Occasion(NamedTuple):
    """Where and when a user was shown something. `context` is any text, empty if the data has none; `served_at` is ISO
    8601 in UTC, empty if unknown."""

    context: str = ""
    served_at: str = ""


NO_OCCASION = Occasion()


def occasion_text(occasion: Occasion) -> str:
    """The occasion for a person, such as `home, 2024-05-01 12:00`; empty if nothing is known about it."""
    day, clock = occasion.served_at[:10], occasion.served_at[11:16]
    # a list with only a day counts as served at midnight
    time = day if clock in ("", "00:00") else f"{day} {clock}"
    return ", ".join(part for part in (one_line(occasion.context, 60), time) if part)


def compared_times(a: Collection[str], b: Collection[str]) -> list[tuple[str, str]]:
    """The times at which lists of two systems are compared, within one user and context. If each system has only one
    list, these are compared regardless of their times; else lists served at the same time are."""
    if len(a) == 1 == len(b):
        return [(next(iter(a)), next(iter(b)))]
    return [(time, time) for time in sorted(set(a) & set(b))]


def earlier(*times: str) -> str:
    """The earliest of the known times; empty if there is none."""
    return min(filter(None, times), default="")


def meant_occasions(named: Occasion, known: Collection[Occasion]) -> list[Occasion]:
    """The `known` occasions that `named` may mean: the same one, or else all that agree with everything it gives."""
    if named in known:
        return [named]
    return [
        occasion
        for occasion in known
        if named.context in ("", occasion.context) and named.served_at in ("", occasion.served_at)
    ]


class OccasionFilter(NamedTuple):
    """The chosen occasions: in one of `contexts` (empty: any), served from `start` to `end` inclusive (ISO 8601 in UTC,
    empty: unbounded). With a bound, anything without a time is left out."""

    contexts: tuple[str, ...] = ()
    start: str = ""
    end: str = ""

    @property
    def is_timed(self) -> bool:
        return bool(self.start or self.end)

    def has(self, occasion: Occasion) -> bool:
        return self.has_context(occasion.context) and self.has_time(occasion.served_at)

    def has_context(self, context: str) -> bool:
        return not self.contexts or context in self.contexts

    def has_time(self, served_at: str) -> bool:
        if not self.is_timed:
            return True
        return bool(served_at) and self.start <= served_at and (not self.end or served_at <= self.end)


EVERY_OCCASION = OccasionFilter()


def occasion_filter(contexts: Collection[str], served_from: str, served_to: str) -> OccasionFilter:
    """The filter for times as a person writes them: a date means the whole day in UTC, also at the end. Raises UsageError
    for an invalid time, or a start after the end."""
    start = parse_time(served_from, of_day=time.min) if served_from else ""
    end = parse_time(served_to, of_day=time.max) if served_to else ""
    if start and end and start > end:
        raise UsageError(f"{served_from} is after {served_to}", next_step="Swap the two times.")
    return OccasionFilter(tuple(dict.fromkeys(contexts)), start, end)


def parse_time(text: str, *, of_day: time = LAST_SECOND) -> str:
    """A time as a person writes it, in ISO 8601 UTC; a date alone means `of_day` on that day. Raises UsageError."""
    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError as error:
        raise UsageError(
            f"“{text}” is not a time", next_step="Write it as 2024-05-01 or 2024-05-01T12:00:00Z."
        ) from error
    if len(text.strip()) <= len("2024-05-01"):
        moment = datetime.combine(moment, of_day)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    try:
        return moment.astimezone(timezone.utc).isoformat()
    except OverflowError as error:
        raise UsageError(f"“{text}” is not a date in the calendar") from error


# ---- periods: the days, ISO weeks and months (UTC) in which lists were served, or the imports that brought them first --

Over = Literal["day", "week", "month", "import"]
OVER: tuple[Over, ...] = get_args(Over)
_PERIOD = re.compile(r"(\d{4})(?:-W(\d\d)|-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_IMPORT = "import "


def period_of(day: str, over: Over) -> str:
    """The period of a day (YYYY-MM-DD): itself, `2026-W07` or `2026-02`. Raises ValueError for a text that is no date."""
    if over == "month":
        return day[:7]
    if over == "week":
        year, week, _ = date.fromisoformat(day).isocalendar()
        return f"{year}-W{week:02d}"
    return day


def period_days(text: str) -> tuple[date, date]:
    """The first and the last day of a year, month, week or day, named as `period_of` does. Raises UsageError."""
    try:
        match = _PERIOD.fullmatch(text.strip())
        year, week, month, day = (int(part or 0) for part in match.groups()) if match else (0, 0, 0, 0)
        if week:
            return date.fromisocalendar(year, week, 1), date.fromisocalendar(year, week, 7)
        if day:
            return date(year, month, day), date(year, month, day)
        following = date(year, month + 1, 1) if 0 < month < 12 else date(year + 1, 1, 1)
        return date(year, month or 1, 1), following - timedelta(days=1)
    except ValueError:
        raise UsageError(
            f"“{one_line(text, 40)}” is not a period", "Write it as 2026, 2026-03, 2026-W10 or 2026-03-31."
        ) from None


def import_period(identity: int) -> str:
    """The period of an import."""
    return f"{_IMPORT}{identity}"


def period_order(period: str) -> tuple[int, str]:
    """A key that sorts periods in time: imports by their number, the others by name."""
    number = period.removeprefix(_IMPORT)
    return (int(number), "") if number != period else (0, period)


class PeriodRange(NamedTuple):
    """The first and the last period; empty: no bound."""

    first: str
    last: str

    def has(self, period: str) -> bool:
        place = period_order(period)
        after = not self.first or place >= period_order(self.first)
        return after and (not self.last or place <= period_order(self.last))


def period_range(over: Over, since: str, until: str) -> PeriodRange:
    """The periods from `since` to `until`, each of any length: every period counts that has a day in common with them. By
    import, they are numbers of imports. Raises UsageError."""
    if over == "import":
        bounds = PeriodRange(_import_number(since), _import_number(until))
    else:
        bounds = PeriodRange(
            since and period_of(period_days(since)[0].isoformat(), over),
            until and period_of(period_days(until)[1].isoformat(), over),
        )
    if bounds.first and not PeriodRange("", bounds.last).has(bounds.first):
        raise UsageError(f"{since} is after {until}", next_step="Swap them.")
    return bounds


def _import_number(text: str) -> str:
    number = text.strip().removeprefix("import").strip()
    if text and not (number.isascii() and number.isdigit()):
        raise UsageError(
            f"“{one_line(text, 40)}” is not the number of an import",
            "By import, the first and the last period are numbers of imports.",
        )
    return text and import_period(int(number))
