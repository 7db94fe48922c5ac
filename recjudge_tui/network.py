"""Connection settings from the environment: the proxy, and the certificates that servers are checked against."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.errors import JudgeError

if TYPE_CHECKING:
    import ssl

    import httpx

OTHER_PROXY = "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or name the host in NO_PROXY."
# the first one that is set is used
CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
_PROXY_KINDS = ("https", "http", "all")


class Certificates(NamedTuple):
    """The source of the trusted certificates.

    `variable` names `path`; without a path they come from the keychain or from Windows.
    """

    variable: str
    path: str

    def __str__(self) -> str:
        if self.variable:
            return f"{self.variable}: {self.path}"
        return f"the system's: {self.path}" if self.path else "the system's"


def certificates(platform: str = sys.platform) -> Certificates:
    """The certificates in force: those that the environment names, else the system's, else certifi's."""
    for variable in CERTIFICATE_VARIABLES:
        if path := os.environ.get(variable):
            return Certificates(variable, path)
    if _has_own_store(platform):
        return Certificates("", "")
    import ssl

    default = ssl.get_default_verify_paths()
    # a container without the package ca-certificates has an empty folder
    if default.cafile or (default.capath and any(Path(default.capath).iterdir())):
        return Certificates("", default.cafile or default.capath or "")
    import certifi

    return Certificates("certifi", certifi.where())


def tls_context(platform: str = sys.platform) -> ssl.SSLContext:
    """A context that trusts the certificates in use. Raises OSError if they cannot be read."""
    source = certificates(platform)
    return _context(source, _changed_ns(source))


@lru_cache(maxsize=4)
def _context(source: Certificates, _changed_at_ns: int) -> ssl.SSLContext:
    """Cached, because reading the certificates takes 20 ms of processor time and one context serves all connections."""
    import ssl

    if not source.path:
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not source.variable:
        # OpenSSL reads the system's files once; truststore would read them for each connection
        return ssl.create_default_context()
    if not any(Path(path).is_dir() for path in source.path.split(os.pathsep)):
        return ssl.create_default_context(cafile=source.path)
    return ssl.create_default_context(capath=source.path)


def _changed_ns(source: Certificates) -> int:
    """When the certificate file was last changed; 0 if the certificates are not one file or it cannot be read."""
    try:
        return Path(source.path).stat().st_mtime_ns if source.path else 0
    except OSError:
        return 0


def _has_own_store(platform: str) -> bool:
    """Whether the system keeps its certificates in a store that OpenSSL does not read, and the package for it is
    installed.
    """
    return platform in ("darwin", "win32") and find_spec("truststore") is not None


def proxies() -> dict[str, str]:
    """The proxies that the environment or the system names, by kind (`https`, `http`, `all`), without user names and
    passwords."""
    import urllib.request  # slow to load, and only needed here

    named = urllib.request.getproxies()
    return {kind: _without_password(named[kind]) for kind in _PROXY_KINDS if named.get(kind)}


def proxy_for(url: httpx.URL) -> str:
    """The proxy that the environment names for this URL, without a user name and password; empty if there is none."""
    import urllib.request

    named = proxies()
    proxy = named.get(url.scheme) or named.get("all") or ""
    return "" if not proxy or urllib.request.proxy_bypass(url.host) else proxy


def _without_password(proxy: str) -> str:
    scheme, sep, rest = proxy.rpartition("://")
    return f"{scheme}{sep}{rest.rpartition('@')[2]}"


@contextmanager
def socks_answers() -> Iterator[None]:
    """For a request through a proxy: raises httpx.ProxyError for an answer that is not SOCKS, because httpx does not."""
    import httpx

    try:
        yield
    except _socks_errors() as error:
        raise httpx.ProxyError(f"the proxy's answer is not SOCKS: {error}") from error


def _socks_errors() -> tuple[type[Exception], ...]:
    # nothing but a SOCKS proxy loads the package
    return (sys.modules["socksio"].SOCKSError,) if sys.modules.get("socksio") else ()


@contextmanager
def usable_network() -> Iterator[None]:
    """For making an HTTP client: raises JudgeError if the proxy or the certificates that the environment names cannot
    be used."""
    import ssl

    import httpx

    try:
        yield
    except ImportError as error:
        raise JudgeError(
            "the environment names a SOCKS proxy, which needs the package socksio",
            "It is not installed.",
            f"Install it with: pip install 'recjudge[socks]'. {OTHER_PROXY}",
        ) from error
    except OSError as error:
        # ssl.SSLError is an OSError too
        reason = "no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror
        source = certificates()
        named = source.variable in CERTIFICATE_VARIABLES
        raise JudgeError(
            "the certificates cannot be read",
            f"{source}: {reason}.",
            f"Correct {source.variable}, or remove it from the environment."
            if named
            else "Name a file of certificates in SSL_CERT_FILE.",
        ) from error
    except (ValueError, httpx.InvalidURL) as error:
        raise JudgeError(
            "the proxy in the environment has no valid address",
            "It is written as http://HOST:PORT or socks5://HOST:PORT.",
            OTHER_PROXY,
        ) from error
