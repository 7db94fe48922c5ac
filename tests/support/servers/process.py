"""Start a test server as a process of its own, and end exactly that process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from tests.support.fork_server import ForkedProcess, server_pid
from tests.support.waiting import HANG_S

READY = "listening on "
PARENT = "RECJUDGE_TEST_PARENT"
ROOT = Path(__file__).resolve().parents[3]
SERVERS = "tests.support.servers"
# after that by force
END_S = 30.0
# servers of nothing but Python, and what they import
LIGHT = ("anthropic_api", "batch_api", "bedrock_api", "ollama_api", "openai_api")
LIGHT_IMPORTS = tuple(f"{SERVERS}.{name}" for name in ("answers", "faults", "served", "wire"))


class ServerProcess:
    """A running server: `url` without a slash at its end, `pid`, and `stop()`; also a context manager."""

    def __init__(self, child: subprocess.Popen[bytes], url: str, files: contextlib.ExitStack) -> None:
        self.url = url
        self.pid = child.pid
        self._child = child
        self._files = files

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.url

    def is_running(self) -> bool:
        return self._child.poll() is None

    def stop(self) -> None:
        """End the process: politely, and if it hangs by force. A second call does nothing."""
        self._files.close()


def start(module_or_script: str | Path, *args: object, deadline: float = HANG_S) -> ServerProcess:
    """Run a server with this interpreter and return once it has said where it listens.

    `module_or_script` is a name in `tests.support.servers` ("openai_api"), a dotted module, or a path that ends in
    `.py`. `args` are passed on as text. The process leaves by itself when its parent dies.

    Raises RuntimeError, with what the server wrote to stderr, when it ends early or `deadline` seconds pass.
    """
    with contextlib.ExitStack() as files:
        # Files, not pipes: nobody reads on after the first line, and a full pipe would block the server.
        out = files.enter_context(tempfile.TemporaryFile())
        err = files.enter_context(tempfile.TemporaryFile())
        child = _process(str(module_or_script), *map(str, args), out=out, err=err)
        files.callback(_end, child)
        try:
            url = _wait_for_url(child, out, deadline)
        except RuntimeError as error:
            _end(child)
            err.seek(0)
            said = err.read().decode(errors="replace")[-4000:]
            raise RuntimeError(f"{module_or_script}: {error}\n{said}") from None
        return ServerProcess(child, url, files.pop_all())


def watch_parent() -> Callable[[], bool]:
    """A function that says whether the process which started this one with `start` is gone."""
    expected = int(os.environ.get(PARENT, "0"))
    return lambda: expected != 0 and os.getppid() != expected


def _process(name: str, *words: str, out: IO[bytes], err: IO[bytes]) -> subprocess.Popen[bytes]:
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
    if name in LIGHT:
        environment = {**os.environ, PARENT: str(server_pid(LIGHT_IMPORTS))}
        return ForkedProcess(
            LIGHT_IMPORTS, "-m", f"{SERVERS}.{name}", *words, cwd=ROOT, env=environment, **streams
        )
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    target = [name] if name.endswith(".py") else ["-m", name if "." in name else f"{SERVERS}.{name}"]
    environment = {**os.environ, "PYTHONPATH": path, PARENT: str(os.getpid())}
    return subprocess.Popen([sys.executable, *target, *words], env=environment, **streams)


def _wait_for_url(child: subprocess.Popen[bytes], out: IO[bytes], deadline: float) -> str:
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        ended = child.poll()
        # pread, because the child writes through the same file description and so the same offset.
        said = os.pread(out.fileno(), 1 << 16, 0).decode(errors="replace")
        for line in said.splitlines(keepends=True):
            if line.startswith(READY) and line.endswith("\n"):
                return line[len(READY) :].strip().rstrip("/")
        if ended is not None:
            raise RuntimeError(f"ended with code {ended} before it listened")
        time.sleep(0.02)
    raise RuntimeError(f"did not listen within {deadline:g} s")


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(END_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
