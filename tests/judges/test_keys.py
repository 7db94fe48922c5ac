from __future__ import annotations

import sys
import types

import pytest

from recjudge_tui.errors import JudgeError
from recjudge_tui.judges import keys
from recjudge_tui.judges.keys import Key, find_keys


def find_key() -> Key | None:
    return find_keys(("MY_KEY",), ("http://127.0.0.1:1",)).get("MY_KEY")


def test_a_key_is_found_in_the_environment_without_the_white_space_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_KEY", " planted-key-123\n")
    key = find_key()
    assert key is not None
    assert key.bearer() == {"Authorization": "Bearer planted-key-123"}


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_variable_is_no_key(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MY_KEY", value)
    assert find_key() is None


@pytest.mark.parametrize("value", ["planted key 123", "planted\nkey", "planted-kéy-123"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(JudgeError) as caught:
        find_key()
    assert "MY_KEY" in str(caught.value)
    assert "planted" not in str(caught.value) + repr(caught.value)


def test_neither_repr_nor_scrubbed_text_holds_the_key() -> None:
    key = Key("MY_KEY", "planted-key-123")
    assert "planted" not in f"{key} {key!r}"
    assert key.scrub("wrong key planted-key-123!") == "wrong key [MY_KEY]!"


def test_a_placeholder_key_is_not_cut_out_of_answers() -> None:
    assert Key("MY_KEY", "none").scrub("none of them") == "none of them"


class _KeyringError(Exception):
    pass


def _plant_keyring(monkeypatch: pytest.MonkeyPatch, answer: str | Exception) -> None:
    """A stand-in for the optional package, which is not installed for tests."""

    def get_password(service: str, name: str) -> str:
        if isinstance(answer, Exception):
            raise answer
        return f"{answer}/{service}/{name}"

    keyring = types.ModuleType("keyring")
    errors = types.ModuleType("keyring.errors")
    monkeypatch.setattr(keyring, "get_password", get_password, raising=False)
    monkeypatch.setattr(errors, "KeyringError", _KeyringError, raising=False)
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    monkeypatch.setattr(keys, "find_spec", lambda name: object())


def test_the_keyring_is_asked_when_the_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    _plant_keyring(monkeypatch, "kept")
    key = find_key()
    assert key is not None
    assert key.bearer() == {"Authorization": "Bearer kept/recjudge/MY_KEY"}


def test_a_session_without_a_keyring_service_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    _plant_keyring(monkeypatch, _KeyringError("no backend"))
    assert find_key() is None
