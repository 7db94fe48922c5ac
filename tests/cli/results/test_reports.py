"""The commands that print reports: agreement, leaderboard, metrics, rater."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from recjudge_tui.cli.results.agreement import agreement
from recjudge_tui.cli.results.biases import biases
from recjudge_tui.cli.results.leaderboard import leaderboard

from recjudge_tui.cli.data.export import export
from recjudge_tui.cli.people.raters import rater
from recjudge_tui.errors import NotFoundError, UsageError
from tests.support.verdicts import give, judge_pairs, list_case, new_project, pair_case

COMMANDS: tuple[click.Command, ...] = (
    agreement,
    biases,
    leaderboard,
    rater,
)


@pytest.fixture
def db(project_db: Path) -> str:
    project = new_project(project_db)
    lists = [list_case(project, f"u{i}") for i in range(6)]
    pairs = [pair_case(project, f"u{i}") for i in range(6)]
    for name, shift in (("anna", 0), ("ben", 1)):
        give(project, name, {case: float((at + shift * (at % 2)) % 3) for at, case in enumerate(lists)})
        give(project, name, dict.fromkeys(pairs, 1.0), protocol_name="pairwise")
    judge_pairs(project, "llm", {case: (1.0, 1.0 if at else -1.0) for at, case in enumerate(pairs)})
    project.db.close()
    return str(project_db)


def run(command: click.Command, *words: str) -> str:
    """What the command writes to stdout; its own exceptions come through."""
    result = CliRunner().invoke(command, list(words), catch_exceptions=False, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def table(command: click.Command, db: str, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(command, *words, "-p", "films", "--db", db, "--format", "json"))
    return found


def test_agreement(db: str) -> None:
    found = table(
        agreement, db, "--protocol", "pointwise", "--stat", "qwk,percent,kappa", "--level", "dataset,user"
    )
    assert [(row["stat"], row["level"]) for row in found["rows"]] == [
        (stat, level) for level in ("dataset", "user") for stat in ("qwk", "percent", "kappa")
    ]
    assert found["settings"]["protocol"] == "pointwise"


def test_agreement_with_a_truth(db: str) -> None:
    found = table(
        agreement, db, "--protocol", "pairwise", "--truth", "anna", "--raters", "llm", "--by", "system"
    )
    assert {(row["rater_a"], row["rater_b"], row["system"]) for row in found["rows"]} == {
        ("llm", "anna", "a vs b")
    }


def test_leaderboard_of_pairs_and_of_lists(db: str) -> None:
    pairs = table(leaderboard, db, "--protocol", "pairwise", "--rater", "llm", "--method", "winrate")
    assert [(row["system"], row["wins"], row["position_ties"]) for row in pairs["rows"]] == [
        ("a", 5, 1),
        ("b", 0, 1),
    ]
    lists = table(leaderboard, db, "--protocol", "pointwise")
    assert {"system", "rater", "label", "count", "share", "ci_low", "ci_high"} <= set(lists["rows"][0])


def test_csv_is_data_alone_on_stdout(db: str) -> None:
    text = run(leaderboard, "-p", "films", "--db", db, "--protocol", "pairwise", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["system"] for row in rows} == {"a", "b"}


def test_to_a_file(db: str, tmp_path: Path) -> None:
    target = tmp_path / "board.md"
    said = run(
        leaderboard, "-p", "films", "--db", db, "--protocol", "pairwise", "--format", "md", "-o", str(target)
    )
    assert said == ""
    assert target.read_text().startswith("**Leaderboard: pairwise**")


def test_rater_consensus_list_and_delete(db: str) -> None:
    place = ("-p", "films", "--db", db)
    result = CliRunner().invoke(rater, ["combine", "gold", "--rule", "strict", "anna", "ben", *place])
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "created: 6 verdicts by rule strict" in result.stderr
    assert {row["name"] for row in table(rater, db, "list")["rows"]} == {"anna", "ben", "gold", "llm"}
    run(rater, "delete", "gold", "--yes", *place)
    assert {row["name"] for row in table(rater, db, "list")["rows"]} == {"anna", "ben", "llm"}


def test_deleting_asks_first(db: str) -> None:
    result = CliRunner().invoke(rater, ["delete", "anna", "-p", "films", "--db", db], input="n\n")
    assert result.exit_code == 1
    assert "anna" in {row["name"] for row in table(rater, db, "list")["rows"]}


def test_errors_are_recjudge_errors(db: str) -> None:
    with pytest.raises(NotFoundError):
        run(agreement, "-p", "nothing", "--db", db)
    with pytest.raises(UsageError):
        run(leaderboard, "-p", "films", "--db", db, "--protocol", "duel")


@pytest.mark.parametrize(
    "command", [*COMMANDS, *rater.commands.values()], ids=lambda command: str(command.name)
)
def test_help_has_an_example(command: click.Command) -> None:
    text = run(command, "--help")
    assert "Example:" in text or isinstance(command, click.Group)
    assert "--db" in text or isinstance(command, click.Group)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom recjudge_tui.cli.people import raters\n"
        "from recjudge_tui.cli.results import agreement\n"
        "print([m for m in ('numpy', 'scipy', 'pydantic', 'rich', 'sqlite_utils', 'httpx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_name_of_the_file_says_the_format(db: str, tmp_path: Path) -> None:
    begins = {
        "a.md": "**Lead",
        "a.TEX": "% needs",
        "a.csv": "system,",
        "a.html": "<!doctype",
        "a.txt": "Leaderboard",
    }
    for name, start in begins.items():
        run(leaderboard, "-p", "films", "--db", db, "--protocol", "pairwise", "-o", str(tmp_path / name))
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    run(leaderboard, *f"-p films --db {db} --protocol pairwise --format json -o {tmp_path / 'b.csv'}".split())
    assert json.loads((tmp_path / "b.csv").read_text(encoding="utf-8"))["rows"]
    with pytest.raises(UsageError, match=r"no format for “a\.xlsx”"):
        run(leaderboard, *f"-p films --db {db} --protocol pairwise -o {tmp_path / 'a.xlsx'}".split())
    assert not (tmp_path / "a.xlsx").exists()


def test_no_csv_under_the_name_of_another_format(db: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no export format"):
        run(export, "-p", "films", "--db", db, "verdicts", "-o", str(tmp_path / "v.xlsx"))
    assert not (tmp_path / "v.xlsx").exists()


def test_the_leaderboard_of_chosen_raters(db: str) -> None:
    every = table(leaderboard, db, "--protocol", "pointwise")["rows"]
    raters = sorted({row["rater"] for row in every})
    assert len(raters) > 1
    chosen = table(leaderboard, db, "--protocol", "pointwise", "--raters", ",".join(raters[:2]))["rows"]
    assert chosen == [row for row in every if row["rater"] in raters[:2]]
    assert (
        table(leaderboard, db, "--protocol", "pointwise", "--raters", raters[0])["rows"]
        == table(leaderboard, db, "--protocol", "pointwise", "--rater", raters[0])["rows"]
    )
