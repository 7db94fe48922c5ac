"""Which key may go to which server: the vendors' own, and what this user confirmed. A database, which may come from
anybody, names servers and variables. So each pair of a variable and a server must be trusted before the variable is read
(`keys.find_keys`). The user's decisions stand in a file of their own beside `config.toml`, never in a database."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import JudgeError, RecjudgeError
from recjudge_tui.files import small_file, whole_file
from recjudge_tui.settings import config_dir

# decisions that could not be stored, as the file holds them; processes started from here inherit them
UNSTORED = "RECJUDGE_TRUSTED"
AWS = "AWS credentials"
# the vendors' own hosts, and a word that names of their keys contain
_VENDORS = {
    "api.openai.com": "OPENAI", "api.anthropic.com": "ANTHROPIC", "ollama.com": "OLLAMA", "openrouter.ai": "OPENROUTER",
    "api.groq.com": "GROQ", "api.mistral.ai": "MISTRAL", "api.deepseek.com": "DEEPSEEK", "api.together.xyz": "TOGETHER",
    "generativelanguage.googleapis.com": "GEMINI", "api.x.ai": "XAI", "api.fireworks.ai": "FIREWORKS",
}  # fmt: skip
_BEDROCK = re.compile(r"https://bedrock-runtime(-fips)?\.[a-z]{2}(-[a-z]+)+-\d\.amazonaws\.com", re.ASCII)
_PORTS = {"http": 80, "https": 443}


class Sent(NamedTuple):
    """A secret, by the name of its variable, and the server that gets it: `https://HOST` or `http://HOST:PORT`."""

    variable: str
    server: str

    @property
    def place(self) -> str:
        """The server as people write it: `HOST`, `HOST:PORT`; unencrypted ones with `http://`."""
        return self.server.removeprefix("https://")

    def is_at(self, host: str) -> bool:
        """Whether the server is this HOST, HOST:PORT or URL; a host without a port stands for all of its ports."""
        import httpx2 as httpx

        host = host.strip().rstrip("/")
        scheme, is_address, _ = self.server.partition("://")
        if not host or not is_address:
            return bool(host) and host == self.server
        if "://" not in host and host.count(":") > 1 and "[" not in host:
            host = f"[{host}]"
        with suppress(httpx.InvalidURL, ValueError, UnicodeError):
            named = server_of(host if "://" in host else f"{scheme}://{host}")
            if "://" in host or re.search(r":\d+$", host):
                return named == self.server
            return httpx.URL(named).raw_host == httpx.URL(self.server).raw_host
        return False


class UntrustedError(JudgeError):
    """A judge would send secrets to servers for which nobody has confirmed them; nothing was sent."""

    def __init__(self, sent: Sequence[Sent]) -> None:
        self.sent = tuple(sent)
        super().__init__(
            "This judge would send your secrets to a server that you have not confirmed",
            f"It would send {self.listed}.",
            "Nothing was sent.",
        )

    @property
    def listed(self) -> str:
        """`KEY, OTHER to HOST; THIRD to ELSEWHERE`."""
        servers = dict.fromkeys(pair.place for pair in self.sent)
        return "; ".join(
            f"{', '.join(pair.variable for pair in self.sent if pair.place == place)} to {place}"
            for place in servers
        )


def literal_address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that the host is; None for a name."""
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def server_of(url: str) -> str:
    """Scheme, host and, if it is not the usual one, port of a URL, as the connection is made to them."""
    import httpx2 as httpx  # slow to load, and only needed here

    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        return one_line(url, 500)  # a judge of another package may take other words
    host = parsed.raw_host.decode("ascii").lower()
    if address := literal_address(host):
        host = f"[{address}]" if address.version == 6 else str(address)
    port = parsed.port or _PORTS.get(parsed.scheme)
    return f"{parsed.scheme}://{host}" + ("" if port == _PORTS.get(parsed.scheme) else f":{port}")


def pairs_of(variables: Iterable[str], urls: Iterable[str]) -> tuple[Sent, ...]:
    """Each variable with each server."""
    servers, names = dict.fromkeys(map(server_of, urls)), dict.fromkeys(variables)
    return tuple(Sent(variable, server) for server in servers for variable in names)


def is_key_of(vendor: str, variable: str) -> bool:
    """Whether the variable is named like a key of this vendor: `OPENAI_API_KEY`, `MY_OPENAI_KEY`."""
    return {vendor, "KEY"} <= set(variable.upper().split("_"))


def require_trust(sent: Sequence[Sent], own: str = "") -> None:
    """Raise UntrustedError for the pairs that are neither a vendor's own nor confirmed by this user. `own` is the vendor,
    if the servers are its own or those that this user's environment names."""
    foreign = [pair for pair in sent if not (own and is_key_of(own, pair.variable)) and not _is_usual(pair)]
    if foreign:
        known = {*_stored(_path()), *_unstored()}
        foreign = [pair for pair in foreign if pair not in known]
    if foreign:
        raise UntrustedError(foreign)


def _is_usual(pair: Sent) -> bool:
    if pair.variable == AWS:
        return _BEDROCK.fullmatch(pair.server) is not None
    vendor = _VENDORS.get(pair.server.removeprefix("https://"))
    return vendor is not None and is_key_of(vendor, pair.variable)


def remember(sent: Iterable[Sent]) -> None:
    """Trust these pairs from now on. Where the settings cannot be written: in this process and those that it starts."""
    new = [pair for pair in sent if not _is_usual(pair)]
    if not new:
        return
    path = _path()
    try:
        if set(new) <= _stored(path):
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # keeps other processes and threads from writing it
        lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(lock, "wb"), whole_file(path.resolve()) as draft:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lines = (f"  {json.dumps(list(pair))}" for pair in sorted({*_stored(path), *new}))
            descriptor = os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write("[\n" + ",\n".join(lines) + "\n]\n")
    except (OSError, RecjudgeError):
        os.environ[UNSTORED] = json.dumps(sorted({*_unstored(), *new}))


def _path() -> Path:
    return config_dir() / "trusted.json"


def _stored(path: Path) -> set[Sent]:
    try:
        return _read(small_file(path))
    except OSError:
        return set()


def _unstored() -> set[Sent]:
    return _read(os.environ.get(UNSTORED, "[]"))


def _read(text: str | bytes) -> set[Sent]:
    """The pairs in a JSON list; a damaged one confirms nothing."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    return {
        Sent(*entry)
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, list) and len(entry) == 2 and all(isinstance(word, str) for word in entry)
    }
