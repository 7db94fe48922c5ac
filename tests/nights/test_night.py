"""Nights of a watch: only what is new, whatever failed the night before."""

from __future__ import annotations

import csv
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from recjudge_tui.errors import RunError
from recjudge_tui.nights.steps import dry_lines
from recjudge_tui.nights.watch_file import read_watch
from recjudge_tui.reports.figures.loading import figure_data
from recjudge_tui.reports.figures.options import FigureOptions
from recjudge_tui.reports.trend.trend import TrendOptions, trend_table
from recjudge_tui.runs.control.lease import process_mark
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports.imports import undo_import
from recjudge_tui.store.projects.watches import take_watch, watch_owner
from tests.support.kills import asked
from tests.support.nights import RULES, USERS, Nights
from tests.support.runs import command, intact, load
from tests.support.servers.gate import allow, hold
from tests.support.servers.process import start
from tests.support.waiting import wait_until

GATE = '[trend]\nfile = "trend.csv"\n[gate]\nat_most = { failure_rate = 0.0 }\nfile = "gate.md"\n'


@pytest.fixture
def nights(db: Database, tmp_path: Path) -> Nights:
    return Nights(db, tmp_path)


def test_a_night_imports_judges_and_reports_and_the_next_has_nothing_to_do(nights: Nights) -> None:
    nights.describe(RULES + GATE)
    nights.lists("one.csv", "2026-05-06")
    assert nights.night().exit_code == 0
    assert nights.count("verdicts") == len(USERS)
    assert nights.heard("one.csv: lists, 12 of 12 rows stored")
    assert nights.heard("gate met: 1 check")
    assert "| met |" in (nights.folder / "gate.md").read_text(encoding="utf-8")
    before = (nights.count("runs"), nights.count("imports"))
    assert nights.night().exit_code == 0
    assert nights.said[0].startswith("nothing new since 20")
    assert (nights.count("runs"), nights.count("imports")) == before


