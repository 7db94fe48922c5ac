"""The words of a domain in real prompts: chosen by the layout imported, by the settings, or by the newest run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from recjudge_tui.domain.domains import DATASETS, SHIPPED, WORDS
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import PromptError, UsageError
from recjudge_tui.importers.registry import layouts
from recjudge_tui.prompting.drafts import located_findings
from recjudge_tui.prompting.trial import request_now
from recjudge_tui.reports.runs import estimate_lines
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import project_domain, settings_for
from recjudge_tui.settings import data_dir
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import add_prompt, domain_named, domain_names, get_prompt, read_prompt
from tests.support.requests import sent_request
from tests.support.runs import calls, make_project, plan, plan_run, planned

LISTS = ("pointwise", "pairwise", "arena", "absolute")


def texts(db: Database, run: int) -> Sequence[str]:
    return ["\n".join(m.content for m in sent_request(db, call["id"]).messages) for call in calls(db, run)]


def made_of(db: Database, layout: str) -> None:
    """A project whose events came with this layout."""
    make_project(db, users=2)
    with db.transaction():
        db.execute("UPDATE imports SET layout = ? WHERE kind = 'events'", (layout,))


def test_every_domain_has_the_same_words_and_every_layout_a_domain_of_the_table() -> None:
    assert domain_names() == SHIPPED
    assert all(tuple(domain_named(name).words) == tuple(WORDS) for name in SHIPPED)
    assert {dataset.domain for dataset in DATASETS.values()} <= set(SHIPPED)
    assert set(DATASETS) <= {layout.name for layout in layouts()}


@pytest.mark.parametrize(
    ("layout", "platform", "items", "did"),
    [
        ("mind", "a news site", "recommended news articles", "read"),
        (
            "yelp",
            "a guide to restaurants and other places",
            "recommended restaurants and other places",
            "visited and rated",
        ),
        ("movielens-1m", "a film platform", "recommended films and series", "watched and rated"),
        ("amazon-reviews, type review", "an online shop", "product recommendations", "bought and rated"),
    ],
)
def test_the_layout_imported_chooses_the_words(
    db: Database, layout: str, platform: str, items: str, did: str
) -> None:
    made_of(db, layout)
    for protocol in LISTS:
        made = plan(db, protocol=protocol, rater=protocol)
        assert made.estimate.domain_note == ""
        assert made.run_id is not None
        for text in texts(db, made.run_id):
            if protocol in ("arena", "absolute"):
                assert f"You are this user of {platform}." in text
                assert f"What you {did}, newest first:" in text
            else:
                assert items in text
            assert ("film platform" in text) is (
                platform == "a film platform" and protocol in ("arena", "absolute")
            )


@pytest.mark.parametrize("domain", SHIPPED)
def test_the_domain_of_the_settings_takes_precedence_over_that_of_the_data(db: Database, domain: str) -> None:
    made_of(db, "mind")
    run = planned(db, protocol="arena", domain=domain)
    words = domain_named(domain).words
    for text in texts(db, run):
        assert f"What you {words['did']}, newest first:" in text
        assert words["platform"] in text
    own = planned(db, protocol="arena", domain=domain, variables={"did": "baked"}, rater="own")
    assert all(
        "What you baked, newest first:" in text and words["platform"] in text for text in texts(db, own)
    )


def test_data_of_two_domains_are_of_no_known_one(db: Database) -> None:
    made_of(db, "mind")
    with db.transaction():
        db.execute("UPDATE imports SET layout = 'yelp' WHERE kind = 'items'")
    assert project_domain(db, db.value("SELECT id FROM projects")) == ""


def test_a_preview_has_the_words_of_the_data(db: Database) -> None:
    made_of(db, "yelp")
    planned(db, protocol="arena")
    case = db.value("SELECT min(id) FROM cases")
    text = request_now(db, get_prompt(db, "arena-media")[2], case).messages[1].content
    assert "You are this user of a guide to restaurants" in text


@pytest.mark.parametrize("domain", SHIPPED)
def test_guidelines_and_issue_types_speak_of_the_domain(db: Database, domain: str) -> None:
    make_project(db, users=2)
    words = domain_named(domain).words
    for protocol in ("pointwise", "pairwise"):
        for text in texts(db, planned(db, protocol=protocol, domain=domain, rater=protocol)):
            guidelines = text[text.index("# Guidelines") : text.index("# Output form")]
            assert "{" not in guidelines
            if domain != "shop":
                assert words["pacing"] in guidelines
                assert words["variants"] in guidelines
            assert "# Examples" in text
            if domain not in ("films", "shop"):
                assert not re.search(r"\bfilms?\b(?! music)", text[: text.index("\n<customer>\n")])


def own_domain(folder: Path, name: str, *lines: str) -> Path:
    """A file of words in the user's settings folder; each of `lines` replaces that of the same word, or is added."""
    given = {line.split(" = ")[0]: line for line in lines}
    words = {word: f'{word} = "podcast {word}"' for word in WORDS}
    path = folder / "domains" / f"{name}.toml"
    path.parent.mkdir(exist_ok=True)
    content = ['data = "media"', "[words]", *filter(None, (words | given).values())]
    path.write_text("\n".join(content) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def settings_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path))
    return tmp_path


