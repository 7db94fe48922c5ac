"""The user's settings file, `config.toml`: read it, and save a choice in it without touching the rest."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recjudge_tui.domain.address import (
    ADDRESS_OPTIONS,
    AddressError,
    check_headers,
    check_key_variable,
)
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.files import parse_toml, small_file, whole_file
from recjudge_tui.settings import config_dir

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeSpec


# ---- preferences -------------------------------------------------------------------------------------------------


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


# ---- config file -------------------------------------------------------------------------------------------------


_ADDRESS = {option.setting: option for option in ADDRESS_OPTIONS.values()}
SECTIONS = {"app": ("theme", "reader"), "run": ("judge", *_ADDRESS), "keys": ()}
_BARE = r"""[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'"""
_PATH = rf"(?:{_BARE})(?:\s*\.\s*(?:{_BARE}))*"
_HEADER = re.compile(rf"\s*\[\s*({_PATH})\s*\]\s*(?:#.*)?$")
_SETTING = re.compile(rf"\s*({_PATH})\s*=")
_PART = re.compile(_BARE)
_LONGEST_NAME = 60
_LONGEST_SPEC = 300


class SettingsFile(NamedTuple):
    """The settings as read from a file, and its mistakes; a wrong setting keeps its default."""

    path: Path
    preferences: Preferences = Preferences()
    faults: tuple[Fault, ...] = ()


def config_path() -> Path:
    return config_dir() / "config.toml"


def read_preferences(path: Path | None = None) -> SettingsFile:
    """Read the settings; without a file, the defaults. Never raises and never writes. Does not check that the theme
    and the bindings exist: the app does."""
    path = path or config_path()
    try:
        raw = small_file(path)
    except FileNotFoundError:
        return SettingsFile(path)
    except OSError as error:
        return SettingsFile(path, faults=(Fault(None, f"cannot be read: {error.strerror}"),))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        return SettingsFile(path, faults=(Fault(line, "not valid UTF-8", "Save the file as UTF-8."),))
    try:
        return _checked(path, parse_toml(text), lines_of_keys(text))
    except ValueError as error:
        return SettingsFile(path, faults=(_syntax(error),))
    except RecursionError:
        return SettingsFile(path, faults=(Fault(None, "its sections are nested too deeply"),))


def reader_name() -> str:
    """The name under which this user's decisions and notes are stored. `RECJUDGE_READER`, else `reader` in the
    settings file, else “reader”. Raises UsageError for an invalid `RECJUDGE_READER`."""
    name = os.environ.get("RECJUDGE_READER")
    if not name:
        return read_preferences().preferences.reader
    fault = _name_fault(name)
    if fault:
        raise UsageError(f"RECJUDGE_READER: {fault.text}", next_step=fault.advice)
    return name.strip()


def default_judge() -> JudgeSetting:
    """The judge of a run that names none. Raises UsageError if the settings do not name one either, or have a
    mistake."""
    loaded = read_preferences()
    if loaded.preferences.judge is not None:
        return loaded.preferences.judge
    if loaded.faults:
        raise faults_error(loaded.path, loaded.faults)
    raise UsageError(
        "no judge is named",
        next_step=f'Add --judge SPEC, or write judge = "SPEC" below [run] in {loaded.path}.',
    )


def faults_error(path: Path, faults: tuple[Fault, ...]) -> RecjudgeError:
    """All faults of the file as one error."""
    count = "a mistake" if len(faults) == 1 else f"{len(faults)} mistakes"
    return UsageError(
        f"{count} in your settings, {path}",
        "\n".join(fault.sentence(path.name) for fault in faults),
        "Wrong settings keep their defaults; all others apply. “recjudge config keys” lists all bindings.",
    )


def save_theme(name: str, path: Path | None = None) -> None:
    """Write the theme into the file, all or nothing; every other line stays as it is. Creates a missing file. Raises
    UsageError when the file is not valid TOML, has an [app] that is not a section of its own, or cannot be
    written."""
    path = path or config_path()
    by_hand = f'Write theme = "{name}" below [app] yourself.'
    title = f"the theme cannot be saved in {path}"
    try:
        text = small_file(path).decode("utf-8") if path.exists() else ""
        changed = _with_theme(text, name)
        if changed is None:
            raise UsageError(title, "The file has no separate section [app].", by_hand)
        _replace(path, changed.encode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(title, "The file is not valid TOML.", by_hand) from error
    except OSError as error:
        raise UsageError(title, f"{error.strerror}.") from error


# ---- reading


def _syntax(error: ValueError) -> Fault:
    line, problem = toml_fault(error)
    advice = 'Text needs quotes: theme = "recjudge". Until this is fixed, the whole file is ignored.'
    return Fault(line, f"not valid TOML: {problem}", advice)


def toml_fault(error: ValueError) -> tuple[int | None, str]:
    """The line of a fault reported by the TOML parser, if known, and a description."""
    place = re.search(r"\s*\(at line (\d+), column \d+\)", str(error))
    problem = one_line(str(error).replace(place.group() if place else "", ""), 120)
    return int(place.group(1)) if place else None, problem


def lines_of_keys(text: str) -> dict[tuple[str, ...], int]:
    """The line (from 1) of each header and setting of a TOML file; a line in a multi-line string may pass for one."""
    lines: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = _parts(header.group(1))
            lines.setdefault(section, number)
        elif setting := _SETTING.match(line):
            lines.setdefault((*section, *_parts(setting.group(1))), number)
    return lines


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(path))


def _checked(path: Path, data: dict[str, Any], lines: dict[tuple[str, ...], int]) -> SettingsFile:
    """The settings that can be used, each by itself, and the mistakes by their lines."""
    used: dict[tuple[str, ...], Any] = {}
    faults: list[Fault] = []
    for place, value in _leaves(data):
        if fault := _fault(place, value):
            first = (line for known, line in lines.items() if known[0] == place[0])
            faults.append(fault._replace(line=lines.get(place) or min(first, default=None)))
        else:
            used[place] = value
    run = {name: used["run", name] for name in SECTIONS["run"] if ("run", name) in used}
    if run and "judge" not in data["run"]:
        advice = 'Write for instance judge = "ollama:llama3.1:8b".'
        faults.append(Fault(lines.get(("run",)), "[run] names no judge", advice))
    judge = None
    if "judge" in run and len(run) == len(data["run"]):
        from recjudge_tui.domain.judge import JudgeAddress

        # one server may be written without a list
        given: dict[str, Any] = {
            option.name: [run[name]] if option.many and isinstance(run[name], str) else run[name]
            for name, option in _ADDRESS.items()
            if name in run
        }
        named = JudgeAddress(**given).judge_named(run["judge"].strip())
        judge = JudgeSetting(named, lines.get(("run", "judge")))
    theme = ("app", "theme")
    preferences = Preferences(
        Setting(used[theme], lines.get(theme)) if theme in used else None,
        used.get(("app", "reader"), DEFAULT_READER).strip(),
        tuple(
            KeySetting(
                ".".join(place[1:]), value if isinstance(value, str) else ",".join(value), lines.get(place)
            )
            for place, value in used.items()
            if place[0] == "keys"
        ),
        judge,
    )
    return SettingsFile(path, preferences, tuple(sorted(faults, key=lambda fault: fault.line or 0)))


def _leaves(table: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each setting with its place. `"cases.filter" = "f"`, `cases.filter = "f"` and `[keys.cases] filter = "f"` are one."""
    for name, value in table.items():
        place = (*above, name)
        if isinstance(value, dict) and (place[0] == "keys" or (not above and name in SECTIONS)):
            yield from _leaves(value, place)
        else:
            yield place, value


def _fault(place: tuple[str, ...], value: object) -> Fault | None:
    """What is wrong with the value at a place, without its line."""
    section, name = place[0], one_line(place[-1], 60)
    if section not in SECTIONS:
        known = ", ".join(f"[{one}]" for one in SECTIONS)
        return Fault(
            None, f"no section [{name}]", _nearest(name, tuple(SECTIONS), f"The sections are: {known}.")
        )
    if len(place) == 1:
        return Fault(None, f"“{name}” is a section", f"Write [{name}] on a line of its own.")
    if section == "keys":
        keys = value if isinstance(value, list) else [value]
        shown = f"“{'.'.join(place[1:])}” is not a key"
        usable = all(isinstance(key, str) for key in keys)
        return None if usable else Fault(None, shown, 'Write a key in quotes: "f" or "f,f3".')
    settings = SECTIONS[section]
    if name not in settings:
        advice = _nearest(name, settings, f"The settings are: {', '.join(settings)}.")
        return Fault(None, f"no setting “{name}” in [{section}]", advice)
    if section == "run":
        return _judge_fault(name, value)
    if not isinstance(value, str):
        return Fault(None, f"“{name}” must be text", f'Write {name} = "…".')
    return _name_fault(value) if name == "reader" else None


def _nearest(name: str, known: tuple[str, ...], otherwise: str) -> str:
    near = get_close_matches(name, known, 1)
    return f"Did you mean “{near[0]}”?" if near else otherwise


def _judge_fault(name: str, value: object) -> Fault | None:
    """The fault of a setting of [run]. A secret written in place of its variable's name is not repeated."""
    option = _ADDRESS.get(name)
    if option is not None and option.pairs:
        if not isinstance(value, dict):
            return Fault(None, f"“{name}” must be a table", f'Write {name} = {{ NAME = "VAR" }}.')
        values: list[object] = list(value.values())
    else:
        values = value if option is not None and option.many and isinstance(value, list) else [value]
    texts = [text for text in values if isinstance(text, str)]
    if len(texts) < len(values):
        return Fault(None, f"“{name}” must be text", f'Write {name} = "…".')
    try:
        if name == "api_key_env":
            check_key_variable(texts[0])
        if isinstance(value, dict):
            check_headers(tuple(value.items()))
    except AddressError as error:
        return Fault(None, error.title.replace(f"--{name.replace('_', '-')}", f"“{name}”"), "Write its name.")
    if not texts or any(not text.strip() or one_line(text, _LONGEST_SPEC) != text for text in texts):
        return Fault(None, f"“{name}” is empty, too long or has characters that cannot be shown")
    return None


def _name_fault(name: str) -> Fault | None:
    name = name.strip()
    if not name:
        return Fault(
            None, "the reader's name is empty", "Write the name under which your verdicts are stored."
        )
    if one_line(name, _LONGEST_NAME) != name:
        return Fault(None, "the reader's name is too long or has characters that cannot be shown",
                     f"A name is one line of at most {_LONGEST_NAME} characters.")  # fmt: skip
    return None


# ---- writing


def _with_theme(text: str, name: str) -> str | None:
    """The text with this one setting changed or added; None if [app] has no section for it. Raises ValueError for
    text that is not TOML."""
    import tomlkit
    from tomlkit.items import InlineTable

    bare = text.removeprefix("\ufeff")
    wanted = parse_toml(bare)
    if not isinstance(wanted.setdefault("app", {}), dict):
        return None
    wanted["app"]["theme"] = name
    document = tomlkit.parse(bare if not bare or bare.endswith("\n") else f"{bare}\n")
    if "app" not in document:
        document.append("app", tomlkit.table())
    app: Any = document["app"]
    if isinstance(app, InlineTable):
        return None
    app["theme"] = name
    changed = tomlkit.dumps(document)
    return text[: len(text) - len(bare)] + changed if parse_toml(changed) == wanted else None


def _replace(path: Path, content: bytes) -> None:
    """Replace the file's content; a link stays a link, and the permissions stay."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:
        draft.write_bytes(content)
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o7777)
