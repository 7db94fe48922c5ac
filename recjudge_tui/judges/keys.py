"""API keys: found by the name of an environment variable, kept out of every text, and sent where they may go: to the
vendors' own servers, and to those that this user confirmed. A database, which may come from anybody, names servers and
variables. So each pair of a variable and a server must be trusted before the variable is read (`find_keys`). The user's
decisions stand in a file of their own beside `config.toml`, never in a database."""

from __future__ import annotations

import fcntl
import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import JudgeError, RecjudgeError
from recjudge_tui.files import small_file, whole_file
from recjudge_tui.settings import config_dir

if TYPE_CHECKING:
    from recjudge_tui.judges.http import Answer

SERVICE = "recjudge"
_SHORTEST_SECRET = 8  # "none", "EMPTY": placeholders that people set for servers that require some key


@dataclass(frozen=True)
class Key:
    """A key and the name of its variable. Its repr and the results of `scrub` contain only the name."""

    variable: str
    _secret: str = field(repr=False)

    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._secret}"}

    def header(self, name: str) -> dict[str, str]:
        return {name: self._secret}

    def scrub(self, text: str) -> str:
        """The text with the key replaced by the variable's name, in case a server sent the key back. The key's base64,
        hexadecimal and URL-encoded forms are replaced, too. Placeholders shorter than 8 characters are left in."""
        if len(self._secret) < _SHORTEST_SECRET:
            return text
        for form in _forms(self._secret):
            if form in text:
                text = text.replace(form, f"[{self.variable}]")
        return text

    def scrub_answer(self, response: Answer) -> Answer:
        """The answer with `scrub` applied to its body and headers, also where JSON hides the key behind escapes."""
        body, raw = response.content, response.headers.raw
        clean = self.scrub(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if b"\\" in clean:
            with suppress(ValueError, RecursionError):
                told = json.loads(clean)
                scrubbed = self._scrub_json(told)
                clean = clean if scrubbed == told else json.dumps(scrubbed).encode()
        headers = [(name, self.scrub(value.decode("latin-1")).encode("latin-1")) for name, value in raw]
        if (clean, headers) == (body, raw):
            return response
        return response._replace(headers=type(response.headers)(headers), content=clean)

    def _scrub_json(self, part: Any) -> Any:
        """A part of a JSON text with every string scrubbed. Raises RecursionError for one that is nested too deeply."""
        if isinstance(part, dict):
            return {self.scrub(name): self._scrub_json(value) for name, value in part.items()}
        if isinstance(part, list):
            return list(map(self._scrub_json, part))
        return self.scrub(part) if isinstance(part, str) else part


@lru_cache(maxsize=16)
def _forms(secret: str) -> tuple[str, ...]:
    """The forms in which a key may occur in a text: as it is, percent-encoded, in hexadecimal, and in base64, alone or
    within a longer text."""
    raw = secret.encode()
    forms = [secret, quote(secret, safe=""), quote(secret), "".join(f"%{byte:02X}" for byte in raw)]
    forms += [forms[-1].lower(), raw.hex(), raw.hex().upper()]
    for before in range(3):
        begin, end = -(-8 * before // 6), 8 * (before + len(raw)) // 6
        for encoded in (b64encode(bytes(before) + raw), urlsafe_b64encode(bytes(before) + raw)):
            # the base64 characters that depend only on the key and not on the text around it
            forms.append(encoded.decode()[begin:end])
    return tuple(dict.fromkeys(forms))


def find_keys(
    variables: Sequence[str], urls: Sequence[str], *, own: str = "", typed: bool = False
) -> dict[str, Key]:
    """The keys of these variables, to be sent to these servers: each from the environment, else from the system keyring
    (service `recjudge`). Those that are not set are left out. This is the only way to a key. Unless the user has named
    servers and variables in this very command (`typed`), each pair of them must be trusted (`require_trust`, which
    explains `own`): raises UntrustedError. The keyring is used only if the optional package `keyring` is installed. White
    space around a key is removed. Raises JudgeError for a key that no HTTP header can carry."""
    if not typed:
        check_trust(variables, urls, own)
    return {name: key for name in dict.fromkeys(variables) if (key := _key_in(name)) is not None}


def check_trust(variables: Sequence[str], urls: Sequence[str], own: str = "") -> None:
    """Raise UntrustedError as `find_keys`; variables that are not set need no trust."""
    require_trust(pairs_of(filter(is_set, variables), urls), own)


def _key_in(variable: str) -> Key | None:
    secret = _secret_in(variable)
    if not secret:
        return None
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise JudgeError(
            f"The key in {variable} is not usable",
            "It contains a space, a line break or a character outside ASCII.",
            f"Set {variable} again, to the key alone.",
        )
    return Key(variable, secret)


def is_set(variable: str) -> bool:
    """Whether there is a key under this name, in the environment or the keyring."""
    return bool(_secret_in(variable))


def _secret_in(variable: str) -> str:
    secret: object = os.environ.get(variable)
    if not secret and find_spec("keyring") is not None:
        keyring, errors = import_module("keyring"), import_module("keyring.errors")
        with suppress(errors.KeyringError):  # no keyring service in this session
            secret = keyring.get_password(SERVICE, variable)
    return secret.strip() if isinstance(secret, str) else ""


def not_set(title: str, variable: str, option: str) -> JudgeError:
    """The error for a variable without a value, which `option` names."""
    step = f"Set it: export {variable}=… — or name another one with {option}."
    return JudgeError(title, f"The environment variable {variable} is not set.", step)


# ---- trust ---------------------------------------------------------------------------------------------------------

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