def test_a_users_own_domain_has_no_examples(db: Database, settings_folder: Path) -> None:
    make_project(db, users=2)
    own_domain(settings_folder, "podcasts")
    made = plan(db, protocol="pointwise", domain="podcasts")
    assert made.estimate.domain_note.startswith("the examples of prompt pointwise-media are about films, ")
    assert made.estimate.domain_note in estimate_lines(made.estimate, rater=made.rater, prompt=made.prompt)
    assert made.run_id is not None
    for text in texts(db, made.run_id):
        assert "lists of recommended podcast things." in text
        assert "# Examples" not in text
        assert "Answer: {" not in text
    assert domain_names() == (*SHIPPED, "podcasts")


@pytest.mark.parametrize(
    ("lines", "line", "told"),
    [
        (("things = ",), 6, "not valid TOML"),
        (('things = ""',), 6, "the word “things” is missing"),
        (('tune = "hum"',), 13, "there is no word “tune”; the words are: platform, did,"),
        (("did = 3",), 4, "words.did: Input should be a valid string"),
    ],
)
def test_a_domain_at_fault_is_named_with_its_line_and_nothing_is_stored(
    db: Database, settings_folder: Path, lines: tuple[str, ...], line: int, told: str
) -> None:
    make_project(db, users=2)
    path = own_domain(settings_folder, "podcasts", *lines)
    with pytest.raises(PromptError) as refused:
        plan(db, protocol="pointwise", domain="podcasts")
    assert refused.value.title.startswith(f"{path}:{line}: ")
    assert told in str(refused.value)
    assert db.value("SELECT count(*) FROM runs") == 0
    assert plan(db, protocol="pointwise", domain="news", dry_run=True).estimate.calls


def test_a_missing_word_is_named_at_the_table_of_words(db: Database, settings_folder: Path) -> None:
    make_project(db, users=2)
    path = own_domain(settings_folder, "podcasts")
    text = path.read_text(encoding="utf-8").replace('did = "podcast did"\n', "")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PromptError, match="the word “did” is missing") as refused:
        plan(db, protocol="pointwise", domain="podcasts")
    assert refused.value.title == f"{path}:2: not a domain"
    with pytest.raises(UsageError, match="no domain “podcast” Available: films, "):
        plan(db, protocol="pointwise", domain="podcast")


def test_a_prompt_that_asks_for_a_word_that_no_domain_has(db: Database, tmp_path: Path) -> None:
    make_project(db, users=2)
    text = (data_dir("prompts") / "pointwise-media.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    text = text.replace('"pointwise-media"', '"mine"').replace("variables.taste", "variables.cuisine")
    path.write_text(text, encoding="utf-8")
    line = 1 + text[: text.index("variables.cuisine")].count("\n")
    (finding,) = located_findings(path, read_prompt(path))
    assert finding.startswith(f"{path}:{line}: ")
    assert "no “cuisine”" in finding
    add_prompt(db, path)
    nowhere = JudgeSpec(spec="openai:m", base_urls=("http://127.0.0.1:9/v1",))
    request = RunRequest(
        project_id(db, "films"), nowhere, settings_for("pointwise", domain="places"), prompt="mine"
    )
    with pytest.raises(PromptError, match=r"In its part “guidelines”, line 2: .*no “cuisine”"):
        plan_run(db, request)
    assert db.value("SELECT count(*) FROM runs") == 0
