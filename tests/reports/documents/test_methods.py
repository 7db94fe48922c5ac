"""The methods paragraphs: what a reviewer asks for is in them, and every citation has its entry."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from recjudge_tui.domain.protocols import PROTOCOLS
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.reports.common.page import render_page
from recjudge_tui.reports.documents.cited_text import Citation, references
from recjudge_tui.reports.documents.methods import methods, methods_page, methods_text
from recjudge_tui.reports.documents.statistic_sentences import PROCEDURES, SENTENCES
from recjudge_tui.reports.leaderboard.leaderboard import METHODS as BOARDS
from recjudge_tui.reports.leaderboard.measured_lists import METRICS
from recjudge_tui.reports.projects.run_settings import run_settings_table
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.stats.registry import MANY_RATERS, STATISTICS
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.projects import create_project, project_id
from tests.support.hostile import HOSTILE
from tests.support.runs import make_project, planned, server_judge
from tests.support.servers.process import ServerProcess
from tests.support.verdicts import give, judge_lists, list_case, new_project

PAPERS = Path(__file__).parents[3] / "recjudge_tui" / "reports" / "papers" / "published"


def written(db: Database, fmt: str = "text", *raters: str) -> str:
    return methods_text(methods(db, project_id(db, "films"), raters), fmt)


def test_a_model_is_described_with_what_was_sent_and_served(
    db: Database, openai_server: ServerProcess
) -> None:
    make_project(db)
    work(db.path, planned(db, server_judge(openai_server.url), rater="hash", max_tokens=300, temperature=0.2))
    day, digest = (
        db.value("SELECT min(finished_at) FROM calls"),
        db.value("SELECT p.digest FROM prompts p JOIN runs r ON r.prompt_id = p.id"),
    )
    text = written(db)
    assert f"hash is the model openai:hash-judge, served as hash-judge, called on {day[:10]} (UTC)" in text
    assert f"prompt pointwise-media@1 (shipped with recjudge, SHA-256 {digest[:12]})" in text
    assert "temperature 0.2, seed 7, at most 300 tokens a reply" in text
    assert "pointwise: hash judged 8 lists of 4 users." in text
    assert "Of 8 calls of hash, 0 failed." in text
    assert "is neither a tie nor a score" in text
    row = methods(db, project_id(db, "films")).runs.rows[0]
    assert (row["prompt_digest"], row["calls"], row["occasions"]) == (digest, 8, 4)
    settings = run_settings_table(db, project_id(db, "films")).rows[0]
    assert (settings["model"], settings["temperature"], settings["prompt_digest"]) == (
        "hash-judge",
        0.2,
        digest,
    )


def test_failures_are_counted_by_kind_and_raters_can_be_chosen(project_db: Path) -> None:
    project = new_project(project_db)
    cases = {list_case(project, f"u{n}"): 2.0 if n else None for n in range(3)}
    judge_lists(project, "judge", cases)
    judge_lists(project, "other", dict.fromkeys(cases, 1.0))
    give(project, "ann_1", dict.fromkeys(cases, 2.0))
    text = written(project.db)
    assert "Of 3 calls of judge, 1 failed (1 timeout)." in text
    assert "ann_1 is a person who judged without seeing a judge's verdict: 3 verdicts (pointwise)." in text
    assert "quadratic weighted kappa (Cohen, 1968)" in text
    alone = written(project.db, "latex", "judge")
    assert "other" not in alone.split("% references.bib")[0].replace("the other", "")
    assert "weighted kappa" not in alone, "no person to agree with"
    assert r"ann\_1" in written(project.db, "latex")
    with pytest.raises(NotFoundError):
        written(project.db, "text", "nobody")


@pytest.mark.parametrize("fmt", ["md", "latex"])
def test_every_citation_has_its_entry_and_every_entry_is_cited(project_db: Path, fmt: str) -> None:
    project = new_project(project_db)
    cases = {list_case(project, f"u{n}"): 2.0 for n in range(3)}
    judge_lists(project, "judge", cases)
    give(project, "ann", cases)
    text = written(project.db, fmt)
    cited = {
        key.lstrip("@ ")
        for keys in re.findall(r"\\citep\{([^}]*)\}|\[(@[^\]]*)\]", text)
        for key in re.split("[,;]", "".join(keys))
    }
    entries = set(re.findall(r"^(?:% )?@\w+\{(\w+),$", text, re.MULTILINE))
    assert cited == entries
    assert "liu2026saer" in cited


def test_the_papers_are_cited_by_the_titles_that_the_project_gives_them() -> None:
    sources = " ".join(path.read_text(encoding="utf-8").splitlines()[2] for path in PAPERS.glob("*.toml"))
    for key in {facts.reference for facts in PROTOCOLS.values()} - {""}:
        title = re.search(r"title = \{(.*)\},", references()[key].bibtex)
        assert title is not None
        assert title[1].replace("{", "").replace("}", "") in " ".join(
            line for path in PAPERS.glob("*.toml") for line in path.read_text(encoding="utf-8").splitlines()
            if line.startswith("source")
        ), sources  # fmt: skip
    assert references()["jarvelin2002"].short == "Järvelin and Kekäläinen, 2002"


def test_every_statistic_has_a_sentence_and_every_work_its_entry() -> None:
    shown = {*STATISTICS, *MANY_RATERS, *BOARDS, *METRICS}
    assert shown | set(PROCEDURES) == set(SENTENCES)
    cited = {
        key
        for sentence in SENTENCES.values()
        for part in sentence
        if isinstance(part, Citation)
        for key in part.keys
    }
    assert cited < set(references())
    # without a source: what the sentence itself says whole
    assert {name for name, sentence in SENTENCES.items() if not any(isinstance(p, Citation) for p in sentence)} == {
        "percent", "bias", "winrate", "share", "mean", "map_min", "hit_rate", "urd", "popularity", "coverage",
    }  # fmt: skip
    assert all(sentence[-1].endswith(".") for sentence in SENTENCES.values() if isinstance(sentence[-1], str))


def test_further_statistics_are_defined_and_cited(project_db: Path) -> None:
    project = new_project(project_db)
    cases = {list_case(project, f"u{n}"): 2.0 for n in range(3)}
    judge_lists(project, "judge", cases)
    give(project, "ann", cases)
    of = methods(project.db, project_id(project.db, "films"), (), ("bt", "alpha_ordinal"))
    text = methods_text(of, "md")
    assert "[@bradley1952; @davidson1970]" in text
    assert "[@krippendorff2011]" in text
    assert "@article{bradley1952," in text
    everything = methods_text(methods(project.db, project_id(project.db, "films"), (), ("all",)), "text")
    assert "(Gwet, 2008)" in everything
    assert "Bradley and Terry" not in everything, "no pair was judged"
    assert everything.count("Systems are described by the share of each label.") == 1
    with pytest.raises(UsageError, match="no statistic “guess”"):
        methods(project.db, project_id(project.db, "films"), (), ("guess",))


def test_hostile_names_stay_text(project_db: Path) -> None:
    project = new_project(project_db)
    name = HOSTILE[0] + r" \input{x} [@y] %"
    judge_lists(project, name, {list_case(project, "u"): 2.0})
    assert r"\input{" not in written(project.db, "latex")
    assert "[@y]" not in written(project.db, "md")
    page = render_page(methods_page(methods(project.db, project_id(project.db, "films"))), "json").text
    assert json.loads(page)["tables"][0]["rows"][0]["rater"] == name


def test_a_project_without_verdicts_says_what_to_do(db: Database) -> None:
    with pytest.raises(UsageError, match="nothing to describe"):
        methods(db, create_project(db, "empty"))
