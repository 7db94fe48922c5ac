"""From a prompt and a case to messages. Text from the data stays data: it cannot become a template or close its frame."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from traceback import walk_tb
from typing import Any

from jinja2 import (
    FunctionLoader,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
)

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.calls import Message, PlacedImage
from recjudge_tui.domain.event_types import RATING, action_of
from recjudge_tui.domain.material import ItemView, Material, ShownEvent, bounds
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import PromptError
from recjudge_tui.protocols import sandbox

_PART = "part of a prompt: "
_SPACE = re.compile(r"\s+")
# the line of an item with an image ends with this; text from the data cannot contain it, because control characters
# never enter a prompt. In the finished text a number replaces it, and the image follows the number
_IMAGE_MARK = re.compile("\x00([0-9a-f]{64})\x00")
# the frames of the shipped prompts look like tags: text from the data may not contain a character that opens one (or
# looks like one)
_TAG_OPENERS = str.maketrans(dict.fromkeys("<＜﹤", "‹"))
# words that begin with a vowel sound: a silent h, or a vowel that is not said like "you" (university) or "won" (one)
_VOWEL_SOUND = re.compile(
    r"\s*(?:hour|honest|honou?r|heir|(?!eu|ewe|once?\b|one-|ubiq|uni(?!n)|us[aeiu]|ut[ei]|uk\b)[aeiou])",
    re.IGNORECASE,
)
# what a template can raise besides Jinja2's own errors; the last five when Python compiles or runs the result
_TEMPLATE_FAULTS = (
    TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError,
    RuntimeError, SyntaxError, AssertionError, MemoryError, NameError,
)  # fmt: skip


class Lines(str):
    """Text that is already safe, line by line, and enters a prompt unchanged."""

    __slots__ = ()


def as_data(value: object) -> str:
    """A value as it enters the text of a case: one line, no control characters, and no `<`, which could end a frame."""
    if isinstance(value, Lines):
        return value
    text = safe_text(value)
    if text.isascii() and text.isprintable() and "  " not in text:
        # most text is like this, and neither pattern need be searched for
        return text.replace("<", "‹")
    return _SPACE.sub(" ", text).translate(_TAG_OPENERS)


def as_json(value: object) -> str:
    """A reply of an example as the JSON a judge should write."""
    return json.dumps(value, ensure_ascii=False)


def with_article(noun: object) -> str:
    """A noun with its indefinite article: `an online shop`, `a film platform`, `a university library`."""
    return f"{'an' if _VOWEL_SOUND.match(str(noun)) else 'a'} {noun}"


def item_line(item: sandbox.Record, *attributes: str) -> Lines:
    """`Title | brand: B | category: C` on one line, then the named attributes and the image; unknown or hidden parts are
    left out. A `|` inside a part becomes `/`, so that a title cannot imitate a brand or a category."""
    _check(item, ItemView, "item_line expects an item")
    more, image = item["attributes"], item["image"]
    parts: tuple[tuple[str, str], ...] = (("brand", item["brand"]), ("category", item["category"]))
    if attributes:
        parts += tuple((name, more.get(name, "")) for name in attributes)
    return _item_line(item["title"], parts, image["digest"] if image else "")


# cached, because the same items are in many lists and histories
@lru_cache(maxsize=20_000)
def _item_line(title: str, parts: tuple[tuple[str, str], ...], image: str) -> Lines:
    named = [f"{name}: {_part(value)}" for name, value in parts if value]
    return Lines(" | ".join([_part(title), *named]) + (f"\x00{image}\x00" if image else ""))


def item_lines(items: Iterable[sandbox.Record], *attributes: str) -> Lines:
    """A list as numbered lines, from 1."""
    return Lines("\n".join(f"{place}. {item_line(item, *attributes)}" for place, item in enumerate(items, 1)))


def event_line(event: sandbox.Record, *attributes: str, values: bool = False) -> Lines:
    """`2024-05-01 purchase: Title | brand: B | category: C | rated 4` on one line. The value of events of other types than
    `rating` is shown only with `values`; so is the scale, where it is known."""
    _check(event, ShownEvent, "event_line expects an event")
    item = event["item"]
    what = item_line(item, *attributes) if item else f"“{_part(event['text'])}”"
    value, kind, scale, shown = event["value"], event["type"], event["scale"] if values else None, ""
    if value is not None and (values or kind == RATING):
        word = "rated" if scale or kind == RATING or action_of(kind) == "rated" else "value"
        shown = f" | {word} {value:g}" + (f" on a scale of {scale[0]:g} to {scale[1]:g}" if scale else "")
    head = f"{_part(event['timestamp'][:10])} {_part(kind)}".strip()
    return Lines(f"{head}: {what}{shown}")


def event_lines(events: Iterable[sandbox.Record], *attributes: str, values: bool = False) -> Lines:
    """Events as lines that begin with a dash, in the order given."""
    return Lines("\n".join(f"- {event_line(event, *attributes, values=values)}" for event in events))


def _check(value: object, kind: type[Model], what: str) -> None:
    if type(value) is not sandbox.Record or value.kind is not kind:
        raise TypeError(f"{what}, not {sandbox.described(value)}")


@lru_cache(maxsize=20_000)
def _part(text: str) -> str:
    """One part of a line, on a single line and without characters that separate parts or open a tag."""
    return one_line(text.replace("|", "/")).translate(_TAG_OPENERS)


def system_text(prompt: Prompt, top_k: int, aspect: str = "") -> str:
    """The shared part: the same for every case of a run (and aspect), because no case is known here."""
    return _system_text(sandbox.Same(prompt), top_k, aspect)


@lru_cache(maxsize=32)
def _system_text(key: sandbox.Same, top_k: int, aspect: str) -> str:
    prompt = key.model
    assert isinstance(prompt, Prompt)
    return _rendered(prompt, prompt.system, "system", {**_of_prompt(key, aspect), **_bounds(top_k, top_k)})


def _bounds(top_k: int, length: int) -> dict[str, Any]:
    """The items asked for, and how many fitting ones make a list of this length good and partial."""
    good_from, partial_from = bounds(length)
    return {"top_k": top_k, "good_from": good_from, "partial_from": partial_from}


@lru_cache(maxsize=32)
def _of_prompt(key: sandbox.Same, aspect: str) -> Mapping[str, Any]:
    """The fields of the prompt that both texts get."""
    prompt = key.model
    assert isinstance(prompt, Prompt)

    def worded(models: Iterable[Model], field: str) -> tuple[sandbox.Record, ...]:
        """Copies for a template, with the run's words in the text of one field."""
        records: tuple[sandbox.Record, ...] = tuple(map(sandbox.plain, models))
        for copy in records:
            copy[field] = prompt.worded(copy[field])
        return records

    return {
        "labels": worded(prompt.labels, "meaning"),
        "scale": sandbox.plain(prompt.scale),
        "aspects": worded(prompt.aspects_of(aspect), "question"),
        "issues": worded(prompt.issues, "meaning"),
        "examples": sandbox.plain(prompt.shown_examples()),
        "variables": sandbox.plain(prompt.variables),
    }


