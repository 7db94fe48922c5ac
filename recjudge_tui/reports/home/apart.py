"""Reads the expensive parts of a large home in a separate process, so that the memory is freed at its end and the
screen stays responsive.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import BinaryIO

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.home.home import Home, with_next_part
from recjudge_tui.store.database import Database
from recjudge_tui.store.opening import connect

_LOOK_S = 0.1


def with_later_parts(
    db: Database,
    project_id: int,
    home: Home,
    *,
    arrived: Callable[[Home], object],
    left: Callable[[], bool],
) -> Home:
    """The home with all of its parts. `arrived` is called after each part; the process ends at once when `left`
    returns true.

    Raises RecjudgeError where the process fails. Call it in a worker.
    """
    command = [sys.executable, "-m", "recjudge_tui.reports.home.apart"]
    pipe = subprocess.PIPE
    errors = b""
    # a killed process does not take what is left to write when its pipes are closed
    with (
        suppress(BrokenPipeError),
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        Thread(target=_end_when, args=(process, left), daemon=True).start()
        with suppress(BrokenPipeError, EOFError, pickle.UnpicklingError):
            pickle.dump((db.path, project_id, home), process.stdin)
            process.stdin.flush()
            while home.missing_part is not None:
                home = pickle.load(process.stdout)
                arrived(home)
        if home.missing_part is None:
            process.wait()
        else:
            process.kill()
            errors = process.stderr.read()
    if home.missing_part is not None:
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        raise RecjudgeError("the figures of this project could not be read", "".join(lines[-1:]))
    return home


def _end_when(process: subprocess.Popen[bytes], left: Callable[[], bool]) -> None:
    while process.poll() is None:
        if left():
            process.kill()
        time.sleep(_LOOK_S)


def read_parts(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """The main function of the process: reads (path, project, home) and writes the home after each further part."""
    path, project_id, home = pickle.load(incoming)
    Thread(target=_end_with_reader, args=(incoming,), daemon=True).start()
    with connect(path, must_exist=True) as db:
        while home.missing_part is not None:
            home = with_next_part(db, project_id, home)
            pickle.dump(home, outgoing)
            outgoing.flush()


def _end_with_reader(incoming: BinaryIO) -> None:
    """End this process when the app that started it has ended for any reason."""
    # not through the buffer: its lock would be held when the interpreter ends
    while os.read(incoming.fileno(), 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    read_parts(sys.stdin.buffer, sys.stdout.buffer)
