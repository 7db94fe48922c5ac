"""Sends a batch file live to one or more servers that speak OpenAI's API, directly or from a Ray cluster."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run_options import TIMEOUT_S
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, InputError, JudgeError, RunError, UsageError
from recjudge_tui.files import refuse_database
from recjudge_tui.judges.batch import LineFault, RequestLine, lines_of, read_request, read_result
from recjudge_tui.judges.http import Answer
from recjudge_tui.judges.openai import OpenAIJudge
from recjudge_tui.judges.replies import as_json, error_of
from recjudge_tui.runs import calls as retries
from recjudge_tui.runs.calls import CallLimits, Failures

# ---- lines -------------------------------------------------------------------------------------------------------


CALLS_A_SERVER = 8
# the code of an error after which no further call can work
FATAL = "refused"

# a line of the output, as a batch API writes it
Result = dict[str, Any]


class Servers(NamedTuple):
    """The servers and how to call them. `key_variable` and `header_env` (header, variable) are NAMES of variables, read
    where they are used. The user types all of this."""

    urls: tuple[str, ...]
    key_variable: str = ""
    timeout_s: float = TIMEOUT_S
    concurrency: int | None = None
    header_env: tuple[tuple[str, str], ...] = ()

    def calls_at_once(self) -> int:
        return self.concurrency or CALLS_A_SERVER * len(self.urls)


async def ask_lines(lines: Iterator[RequestLine], servers: Servers, take: Callable[[Result], None]) -> None:
    """Send all lines, many at once, and pass each result to `take` when it arrives. An exception from `take` ends it.
    Raises UsageError for a bad base URL, JudgeError when the key or the value of a header is missing."""
    asker = _LineAsker(servers)

    async def work() -> None:
        for line in lines:
            take(await asker.result(line))

    workers = [asyncio.create_task(work()) for _ in range(servers.calls_at_once())]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await asker.close()


class _LineAsker(OpenAIJudge):
    """Sends each line as it is to the least busy of one or more servers. No key goes out that was not named."""

    default_key = keyed_host = ""

    def __init__(self, servers: Servers) -> None:
        name, key, headers = "openai:the model of the file", servers.key_variable, servers.header_env
        super().__init__(JudgeSpec(spec=name, base_urls=servers.urls, api_key_env=key, header_env=headers))
        self._look_up_key(typed=True)
        self._timeout_s = servers.timeout_s
        self._limits = CallLimits(asyncio.Event())

    async def result(self, line: RequestLine) -> Result:
        """The result line of one call, or of its error after the same retries as in a live run."""
        failures = Failures(self._limits)
        while True:
            await self._limits.wait_out_pause()
            try:
                text = (await self._endpoints.call(partial(self._sent, line))).text
                if (body := as_json(text)) is None:
                    raise CallError("bad_body", "The answer is not JSON", one_line(text, 120), retry=True)
            except CallError as error:
                self._limits.note(error)
                if failures.end_with(error):
                    return _result(line, error={"code": error.kind, "message": error.sentences})
                await failures.wait(error)
            except JudgeError as error:
                return _result(line, error={"code": FATAL, "message": error.sentences})
            else:
                self._limits.note()
                return _result(line, response={"status_code": 200, "request_id": uuid4().hex, "body": body})

    async def _sent(self, line: RequestLine, url: str) -> Answer:
        deadline = time.monotonic() + self._timeout_s
        _, response, _ = await self._post(line.body, deadline, url, line.path)
        if not response.is_success:
            raise self._endpoints.pause_server(url, self._meaning(url, response, error_of(response)))
        return response


def _result(line: RequestLine, response: object = None, error: object = None) -> Result:
    name = f"batch_req_{uuid4().hex}"
    return {"id": name, "custom_id": line.custom_id, "response": response, "error": error}


# ---- ray ---------------------------------------------------------------------------------------------------------


LOCAL = "local"
ROUNDS_A_BLOCK = 4
# of a worker whose process or node is lost
RESTARTS = 3
CONNECT_S = 10.0


def ask_by_ray(
    lines: Iterator[RequestLine], count: int, servers: Servers, address: str, take: Callable[[Result], None]
) -> None:
    """Send all lines by workers of a Ray cluster, and pass on the results of each block when it is done.

    `address` `local` starts a Ray here, unless RAY_ADDRESS names a cluster. There is one worker for each node, and at
    least one for each of `servers.urls`; one that is lost is started again and sends its block again. 127.0.0.1 is each
    node's own server, and keys are read on the worker's node. Raises UsageError when Ray is missing, RunError when the
    cluster cannot be reached or lost a worker too often."""
    if find_spec("ray") is None:
        raise UsageError(
            "Ray is not installed here",
            "--ray spreads a batch file over a Ray cluster.",
            'Install it on every node (pip install "recjudge[ray]"), or leave out --ray.',
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = import_module("ray")
    if not count:
        return
    # Ray prints what it has to say of a lost worker to standard output, which is for results
    with redirect_stdout(sys.stderr):
        _connect(ray, address)
        try:
            _spread(ray, lines, count, servers, take)
        finally:
            ray.shutdown()


def _spread(
    ray: Any, lines: Iterator[RequestLine], count: int, servers: Servers, take: Callable[[Result], None]
) -> None:
    """Give each worker a block of lines, and the next one when it is done."""
    nodes = [node["NodeID"] for node in ray.nodes() if node.get("Alive")]
    workers = min(count, max(len(nodes), len(servers.urls)))
    at_once = -(-servers.calls_at_once() // workers)
    size = min(at_once * ROUNDS_A_BLOCK, -(-count // workers))
    on_node = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    actor = ray.remote(num_cpus=0, max_restarts=RESTARTS, max_task_retries=RESTARTS)(_Worker)
    idle = [
        actor.options(scheduling_strategy=on_node(node, soft=True)).remote(
            servers._replace(concurrency=at_once)
        )
        for node in islice(cycle(nodes), workers)
    ]
    working: dict[Any, Any] = {}
    while True:
        while idle and (block := list(islice(lines, size))):
            worker = idle.pop()
            working[worker.ask.remote(block)] = worker
        if not working:
            return
        for done in ray.wait(list(working))[0]:
            idle.append(working.pop(done))
            try:
                results: list[Result] = ray.get(done)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError as error:
                raise RunError(
                    "a worker of the Ray cluster was lost",
                    f"Ray says: {one_line(str(error), 400)}",
                    "Look at the cluster with “ray status”, then repeat the same command. It continues where it stopped.",
                ) from error
            for result in results:
                take(result)


class _Worker:
    """A worker on a node of the cluster. It processes one block of lines after the other."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def ask(self, block: list[RequestLine]) -> list[Result]:
        results: list[Result] = []
        asyncio.run(ask_lines(iter(block), self._servers, results.append))
        return results


