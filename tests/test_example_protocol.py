"""A protocol that is nothing but an entry of the facts, three functions and a prompt works in every part of the program.

No list of protocols, labels or thresholds may stand anywhere else: the part that has one would not know this protocol.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.cli.app import main
from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.errors import PromptError
from recjudge_tui.protocols.lint import lint
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import read_prompt
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import filtered_ids, queue, verdict_rows
from tests.support.annotators import PROJECT, films, judges, verdicts
from tests.support.app.driving import filter_by, press, running, shown
from tests.support.app.judging import annotating, given
from tests.support.example_protocol import MATCH_PROMPT, registered
from tests.support.stub_server import answer, completion, serving

USERS = 4
REPLY = {"reasoning": "Too many of one kind.", "match": "No"}


class Project:
    """Lists of two systems for four users, labels of two people under `match`, and a judge that says No to every list."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.path, self.capsys = path.parent, path, capsys

    def command(self, *words: object, code: int = 0) -> str:
        """What `recjudge WORDS` prints."""
        ended = recjudge(self.path, *words)
        out, err = self.capsys.readouterr()
        assert ended == code, err
        return f"{out}{err}" if code else str(out)

    def rows(self, *words: object) -> list[dict[str, Any]]:
        """The rows of a command's table."""
        table: dict[str, list[dict[str, Any]]] = json.loads(self.command(*words, "--format", "json"))
        return table["rows"]

    def help(self, *words: str) -> str:
        """What `recjudge WORDS --help` prints, without white space."""
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        return "".join(self.capsys.readouterr().out.split())

    def verdicts_of(self, rater: str) -> list[tuple[Any, ...]]:
        with connect(self.path) as db:
            return list(db.tuples(
                """SELECT v.protocol, c.kind, c.user_id, v.value, v.label FROM verdicts v JOIN cases c ON c.id = v.case_id
                   JOIN raters r ON r.id = v.rater_id WHERE r.name = ? AND c.system_a = 'als' ORDER BY c.user_id""",
                (rater,),
            ))  # fmt: skip


def recjudge(path: Path, *words: object) -> object:
    """The exit code of `recjudge WORDS` in this process, where the protocol is registered."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words), "--db", str(path)])
    return ended.value.code


def label_file(path: Path, *rows: tuple[object, ...]) -> tuple[object, ...]:
    """The words that import a file of labels; the first row holds the names of its columns."""
    with path.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows(rows)
    return ("import", path, "-p", PROJECT, "--as", "labels")


def asked_of(reply: object, path: Path, protocol: str, rater: str, *more: str) -> object:
    """The exit code of a run of a judge that gives every case this reply."""
    with serving(lambda *_: answer(200, completion(json.dumps(reply)))) as server:
        judge = ("--judge", "openai:stub", "--base-url", f"{server.url}/v1", "--name", rater)
        return recjudge(path, "run", protocol, "-p", PROJECT, *judge, *more)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as every test finds it."""
    folder = tmp_path_factory.mktemp("match")
    path = folder / "recjudge.db"
    with registered(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECJUDGE_CONFIG", str(folder / "config"))
        with connect(path) as db:
            films(db, USERS)
        columns = ("rater", "user_id", "system", "value", "protocol")
        answers = {"ana": ("Yes", "maybe", "No", "no"), "ben": ("suits", "Yes", "no")}
        for name, said in answers.items():
            rows = [(name, f"u{n:02d}", "als", value, "match") for n, value in enumerate(said)]
            assert recjudge(path, *label_file(folder / f"{name}.csv", columns, *rows)) == 0
        prompt = folder / "match.toml"
        prompt.write_text(MATCH_PROMPT, encoding="utf-8")
        assert recjudge(path, "prompt", "add", prompt) == 0
        assert asked_of(REPLY, path, "match", "judge") == 0
    return path


@pytest.fixture
def project(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Project]:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path / "config"))
    path = tmp_path / template.name
    with connect(template) as source:
        source.execute("VACUUM INTO ?", (str(path),))
    capsys.readouterr()
    with registered():
        yield Project(path, capsys)


