"""Sentences that cite works of `references.bib`, and how plain text, Markdown and LaTeX write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.writers.latex import escaped as latex_text
from recjudge_tui.reports.common.writers.markdown import escaped as markdown_text

_ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),$.*?^\}$", re.MULTILINE | re.DOTALL)
_AUTHOR = re.compile(r"^  author = \{(.*)\},$", re.MULTILINE)
_YEAR = re.compile(r"^  year = \{(\d{4})\}", re.MULTILINE)
_MOST_NAMED = 2
_ACCENTS = {r"{\"a}": "ä", r"{\"u}": "ü", r"{\'a}": "á"}


@dataclass(frozen=True)
class Citation:
    """The works cited at one place, by key."""

    keys: tuple[str, ...]


Sentence: TypeAlias = "tuple[str | Citation, ...]"
Paragraph: TypeAlias = "tuple[Sentence, ...]"


def cite(*keys: str) -> Citation:
    return Citation(keys)


def cited_works(paragraphs: Iterable[Paragraph]) -> tuple[Reference, ...]:
    """The works cited, each once, in the order of `references.bib`."""
    cited = {
        key
        for paragraph in paragraphs
        for sentence in paragraph
        for part in sentence
        if isinstance(part, Citation)
        for key in part.keys
    }
    return tuple(reference for key, reference in references().items() if key in cited)


def plain(paragraph: Paragraph) -> str:
    """`… (Liu et al., 2026).`, safe to show."""
    return _written(paragraph, one_line, lambda keys: f"({'; '.join(references()[k].short for k in keys)})")


def markdown(paragraph: Paragraph) -> str:
    """With citations in Pandoc's form: `… [@liu2026saer].`"""
    return _written(paragraph, markdown_text, lambda keys: f"[{'; '.join(f'@{key}' for key in keys)}]")


def latex(paragraph: Paragraph) -> str:
    r"""With citations in natbib's form: `… \citep{liu2026saer}.`"""
    return _written(paragraph, latex_text, lambda keys: rf"\citep{{{','.join(keys)}}}")


def _written(
    paragraph: Paragraph, text: Callable[[str], str], citation: Callable[[tuple[str, ...]], str]
) -> str:
    return " ".join(
        "".join(
            citation(part.keys) if isinstance(part, Citation) else _spaced(part, text) for part in sentence
        )
        for sentence in paragraph
    )


def _spaced(part: str, text: Callable[[str], str]) -> str:
    """The text with the spaces at its ends, which writers remove."""
    left = " " if part.startswith(" ") else ""
    right = " " if part.endswith(" ") and part.strip() else ""
    return f"{left}{text(part.strip())}{right}"


class Reference(NamedTuple):
    """`short` is how a text cites it, such as `Clopper and Pearson, 1934`; `bibtex` is the entry."""

    key: str
    short: str
    bibtex: str


@lru_cache(maxsize=1)
def references() -> dict[str, Reference]:
    """key -> reference, in the order of the file."""
    text = Path(__file__).with_name("references.bib").read_text(encoding="utf-8")
    return {entry["key"]: _reference(entry["key"], entry[0]) for entry in _ENTRY.finditer(text)}


def _reference(key: str, bibtex: str) -> Reference:
    author, year = _AUTHOR.search(bibtex), _YEAR.search(bibtex)
    if author is None or year is None:
        raise ValueError(f"references.bib: {key} has no author or year")
    return Reference(key, f"{_surnames(author[1])}, {year[1]}", bibtex)


def _surnames(authors: str) -> str:
    for written, character in _ACCENTS.items():
        authors = authors.replace(written, character)
    names = [name.split(",")[0].strip() for name in authors.split(" and ")]
    if names[-1] == "others" or len(names) > _MOST_NAMED:
        return f"{names[0]} et al."
    return " and ".join(names)
