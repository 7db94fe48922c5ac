"""What the operating system sets: the limit of open files, core dumps, the standard streams."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress

from recjudge_tui.errors import RecjudgeError

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
