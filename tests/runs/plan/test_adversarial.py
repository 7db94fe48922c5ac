"""Which adversarial pairs are made, what is shown of them, and that nothing else ever counts them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.domain.made_lists import adversarial_pair, pair_names
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.people.raters import make_metric_raters
from recjudge_tui.project import Project
from recjudge_tui.reports.declare import make
from recjudge_tui.runs.cases import build_request, setup_of
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.selection import positions
from recjudge_tui.runs.settings import AlreadyJudgedError
from recjudge_tui.store.calls import outstanding
from recjudge_tui.store.case_detail import case_detail
from recjudge_tui.store.cases import CaseKey, items_had, load_material
from recjudge_tui.store.data import current_slates, newest_slates, slate_items, systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id, project_panel
from recjudge_tui.store.runs import run_row
from recjudge_tui.store.verdicts import filtered_ids, verdict_rows
from tests.support.adversarial_project import (
    judged_pairs_run,
    keys_of,
    make_taste_project,
    planned_pairs,
)
from tests.support.runs import RULES, add_lists, intact, load, planned, server_judge
from tests.support.servers.process import ServerProcess


def pairs_of(db: Database, run_id: int) -> list[tuple[CaseKey, str, str]]:
    """(case, variant, system) of a run."""
    found: list[tuple[CaseKey, str, str]] = []
    for key, _ in keys_of(db, run_id):
        pair = adversarial_pair(key.system_a, key.system_b)
        assert pair is not None
        found.append((key, pair.variant, pair.system))
    return found


def test_names_are_told_apart_in_either_order_and_ordinary_ones_are_none() -> None:
    a, b = pair_names("unseen", "pop")
    assert a < b
    assert adversarial_pair(a, b) == adversarial_pair(b, a) == ("unseen", "pop")
    assert adversarial_pair(*pair_names("published", "own:x")) == ("published", "own:x")
    for first, second in (
        ("als", "pop"), ("foreign:als", "own:pop"), ("foreign:", "own:"), ("foreign:als", "als"),
        ("own:als", "own:pop"), ("foreign:als", "own-unseen:als"),
    ):  # fmt: skip
        assert adversarial_pair(first, second) is None


def test_as_many_users_from_each_system_each_once_with_two_pairs(db: Database) -> None:
    make_taste_project(db)
    run_id = judged_pairs_run(db, sample=8)
    found = pairs_of(db, run_id)
    published = [(key.user_id, system) for key, variant, system in found if variant == "published"]
    assert Counter(system for _, system in published) == {"als": 4, "pop": 4}
    assert len({user for user, _ in published}) == 8
    assert [(k.user_id, s) for k, v, s in found if v == "unseen"] == published
    assert db.value("SELECT count(*) FROM calls WHERE run_id = ?", (run_id,)) == 16


def test_the_published_pair_holds_the_imported_lists_of_the_user_and_of_somebody_else(db: Database) -> None:
    project = make_taste_project(db)
    current = newest_slates(db, project)
    for key, variant, system in pairs_of(db, judged_pairs_run(db)):
        if variant == "published":
            assert key.slate_b == current[key.user_id][system].slate_id
            assert key.slate_a in {
                own[system].slate_id for user, own in current.items() if user != key.user_id
            }


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


def test_another_seed_draws_other_users_and_a_user_drawn_again_meets_the_same_lists(db: Database) -> None:
    make_taste_project(db)
    one, other = judged_pairs_run(db, sample=6, seed=1), judged_pairs_run(db, sample=6, seed=2, again=True)
    first, second = ({k for k, _ in keys_of(db, run)} for run in (one, other))
    assert {k.user_id for k in first} != {k.user_id for k in second}
    everyone = judged_pairs_run(db, sample=12, seed=3, again=True)
    by_name = {(k.user_id, k.system_a): (k.slate_a, k.slate_b) for k, _ in keys_of(db, everyone)}
    met = [k for k in first | second if (k.user_id, k.system_a) in by_name]
    assert met
    assert all(by_name[k.user_id, k.system_a] == (k.slate_a, k.slate_b) for k in met)


def test_positions_are_balanced_drawn_and_the_same_for_both_pairs_of_a_user(db: Database) -> None:
    make_taste_project(db)
    shown = keys_of(db, judged_pairs_run(db))
    for name in {key.system_a for key, _ in shown}:
        assert Counter(order for key, order in shown if key.system_a == name) == {"ab": 3, "ba": 3}
    by_user: dict[str, set[str]] = {}
    for key, order in shown:
        by_user.setdefault(key.user_id, set()).add(order)
    assert all(len(orders) == 1 for orders in by_user.values())


def test_positions_of_a_longer_run_begin_like_those_of_a_shorter_one_and_differ_by_seed() -> None:
    a, b = pair_names("published", "pop")
    keys = [CaseKey("pair", f"u{n}", a, b) for n in range(40)]
    assert positions(keys, 7)[:15] == positions(keys[:15], 7)
    assert abs(Counter(positions(keys[:15], 7))["ab"] - 7.5) == 0.5
    assert len({tuple(positions(keys, seed)) for seed in range(20)}) == 20
    # neither position is tied to the place in the row
    firsts = Counter(positions(keys[:1], seed)[0] for seed in range(400))
    assert 160 <= firsts["ab"] <= 240


def test_the_judge_is_told_nothing(db: Database) -> None:
    """What is sent is a pairwise question; no word of it says whose the lists are."""
    make_taste_project(db, name_of="person")
    plan = planned_pairs(db)
    assert plan.run_id is not None
    assert plan.prompt.startswith("pairwise-media@")
    _, settings, chosen, prompt = setup_of(db, run_row(db, plan.run_id))
    systems_said = set()
    for key in outstanding(db, plan.run_id, 0, 10**6):
        _, request = build_request(db, plan.run_id, settings, chosen, prompt, key)
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
            project_panel(db, project)._replace(runs=0, imports=0, finished_calls=0),
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


def test_one_judge_is_one_rater_of_ordinary_and_of_adversarial_pairs(db: Database) -> None:
    make_taste_project(db)
    judged_pairs_run(db)
    assert work(db.path, planned(db, RULES, "pairwise", top_k=6)).state == "done"
    rows = db.rows(
        "SELECT r.name, v.protocol, count(*) FROM verdicts v JOIN raters r ON r.id = v.rater_id GROUP BY 1, 2"
    )
    assert [tuple(row) for row in rows] == [("rules", "adversarial", 24), ("rules", "pairwise", 12)]
    with pytest.raises(AlreadyJudgedError, match="has already judged these 24 cases"):
        planned_pairs(db, rater="rules")


def test_a_dry_run_leaves_nothing(db: Database) -> None:
    make_taste_project(db)
    slates = db.value("SELECT count(*) FROM slates")
    plan = planned_pairs(db, dry_run=True)
    assert (plan.run_id, plan.estimate.cases, plan.estimate.calls) == (None, 24, 24)
    assert db.value("SELECT count(*) FROM slates") == slates
    assert db.value("SELECT count(*) FROM cases") == 0


def test_fewer_users_than_asked_for_are_counted(db: Database) -> None:
    make_taste_project(db, users=5)
    plan = planned_pairs(db, sample=100)
    assert plan.estimate.left_out["user missing: only 5 of the requested 100 are suitable"] == 95
    assert plan.estimate.cases == 10


def test_one_system_gives_all_the_lists(db: Database) -> None:
    make_taste_project(db)
    found = pairs_of(db, judged_pairs_run(db, systems=("pop",)))
    assert {system for _, _, system in found} == {"pop"}
    assert len(found) == 24


def test_a_system_with_fewer_users_gives_what_it_has(db: Database) -> None:
    make_taste_project(db)
    load(
        db,
        "lists",
        [("user_id", "system", "item_id", "rank"), ("u01", "new", "g0f1", 1), ("u02", "new", "g0f2", 1)],
    )
    plan = planned_pairs(db, sample=9)
    assert plan.run_id is not None
    found = Counter(system for _, variant, system in pairs_of(db, plan.run_id) if variant == "published")
    assert found["als"] == found["pop"] == 3
    assert 1 <= found["new"] <= 2
    assert (
        sum(found.values())
        + plan.estimate.left_out[f"user missing: only {sum(found.values())} of the requested 9 are suitable"]
        == 9
    )


def test_without_events_nobody_can_be_judged(db: Database) -> None:
    load(db, "items", [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(60))])
    add_lists(db, ["u1", "u2", "u3"], ("als", "pop"))
    with pytest.raises(RunError, match="no adversarial pair") as caught:
        planned_pairs(db)
    assert "3 × user without history" in caught.value.cause
    assert "events" in caught.value.next_step


def test_one_user_alone_has_no_foreign_list(db: Database) -> None:
    make_taste_project(db, users=1)
    with pytest.raises(RunError) as caught:
        planned_pairs(db)
    assert "1 × user whose list does not differ from other users'" in caught.value.cause


def test_lists_that_show_the_same_to_all_are_no_test(db: Database) -> None:
    make_taste_project(db, users=4)
    rows = [(f"u{n:02d}", "same", f"g1f{(at + n) % 6}", at + 1) for n in range(4) for at in range(6)]
    load(db, "lists", [("user_id", "system", "item_id", "rank"), *rows])
    with pytest.raises(RunError) as caught:
        planned_pairs(db, systems=("same",))
    assert "4 × user whose list does not differ from other users'" in caught.value.cause


def test_a_project_without_lists_says_how_to_import_some(db: Database) -> None:
    load(db, "items", [("item_id", "title"), ("i1", "Film")])
    with pytest.raises(RunError, match="no lists to judge"):
        planned_pairs(db)


def test_a_foreign_list_of_which_the_user_has_everything_leaves_one_pair(db: Database) -> None:
    load(db, "items", [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(4))])
    rows = [("ann", "s", "i0", 1), ("ann", "s", "i1", 2), ("ben", "s", "i2", 1), ("ben", "s", "i3", 2)]
    load(db, "lists", [("user_id", "system", "item_id", "rank"), *rows])
    seen = [("ann", "i2", "rating", 4), ("ann", "i3", "rating", 4), ("ben", "i0", "click", "")]
    load(db, "events", [("user_id", "item_id", "type", "value"), *seen])
    plan = planned_pairs(db, sample=2)
    assert plan.run_id is not None
    found = {(key.user_id, variant) for key, variant, _ in pairs_of(db, plan.run_id)}
    # a click does not make ben have it
    assert found == {("ann", "published"), ("ben", "published"), ("ben", "unseen")}
    assert any("nothing is left" in reason for reason in plan.estimate.left_out)


def test_a_prompt_of_another_protocol_is_refused(db: Database) -> None:
    make_taste_project(db)
    with pytest.raises(UsageError, match="not for pairwise"):
        planned_pairs(db, prompt="arena-media")


def test_labels_meet_the_pairs_whichever_came_first(db: Database, tmp_path: Path) -> None:
    make_taste_project(db)
    header = ("rater", "user_id", "system_a", "system_b", "aspect", "value")
    early = [
        ("anna", f"u{n:02d}", f"own:{s}", f"foreign:{s}", "overall", "A")
        for n in range(12)
        for s in ("als", "pop")
    ]
    load(db, "labels", [header, *early])
    run_id = judged_pairs_run(db)
    late = [
        ("ben", key.user_id, key.system_a, key.system_b, "overall", key.system_b)
        for key, _ in keys_of(db, run_id)
    ]
    load(db, "labels", [header, *late])
    on_the_same = db.rows(
        """SELECT r.name, v.protocol, v.label, count(*) FROM verdicts v JOIN raters r ON r.id = v.rater_id
           WHERE v.case_id IN (SELECT case_id FROM run_cases WHERE run_id = ?) AND r.name IN ('anna', 'ben')
           GROUP BY 1, 2, 3""",
        (run_id,),
    )
    # A for the own list is B of the case, whose first system is the foreign one
    assert [tuple(row) for row in on_the_same] == [
        ("anna", "adversarial", "B", 12),
        ("ben", "adversarial", "B", 24),
    ]
    assert project_id(db, "films") == 1


def test_the_verdict_list_shows_the_pairs_and_what_people_and_judges_disagree_on(db: Database) -> None:
    project = make_taste_project(db)
    shown = keys_of(db, judged_pairs_run(db, sample=4))
    header = ("rater", "user_id", "system_a", "system_b", "value")
    key, order = shown[0]
    load(db, "labels", [header, ("anna", key.user_id, key.system_a, key.system_b, "A")])
    chosen = parse_filter("protocol:adversarial")
    ids = filtered_ids(db, project, chosen)
    assert len(ids) == 9
    rows = {row.verdict_id: row for row in verdict_rows(db, ids)}
    (of_anna,) = [row for row in rows.values() if row.rater == "anna"]
    (of_rules,) = [r for r in rows.values() if r.case_id == of_anna.case_id and r.rater == "rules"]
    assert of_anna.disagrees == (of_rules.label != "A")
    for verdict in (of_anna, of_rules):
        detail = case_detail(db, verdict.verdict_id)
        assert [name for name, _ in detail.slates] == [key.system_a, key.system_b]
        assert all(slate.items for _, slate in detail.slates)
        assert {opinion.rater for opinion in detail.opinions} == {"anna", "rules"}
    (answer,) = case_detail(db, of_rules.verdict_id).answers
    assert answer.set_one == (key.system_a if order == "ab" else key.system_b)


def test_a_label_that_names_the_protocol_and_no_such_pair_is_left_out(db: Database) -> None:
    make_taste_project(db)
    header = ("rater", "user_id", "system_a", "system_b", "value", "protocol")
    load(
        db,
        "labels",
        [header, ("anna", "u01", "als", "pop", "A", "adversarial"), ("anna", "u02", "als", "pop", "A", "")],
    )
    assert [tuple(r) for r in db.rows("SELECT protocol, count(*) FROM verdicts GROUP BY 1")] == [
        ("pairwise", 1)
    ]
