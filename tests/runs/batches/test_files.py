"""Batch files: what goes out is what a live run would ask, what comes back is what a live run would store."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import InputError, RunError, UsageError
from recjudge_tui.judges.batch import JSONL
from recjudge_tui.runs.batch import export_calls, held_run, import_results
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import reset_failed, run_progress, run_row
from tests.support.requests import sent_request
from tests.support.runs import calls, command, intact, make_project, planned, server_judge, verdicts
from tests.support.servers.process import ServerProcess, start
from tests.support.waiting import HANG_S

Line = dict[str, Any]


def exported(db: Database, run: int, path: Path) -> list[Line]:
    done = export_calls(db, run, path)
    return [json.loads(line) for file in done.files for line in file.read_bytes().splitlines()]


def answered(url: str, lines: list[Line]) -> list[Line]:
    """What a batch endpoint would say to these lines."""
    results = []
    with httpx.Client(base_url=url, timeout=HANG_S) as client:
        for line in lines:
            body = client.post(line["url"], json=line["body"]).json()
            results.append(result(line, body))
    return results


def result(line: Line, body: object, status: int = 200) -> Line:
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}


def says(line: Line, content: str) -> Line:
    message = {"role": "assistant", "content": content}
    return result(line, {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]})


def written(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with start("openai_api") as running:
        yield running


@pytest.mark.parametrize("protocol", ["pointwise", "pairwise"])
def test_a_batch_ends_in_the_verdicts_of_a_live_run(db: Database, tmp_path: Path, protocol: str) -> None:
    make_project(db, users=30)
    log = tmp_path / "asked.jsonl"
    with start("openai_api", "--log", log) as server:
        live = planned(db, server_judge(server.url), protocol)
        work(db.path, live)
        asked = {json.loads(line)["sha256"] for line in log.read_text().splitlines()}
        run = planned(db, server_judge(server.url), protocol, use_cache=False)
        lines = exported(db, run, tmp_path / "calls.jsonl")
        results = answered(server.url, lines)
    assert {line["method"] for line in lines} == {"POST"}
    planned_texts = [sent_request(db, call["id"]).messages[-1].content for call in calls(db, run)]
    assert [line["body"]["messages"][-1]["content"] for line in lines] == planned_texts, "the plan's order"
    assert len(asked) == len(lines) == len({line["custom_id"] for line in lines})
    random.Random(1).shuffle(results)
    tally = import_results(db, run, [written(tmp_path / "results.jsonl", results)])
    assert (tally.done, tally.failed, tally.notes) == (len(lines), 0, [])
    assert verdicts(db, run) == verdicts(db, live)
    assert run_row(db, run)["state"] == "done"
    by_key = {(c["case_id"], c["list_order"]): c for c in calls(db, live)}
    for call in calls(db, run):
        other = by_key[call["case_id"], call["list_order"]]
        for name in (
            "content_hash",
            "request_hash",
            "reply",
            "parsed_by",
            "structured",
            "sent",
            "tokens_in",
            "cost_usd",
        ):
            assert call[name] == other[name], name
    assert intact(db)


def test_names_are_kept_while_a_call_waits_and_new_after_its_answer(
    db: Database, tmp_path: Path, server: ServerProcess
) -> None:
    make_project(db, users=3)
    run = planned(db, server_judge(server.url), use_cache=False)
    first = exported(db, run, tmp_path / "a.jsonl")
    assert exported(db, run, tmp_path / "b.jsonl") == first
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    bad = written(tmp_path / "bad.jsonl", [result(first[0], {"error": {"message": "no"}}, 400)])
    assert import_results(db, run, [bad]).failed == 1
    assert [line["custom_id"] for line in exported(db, run, tmp_path / "c.jsonl")] == [
        line["custom_id"] for line in first[1:]
    ]
    assert reset_failed(db, run) == 1
    again = exported(db, run, tmp_path / "d.jsonl")
    assert len(again) == len(first)
    assert again[0]["body"] == first[0]["body"]
    assert again[0]["custom_id"] not in {line["custom_id"] for line in first}
    tally = import_results(db, run, [bad])
    assert (tally.already, tally.failed) == (1, 0), "an answer counts once, although its call waits again"


def test_results_come_in_any_order_any_number_of_times_and_in_parts(
    db: Database, tmp_path: Path, server: ServerProcess
) -> None:
    make_project(db, users=6)
    run = planned(db, server_judge(server.url), "pairwise")
    lines = exported(db, run, tmp_path / "calls.jsonl")
    results = answered(server.url, lines)
    some = written(tmp_path / "some.jsonl", results[:5])
    everything = written(tmp_path / "all.jsonl", results[::-1])
    assert import_results(db, run, [some]).done == 5
    assert run_row(db, run)["state"] == "planned"
    tally = import_results(db, run, [everything, some, everything])
    assert (tally.done, tally.already) == (len(lines) - 5, len(lines) + 5 + 5)
    before = [tuple(c) for c in calls(db, run)]
    assert import_results(db, run, [everything]).already == len(lines)
    assert [tuple(c) for c in calls(db, run)] == before


def test_errors_fail_their_calls_but_not_where_the_server_did_not_get_to_them(
    db: Database, tmp_path: Path
) -> None:
    make_project(db, users=5)
    run = planned(db, JudgeSpec(spec="openai:m"), "pairwise")
    lines = exported(db, run, tmp_path / "calls.jsonl")
    refused = {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}
    errors = [
        {
            "custom_id": lines[0]["custom_id"],
            "response": None,
            "error": {"code": "batch_expired", "message": "late"},
        },
        result(lines[1], {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, 429),
        result(lines[2], {"error": {"message": "down", "type": "server_error"}}, 500),
        result(lines[3], {"error": {"message": "no such parameter", "type": "invalid_request_error"}}, 400),
        {
            "custom_id": lines[4]["custom_id"],
            "response": {"status_code": 400},
            "error": {"message": "bad, says vLLM"},
        },
        result(lines[5], {"error": {"message": "wrong key"}}, 401),
        result(lines[6], refused),
        says(lines[7], "What a fine list."),
        result(lines[8], "a web page"),
    ]
    tally = import_results(db, run, [written(tmp_path / "errors.jsonl", errors)])
    assert (tally.again, tally.failed, tally.done) == (4, 5, 0)
    by_name = {row[0]: row[1] for row in db.rows("SELECT custom_id, call_id FROM batch_calls")}
    stored = {c["id"]: c for c in calls(db, run)}
    state = [stored[by_name[line["custom_id"]]] for line in lines]
    assert [c["state"] for c in state[:9]] == ["planned"] * 3 + ["failed"] * 4 + ["planned", "failed"]
    assert [c["error_kind"] for c in state[3:9]] == [
        "bad_request", "bad_request", "refused", "refusal", None, "bad_body",
    ]  # fmt: skip
    assert "says vLLM" in state[4]["error"]
    assert state[7]["reply"] == "What a fine list."
    assert "No." in state[6]["reply"]
    assert {v[5] for v in verdicts(db, run)} <= {"failed"}


def test_an_answer_takes_precedence_over_an_error_in_any_file_order(
    db: Database, tmp_path: Path, server: ServerProcess
) -> None:
    make_project(db, users=2)
    run = planned(db, server_judge(server.url))
    lines = exported(db, run, tmp_path / "calls.jsonl")
    errors = written(
        tmp_path / "e.jsonl", [result(line, {"error": {"message": "no"}}, 400) for line in lines]
    )
    good = written(tmp_path / "g.jsonl", answered(server.url, lines))
    tally = import_results(db, run, [errors, good])
    assert (tally.done, tally.failed, tally.already) == (len(lines), 0, len(lines))


def test_broken_and_strange_lines_are_located_and_nothing_else_is_lost(
    db: Database, tmp_path: Path, server: ServerProcess
) -> None:
    make_project(db, users=2)
    run = planned(db, server_judge(server.url))
    lines = exported(db, run, tmp_path / "calls.jsonl")
    good = [json.dumps(r) for r in answered(server.url, lines)]
    path = tmp_path / "results.jsonl"
    strange = json.dumps({"custom_id": "somebody-else", "response": {"status_code": 200, "body": {}}})
    path.write_text(
        "\n".join([good[0], "{cut", "", strange, '{"custom_id": 7}', "[]", *good[1:], good[1][:40]])
    )
    tally = import_results(db, run, [path])
    assert (tally.done, tally.broken, tally.unknown) == (len(lines), 4, 1)
    located = [
        note.partition(":")[2].partition(":")[0]
        for note in tally.notes
        if "JSON" in note or "custom_id" in note
    ]
    assert located == ["2", "5", "6", str(6 + len(good))]
    assert any("somebody-else" in note for note in tally.notes)


def test_stored_replies_are_taken_and_not_exported(
    db: Database, tmp_path: Path, server: ServerProcess
) -> None:
    make_project(db, users=4)
    live = planned(db, server_judge(server.url))
    work(db.path, live)
    again = planned(db, server_judge(server.url))
    done = export_calls(db, again, tmp_path / "calls.jsonl")
    assert (done.files, done.calls, done.from_cache) == ((), 0, len(calls(db, live)))
    assert not (tmp_path / "calls.jsonl").exists()
    assert verdicts(db, again) == verdicts(db, live)
    assert run_row(db, again)["state"] == "done"
    # and what came in a batch is taken by a live run
    fresh = planned(db, server_judge(server.url), "pairwise")
    lines = exported(db, fresh, tmp_path / "pairs.jsonl")
    import_results(db, fresh, [written(tmp_path / "r.jsonl", answered(server.url, lines))])
    copy = planned(db, server_judge(server.url), "pairwise")
    assert work(db.path, copy).cached == len(lines)


def test_a_file_too_large_is_cut_into_numbered_parts(
    db: Database, tmp_path: Path, server: ServerProcess
) -> None:
    make_project(db, users=6)
    run = planned(db, server_judge(server.url))
    whole = exported(db, run, tmp_path / "whole.jsonl")
    by_count = export_calls(db, run, tmp_path / "n.jsonl", shape=JSONL._replace(max_calls=5))
    assert [p.name for p in by_count.files] == ["n-01.jsonl", "n-02.jsonl", "n-03.jsonl"]
    assert [len(p.read_bytes().splitlines()) for p in by_count.files] == [5, 5, 2]
    limit = max(len(json.dumps(line)) for line in whole) * 3
    by_size = export_calls(db, run, tmp_path / "s.jsonl", shape=JSONL._replace(max_bytes=limit))
    assert len(by_size.files) > 3
    assert all(p.stat().st_size <= limit for p in by_size.files)
    for done in (by_count, by_size):
        assert [json.loads(x) for p in done.files for x in p.read_bytes().splitlines()] == whole
    with pytest.raises(RunError, match="too large for a batch"):
        export_calls(db, run, tmp_path / "t.jsonl", shape=JSONL._replace(max_bytes=100))
    assert {p.name for p in tmp_path.glob("*.part*")} == set()


def test_parameters_that_the_server_refused_before_are_left_out(db: Database, tmp_path: Path) -> None:
    make_project(db, users=4)
    with start("openai_api", "--refuse", "temperature") as server:
        live = planned(db, server_judge(server.url), limit=2)
        work(db.path, live)
        run = planned(db, server_judge(server.url), "pairwise")
        lines = exported(db, run, tmp_path / "calls.jsonl")
    assert all("temperature" not in line["body"] and "seed" in line["body"] for line in lines)


def test_a_run_that_somebody_works_on_and_a_judge_without_batches_are_refused(
    db: Database, tmp_path: Path
) -> None:
    make_project(db, users=2)
    run = planned(db, JudgeSpec(spec="openai:m"))
    with held_run(db, run):
        with pytest.raises(RunError, match="already running"):
            export_calls(db, run, tmp_path / "calls.jsonl")
        with pytest.raises(RunError, match="already running"):
            import_results(db, run, [written(tmp_path / "r.jsonl", [])])
    assert run_row(db, run)["state"] == "planned"
    rules = planned(db)
    with pytest.raises(UsageError, match="cannot be asked in batches"):
        export_calls(db, rules, tmp_path / "calls.jsonl")
    claude = planned(db, JudgeSpec(spec="anthropic:m"))
    with pytest.raises(UsageError, match="a batch file cannot hold calls"):
        export_calls(db, claude, tmp_path / "calls.jsonl")
    with pytest.raises(InputError, match="does not exist"):
        import_results(db, run, [tmp_path / "absent.jsonl"])


def test_hostile_text_goes_out_and_comes_back(
    db: Database, tmp_path: Path, server: ServerProcess, hostile_strings: tuple[str, ...]
) -> None:
    make_project(db, users=2)
    run = planned(db, server_judge(server.url), "pairwise")
    lines = exported(db, run, tmp_path / "calls.jsonl")
    for _ in range(2):
        said = [says(line, hostile_strings[n % len(hostile_strings)]) for n, line in enumerate(lines)]
        tally = import_results(db, run, [written(tmp_path / "r.jsonl", said)])
        assert tally.failed + tally.done + tally.again == len(lines)
        lines = exported(db, run, tmp_path / "calls.jsonl")
    assert run_progress(db, run).outstanding == 0
    assert intact(db)


def test_an_answer_of_no_use_is_asked_once_more_in_the_next_batch_as_in_a_live_run(
    db: Database, tmp_path: Path, server: ServerProcess
) -> None:
    """The fault of a bad reply is named, a reply that was cut gets a larger cap; each once, in any number of imports."""
    make_project(db, users=2)
    run = planned(db, server_judge(server.url))
    lines = exported(db, run, tmp_path / "calls.jsonl")
    cut = says(lines[1], "It is a good match because")
    cut["response"]["body"]["choices"][0]["finish_reason"] = "length"
    bad = written(tmp_path / "r.jsonl", [says(lines[0], "Who knows?"), cut, says(lines[2], "Hm.")])
    assert import_results(db, run, [bad, bad]).again == 3
    assert import_results(db, run, [bad]).already == 3
    again = exported(db, run, tmp_path / "again.jsonl")
    first, second = again[:2]
    assert [m["content"] for m in first["body"]["messages"]][-2] == "Who knows?"
    assert "cannot be used" in first["body"]["messages"][-1]["content"]
    assert second["body"]["messages"] == lines[1]["body"]["messages"]
    caps = [
        next(body[name] for name in body if name.startswith("max_"))
        for body in (lines[1]["body"], second["body"])
    ]
    assert caps[1] == 4 * caps[0]
    good = answered(server.url, again[:2])
    tally = import_results(db, run, [written(tmp_path / "s.jsonl", [*good, says(again[2], "Hm.")])])
    assert (tally.done, tally.failed, tally.reasons) == (2, 1, {"bad_reply": 1})
    assert [(c["state"], c["attempts"], c["parsed_by"]) for c in calls(db, run)[:3]] == [
        ("done", 2, "reask"), ("done", 2, "schema"), ("failed", 2, None),
    ]  # fmt: skip


def test_killed_in_the_middle_of_an_import_the_next_one_brings_the_rest(
    db: Database, tmp_path: Path, server: ServerProcess
) -> None:
    make_project(db, users=300)
    live = planned(db, server_judge(server.url), "pairwise", concurrency=32)
    work(db.path, live)
    run = planned(db, server_judge(server.url), "pairwise", use_cache=False)
    replies = {(c["case_id"], c["list_order"]): c["reply"] for c in calls(db, live)}
    lines = exported(db, run, tmp_path / "calls.jsonl")
    by_name = {row[0]: row[1] for row in db.rows("SELECT custom_id, call_id FROM batch_calls")}
    key = {c["id"]: (c["case_id"], c["list_order"]) for c in calls(db, run)}
    results = [says(line, replies[key[by_name[line["custom_id"]]]]) for line in lines]
    path, rng, done = written(tmp_path / "r.jsonl", results), random.Random(3), 0
    for _ in range(4):
        process = command("batch", "import", run, path, "--db", db.path)
        while run_progress(db, run).done == done and process.poll() is None:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.communicate()
        done = run_progress(db, run).done
    tally = import_results(db, run, [path])
    assert (tally.done, tally.already) == (len(lines) - done, done)
    assert verdicts(db, run) == verdicts(db, live)
    assert intact(db)
