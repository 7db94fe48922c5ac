"""Prompt tokens that llama.cpp's server reads for runs on MovieLens-100k, beside the fewest possible for these prompts.

The server is real, its model tiny and random; a reply has one token. The fewest possible: the prompts as one tree of
tokens, each node read once, and the guidelines once for each slot, because slots share nothing. `--former` also sends
the calls as the first versions did: case by case, each by the worker that is free first. The data is read from
RECJUDGE_DATA.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import httpx2 as httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, command_parser, print_rows
from recjudge_tui.domain.calls import Usage
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.run import RunSettings, sampling_of
from recjudge_tui.importers.load import import_files
from recjudge_tui.judges.openai import OpenAIJudge
from recjudge_tui.judges.replies import usage_of
from recjudge_tui.protocols.registry import protocol
from recjudge_tui.runs.engine import CallQueue
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.store.calls import CallKey, outstanding
from recjudge_tui.store.cases import load_material
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.store.runs import run_row
from recjudge_tui.store.schema import connect
from tests.support.runs import plan_run
from tests.support.servers.process import ServerProcess, start

PROJECT = "movies"
MODEL = "tiny-stair"
# nearly every character of a prompt is a token of the tiny model
CONTEXT = 32_768
MOST_OVER_LEAST = 1.10


class Size(NamedTuple):
    """`users` of the data, and how many of each one's events are shown."""

    users: int
    history: int


FULL, QUICK = Size(40, 30), Size(4, 10)


class Form(NamedTuple):
    """A kind of run, and the share of the users that it judges."""

    name: str
    settings: Mapping[str, Any]
    users: float = 1


FORMS = (
    Form("pointwise", {"protocol": "pointwise"}),
    Form("pairwise", {"protocol": "pairwise"}),
    # seven calls a case
    Form("arena, aspects one by one", {"protocol": "arena", "aspects": "single"}, 1 / 4),
)


class Read(NamedTuple):
    """Prompt tokens sent, and those of them that the server read and did not find in its memory."""

    sent: int
    read: int


def measure(quick: bool = False, former: bool = False) -> Iterator[Row]:
    data = os.environ.get("RECJUDGE_DATA")
    if not data:
        yield _row("prompt tokens read on MovieLens-100k", None, None, "RECJUDGE_DATA is not set")
        return
    size = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as folder, connect(Path(folder) / "ml.db") as db:
        _load(db, Path(data) / "ml100k")
        for form in FORMS:
            run, name = _plan(db, form, size), form.name
            calls = _calls(db, run)
            for slots in (1, 4):
                with _server(slots) as server:
                    least = _fewest(server, calls.values(), slots)
                    ours = asyncio.run(_by_engine_order(db, run, server, calls, slots))
                yield _compared(f"{name}, slots: {slots}", ours, least, len(calls))
                if former:
                    plain = sorted(calls.values(), key=_plain_place)
                    with _server(slots) as server:
                        before = asyncio.run(_by_plain_order(server, plain, slots))
                    yield _compared(f"{name}, slots: {slots}, former order", before, least, len(calls), False)


def _compared(name: str, read: Read, least: int, calls: int, bounded: bool = True) -> Row:
    reused = f"{1 - read.read / read.sent:.1%} of {read.sent:,} prompt tokens in {calls} calls reused"
    return _row(f"prompt tokens read, {name}", read.read, least, f"comparison: the fewest; {reused}", bounded)


def _row(name: str, ours: int | None, least: int | None, note: str, bounded: bool = False) -> Row:
    ratio = round(ours / least, 3) if ours is not None and least else None
    return {
        "name": name, "ours": ours, "comparison": least, "ratio": ratio,
        "bound": f"<= {MOST_OVER_LEAST} x fewest" if bounded else "",
        "holds": not bounded or ratio is None or ratio <= MOST_OVER_LEAST, "note": note,
    }  # fmt: skip


class Call(NamedTuple):
    """A call of the run and the body of its request. `place` is the place of its case in the data."""

    key: CallKey
    place: int
    body: dict[str, Any]


def _plain_place(call: Call) -> tuple[int, int, str, str]:
    return call.place, call.key.sample, call.key.aspect, call.key.order


@contextmanager
def _server(slots: int) -> Iterator[ServerProcess]:
    with start("llama_cpp", "--ctx", CONTEXT, "--parallel", slots) as server:
        yield server


