"""Beside every rater made from others stands that it counts as right, although nobody has checked it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.results.agreement import agreement
from recjudge_tui.raters.consensus import make_consensus
from recjudge_tui.raters.ensemble import make_ensemble
from recjudge_tui.reports.agreement.agreement import agreement_table
from recjudge_tui.reports.agreement.by_label import by_label_table
from recjudge_tui.reports.agreement.confusion import confusion_table
from recjudge_tui.reports.agreement.ensembles import ensembles_table
from recjudge_tui.reports.agreement.together import together_table
from recjudge_tui.reports.common.pairing import AgreementOptions
from recjudge_tui.reports.common.scales import combined_notes
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.documents.html_report import ReportOptions, project_report
from recjudge_tui.reports.documents.passport import passport_table
from recjudge_tui.reports.figures.loading import figure_data
from recjudge_tui.reports.figures.options import FigureOptions
from recjudge_tui.reports.figures.registry import FIGURES
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.projects.overview import raters_table
from recjudge_tui.reports.reliability.calibration import (
    CalibrationOptions,
    error_table,
    reliability_table,
    stated_confidences,
)
from recjudge_tui.reports.reliability.ensemble_costs import EnsembleCostOptions, ensemble_costs_table
from recjudge_tui.reports.reliability.gate import gate_table
from recjudge_tui.reports.reliability.gate_options import Bound, GateOptions
from recjudge_tui.reports.reliability.human_estimates import EstimateOptions, human_estimates_table
from recjudge_tui.reports.verdicts.export import save_verdicts
from recjudge_tui.reports.verdicts.listing import verdicts_table
from recjudge_tui.store.verdicts.ratings import Rater
from tests.support.drawn_project import drawn_project
from tests.support.homes import project_home
from tests.support.verdicts import Project

ABOUT = " is made from other raters: it counts as right, although nobody has checked it"
TOPIC = ("pairwise", "overall")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = drawn_project(tmp_path_factory.mktemp("juries") / "p.db")
    make_consensus(project.db, project.id, "crowd", "conservative", ["anna", "ben"])
    make_consensus(project.db, project.id, "stern", "strict", ["anna", "good"])
    make_ensemble(project.db, project.id, "jury", "majority", ["good", "poor"])
    return project


def calibrated(project: Project, options: CalibrationOptions, table: Callable[..., Table]) -> Table:
    return table(stated_confidences(project.db, project.id, options), options)


def tables(project: Project, truth: str) -> dict[str, Table]:
    """Every table that takes a reference."""
    db, identity = project.db, project.id
    compared = AgreementOptions(*TOPIC, raters=("good",), truth=truth)
    several = AgreementOptions(*TOPIC, raters=("good", "poor"), truth=truth)
    stated = CalibrationOptions("good", truth, *TOPIC)
    by_stage = {
        table.__name__: calibrated(project, stated, table) for table in (error_table, reliability_table)
    }
    return by_stage | {
        "agreement": agreement_table(db, identity, compared),
        "confusion": confusion_table(db, identity, compared),
        "by label": by_label_table(db, identity, compared),
        "together": together_table(db, identity, AgreementOptions(*TOPIC, raters=("good", truth))),
        "ensembles": ensembles_table(db, identity, several),
        "costs": ensemble_costs_table(
            db, identity, EnsembleCostOptions(truth, "mean", ("good", "poor"), *TOPIC)
        ),
        "estimates": human_estimates_table(db, identity, EstimateOptions("good", truth, *TOPIC)),
        "gate": gate_table(
            db,
            identity,
            GateOptions("good", (Bound("qwk", 0.1, least=True),), truth=truth, protocol="pairwise"),
        ),
    }


def test_each_table_says_it_of_its_reference(project: Project) -> None:
    for reference, names in (("crowd", {"crowd" + ABOUT}), ("anna", set())):
        for surface, table in tables(project, reference).items():
            assert {note for note in table.notes if ABOUT in note} == names, surface


def test_each_ensemble_is_named_once(project: Project) -> None:
    for table in (
        agreement_table(project.db, project.id, AgreementOptions(*TOPIC)),
        leaderboard_table(project.db, project.id, LeaderboardOptions("pairwise")),
    ):
        assert [note for note in table.notes if ABOUT in note] == ["crowd" + ABOUT, "jury" + ABOUT]


def test_a_mean_of_metrics_is_no_reference(project: Project) -> None:
    metric, mean = (Rater(1, "m", kind, of_metrics=True) for kind in ("metric", "ensemble"))
    assert combined_notes([metric, mean, Rater(2, "anna", "annotator")]) == []


def test_the_command_says_it_in_its_notes(project: Project, tmp_path: Path) -> None:
    words = ["--truth", "crowd", "--raters", "good", "--protocol", "pairwise"]
    place = ["-p", "films", "--db", str(project.db.path), "--format", "json"]
    result = CliRunner().invoke(agreement, [*place, *words], catch_exceptions=False, standalone_mode=False)
    assert "crowd" + ABOUT in json.loads(result.stdout)["notes"]


def test_report_and_passport_say_it(project: Project) -> None:
    page = project_report(project.db, project.id, ReportOptions(("agreement",))).text
    assert "crowd" + ABOUT in page
    assert "crowd" + ABOUT in passport_table(project.db, project.id, "good").notes


def test_the_home_says_it_of_its_reference(project: Project) -> None:
    agreement = project_home(project.db, project.id).agreement
    assert agreement is not None
    assert (agreement.people, agreement.about) == ("crowd", "crowd" + ABOUT)


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in ("q-metric", "flags")])
def test_each_figure_says_it_in_its_caption(project: Project, name: str) -> None:
    kind = FIGURES[name]
    if "truth" in kind.labels:
        options = FigureOptions(*TOPIC, truth="crowd")
    elif "pairwise" in kind.protocols:
        options = FigureOptions(*TOPIC, rater="jury")
    else:
        options = FigureOptions("pointwise", "overall", rater="stern")
    caption = figure_data(project.db, project.id, name, options).caption
    assert f"{options.truth or options.rater}{ABOUT}." in caption


def test_lists_of_raters_and_of_verdicts_say_it(project: Project) -> None:
    made = ["crowd" + ABOUT, "jury" + ABOUT, "stern" + ABOUT]
    for names, table in (
        (made, raters_table(project.db, project.id)),
        (made, verdicts_table(project.db, project.id)),
        (made[:1], verdicts_table(project.db, project.id, "judge:crowd")),
        ([], verdicts_table(project.db, project.id, "judge:anna")),
    ):
        assert [note for note in table.notes if ABOUT in note] == names


@pytest.mark.parametrize("ending", ["csv", "md"])
def test_exported_verdicts_say_it(project: Project, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"verdicts.{ending}"
    assert save_verdicts(project.db, project.id, "judge:jury", path).notes == ("jury" + ABOUT,)
    assert save_verdicts(project.db, project.id, "judge:anna", path).notes == ()
