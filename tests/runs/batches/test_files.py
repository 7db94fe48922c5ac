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
from recjudge_tui.errors import InputError, JudgeError, RunError, UsageError
from recjudge_tui.judges.batch import JSONL
from recjudge_tui.runs.batch import export_calls, held_run, import_results
from recjudge_tui.runs.batch_file import Servers, run_file
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_progress, run_row
from tests.support.requests import sent_request
from tests.support.runs import calls, command, intact, make_project, planned, ran, server_judge, verdicts
from tests.support.servers.counts import request_count
from tests.support.servers.gate import allow, hold
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import answer, completion, serving
from tests.support.waiting import HANG_S, wait_until

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
    make_project(db, users=8)
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
    make_project(db, users=150)
    live = planned(db, server_judge(server.url), "pairwise", concurrency=32)
    work(db.path, live)
    run = planned(db, server_judge(server.url), "pairwise", use_cache=False)
    replies = {(c["case_id"], c["list_order"]): c["reply"] for c in calls(db, live)}
    lines = exported(db, run, tmp_path / "calls.jsonl")
    by_name = {row[0]: row[1] for row in db.rows("SELECT custom_id, call_id FROM batch_calls")}
    key = {c["id"]: (c["case_id"], c["list_order"]) for c in calls(db, run)}
    results = [says(line, replies[key[by_name[line["custom_id"]]]]) for line in lines]
    path, rng, done = written(tmp_path / "r.jsonl", results), random.Random(3), 0
    for _ in range(3):
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


# ---- run -----------------------------------------------------------------------------------------------------


KEY = "sk-planted-key-0123456789"


def file_of(path: Path, count: int, url: str = "/v1/chat/completions") -> Path:
    lines = (
        {"custom_id": f"c{n}", "method": "POST", "url": url,
         "body": {"model": "m", "messages": [{"role": "user", "content": f"hello {n} \u2028 ü"}]}}
        for n in range(count)
    )  # fmt: skip
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_faults_are_retried_and_a_dead_server_is_set_aside(tmp_path: Path) -> None:
    faults = ("--faults", "429:0.1,500:0.1,503:0.1,reset:0.1,cut:0.1,html:0.1", "--retry-after", "0.05")
    source = file_of(tmp_path / "calls.jsonl", 60)
    with start("openai_api") as dead:
        nobody = dead.url
    with start("openai_api", *faults) as server:
        done = run_file(source, tmp_path / "out.jsonl", Servers((nobody, server.url), concurrency=16))
    assert done == (60, 0, 0)
    assert {r["custom_id"] for r in results(tmp_path / "out.jsonl")} == {f"c{n}" for n in range(60)}
    assert all(
        r["error"] is None and r["response"]["status_code"] == 200 for r in results(tmp_path / "out.jsonl")
    )


def test_killed_it_goes_on_where_it_was(tmp_path: Path) -> None:
    source, out, log = file_of(tmp_path / "calls.jsonl", 80), tmp_path / "out.jsonl", tmp_path / "asked.jsonl"
    with start("openai_api", "--log", log) as server:
        hold(server, 24)
        words = ("batch", "run", source, "-o", out, "--base-url", server.url, "--concurrency", 4)
        process = command(*words)
        wait_until(lambda: out.exists() and len(out.read_bytes().splitlines()) >= 20)
        process.kill()
        process.communicate()
        allow(server)
        with out.open("ab") as file:
            file.write(b'{"id": "batch_req_x", "custom_id": "c7')
        before = len(results_whole(out))
        done = run_file(source, out, Servers((server.url,), concurrency=4))
        asked = len(log.read_text().splitlines())
    assert (done.before, done.done, done.failed) == (before, 80 - before, 0)
    assert 80 <= asked <= 84
    assert sorted(r["custom_id"] for r in results(out)) == sorted(f"c{n}" for n in range(80))


