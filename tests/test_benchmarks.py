"""Every benchmark can be imported, explains itself, has a small size, and is named on the page of benchmarks."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.run import MODULES

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", [*MODULES, "run"])
def test_help_of_a_benchmark(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        import_module(f"benchmarks.{name}").main(["--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert "--quick" in shown
    assert str(import_module(f"benchmarks.{name}").__doc__).splitlines()[0] in shown


def test_the_page_names_each_benchmark() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert [name for name in MODULES if f"`{name}`" not in page] == []


def test_a_benchmark_prints_what_it_measured(capsys: pytest.CaptureFixture[str]) -> None:
    import_module("benchmarks.startup").main(["--quick"])
    shown = capsys.readouterr().out
    assert "recjudge leaderboard --help" in shown
    assert "bound <= 4 x" in shown
