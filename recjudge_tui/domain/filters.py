"""The filter grammar of verdict lists: `flag:any judge:qwen why:swap conf<.6 "free text"`."""

from __future__ import annotations

import re
import sys
from itertools import product
from typing import NamedTuple

from recjudge_tui.domain.occasions import OccasionFilter, occasion_filter
from recjudge_tui.errors import UsageError

WHY = ("swap", "flag", "failed", "disagree")
STATES = ("ok", "failed")
# reasons to put a verdict into the queue, in the order of the queue
QUEUED = ("people", "split", "flip", "confidence", "failed", "orders")
# waits for a reader too, but only where it is asked for
FLAGGED = "flagged"
# `disagree:human`: the verdicts of all people
ALL_PEOPLE = "human"
TRIAGED = ("yes", "no", "accepted", "dismissed", "overridden")

# key -> how to write it, for messages and completion
KEYS: dict[str, str] = {
    "flag": "flag:any or an issue type",
    "judge": "judge:NAME, any part of a rater's name; judge=NAME, the whole name",
    "label": "label:poor, label:A, label:tie",
    "aspect": "aspect:accuracy",
    "queue": f"queue:any or queue:{'|'.join(QUEUED)}, verdicts that need a decision and have none; queue:flagged, other"
    " flagged lists without one; queue:all, both",
    "why": f"why:{'|'.join(WHY)}",
    "system": "system:NAME, any part of a system's name; system=NAME, the whole name",
    "won": "won:SYSTEM, the whole name: pairs of lists that it won",
    "tied": "tied:SYSTEM, pairs of lists in which it tied",
    "lost": "lost:SYSTEM, pairs of lists that it lost",
    "user": "user:ID, the whole id",
    "context": 'context:NAME, the whole name; context:"" for none',
    "from": "from:2024-05-01, served on that day (UTC) or later",
    "to": "to:2024-05-31, served by the end of that day (UTC)",
    "case": "case:NUMBER",
    "run": "run:NUMBER",
    "state": f"state:{'|'.join(STATES)}",
    "protocol": "protocol:pairwise",
    "conf": "conf<.6, conf>=.9",
    "disagree": f"disagree:NAME, a rater's name or any part of it, or disagree:{ALL_PEOPLE}",
    "triaged": f"triaged:{'|'.join(TRIAGED)}",
    "theme": "theme:NAME, any part of a theme that the reasons about the case use; theme=NAME, the whole name",
    "tag": "tag:NAME, any part of a tag; tag=NAME, the whole tag",
    "spread": "spread>=2, between the lowest and the highest score of the question",
    "distance": "distance>=2, from the user's own score",
}
COMPARED = {"conf": "conf<.6", "spread": "spread>=2", "distance": "distance>=2"}
# all keys, shown while the line is empty
HINT = " ".join(COMPARED.get(key, f"{key}:") for key in KEYS)
_NUMBERED = ("case", "run")
# after `:` any part of the value will do, after `=` only the whole
_IN_PARTS = ("judge", "system", "tag", "theme")
OCCASIONS = ("context", "from", "to")
OCCASION_HINT = " ".join(f"{key}:" for key in OCCASIONS)
_WORDS = {"why": WHY, "state": STATES, "triaged": TRIAGED, "queue": ("any", "all", *QUEUED, FLAGGED)}
# a quote within quotes is doubled
_QUOTED = r'"((?:[^"]|"")*)"?'
_TOKEN = re.compile(rf"([A-Za-z_]+)(:|<=|>=|<|>|=)(?:{_QUOTED}|(\S*))|{_QUOTED}|(\S+)")
_SIGNS = re.compile(r'\s|^"')
_TEXT_SIGNS = re.compile(rf"{_SIGNS.pattern}|[:<>=]")
MOST_TERMS = 200
LONGEST_TERM = 5_000


class Term(NamedTuple):
    """One condition. `key` is one of KEYS, or `text` for free text; `op` is `:`, `=` (the whole value) or a comparison."""

    key: str
    op: str
    value: str

    def chip(self) -> str:
        """The term as text that parses to it."""
        quoted = not self.value or (_TEXT_SIGNS if self.key == "text" else _SIGNS).search(self.value)
        value = '"' + self.value.replace('"', '""') + '"' if quoted else self.value
        return value if self.key == "text" else f"{self.key}{self.op}{value}"


def whole_term(key: str, value: str) -> Term:
    """The term that only the whole value matches."""
    return Term(key, "=" if key in _IN_PARTS else ":", value)


class VerdictFilter(NamedTuple):
    """Terms with different keys must all hold; of several terms with the same key one is enough. All free texts must be
    found, and all comparisons (COMPARED) must hold."""

    terms: tuple[Term, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)

    def chips(self) -> tuple[str, ...]:
        return tuple(term.chip() for term in self.terms)

    def text(self) -> str:
        """The filter as text that parses to it."""
        return " ".join(self.chips())

    def at(self, occasions: OccasionFilter) -> VerdictFilter:
        """The filter restricted to these occasions. Raises UsageError if it chooses others itself."""
        more = occasion_terms(occasions)
        for key in sorted({term.key for term in self.terms} & {term.key for term in more}):
            raise UsageError(
                f"--{key} cannot be combined with “{key}:” in the filter", next_step="Use one of them."
            )
        return VerdictFilter(self.terms + more)

    def queue(self) -> frozenset[str]:
        """The reasons (of QUEUED and FLAGGED) that the filter selects from the queue; empty without such a term."""
        asked = {term.value for term in self.terms if term.key == "queue"}
        if "all" in asked:
            return frozenset((*QUEUED, FLAGGED))
        return frozenset({*asked, *QUEUED} - {"any"} if "any" in asked else asked)

    def without(self, key: str) -> VerdictFilter:
        return VerdictFilter(tuple(term for term in self.terms if term.key != key))

    def without_last(self) -> VerdictFilter:
        return VerdictFilter(self.terms[:-1])


