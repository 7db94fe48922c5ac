"""What a run will ask, written down before its first call: which cases, what is shown, what it will take."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.calls import estimate_tokens
from recjudge_tui.domain.judge import Identity, JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.selection import activity_levels
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.project import Project
from recjudge_tui.prompting.trial import request_now
from recjudge_tui.reports.exports import write_verdicts
from recjudge_tui.reports.runs import estimate_lines
from recjudge_tui.runs.cases import across_levels
from recjudge_tui.runs.context import shown_user
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.cases import load_material
from recjudge_tui.store.data import shown_event_counts
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_history
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import get_prompt
from recjudge_tui.store.raters import ensure_rater
from recjudge_tui.store.runs import delete_run
from recjudge_tui.store.schema import connect
from tests.support.first_list import judged_by_position
from tests.support.requests import sent_request, sent_texts
from tests.support.runs import (
    SERIES,
    SYSTEMS,
    add_lists,
    calls,
    intact,
    load,
    make_project,
    plan,
    plan_run,
    planned,
    server_judge,
    verdicts,
    write_prices,
)
from tests.support.servers.process import start

TABLES = (
    "projects", "imports", "items", "users", "events", "slates", "slate_items", "cases", "raters", "runs",
    "snapshots", "run_cases", "calls", "answers", "verdicts", "flags",
)  # fmt: skip


def counted(db: Database) -> dict[str, int]:
    return {table: db.value(f"SELECT count(*) FROM {table}") for table in TABLES}


def cases(db: Database, run_id: int) -> list[tuple[str, str, str]]:
    return [tuple(row) for row in db.rows(
        """SELECT c.user_id, c.system_a, c.system_b FROM run_cases rc JOIN cases c ON c.id = rc.case_id
           WHERE rc.run_id = ? ORDER BY c.id""", (run_id,)
    )]  # fmt: skip


def test_every_case_is_asked_in_the_orders_of_its_protocol(db: Database) -> None:
    make_project(db, users=2, systems=("als", "pop", "svd"))
    run = planned(db, protocol="pairwise")
    asked = Counter((c["case_id"], c["list_order"]) for c in calls(db, run))
    assert set(asked.values()) == {1}
    assert Counter(order for _, order in asked) == {"ab": 6, "ba": 6}
    once = planned(db, protocol="pairwise", swap=False, rater="once")
    once_asked = Counter(c["case_id"] for c in calls(db, once))
    assert set(once_asked.values()) == {1}
    assert len(once_asked) == 6
    assert {pair[1:] for pair in cases(db, run)} == {("als", "pop"), ("als", "svd"), ("pop", "svd")}


def test_limit_takes_the_first_users_and_sample_the_same_ones_for_a_seed(db: Database) -> None:
    make_project(db, users=20)
    everything = cases(db, planned(db, rater="all"))
    assert cases(db, planned(db, limit=5, rater="limit")) == everything[:10]
    drawn = [cases(db, planned(db, sample=7, seed=s, rater=f"{n}")) for n, s in enumerate((3, 3, 4))]
    assert [len(found) for found in drawn] == [14, 14, 14]
    assert drawn[0] == drawn[1]
    assert set(drawn[0]) != set(drawn[2])
    assert set(drawn[0]) < set(everything)
    assert set(drawn[0]) != set(everything[:14])
    assert len(cases(db, planned(db, sample=500, rater="more"))) == 40


def test_a_baseline_is_compared_with_each_and_no_two_others(db: Database) -> None:
    make_project(db, users=2, systems=("als", "pop", "svd"))
    run = planned(db, protocol="pairwise", baseline="pop")
    assert {pair[1:] for pair in cases(db, run)} == {("als", "pop"), ("pop", "svd")}
    named = planned(db, protocol="pairwise", systems=("svd", "als"), rater="named")
    assert {pair[1:] for pair in cases(db, named)} == {("als", "svd")}


def test_a_dry_run_leaves_no_trace(db: Database) -> None:
    make_project(db, users=4, strangers=1)
    before = counted(db)
    real = plan(db, protocol="pairwise", rater="real")
    assert real.run_id
    delete_run(db, real.run_id)
    db.execute("DELETE FROM cases")
    db.execute("DELETE FROM snapshots")
    settings = RunSettings(protocol="pairwise", top_k=4)
    dry = plan_run(
        db, RunRequest(project_id(db, "films"), JudgeSpec(spec="rules"), settings, rater="real"), dry_run=True
    )
    assert (dry.run_id, dry.estimate.cases) == (None, 4)
    assert dry.estimate.model_copy(update={"seconds": None}) == real.estimate
    assert counted(db) == before


def test_an_import_after_the_plan_changes_nothing_of_what_a_run_asks(db: Database) -> None:
    make_project(db, users=3)
    run = planned(db, protocol="pairwise")
    work(db.path, run)
    before = "\n".join(sent_texts(db, run))
    hashes = [c["content_hash"] for c in calls(db, run)]
    rows = db.rows("SELECT DISTINCT item_id FROM items")
    load(db, "items", [("item_id", "title"), *((r[0], f"Renamed {r[0]}") for r in rows)])
    load(db, "events", [("user_id", "item_id", "type", "timestamp"),
                        *((f"u{n:02d}", "i1", "purchase", "2024-05-04T00:00:00Z") for n in range(3))])  # fmt: skip
    assert "\n".join(sent_texts(db, run)) == before
    assert [sent_request(db, c["id"]).content_hash() for c in calls(db, run)] == hashes
    assert None not in hashes
    case = calls(db, run)[0]["case_id"]
    prompt = planned(db, protocol="pairwise", rater="after")
    assert "Renamed" in "\n".join(sent_texts(db, prompt))
    assert "Renamed" in request_now(db, get_prompt(db, "pairwise-media")[2], case).messages[-1].content


def test_new_lists_make_new_cases_and_a_run_under_way_keeps_the_old(db: Database) -> None:
    make_project(db, users=2)
    run = planned(db)
    titles = [
        s.items[0].title for c in calls(db, run) for s in load_material(db, run, c["case_id"], 4).slates
    ]
    load(db, "lists", [("user_id", "system", "item_id", "rank"), ("u00", "als", "i1", 1)])
    after = planned(db, rater="after")
    assert [
        s.items[0].title for c in calls(db, run) for s in load_material(db, run, c["case_id"], 4).slates
    ] == titles
    assert len({c["case_id"] for c in calls(db, run)} & {c["case_id"] for c in calls(db, after)}) == 3


def test_one_rater_is_asked_one_thing_about_a_kind_of_case(db: Database) -> None:
    make_project(db)
    assert (plan(db, rater=SERIES).rater, plan(db, rater=SERIES).rater) == ("rules", "rules")
    assert plan(db, rater=SERIES, history=1).rater == "rules #2"
    assert plan(db, rater=SERIES, protocol="pairwise").rater == "rules", "lists and pairs are different cases"
    assert plan(db, rater=SERIES, protocol="arena").rater == "rules arena"
    before = counted(db)
    with pytest.raises(UsageError, match="already judged such cases"):
        plan(db, rater="rules", history=1)
    assert counted(db) == before, "refused before anything was prepared"
    ensure_rater(db, project_id(db, "films"), "anna", "annotator")
    with pytest.raises(UsageError, match="annotator"):
        plan(db, rater="anna")
    labels = [("rater", "user_id", "system", "value", "protocol", "rater_kind"),
              ("imported", "u00", "als", "Good", "pointwise", "rules")]  # fmt: skip
    load(db, "labels", labels)
    with pytest.raises(UsageError, match="already judged such cases"):
        plan(db, rater="imported")
    assert counted(db)["runs"] == before["runs"]


def test_no_systems_name_ever_reaches_a_judge(db: Database) -> None:
    make_project(db, users=2, systems=("sys-alpha", "sys-beta"))
    for protocol in ("pointwise", "pairwise"):
        text = "\n".join(sent_texts(db, planned(db, protocol=protocol)))
        assert "sys-" not in text


# ---- orders --------------------------------------------------------------------------------------------------


USERS = 7


def project_of(db: Database, systems: tuple[str, ...]) -> int:
    """Every user has a rating and a list by each system; what a list holds depends on the system's place, not its name."""
    load(db, "items", [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(80))])
    events: list[tuple[object, ...]] = [("user_id", "item_id", "type", "value")]
    lists: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank")]
    for n in range(USERS):
        events.append((f"u{n}", f"i{n}", "rating", 4))
        lists += [
            (f"u{n}", system, f"i{10 * (place + 1) + n + rank}", rank + 1)
            for place, system in enumerate(systems)
            for rank in range(2)
        ]
    load(db, "events", events)
    load(db, "lists", lists)
    return int(db.value("SELECT id FROM projects"))


