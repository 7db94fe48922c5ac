"""One-shot runs: which example stands beside which case, and which cases are left out for it."""

from __future__ import annotations

from typing import Any

import pytest

from recjudge_tui.domain.material import Material
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.store.cases import load_material
from recjudge_tui.store.database import Database
from tests.support.requests import sent_request
from tests.support.runs import calls, load, plan, planned

ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction")
USERS, ITEMS, SYSTEMS = ("u0", "u1", "u2"), ("i0", "i1", "i2"), ("knn", "pop")
# not everything is everywhere
WITHOUT_TEXT = {("u1", "i0", "pop"), ("u2", "i2", "knn")}
WITHOUT_SCORES = {("u0", "i2", "knn")}


@pytest.fixture
def films(db: Database) -> Database:
    texts = [(u, i, s) for u in USERS for i in ITEMS for s in SYSTEMS if (u, i, s) not in WITHOUT_TEXT]
    load(db, "items", [("item_id", "title"), *((i, f"Film {i}") for i in ITEMS)])
    load(db, "users", [("user_id", "age"), *((u, 30 + n) for n, u in enumerate(USERS))])
    load(db, "explanations", [
        ("user_id", "item_id", "system", "text"), *((u, i, s, f"Text {u} {i} {s}") for u, i, s in texts),
    ])  # fmt: skip
    scored = [t for t in texts if t not in WITHOUT_SCORES]
    load(db, "labels", [
        ("rater", "user_id", "item_id", "system", "aspect", "value", "protocol", "rater_kind"),
        *(
            ("user", *t, aspect, 1 + (n + k) % 5, "explanation", "ground_truth")
            for n, t in enumerate(scored) for k, aspect in enumerate(ASPECTS)
        ),
    ])  # fmt: skip
    return db


def shown(db: Database, run: int) -> dict[tuple[str, str, str], Material]:
    rows = db.rows(
        """SELECT c.id, c.user_id, c.item_id, c.system_a FROM run_cases rc JOIN cases c ON c.id = rc.case_id
           WHERE rc.run_id = ?""",
        (run,),
    )
    return {(r[1], r[2], r[3]): load_material(db, run, r[0], 4) for r in rows}


def example(material: Material) -> tuple[str, str, str]:
    """Whose text the example is."""
    assert material.example is not None
    _, user, item, system = material.example.text.split()
    return user, item, system


def shots(db: Database, kind: str, **more: Any) -> int:
    return planned(db, protocol="explanation", shots=kind, profile="none", history=0, **more)


@pytest.mark.parametrize("seed", range(6))
def test_one_pair_for_all_and_the_same_systems_text_there(films: Database, seed: int) -> None:
    seen = shown(films, shots(films, "one", seed=seed, rater=f"r{seed}"))
    pairs = {example(material)[:2] for material in seen.values()}
    assert len(pairs) == 1
    (pair,) = pairs
    assert all(example(material)[2] == key[2] for key, material in seen.items())
    assert pair not in {key[:2] for key in seen}
    without = {(*pair, s) for s in SYSTEMS} & (WITHOUT_TEXT | WITHOUT_SCORES)
    assert {key[2] for key in seen} == set(SYSTEMS) - {gone[2] for gone in without}


@pytest.mark.parametrize("seed", range(6))
def test_the_personal_example_is_of_the_same_user_and_another_item(films: Database, seed: int) -> None:
    seen = shown(films, shots(films, "personal", seed=seed, rater=f"r{seed}"))
    assert {key[0] for key in seen} <= set(USERS)
    for (user, item, system), material in seen.items():
        of_user, of_item, of_system = example(material)
        assert (of_user, of_system) == (user, system)
        assert of_item != item
    for user in USERS:
        assert len({example(m)[1] for key, m in seen.items() if key[0] == user}) <= 1


def test_what_is_left_out_is_counted_by_its_reason(films: Database) -> None:
    for kind in ("one", "personal"):
        for seed in range(6):
            made = plan(films, protocol="explanation", shots=kind, seed=seed, dry_run=True)
            texts = len(USERS) * len(ITEMS) * len(SYSTEMS) - len(WITHOUT_TEXT)
            assert made.estimate.cases + sum(made.estimate.left_out.values()) == texts
            assert set(made.estimate.left_out) <= {"no example", "the example's own pair"}
            assert made.estimate.left_out["the example's own pair"] >= 1


