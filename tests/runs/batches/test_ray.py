"""A batch file over a real Ray with two workers and two real llama.cpp servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from recjudge_tui.runs.batch import export_calls, import_results
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_row
from tests.support.runs import calls, make_project, planned, ran, server_judge
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import answer, completion, serving

pytestmark = pytest.mark.ray


def answered_by(server: ServerProcess) -> int:
    """How many chat completions a llama.cpp server has finished: none of its slots is new any more."""
    slots: list[dict[str, Any]] = httpx.get(f"{server.url}/slots").json()
    return sum(slot.get("id_task", -1) >= 0 for slot in slots)


def workers_of(cluster: str) -> list[int]:
    """The processes of the cluster that send calls: children of a raylet that was started with its address."""
    lines = subprocess.run(
        ("ps", "axww", "-o", "pid=,ppid=,args="), check=True, capture_output=True, text=True
    )
    processes = [line.split(maxsplit=2) for line in lines.stdout.splitlines()]
    raylets = {pid for pid, _, words in processes if "/raylet" in words and cluster in words}
    return [int(pid) for pid, parent, words in processes if parent in raylets and "_Worker" in words]


def test_two_workers_two_llama_servers_and_the_results_go_in(db: Database, tmp_path: Path) -> None:
    make_project(db, users=6)
    source, out = tmp_path / "calls.jsonl", tmp_path / "results.jsonl"
    with start("llama_cpp") as one, start("llama_cpp") as two:
        run = planned(db, server_judge(one.url), "pairwise")
        export_calls(db, run, source)
        words = ("batch", "run", source, "-o", out, "--base-url", one.url, "--base-url", two.url, "--ray")
        code, said, err = ran(*words, "--concurrency", 4)
        assert code == 0, err
        assert said.startswith(f"{len(calls(db, run))} answered, 0 failed")
        code, said, err = ran("batch", "run", source, "-o", out, "--ray", "--base-url", one.url)
        assert (code, said.split(",")[0]) == (0, "0 answered")
        assert f"{len(calls(db, run))} calls answered by an earlier run" in err
        assert answered_by(one) > 0
        assert answered_by(two) > 0
    bodies = [json.loads(line)["response"]["body"] for line in out.read_bytes().splitlines()]
    assert all(body["choices"][0]["finish_reason"] == "stop" for body in bodies)
    assert import_results(db, run, [out]).done == len(bodies)
    assert run_row(db, run)["state"] == "done"


def test_a_cluster_of_two_nodes_by_its_address_a_key_a_header_and_a_worker_killed(tmp_path: Path) -> None:
    source, out, gated, again = (tmp_path / f"{name}.jsonl" for name in ("calls", "out", "gated", "again"))
    killed: list[int] = []
    lines = (
        {"custom_id": f"c{n}", "method": "POST", "url": "/v1/chat/completions",
         "body": {"model": "m", "messages": [{"role": "user", "content": f"hello {n}"}]}}
        for n in range(40)
    )  # fmt: skip
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with (
        start("ray_cluster") as cluster,
        start("llama_cpp", "--api-key", "sesame-open-the-door") as server,
        serving(lambda _line, _number: answer(200, completion("you sent sesame-open-the-door"))) as gateway,
    ):

        def kill_a_worker(_line: str, number: int) -> bytes:
            if number == 1:
                killed.append(workers_of(cluster.url)[0])
                os.kill(killed[0], signal.SIGKILL)
            return answer(200, completion("yes"))

        words = ("batch", "run", source, "-o", out, "--base-url", server.url, "--ray", cluster.url)
        code, _, err = ran(*words)
        assert (code, "cannot be used" in err) == (1, True), err
        code, said, err = ran(*words, "--api-key-env", "DOOR", env={"DOOR": "sesame-open-the-door"})
        assert (code, said.split(",")[0]) == (0, "40 answered"), err
        words = ("batch", "run", source, "-o", gated, "--base-url", gateway.url, "--ray", cluster.url)
        code, said, err = ran(*words, "--header-env", "x-gateway=DOOR")
        assert (code, said.split(",")[0]) == (0, "40 answered"), err
        assert ["x-gateway: sesame-open-the-door" in head for head in gateway.heads] == [True] * 40
        code, _, err = ran(*words, "--header-env", "x-gateway=NOWHERE", "-o", tmp_path / "missing.jsonl")
        assert (code, "No value for the header x-gateway" in err) == (1, True), err
        with serving(kill_a_worker) as server:
            words = ("batch", "run", source, "-o", again, "--base-url", server.url, "--ray", cluster.url)
            code, said, err = ran(*words)
        assert (code, said.split(",")[0], len(killed)) == (0, "40 answered", 1), err
        names = [json.loads(line)["custom_id"] for line in again.read_bytes().splitlines()]
        assert sorted(names) == sorted(f"c{n}" for n in range(40))
    written = out.read_text(encoding="utf-8") + gated.read_text(encoding="utf-8")
    assert "you sent [DOOR]" in written
    assert "sesame" not in written


def test_an_unreachable_cluster_is_reported_at_once(tmp_path: Path) -> None:
    source = tmp_path / "calls.jsonl"
    line = {"custom_id": "a", "url": "/v1/chat/completions", "body": {"messages": []}}
    source.write_text(json.dumps(line) + "\n", encoding="utf-8")
    words = ("batch", "run", source, "-o", tmp_path / "out.jsonl", "--base-url", "http://127.0.0.1:9")
    code, _, err = ran(*words, "--ray", "127.0.0.1:9")
    assert (code, "cannot be reached" in err) == (1, True), err
