"""A prompt as data: label set, aspects, templates and examples; what a TOML file in `prompts/` holds."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from recjudge_tui.model.base import Model
from recjudge_tui.model.calls import digest

ProtocolName = Literal["pointwise", "pairwise", "arena", "absolute", "explanation"]


class LabelSpec(Model):
    """One answer a judge may give: `reply` is the word asked for, `name` the word stored and shown."""

    name: str
    reply: str
    value: float
    meaning: str = ""


class AspectSpec(Model):
    """One question. `field` is its key in the reply; `aliases` are other names found in replies."""

    name: str
    field: str
    question: str = ""
    aliases: tuple[str, ...] = ()
    labels: tuple[LabelSpec, ...] = ()


class IssueSpec(Model):
    name: str
    meaning: str
    severity: Literal["minor", "severe", "either"] = "either"


class Example(Model):
    """A few-shot example: free-form `input` for the template, and the reply it should get."""

    title: str
    input: dict[str, Any]
    reply: dict[str, Any]


class Prompt(Model):
    """A prompt file. `labels` serve every aspect that has none of its own.

    `system` is the shared text, the same for every case of a run; `user` is the text of one case. Both
    are Jinja2 templates. `domain` says what it was written for (shopping, media, any).
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    protocol: ProtocolName
    domain: str = "any"
    description: str = ""
    source: str = ""
    labels: tuple[LabelSpec, ...]
    aspects: tuple[AspectSpec, ...]
    issues: tuple[IssueSpec, ...] = ()
    examples: tuple[Example, ...] = ()
    variables: dict[str, str] = {}
    system: str
    user: str

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
        return self

    def labels_of(self, aspect: str) -> tuple[LabelSpec, ...]:
        for spec in self.aspects:
            if spec.name == aspect:
                return spec.labels or self.labels
        return self.labels

    @property
    def content_hash(self) -> str:
        """SHA-256 (hex) of everything a judge could notice; a change makes a new version."""
        return digest(self.model_dump(mode="json", exclude={"description", "source"}))