def _connect(ray: Any, address: str) -> None:
    if address == LOCAL:
        address = os.environ.get("RAY_ADDRESS", LOCAL)
    # its workers wait for servers and need no share of a core
    mine: dict[str, Any] = {"num_cpus": 0, "include_dashboard": False} if address == LOCAL else {}
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    try:
        if colon and port.isdigit():  # Ray would try for minutes where nothing listens
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        ray.init(address=address, log_to_driver=False, logging_level="error", **mine)
    except (OSError, ValueError, RuntimeError) as error:
        raise RunError(
            f"the Ray cluster at {address} cannot be reached",
            f"{getattr(error, 'strerror', None) or error}.",
            "Check its address with “ray status” on the cluster.",
        ) from error


# ---- run ---------------------------------------------------------------------------------------------------------


class FileProgress(NamedTuple):
    """How many calls of a batch file are done. `before` were answered by an earlier run with the same output."""

    done: int
    failed: int
    before: int


def run_file(
    source: Path,
    out: Path,
    servers: Servers,
    *,
    ray_address: str | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> FileProgress:
    """Send every line of a batch file and append the results to `out` as they arrive.

    Lines with a reply in `out` are not sent again, so an interrupted command can be repeated; lines with an error in `out`
    are. `ray_address`: None sends from this process, `local` from a Ray started here, anything else from that cluster.
    Raises InputError for a bad line (before anything is sent), JudgeError when the server cannot be used or many calls in
    a row fail."""
    if not servers.urls:
        raise UsageError("no server was named", next_step="Name one or more with --base-url URL.")
    refuse_database(out)
    names: set[str] = set()
    for line in read_requests(source):
        if line.custom_id in names:
            raise InputError(
                f"{source} contains the custom_id “{line.custom_id}” twice",
                "Their results could not be told apart.",
            )
        names.add(line.custom_id)
    answered = _answered(out) & names
    pending = (line for line in read_requests(source) if line.custom_id not in answered)
    done = failed = in_a_row = 0

    def take(result: Result) -> None:
        """Write one line. Raises JudgeError when no further call can work, or many calls in a row failed."""
        nonlocal done, failed, in_a_row
        error = result["error"]
        if error and error["code"] == FATAL:
            raise JudgeError("the servers cannot be used", error["message"])
        file.write(json.dumps(result, ensure_ascii=False) + "\n")
        file.flush()
        done, failed, in_a_row = done + (not error), failed + bool(error), in_a_row + 1 if error else 0
        if in_a_row >= retries.FAILURES_IN_A_ROW:
            raise JudgeError(
                f"{in_a_row} calls in a row failed",
                f"The last error: {error['message']}",
                "Fix the cause and repeat the same command. It continues where it stopped.",
            )
        progress(done + failed)

    try:
        with out.open("a", encoding="utf-8") as file:
            if ray_address is None:
                asyncio.run(ask_lines(pending, servers, take))
            else:
                ask_by_ray(pending, len(names) - len(answered), servers, ray_address, take)
    except OSError as problem:
        raise RunError(f"{out} cannot be written", f"{problem.strerror}.") from problem
    return FileProgress(done, failed, len(answered))


def read_requests(source: Path) -> Iterator[RequestLine]:
    """The lines of a batch file. Raises InputError with file and line number for a bad one."""

    def refuse(place: str, fault: LineFault) -> None:
        raise InputError(f"{place} is not a line of a batch file", f"{fault}.") from None

    return (line for _, line in lines_of(source, read_request, refuse))


def _answered(out: Path) -> set[str]:
    """The names that have a reply in the output. A last line that a crash cut short is removed from the file."""
    names: set[str] = set()
    if not out.exists():
        return names
    whole = 0
    with out.open("r+b") as file:
        for raw in file:
            if not raw.endswith(b"\n"):
                break
            whole += len(raw)
            try:
                result = read_result(raw)
            except LineFault as fault:
                raise UsageError(
                    f"{out} is not the output of a batch file", f"{fault}.", "Name another -o FILE."
                ) from None
            if result.body is not None:
                names.add(result.custom_id)
        file.truncate(whole)
    return names
