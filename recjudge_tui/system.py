"""What this machine sets: the limit of open files, proxies, certificates, the standard streams."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from recjudge_tui.errors import JudgeError, RecjudgeError

if TYPE_CHECKING:
    import httpx

MORE_HANDLES = "Raise the limit with “ulimit -n 1024”, or use fewer calls at once (--concurrency)."
OTHER_PROXY = "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or name the host in NO_PROXY."


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
    """A fault of the machine that any command may meet; None for other faults. Where a file is written, the one who
    writes it says so; what has no file name is a standard stream."""
    if is_out_of_handles(error):
        import resource  # not on every platform

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return RecjudgeError("too many files are open", f"This process may open {limit}.", MORE_HANDLES)
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO):
        closed = error.errno == errno.EBADF
        return RecjudgeError(
            "the standard output cannot be written",
            "It is closed." if closed else f"{os.strerror(error.errno)}.",
            "Send it to another place; many commands write a file with -o.",
        )
    return None


def forbid_core_dumps() -> None:
    """Let no crash of the interpreter, or of a program it starts, write its memory to a file: a key is in it."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # not on every platform

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def open_streams() -> None:
    """Give every standard stream that was closed before the start a descriptor, so that no file takes its number.

    What is written to a closed standard output fails with EBADF.
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
    """Forget what the standard output could not take, so that the interpreter does not try again when it ends."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def proxy_for(url: httpx.URL) -> str:
    """The proxy that the environment names for this URL, without a user name and password; empty if there is none."""
    import urllib.request  # slow to load, and only needed here

    proxies = urllib.request.getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all") or ""
    if not proxy or urllib.request.proxy_bypass(url.host):
        return ""
    scheme, sep, rest = proxy.rpartition("://")
    return f"{scheme}{sep}{rest.rpartition('@')[2]}"


@contextmanager
def usable_network() -> Iterator[None]:
    """For the making of an HTTP client. Raises JudgeError where the proxy or the certificates that the environment
    names cannot be used."""
    import ssl

    import httpx

    try:
        yield
    except ImportError as error:
        raise JudgeError(
            "the environment names a SOCKS proxy, which needs the package socksio",
            "It is not installed.",
            f"Install it with: pip install socksio. {OTHER_PROXY}",
        ) from error
    except OSError as error:
        # ssl.SSLError is an OSError too
        reason = "no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror
        where = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR") or "the system's store"
        raise JudgeError(
            "the certificates cannot be read",
            f"{where}: {reason}.",
            "Correct SSL_CERT_FILE or SSL_CERT_DIR, or remove it from the environment.",
        ) from error
    except (ValueError, httpx.InvalidURL) as error:
        raise JudgeError(
            "the proxy that the environment names has no valid address",
            "It is written as http://HOST:PORT.",
            OTHER_PROXY,
        ) from error
