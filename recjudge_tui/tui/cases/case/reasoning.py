"""A judge's reasoning on a case in each order, with the systems' names in place of the letters it was shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from textual.content import Content

from recjudge_tui.domain.text import one_line, quantity, safe_text
from recjudge_tui.store.case_detail import CallAnswer, CaseDetail
from recjudge_tui.tui.kit.glyphs import Glyphs

# the names of the two lists in prompts and replies, in the order shown
_SHOWN = re.compile(r"\b(?:list|set|system|slate|option|recommender)\s+([A1]|[B2])\b", re.IGNORECASE)
_NAME = 24


class AnswerText(NamedTuple):
    """One answer: the order in words, and the text."""

    title: str
    body: tuple[Content, ...]


def reasonings(
    case: CaseDetail, answers: Sequence[CallAnswer], symbols: Glyphs, longest: int
) -> Iterator[AnswerText]:
    """The answers one after the other: the first order, then the swapped one."""
    for at, answer in enumerate(answers):
        yield AnswerText(
            _title(case, answer, at, len(answers) > 1), tuple(_body(case, answer, symbols, longest))
        )


def chosen_system(case: CaseDetail, label: str) -> str:
    """The system that a pair's label means; the label itself if it means none."""
    systems = dict(zip("AB", (name for name, _ in case.slates), strict=False))
    return one_line(systems.get(label, label), _NAME)


def cut_text(text: str, longest: int) -> str:
    """Safe text of several lines, cut to `longest` characters."""
    shown = safe_text(text[:longest]).strip()
    left = len(text) - longest
    return f"{shown} … ({left:,} more characters: “Y” saves all of it)" if left > 0 else shown


def _title(case: CaseDetail, answer: CallAnswer, at: int, several: bool) -> str:
    """`Reasoning (cooccurrence first → embedding)`."""
    name = "Reasoning" if at == 0 else "Swapped" if answer.set_one else "Again"
    sample = f"sample {answer.sample + 1}" if several and not answer.set_one else ""
    first = f"{one_line(answer.set_one, _NAME)} first" if answer.set_one else sample
    if not first:
        return name
    chosen = "failed" if answer.failed else chosen_system(case, answer.label)
    return f"{name} ({first} → {chosen})"


def _body(case: CaseDetail, answer: CallAnswer, symbols: Glyphs, longest: int) -> Iterator[Content]:
    if answer.failed:
        tries = quantity(answer.attempts, "attempt")
        kind = one_line(answer.error_kind.replace("_", " "), 40)
        yield Content.assemble((f"{symbols.failed} {kind}", "$error"), f" after {tries}")
    text = cut_text(answer.error if answer.failed else answer.reasoning, longest)
    yield _named(case, answer, text) if text else Content.styled("(no reasoning)", "dim")


def _named(case: CaseDetail, answer: CallAnswer, text: str) -> Content:
    """The text with the name of the system behind every `list A` and `Set 2`, by the order that the judge was shown."""
    names = [name for name, _ in case.slates]
    if len(names) != 2 or answer.set_one not in names:
        return Content(text)
    if answer.set_one == names[1]:
        names.reverse()
    parts: list[str | tuple[str, str]] = []
    end = 0
    for match in _SHOWN.finditer(text):
        second = match.group(1).upper() in ("B", "2")
        parts += [text[end : match.end()], (f" ({one_line(names[second], _NAME)})", "dim")]
        end = match.end()
    return Content.assemble(*parts, text[end:])