def shown_first(db: Database, run_id: int) -> list[tuple[str, str, str]]:
    """(user, the system shown first, the other one) of every call, read from the rendered prompt."""
    found = []
    for call in calls(db, run_id):
        case = db.row("SELECT * FROM cases WHERE id = ?", (call["case_id"],))
        assert case is not None
        text = sent_request(db, call["id"]).messages[-1].content
        titles = {
            case[f"system_{side}"]: db.value(
                """SELECT i.title FROM slate_items s JOIN items i ON i.item_id = s.item_id
                   WHERE s.slate_id = ? AND s.rank = 1""",
                (case[f"slate_{side}"],),
            )
            for side in ("a", "b")
        }
        first, second = sorted(titles, key=lambda system: text.rindex(f"1. {titles[system]}\n"))
        found.append((case["user_id"], first, second))
    return found


@pytest.mark.parametrize("protocol", ["pairwise", "arena"])
def test_without_a_baseline_each_system_comes_first_in_half_of_the_cases(db: Database, protocol: str) -> None:
    project = project_of(db, ("mango", "zebra", "apple"))
    run = judged_by_position(db, project, protocol, "first", swap=False, seed=3)
    shown = shown_first(db, run)
    counts = Counter(pair[1:] for pair in shown)
    assert sorted(counts.values()) == [3, 3, 3, 4, 4, 4]
    assert all(abs(counts[a, b] - counts[b, a]) == 1 for a, b in counts)
    other = judged_by_position(db, project, protocol, "other", swap=False, seed=4)
    assert shown_first(db, other) != shown
    assert exported_first(db, project) == {
        (user, first) for user, first, _ in [*shown, *shown_first(db, other)]
    }
    again = judged_by_position(db, project, protocol, "again", swap=False, seed=3)
    assert shown_first(db, again) == shown