def user_text(prompt: Prompt, material: Material, aspect: str) -> str:
    """The text of one case, lists in the order of `material.slates`; the bounds are those of the first list's length."""
    length = len(material.slates[0].items) if material.slates else material.top_k
    of_case = {
        "user": sandbox.record(material.user),
        "slates": tuple(map(sandbox.record, material.slates)),
        "explanation": sandbox.plain(material.explanation),
        "example": sandbox.plain(material.example),
    }
    names = {**of_case, **_of_prompt(sandbox.Same(prompt), aspect), **_bounds(material.top_k, length)}
    return _rendered(prompt, prompt.user, "user", names)


def messages(prompt: Prompt, material: Material, aspect: str = "") -> tuple[Message, Message]:
    """The two messages of a call: the shared prefix, then the case with the images of its items. Raises PromptError."""
    return (
        Message(role="system", content=system_text(prompt, material.top_k, aspect)),
        _with_images(user_text(prompt, material, aspect), material),
    )


def _with_images(text: str, material: Material) -> Message:
    """The text of a case, with the images of its items beside their lines. If the prompt writes items without `item_line`,
    the lines of items with images come above its text."""
    items = {item.item_id: item for item in material.items_with_images()}
    if items and not _IMAGE_MARK.search(text):
        lines = [f"- {item_line(sandbox.record(item))}" for item in items.values()]
        text = "\n".join(("Images of items:", *lines, "", text))
    images = {item.image.digest: item.image for item in items.values() if item.image}
    content = ""
    placed: list[PlacedImage] = []
    # the parts are texts and, between them, digests
    for place, part in enumerate(_IMAGE_MARK.split(text) if items else [text]):
        if place % 2 == 0:
            content += part
        elif part in images:
            content += f" [image {len(placed) + 1}]"
            placed.append(PlacedImage(at=len(content), image=images[part]))
    return Message(role="user", content=content, images=tuple(placed))


