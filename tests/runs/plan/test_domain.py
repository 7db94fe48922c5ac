"""The words of a domain in real prompts: chosen by the layout imported, by the settings, or by the newest run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from recjudge_tui.domain.domains import DATASETS, SHIPPED, WORDS
from recjudge_tui.importers.registry import layouts
from recjudge_tui.reports.runs import estimate_lines
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import domain_named, domain_names
from tests.support.requests import sent_request
from tests.support.runs import calls, make_project, plan, planned

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
