"""A protocol that is nothing but an entry of the facts, three functions and a prompt works in every part of the program.

No list of protocols, labels or thresholds may stand anywhere else: the part that has one would not know this protocol.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.domain.protocols import PROTOCOLS, ProtocolFacts
from recjudge_tui.errors import PromptError
from recjudge_tui.protocols.lint import lint
from recjudge_tui.protocols.registry import PROTOCOLS as PROTOCOL_BY_NAME
from recjudge_tui.protocols.registry import Protocol, parse_ratings, ratings_form
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import read_prompt
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import filtered_ids, queue
from tests.builder import Built
from tests.support.annotators import PROJECT, films, judges, verdicts
from tests.support.app.driving import filter_by, press, running, shown
from tests.support.stub_server import answer, completion, serving

MATCH = ProtocolFacts(
    name="match",
    unit="list",
    summary="whether each list suits the user",
    labels={2.0: "Yes", 1.0: "Maybe", 0.0: "No"},
    spellings={"suits": 2.0},
    disagreement=2.0,
    prompts={"any": "match-lists"},
    top_k=3,
    directions=("warmer", "colder"),
)
DUEL = replace(
    PROTOCOLS["pairwise"],
    name="duel",
    summary="the better of two lists",
    question="pairwise",
    prompts_of="pairwise",
    list_names=("Left", "Right"),
)
PROTOCOL = Protocol(facts=MATCH, orders=("",), form=ratings_form, parse=parse_ratings)

MATCH_PROMPT = """
name = "match-lists"
protocol = "match"
description = "Whether a list suits a user"
system = '''
Say whether the list suits the user. Answer with one JSON object: "reasoning", a sentence; "{{ aspects[0].field }}", one of
{% for label in labels %}"{{ label.reply }}" {% endfor %}.
'''
user = '''
History:
{{ user.history | event_lines }}

List:
{{ slates[0].items | item_lines }}
'''

[[labels]]
name = "Yes"
reply = "Yes"
value = 2

[[labels]]
name = "Maybe"
reply = "Maybe"
value = 1

[[labels]]
name = "No"
reply = "No"
value = 0

[[aspects]]
name = "overall"
field = "match"
question = "Does the list suit the user?"
"""


@contextmanager
def registered() -> Iterator[None]:
    """Both protocols are there, as entries of the two mappings that a new protocol enters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROTOCOLS, "match", MATCH)
        patch.setitem(PROTOCOL_BY_NAME, "match", PROTOCOL)
        patch.setitem(PROTOCOLS, "duel", DUEL)
        patch.setitem(PROTOCOL_BY_NAME, "duel", replace(PROTOCOL_BY_NAME["pairwise"], facts=DUEL))
        yield


USERS = 4
LABELS = ("rater", "user_id", "system", "value", "protocol")
REPLY = {"reasoning": "Too many of one kind.", "match": "No"}


def verdicts_of(built: Built, rater: str) -> list[tuple[Any, ...]]:
    with connect(built.path) as db:
        return list(db.tuples(
            """SELECT v.protocol, c.kind, c.user_id, v.value, v.label FROM verdicts v JOIN cases c ON c.id = v.case_id
               JOIN raters r ON r.id = v.rater_id WHERE r.name = ? AND c.system_a = 'als' ORDER BY c.user_id""",
            (rater,),
        ))  # fmt: skip