def test_labels_are_imported(project: Project) -> None:
    assert project.verdicts_of("ana") == [
        ("match", "list", "u00", 2.0, "Yes"),
        ("match", "list", "u01", 1.0, "Maybe"),
        ("match", "list", "u02", 0.0, "No"),
        ("match", "list", "u03", 0.0, "No"),
    ]
    assert [row[3:] for row in project.verdicts_of("ben")] == [(2.0, "Yes"), (2.0, "Yes"), (0.0, "No")]


def test_a_label_that_it_does_not_have_is_refused_with_those_it_has(project: Project) -> None:
    rows = (("rater", "user_id", "system", "value", "protocol"), ("cy", "u00", "als", "Good", "match"))
    said = project.command(*label_file(project.folder / "odd.csv", *rows), code=1)
    assert "no answer of match fits" in said
    assert "“Good” (1 row)" in said
    assert "The answers are Yes, Maybe, No (2, 1, 0)" in said


def test_its_run_is_planned_asked_and_read(project: Project) -> None:
    assert [row[3:] for row in project.verdicts_of("judge")] == [(0.0, "No")] * USERS
    (run,) = project.rows("runs", "list")
    assert (run["protocol"], run["prompt"], run["state"]) == ("match", "match-lists@1", "done")
    with connect(project.path) as db:
        settings = json.loads(db.value("SELECT settings FROM runs"))
    assert settings["top_k"] == 3


def test_the_commands_offer_it(project: Project) -> None:
    assert "explanation|match|duel|saer" in project.help("run")
    assert "explanation|match|duel" in project.help("annotate", "plan")


def test_its_prompt_is_listed_and_checked(project: Project) -> None:
    assert ("match-lists", "match") in {
        (row["name"], row["protocol"]) for row in project.rows("prompt", "list")
    }
    prompt = project.folder / "match.toml"
    prompt.write_text(MATCH_PROMPT, encoding="utf-8")
    assert lint(read_prompt(prompt)) == []
    prompt.write_text(MATCH_PROMPT.replace('"match"', '"mismatch"', 1), encoding="utf-8")
    with pytest.raises(PromptError) as refused:
        read_prompt(prompt)
    assert "no protocol “mismatch”" in refused.value.cause


def test_a_difference_of_one_step_is_no_disagreement(project: Project) -> None:
    """The smallest disagreement of `match` is two steps: the judge's No is apart from Yes, and not from Maybe."""
    with connect(project.path) as db:
        identity = project_id(db, PROJECT)
        apart = verdict_rows(db, list(filtered_ids(db, identity, parse_filter("why:disagree judge:judge"))))
        assert sorted(row.user_id for row in apart) == ["u00", "u01"]
        with_ana = verdict_rows(
            db, list(filtered_ids(db, identity, parse_filter("disagree:ana judge:judge")))
        )
        assert [row.user_id for row in with_ana] == ["u00"]
        everything = verdict_rows(
            db, list(filtered_ids(db, identity, parse_filter("judge:judge system:als")))
        )
        assert sorted(row.user_id for row in everything if row.disagrees) == ["u00", "u01"]
        waiting = verdict_rows(db, list(queue(db, identity, parse_filter("")).ids))
        assert sorted((row.user_id, row.rater) for row in waiting) == [("u00", "judge"), ("u01", "judge")]


async def test_the_app_lists_it_and_shows_a_case(project: Project) -> None:
    async with running(project.path, PROJECT, (120, 40)) as pilot:
        await filter_by(pilot, "protocol:match judge:judge system:als")
        text = shown(pilot)
        assert "4 of" in text
        assert "against people" in text
        # the newest verdict stands first, and that is the reply that came last
        await filter_by(pilot, " user:u00")
        await press(pilot, "enter")
        case = shown(pilot)
        assert "judge: No" in case
        assert "Too many of one kind." in case
        assert "Maybe" in case or "Yes" in case


def test_agreement_with_people(project: Project) -> None:
    rows = project.rows(
        "agreement", "-p", PROJECT, "--protocol", "match", "--raters", "judge,ana", "--stat", "percent,qwk"
    )
    assert {(row["rater_a"], row["rater_b"], row["stat"], row["n"]) for row in rows} == {
        ("judge", "ana", "percent", 4), ("judge", "ana", "qwk", 4),
    }  # fmt: skip
    assert [row["value"] for row in rows if row["stat"] == "percent"] == [0.5]
    cells = project.rows(
        "agreement", "-p", PROJECT, "--protocol", "match", "--raters", "judge,ana", "--confusion"
    )
    assert {row["label_b"] for row in cells} == {"Yes", "Maybe", "No"}


