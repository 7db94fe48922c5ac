"""Sends a batch file from a Ray cluster, by one worker for each node or server."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, islice
from typing import Any

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.judges.batch.lines import RequestLine
from recjudge_tui.runs.batches.lines import Result, Servers, ask_lines

LOCAL = "local"
ROUNDS_A_BLOCK = 4
# of a worker whose process or node is lost
RESTARTS = 3
CONNECT_S = 10.0


def ask_by_ray(
    lines: Iterator[RequestLine], count: int, servers: Servers, address: str, take: Callable[[Result], None]
) -> None:
    """Send all lines by workers of a Ray cluster, and pass on the results of each block when it is done.

    `address` `local` starts a Ray here, unless RAY_ADDRESS names a cluster. There is one worker for each node, and
    at least one for each of `servers.urls`; one that is lost is started again and sends its block again. Every worker
    calls the servers at the given URLs: 127.0.0.1 is each node's own server, and of several servers the least busy one
    is called. The key is read on the worker's node. Raises UsageError when Ray is missing, RunError when the cluster
    cannot be reached or lost a worker too often.
    """
    ray = _ray()
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
            for result in _results(ray, done):
                take(result)


def _results(ray: Any, done: Any) -> list[Result]:
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
    return results


class _Worker:
    """A worker on a node of the cluster. It processes one block of lines after the other."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def ask(self, block: list[RequestLine]) -> list[Result]:
        results: list[Result] = []
        asyncio.run(ask_lines(iter(block), self._servers, results.append))
        return results


def _ray() -> Any:
    if find_spec("ray") is None:
        raise UsageError(
            "Ray is not installed here",
            "--ray spreads a batch file over a Ray cluster.",
            'Install it on every node (pip install "recjudge[ray]"), or leave out --ray.',
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    return import_module("ray")


def _connect(ray: Any, address: str) -> None:
    if address == LOCAL:
        address = os.environ.get("RAY_ADDRESS", LOCAL)
    _check_listening(address)
    # its workers wait for servers and need no share of a core
    mine: dict[str, Any] = {"num_cpus": 0, "include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error", **mine)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise _unreachable(address, str(error)) from error


def _check_listening(address: str) -> None:
    """Raise RunError if nothing listens at the address, because Ray would try for minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon and port.isdigit():
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        except OSError as error:
            raise _unreachable(address, error.strerror or str(error)) from error


def _unreachable(address: str, why: str) -> RunError:
    return RunError(
        f"the Ray cluster at {address} cannot be reached",
        f"{why}.",
        "Check its address with “ray status” on the cluster.",
    )
