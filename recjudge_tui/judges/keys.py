"""API keys: found by the name of an environment variable, and kept out of every text."""

from __future__ import annotations

import json
import os
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

import httpx2 as httpx

from recjudge_tui.errors import JudgeError
from recjudge_tui.judges.http import Answer
from recjudge_tui.judges.trust import pairs_of, require_trust

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
        return Answer(response.status_code, httpx.Headers(headers), clean)

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
    forms += [form.lower() for form in forms[-1:]] + [raw.hex()]
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
    servers and variables in this very command (`typed`), each pair of them must be trusted (`trust.require_trust`, which
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
