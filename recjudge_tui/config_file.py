"""The user's settings file, `config.toml`: read it, and save a choice in it without touching the rest."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recjudge_tui.domain.address import (
    ADDRESS_OPTIONS,
    AddressError,
    AddressOption,
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
    faults: list[Fault] = []
    for name, value in data.items():
        if name not in SECTIONS:
            sections = ", ".join(f"[{known}]" for known in SECTIONS)
            advice = _nearest(name, tuple(SECTIONS), f"The sections are: {sections}.")
            line = lines.get((name,)) or _first(lines, name)
            faults.append(Fault(line, f"no section [{one_line(name, 60)}]", advice))
        elif not isinstance(value, dict):
            faults.append(
                Fault(lines.get((name,)), f"“{name}” is a section", f"Write [{name}] on a line of its own.")
            )
    app, run, keys = ({} if not isinstance(data.get(name), dict) else data[name] for name in SECTIONS)
    theme, reader = _app(app, lines, faults)
    judge = _judge(run, lines, faults)
    settings = tuple(_keys(keys, (), lines, faults))
    faults.sort(key=lambda fault: fault.line or 0)
    return SettingsFile(path, Preferences(theme, reader, settings, judge), tuple(faults))


def _first(lines: dict[tuple[str, ...], int], name: str) -> int | None:
    return min((line for place, line in lines.items() if place[0] == name), default=None)


def _nearest(name: str, known: tuple[str, ...], otherwise: str) -> str:
    near = get_close_matches(name, known, 1)
    return f"Did you mean “{near[0]}”?" if near else otherwise


def _app(
    app: dict[str, Any], lines: dict[tuple[str, ...], int], faults: list[Fault]
) -> tuple[Setting | None, str]:
    theme, reader = None, DEFAULT_READER
    for name, value in app.items():
        line = lines.get(("app", name))
        if name not in SECTIONS["app"]:
            faults.append(_unknown("app", name, line))
        elif not isinstance(value, str):
            faults.append(Fault(line, f"“{name}” must be text", f'Write {name} = "…".'))
        elif name == "theme":
            theme = Setting(value, line)
        elif fault := _name_fault(value):
            faults.append(fault._replace(line=line))
        else:
            reader = value.strip()
    return theme, reader


def _unknown(section: str, name: str, line: int | None) -> Fault:
    known = SECTIONS[section]
    advice = _nearest(name, known, f"The settings are: {', '.join(known)}.")
    return Fault(line, f"no setting “{one_line(name, 60)}” in [{section}]", advice)


def _judge(
    run: dict[str, Any], lines: dict[tuple[str, ...], int], faults: list[Fault]
) -> JudgeSetting | None:
    """The judge that [run] names; None if it names none or one of its settings is wrong."""
    wrong = []
    for name, value in run.items():
        line = lines.get(("run", name))
        if name not in SECTIONS["run"]:
            wrong.append(_unknown("run", name, line))
        elif fault := _judge_fault(name, value):
            wrong.append(fault._replace(line=line))
    if run and not wrong and "judge" not in run:
        advice = 'Write for instance judge = "ollama:llama3.1:8b".'
        wrong.append(Fault(_first(lines, "run"), "[run] names no judge", advice))
    faults += wrong
    if not run or wrong:
        return None
    from recjudge_tui.domain.judge import JudgeAddress

    given = {
        option.name: _address_value(option, run[name]) for name, option in _ADDRESS.items() if name in run
    }
    return JudgeSetting(JudgeAddress(**given).judge_named(run["judge"].strip()), lines.get(("run", "judge")))


def _address_value(option: AddressOption, value: Any) -> Any:
    """A setting as the record takes it: one server may be written without a list."""
    return [value] if option.many and isinstance(value, str) else value


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


def _keys(
    table: dict[str, Any], above: tuple[str, ...], lines: dict[tuple[str, ...], int], faults: list[Fault]
) -> list[KeySetting]:
    """The key bindings; `"cases.filter" = "f"`, `cases.filter = "f"` and `[keys.cases] filter = "f"` are the same."""
    settings: list[KeySetting] = []
    for name, value in table.items():
        place = (*above, name)
        line = lines.get(("keys", *place))
        if isinstance(value, dict):
            settings += _keys(value, place, lines, faults)
            continue
        keys = (
            ",".join(value) if isinstance(value, list) and all(isinstance(k, str) for k in value) else value
        )
        if not isinstance(keys, str):
            faults.append(
                Fault(line, f"“{'.'.join(place)}” is not a key", 'Write a key in quotes: "f" or "f,f3".')
            )
        else:
            settings.append(KeySetting(".".join(place), keys, line))
    return settings


# ---- writing


def _with_theme(text: str, name: str) -> str | None:
    """The text with this one setting changed or added; None if [app] has no section for it. Raises ValueError for
    text that is not TOML."""
    import tomlkit
    from tomlkit.items import InlineTable, Table

    bare = text.removeprefix("\ufeff")
    wanted = parse_toml(bare)
    if not isinstance(wanted.setdefault("app", {}), dict):
        return None
    wanted["app"]["theme"] = name
    end = "\r\n" if "\r\n" in bare else "\n"
    document = tomlkit.parse(bare if not bare or bare.endswith("\n") else bare + end)
    theme = tomlkit.string(name)
    theme.trivia.trail = end
    app = document.get("app")
    if isinstance(app, InlineTable):
        return None
    if app is None:
        app = tomlkit.table()
        app.trivia.trail = end
        app.append("theme", theme)
        if bare:
            document.add(tomlkit.ws(end))
        document.append("app", app)
    elif "theme" in app or not isinstance(app, Table):
        app["theme"] = theme
    else:
        # appended, the line would follow the comments above the next section
        app.value.body.insert(0, (tomlkit.key("theme"), theme))
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
