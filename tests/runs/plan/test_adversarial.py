"""Which adversarial pairs are made, what is shown of them, and that nothing else ever counts them."""

from __future__ import annotations

from collections import Counter

from recjudge_tui.domain.made_lists import FAULT_KINDS, adversarial_pair, planted_list
from recjudge_tui.people.raters import make_metric_raters
from recjudge_tui.project import Project
from recjudge_tui.reports.declare import make
from recjudge_tui.runs.cases import build_request, setup_of
from recjudge_tui.runs.engine import work
from recjudge_tui.store.calls import outstanding
from recjudge_tui.store.cases import CaseKey, items_had, load_material
from recjudge_tui.store.data import current_slates, slate_items, systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_row
from tests.support.adversarial_project import (
    judged_pairs_run,
    keys_of,
    make_taste_project,
    planned_pairs,
)
from tests.support.planted_project import SYSTEMS, faults_of, make_shop, planned_faults
from tests.support.runs import RULES, intact, load, planned, server_judge
from tests.support.servers.process import ServerProcess


def pairs_of(db: Database, run_id: int) -> list[tuple[CaseKey, str, str]]:
    """(case, variant, system) of a run."""
    found: list[tuple[CaseKey, str, str]] = []
    for key, _ in keys_of(db, run_id):
        pair = adversarial_pair(key.system_a, key.system_b)
        assert pair is not None
        found.append((key, pair.variant, pair.system))
    return found


def test_as_many_users_from_each_system_each_once_with_two_pairs(db: Database) -> None:
    make_taste_project(db)
    run_id = judged_pairs_run(db, sample=8)
    found = pairs_of(db, run_id)
    published = [(key.user_id, system) for key, variant, system in found if variant == "published"]
    assert Counter(system for _, system in published) == {"als": 4, "pop": 4}
    assert len({user for user, _ in published}) == 8
    assert [(k.user_id, s) for k, v, s in found if v == "unseen"] == published
    assert db.value("SELECT count(*) FROM calls WHERE run_id = ?", (run_id,)) == 16


def test_the_second_pair_holds_nothing_the_user_has_and_lists_of_one_length(db: Database) -> None:
    project = make_taste_project(db)
    run_id = judged_pairs_run(db)
    found = pairs_of(db, run_id)
    published = {key.user_id: key for key, variant, _ in found if variant == "published"}
    changed = 0
    for key, variant, _ in found:
        has = items_had(db, project, key.user_id)
        assert "g0f59" not in has  # held out: not known to have
        if variant == "unseen":
            assert key.slate_a is not None
            assert key.slate_b is not None
            foreign, own = slate_items(db, key.slate_a), slate_items(db, key.slate_b)
            assert not has & set(foreign)
            assert len(foreign) == len(own)
            before = published[key.user_id]
            assert before.slate_a is not None
            assert before.slate_b is not None
            whole = slate_items(db, before.slate_a)
            assert foreign == [item for item in whole if item not in has]
            assert own == slate_items(db, before.slate_b)[: len(own)]
            changed += foreign != whole
            shown = load_material(db, run_id, case_of(db, key), 6)
            assert [[item.item_id for item in s.items] for s in shown.slates] == [foreign, own]
    assert changed >= 2


def case_of(db: Database, key: CaseKey) -> int:
    found: int = db.value(
        "SELECT id FROM cases WHERE user_id = ? AND system_a = ? AND slate_a = ?",
        (key.user_id, key.system_a, key.slate_a),
    )
    return found


def test_the_same_seed_meets_the_same_cases_in_the_same_positions_from_the_cache(
    db: Database, openai_server: ServerProcess
) -> None:
    make_taste_project(db)
    judge = server_judge(openai_server.url)
    first = judged_pairs_run(db, judge)
    cases = db.value("SELECT count(*) FROM cases")
    again = judged_pairs_run(db, judge, again=True)
    assert keys_of(db, again) == keys_of(db, first)
    assert db.value("SELECT count(*) FROM cases") == cases
    assert db.value("SELECT count(*) FROM calls WHERE run_id = ? AND cached_from IS NULL", (again,)) == 0
    assert [row["name"] for row in db.rows("SELECT name FROM raters")] == ["hash-judge"]


