"""What commands offer, which load no report before they run, is what the reports take."""

from __future__ import annotations

from typing import get_args

import click
import pytest

from recjudge_tui.cli import options
from recjudge_tui.cli.data.export import EXPORTS, export
from recjudge_tui.cli.people import raters, verdicts
from recjudge_tui.cli.results.cost import cost
from recjudge_tui.cli.results.estimate import estimate
from recjudge_tui.cli.results.leaderboard import leaderboard
from recjudge_tui.cli.results.reproduce import reproduce
from recjudge_tui.raters.consensus import Rule
from recjudge_tui.raters.ensemble import EnsembleRule
from recjudge_tui.reports.common.stream import EXPORT_FORMATS, PARQUET
from recjudge_tui.reports.common.table import FORMATS
from recjudge_tui.reports.leaderboard.arena import PAIRS, TABLES
from recjudge_tui.reports.papers.zhang_evaluators import LEVELS
from recjudge_tui.reports.projects.data_export import RANKINGS
from recjudge_tui.reports.projects.ranking_files import RankingFormat
from recjudge_tui.reports.reliability.human_estimates import MEASURES
from recjudge_tui.stats.ranking import Ties
from recjudge_tui.stats.text import TOKENS
from recjudge_tui.store.verdicts.listing import SORTS
from recjudge_tui.store.verdicts.triage_log import Action

OFFERED = (
    (leaderboard, "table", {*TABLES, PAIRS}),
    (leaderboard, "ties", set(get_args(Ties))),
    (estimate, "measure", set(MEASURES)),
    (cost, "rule", set(get_args(EnsembleRule))),
    (reproduce, "level", set(LEVELS)),
    (raters.consensus, "rule", set(get_args(Rule))),
    (raters.ensemble, "rule", set(get_args(EnsembleRule))),
    (raters.metric, "tokens", set(TOKENS)),
    (verdicts.list_, "sort", {*SORTS, "attention"}),
    (verdicts.decide, "action", set(get_args(Action)) - {"undo"}),
    (export, "fmt", {*EXPORT_FORMATS, PARQUET, *get_args(RankingFormat)}),
)


@pytest.mark.parametrize(("command", "name", "taken"), OFFERED)
def test_a_command_offers_what_its_report_takes(command: click.Command, name: str, taken: set[str]) -> None:
    (choice,) = (parameter.type for parameter in command.params if parameter.name == name)
    assert isinstance(choice, click.Choice)
    assert set(choice.choices) == taken


def test_tables_and_exports() -> None:
    assert options.FORMATS == FORMATS
    assert set(RANKINGS) < set(EXPORTS)
