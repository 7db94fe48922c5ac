"""Reports on some occasions, and group by group: leaderboard, agreement and metrics."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.project import Project
from recjudge_tui.reports.common.segments import segmented
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.declare import on_cases
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.commands import ran
from tests.support.hostile import HOSTILE
from tests.support.runs import load
from tests.support.visits import LISTS, USERS, VISITS, make_visits

Capture = pytest.CaptureFixture[str]
Rows = list[dict[str, Any]]
PAIRS = ("leaderboard", "--protocol", "pairwise")
# a command, what tells its rows apart, and the counts that add up over groups
REPORTS = {
    "ranking": (PAIRS, ("system", "rater"), ("wins", "ties", "losses", "failed", "n")),
    "matrix": (
        (*PAIRS, "--table", "matrix"),
        ("system", "opponent", "rater"),
        ("wins", "ties", "losses", "n"),
    ),
    "side-by-side": ((*PAIRS, "--table", "side-by-side"), ("system", "rater"), ("n_q", "n_auc")),
    "shares": (("leaderboard", "--protocol", "pointwise"), ("system", "rater", "label"), ("count", "n")),
    "agreement": (("agreement",), ("rater_a", "rater_b", "protocol", "stat"), ("n",)),
    "confusion": (("agreement", "--confusion"), ("protocol", "label_a", "label_b"), ("count",)),
    "metrics": (("metrics", "--metrics", "ndcg,ild,coverage"), ("system", "metric"), ("n",)),
}
BY = ("plan", "age", "activity", "context", "user:plan")


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("visits") / "recjudge.db"
    with connect(path) as db:
        make_visits(db)
    return path


def _table(visits: Path, capsys: Capture, *words: str) -> dict[str, Any]:
    done, out, err = ran(capsys, words[0], "-p", "films", "--db", str(visits), *words[1:], "--format", "json")
    assert done == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def _sums(rows: Rows, keys: tuple[str, ...], counts: tuple[str, ...]) -> dict[tuple[str, ...], Counter[str]]:
    found: dict[tuple[str, ...], Counter[str]] = {}
    for row in rows:
        at = found.setdefault(tuple(str(row[key]) for key in keys), Counter())
        at.update({name: row[name] for name in counts})
    return {key: counter for key, counter in found.items() if any(counter.values())}


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("report", REPORTS)
def test_the_groups_together_are_the_whole(visits: Path, capsys: Capture, report: str, by: str) -> None:
    words, keys, counts = REPORTS[report]
    whole, parts = _table(visits, capsys, *words), _table(visits, capsys, *words, "--by", by)
    assert parts["columns"][0]["name"] == "segment"
    groups = parts["settings"]["segments"]
    assert {row["segment"] for row in parts["rows"]} <= set(groups)
    assert _sums(parts["rows"], keys, counts) == _sums(whole["rows"], keys, counts)
    assert any(note.startswith(f"{len(groups)} groups were compared") for note in parts["notes"])


@pytest.mark.parametrize("report", REPORTS)
def test_contexts_and_days_choose_and_together_they_are_the_whole(
    visits: Path, capsys: Capture, report: str
) -> None:
    words, keys, counts = REPORTS[report]
    whole = _table(visits, capsys, *words)
    rows: Rows = []
    for context in VISITS:
        part = _table(visits, capsys, *words, "--context", context)
        assert part["notes"][0] == f"only in the context “{context}”"
        rows += part["rows"]
    assert _sums(rows, keys, counts) == _sums(whole["rows"], keys, counts)
    everything = [word for context in VISITS for word in ("--context", context)]
    kept = _table(visits, capsys, *words, *everything)
    assert (kept["rows"], kept["notes"][1:]) == (whole["rows"], whole["notes"])
    may = _table(visits, capsys, *words, "--from", "2024-05-01", "--to", "2024-05-31")
    days = _table(visits, capsys, *words, "--context", "home", "--context", "cart")
    assert may["rows"] == days["rows"]
    assert any("without served_at left out, because a time was chosen" in note for note in may["notes"])
    assert may["settings"]["served_to"] == "2024-05-31T23:59:59.999999+00:00"


def test_a_filter_that_keeps_everything_changes_nothing(project_db: Path, capsys: Capture) -> None:
    times = {f"c{n}": f"2024-05-{n + 1:02d}T23:59:59.5Z" for n in range(3)}
    with connect(project_db) as db:
        make_visits(db, times)
    for words, _, _ in REPORTS.values():
        whole = _table(project_db, capsys, *words)
        for first, last in (("2024-05-01", "2024-05-03"), ("2024-05-01T23:59:59.5Z", "2030-01-01")):
            kept = _table(project_db, capsys, *words, "--from", first, "--to", last)
            assert (kept["rows"], kept["columns"]) == (whole["rows"], whole["columns"])
            assert len(kept["notes"]) == len(whole["notes"]) + 1
        one_group = _table(project_db, capsys, *words, "--by", "context", "--context", "c1")
        alone = _table(project_db, capsys, *words, "--context", "c1")
        assert [{k: v for k, v in row.items() if k != "segment"} for row in one_group["rows"]] == alone[
            "rows"
        ]


def test_claims_allow_for_the_number_of_groups(project_db: Path, capsys: Capture) -> None:
    with connect(project_db) as db:
        make_visits(db)
        header = ("rater", "user_id", "system_a", "system_b", "value", "context", "served_at")
        load(
            db, "labels", [header, *(("cara", user, "a", "b", "A", "home", VISITS["home"]) for user in USERS)]
        )
    words = ("leaderboard", "--protocol", "pairwise", "--rater", "cara", "--table", "matrix")
    (whole,) = [row for row in _table(project_db, capsys, *words)["rows"] if row["system"] == "a"]
    assert whole["p_holm"] == whole["p"] == 2 / 2 ** len(USERS)
    parts = _table(project_db, capsys, *words, "--by", "context")
    (row,) = [row for row in parts["rows"] if row["system"] == "a"]
    assert (row["segment"], row["p"]) == ("home", whole["p"])
    assert row["p_holm"] == pytest.approx(3 * row["p"])
    assert "nothing to report for: no context, cart" in parts["notes"]


def test_groups_of_activity_are_named_by_their_thresholds(visits: Path, capsys: Capture) -> None:
    table = _table(visits, capsys, "metrics", "--metrics", "ild", "--by", "activity")
    assert table["settings"]["segments"] == ["0 events", "1 to 3 events", "4 to 5 events", "6 to 7 events"]
    users = {row["segment"]: (row["users"], row["n"]) for row in table["rows"] if row["system"] == "a"}
    assert users == {
        "0 events": (1, 3), "1 to 3 events": (3, 9), "4 to 5 events": (2, 6), "6 to 7 events": (2, 6),
    }  # fmt: skip


def test_users_without_the_attribute_are_a_group_with_a_name(visits: Path, capsys: Capture) -> None:
    table = _table(visits, capsys, *PAIRS, "--by", "plan")
    assert table["settings"]["segments"] == ["free", "paid", "no plan"]
    found = {(row["segment"], row["users"], row["n"]) for row in table["rows"]}
    # u5 has an empty plan, u7 is not in the table of users
    assert found == {("free", 4, 12), ("paid", 2, 6), ("no plan", 2, 6)}
    assert table["columns"][0] == {"name": "segment", "label": "plan", "kind": "text"}


def test_many_values_end_in_one_group_that_says_so(project_db: Path, capsys: Capture) -> None:
    with connect(project_db) as db:
        make_visits(db, {f"q{n:02d}": "" for n in range(12)})
        load(db, "lists", [LISTS, ("u0", "a", "i1", 1, "q11", "2024-01-01")])
    for words, what in ((("metrics", "--metrics", "ild"), "lists"), (PAIRS, "cases")):
        table = _table(project_db, capsys, *words, "--by", "context")
        named = [f"q{n:02d}" for n in range(10)]
        if what == "lists":
            named = ["q11", *named[:9]]
        assert table["settings"]["segments"] == [*named, "other"]
        assert (
            f"other: 2 more contexts; the 10 with the most {what} have a group of their own" in table["notes"]
        )
        (rest,) = {row["n"] for row in table["rows"] if row["segment"] == "other"}
        assert rest == len(USERS) * 2


def test_hostile_names_are_names_of_groups(project_db: Path, capsys: Capture) -> None:
    with connect(project_db) as db:
        short = [name for text in HOSTILE if "\0" not in text and 0 < len(name := text.strip()) < 200]
        make_visits(db, dict.fromkeys(short[:6], ""))
        values = ["other", "no plan", *short][: len(USERS) - 1]
        load(db, "users", [("user_id", "plan"), *zip(USERS, values, strict=False)])
    words, keys, counts = REPORTS["ranking"]
    whole = _table(project_db, capsys, *words)
    for by in ("context", "plan"):
        table = _table(project_db, capsys, *words, "--by", by)
        groups = table["settings"]["segments"]
        assert len(set(groups)) == len(groups)
        assert _sums(table["rows"], keys, counts) == _sums(whole["rows"], keys, counts)
        if by == "plan":
            assert {"other", "no plan", "(no plan)"} <= set(groups)
    done, out, err = ran(
        capsys, "leaderboard", "-p", "films", "--db", str(project_db), *words[1:], "--by", "plan"
    )
    assert done == 0, err
    assert "\x1b" not in out.replace("\n", "")


def test_a_group_without_figures_is_named(project_db: Path, capsys: Capture) -> None:
    with connect(project_db) as db:
        make_visits(db)
        load(db, "lists", [LISTS, ("u3", "a", "i1", 1, "desk", "")])
    words = ("leaderboard", "--protocol", "pointwise", "--by", "plan", "--context", "desk")
    table = _table(project_db, capsys, *words)
    assert table["rows"] == []
    assert "nothing to report for: free, paid, no plan" in table["notes"]
    measured = _table(project_db, capsys, "metrics", "--metrics", "coverage", *words[3:])
    assert {row["segment"]: row["n"] for row in measured["rows"] if row["n"]} == {"paid": 1}
    with connect(project_db) as db:
        header = ("rater", "user_id", "system_a", "system_b", "value", "context")
        load(db, "labels", [header, ("zoe", "u3", "a", "b", "A", "desk")])
    flagged = _table(project_db, capsys, "flags", "--by", "context")
    assert "nothing to report for: desk" in flagged["notes"]


def test_text_and_csv_have_the_group_first(visits: Path, capsys: Capture) -> None:
    words = ("-p", "films", "--db", str(visits), "--by", "plan", "--format", "csv")
    for command in (PAIRS, ("agreement", "--protocol", "pairwise"), ("metrics",)):
        done, out, err = ran(capsys, command[0], *words, *command[1:])
        assert done == 0, err
        rows = list(csv.DictReader(line for line in io.StringIO(out) if not line.startswith("#")))
        assert next(iter(rows[0])) == "segment"
        assert {row["segment"] for row in rows} == {"free", "paid", "no plan"}
        assert {"n", "users", "ci_low", "ci_high"} <= set(rows[0])


@pytest.mark.parametrize("command", [PAIRS, ("agreement",), ("metrics",)], ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            ("--by", "height"),
            2,
            "no user has an attribute “height” Available: age, plan. --by also takes activity",
        ),
        (("--context", "desk"), 1, "no context “desk” in this project There are “” (none), “cart”, “home”."),
        (("--context", "desk", "--by", "plan"), 1, "no context “desk”"),
        (("--from", "soon"), 2, "“soon” is not a time"),
        (("--from", "2024-06-01", "--to", "2024-05-01"), 2, "--from 2024-06-01 is after --to 2024-05-01"),
    ],
)
def test_an_unknown_name_is_refused(
    visits: Path, capsys: Capture, command: tuple[str, ...], words: tuple[str, ...], code: int, says: str
) -> None:
    done, out, err = ran(capsys, command[0], "-p", "films", "--db", str(visits), *command[1:], *words)
    assert (done, out) == (code, "")
    assert says in " ".join(err.split())


def test_metrics_of_no_list_are_undefined(visits: Path, capsys: Capture) -> None:
    words = ("--metrics", "ndcg,ild,coverage", "--from", "2030-01-01")
    table = _table(visits, capsys, "metrics", *words)
    assert {(row["value"], row["n"], row["note"]) for row in table["rows"]} == {(None, 0, "no list")}


def test_a_run_over_a_time_without_lists_reports_it(visits: Path, capsys: Capture) -> None:
    words = ("run", "pairwise", "-p", "films", "--judge", "random", "--from", "2030-01-01")
    code, out, err = ran(capsys, *words, "--context", "home", "--db", str(visits))
    assert (code, out) == (1, "")
    assert "there are no cases to judge Nothing was served in the chosen time." in " ".join(err.split())


SYSTEMS_OF = {
    "ranking": PAIRS, "bt": (*PAIRS, "--method", "bt"),
    "matrix": (*PAIRS, "--table", "matrix"), "side-by-side": (*PAIRS, "--table", "side-by-side"),
    "shares": ("leaderboard", "--protocol", "pointwise"), "flags": ("flags",),
    "by context": (*PAIRS, "--by", "context"), "metrics": ("metrics", "--metrics", "ndcg"),
}  # fmt: skip


@pytest.mark.parametrize("report", SYSTEMS_OF)
def test_systems_choose_as_if_the_others_were_not_there(
    project_db: Path, capsys: Capture, report: str
) -> None:
    whole, part = project_db.with_name("whole.db"), project_db.with_name("part.db")
    for path, names in ((whole, "abc"), (part, "ab")):
        with connect(path) as db:
            _three_systems(db, names)
    rows = _table(whole, capsys, *SYSTEMS_OF[report], "--systems", "a,b")["rows"]
    assert rows == _table(part, capsys, *SYSTEMS_OF[report])["rows"]
    assert rows
    assert {row["system"] for row in rows if row["system"]} <= {"a", "b"}


def test_agreement_and_confusion_keep_to_the_systems(project_db: Path, capsys: Capture) -> None:
    with connect(project_db) as db:
        _three_systems(db, "abc")
    for words in (("agreement",), ("agreement", "--confusion"), ("agreement", "--by", "system")):
        table = _table(project_db, capsys, *words, "--protocol", "pairwise", "--systems", "a,b")
        assert "only the systems a, b" in table["notes"]
        assert table["settings"]["systems"] == ["a", "b"]
        if "--confusion" not in words:
            assert {row["n"] for row in table["rows"]} == {8}


def test_an_unknown_system_is_reported_with_the_existing_ones(visits: Path, capsys: Capture) -> None:
    for words in (PAIRS, ("agreement",), ("flags",), ("trend",)):
        done, out, err = ran(
            capsys, words[0], "-p", "films", "--db", str(visits), *words[1:], "--systems", "a,als"
        )
        assert (done, out) == (1, "")
        assert "no system “als” in this project" in err
        assert "Available: a, b." in err


def _three_systems(db: Database, names: str) -> None:
    """Lists of these systems for eight users, judged alone and in pairs by two people."""
    load(db, "items", [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(9))])
    load(
        db,
        "lists",
        [
            ("user_id", "system", "item_id", "rank"),
            *((f"u{n}", s, f"i{(n + at) % 9}", 1) for n in range(8) for at, s in enumerate(names)),
        ],
    )
    load(
        db,
        "events",
        [("user_id", "item_id", "type", "timestamp"),
         *((f"u{n}", f"i{n}", "heldout_purchase", "2024-06-05") for n in range(8))],
    )  # fmt: skip
    rows: list[tuple[object, ...]] = [
        ("rater", "user_id", "system", "system_a", "system_b", "value", "flags")
    ]
    for n in range(8):
        for rater in ("anna", "ben"):
            for at, system in enumerate(names):
                poor = (n + at + (rater == "ben")) % 3 == 0
                flagged = f"i{(n + at) % 9}:owned" if poor else ""
                rows.append((rater, f"u{n}", system, "", "", "Poor Match" if poor else "Good Match", flagged))
            for first, second in combinations(names, 2):
                value = "A" if (n + len(rater) + ord(second)) % 3 else "B"
                rows.append((rater, f"u{n}", "", first, second, value, ""))
    load(db, "labels", rows)


def test_the_benchmark_takes_no_groups(visits: Path, capsys: Capture) -> None:
    for words in (("--by", "plan"), ("--context", "home")):
        done, _, err = ran(capsys, "agreement", "-p", "films", "--db", str(visits), "--benchmark", *words)
        assert done == 2
        assert "benchmark cannot be combined with" in err


def test_replaced_lists_count_in_no_group(project_db: Path, capsys: Capture) -> None:
    """Of users whose lists were imported again, the old verdicts are left out of the whole and of every group."""
    with connect(project_db) as db:
        make_visits(db, {"home": ""})
        fresh = [("u0", "a", "i29", 1, "home", ""), ("u0", "b", "i28", 1, "home", "")]
        load(db, "lists", [LISTS, *fresh])
        header = ("rater", "user_id", "system", "system_a", "system_b", "value", "context")
        load(db, "labels", [header, *((rater, "u0", "", "a", "b", "A", "home") for rater in ("anna", "ben"))])
    for words, keys, counts in (REPORTS["ranking"], REPORTS["agreement"]):
        whole = _table(project_db, capsys, *words)
        parts = _table(project_db, capsys, *words, "--by", "age")
        assert _sums(parts["rows"], keys, counts) == _sums(whole["rows"], keys, counts)
    total = {row["n"] for row in _table(project_db, capsys, *PAIRS)["rows"]}
    assert total == {len(USERS)}


@pytest.mark.parametrize("report", ["leaderboard", "agreement", "metrics"])
def test_data_shared_by_all_groups_is_read_once(project_db: Path, report: str) -> None:
    with connect(project_db) as db:
        project = make_visits(db)

        def table(chosen: CaseSelection) -> Table:
            if report == "metrics":
                return on_cases(Project.numbered(db, project), "metrics", chosen)
            if report == "agreement":
                return on_cases(Project.numbered(db, project), "agreement", chosen)
            return on_cases(Project.numbered(db, project), "leaderboard", chosen, protocol="pairwise")

        def reads(by: str | None) -> int:
            statements: list[str] = []
            db.connection.set_trace_callback(statements.append)
            segmented(db, project, table, by=by)
            db.connection.set_trace_callback(None)
            large = ("json_group_array(kind)", "ORDER BY case_id", "LEFT JOIN slate_items")
            return sum(part in text for text in statements for part in large)

        assert reads("plan") == reads(None) > 1


@pytest.mark.parametrize("by", [None, "plan"])
def test_a_report_reads_one_state_of_the_file(tmp_path: Path, by: str | None) -> None:
    """Somebody deletes all verdicts while the report is made: its parts still agree with each other."""
    path = tmp_path / "recjudge.db"
    with connect(path) as db:
        make_visits(db)
        counts: list[int] = []

        def report(_: CaseSelection) -> Table:
            counts.append(db.value("SELECT count(*) FROM verdicts"))
            with connect(path) as other:
                other.execute("DELETE FROM verdicts")
            counts.append(db.value("SELECT count(*) FROM verdicts"))
            return Table("t", (), ())

        segmented(db, 1, report, by=by)
        assert len(set(counts)) == 1
        assert counts[0] > 0
        assert db.value("SELECT count(*) FROM verdicts") == 0
