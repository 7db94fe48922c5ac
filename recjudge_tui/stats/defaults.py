"""The levels and sizes that statistics, reports and commands use unless told otherwise.

It loads no NumPy, so that the help of a command costs nothing.
"""

from __future__ import annotations

# confidence of an interval; two-sided level of a test; power that a sample is planned for
LEVEL = 0.95
ALPHA = 0.05
POWER = 0.8


def level_text(level: float = LEVEL) -> str:
    """A confidence level as sentences and headings have it: 95 %."""
    return f"{100 * level:.6g} %"


# differences that a sample is planned for: of a win rate from one half, or between two shares
DIFFERENCES = (0.05, 0.1, 0.2)
# draws of a bootstrap
RESAMPLES = 2000
# the same for a page with every report
PAGE_RESAMPLES = 1000
# cross-validation folds; bins of confidence; how often a label set should contain the label
FOLDS = 5
BINS = 10
COVERAGE = 0.9
# how many items of a list metrics look at
TOP_K = 10
# Elo's K, and over how many random orders of the verdicts its ratings are averaged
K_FACTOR = 4.0
ELO_ORDERS = 100
