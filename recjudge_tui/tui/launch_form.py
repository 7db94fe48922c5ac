"""What the form for a run asks, and how its texts become the settings of a run. No widget in here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from recjudge_tui.errors import UsageError
from recjudge_tui.model.judge import JudgeSpec
from recjudge_tui.model.run import RunSettings
from recjudge_tui.protocols.registry import protocol


class Field(NamedTuple):
    """One line of the form. `hint` is shown while the field has the focus."""

    name: str
    label: str
    hint: str
    placeholder: str = ""


FIELDS: tuple[Field, ...] = (
    Field("protocol", "protocol", "pointwise: each list alone. pairwise: two lists of one user. ← → choose"),
    Field("judge", "judge", "rules, random, ollama:MODEL, openai:MODEL, replay:FILE. enter shows those known here", "rules"),
    Field("urls", "base URL", "Where the server listens; several separated by spaces. Empty: the provider's own", "default"),
    Field("key", "key env", "The NAME of the environment variable that holds the API key; never the key itself", "default"),
    Field("prompt", "prompt", "← → choose; the first one fits the kind of data in this project"),
    Field("systems", "systems", "Names separated by commas. Empty: all that have lists", "all"),
    Field("top", "top K", "How many items of each list are shown to the judge"),
    Field("limit", "first N", "Judge only the first N cases. Empty: all", "all"),
    Field("sample", "sample N", "Judge N cases of users drawn at random. Empty: all", "no sample"),
    Field("seed", "seed", "For the sample and for the judge"),
    Field("swap", "order", "Both orders show how far the judge depends on position, for twice the calls. ← → choose"),
    Field("history", "no history", "Users without any history: leave them out, or judge them all the same. ← → choose"),
    Field("concurrency", "at once", "Calls in flight at once. Empty: what suits the judge", "auto"),
    Field("name", "rater name", "The name its verdicts go by. Empty: the judge's own", "the judge's own"),
)  # fmt: skip
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class RunWish(NamedTuple):
    judge: JudgeSpec
    settings: RunSettings
    rater: str
    prompt: str


class FieldError(UsageError):
    """What stands in one field does not fit; `field` is its name."""

    def __init__(self, field: str, title: str, cause: str = "", next_step: str = "") -> None:
        super().__init__(title, cause, next_step)
        self.field = field


def read_form(values: Mapping[str, str]) -> RunWish:
    """The run that the texts of the form ask for. Raises FieldError naming the first field that does not fit."""
    spec = values["judge"].strip()
    if not spec:
        raise FieldError(
            "judge", "no judge yet", next_step="Write one, or press enter in its field for a list."
        )
    key = values["key"].strip()
    if key and not _VARIABLE.fullmatch(key):
        raise FieldError(
            "key",
            "that is not the name of an environment variable",
            "A key itself must not stand here: what stands here is stored with the run.",
            "Set the key in the environment and write the variable's name, such as OPENAI_API_KEY.",
        )
    name = values["protocol"]
    settings = RunSettings(
        protocol=protocol(name).name,
        systems=_names(values["systems"]),
        top_k=_whole(values, "top", 1, 1000) or protocol(name).default_top_k,
        limit=_whole(values, "limit", 1),
        sample=_whole(values, "sample", 1),
        seed=_whole(values, "seed", 0) or 0,
        swap=values["swap"] == "both",
        no_history=values["history"] == "judge",
        concurrency=_whole(values, "concurrency", 1, 1024),
    )
    urls = tuple(values["urls"].replace(",", " ").split())
    return RunWish(
        JudgeSpec(spec=spec, base_urls=urls, api_key_env=key),
        settings,
        values["name"].strip(),
        values["prompt"],
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _whole(values: Mapping[str, str], field: str, least: int, most: int = 10**9) -> int | None:
    text = values[field].strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and least <= int(text[:12]) <= most):
        label = next(f.label for f in FIELDS if f.name == field)
        bound = f"from {least} to {most:,}" if most < 10**9 else f"of {least} or more"
        raise FieldError(field, f"“{text[:40]}” does not fit “{label}”", f"It wants a whole number {bound}.")
    return int(text)