def test_people_judge_it(project: Project) -> None:
    project.command(
        "annotate", "plan", "-p", PROJECT, "--protocol", "match", "--annotators", "dora,eve", "--sample", 4
    )
    with connect(project.path) as db:
        # the options stand in the order of the values, the lowest first
        assert judges(db, "dora", "match", choose=lambda options: options[2]) == 4
        assert {row[3] for row in verdicts(db, "dora")} == {"Yes"}
    (dora, _) = (row for row in project.rows("annotate", "status", "-p", PROJECT))
    assert (dora["protocol"], dora["done"]) == ("match", 4)


async def test_people_judge_it_in_the_app(project: Project) -> None:
    project.command(
        "annotate", "plan", "-p", PROJECT, "--protocol", "match", "--annotators", "eve", "--sample", 2
    )
    async with annotating(project.path, "eve", "match") as pilot:
        assert "Maybe" in shown(pilot)
        await press(pilot, "2", "enter")
    assert [row[2:4] for row in given(project.path, "eve")] == [(1.0, "Maybe")]


def test_labels_go_out_and_come_back(project: Project) -> None:
    out = project.folder / "labels-out.csv"
    project.command("export", "-p", PROJECT, "labels", "-o", out)
    project.command("project", "delete", PROJECT, "--yes")
    with connect(project.path) as db:
        films(db, USERS)
    project.command("import", out, "-p", PROJECT, "--as", "labels")
    assert [row[3:] for row in project.verdicts_of("ana")] == [
        (2.0, "Yes"),
        (1.0, "Maybe"),
        (0.0, "No"),
        (0.0, "No"),
    ]


def test_figures_plans_and_estimates_know_it(project: Project) -> None:
    picture = project.folder / "shares.svg"
    project.command("export", "-p", PROJECT, "--figure", "label-shares", "--protocol", "match", "-o", picture)
    assert "Maybe" in picture.read_text(encoding="utf-8")
    assert project.rows("plan", "--protocol", "match", "--difference", "0.2")
    estimates = project.rows(
        "estimate", "-p", PROJECT, "--rater", "judge", "--truth", "ana", "--protocol", "match"
    )
    assert {row["measure"] for row in estimates} == {"share"}
    page = project.folder / "report.html"
    project.command("report", "-p", PROJECT, "-o", page)
    assert "Shares of labels: match" in page.read_text(encoding="utf-8")


def test_a_run_of_it_may_stop_when_it_is_decided(project: Project) -> None:
    told = project.command(
        "run", "match", "-p", PROJECT, "--judge", "random", "--until", "decided", "--name", "early"
    )  # fmt: skip
    assert "done" in told


def test_verdicts_under_protocols_of_one_question_meet(project: Project) -> None:
    """People's labels under pairwise are a reference for a judge of `duel`."""
    pairs = [("ana", f"u{n:02d}", "als", "pop", "A", "pairwise") for n in range(USERS)]
    columns = ("rater", "user_id", "system_a", "system_b", "value", "protocol")
    assert recjudge(project.path, *label_file(project.folder / "pairs.csv", columns, *pairs)) == 0
    reply = {"reasoning": "The first fits.", "winner": "Set 1"}
    assert asked_of(reply, project.path, "duel", "first", "--no-swap", "--baseline", "pop") == 0
    project.capsys.readouterr()
    rows = project.rows(
        "agreement", "-p", PROJECT, "--protocol", "duel", "--raters", "first,ana", "--stat", "percent"
    )
    assert [(row["rater_a"], row["rater_b"], row["value"], row["n"]) for row in rows] == [
        ("first", "ana", 1.0, USERS)
    ]
    with connect(project.path) as db:
        db.execute("UPDATE verdicts SET value = -1, label = 'B' WHERE protocol = 'pairwise'")
        identity = project_id(db, PROJECT)
        found = filtered_ids(db, identity, parse_filter("protocol:duel why:disagree"))
        assert len(found) == USERS
        assert queue(db, identity, parse_filter("protocol:duel")).starts[0] == ("judge against people", 0)
