"""What a process sets and the operating system allows it: open files, memory and its garbage, core dumps, the standard
streams, file systems, other processes, certificates, proxies, cores; and a limit of time."""

from __future__ import annotations

import errno
import gc
import io
import os
import re
import sys
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from recjudge_tui.errors import RecjudgeError

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
    _ask_c("mallopt", _ARENAS, 1)


def give_back_memory() -> None:
    """Return what was freed to the system, if the C library is glibc. Otherwise much of it
    stays, such as after a list of a million verdicts."""
    _ask_c("malloc_trim", 0)


def _ask_c(name: str, *numbers: int) -> None:
    with suppress(ImportError, OSError, AttributeError, TypeError):
        import ctypes

        getattr(ctypes.CDLL(None), name)(*numbers)


@contextmanager
def few_collections(young: int = 20_000) -> Iterator[None]:
    """Collect garbage rarely, after every `young` new objects: cases and calls are many short-lived objects, and scanning
    them took a fifth of the time. In the app a search of the whole heap held up a key for up to 60 ms."""
    before = gc.get_threshold()
    # the caller chose a higher threshold, or another thread is also in this block
    if before[0] >= young:
        yield
        return
    gc.set_threshold(young, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


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


def is_running(pid: int) -> bool:
    """Whether there is a process with this number, of any user, that has not ended."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return _stat(pid)[:1] != ["Z"]  # a zombie


def process_start(pid: int) -> str:
    """When a process started, in clock ticks since boot; empty where the system does not tell."""
    return "".join(_stat(pid)[19:20])


def _stat(pid: int) -> list[str]:
    """/proc/PID/stat after the command name (which may hold spaces): state is first, start time 20th."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


# the first one that is set is used by httpx2
CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def certificates() -> str:
    """The source of the trusted certificates: a variable with its path, else the system's."""
    import ssl  # slow to load, and only needed here

    variable = next(filter(os.environ.get, CERTIFICATE_VARIABLES), "")
    default = ssl.get_default_verify_paths()
    path = os.environ.get(variable) or default.cafile or default.capath
    return ": ".join(filter(None, (variable or "the system's", path)))


def proxies() -> dict[str, str]:
    """The proxies of the environment or the system by kind (`https`, `http`, `all`), with passwords that they may hold."""
    import urllib.request  # slow to load, and only needed here

    named = urllib.request.getproxies()
    return {kind: named[kind] for kind in ("https", "http", "all") if named.get(kind)}


def proxy_for(scheme: str, host: str) -> str:
    """The proxy that the environment names for such addresses; empty if there is none."""
    import urllib.request

    named = proxies()
    proxy = named.get(scheme) or named.get("all") or ""
    if not proxy or urllib.request.proxy_bypass(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def without_password(proxy: str) -> str:
    """The address without a user's name and password."""
    scheme, sep, rest = proxy.rpartition("://")
    return f"{scheme}{sep}{rest.rpartition('@')[2]}"


_LOOKED_S = 0.3


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


async def idle_cores() -> int:
    """The cores that other programs leave alone; -1 for all."""
    import asyncio  # loaded with the first call

    def idle_s() -> float:
        ticks = Path("/proc/stat").read_text(encoding="utf-8").split(maxsplit=5)[4]
        return int(ticks) / os.sysconf("SC_CLK_TCK")

    try:
        before = idle_s()
        await asyncio.sleep(_LOOKED_S)
        free = (idle_s() - before) / _LOOKED_S
    except (OSError, ValueError, IndexError):
        return -1
    return -1 if round(free) >= (os.cpu_count() or 1) else max(1, min(cores(), round(free)))


async def within(seconds: float | None, awaitable: Awaitable[T]) -> T:
    """The awaitable's result. If it takes longer, it is cancelled and asyncio.TimeoutError is raised; None is no limit. A
    cancellation from outside is never swallowed."""
    import asyncio  # loaded with the first call

    try:
        if sys.version_info >= (3, 11):  # a third of the time of anyio's
            async with asyncio.timeout(seconds):
                return await awaitable
        else:
            import anyio

            with anyio.fail_after(seconds):
                return await awaitable
    except TimeoutError as error:
        raise asyncio.TimeoutError from error  # another class before Python 3.11
