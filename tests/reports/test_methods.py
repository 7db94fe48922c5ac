"""`recjudge methods`: what a reviewer asks for is in it, nothing that is not stored, and every citation has its entry."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from recjudge_tui.domain.protocols import PROTOCOLS
from recjudge_tui.reports.leaderboard import METHODS as BOARDS
from recjudge_tui.reports.methods import references
from recjudge_tui.reports.metrics import METRICS
from recjudge_tui.runs.engine import work
from recjudge_tui.stats.registry import MANY_RATERS, STATISTICS
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import reveal_tasks
from recjudge_tui.store.projects import create_project
from tests.support.annotators import assigned, films, judges, tasks
from tests.support.commands import ran
from tests.support.hostile import HOSTILE
from tests.support.runs import load, make_project, planned, server_judge
from tests.support.servers.process import ServerProcess
from tests.support.verdicts import Project, give, judge_lists, list_case

Written = Callable[..., str]


@pytest.fixture
def written(db: Database, capsys: pytest.CaptureFixture[str]) -> Written:
    def write(*words: str) -> str:
        given = ("-p", "films", "--db", str(db.path), "--format", "text", *words)
        code, out, err = ran(capsys, "methods", *given)
        return out if code == 0 else err

    return write


def test_a_model_is_described_by_what_was_sent_and_served_and_no_more(
    db: Database, written: Written, openai_server: ServerProcess
) -> None:
    make_project(db)
    work(db.path, planned(db, server_judge(openai_server.url), rater="hash", max_tokens=300, temperature=0.2))
    day = db.value("SELECT min(finished_at) FROM calls")[:10]
    text, digest = written(), db.value("SELECT digest FROM prompts WHERE id IN (SELECT prompt_id FROM runs)")
    assert f"hash is the model openai:hash-judge, served as hash-judge, called on {day} (UTC)." in text
    assert f"prompt pointwise-media@1 (shipped with recjudge, SHA-256 {digest[:12]}); temperature 0.2" in text
    assert "pointwise: hash judged 8 lists of 4 users. Of 8 calls of hash, 0 failed." in text
    row = json.loads(written("--format", "json"))["tables"][0]["rows"][0]
    assert (row["prompt_digest"], row["judge"], row["model"]) == (digest, "openai:hash-judge", "hash-judge")
    db.execute("UPDATE prompts SET content = replace(content, 'Good Match', 'Any Match')")
    db.execute("UPDATE calls SET model = 'other' WHERE id = (SELECT min(id) FROM calls)")
    changed = written()
    assert "served model changed" not in text
    assert "The served model changed: replies to hash name hash-judge and other." in changed
    assert "pointwise-media@1 (changed after it was stored" in changed
    assert digest[:12] not in changed


def test_only_who_judged_here_and_had_seen_nothing_judged_blind(db: Database, written: Written) -> None:
    films(db, users=3)
    assigned(db, annotators="ana,ben")
    for who in ("ana", "ben"):
        judges(db, who, count=2)
    db.execute("UPDATE annotation_tasks SET revealed_at = '2000' WHERE id = ?", (tasks(db, "ben")[0],))
    reveal_tasks(db, tasks(db, "ana")[:1])
    named = [("u00", rater, "als", "Good Match") for rater in ("cy", "gpt")]
    load(db, "labels", [("user_id", "rater", "system", "label"), *named])
    text = written()
    assert "ana is a person who judged without seeing a judge's verdict: 2 verdicts (pairwise)." in text
    assert "ben is a person: 2 verdicts (pairwise), 1 of them given without seeing a judge's verdict." in text
    assert "cy is a person: 1 verdict (pointwise), imported from files." in text
    assert "gpt is a judge whose verdicts were imported from files: 1 verdict (pointwise)." in text


def test_failures_citations_and_hostile_names(db: Database, written: Written) -> None:
    create_project(db, "films")
    assert "nothing to describe" in written()
    project, name = Project(db, 1), HOSTILE[0] + r" \input{x} [@y] %"
    cases = {list_case(project, f"u{n}"): 2.0 if n else None for n in range(3)}
    judge_lists(project, name, cases)
    give(project, "ann_1", dict.fromkeys(cases, 2.0))
    assert "1 failed (1 timeout)." in written()
    assert r"ann\_1 is a person: 3" in written("--format", "latex")
    assert r"\input{" not in written("--format", "latex")
    assert "ann_1 is a person: 3" in written()
    for fmt in ("md", "latex"):
        text = written("--format", fmt, "--statistics", "all,bt,crowd")
        cited = set(re.findall(r"@(\w+)(?=[;\]])", text.replace("[@y\\]", "")))
        cited |= {key for keys in re.findall(r"\\citep\{([^}]*)\}", text) for key in keys.split(",")}
        assert cited == set(re.findall(r"^(?:% )?@\w+\{(\w+),$", text, re.MULTILINE))
        assert cited > {"liu2026saer", "gwet2008", "cameron2011", "davidson1970"}
    assert "percent" not in written("--raters", name), "nobody to agree with"
    known = written("--statistics", "guess").partition("Available: ")[2].split(".")[0].split(", ")
    assert {*STATISTICS, *MANY_RATERS, *BOARDS, *METRICS} < set(known)
    assert {facts.reference for facts in PROTOCOLS.values()} - {""} < set(references())
    assert not [work for work in references().values() if "others" in work.bibtex]
    assert references()["jarvelin2002"].short == "Järvelin and Kekäläinen, 2002"
