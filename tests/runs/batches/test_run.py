"""A batch file asked live: over several servers, through faults, and on from where it was killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from recjudge_tui.errors import InputError, JudgeError, UsageError
from recjudge_tui.runs.batch import export_calls, import_results
from recjudge_tui.runs.batch_file import Servers, run_file
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support.runs import calls, command, make_project, planned, ran, server_judge, verdicts
from tests.support.servers.counts import request_count, reset
from tests.support.servers.gate import allow, hold
from tests.support.servers.process import start
from tests.support.stub_server import answer, completion, serving
from tests.support.waiting import wait_until

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


def test_over_two_servers_it_ends_in_the_verdicts_of_a_live_run(db: Database, tmp_path: Path) -> None:
    make_project(db, users=20)
    with start("openai_api") as one, start("openai_api", "--delay-ms", 5) as two:
        live = planned(db, server_judge(one.url), "pairwise")
        work(db.path, live)
        run = planned(db, server_judge(one.url), "pairwise", use_cache=False)
        export_calls(db, run, tmp_path / "calls.jsonl")
        reset(one)
        out = tmp_path / "results.jsonl"
        done = run_file(tmp_path / "calls.jsonl", out, Servers((one.url, f"{two.url}/v1")))
        asked = [request_count(server) for server in (one, two)]
    assert done == (len(calls(db, run)), 0, 0)
    assert sum(asked) == len(calls(db, run))
    assert min(asked) > 0
    assert import_results(db, run, [out]).done == len(calls(db, run))
    assert verdicts(db, run) == verdicts(db, live)


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