def exported_first(db: Database, project: int) -> set[tuple[str, str]]:
    """(user, the system shown first) as the export of verdicts says."""
    out = io.StringIO()
    write_verdicts(Project.numbered(db, project), "", "csv", out)
    return {(row["user_id"], row["shown_first"]) for row in csv.DictReader(io.StringIO(out.getvalue()))}


# ---- call order ----------------------------------------------------------------------------------------------


def shared_start(a: Sequence[object], b: Sequence[object]) -> int:
    """How many elements at the beginning of both are the same."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def test_prompts_about_the_aspects_of_two_lists_differ_after_the_lists(db: Database) -> None:
    make_project(db, users=1)
    texts = sent_texts(db, planned(db, protocol="arena", aspects="single", swap=False))
    assert len(texts) == 7
    assert all("</list_b>" in a[: shared_start(a, b)] for a, b in pairwise(texts))


# ---- series --------------------------------------------------------------------------------------------------


RANDOM = JudgeSpec(spec="random")


def judged(db: Database, **more: object) -> int:
    run_id = planned(db, rater=SERIES, **more)
    assert work(db.path, run_id).state == "done"
    return run_id


def raters(db: Database) -> list[str]:
    return [row[0] for row in db.rows("SELECT name FROM raters ORDER BY name")]


def test_again_replaces_the_verdicts(db: Database) -> None:
    make_project(db)
    first = judged(db)
    before = verdicts(db, first)
    second = judged(db, again=True)
    assert verdicts(db, second) == before
    assert verdicts(db, first) == []
    assert (
        db.value(
            "SELECT count(*) FROM answers a JOIN calls k ON k.id = a.call_id WHERE k.run_id = ?", (first,)
        )
        == 8
    )
    assert raters(db) == ["rules"]
    assert intact(db)


def test_deleting_the_later_run_brings_the_earlier_verdicts_back(db: Database) -> None:
    make_project(db)
    first = judged(db, judge=RANDOM, seed=1)
    before = verdicts(db, first)
    second, third = (judged(db, judge=RANDOM, seed=seed, again=True) for seed in (2, 3))
    delete_run(db, second)
    assert len(verdicts(db, third)) == 8
    delete_run(db, third)
    assert verdicts(db, first) == before
    assert db.value("SELECT count(*) FROM superseded_verdicts") == 0
    assert intact(db)


def test_a_failed_verdict_replaces_no_valid_one(db: Database) -> None:
    make_project(db)
    first = judged(db)
    second = planned(db, rater=SERIES, again=True)
    db.execute(
        "UPDATE calls SET state = 'failed', error_kind = 'timeout' WHERE run_id = ? AND id % 2", (second,)
    )
    db.connection.commit()
    work(db.path, second)
    assert db.value("SELECT count(*) FROM verdicts WHERE state = 'failed'") == 0
    assert len(verdicts(db, first)) + len(verdicts(db, second)) == 8


def test_a_rater_has_the_short_name_of_its_model_and_another_providers_model_a_number(db: Database) -> None:
    make_project(db)
    for spec in ("openai:org/smollm2", "ollama:smollm2", "ollama:llama3.1:8b", "anthropic:smollm2"):
        planned(db, rater=SERIES, judge=JudgeSpec(spec=spec), protocol="pointwise")
    assert raters(db) == ["llama3.1:8b", "smollm2", "smollm2 #2", "smollm2 #3"]
    planned(db, rater=SERIES, judge=JudgeSpec(spec="ollama:smollm2"), protocol="pairwise")
    assert raters(db) == ["llama3.1:8b", "smollm2", "smollm2 #2", "smollm2 #3", "smollm2 pairwise"]


# ---- estimate ------------------------------------------------------------------------------------------------


def sent_tokens(db: Database, run: int) -> tuple[int, int, int]:
    """Of all prompts of a run: low, high, and the high figure of the longest."""
    counted = [
        [estimate_tokens(m.content) for m in sent_request(db, call["id"]).messages] for call in calls(db, run)
    ]
    highs = [sum(high for _, high in parts) for parts in counted]
    return sum(low for parts in counted for low, _ in parts), sum(highs), max(highs)


@pytest.mark.parametrize(
    ("protocol", "settings", "calls_a_user"),
    [
        ("arena", {}, 6),
        ("arena", {"swap": False, "repeats": 2}, 6),
        ("arena", {"aspects": "single"}, 42),
        ("arena", {"profile": "llm"}, 7),
        ("arena", {"profile": "llm", "aspects": "single", "repeats": 2}, 85),
        ("absolute", {"profile": "llm", "history": 100}, 4),
    ],
)
def test_a_dry_run_estimates_calls_and_tokens(
    db: Database, tmp_path: Path, protocol: str, settings: dict[str, Any], calls_a_user: int
) -> None:
    make_project(db, users=2, systems=("als", "knn", "pop"))
    with start("openai_api", "--log", tmp_path / "log.jsonl") as server:
        judge = server_judge(server.url)
        dry = plan(db, judge, protocol, dry_run=True, use_cache=False, **settings).estimate
        run = planned(db, judge, protocol, use_cache=False, **settings)
        ended = work(db.path, run)
    assert dry.calls == ended.calls == 2 * calls_a_user
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == dry.calls
    low, high, longest = sent_tokens(db, run)
    # the server's profiles are of a few words, a model's are not
    more = 260 * dry.calls if "profile" in settings else 0
    assert low <= dry.tokens_in_low <= low + more
    assert high <= dry.tokens_in_high <= high + more
    assert longest <= dry.longest_prompt_tokens <= longest + (260 if more else 0)


def answered(db: Database, run: int, tokens: list[tuple[int, int, int, float]]) -> None:
    """Let the first calls of a run have these tokens in, of the cache, and out, and these seconds."""
    db.execute("UPDATE runs SET seconds = 60 WHERE id = ?", (run,))
    for call, row in zip(calls(db, run), tokens, strict=False):
        db.execute(
            "UPDATE calls SET state = 'done', attempts = 1, tokens_in = ?, tokens_cached = ?, tokens_out = ?, latency_s = ?"
            " WHERE id = ?",
            (*row, call["id"]),
        )


def test_time_comes_from_the_speeds_of_the_last_run_and_is_unknown_before(db: Database) -> None:
    make_project(db, users=3)
    judge = server_judge("http://127.0.0.1:9")
    first = planned(db, judge)
    assert plan(db, judge, dry_run=True, rater="b").estimate.seconds is None
    # reads 1,000 and writes 20 tokens a second
    rows = [
        (n + 500, 500, out, n / 1000 + out / 20) for n, out in ((1000, 20), (2000, 40), (500, 60), (1000, 40))
    ]
    answered(db, first, rows)
    estimate = plan(db, judge, dry_run=True, rater="b", concurrency=2).estimate
    reused = sum(500 for _ in rows) / sum(row[0] for row in rows)
    assert estimate.tokens_reused == pytest.approx(estimate.tokens_in_low * reused, abs=1)
    fresh = (estimate.tokens_in_low - (estimate.tokens_reused or 0)) / estimate.calls
    assert estimate.seconds == pytest.approx(estimate.calls * (fresh / 1000 + 40 / 20) / 2, rel=0.01)
    line = next(line for line in estimate_lines(estimate, rater="m", prompt="p") if "reused" in line)
    assert line == f"about {reused:.0%} of the prompt tokens reused, as in the last run of this judge"


def test_a_run_wholly_from_the_cache_says_so(db: Database, tmp_path: Path) -> None:
    make_project(db, users=3)
    with start("openai_api") as server:
        judge = server_judge(server.url)
        work(db.path, planned(db, judge, rater="first"))
    estimate = plan(db, judge, dry_run=True, rater="second").estimate
    assert estimate.stored == estimate.calls
    assert (estimate.tokens_in_low, estimate.tokens_out) == (0, 0)
    assert estimate.seconds is not None
    assert estimate.seconds < 1
    lines = estimate_lines(estimate, rater="m", prompt="p")
    assert f"stored replies: about {estimate.calls} of {estimate.calls} calls; nothing is asked" in lines
    assert plan(db, judge, dry_run=True, rater="second", use_cache=False).estimate.stored == 0


def test_prompts_that_cannot_fit_are_refused_with_the_history_that_does(db: Database) -> None:
    make_project(db, users=3)
    judge = server_judge("http://127.0.0.1:9")
    whole = plan(db, judge, dry_run=True).estimate.tokens_in_low // 6
    identity = Identity(name="m", context_length=10_000)
    run = planned(db, judge)
    for context, next_step in (
        (whole + 150, "--history [012] fits"),
        (200, "Not even prompts without a history"),
    ):
        identity = identity.model_copy(update={"context_length": context})
        db.execute("UPDATE runs SET identity = ? WHERE id = ?", (identity.model_dump_json(), run))
        with pytest.raises(RunError, match="the prompts are too long for this judge") as raised:
            plan(db, judge, dry_run=True, rater="b")
        assert re.search(next_step, raised.value.next_step)


def test_only_the_low_cost_has_reused_tokens_at_their_price(db: Database, tmp_path: Path) -> None:
    make_project(db, users=20)
    dollars = {"input": 2.0, "output": 0.0, "cached_input": 1.0, "cache_write": 2.5}
    write_prices(tmp_path / "config", "openai:gpt-4o", **dollars)
    judge = JudgeSpec(spec="openai:gpt-4o")
    answered(db, planned(db, judge, "pairwise"), [(1000, 700, 50, 1.0)])
    estimate = plan(db, judge, "pairwise", dry_run=True, rater="b").estimate
    assert estimate.tokens_reused == pytest.approx(0.7 * estimate.tokens_in_low, abs=1)
    fresh = estimate.tokens_in_low - estimate.tokens_reused
    assert estimate.cost_usd_low == pytest.approx((2 * fresh + estimate.tokens_reused) / 1e6)
    assert estimate.cost_usd_high == pytest.approx(2.5 * estimate.tokens_in_high / 1e6), (
        "all may be stored first"
    )


# ---- stratify ------------------------------------------------------------------------------------------------


STRATIFY_USERS = st.dictionaries(st.text("abcdef", min_size=1, max_size=4), st.integers(0, 60), max_size=60)


@given(STRATIFY_USERS, st.randoms(use_true_random=False), st.booleans())
def test_any_number_from_the_front_has_even_shares(
    events: dict[str, int], random: Random, idle: bool
) -> None:
    levels = activity_levels(events)
    shuffled = [(user, user) for user in events]
    random.shuffle(shuffled)
    turned = [user for user, _ in across_levels(shuffled, levels, idle=idle)]
    assert sorted(turned) == sorted(events)
    meant = [level for level in levels if idle or level.high]
    for count in range(min((len(level.users) for level in meant), default=0) * len(meant) + 1):
        taken = [sum(user in level.users for user in turned[:count]) for level in meant]
        assert max(taken, default=0) - min(taken, default=0) <= 1


@pytest.fixture
def crowd(project_db: Path) -> Iterator[Database]:
    """Sixteen users with 5 events each and four with 40 more, all with lists."""
    with connect(project_db) as crowd:
        make_project(crowd, users=16)
        busy = [f"b{n}" for n in range(4)]
        rows = [
            (user, f"i{n}", "", "rating", f"2024-05-{1 + n % 28:02d}T{n % 24:02d}:00:00Z", 3)
            for user in busy
            for n in range(40)
        ]
        load(crowd, "events", [("user_id", "item_id", "text", "type", "timestamp", "value"), *rows])
        add_lists(crowd, busy, SYSTEMS)
        yield crowd


def test_events_are_counted_in_the_window_that_is_shown(crowd: Database) -> None:
    project = 1
    old = [("u00", "i1", "", "rating", "2019-01-01T00:00:00Z", 3)]
    again = [("u01", "i2", "", "rating", "2024-05-01T12:00:00Z", 3)] * 2
    timeless = [("u02", "i9", "", "rating", "", 1)]
    load(
        crowd,
        "events",
        [("user_id", "item_id", "text", "type", "timestamp", "value"), *old, *again, *timeless],
    )
    for days, as_of in (
        (183, ""),
        (2, ""),
        (5000, ""),
        (183, "2024-05-03"),
        (1, "2024-05-03T12:00:00+00:00"),
    ):
        settings = settings_for("pointwise", history=1000, history_days=days, as_of=as_of)
        until = shown_user(read_history(crowd, project, "u00"), settings).as_of if as_of else ""
        counts = shown_event_counts(crowd, project, days, until)
        for user in ("u00", "u01", "u02", "b0"):
            shown = shown_user(read_history(crowd, project, user), settings)
            assert counts.get(user, 0) == len(shown.history) + len(shown.searches) + len(shown.clicks)
