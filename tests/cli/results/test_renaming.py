"""No figure depends on what the systems are called, on the order of the rows or on earlier lists: every report, twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.people.raters import combine
from tests.support.commands import commands, formats_of, ran
from tests.support.renamed_project import JUDGES, PEOPLE, drawn, stored

Row = dict[str, Any]
SYSTEMS = ("sys-als", "sys-bpr", "sys-pop", "sys-txt")
OTHERWISE = ("sys-zzz", "sys-mmm", "sys-aaa", "sys-kkk")
MET = {
    "every pair": list(combinations(SYSTEMS, 2)),
    "a baseline": [(system, "sys-pop") for system in SYSTEMS if system != "sys-pop"],
    "two systems": [("sys-als", "sys-pop")],
}
# which pairs met decides from which side these see a pair
SEEN_FROM_A_SIDE = (
    "agreement --stat all --level dataset,user --raters good,jury,anna,gold-pairs",
    "agreement --stat all --by system --raters good,anna,gold-pairs",
    "agreement --confusion --raters good,poor,anna",
    "agreement --by-label --raters good,poor,anna",
    "agreement --together --stat all",
    "agreement --truth anna --raters good,poor,fair --ensembles --stat pearson,kendall --level dataset,user",
    "compare good poor",
    "compare good poor --by system",
    "compare good poor --table transitions",
    "cost",
    "cost --truth anna --rule dawid-skene",
    "gate --rater good --truth anna --at-least qwk=0.1 --at-least alpha_ordinal=0.1",
    "gate --rater good --against poor --truth anna",
    "plan",
    "plan --protocol pointwise --systems {sys-als},{sys-pop}",
    "robustness position --rater good",
    "trend --over day",
)
REPORTS = (
    *SEEN_FROM_A_SIDE,
    "cost --truth anna",
    "biases --truth anna",
    "estimate --rater good --truth anna --protocol pairwise --measure win_rate",
    "estimate --rater good --truth anna --protocol pointwise",
    "flags",
    "flags --by rank",
    "leaderboard --protocol pairwise --method bt",
    "leaderboard --protocol pairwise --method q",
    "leaderboard --protocol pairwise --method winrate",
    "leaderboard --protocol pairwise --table matrix",
    "leaderboard --protocol pairwise --table metrics",
    "leaderboard --protocol pointwise --table pairs",
    "leaderboard --protocol pairwise --table side-by-side",
    "leaderboard --protocol pointwise",
    "metrics",
    "metrics --table pairs --metrics ndcg,mrr",
    "passport good",
    "plan --systems {sys-als},{sys-pop}",
    "rater list",
    "robustness ablation --raters anna,ben",
    "robustness position",
)
# not reports on verdicts, or reports of what is shown word for word, side by side or elsewhere
OTHERS = {
    "batch status", "cases filters list", "cases list", "cases show", "config keys", "config show", "doctor",
    "annotate status", "export", "imports list", "judge list", "judge test", "methods", "outcome add", "outcome show",
    "project list", "project show", "prompt list", "prompt try", "prompt tune", "reproduce",
    "robustness adversarial", "robustness injected",
    "run", "runs failures", "runs list", "runs settings", "runs show", "runs work-group", "verdicts list", "verdicts log",
    "why",
}  # fmt: skip


def test_every_report_is_here() -> None:
    reports = {name for name, command in commands() if "json" in formats_of(command)}
    here = {
        " ".join(words.split()[:2]) if words.startswith("robust") else words.split()[0] for words in REPORTS
    }
    assert reports - OTHERS == here - {"rater"} | {"rater list"}


@pytest.fixture(scope="module", params=list(MET))
def projects(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder = tmp_path_factory.mktemp("renamed")
    project = drawn(5, SYSTEMS, MET[request.param])
    paths = []
    for at, names in enumerate((SYSTEMS, OTHERWISE)):
        path = folder / f"{at}.db"
        made = stored(path, project, dict(zip(SYSTEMS, names, strict=True)), seed=at, older=at == 1)
        combine(made.db, made.id, "gold", "strict", PEOPLE[:2])
        combine(made.db, made.id, "gold-pairs", "conservative", PEOPLE[:2])
        combine(made.db, made.id, "jury", "dawid-skene", JUDGES)
        paths.append(path)
    return tuple(paths)


def test_renamed_systems_and_shuffled_rows_get_the_same_figures(
    projects: tuple[Path, Path], request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    every, two = ("every pair" in request.node.name, "two systems" in request.node.name)
    for words in REPORTS if every else SEEN_FROM_A_SIDE:
        as_named, renamed = (
            _rows(capsys, words, path, dict(zip(SYSTEMS, names, strict=True)), two and names == OTHERWISE)
            for path, names in zip(projects, (SYSTEMS, OTHERWISE), strict=True)
        )
        assert as_named, words
        assert len(as_named) == len(renamed), words
        for ours, theirs in zip(as_named, renamed, strict=True):
            _assert_same(words, ours, theirs)


def _rows(
    capsys: pytest.CaptureFixture[str], words: str, path: Path, names: Mapping[str, str], turned: bool
) -> list[Row]:
    """The rows that a report prints, in the project's own names; `turned`: its two systems are in the other order."""
    for name, called in names.items():
        words = words.replace("{" + name + "}", called)
    code, out, err = ran(capsys, *words.split(), "-p", "films", "--db", str(path), "--format", "json")
    assert code in (0, 3), err
    for name, called in names.items():
        out = out.replace(called, f"<{name}>")
    printed = json.loads(out.replace("<", "").replace(">", ""))
    tables = printed.get("tables", [printed])
    rows = [
        {"table": table["title"], **_one_way(row, words, turned)} for table in tables for row in table["rows"]
    ]
    return sorted(rows, key=_key)


