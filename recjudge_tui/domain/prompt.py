"""A prompt as data: label set, aspects, templates and examples, as in the TOML files of `prompts/`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.calls import digest
from recjudge_tui.domain.protocols import PROTOCOLS

# the placeholder for a variable's word in a question or a meaning
_PLACE = re.compile(r"\{(\w+)\}")


def _registered(name: str) -> str:
    if name not in PROTOCOLS:
        raise ValueError(f"no protocol “{name}”; available: {', '.join(PROTOCOLS)}")
    return name


# the name of a registered protocol, checked where a record is made
ProtocolName = Annotated[str, AfterValidator(_registered)]


class LabelSpec(Model):
    """An answer that a judge may give: `reply` is the word in the reply, `name` the word stored and shown. `rolls_up`: the
    name of the label as which a finer one counts, unless finer labels are asked for."""

    name: str
    reply: str
    value: float
    meaning: str = ""
    rolls_up: str | None = None


class AspectSpec(Model):
    """One question. `field` is its key in the reply; `aliases` are other names that replies may use."""

    name: str
    field: str
    question: str = ""
    aliases: tuple[str, ...] = ()
    labels: tuple[LabelSpec, ...] = ()


class ScaleSpec(Model):
    """Answers are numbers from `low` to `high` instead of labels."""

    low: float
    high: float

    @model_validator(mode="after")
    def _is_a_range(self) -> ScaleSpec:
        if not self.low < self.high:
            raise ValueError("the low end of a scale must be below its high end")
        return self


class ProfileSpec(Model):
    """The two templates of the call in which a model writes a user's profile from the history."""

    system: str
    user: str


class IssueSpec(Model):
    name: str
    meaning: str
    severity: Literal["minor", "severe", "either"] = "either"


class Example(Model):
    """A few-shot example: free-form `input` for the template, and the right reply. `domain`: the domain that it is about,
    if any; runs about other domains do not show it."""

    title: str
    domain: str | None = None
    input: dict[str, Any]
    reply: dict[str, Any]


class Prompt(Model):
    """A prompt file. `labels` are for every aspect without its own; a prompt with a `scale` has none. `system` is the text
    shared by all cases of a run, `user` that of one; both Jinja2 templates, which may include the named `parts`. `domain`:
    the kind of data (shopping, media, any), `source`: the method's, `ours`: rules that are not from there. `profile`: where
    the model writes one first. A run sets the variables `domain`, `published` (yes, no) and `reasoning` (first, none)."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    protocol: ProtocolName
    domain: str = "any"
    description: str = ""
    source: str = ""
    ours: tuple[str, ...] = ()
    labels: tuple[LabelSpec, ...] = ()
    scale: ScaleSpec | None = None
    aspects: tuple[AspectSpec, ...]
    issues: tuple[IssueSpec, ...] = ()
    examples: tuple[Example, ...] = ()
    variables: dict[str, str] = {}
    system: str
    user: str
    profile: ProfileSpec | None = None
    parts: dict[str, str] | None = None

    @model_validator(mode="after")
    def _names_are_unique(self) -> Prompt:
        for what, names in (
            ("aspect", [a.name for a in self.aspects]),
            ("field", [a.field for a in self.aspects]),
            ("issue", [i.name for i in self.issues]),
            ("label", [label.name.casefold() for label in self.labels]),
            ("label reply", [label.reply.casefold() for label in self.labels]),
        ):
            doubled = sorted({n for n in names if names.count(n) > 1})
            if doubled:
                raise ValueError(f"{what} named twice: {', '.join(doubled)}")
        if not self.aspects:
            raise ValueError("a prompt needs at least one aspect")
        for aspect in self.aspects:
            if bool(self.labels_of(aspect.name)) == (self.scale is not None):
                raise ValueError(f"aspect {aspect.name} needs labels, or the prompt a scale, and not both")
            whole = [label.name for label in self.labels_of(aspect.name) if label.rolls_up is None]
            for label in self.labels_of(aspect.name):
                if label.rolls_up is not None and label.rolls_up not in whole:
                    raise ValueError(
                        f"label {label.name} rolls up to “{label.rolls_up}”; possible: {', '.join(whole) or 'none'}"
                    )
        return self

    def labels_of(self, aspect: str) -> tuple[LabelSpec, ...]:
        for spec in self.aspects:
            if spec.name == aspect:
                return spec.labels or self.labels
        return self.labels

    def aspects_of(self, aspect: str) -> tuple[AspectSpec, ...]:
        """The aspects of a call: the one called `aspect`, or all of them if it is empty."""
        return tuple(spec for spec in self.aspects if aspect in ("", spec.name))

    def with_variables(self, variables: Mapping[str, str]) -> Prompt:
        """The same prompt with some of its variables replaced."""
        return self.model_copy(update={"variables": {**self.variables, **variables}}) if variables else self

    def shown_examples(self) -> tuple[Example, ...]:
        """The examples about the domain in the variable `domain`, and those about no domain. Without that variable, the
        domain of the first example that has one is used."""
        about = self.variables.get("domain") or next((e.domain for e in self.examples if e.domain), None)
        return tuple(example for example in self.examples if example.domain in (None, about))

    def worded(self, text: str) -> str:
        """A question or a meaning with `{name}` replaced by the words of the variables."""
        return _PLACE.sub(lambda place: self.variables.get(place[1], place[0]), text)

    @property
    def content_hash(self) -> str:
        """SHA-256 (hex) of everything that can affect a judge; a change makes a new version."""
        return digest(
            self.model_dump(mode="json", exclude={"description", "source", "ours"}, exclude_none=True)
        )