def parse_filter(text: str) -> VerdictFilter:
    """Parse a filter. An empty text matches everything. Raises UsageError for an unknown key, a missing value, an invalid
    number, an unknown word after `why:`, `state:`, `triaged:` or `queue:`, a `from:` after a `to:`, more than MOST_TERMS
    terms or more than LONGEST_TERM characters in one; the message says what is allowed."""
    # SQLite ends a pattern at this character
    matches = [match.groups() for match in _TOKEN.finditer(text.replace("\0", " "))]
    terms: dict[Term, None] = {}
    for key, op, quoted, bare, phrase, word in matches:
        inside = phrase if key is None else quoted
        value = (word if key is None else bare) if inside is None else inside.replace('""', '"')
        if len(value) > LONGEST_TERM:
            raise UsageError(
                f"a term of a filter has at most {LONGEST_TERM:,} characters, not {len(value):,}"
            )
        if key is not None:
            terms[_term(key.lower(), op, value, quoted=inside is not None)] = None
        elif value.strip():
            terms[Term("text", ":", value.strip())] = None
    if len(terms) > MOST_TERMS:
        raise UsageError(f"a filter has at most {MOST_TERMS} terms, not {len(terms):,}")
    starts, ends = ([term.value for term in terms if term.key == key] for key in ("from", "to"))
    for start, end in product(starts, ends):
        occasion_filter((), start, end)
    return VerdictFilter(tuple(terms))


def occasion_terms(chosen: OccasionFilter) -> tuple[Term, ...]:
    """The terms that match the same as the options --context, --from and --to."""
    contexts = tuple(Term("context", ":", context) for context in chosen.contexts)
    times = (("from", chosen.start), ("to", chosen.end))
    return contexts + tuple(Term(key, ":", time) for key, time in times if time)


def parse_occasions(text: str) -> OccasionFilter:
    """The occasions chosen by a filter that has only `context:`, `from:` and `to:`. Raises UsageError for any other term,
    a second `from:` or `to:`, and what `parse_filter` and `occasion_filter` raise it for."""
    values: dict[str, list[str]] = {key: [] for key in OCCASIONS}
    for term in parse_filter(text).terms:
        if term.key not in OCCASIONS:
            raise UsageError(
                f"“{term.chip()}” does not choose occasions",
                next_step=f"This filter takes only {OCCASION_HINT}.",
            )
        values[term.key].append(term.value)
    for key in ("from", "to"):
        if len(values[key]) > 1:
            raise UsageError(f"“{key}:” is given {len(values[key])} times", next_step="Give it once.")
    contexts, start, end = (values[key] for key in OCCASIONS)
    return occasion_filter(contexts, "".join(start), "".join(end))


def term_occasions(term: Term) -> OccasionFilter:
    """The occasions that a term with a key of OCCASIONS asks for. Raises UsageError for what is not a time."""
    value = {term.key: term.value}
    return occasion_filter(
        (term.value,) if "context" in value else (), value.get("from", ""), value.get("to", "")
    )


def _term(key: str, op: str, value: str, *, quoted: bool) -> Term:
    if key not in KEYS:
        raise UsageError(
            f"no filter “{key}{op}”",
            f"Known: {', '.join(KEYS)}.",
            f'To look for the words themselves, quote them: "{key}{op}{value}".',
        )
    # a context is compared as it is written
    value = value if key == "context" and quoted else value.strip()
    if not value and not (key == "context" and quoted):
        raise UsageError(f"“{key}{op}” needs a value", next_step=f"Write {KEYS[key]}.")
    if key in COMPARED:
        return Term(key, "=" if op == ":" else op, _number(key, value))
    if op not in (":", "="):
        raise UsageError(f"“{key}” cannot be compared with {op}", next_step=f"Write {KEYS[key]}.")
    if key in _NUMBERED and not (value.isascii() and value.isdigit() and len(value) <= 18):
        raise UsageError(f"“{key}:{value}” is not a number", next_step=f"Write {KEYS[key]}.")
    if key in _WORDS:
        value = value.lower()
        if value not in _WORDS[key]:
            raise UsageError(f"no “{key}:{value}”", next_step=f"Write {KEYS[key]}.")
    term = Term(key, op if key in _IN_PARTS else ":", value)
    if key in OCCASIONS:
        term_occasions(term)
    return term


def _number(key: str, value: str) -> str:
    """Check a confidence (0 to 1) or a difference of scores (0 or more)."""
    highest, allowed = (1.0, "from 0 to 1") if key == "conf" else (sys.float_info.max, "of at least 0")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= highest:
        raise UsageError(f"“{key}” needs a number {allowed}, not “{value}”", next_step=f"Write {KEYS[key]}.")
    return value
