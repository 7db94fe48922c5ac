"""Every interval that a report can show is one whose coverage `benchmarks/coverage.py` measures."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np

from benchmarks.coverage import SETTINGS
from recjudge_tui.stats.agreement.registry import MANY_RATERS, STATISTICS

ROOT = Path(__file__).resolve().parent.parent
STATS = ROOT / "recjudge_tui" / "stats"
# results without an interval, and intervals that are measured through the function that calls these or is equal to them
WITHOUT = {"undefined", "intraclass"}
THROUGH = {
    "clopper_pearson": "share_estimate", "mean_estimates": "mean_estimate", "pair_intervals": "outcome_estimates",
}  # fmt: skip


def texts(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))


def names_in(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def with_intervals() -> set[str]:
    """The public functions of `stats` whose result holds an estimate or an interval."""
    parts = [
        part for path in STATS.rglob("*.py") for part in ast.parse(path.read_text(encoding="utf-8")).body
    ]
    holders = {"Estimate", "Interval", "Association"}
    for part in parts:
        if isinstance(part, ast.ClassDef):
            fields = (field.annotation for field in part.body if isinstance(field, ast.AnnAssign))
            holders |= {part.name for field in fields if names_in(field) & {"Estimate", "Interval"}}
    made = {
        part.name
        for part in parts
        if isinstance(part, ast.FunctionDef) and part.returns is not None and names_in(part.returns) & holders
    }
    return {name for name in made if not name.startswith("_")} - WITHOUT


def used(names: set[str], code: str) -> set[str]:
    return names & set(re.findall(r"\w+", code))


def test_every_function_that_makes_a_shown_interval_is_measured() -> None:
    rooms = [room for room in (ROOT / "recjudge_tui").iterdir() if room.is_dir() and room != STATS]
    shown = used(with_intervals(), "\n".join(map(texts, rooms)))
    measured = used(with_intervals(), texts(ROOT / "benchmarks" / "intervals"))
    assert {THROUGH.get(name, name) for name in shown} - measured == set()
    assert len(shown) > 20


def test_every_statistic_of_agreement_is_measured() -> None:
    rng = np.random.default_rng(0)
    for name, registry in (("agreement", STATISTICS), ("many raters", MANY_RATERS)):
        drawn = {figure for setting in SETTINGS[name] for figure in setting.draw(rng, 3)}
        assert set(registry) - drawn == set(), name
