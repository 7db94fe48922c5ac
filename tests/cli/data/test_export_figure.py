"""`recjudge export --figure` as a script calls it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner, Result

from recjudge_tui.cli.app import recjudge
from recjudge_tui.errors import NotFoundError, RecjudgeError, UsageError
from recjudge_tui.reports.figures.registry import FIGURES
from tests.support.drawn_project import drawn_project

Run = Callable[..., Result]


@pytest.fixture
def run(project_db: Path) -> Run:
    drawn_project(project_db).db.close()

    def call(*words: str, project: str = "films") -> Result:
        result = CliRunner().invoke(
            recjudge, ["export", "-p", project, "--db", str(project_db), *words], standalone_mode=False
        )
        if result.exception is not None:
            raise result.exception
        return result

    return call


def test_a_figure_is_written_to_its_file_and_reported(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "runs.svg"
    path.write_text("old")
    result = run("--figure", "runs", "--truth", "anna", "--stat", "kappa", "-o", str(path))
    assert result.stdout == ""
    assert "Cohen's κ of each run with anna: pairwise overall, n = 48 cases per run" in result.stderr
    assert f"written to {path}" in result.stderr
    ElementTree.parse(path)
    for ending, begins in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
        other = tmp_path / f"runs.{ending}"
        run("--figure", "runs", "--columns", "2", "--no-caption", "-o", str(other))
        assert other.read_bytes().startswith(begins)


def test_the_options_reach_the_figure(run: Run, tmp_path: Path) -> None:
    out = ("-o", str(tmp_path / "a.svg"))
    said = run(
        "--figure", "leaderboard", "--protocol", "pointwise", "--rater", "anna", "--method", "mean", *out
    )
    assert "Leaderboard: pointwise overall, mean score by anna" in said.stderr
    said = run(
        "--figure",
        "ensembles",
        "--protocol",
        "pairwise",
        "--truth",
        "ben",
        "--stat",
        "kendall",
        "--level",
        "user",
        *out,
    )
    assert "Kendall's τ, mean over users" in said.stderr
    said = run("--figure", "confusion", "--rater", "poor", "--truth", "ben", "--aspect", "overall", *out)
    assert "poor (down) against ben (across), n=48" in said.stderr


def test_list_and_help_name_every_figure() -> None:
    listed = CliRunner().invoke(recjudge, ["export", "--figure", "list"], standalone_mode=False)
    assert listed.exception is None
    helped = CliRunner().invoke(recjudge, ["export", "--help"], standalone_mode=False).stdout
    for name, kind in FIGURES.items():
        assert f"{name} " in listed.stdout
        assert kind.about in listed.stdout
        assert name in " ".join(helped.split())
    for kind in FIGURES.values():
        for option in kind.options:
            assert f"--{option}" in helped


def test_the_page_about_figures_has_each_with_its_options() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "figures.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    assert list(rows) == list(FIGURES)
    for name, kind in FIGURES.items():
        assert rows[name].rpartition(" | ")[2] == " ".join(f"`--{option}`" for option in kind.options) + " |"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("verdicts", "--figure", "runs", "-o", "a.svg"), "--figure draws a picture and exports no rows"),
        (("--figure", "runs", "--format", "csv", "-o", "a.svg"), "--figure draws a picture and exports no rows"),
        (("--figure", "runs", "--filter", "label:A", "-o", "a.svg"), "--figure draws a picture and exports no rows"),
        (("--figure", "runs"), "a figure needs a file"),
        (("--figure", "runs", "--rater", "good", "-o", "a.svg"), "--figure runs has no option --rater"),
        (("verdicts", "--truth", "anna"), "--truth needs --figure NAME"),
        ((), "say what to export"),
    ],
)  # fmt: skip
def test_words_that_do_not_fit(run: Run, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(click.UsageError, match=said):
        run(*words)


def test_missing_data(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageError, match="no figure “nix” Available: confusion"):
        run("--figure", "nix", "-o", "a.svg")
    with pytest.raises(UsageError, match=r"no picture format for “a\.csv”"):
        run("--figure", "runs", "-o", "a.csv")
    with pytest.raises(NotFoundError, match="no project"):
        run("--figure", "runs", "-o", "a.svg", project="nix")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(RecjudgeError, match=r"recjudge\[figures\]"):
        run("--figure", "runs", "-o", "a.svg")
    assert sorted(tmp_path.iterdir()) == before


def test_rows_are_exported_as_before(run: Run) -> None:
    assert run("labels").stdout.count("\n") == 1 + 48 + 48 + 48


def test_systems_and_raters_reach_the_figure(run: Run, tmp_path: Path) -> None:
    out = ("-o", str(tmp_path / "a.svg"))
    caption = run("--figure", "leaderboard", "--systems", "als,text", "--raters", "poor,ben", *out).stderr
    assert "Only the systems als, text." in caption
    drawn = (tmp_path / "a.svg").read_text()
    assert all(name in drawn for name in ("poor", "ben", "als", "text"))
    assert not any(name in drawn for name in ("anna", "cooc"))
    with pytest.raises(click.UsageError, match="--raters needs --figure"):
        run("verdicts", "--raters", "ben", *out)