def test_the_judge_is_told_nothing(db: Database) -> None:
    """What is sent is a pairwise question; no word of it says whose the lists are."""
    make_taste_project(db, name_of="person")
    plan = planned_pairs(db)
    assert plan.run_id is not None
    assert plan.prompt.startswith("pairwise-media@")
    setup = setup_of(db, run_row(db, plan.run_id))
    systems_said = set()
    for _, key in outstanding(db, plan.run_id, 0, 10**6):
        _, request = build_request(db, plan.run_id, setup, key)
        text = "\n".join(message.content for message in request.messages)
        for word in ("foreign", "own:", "unseen", "adversarial", "person0", "person1", "als", "pop"):
            assert word not in text.split("</customer>")[-1]
        systems_said.add(request.messages[0].content)
    assert len(systems_said) == 1


def test_nothing_ordinary_counts_these_pairs(db: Database) -> None:
    """Runs, leaderboards, agreement, metrics, position and the panel are as if they had not been judged."""
    project = make_taste_project(db)
    assert work(db.path, planned(db, RULES, "pairwise", top_k=6)).state == "done"
    make_metric_raters(db, project, ["hit_rate"])
    header = ("rater", "user_id", "system_a", "system_b", "value")
    people = [f"u{n:02d}" for n in range(12)]
    load(
        db, "labels", [header, *(("anna", user, "als", "pop", "AB"[n % 2]) for n, user in enumerate(people))]
    )

    def ordinary() -> list[object]:
        return [
            systems(db, project),
            current_slates(db, project),
            make(Project.numbered(db, project), "leaderboard", protocol="pairwise"),
            make(Project.numbered(db, project), "agreement"),
            make(Project.numbered(db, project), "agreement", protocol="pairwise"),
            make(Project.numbered(db, project), "robustness position"),
            chosen_by_a_run(db),
        ]

    before = ordinary()
    shown = keys_of(db, judged_pairs_run(db))
    load(
        db, "labels", [header, *(("anna", key.user_id, key.system_a, key.system_b, "A") for key, _ in shown)]
    )
    db.execute("DELETE FROM raters WHERE kind = 'metric'")
    db.connection.commit()
    make_metric_raters(db, project, ["hit_rate"])
    assert ordinary() == before
    assert intact(db)


def chosen_by_a_run(db: Database) -> list[CaseKey]:
    """The cases of a further ordinary run, which is deleted again."""
    found = [key for key, _ in keys_of(db, planned(db, RULES, "pairwise", rater="probe", top_k=6))]
    db.execute("DELETE FROM raters WHERE name = 'probe'")
    db.connection.commit()
    return found


# ---- planted -------------------------------------------------------------------------------------------------


def planned_run(db: Database, **wished: object) -> int:
    run_id = planned_faults(db, **wished).run_id
    assert run_id is not None
    return run_id


def test_every_kind_is_planted_once_into_a_list_of_each_user(db: Database) -> None:
    make_shop(db)
    run_id = planned_run(db)
    faults = faults_of(db, run_id)
    assert Counter(fault.kind for fault in faults.values()) == dict.fromkeys(FAULT_KINDS, 4)
    for case_id, fault in faults.items():
        shown = [item.item_id for item in load_material(db, run_id, case_id, 5).slates[0].items]
        source = [
            row[0]
            for row in db.rows(
                "SELECT item_id FROM slate_items WHERE slate_id = ? ORDER BY rank", (fault.source_slate_id,)
            )
        ]
        assert shown[fault.rank - 1] == fault.item_id
        assert source[fault.rank - 1] == fault.displaced
        # nothing else is changed
        assert [a for a, b in zip(shown, source, strict=True) if a != b] == [fault.item_id]
    planted = {fault.kind: fault.item_id for fault in faults.values()}
    assert (planted["refill"], planted["durable"], planted["off-category"]) == (
        "shampoo",
        "kettle2",
        "guitar",
    )


def test_both_systems_give_equally_many_lists(db: Database) -> None:
    make_shop(db)
    run_id = planned_run(db)
    names = [
        planted_list(row[0])
        for row in db.rows(
            "SELECT c.system_a FROM run_cases rc JOIN cases c ON c.id = rc.case_id WHERE rc.run_id = ?",
            (run_id,),
        )
    ]
    assert Counter(name.system for name in names if name) == dict.fromkeys(SYSTEMS, 2 * len(FAULT_KINDS))
