"""The levels and sizes that statistics, reports and commands use by default.

This file does not import NumPy, so that the help of a command stays fast.
"""

from __future__ import annotations

# confidence level of an interval; two-sided level of a test; power for which a sample is planned
LEVEL = 0.95
ALPHA = 0.05
POWER = 0.8
# differences for which a sample is planned: of a win rate from one half, or between two shares
DIFFERENCES = (0.05, 0.1, 0.2)
# the figure of a system that is as good as the others, by the method of a leaderboard
EVEN = {"q": 1.0, "winrate": 0.5, "bt": 1000.0}
# cross-validation folds; bins of confidence
FOLDS = 5
BINS = 10
# the number of items of a list that metrics use
TOP_K = 10


def level_text(level: float = LEVEL) -> str:
    """A confidence level as text: 95 %."""
    return f"{100 * level:.6g} %"
