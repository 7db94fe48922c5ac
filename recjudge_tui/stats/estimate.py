"""A figure with its n, its interval and, if it is undefined, the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass

# figures are shares, means of ratings or coefficients: below this they are rounding errors
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Interval:
    """Both ends of an interval, or neither and the reason."""

    low: float | None
    high: float | None
    note: str = ""


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval. `n`: rows used. `groups`: of a mean over groups, their number, with the
    `groups_undefined` ones left out. An undefined figure has value None and the reason in `note`; so does a missing
    interval. Raises ValueError when built with NaN, or undefined without a reason."""

    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    groups: int | None = None
    groups_undefined: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        if any(v is not None and not math.isfinite(v) for v in (self.value, self.ci_low, self.ci_high)):
            raise ValueError("an estimate is a finite number or None")
        if self.value is None and not self.note:
            raise ValueError("an undefined estimate needs a reason")
        # sums of fractions leave -2e-16 where the figure is 0
        for name in ("value", "ci_low", "ci_high"):
            number = getattr(self, name)
            if number is not None and abs(number) < _ROUNDING:
                object.__setattr__(self, name, 0.0)

    def ends(self, of: str = "ci") -> dict[str, object]:
        """Both ends as cells of a table: `ci_low` and `ci_high`, or those of another figure."""
        return {f"{of}_low": self.ci_low, f"{of}_high": self.ci_high}

    @property
    def cells(self) -> dict[str, object]:
        """The cells `value`, `ci_low`, `ci_high`, `n` and `note` of a table."""
        return {"value": self.value, **self.ends(), "n": self.n, "note": self.note}


def undefined(reason: str, n: int = 0) -> Estimate:
    """An estimate without a value."""
    return Estimate(None, None, None, n, note=reason)


def join_notes(*notes: str) -> str:
    """The distinct notes that are not empty, in order, joined by semicolons; some may be joined already."""
    return "; ".join(dict.fromkeys(part for note in notes if note for part in note.split("; ")))
