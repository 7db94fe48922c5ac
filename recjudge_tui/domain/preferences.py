"""The user's settings: theme, name, judge and keys. Read by recjudge_tui/config_file.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeSpec

DEFAULT_READER = "reader"


class Fault(NamedTuple):
    """A mistake in the file; the default applies instead."""

    line: int | None
    text: str
    advice: str = ""

    def sentence(self, path: object) -> str:
        """`config.toml:3: what is wrong. What to do.`"""
        place = f"{path}:{self.line}" if self.line else str(path)
        return f"{place}: {self.text}.{' ' + self.advice if self.advice else ''}"


class Setting(NamedTuple):
    """A value from the file and its line."""

    value: str
    line: int | None = None


class KeySetting(NamedTuple):
    """The keys that the file gives a binding, separated by commas, and its line."""

    binding: str
    keys: str
    line: int | None = None


class JudgeSetting(NamedTuple):
    """The judge of a run that names none, and its line."""

    judge: JudgeSpec
    line: int | None = None


class Preferences(NamedTuple):
    theme: Setting | None = None
    reader: str = DEFAULT_READER
    keys: tuple[KeySetting, ...] = ()
    judge: JudgeSetting | None = None


class KeyRow(NamedTuple):
    """A binding in the list of keys; `line` is the line of the config file that changes it."""

    id: str
    where: str
    does: str
    keys: tuple[str, ...]
    shipped: tuple[str, ...]
    line: int | None
