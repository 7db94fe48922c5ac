"""`recjudge batch`, as scripts use it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.store.schema import connect
from tests.support.runs import make_project, ran
from tests.support.servers.counts import stats
from tests.support.servers.process import ServerProcess, start


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with start("batch_api", "--looks", 1) as running:
        yield running


@pytest.fixture
def path(project_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with connect(project_db) as db:
        make_project(db, users=3)
    return project_db


def planned(path: Path, url: str, spec: str = "openai:hash-judge") -> str:
    """The id of a run that was planned and not begun."""
    words = f"run pairwise -p films --judge {spec} --base-url {url} --no-cache --plan-only".split()
    code, out, err = ran(*words, "--db", path)
    assert code == 0, err
    assert out.startswith("run ")
    assert out.endswith(" planned: 6 calls\n")
    return out.split()[1]


def test_export_run_import(path: Path, tmp_path: Path, server: ServerProcess) -> None:
    run = planned(path, server.url)
    calls, results = tmp_path / "calls.jsonl", tmp_path / "results.jsonl"
    code, out, err = ran("batch", "export", run, "-o", calls, "--db", path)
    assert (code, out) == (0, f"run {run}: 6 calls exported in 1 files\n")
    assert f"written to {calls}" in err
    code, out, _ = ran("batch", "run", calls, "-o", results, "--base-url", server.url)
    assert (code, out) == (0, f"6 answered, 0 failed: {results}\n")
    code, out, err = ran("batch", "import", run, results, "--db", path)
    assert code == 0, err
    assert out.startswith(f"run {run} done: 6 done, 0 failed, 0 from cache, 0 outstanding")
    assert "6 answered" in err
    code, _, err = ran("batch", "import", run, results, "--db", path)
    assert (code, "6 already answered" in err) == (0, True)


@pytest.mark.parametrize("spec", ["openai:hash-judge", "anthropic:hash-judge"])
def test_submit_status_collect(path: Path, server: ServerProcess, spec: str) -> None:
    run = planned(path, server.url, spec)
    code, out, err = ran("batch", "submit", run, "--db", path)
    assert (code, out) == (0, f"run {run}: 6 calls submitted in 1 batches\n"), err
    assert "6 calls as a batch" in err
    code, _, err = ran("runs", "resume", run, "--db", path)
    assert (code, "paid for twice" in err) == (1, True)
    code, out, err = ran("batch", "status", run, "--db", path, "--format", "json")
    assert code == 0, err
    (row,) = json.loads(out)["rows"]
    assert (row["state"], row["calls"]) == ("submitted", 6)
    code, out, err = ran("batch", "collect", run, "--db", path)
    assert code == 0, err
    assert out.startswith(f"run {run} done: 6 done, 0 failed")
    assert stats(server)["most"] == 1
