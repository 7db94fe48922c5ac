"""What the operating system sets: open files, core dumps, the standard streams, file systems, signals, the terminal; and a
limit of time."""

from __future__ import annotations

import errno
import gc
import io
import os
import re
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from recjudge_tui.errors import RecjudgeError

if TYPE_CHECKING:
    from subprocess import Popen

T = TypeVar("T")
MORE_HANDLES = "Raise the limit with “ulimit -n 1024”, or use fewer calls at once (--concurrency)."


def is_out_of_handles(error: OSError) -> bool:
    return error.errno in (errno.EMFILE, errno.ENFILE)


def can_open_more() -> bool:
    """Whether this process may open the four files that a database needs."""
    opened: list[int] = []
    try:
        for _ in range(4):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return not is_out_of_handles(error)
    finally:
        for number in opened:
            os.close(number)
    return True


def explained(error: OSError) -> RecjudgeError | None:
    """The message for an OSError that can occur in any command; None for other errors. Errors of a named file are
    reported where it is written, so an error without a file name is about a standard stream."""
    if is_out_of_handles(error):
        import resource  # not on every platform

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return RecjudgeError("too many files are open", f"This process may open {limit}.", MORE_HANDLES)
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO):
        closed = error.errno == errno.EBADF
        return RecjudgeError(
            "the standard output cannot be written",
            "It is closed." if closed else f"{os.strerror(error.errno)}.",
            "Redirect it elsewhere; many commands write a file with -o.",
        )
    return None


# glibc's mallopt parameter for the number of heaps
_ARENAS = -8


def share_one_heap() -> None:
    """Let all threads allocate from one heap, if the C library is glibc. Otherwise each thread keeps what it freed: after
    a few lists of a million verdicts, a quarter of the app's memory."""
    with suppress(ImportError, OSError, AttributeError, TypeError):
        import ctypes

        ctypes.CDLL(None).mallopt(_ARENAS, 1)


def forbid_core_dumps() -> None:
    """Forbid core dumps of the interpreter and of the programs it starts, because they would contain API keys."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # not on every platform

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def open_streams() -> None:
    """Give every standard stream that was closed before the start a descriptor, so that no file takes its number.

    Writing to a closed standard output then fails with EBADF.
    """
    if sys.stdin is None:
        _fill(0, os.O_RDONLY)
        sys.stdin = io.open(0, encoding="utf-8", closefd=False)  # noqa: SIM115, UP020
    if sys.stdout is None:
        _fill(1, os.O_RDONLY)
        sys.stdout = io.open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115, UP020
    if sys.stderr is None:
        _fill(2, os.O_WRONLY)
        sys.stderr = io.open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115, UP020


def _fill(number: int, flags: int) -> None:
    opened = os.open(os.devnull, flags)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)


def drop_output() -> None:
    """Discard output that could not be written, so that the interpreter does not try again when it ends."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


MOUNTS = Path("/proc/mounts")
# several machines or a userspace driver may share these: shared memory and locks are not reliable on them
_SHARED = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "beegfs", "gpfs", "ocfs2", "gfs2",
    "vboxsf", "virtiofs", "prl_fs", "davfs", "drvfs", "fuse",
}  # fmt: skip


def can_write(path: Path) -> bool:
    """Whether this user may write the file and its folder, or the nearest existing folder above it."""
    if path.exists() and not os.access(path, os.W_OK):
        return False
    folder = next((parent for parent in path.absolute().parents if parent.exists()), path.absolute().parent)
    return folder.is_dir() and os.access(folder, os.W_OK)


def read_mounts() -> str | None:
    """The kernel's list of mounted file systems, or None where there is none (not Linux)."""
    try:
        return MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None


def file_system(path: Path, mounts: str) -> str:
    """The file system (`ext4`, `nfs4`, `fuse.sshfs`) that holds the path, from the lines of /proc/mounts; '' if unknown.

    The longest mount point above the resolved path wins; among equal ones the last, which is mounted on top.
    """
    target = path.resolve()
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), fields[1]))
        depth = len(point.parts)
        if depth >= best and (point == target or point in target.parents):
            best, kind = depth, fields[2]
    return kind


def is_shared(kind: str) -> bool:
    """Whether a write-ahead log may be unsafe on this kind of file system.

    The log needs memory shared by all its users, which only a single machine offers, and reliable locks. `fuseblk` is
    a local disk.
    """
    return kind in _SHARED or kind.startswith("fuse.")


async def within(seconds: float | None, awaitable: Awaitable[T]) -> T:
    """The awaitable's result. If it takes longer, it is cancelled and asyncio.TimeoutError is raised; None is no limit. A
    cancellation from outside is never swallowed."""
    import asyncio  # loaded with the first call

    import anyio

    try:
        with anyio.fail_after(seconds):
            return await awaitable
    except TimeoutError as error:
        raise asyncio.TimeoutError from error  # another class before Python 3.11


# ---- signals -----------------------------------------------------------------------------------------------------


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