def _load(db: Database, data: Path) -> None:
    files: tuple[tuple[ImportKind, str], ...] = (
        ("items", "items*"), ("users", "users*"), ("events", "events*"), ("lists", "lists_*"),
    )  # fmt: skip
    for kind, pattern in files:
        import_files(db, PROJECT, sorted(data.glob(pattern)), kind)


def _plan(db: Database, form: Form, size: Size) -> int:
    users = round(size.users * form.users)
    settings = RunSettings.model_validate({**form.settings, "limit": users, "history": size.history})
    plan = plan_run(db, RunRequest(project_id(db, PROJECT), JudgeSpec(spec=f"openai:{MODEL}"), settings))
    assert plan.run_id is not None
    return plan.run_id


def _calls(db: Database, run_id: int) -> dict[int, Call]:
    """The calls by id, with the bodies that our judge sends, but for replies of a single token."""
    row = run_row(db, run_id)
    chosen, prompt = protocol(row["protocol"]), prompt_by_id(db, row["prompt_id"])
    settings = RunSettings.model_validate_json(row["settings"]).model_copy(update={"max_tokens": 1})
    judge = OpenAIJudge(JudgeSpec(spec=f"openai:{MODEL}", base_urls=("http://127.0.0.1:1/v1",)))
    calls = {}
    for _, key in outstanding(db, run_id, 0, 1 << 30):
        material = load_material(db, run_id, key.case_id, settings.top_k)
        request = chosen.request(prompt, material, key.order, key.aspect, sampling_of(settings, key.sample))
        calls[key.id] = Call(key, key.case_id, json.loads(judge.batch_body(request)))
    return calls


def shared_start(a: Sequence[object], b: Sequence[object]) -> int:
    """How many elements at the beginning of both are the same."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _fewest(server: ServerProcess, calls: Iterable[Call], slots: int) -> int:
    """The nodes of the tree of all prompts, and once more for each further slot what all prompts have in common.

    Of sorted prompts, each adds to the tree what it does not share with the one before.
    """
    prompts = []
    with httpx.Client(base_url=server.url, timeout=60) as client:
        for call in calls:
            text = client.post("/apply-template", json={"messages": call.body["messages"]}).json()["prompt"]
            answer = client.post("/tokenize", json={"content": text, "parse_special": True})
            prompts.append(answer.json()["tokens"])
    prompts.sort()
    tree = len(prompts[0]) + sum(len(b) - shared_start(a, b) for a, b in pairwise(prompts))
    return tree + (slots - 1) * shared_start(prompts[0], prompts[-1])


async def _by_engine_order(
    db: Database, run_id: int, server: ServerProcess, calls: Mapping[int, Call], workers: int
) -> Read:
    """What the server read for the calls of the run, handed out as the engine does."""
    line = CallQueue(db, run_id, asyncio.Event(), workers)

    async def mine() -> AsyncIterator[Call]:
        seat = line.join()
        while (key := await line.next(seat)) is not None:
            call = calls[key.id]
            yield call._replace(body={**call.body, "id_slot": seat.number})

    return await _read(server, [mine() for _ in range(workers)])


async def _by_plain_order(server: ServerProcess, calls: Iterable[Call], workers: int) -> Read:
    """What the server read for the calls in this order, each sent by the worker that is free first."""
    waiting = iter(calls)

    async def next_free() -> AsyncIterator[Call]:
        for call in waiting:
            yield call

    return await _read(server, [next_free() for _ in range(workers)])


async def _read(server: ServerProcess, workers: Iterable[AsyncIterator[Call]]) -> Read:
    """Let every worker send its calls one after the other, and add up the server's own counts."""
    usages: list[Usage] = []

    async def send_all(mine: AsyncIterator[Call]) -> None:
        async for call in mine:
            answer = await client.post("/v1/chat/completions", json=call.body)
            assert answer.status_code == 200, answer.text
            usages.append(usage_of(answer.json(), OpenAIJudge.counts))

    async with httpx.AsyncClient(base_url=server.url, timeout=600) as client:
        await asyncio.gather(*map(send_all, workers))
    sent = sum(usage.input or 0 for usage in usages)
    return Read(sent, sent - sum(usage.cached_input or 0 for usage in usages))


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("--former", action="store_true", help="also measure the former order")
    options = parser.parse_args(words)
    print_rows(measure(options.quick, options.former))


if __name__ == "__main__":
    main()