def ask(built: Built, reply: object, protocol: str, rater: str, more: str = "") -> None:
    """Run a judge that gives every case this reply."""
    with serving(lambda *_: answer(200, completion(json.dumps(reply)))) as server:
        judge = f"--judge openai:stub --base-url {server.url}/v1 --name {rater}"
        built.done(f"run {protocol} -p {PROJECT} {judge} {more}")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lists of two systems for four users, labels of two people under `match`, and a judge that says No to every list."""
    folder = tmp_path_factory.mktemp("match")
    built = Built(folder / "recjudge.db", PROJECT)
    with registered(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECJUDGE_CONFIG", str(folder / "config"))
        with connect(built.path) as db:
            films(db, USERS)
        answers = {"ana": ("Yes", "maybe", "No", "no"), "ben": ("suits", "Yes", "no")}
        rows = [
            (name, f"u{n:02d}", "als", value, "match")
            for name in answers
            for n, value in enumerate(answers[name])
        ]
        built.load("labels", [LABELS, *rows])
        prompt = folder / "match.toml"
        prompt.write_text(MATCH_PROMPT, encoding="utf-8")
        built.done("prompt add", prompt)
        ask(built, REPLY, "match", "judge")
    return built.path


@pytest.fixture
def project(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Built]:
    """The project as every test finds it."""
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path / "config"))
    path = tmp_path / template.name
    shutil.copy(template, path)
    with registered():
        yield Built(path, PROJECT)


def test_labels_are_imported(project: Built) -> None:
    assert verdicts_of(project, "ana") == [
        ("match", "list", "u00", 2.0, "Yes"),
        ("match", "list", "u01", 1.0, "Maybe"),
        ("match", "list", "u02", 0.0, "No"),
        ("match", "list", "u03", 0.0, "No"),
    ]
    assert [row[3:] for row in verdicts_of(project, "ben")] == [(2.0, "Yes"), (2.0, "Yes"), (0.0, "No")]


def test_its_run_is_planned_asked_and_read(project: Built) -> None:
    assert [row[3:] for row in verdicts_of(project, "judge")] == [(0.0, "No")] * USERS
    (run,) = project.table("runs list")["rows"]
    assert (run["protocol"], run["prompt"], run["state"]) == ("match", "match-lists@1", "done")
    with connect(project.path) as db:
        settings = json.loads(db.value("SELECT settings FROM runs"))
    assert settings["top_k"] == 3


def test_the_commands_offer_it(project: Built) -> None:
    assert "explanation|match|duel|saer" in "".join(project.done("run --help").split())
    assert "explanation|match|duel" in "".join(project.done("annotate plan --help").split())


def test_its_prompt_is_listed_and_checked(project: Built) -> None:
    prompts = project.table("prompt list")["rows"]
    assert ("match-lists", "match") in {(row["name"], row["protocol"]) for row in prompts}
    prompt = project.path.with_name("match.toml")
    prompt.write_text(MATCH_PROMPT, encoding="utf-8")
    assert lint(read_prompt(prompt)) == []
    prompt.write_text(MATCH_PROMPT.replace('"match"', '"mismatch"', 1), encoding="utf-8")
    with pytest.raises(PromptError) as refused:
        read_prompt(prompt)
    assert "no protocol “mismatch”" in refused.value.cause


async def test_the_app_lists_it_and_shows_a_case(project: Built) -> None:
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


def test_people_judge_it(project: Built) -> None:
    project.done("annotate plan -p films --protocol match --annotators dora,eve --sample 4")
    with connect(project.path) as db:
        # the options stand in the order of the values, the lowest first
        assert judges(db, "dora", "match", choose=lambda options: options[2]) == 4
        assert {row[3] for row in verdicts(db, "dora")} == {"Yes"}
    (dora, _) = project.table("annotate status -p films")["rows"]
    assert (dora["protocol"], dora["done"]) == ("match", 4)


def test_labels_go_out_and_come_back(project: Built) -> None:
    before, out = verdicts_of(project, "ana"), project.path.with_name("labels-out.csv")
    project.done("export -p films labels -o", out)
    project.done("project delete films --yes")
    with connect(project.path) as db:
        films(db, USERS)
    project.done("import -p films --as labels", out)
    assert verdicts_of(project, "ana") == before


def test_figures_plans_and_estimates_know_it(project: Built) -> None:
    picture, page = project.path.with_name("shares.svg"), project.path.with_name("report.html")
    project.done("export -p films --figure label-shares --protocol match -o", picture)
    assert "Maybe" in picture.read_text(encoding="utf-8")
    assert project.table("plan --protocol match --difference 0.2")["rows"]
    estimates = project.table("estimate -p films --rater judge --truth ana --protocol match")["rows"]
    assert {row["measure"] for row in estimates} == {"share"}
    project.done("report -p films -o", page)
    assert "Shares of labels: match" in page.read_text(encoding="utf-8")


def test_a_run_of_it_may_stop_when_it_is_decided(project: Built) -> None:
    assert "done" in project.done("run match -p films --judge random --until decided --name early")


def test_verdicts_under_protocols_of_one_question_meet(project: Built) -> None:
    """People's labels under pairwise are a reference for a judge of `duel`."""
    project.load("labels", {"ana": {(f"u{n:02d}", "als", "pop"): "A" for n in range(USERS)}})
    reply = {"reasoning": "The first fits.", "winner": "Set 1"}
    ask(project, reply, "duel", "first", "--no-swap --baseline pop")
    rows = project.table("agreement -p films --protocol duel --raters first,ana --stat percent")["rows"]
    assert [(row["rater_a"], row["rater_b"], row["value"], row["n"]) for row in rows] == [
        ("first", "ana", 1.0, USERS)
    ]
    with connect(project.path) as db:
        db.execute("UPDATE verdicts SET value = -1, label = 'B' WHERE protocol = 'pairwise'")
        identity = project_id(db, PROJECT)
        found = filtered_ids(db, identity, parse_filter("protocol:duel why:disagree"))
        assert len(found) == USERS
        assert queue(db, identity, parse_filter("protocol:duel")).starts[0] == ("judge against people", 0)
