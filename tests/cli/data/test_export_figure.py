"""`recjudge export --figure` as a script calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.app import recjudge
from tests.support.drawn_project import drawn_project

Run = Callable[..., Result]


@pytest.fixture
def run(project_db: Path) -> Run:
    drawn_project(project_db).db.close()

    def call(*words: str) -> Result:
        arguments = ["export", "-p", "films", "--db", str(project_db), *words]
        result = CliRunner().invoke(recjudge, arguments, standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return result

    return call


def test_a_figure_is_written_to_its_file_and_reported(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.svg"
    path.write_text("old")
    result = run("--figure", "runs", "--truth", "anna", "--stat", "kappa", "-o", str(path))
    assert result.stdout == ""
    assert "Cohen's κ with anna of each run: pairwise overall, n = 48 cases per run" in result.stderr
    assert f"written to {path}" in result.stderr
    ElementTree.parse(path)
    ElementTree.fromstring(run("--figure", "runs", "-o", "-").stdout)
    for ending, begins in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        other = tmp_path / f"runs.{ending}"
        run("--figure", "runs", "--columns", "2", "--no-caption", "-o", str(other))
        assert other.read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("leaderboard --protocol pointwise --rater anna --method mean", "pointwise overall, mean score by anna"),
        ("ensembles --protocol pairwise --truth ben --stat kendall --level user", "Kendall's τ, mean over users"),
        ("confusion --rater poor --truth ben --aspect overall", "poor (down) against ben (across), n=48"),
        ("leaderboard --systems als,text --raters poor,ben", "Only the systems als, text."),
    ],
)  # fmt: skip
def test_the_options_reach_the_figure(run: Run, tmp_path: Path, words: str, said: str) -> None:
    assert said in run("--figure", *words.split(), "-o", str(tmp_path / "a.svg")).stderr
