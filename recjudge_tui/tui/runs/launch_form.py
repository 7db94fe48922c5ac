"""The fields of the run form, and how their texts become a request. Contains no widget.

The fields of the settings come from their declaration in `domain.run_options`; those of the judge's address from
`domain.address`; the others are here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from recjudge_tui.domain.address import ADDRESS_OPTIONS, AddressError, sending_options
from recjudge_tui.domain.protocols import SAER, offered, protocol_facts
from recjudge_tui.domain.run_options import OCCASION_SETTINGS, RUN_OPTIONS, SAER_NAME, RunOption
from recjudge_tui.errors import UsageError
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.tui.kit.address_fields import read_address
from recjudge_tui.tui.runs.launch_request import LaunchRequest

CHOOSE = "← → choose"
_ARROWS = "← →"
# the three questions, which are always shown; "until" is part of the third
QUESTIONS = ("protocol", "judge", "until")
_HINTS = {
    "protocol": CHOOSE,
    "judge": f"{CHOOSE}   enter lists all judges, and takes another one",
    "until": f"{CHOOSE}   digits: another number",
    "toggle": "enter opens and closes the options of the run",
    "start": "enter starts the run; it works in the background",
}
BY_DATA = (*OCCASION_SETTINGS, "domain", "images", "again")
_LARGEST = 10**9


class Field(NamedTuple):
    """One line of the form. `hint` is shown while the field has the focus; `choices` are (value, text), none for a
    text field; `initial` is its first value."""

    name: str
    label: str
    hint: str = ""
    placeholder: str = ""
    initial: str = ""
    choices: tuple[tuple[str, str], ...] = ()


def _setting(name: str) -> Field:
    option = RUN_OPTIONS[name]
    choices = option.form_choices
    if option.by_protocol and choices:
        choices = (("", "default"), *choices)
    hint = f"{option.help} {_ARROWS}" if choices else option.help
    placeholder = option.placeholder
    settled = option.default not in (None, "", ()) and option.default != {} and not option.by_protocol
    initial = f"{option.default:g}" if settled and option.type in (int, float) else ""
    return Field(name, option.label, hint, placeholder, initial, choices)


FIELDS: tuple[Field, ...] = (
    Field("protocol", "1 Compare"),
    Field("judge", "2 Judge", initial="rules"),
    *(Field(name, option.label, option.hint, option.placeholder) for name, option in ADDRESS_OPTIONS.items()),
    Field("prompt", "prompt", f"{CHOOSE}; the first one fits the kind of data in this project",
          choices=(("", "by the kind of data"),)),
    Field("name", "rater name", "The rater name for its verdicts. Default: the judge's own.", "the judge's own"),
    *(_setting(name) for name in RUN_OPTIONS),
    Field("drop", "drop poor",
          "Do not pair systems with more Poor than this; SAER's authors warn against it", "none"),
)  # fmt: skip
FIELD_BY_NAME = {field.name: field for field in FIELDS}


def choices_of(field: Field) -> tuple[tuple[str, str], ...]:
    """The options of a field: (value, text); none for a text field."""
    if field.name == "protocol":
        return (*((name, name) for name in offered()), (SAER_NAME, "saer: alone, then pairs"))
    return field.choices


def is_asked(
    field: Field, protocol: str, by_data: Collection[str] = BY_DATA, *, decided: bool = True
) -> bool:
    """Whether the form has this field for a run of the protocol; fields that only some data needs must be in
    `by_data`. `decided`: the run stops when the comparison is decided, perhaps at a width.
    """
    if field.name == "drop":
        return protocol == SAER_NAME
    if field.name == "margin" and not decided:
        return False
    if field.name in BY_DATA and field.name not in by_data:
        return False
    return field.name not in RUN_OPTIONS or RUN_OPTIONS[field.name].is_taken_by(protocol)


def hint_of(name: str) -> str:
    """The hint while the field or button of this name has the focus."""
    return _HINTS.get(name) or (FIELD_BY_NAME[name].hint if name in FIELD_BY_NAME else "")


def default_text(name: str, protocol: str) -> str:
    """The meaning of an empty setting for a run of the protocol."""
    return str(getattr(protocol_facts(_one_protocol(protocol)), name))


def _one_protocol(name: str) -> str:
    """The protocol itself; for SAER its second stage, which has all settings of the first one."""
    return SAER[1] if name == SAER_NAME else name


_FLAG = re.compile(r"--[a-z][a-z-]*")
# options of the command line -> the names of their fields in the form
_LABELS = {
    flag: option.label for option in RUN_OPTIONS.values() if option.label for flag in option.flag.split("/")
} | {option.flag: option.label for option in ADDRESS_OPTIONS.values()}


def form_words(text: str) -> str:
    """The text with the form's names of options: “judge again” instead of --again."""
    return _FLAG.sub(lambda flag: f"“{_LABELS[flag[0]]}”" if flag[0] in _LABELS else flag[0], text)