def profile_messages(prompt: Prompt, material: Material) -> tuple[Message, Message]:
    """The two messages of the call that writes a user's profile. Raises PromptError where the prompt has none."""
    if prompt.profile is None:
        fault = f"prompt “{prompt.name}” has no instructions for writing a profile"
        raise PromptError(fault, next_step="Give it a [profile] table.")
    names = {"user": sandbox.record(material.user), "variables": sandbox.plain(prompt.variables)}
    return (
        Message(role="system", content=_rendered(prompt, prompt.profile.system, "system", names)),
        Message(role="user", content=_rendered(prompt, prompt.profile.user, "user", names)),
    )


_FILTERS: tuple[Callable[..., str], ...] = (item_line, item_lines, event_line, event_lines, with_article)


@lru_cache(maxsize=2)
def environment(part: str) -> sandbox.TemplateSandbox:
    """The sandbox of the `system` or the `user` templates."""
    return sandbox.TemplateSandbox(
        {"json": as_json, **{filter_.__name__: filter_ for filter_ in _FILTERS}},
        # the system text holds nothing but the prompt file's own words, which keep their lines
        as_data if part == "user" else str,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


@lru_cache(maxsize=64)
def _template(source: str, part: str, parts: tuple[tuple[str, str], ...]) -> Template:
    texts = dict(parts)

    def load(name: str) -> tuple[str, str, None] | None:
        # the file name of a part is what a traceback shows of it
        return (texts[name], f"{_PART}{name}", None) if name in texts else None

    return environment(part).overlay(loader=FunctionLoader(load)).from_string(source)


def _rendered(prompt: Prompt, source: str, part: str, names: dict[str, Any]) -> str:
    parts = tuple((prompt.parts or {}).items())
    try:
        return sandbox.written(_template(source, part, parts), names).strip()
    except _TEMPLATE_FAULTS as error:
        name, line = _template_line(error)
        fault = str(error).rstrip(".") or type(error).__name__
        if isinstance(error, TemplateNotFound):
            fault = f"there is no part “{error.name}”; the parts are: {', '.join(dict(parts)) or 'none'}"
        where = f"part “{name}”" if name else f"{part} text"
        raise PromptError(
            f"prompt “{prompt.name}” cannot be rendered",
            f"In its {where}{f', line {line}' if line else ''}: {fault}.",
            "Correct the template.",
        ) from error


def _template_line(error: BaseException) -> tuple[str, int | None]:
    """The part (empty: none) and the line of the template at fault, which Jinja2 writes into the traceback."""
    if isinstance(error, TemplateSyntaxError):
        return error.name or "", error.lineno
    files = ((frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__))
    frames = [
        (file.removeprefix(_PART) if file.startswith(_PART) else "", line)
        for file, line in files
        if file == "<template>" or file.startswith(_PART)
    ]
    return frames[-1] if frames else ("", None)