def results_whole(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def test_an_error_is_asked_again_by_the_same_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = file_of(tmp_path / "calls.jsonl", 12), tmp_path / "out.jsonl"
    monkeypatch.setattr("recjudge_tui.runs.calls.FIRST_WAIT_S", 0.001)
    with start("openai_api", "--faults", "500:0.85", "--fault-attempts", 100) as server:
        done = run_file(source, out, Servers((server.url,)))
    assert done.failed > 0
    assert {r["error"]["code"] for r in results(out) if r["error"]} == {"server_error"}
    with start("openai_api") as well:
        again = run_file(source, out, Servers((well.url,)))
    assert (again.before, again.done, again.failed) == (done.done, done.failed, 0)


def test_a_wrong_key_and_a_dead_server_end_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = file_of(tmp_path / "calls.jsonl", 200), tmp_path / "out.jsonl"
    with start("openai_api", "--api-key", KEY) as server:
        with pytest.raises(JudgeError, match="cannot be used"):
            run_file(source, out, Servers((server.url,)))
        assert out.read_bytes() == b""
        monkeypatch.delenv("MY_KEY", raising=False)
        with pytest.raises(JudgeError, match="MY_KEY"):
            run_file(source, out, Servers((server.url,), "MY_KEY"))
        monkeypatch.setenv("MY_KEY", KEY)
        assert run_file(source, out, Servers((server.url,), "MY_KEY")).done == 200
        assert httpx.get(f"{server.url}/stats", headers={"Authorization": KEY}).json()["requests"] == 200
    assert KEY not in out.read_text(encoding="utf-8")


def test_headers_that_were_named_go_out_and_are_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", KEY)
    source, out = file_of(tmp_path / "calls.jsonl", 2), tmp_path / "out.jsonl"
    with serving(lambda _line, _number: answer(200, completion(f"you sent {KEY}"))) as stub:
        words = ("-o", out, "--base-url", stub.url, "--header-env", "x-gateway=GATEWAY_KEY")
        code, said, told = ran("batch", "run", source, *words)
        assert (code, said) == (0, f"2 answered, 0 failed: {out}\n"), told
        assert [f"x-gateway: {KEY}" in head for head in stub.heads] == [True, True]
        assert "authorization" not in "".join(stub.heads).lower()
        monkeypatch.delenv("GATEWAY_KEY")
        missing, _, why = ran("batch", "run", source, *words, "-o", tmp_path / "again.jsonl")
        assert missing != 0
        assert "No value for the header x-gateway" in why
        wrong, _, why = ran(
            "batch", "run", source, "-o", out, "--base-url", stub.url, "--header-env", "Host=X"
        )
        assert wrong == 2
        assert "the header Host cannot be set" in why
    written = out.read_text(encoding="utf-8")
    assert "you sent [GATEWAY_KEY]" in written
    assert KEY not in written


def test_no_key_goes_out_that_was_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    source = file_of(tmp_path / "calls.jsonl", 1)
    with start("openai_api", "--api-key", KEY) as server, pytest.raises(JudgeError):
        run_file(source, tmp_path / "out.jsonl", Servers((server.url,)))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{cut", "not JSON"),
        ('{"custom_id": "a", "url": "/v1/x"}', "not a POST with a body"),
        ('{"url": "/v1/chat/completions", "body": {}}', "no custom_id"),
        ('{"custom_id": "a", "url": "http://evil.example/v1", "body": {}}', "not a path"),
        ('{"custom_id": "a", "url": "/v1/../admin", "body": {}}', "not a path"),
    ],
)
def test_an_invalid_file_is_reported_before_any_call(tmp_path: Path, line: str, why: str) -> None:
    source = file_of(tmp_path / "calls.jsonl", 3)
    source.write_text(source.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with start("openai_api") as server:
        with pytest.raises(InputError, match=r"calls\.jsonl:4") as error:
            run_file(source, tmp_path / "out.jsonl", Servers((server.url,)))
        assert request_count(server) == 0
    assert why in str(error.value)


def test_a_repeated_name_and_a_foreign_output_file_are_refused(tmp_path: Path) -> None:
    source = file_of(tmp_path / "calls.jsonl", 2)
    servers = Servers(("http://127.0.0.1:9",))
    with pytest.raises(UsageError, match="not the output of a batch file"):
        run_file(source, source, servers)
    source.write_text(source.read_text(encoding="utf-8") * 2, encoding="utf-8")
    with pytest.raises(InputError, match="twice"):
        run_file(source, tmp_path / "out.jsonl", servers)