class FieldError(UsageError):
    """The content of one field is invalid; `field` is its name."""

    def __init__(self, field: str, title: str, cause: str = "", next_step: str = "") -> None:
        super().__init__(title, cause, next_step)
        self.field = field


def read_form(values: Mapping[str, str]) -> LaunchRequest:
    """Parse the form into a request; fields that its protocol does not have count as empty.

    Raises FieldError naming the first invalid field.
    """
    protocol = values["protocol"]
    decided = bool(values["until"])
    values = {
        field.name: values[field.name] if is_asked(field, protocol, decided=decided) else ""
        for field in FIELDS
    }
    spec = values["judge"].strip()
    if not spec:
        raise FieldError("judge", "no judge yet", next_step="Press enter in its field for a list.")
    try:
        address = read_address(values)
    except AddressError as error:
        raise FieldError(error.option, error.title, error.cause, error.next_step) from error
    options = {name: _read(RUN_OPTIONS[name], text) for name, text in values.items() if name in RUN_OPTIONS}
    return LaunchRequest(
        address.judge_named(spec),
        settings_for(_one_protocol(protocol), **options),
        values["name"].strip(),
        values["prompt"],
        options,
        saer=protocol == SAER_NAME,
        drop_poor_over=_share("drop", values["drop"]),
    )


def _read(option: RunOption, text: str) -> Any:
    """The value of a setting; None for the default."""
    if option.type is bool:
        return option.default == (text in ("", option.form_choices[0][0]))
    if option.repeated:
        return _separated(text)
    if option.type is tuple:
        return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if option.type is int:
        return _whole(option, text.strip())
    if option.type is float:
        return _number(option, text.strip())
    if option.as_json:
        return _sending(option, text)
    if option.type is dict:
        return _words(option, text)
    return text.strip() or None


def _separated(text: str) -> tuple[str, ...]:
    """Names separated by commas; a name with a comma is written in quotes."""
    names = next(csv.reader([text], skipinitialspace=True), [])
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _whole(option: RunOption, text: str) -> int | None:
    if not text:
        return None
    least, most = int(option.bounds.get("ge", 0)), int(option.bounds.get("le", _LARGEST))
    if not (text.isascii() and text.isdigit() and least <= int(text[:12]) <= most):
        bound = f"from {least} to {most:,}" if most < _LARGEST else f"of {least} or more"
        raise FieldError(
            option.name, f"“{text[:40]}” does not fit “{option.label}”", f"Write a whole number {bound}."
        )
    return int(text)


def _number(option: RunOption, text: str) -> float | None:
    if not text:
        return None
    bounds = option.bounds
    if re.fullmatch(r"[0-9]{0,9}(\.[0-9]{0,9})?", text, re.ASCII) and text != ".":
        value = float(text)
        low = value > bounds["gt"] if "gt" in bounds else value >= bounds.get("ge", 0)
        if low and (value < bounds["lt"] if "lt" in bounds else value <= bounds.get("le", _LARGEST)):
            return value
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    allowed = " and ".join(f"{words[name]} {bound:g}" for name, bound in bounds.items())
    raise FieldError(
        option.name, f"“{text[:40]}” does not fit “{option.label}”", f"Write a number: {allowed}."
    )


def _words(option: RunOption, text: str) -> dict[str, str]:
    """NAME=WORD, separated by commas, as a mapping."""
    words = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, sign, word = part.partition("=")
        if not (sign and name.strip() and word.strip()):
            raise FieldError(
                option.name,
                f"“{part[:40]}” does not fit “{option.label}”",
                "Write NAME=WORD, such as item=book, with commas between several.",
            )
        words[name.strip()] = word.strip()
    return words


def _sending(option: RunOption, text: str) -> dict[str, Any]:
    """KEY=JSON, separated by semicolons, as a mapping."""
    try:
        return sending_options(filter(None, (part.strip() for part in text.split(";"))))
    except UsageError as error:
        raise FieldError(option.name, error.title, error.cause, error.next_step) from error


def _share(field: str, text: str) -> float | None:
    text = text.strip()
    if not text:
        return None
    if not re.fullmatch(r"0?\.[0-9]{1,6}|[01]|1\.0{1,6}|0\.", text, re.ASCII):
        raise FieldError(
            field,
            f"“{text[:40]}” does not fit “{FIELD_BY_NAME[field].label}”",
            "Write a share from 0 to 1, such as 0.5.",
        )
    return float(text)