def test_the_published_rule_keeps_the_pair_of_the_example(films: Database) -> None:
    seen = shown(films, shots(films, "one", keep_example_pair=True))
    assert example(next(iter(seen.values())))[:2] in {key[:2] for key in seen}


def test_the_draw_is_the_seeds_and_no_other_users(films: Database) -> None:
    first = shown(films, shots(films, "personal", seed=3, rater="a"))
    second = shown(films, shots(films, "personal", seed=3, rater="b"))
    assert first == second
    load(
        films,
        "explanations",
        [("user_id", "item_id", "system", "text"), ("a-new", "i0", "knn", "Text a-new i0 knn")],
    )
    third = shown(films, shots(films, "personal", seed=3, rater="c"))
    assert {key: value for key, value in third.items() if key[0] != "a-new"} == first
    others = [shown(films, shots(films, "personal", seed=s, rater=f"s{s}")) for s in range(4, 10)]
    assert any(other != first for other in others)


def test_the_example_and_its_scores_reach_the_judge_as_they_were_planned(films: Database) -> None:
    run = shots(films, "personal")
    material = next(iter(shown(films, run).values()))
    assert material.example is not None
    assert set(material.example.scores) == set(ASPECTS)
    text = sent_request(films, calls(films, run)[0]["id"]).messages[1].content
    load(films, "explanations", [("user_id", "item_id", "system", "text"), ("u0", "i0", "knn", "changed")])
    assert sent_request(films, calls(films, run)[0]["id"]).messages[1].content == text
    assert "<example>\nRecommended movie: Film " in text


def test_scores_belong_to_the_text_that_was_scored(films: Database) -> None:
    """A text that has changed since is no example until it is scored again; others are."""
    header = ("user_id", "item_id", "system", "text")
    load(films, "explanations", [header, *((u, "i0", "knn", f"Text {u} i0 knn anew") for u in USERS)])
    for kind in ("one", "personal"):
        for seed in range(6):
            seen = shown(films, shots(films, kind, seed=seed, rater=f"{kind}{seed}"))
            assert seen
            assert not any("anew" in m.example.text for m in seen.values() if m.example)
    score = ("rater", "user_id", "item_id", "system", "aspect", "value", "protocol", "rater_kind")
    again = [("user", u, "i0", "knn", a, 5, "explanation", "ground_truth") for u in USERS for a in ASPECTS]
    load(films, "labels", [score, *again])
    found = [
        m.example
        for seed in range(6)
        for m in shown(films, shots(films, "one", seed=seed, rater=f"again{seed}")).values()
        if m.example and "anew" in m.example.text
    ]
    assert found
    assert {tuple(sorted(one.scores.items())) for one in found} == {tuple((a, 5.0) for a in sorted(ASPECTS))}


def test_whose_scores_are_meant_must_be_clear(films: Database) -> None:
    load(films, "labels", [
        ("rater", "user_id", "item_id", "system", "aspect", "value", "protocol", "rater_kind"),
        ("other", "u0", "i0", "knn", "accuracy", 3, "explanation", "ground_truth"),
    ])  # fmt: skip
    with pytest.raises(UsageError, match="other, user"):
        shots(films, "one")
    with pytest.raises(
        RunError, match="needs a score on persuasiveness, transparency, accuracy, satisfaction"
    ):
        shots(films, "one", examples_from="other")
    assert shown(films, shots(films, "one", examples_from="user"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"protocol": "pairwise", "shots": "one"}, "pairwise has no --shots"),
        ({"protocol": "pointwise", "aspects": "single"}, "--aspects single has no effect"),
        ({"protocol": "explanation", "profile": "llm"}, "“rules” cannot write profiles"),
        ({"protocol": "explanation", "variables": {"itme": "book"}}, "no variable “itme” It has: platform, item"),
    ],
)  # fmt: skip
def test_contradicting_options_are_refused_before_anything_is_written(
    films: Database, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        plan(films, **settings)
    assert films.value("SELECT count(*) FROM runs") == 0
