"""When there are too few cases for a conclusion."""

from __future__ import annotations

# below this number, a single case can change the meaning of a statistic
FEWEST_CASES = 10


def few_cases(n: int) -> str:
    """A warning about a statistic of fewer than FEWEST_CASES cases; empty with more cases, and without any."""
    cases = "case" if n == 1 else "cases"
    return f"only {n} {cases}: too few to conclude from" if 0 < n < FEWEST_CASES else ""
