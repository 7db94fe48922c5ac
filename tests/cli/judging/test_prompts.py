"""`recjudge prompt try`, `lint` and `diff` as a user and a script meet them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support.runs import RULES, make_project, planned, ran
from tests.support.servers.process import ServerProcess


@pytest.fixture
def db(db: Database) -> Database:
    make_project(db, users=2)
    work(db.path, planned(db, RULES, "pairwise"))
    return db


def case(db: Database) -> int:
    found: int = db.value("SELECT min(id) FROM cases WHERE kind = 'pair'")
    return found


def counted(db: Database) -> tuple[int, ...]:
    return tuple(
        db.value(f"SELECT count(*) FROM {table}") for table in ("calls", "answers", "verdicts", "runs")
    )


def test_one_case_is_tried_and_nothing_kept(db: Database, openai_server: ServerProcess) -> None:
    before = counted(db)
    words = ("prompt", "try", "pairwise-media@1", "--case", case(db), "--judge", "openai:hash-judge",
             "--base-url", openai_server.url, "--order", "ba", "--db", db.path)  # fmt: skip
    code, out, err = ran(*words, "--format", "json")
    assert (code, err) == (0, "")
    table = json.loads(out)
    assert [(row["kind"], row["aspect"], row["label"]) for row in table["rows"]] == [
        ("answer", "overall", table["rows"][0]["label"])
    ]
    assert table["rows"][0]["label"] in ("A", "B", "Tie")
    settings = table["settings"]
    assert (settings["prompt"], settings["case_id"], settings["order"]) == (
        "pairwise-media@1",
        case(db),
        "ba",
    )
    assert settings["tokens_in"] > 100
    assert (settings["cost_usd"], settings["attempts"], settings["error_kind"]) == (0.0, 1, None)
    assert counted(db) == before
    code, out, _ = ran(*words)
    assert code == 0
    assert "a trial: nothing is stored and no verdict is counted" in out


@pytest.mark.parametrize(("words", "code", "told"), [
    (("pairwise-media", "--case", 1), 2, "--judge"),
    (("pairwise-media", "--case", 999, "--judge", "rules"), 1, "no case 999"),
    (("ghost", "--case", 1, "--judge", "rules"), 1, "no prompt “ghost”"),
    (("arena-media", "--case", 1, "--judge", "oracle"), 2, "no judge “oracle”"),
    (("pointwise-media", "--case", 1, "--judge", "rules"), 1, "cannot show case 1"),
])  # fmt: skip
def test_what_cannot_be_tried(db: Database, words: tuple[object, ...], code: int, told: str) -> None:
    done, out, err = ran("prompt", "try", *words, "--db", db.path)
    assert (done, out) == (code, "")
    assert told in err


def test_lint_names_the_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert ran("prompt", "copy", "pairwise-media", path, "--db", tmp_path / "x.db")[0] == 0
    lines = path.read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("<set_1>"))
    lines[at] += "{{ nix }}"
    path.write_text("\n".join(lines))
    code, out, _ = ran("prompt", "lint", path)
    assert code == 1
    assert out.startswith(f"{path}:{at + 1}: ")