def test_a_night_with_nothing_new_loads_little(nights: Nights) -> None:
    nights.describe()
    nights.lists("one.csv", "2026-05-06")
    nights.night()
    code = (
        "import sys; from recjudge_tui.cli.app import main\n"
        f"try: main(['watch', {str(nights.file)!r}, '--db', {str(nights.db.path)!r}])\n"
        "except SystemExit: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.startswith("nothing new")
    assert "recjudge_tui.nights.night" in done.stdout.split()
    assert not {"numpy", "httpx", "sqlite_utils", "recjudge_tui.runs.start"} & {*done.stdout.split()}


def test_the_next_night_judges_only_what_is_new_and_the_trend_goes_on(nights: Nights) -> None:
    nights.describe(RULES + GATE)
    nights.lists("one.csv", "2026-05-06")
    nights.night()
    nights.lists("two.csv", "2026-05-07", start=20)
    assert nights.night().exit_code == 0
    assert [row[0] for row in nights.db.rows("SELECT count(*) FROM run_cases GROUP BY run_id")] == [3, 3]
    assert {row[0] for row in nights.db.rows("SELECT name FROM raters")} == {"nightly"}
    with (nights.folder / "trend.csv").open(encoding="utf-8") as file:
        periods = {row["period"] for row in csv.DictReader(file) if row["rater"] == "nightly"}
    assert periods == {"2026-05-06", "2026-05-07"}


def test_the_same_content_is_imported_once_whatever_its_time(nights: Nights) -> None:
    nights.describe()
    path = nights.lists("one.csv", "2026-05-06")
    nights.night()
    imports = nights.count("imports")
    os.utime(path, (1, 1))
    nights.night()
    assert nights.said[0].startswith("nothing new")
    undo_import(nights.db, nights.db.value("SELECT max(id) FROM imports"))
    os.utime(path, (2, 2))
    nights.night()
    assert nights.count("imports") == imports


def test_a_bad_file_is_reported_and_retried_and_other_files_are_imported(nights: Nights) -> None:
    nights.describe()
    nights.lists("one.csv", "2026-05-06")
    bad = nights.lists("bad.csv", "2026-05-07", start=20)
    good = bad.read_text(encoding="utf-8")
    bad.write_text(good.replace(",1,", ",first,").replace(",2,", ",second,").replace(",3,", ",x,").replace(
        ",4,", ",y,"), encoding="utf-8")  # fmt: skip
    assert nights.night().exit_code == 1, nights.said
    assert nights.heard(f"{bad}:2")
    assert nights.count("verdicts") == len(USERS)
    assert nights.night().exit_code == 1, nights.said
    assert nights.heard("failed: ")
    assert not nights.heard("nothing new")
    bad.write_text(good, encoding="utf-8")
    assert nights.night().exit_code == 0
    assert nights.count("verdicts") == 2 * len(USERS)


def test_a_gate_that_is_not_met_is_remembered(nights: Nights) -> None:
    nights.describe(RULES + "[gate]\nat_least = { failure_rate = 0.5 }\n")
    nights.lists("one.csv", "2026-05-06")
    night = nights.night()
    assert (night.exit_code, night.gate is None) == (3, False)
    assert nights.heard("gate not met: 1 of 1 checks failed")
    assert nights.night().exit_code == 3
    assert nights.heard("which ended with exit code 3")


def judge(url: str, more: str = "") -> str:
    return (
        f'[[judge]]\nspec = "openai:hash-judge"\nname = "model"\nprotocols = ["pointwise"]\nbase_urls = ["{url}/v1"]\n'
        f"{more}"
    )


def test_imports_of_a_night_whose_server_is_dead_are_judged_the_next_night(nights: Nights) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    nights.describe(judge(f"http://127.0.0.1:{port}"))
    nights.lists("one.csv", "2026-05-06")
    assert nights.night().exit_code == 1, nights.said
    assert nights.heard("failed: pointwise by model")
    assert (nights.count("verdicts"), nights.count("slates")) == (0, len(USERS))
    with start("openai_api", "--port", port):
        assert nights.night().exit_code == 0
    assert nights.count("verdicts") == len(USERS)


def test_killed_while_it_judges_the_next_night_resumes_the_run(nights: Nights) -> None:
    log = nights.folder / "log.jsonl"
    with start("openai_api", "--log", log) as server:
        hold(server, 1)
        nights.describe(judge(server.url, "settings = { concurrency = 1 }\n"))
        nights.lists("one.csv", "2026-05-06")
        process = command("watch", nights.file, "--db", nights.db.path)
        wait_until(lambda: len(asked(log)) == 2)
        process.kill()
        process.communicate()
        allow(server)
        assert nights.count("calls") > 0
        assert nights.count("verdicts") < len(USERS)
        assert watch_owner(nights.db, 1)[0] is not None
        assert nights.night().exit_code == 0
    assert nights.heard("resumed 1")
    assert (nights.count("runs"), nights.count("verdicts"), nights.count("slates")) == (
        1,
        len(USERS),
        len(USERS),
    )
    assert intact(nights.db)


def test_a_second_watch_is_refused_and_names_the_first(nights: Nights) -> None:
    nights.describe()
    assert take_watch(nights.db, 1, process_mark(), None)
    with pytest.raises(RunError, match=f"(?s)watched already.*Process {os.getpid()} on"):
        nights.night()
    assert nights.count("imports") == 2  # items and events: nothing was begun


def test_the_lock_of_a_dead_process_is_free(nights: Nights) -> None:
    nights.describe()
    assert take_watch(nights.db, 1, f"{socket.gethostname()}|999999999|1|word", None)
    assert nights.night().exit_code == 1, nights.said  # there are no lists
    assert watch_owner(nights.db, 1) == (None, None)


def test_a_budget_that_is_spent_waits_for_the_next_night(nights: Nights) -> None:
    folder = nights.folder / "config"
    folder.mkdir()
    # a dollar for a thousand tokens of a reply, and prompts for nothing: the longest reply costs a dollar
    (folder / "prices.toml").write_text(
        '["openai:hash-judge"]\ninput = 0.0\noutput = 1000.0\n', encoding="utf-8"
    )
    with start("openai_api") as server:
        nights.describe(
            judge(server.url, "budget = 1.0\nsettings = { concurrency = 1, max_tokens = 1000 }\n")
        )
        nights.lists("one.csv", "2026-05-06")
        judged = []
        for _ in range(4):
            assert nights.night().exit_code == 0
            judged.append(nights.count("verdicts"))
    assert judged == [1, 2, 3, 3]
    assert nights.heard("nothing new")
    assert nights.count("runs") == 1


def test_a_dry_run_says_what_a_night_would_do_and_changes_nothing(nights: Nights) -> None:
    nights.describe(RULES + GATE)
    nights.lists("one.csv", "2026-05-06")
    lines = list(dry_lines(nights.db, read_watch(nights.file)))
    assert any("would import" in line and "one.csv as lists" in line for line in lines)
    assert any("pointwise by nightly (rules)" in line for line in lines)
    assert "would write trend.csv" in lines
    assert (nights.count("slates"), nights.count("runs"), nights.count("watches")) == (0, 0, 0)
    nights.night()
    assert any("would judge 0 cases" in line for line in dry_lines(nights.db, read_watch(nights.file)))


def test_anchor_cases_show_the_drift_of_the_judge_and_not_of_systems(nights: Nights) -> None:
    def next_night(day: str, *options: object) -> None:
        nights.lists(f"{day}.csv", day, start=int(day[-2:]) * 4)
        with start("openai_api", "--port", port, *options):
            assert nights.night().exit_code == 0
        # tomorrow
        nights.db.execute(
            "UPDATE runs SET finished_at = ? || substr(finished_at, 11) WHERE finished_at > '2026-06'", (day,)
        )

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    nights.describe(judge(f"http://127.0.0.1:{port}", "anchor = 2\n"))
    for day, options in (("2026-05-06", ()), ("2026-05-07", ()), ("2026-05-08", ("--salt", "other"))):
        next_night(day, *options)
    anchors = [
        tuple(row) for row in nights.db.rows("SELECT run_id, case_id FROM anchor_verdicts ORDER BY 1, 2")
    ]
    runs, cases = sorted({run for run, _ in anchors}), sorted({case for _, case in anchors})
    assert (len(runs), len(cases), len(anchors)) == (3, 2, 6)
    assert nights.db.value("SELECT count(cached_from) FROM calls WHERE run_id IN (?, ?, ?)", tuple(runs)) == 0
    assert (
        nights.db.value("SELECT count(DISTINCT content_hash) FROM calls WHERE case_id = ?", (cases[0],)) == 1
    )
    # what the judge says of systems stands by itself
    assert nights.count("verdicts") == 3 * len(USERS)
    rows = trend_table(nights.db, 1, TrendOptions()).rows
    drift = {(row["period"], row["figure"]): row for row in rows if row["system"] is None}
    assert (drift["2026-05-07", "anchor_same"]["value"], drift["2026-05-07", "anchor_shift"]["value"]) == (
        1.0,
        0.0,
    )
    values = [
        [
            row[0]
            for row in nights.db.rows(
                "SELECT value FROM anchor_verdicts WHERE run_id = ? ORDER BY case_id", (run,)
            )
        ]
        for run in runs
    ]
    shift = sum(now - first for now, first in zip(values[2], values[0], strict=True)) / 2
    assert drift["2026-05-08", "anchor_shift"]["value"] == pytest.approx(shift)
    assert {row["n"] for row in drift.values()} == {2}
    # the bounds of the scale give both an interval, and two users a wide one
    assert {(row["figure"], row["note"]) for row in drift.values()} == {
        ("anchor_same", ""),
        ("anchor_shift", ""),
    }
    ends = drift["2026-05-08", "anchor_shift"]
    assert float(str(ends["ci_low"])) < shift < float(str(ends["ci_high"]))
    nights.db.execute('UPDATE runs SET identity = \'{"name": "other-model"}\' WHERE id = ?', (runs[2],))
    noted = {str(row["note"]) for row in trend_table(nights.db, 1, TrendOptions()).rows}
    assert any(note.startswith("served model changed: other-model") for note in noted)
    figure = figure_data(nights.db, 1, "trend", FigureOptions("pointwise", rater="model"))
    assert "2026-05-08: served model changed: other-model" in figure.caption
    assert figure.notes[0].startswith("2026-05-08: served model changed: other-model")


def test_a_night_with_nothing_new_says_so(nights: Nights) -> None:
    nights.describe()
    for day in range(1, 21):
        nights.lists(f"{day}.csv", f"2026-05-{day:02d}")
    nights.night()
    nights.night()
    assert nights.heard("nothing new")


def test_a_table_in_two_formats_is_imported_once(nights: Nights) -> None:
    from pyarrow.csv import read_csv
    from pyarrow.parquet import write_table

    nights.describe(RULES)
    text = nights.file.read_text(encoding="utf-8").replace('"lists/*.csv"', '"lists/*"')
    nights.file.write_text(text, encoding="utf-8")
    table = read_csv(nights.lists("one.csv", "2026-05-06"))
    parquet = nights.folder / "lists" / "one.parquet"
    write_table(table, parquet)
    assert any("one.csv beside it" in line for line in dry_lines(nights.db, read_watch(nights.file)))
    assert nights.night().exit_code == 0
    assert nights.heard("one.parquet was not imported, because one.csv beside it has the same name")
    assert nights.count("slates") == len(USERS)
    assert nights.night().exit_code == 0
    assert nights.heard("nothing new")
    # the file that was imported first stays the one to import
    write_table(table, nights.folder / "lists" / "two.parquet")
    nights.night()
    nights.lists("two.csv", "2026-05-06")
    nights.night()
    assert nights.heard("two.csv was not imported, because two.parquet beside it")


def test_a_night_in_which_nothing_was_judged_fails(nights: Nights) -> None:
    with start("openai_api", "--faults", "refusal:1", "--fault-attempts", 99) as server:
        nights.describe(
            '[[judge]]\nspec = "openai:hash-judge"\nname = "model"\n'
            f'protocols = ["pointwise"]\nbase_urls = ["{server.url}/v1"]\n'
        )
        nights.lists("1.csv", "2026-05-06")
        assert nights.night().exit_code == 1, nights.said
    assert nights.heard("nothing was judged")
    assert nights.heard("3 calls failed (refusal), for instance: ")


def test_from_the_second_night_on_the_gate_compares_with_the_night_before(nights: Nights) -> None:
    users = [f"u{n:02d}" for n in range(8)]
    ratings = [(user, f"i{5 * n}", "rating", "2026-05-01T12:00:00Z", 5) for user in users for n in range(4)]
    load(nights.db, "events", [("user_id", "item_id", "type", "timestamp", "value"), *ratings])
    judge = RULES.replace('"pointwise"', '"pairwise"')
    compare = 'against = "nightly"\nsystems = ["als", "pop"]\nstats = ["win_rate"]\nfile = "gate.json"\n'
    nights.describe(f"{judge}[gate]\n{compare}")

    def one_night(day: str, als: int, pop: int, users: list[str]) -> int:
        nights.lists(f"als-{day}.csv", day, als, "als", users, step=5)
        nights.lists(f"pop-{day}.csv", day, pop, "pop", users, step=5)
        return nights.night().exit_code

    assert one_night("2026-05-06", 100, 101, users) == 0, nights.said
    assert nights.heard("there is no earlier night to compare with")
    assert not (nights.folder / "gate.json").exists()
    assert one_night("2026-05-07", 201, 200, users[1:]) == 3, nights.said
    table = json.loads((nights.folder / "gate.json").read_text(encoding="utf-8"))
    (row,) = table["rows"]
    wins = [
        {user: (value + 1) / 2 for user, value in nights.db.rows(
            "SELECT c.user_id, v.value FROM verdicts v JOIN cases c ON c.id = v.case_id WHERE v.run_id = ?", (run,))}
        for run in (1, 2)
    ]  # fmt: skip
    both = wins[0].keys() & wins[1].keys()
    assert both == {*users[1:]}
    earlier, later = (sum(night[user] for user in both) / len(both) for night in wins)
    assert (row["value"], row["earlier"]) == (pytest.approx(later), pytest.approx(earlier))
    assert (row["paired_users"], row["left_out"]) == (7, 1)
    assert "1 case of the earlier run (1 user that only it judged)" in " ".join(table["notes"])
    # no worse than last night, which was bad
    assert one_night("2026-05-08", 206, 205, users) == 0, nights.said


def test_lists_replaced_on_the_same_occasion_are_compared_by_occasion(nights: Nights) -> None:
    nights.describe(
        f'{RULES}[gate]\nagainst = "nightly"\nfile = "gate.json"\nat_most = {{ failure_rate = 0 }}\n'
    )
    nights.lists("one.csv", "2026-05-06")
    assert nights.night().exit_code == 0
    assert nights.heard("gate met: 1 check; there is no earlier night to compare with")
    nights.lists("one.csv", "2026-05-06", start=50)
    nights.night()
    rows = json.loads((nights.folder / "gate.json").read_text(encoding="utf-8"))["rows"]
    assert [row["paired"] for row in rows if row["check"] == "change"] == [
        "by occasion: other lists, same context and time"
    ]
