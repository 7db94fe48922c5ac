"""`python -m MODULE` and `python -c CODE` without the imports: a server that has made them forks each process.

Such a process is one as any other, with its own id, environment, folder, streams and end, and it can be killed. It
differs in two ways: modules are there before it asks for them, and all of one server share a seed for hashes.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import pickle
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parents[2]
NUMBER = struct.Struct("i")
LARGEST = 1 << 17


class Start(NamedTuple):
    """What a new process is to be; its streams, and where its id and its end are reported, are sent beside it."""

    words: tuple[str, ...]
    folder: str
    environment: dict[bytes, bytes]
    own_session: bool


class ForkedProcess(subprocess.Popen[Any]):
    """What `subprocess.Popen` makes of `python WORDS`, forked from the server that has imported `preloaded`.

    The words are `-m`, a module and its arguments, or `-c`, code and its arguments.
    """

    def __init__(self, preloaded: tuple[str, ...], *words: str, **options: Any) -> None:
        self._preloaded = preloaded
        super().__init__([sys.executable, *words], **options)

    def _execute_child(  # type: ignore[no-untyped-def]
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, restore_signals, gid, gids, uid, umask,
        start_new_session, *more,
    ) -> None:  # fmt: skip
        variables = os.environ if env is None else env
        start = Start(
            tuple(args[1:]),
            os.fspath(cwd or Path.cwd()),
            {os.fsencode(name): os.fsencode(value) for name, value in variables.items()},
            start_new_session,
        )
        streams = [
            ours if theirs == -1 else theirs for ours, theirs in enumerate((p2cread, c2pwrite, errwrite))
        ]
        self._reports, reports = socket.socketpair()
        with reports:
            server = _started(self._preloaded)[1]
            socket.send_fds(server, [pickle.dumps(start)], [*streams, reports.fileno()])
        (self.pid,) = NUMBER.unpack(self._reports.recv(NUMBER.size))
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if wait_flags & os.WNOHANG and not select.select([self._reports], [], [], 0)[0]:
            return 0, 0
        with self._reports:
            return self.pid, NUMBER.unpack(self._reports.recv(NUMBER.size))[0]

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def server_pid(preloaded: tuple[str, ...]) -> int:
    """The parent of all processes that are forked with `preloaded`."""
    return _started(preloaded)[0].pid


@cache
def _started(preloaded: tuple[str, ...]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The server, which ends when the descriptor that speaks to it is closed: at the latest with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        number = theirs.fileno()
        command = [sys.executable, "-m", __name__, str(number), *preloaded]
        # a fork has no threads but its own, so numpy starts none
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=ROOT, env=alone, pass_fds=[number])
    atexit.register(server.wait)
    atexit.register(ours.close)
    return server, ours


def _received(requests: socket.socket) -> tuple[Start, list[int]] | None:
    """The next request; None when nobody can ask any more."""
    body, descriptors, _, _ = socket.recv_fds(requests, LARGEST, 4)
    return (pickle.loads(body), descriptors) if body else None


def _serve(requests: socket.socket) -> Start | None:
    """Fork until nobody can ask any more. In a forked process: what it is to be."""
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reports: dict[int, socket.socket] = {}
    while True:
        ready = select.select([requests, woken], [], [])[0]
        if woken in ready:
            woken.recv(1024)
            _report_ends(reports)
        if requests in ready:
            request = _received(requests)
            if request is None:
                return None
            start, descriptors = request
            pid = os.fork()
            if pid == 0:
                _become(start, descriptors)
                return start
            for stream in descriptors[:3]:
                os.close(stream)
            reports[pid] = socket.socket(fileno=descriptors[3])
            reports[pid].sendall(NUMBER.pack(pid))


def _report_ends(reports: dict[int, socket.socket]) -> None:
    while reports:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with reports.pop(pid) as report, contextlib.suppress(BrokenPipeError):  # nobody waits for it
            report.sendall(NUMBER.pack(status))


def _become(start: Start, descriptors: list[int]) -> None:
    """Take over the streams, the folder and the environment, and leave nothing of the server's open."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(descriptors[:3]):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    if start.own_session:
        os.setsid()
    os.chdir(start.folder)
    os.environb.clear()
    os.environb.update(start.environment)
    sys.path[0] = start.folder
    sys.argv = ["-c", *start.words[2:]]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        _open_stream(number, name)


def _open_stream(number: int, name: str) -> None:
    """What Python does at its start."""
    served = getattr(sys, name)
    lines = number == 2 or (number == 1 and os.isatty(number))
    buffering = 1 if lines else -1
    stream = os.fdopen(number, served.mode, buffering, served.encoding, served.errors, closefd=False)
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)


def _run(start: Start) -> NoReturn:
    """Run the module or code, and end as the interpreter does, but without taking down the modules, which takes 60 ms."""
    code: object = None
    try:
        how, what = start.words[:2]
        if how == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120
    os._exit(code if isinstance(code, int) else code is not None)


def main() -> None:
    requests = socket.socket(fileno=int(sys.argv[1]))
    for module in sys.argv[2:]:
        import_module(module)
    # what was imported is never garbage, and stays shared with the forked processes
    gc.collect()
    gc.freeze()
    start = _serve(requests)
    if start is not None:
        _run(start)


if __name__ == "__main__":
    main()
