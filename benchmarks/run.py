"""Run the project's measurements and print one table: python benchmarks/run.py [NAME...] [--format text|json].

Each module beside this one has `measure() -> list[Row]`; a row is name, ours, comparison, ratio, bound,
holds, note. Figures are medians where that makes sense; machines are noisy, so look at ratios.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recjudge_tui.reports.common.table import Column, Table, write_table

MODULES = (
    "startup",
    "calls",
    "faults",
    "replies",
