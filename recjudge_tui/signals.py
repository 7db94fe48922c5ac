"""Signals and the terminal: an app that is told to end leaves the terminal as it was."""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subprocess import Popen

# the app, and the program that has the terminal, get this many seconds to leave by themselves; then the terminal is
# restored without them
PATIENCE_S = 1.5
# the same if there is no terminal left to restore
_GONE_PATIENCE_S = 1.2
# a SIGHUP of the system for a terminal that went away comes within this time
_SIGHUP_DELAY_S = 0.2
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
# paste, keyboard protocol, mouse, resize reports, focus reports off; line wrap and cursor on; the normal screen
_UNDO = (
    b"\x1b[?2004l\x1b[<u\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?2048l\x1b[?2026l"
    b"\x1b[?1004l\x1b[?7h\x1b[?1049l\x1b[?25h\x1b[0m"
)


def exit_code(number: int) -> int:
    """The exit code that a shell reports for a process ended by a signal."""
    return 128 + number


@contextmanager
def leaving_cleanly(
    leave: Callable[[int], None], program: Callable[[], Popen[bytes] | None]
) -> Iterator[None]:
    """Within the block SIGTERM, SIGHUP and SIGINT call `leave(exit code)`, which should end the block soon.

    If it has not ended after PATIENCE_S, or at a second signal, the terminal is restored by writing to it and
    the process ends at once. While a `program` has the terminal, SIGINT belongs to it; the other signals end it as
    well. A terminal that disappears counts as SIGHUP, even if the system does not send one. Call it in the main
    thread; the previous handlers are restored. Raises SystemExit with the exit code after a signal.
    """
    before = _terminal_settings()
    exit_codes: list[int] = []
    gone = threading.Event()

    def handle(number: int, _: FrameType | None) -> None:
        borrower = program()
        if exit_codes or number == signal.SIGALRM:
            if borrower is not None:
                borrower.kill()
            restore_terminal(before)
            os._exit(exit_codes[0] if exit_codes else exit_code(number))
        if number == signal.SIGINT and borrower is not None:
            return
        exit_codes.append(exit_code(number))
        signal.setitimer(signal.ITIMER_REAL, _GONE_PATIENCE_S if gone.is_set() else PATIENCE_S)
        if borrower is not None:
            borrower.terminate()
        leave(exit_codes[0])

    handlers = {number: signal.signal(number, handle) for number in (*SIGNALS, signal.SIGALRM)}

    def hang_up() -> None:
        gone.set()
        time.sleep(_SIGHUP_DELAY_S)
        if not exit_codes:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGHUP)

    try:
        with _terminal_watched(hang_up):
            yield
    except OSError:
        # a terminal that is gone cannot be written to
        if not exit_codes:
            raise
    finally:
        # searching the garbage of a whole app as the interpreter ends takes up to a second on a busy machine
        gc.freeze()
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
    if exit_codes:
        _settle(before)
        raise SystemExit(exit_codes[0])


@contextmanager
def signals_held() -> Iterator[None]:
    """Within the block, signals wait; they are handled after it. Call it in the main thread."""
    waiting: list[int] = []
    handlers = {number: signal.signal(number, lambda caught, _: waiting.append(caught)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        for held in waiting:
            signal.raise_signal(held)


@contextmanager
def _terminal_watched(hang_up: Callable[[], None]) -> Iterator[None]:
    """Within the block, call `hang_up` in a thread once the terminal is gone.

    The system sends SIGHUP to the processes that the terminal controls. Others only read an end of file, over and over.
    """
    if not os.isatty(_in()) or not hasattr(select, "poll"):
        yield
        return
    stopped, stop = os.pipe()
    watch = threading.Thread(
        target=_wait_for_hangup, args=(_in(), stopped, hang_up), name="terminal-watch", daemon=True
    )
    watch.start()
    try:
        yield
    finally:
        os.close(stop)
        watch.join()
        os.close(stopped)


def _wait_for_hangup(terminal: int, stopped: int, hang_up: Callable[[], None]) -> None:
    poll = select.poll()
    # without events to wait for, poll only reports that the other end is closed
    for descriptor in (terminal, stopped):
        poll.register(descriptor, 0)
    events = dict(poll.poll())
    if stopped not in events and events.get(terminal, 0) & select.POLLHUP:
        hang_up()


def restore_terminal(settings: list[Any] | None) -> None:
    """Reset every mode that the app may have set, by writing directly to the terminal. Errors are ignored."""
    with suppress(OSError, ValueError, AttributeError):
        os.write(_out(), _UNDO)
    _settle(settings)


def _settle(settings: list[Any] | None) -> None:
    if settings is not None:
        with suppress(termios.error, OSError, ValueError, AttributeError):
            termios.tcsetattr(_in(), termios.TCSANOW, settings)


def _terminal_settings() -> list[Any] | None:
    try:
        return termios.tcgetattr(_in())
    except (termios.error, OSError, ValueError, AttributeError):
        return None


def _in() -> int:
    assert sys.__stdin__ is not None
    return sys.__stdin__.fileno()


def _out() -> int:
    # where Textual draws
    assert sys.__stderr__ is not None
    return sys.__stderr__.fileno()
