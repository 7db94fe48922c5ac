"""The leaderboard through its command's JSON and its text: counts by hand, published correlations, properties, sanity."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.errors import UsageError
from tests.builder import Built, project
from tests.support.stub_server import answer, completion, serving

Rows = list[dict[str, Any]]
# x beats y 3:1, x beats z 4:0; y and z tie twice, y wins twice
THREE = {("x", "y"): "AAAB", ("x", "z"): "AAAA", ("y", "z"): "TTAA"}
_LABELS = {"A": "A", "B": "B", "T": "Tie"}


def battles_of(
    votes: dict[tuple[str, str], str], rater: str = "anna"
) -> dict[str, dict[tuple[str, ...], object]]:
    return {
        rater: {
            (f"u{at}", *pair): _LABELS[vote] for pair, each in votes.items() for at, vote in enumerate(each)
        }
    }


@pytest.fixture
def three(tmp_path: Path) -> Built:
    return project(tmp_path / "three.db", labels=battles_of(THREE))


def ranking(built: Built, line: str = "leaderboard --protocol pairwise") -> Rows:
    return [row for row in built.table(line)["rows"] if row["opponent"] is None]


def test_counts_and_scores_by_hand(three: Built) -> None:
    rows = ranking(three)
    assert [(r["system"], r["rank"], r["wins"], r["ties"], r["losses"], r["n"]) for r in rows] == [
        ("x", 1, 7, 0, 1, 8),
        ("y", 2, 3, 2, 3, 8),
        ("z", 3, 0, 2, 6, 8),
    ]
    assert [r["q"] for r in rows] == [7.0, 1.0, 0.25]
    assert [r["score"] for r in rows] == [r["win_rate"] for r in rows] == [7 / 8, 4 / 8, 1 / 8]
    between = {
        (r["system"], r["opponent"]): r for r in three.table("leaderboard --protocol pairwise")["rows"]
    }
    assert (between["z", "y"]["wins"], between["z", "y"]["ties"], between["z", "y"]["losses"]) == (0, 2, 2)
    assert between["x", "z"]["q"] is None
    assert "never lost" in between["x", "z"]["note"]


@pytest.mark.parametrize("method", ["winrate", "q", "bt"])
def test_no_figure_depends_on_names_or_the_order_of_rows(tmp_path: Path, method: str) -> None:
    """Systems renamed so that their order turns, users renamed, rows reversed: the same figures, from the other side."""
    votes = {("x", "y"): "AABTABAATB", ("x", "z"): "AAAATABAAA", ("y", "z"): "TTAABBATAA"}
    plain = project(tmp_path / "plain.db", labels=battles_of(votes))
    other, turned = {"x": "zz", "y": "mm", "z": "aa"}, {"A": "B", "B": "A", "Tie": "Tie"}
    rows = [
        {
            "rater": "anna",
            "user_id": f"v{9 - at}",
            "system_a": other[b],
            "system_b": other[a],
            "value": turned[_LABELS[vote]],
        }
        for (a, b), each in reversed(votes.items())
        for at, vote in enumerate(each)
    ]
    renamed = project(tmp_path / "renamed.db", labels=[row | {"protocol": "pairwise"} for row in rows])
    line = f"leaderboard --protocol pairwise --method {method}"
    seen = {other[row["system"]]: row for row in ranking(plain, line)}
    for row in ranking(renamed, line):
        mine = seen[row["system"]]
        for name in ("rank", "rank_low", "rank_high", "wins", "ties", "losses", "n"):
            assert row[name] == mine[name], name
        for name in ("score", "q", "ci_low", "ci_high"):
            assert row[name] == pytest.approx(mine[name], abs=1e-6), name


def test_two_systems_far_apart_and_close_together(tmp_path: Path) -> None:
    far = project(tmp_path / "far.db", labels=battles_of({("x", "y"): "A" * 18 + "TB"}))
    close = project(tmp_path / "close.db", labels=battles_of({("x", "y"): "A" * 11 + "B" * 9}))
    told = far.table("leaderboard --protocol pairwise")
    assert told["answer"] == "x leads, ahead of y on 20 users (p < .001)."
    assert [row["rank_high"] for row in ranking(far)] == [1, 2]
    told = close.table("leaderboard --protocol pairwise")
    assert told["answer"].startswith("x leads, not separable from y on 20 users (p .82; about ")
    (fact,) = told["facts"]["neighbours"]
    assert not fact["separable"]
    assert fact["more"] > 100
    assert [(row["rank"], row["rank_low"], row["rank_high"]) for row in ranking(close)] == [
        (1, 1, 2),
        (2, 1, 2),
    ]


def told(path: Path, votes: dict[tuple[str, str], str], line: str = "", rater: str = "anna") -> Any:
    built = project(path / f"{rater}.db", labels=battles_of(votes, rater))
    return built.table(f"leaderboard --protocol pairwise {line}")


SHARED = {("x", "y"): "AB" * 12, ("x", "z"): "AAAB" * 6, ("y", "z"): "A" * 18 + "B" * 6}
# the same with x and y renamed to trade their order
RENAMED = {("x", "y"): "BA" * 12, ("x", "z"): SHARED["y", "z"], ("y", "z"): SHARED["x", "z"]}


@pytest.mark.parametrize("line", ["", "--method bt"])
def test_no_name_decides_who_is_tested_where_systems_share_a_place(tmp_path: Path, line: str) -> None:
    one, two = told(tmp_path, SHARED, line), told(tmp_path, RENAMED, line, "ben")
    said = "x and y share the first place, ahead of z on 24 users (p .026 or less)."
    assert (one["answer"], two["answer"]) == (said, said)
    by_system = [{fact["upper"]: fact["p"] for fact in table["facts"]["neighbours"]} for table in (one, two)]
    assert (by_system[0]["x"], by_system[0]["y"]) == pytest.approx((by_system[1]["y"], by_system[1]["x"]))


PAIRS = "--table pairs"
Y_OVER_Z = "prefers y to z (Q 3.00, 18 won, 0 tied, 6 lost, p .017); 1 of 3 pairs in all."


@pytest.mark.parametrize(
    ("line", "votes", "rater", "answer"),
    [
        ("", {("x", "y"): "T" * 12}, "anna", "x and y share the first place on 12 users."),
        ("", {("x", "y"): "AA", ("y", "z"): "AA", ("x", "z"): "BB"}, "anna", "x, y and z share the first place on 2 users."),
        ("", {("p", "q"): "AAB", ("r", "s"): "AAB"}, "anna", "p and r share the first place, not separable from q and s on"),
        ("", {("x", "y"): "AAAA"}, "anna", "x leads, not separable from y on 4 users (p .12; about 2 more users"),
        (PAIRS, SHARED, "anna", f"anna {Y_OVER_Z}"),
        (PAIRS, RENAMED, "anna", f"anna {Y_OVER_Z.replace('y', 'x', 1)}"),
        (PAIRS, {("x", "y"): "A" * 12}, "anna", "anna prefers x to y (12 won, 0 tied, 0 lost, p < .001)."),
        (PAIRS, {("x", "y"): "AB" * 6}, "anna", "anna is not shown to prefer either of x and y: Q 1.00, 6 won,"),
        (PAIRS, {("x", "y"): "T" * 12}, "qwen-7b", "qwen-7b ranks nobody: 12 of 12 verdicts are Tie: no"),
    ],
)  # fmt: skip
def test_an_answer_claims_what_counts_and_tests_show(
    tmp_path: Path, line: str, votes: dict[tuple[str, str], str], rater: str, answer: str
) -> None:
    assert told(tmp_path, votes, line, rater)["answer"].startswith(answer)


def test_a_rank_lies_within_its_range(tmp_path: Path) -> None:
    """By win rate c is second and b third; over all battles b is as good as a, and c worse than a."""
    votes = {("a", "b"): "AAABB" * 8, ("a", "c"): "AAAAB" * 8, ("a", "d"): "AAA"}
    table = told(tmp_path, votes | {("c", "d"): "A" * 36 + "B" * 4})
    rows = {row["system"]: row for row in table["rows"] if row["opponent"] is None}
    assert all(row["rank_low"] <= row["rank"] <= row["rank_high"] for row in rows.values())
    assert "tests over all battles give it rank 1-2" in rows["b"]["note"]


def test_ties_are_counted_alike_in_every_cell(tmp_path: Path) -> None:
    rows = told(tmp_path, {("x", "y"): "AATTB"}, "--count-ties none")["rows"]
    assert [row["win_rate"] for row in rows] == [row["score"] for row in rows] == [2 / 3, 1 / 3]
    notes = {row["note"] for row in told(tmp_path, {("x", "y"): "TT"}, "--count-ties none", "ben")["rows"]}
    assert notes == {"only ties, which are not counted"}


def test_systems_that_never_met_are_named_and_rated_only_if_connected(tmp_path: Path) -> None:
    built = project(tmp_path / "apart.db", labels=battles_of({("a", "b"): "AABB", ("c", "d"): "AB"}))
    notes = " ".join(built.table("leaderboard --protocol pairwise")["notes"])
    assert "4 of 6 pairs of systems never met" in notes
    rated = {row["system"]: row for row in ranking(built, "leaderboard --protocol pairwise --method bt")}
    assert rated["a"]["score"] is not None
    assert rated["c"]["score"] is None
    assert "not connected" in rated["c"]["note"]


def test_a_crowd_is_one_board(tmp_path: Path) -> None:
    labels = battles_of(THREE, "anna") | battles_of({("x", "y"): "BBBB"}, "ben")
    built = project(tmp_path / "crowd.db", labels=labels)
    rows = {row["system"]: row for row in ranking(built, "leaderboard --protocol pairwise --crowd all")}
    assert (rows["x"]["wins"], rows["x"]["losses"], rows["x"]["rater"]) == (7, 5, "crowd of 2")
    with pytest.raises(UsageError, match="at least two raters"):
        built.run("leaderboard -p films --protocol pairwise --crowd anna")


def test_a_rater_with_few_labels_counts_only_when_asked_for(tmp_path: Path) -> None:
    labels = battles_of({("x", "y"): "A" * 12}, "anna") | battles_of({("x", "y"): "BB"}, "ben")
    built = project(tmp_path / "few.db", labels=labels)
    assert {row["rater"] for row in ranking(built)} == {"anna"}
    assert any("ben" in note for note in built.table("leaderboard --protocol pairwise")["notes"])
    assert {row["rater"] for row in ranking(built, "leaderboard --protocol pairwise --readers")} == {
        "anna",
        "ben",
    }


# ---- a judge whose verdicts say nothing ------------------------------------------------------------------------------


@pytest.mark.parametrize(("vote", "ranks"), [("T", False), ("A", True)])
def test_a_judge_that_always_says_tie_ranks_nobody(tmp_path: Path, vote: str, ranks: bool) -> None:
    rows = [
        {
            "rater": "qwen-7b",
            "user_id": f"u{at}",
            "system_a": "x",
            "system_b": "y",
            "value": _LABELS[vote],
            "protocol": "pairwise",
        }
        for at in range(30)
    ]
    built = project(tmp_path / "tie.db", labels=rows)
    told = built.table("leaderboard --protocol pairwise")
    assert [row["rank"] is not None for row in ranking(built)] == [ranks, ranks]
    assert (told["answer"] == "qwen-7b ranks nobody: 30 of 30 verdicts are Tie: no information.") is not ranks


ANSWERS = {
    "position": (lambda _: "Set 1", lambda at: f"reason {at}", "position decides"),
    "one reason": (
        lambda body: "Set 1" if body.rfind(b"x1") < body.rfind(b"y1") else "Set 2",
        lambda _: "Both sets fit.",
        "the same",
    ),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_judge_that_follows_the_place_or_repeats_itself_ranks_nobody(tmp_path: Path, kind: str) -> None:
    """Twenty users with two lists each, judged in both orders by a server: it prefers the first list, or always system x."""
    label, reason, why = ANSWERS[kind]

    def reply(_: str, at: int) -> bytes:
        content = {"reasoning": reason(at), "winner": label(server.bodies[-1])}
        return answer(200, completion(json.dumps(content)))

    users = [f"u{at}" for at in range(20)]
    with serving(reply) as server:
        built = project(
            tmp_path / "judged.db",
            lists={(user, system): [f"{system}1", f"{system}2"] for user, system in product(users, "xy")},
            events=[{"user_id": user, "item_id": "z1", "type": "purchase"} for user in users],
            runs=[f"pairwise --judge openai:stub --base-url {server.url} --name stub --concurrency 1"],
        )
    told = built.table("leaderboard --protocol pairwise")
    assert [row["rank"] for row in ranking(built)] == [None, None]
    assert told["answer"].startswith("stub ranks nobody: ")
    assert why in told["answer"]


# ---- lists judged alone ----------------------------------------------------------------------------------------------


# ---- beside other measures -------------------------------------------------------------------------------------------


def test_the_protocol_need_not_be_named_where_there_is_only_one(three: Built, tmp_path: Path) -> None:
    named, found = (three.table(f"leaderboard{words}") for words in (" --protocol pairwise", ""))
    assert found["rows"] == named["rows"]
    both = project(tmp_path / "both.db", labels=[
        {"rater": "anna", "protocol": "pairwise", "user_id": "u", "system_a": "x", "system_b": "y", "value": "A"},
        {"rater": "anna", "protocol": "pointwise", "user_id": "u", "system": "x", "value": "Good"},
    ])  # fmt: skip
    with pytest.raises(UsageError, match="needs a protocol") as raised:
        both.run("leaderboard")
    assert "pointwise, pairwise" in raised.value.cause
