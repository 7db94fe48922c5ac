"""One-shot runs: which example stands beside which case, and which cases are left out for it."""

from __future__ import annotations

from typing import Any

import pytest

from recjudge_tui.domain.material import Material
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.store.cases import load_material
from recjudge_tui.store.database import Database
from tests.support.runs import load, plan, planned

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
