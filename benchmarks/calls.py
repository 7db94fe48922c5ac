"""Judging with servers that answer in 500 or 50 ms or at once, everything stored, compared with the time that takes."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2 as httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.projects import load, write_tables
from benchmarks.rows import Row, run_command
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings, sampling_of
from recjudge_tui.judges.openai import OpenAIJudge
from recjudge_tui.protocols.registry import protocol
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store.calls import outstanding
from recjudge_tui.store.cases import load_material
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.store.runs import run_row
from recjudge_tui.store.schema import connect
from tests.support.runs import plan_run
from tests.support.servers.process import ServerProcess, start

# the delays of a quick server, and of one as they usually are
DELAY_S, USUAL_S = 0.05, 0.5


PLAIN = "ready-made bodies, nothing read, nothing stored"


class Size(NamedTuple):
    """`finished` calls of the run that is resumed, `left` of them not yet done."""

    calls: int
    rounds: int
    finished: int
    left: int


FULL, QUICK = Size(1000, 5, 100_000, 100), Size(64, 1, 400, 20)


def measure(quick: bool = False) -> Iterator[Row]:
    size = QUICK if quick else FULL
    yield from _beside_httpx2(size, DELAY_S, concurrency=32, bound=1.2)
    yield from _beside_httpx2(size._replace(calls=2 * size.calls), USUAL_S, concurrency=128, bound=1.15)
    yield _against_ideal("ollama_api", "ollama", size, concurrency=32, bound=1.7)
    for concurrency in (8, 1):
        yield from _without_delay(size, concurrency)
    yield _resume(size)


def _against_ideal(server: str, provider: str, size: Size, concurrency: int, bound: float) -> Row:
    ours = _median(size, lambda: _seconds(server, provider, size.calls, concurrency, DELAY_S))
    return _ideal_row(provider, size, concurrency, bound, ours)


def _ideal_row(
    provider: str, size: Size, concurrency: int, bound: float, ours: float, delay_s: float = DELAY_S
) -> Row:
    ideal = size.calls * delay_s / concurrency
    return {
        "name": f"{provider}: {size.calls:,} calls of {delay_s * 1000:.0f} ms, concurrency {concurrency}, stored, seconds",
        "ours": round(ours, 3),
        "comparison": round(ideal, 3),
        "ratio": round(ours / ideal, 2),
        "bound": f"<= {bound} x ideal",
        "holds": ours <= bound * ideal,
        "note": f"comparison: the server's own time; median of {size.rounds}",
    }


def _beside_httpx2(size: Size, delay_s: float, concurrency: int, bound: float) -> list[Row]:
    """Our time, and the time of one plain httpx2 client with the same bodies, measured in the same minutes."""
    ours: list[float] = []
    plain: list[float] = []
    for _ in range(size.rounds):
        ours.append(_seconds("openai_api", "openai", size.calls, concurrency, delay_s))
        plain.append(_plain_seconds(size.calls, concurrency, delay_s))
    seconds, theirs = statistics.median(ours), statistics.median(plain)
    return [
        _ideal_row("openai", size, concurrency, bound, seconds, delay_s),
        {
            "name": f"the same calls, beside one httpx2.AsyncClient for {concurrency} workers, seconds",
            "ours": round(seconds, 3),
            "comparison": round(theirs, 3),
            "ratio": round(seconds / theirs, 2),
            "bound": "<= 1.05 x comparison" if delay_s == USUAL_S else "",
            "holds": seconds <= 1.05 * theirs or delay_s != USUAL_S,
            "note": f"comparison: {PLAIN}; median of {size.rounds}",
        },
    ]


def _without_delay(size: Size, concurrency: int) -> list[Row]:
    took, plain = [], []
    for _ in range(size.rounds):
        took.append(_took("openai_api", "openai", size.calls, concurrency, 0.0))
        plain.append(_plain_seconds(size.calls, concurrency, 0.0))
    plain_ms = statistics.median(plain) / size.calls * 1000
    usual = concurrency == OpenAIJudge.concurrency
    each_ms, processor_ms = (
        statistics.median(times) / size.calls * 1000 for times in zip(*took, strict=True)
    )
    note = f"median of {size.rounds}"
    return [
        {
            "name": f"a call end to end, server without delay, concurrency {concurrency}, milliseconds",
            "ours": round(each_ms, 2),
            "comparison": round(plain_ms, 2),
            "ratio": round(each_ms / plain_ms, 2),
            "bound": "<= 1.2 ms" if usual else "",
            "holds": each_ms <= 1.2 or not usual,
            "note": ("the judge's own concurrency; " if usual else "a sync to disk for one or two answers; ")
            + f"comparison: one httpx2.AsyncClient, {PLAIN}; {note}",
        },
        {
            "name": f"processor time of such a call, concurrency {concurrency}, milliseconds",
            "ours": round(processor_ms, 2),
            "comparison": None,
            "ratio": None,
            "bound": "",
            "holds": True,
            "note": f"of the run's process, without the server's; {note}",
        },
    ]


def _resume(size: Size) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder) / "run.db", Path(folder) / "asked.jsonl"
        with start("openai_api", "--log", log) as server, connect(path) as db:
            run_id = _plan(db, Path(folder), "openai", server, size.finished // 10, 1, repeats=10)
            _finish(db, run_id, size.left)
            log.write_text("")
            began = time.time()
            ended = work(path, run_id)
        assert (ended.done, ended.failed) == (size.finished, 0), ended
        with log.open(encoding="utf-8") as lines:
            seconds = json.loads(next(lines))["time"] - began
    return {
        "name": f"resume of a run with {size.finished - size.left:,} finished calls, seconds to the first request",
        "ours": round(seconds, 3),
        "comparison": None,
        "ratio": None,
        "bound": "<= 1 s",
        "holds": seconds <= 1,
        "note": f"{size.left} calls were left; measured once",
    }


def _finish(db: Database, run_id: int, left: int) -> None:
    """Mark all calls of the run except the last ones as done."""
    last = db.value("SELECT max(id) FROM calls WHERE run_id = ?", (run_id,))
    with db.transaction():
        db.execute(
            """UPDATE calls SET state = 'done', attempts = 1, reply = hex(zeroblob(300)), sent = hex(zeroblob(100)),
                 content_hash = hex(randomblob(32)), request_hash = hex(randomblob(32)), tokens_in = 2000, tokens_out = 100,
                 cost_usd = 0, latency_s = 0.05, finished_at = '2024-01-01T00:00:00.000+00:00'
               WHERE run_id = ? AND id <= ?""",
            (run_id, last - left),
        )
        db.execute(
            """INSERT INTO answers (call_id, aspect, value, label)
               SELECT id, 'match', 1, 'Good Match' FROM calls WHERE state = 'done'"""
        )


def _median(size: Size, once: Callable[[], float]) -> float:
    return statistics.median(once() for _ in range(size.rounds))


def _seconds(server_name: str, provider: str, calls: int, concurrency: int, delay_s: float) -> float:
    return _took(server_name, provider, calls, concurrency, delay_s)[0]


def _took(
    server_name: str, provider: str, calls: int, concurrency: int, delay_s: float
) -> tuple[float, float]:
    """Seconds, and processor time, from reading the plan to the last committed answer."""
    with _planned(server_name, provider, calls, concurrency, delay_s) as (db, run_id, _):
        began, used = time.perf_counter(), time.process_time()
        ended = work(db.path, run_id)
        seconds, processor = time.perf_counter() - began, time.process_time() - used
    assert (ended.done, ended.failed) == (calls, 0), ended
    return seconds, processor


def _plain_seconds(calls: int, concurrency: int, delay_s: float) -> float:
    """Seconds for the same bodies through one httpx client shared by all workers."""
    with _planned("openai_api", "openai", calls, concurrency, delay_s) as (db, run_id, server):
        bodies = list(_bodies(db, run_id, calls))
        began = time.perf_counter()
        asyncio.run(_post_all(f"{server.url}/v1/chat/completions", bodies, concurrency))
        return time.perf_counter() - began


async def _post_all(url: str, bodies: list[bytes], concurrency: int) -> None:
    waiting = iter(bodies)
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)

    async def worker() -> None:
        for body in waiting:
            answer = await client.post(url, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 200, answer.text

    async with httpx.AsyncClient(limits=limits, timeout=60) as client:
        await asyncio.gather(*(worker() for _ in range(concurrency)))


def _bodies(db: Database, run_id: int, calls: int) -> Iterator[bytes]:
    """The bodies that our judge sends for the calls of the run."""
    row = run_row(db, run_id)
    chosen, prompt = protocol(row["protocol"]), prompt_by_id(db, row["prompt_id"])
    settings = RunSettings.model_validate_json(row["settings"])
    judge = OpenAIJudge(JudgeSpec(spec="openai:hash-judge", base_urls=("http://127.0.0.1:1/v1",)))
    for _, key in outstanding(db, run_id, 0, calls):
        material = load_material(db, run_id, key.case_id, settings.top_k)
        sampling = sampling_of(settings, key.sample)
        yield judge.batch_body(chosen.request(prompt, material, key.order, key.aspect, sampling))


@contextmanager
def _planned(
    server_name: str, provider: str, calls: int, concurrency: int, delay_s: float
) -> Iterator[tuple[Database, int, ServerProcess]]:
    """A server, and a run planned for it in a separate database."""
    options: list[object] = ["--delay-ms", int(delay_s * 1000)]
    if server_name == "ollama_api":
        options += ["--parallel", 256]
    with (
        tempfile.TemporaryDirectory() as folder,
        start(server_name, *options) as server,
        connect(Path(folder) / "run.db") as db,
    ):
        yield db, _plan(db, Path(folder), provider, server, calls, concurrency), server


def _plan(
    db: Database,
    folder: Path,
    provider: str,
    server: ServerProcess,
    users: int,
    concurrency: int,
    repeats: int = 1,
) -> int:
    load(db, "calls", write_tables(folder, users=users, systems=1))
    url = f"{server.url}/v1" if provider == "openai" else server.url
    settings = RunSettings(protocol="pointwise", concurrency=concurrency, repeats=repeats)
    judge = JudgeSpec(spec=f"{provider}:hash-judge", base_urls=(url,))
    plan = plan_run(db, RunRequest(project_id(db, "calls"), judge, settings))
    assert plan.run_id is not None
    return plan.run_id


def main(words: Sequence[str] | None = None) -> None:
    run_command(__doc__, measure, words)


if __name__ == "__main__":
    main()