def _key(row: Row) -> str:
    """What the row is about: its texts, and values that are labels."""
    about = {k: v for k, v in row.items() if isinstance(v, str) or k.startswith("value_")}
    return json.dumps({k: v for k, v in about.items() if k != "note"}, sort_keys=True)


def _one_way(row: Row, words: str, turned: bool) -> Row:
    """The row as seen from the first of its two systems in the order of `SYSTEMS`."""
    row = dict(row)
    # the rows of a trend are about the system that they name
    sided = not words.startswith("trend")
    turned = turned and row.get("protocol") == "pairwise" and sided
    for column in ("system", "of"):
        first, vs, second = str(row.get(column)).partition(" vs ")
        if vs and first > second:
            row[column], turned = f"{second} vs {first}", True
    if row.get("opponent") and row["system"] > row["opponent"]:
        row["system"], row["opponent"], turned = row["opponent"], row["system"], True
    return _turned(row, words) if turned else row


def _turned(row: Row, words: str) -> Row:
    """The row from the side of the other system. Notes speak of sides, too."""
    row.pop("note", None)
    for one, other in (
        ("wins", "losses"),
        ("users_for", "users_against"),
        ("up", "down"),
        ("users_up", "users_down"),
    ):
        if one in row and other in row:
            row[one], row[other] = row[other], row[one]
    for column in ("label_a", "label_b", "label", "from", "to", "direction", "figure"):
        row = _replaced(row, column, lambda text: _OPPOSITES.get(text, text))
    if row.get("part") == "pairs":
        won, comma, counted = str(row["figure"]).partition(", ")
        row["figure"] = {"wins": "losses", "losses": "wins"}.get(won, won) + comma + counted
    signed = [
        "seen",
        "difference",
        "lead",
        "mean_a",
        "mean_b",
        "value_a",
        "value_b",
        "value_from",
        "value_to",
        "label_value",
    ]
    if words.startswith("plan"):
        signed.remove("difference")  # what is to be detected
    rates = ["win_rate"]
    if row.get("stat") == "bias" or row.get("figure") == "bias":
        signed.append("value")
    elif row.get("measure") == "win_rate" or row.get("figure") == "win_rate":
        rates.append("value")
    elif "winrate" in words:
        rates.append("score")
    if "value" in signed or "difference" in row or len(rates) > 1 or "q" in row:
        row.pop("ci_low", None), row.pop("ci_high", None)
    for column in signed:
        row = _replaced(row, column, lambda value: 0.0 - value)
    for column in rates:
        row = _replaced(row, column, lambda value: 1 - value)
    for column in ("q", "score") if "method q" in words or "matrix" in words else ("q",):
        row = _replaced(row, column, lambda value: 1 / value if value else None)
    return row


_OPPOSITES = {"A": "B", "B": "A", "towards A": "towards B", "towards B": "towards A",
              "share A": "share B", "share B": "share A"}  # fmt: skip


def _replaced(row: Row, column: str, turn: Callable[[Any], Any]) -> Row:
    return row if row.get(column) is None else {**row, column: turn(row[column])}


def _assert_same(words: str, ours: Row, theirs: Row) -> None:
    about = {"note", "seconds", "run", "created_at", "started"}
    # a list of raters counts the labels of earlier lists
    about |= {"verdicts", "protocols"} if words == "rater list" else set()
    for column in (ours.keys() & theirs.keys()) - about:
        mine, other = ours[column], theirs[column]
        # messages are made only where they are shown: making them takes as long as several reports
        if not isinstance(mine, float) or not isinstance(other, int | float):
            assert mine == other, f"{words}: {column} is {mine} and {other}\n{ours}\n{theirs}"
        else:
            assert mine == pytest.approx(other, abs=1e-6), f"{words}: {column}\n{ours}\n{theirs}"
