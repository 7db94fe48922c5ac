"""Reads the prose of a reply: the published text forms, and words that contradict or retract the answer. A reply that
contradicts itself is not accepted. The patterns err on the side of caution, because a doubtful reply is only asked
for once more. They are bounded, so that their time is linear in the text.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from importlib.resources import files
from typing import NamedTuple

from recjudge_tui.domain.prompt import AspectSpec

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# the part of the prose next to the answer that is read for contradictions
_NEAR = 10_000
_RETRACTED_BEFORE = re.compile(
    r"\b(?:not|never)\W{0,5}\Z|\b(?:instead of|rather than|first thought|at first|initially|originally|nearly said|"
    r"almost said|wrong|not answer|not say|not print|should i|shall i|would i|if i|if the|suppose|for example|for instance|"
    r"wants? me to|asked me to)\b[^.!?]{0,40}\Z",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[\s\"'`*”’)]{0,9}[?？]")
_WORDS_FOR_ANSWER = (
    "answer",
    "verdict",
    "category",
    "winner",
    "rating",
    "score",
    "decision",
    "choice",
    "boxed",
)
# including what YAML may put before a value
_VERBS = "a|an|str|is|was|are|of|would|should|must|be|to|remains|as"
_NUMBERING = re.compile(r"\d{1,4}[.)][ \t*]*")
_SUMMARY = re.compile(r"summary[ \t*]*:", re.IGNORECASE)
_FLAGGED = re.compile(r"[ \t>*#\-\d.]{0,9}flagged[ _]items?[ \t*]*:[ \t*]*", re.IGNORECASE)
_HEADING = re.compile(r"[ \t>*#\-\d.]{0,9}(?:reasoning|summary|conclusion)[ \t*]*:", re.IGNORECASE)
_DOTS = ("...", "…")
_EMPHASIS = re.compile(r"(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_WORD = re.compile(r"\w+")
_NAME_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d[\d \t]*")


class LabelLine(NamedTuple):
    """A line such as `CATEGORY: Good Match`: its number, its aspect and the text after the colon."""

    number: int
    aspect: AspectSpec
    value: str


class SummaryLine(NamedTuple):
    """A line such as `Summary: 3 4 3 5`."""

    number: int
    values: tuple[str, ...]


def label_lines(lines: list[str], aspects: tuple[AspectSpec, ...]) -> list[LabelLine]:
    """The lines, and the parts of lines after a semicolon or a full stop, that begin with the name of an aspect and a
    colon or an equals sign."""
    by_name = {
        name_key(name): aspect for aspect in aspects for name in (aspect.field, aspect.name, *aspect.aliases)
    }
    names = "|".join(map(_spelled, by_name))
    begins = re.compile(rf"({names})[ \t*]*[:=](.*)", re.IGNORECASE | re.DOTALL)
    between = re.compile(rf"(?<!\d)[;.]['\"’”]?\s{{1,3}}(?=(?:{names}):)", re.IGNORECASE)
    labelled = []
    for number, line in enumerate(lines):
        if ":" not in line and "=" not in line:
            continue
        for place, part in enumerate(between.split(line)):
            bare = part.lstrip(" \t>*#-.")
            numbering = _NUMBERING.match(bare)
            match = begins.match(bare, numbering.end() if numbering else 0)
            if place == 0 and match is None:
                break
            value = match[2].strip(" \t.*").strip("\"'`“”‘’* ,\r") if match else ""
            if match and value:
                labelled.append(LabelLine(number, by_name[name_key(match[1])], value))
    return labelled


def flagged_section(lines: list[str], aspects: tuple[AspectSpec, ...]) -> str:
    """The section `FLAGGED ITEMS:` of the published form, which is taken out of the lines: to their end, or to a line that
    names the reasoning or an aspect."""
    starts = [number for number, line in enumerate(lines) if _FLAGGED.match(line)]
    if len(starts) != 1:
        return ""
    end = start = starts[0]
    while (end := end + 1) < len(lines) and not (
        _HEADING.match(lines[end]) or label_lines([lines[end]], aspects)
    ):
        pass
    first = _FLAGGED.sub("", lines[start], count=1)
    section = "\n".join([first, *lines[start + 1 : end]])
    lines[start:end] = [""] * (end - start)
    return section


def summary_lines(lines: list[str]) -> list[SummaryLine]:
    """The lines `Summary: 3 4 3 5`. A line that begins with `>` quotes somebody, such as a text that marks itself."""
    summaries = []
    for number, line in enumerate(lines):
        bare = line.strip(" \t*#-.\r")
        begin = _SUMMARY.match(bare)
        if begin and _DIGITS.fullmatch(values := bare[begin.end() :].strip(" \t*")):
            summaries.append(SummaryLine(number, tuple(values.split())))
    return summaries


def is_placeholder(value: str, labels: tuple[str, ...]) -> bool:
    """Whether a value is a placeholder for any label, as in a form repeated from the instructions: “...”, or all labels."""
    value = value[:200]
    if value.strip("<> ") in _DOTS:
        return True
    named = {_label_key(match[0]) for match in _any_of(labels).finditer(value)} if labels else set()
    if len(labels) < 2 or len(named) < len(labels):
        return False
    return set(_WORD.findall(_any_of(labels).sub("", value).casefold())) <= {"or", "one", "of"}


def argues(value: str, labels: tuple[str, ...]) -> bool:
    """Whether the text after “category:” is a sentence and not a label, even a misspelled one."""
    if value.strip("<> ") in _DOTS:
        return True
    words = _WORD.findall(value[:200].casefold())
    if len(words) < 3 or words[0][0].isdigit():
        return False
    of_labels = [_WORD.findall(label.casefold()) for label in labels]
    # of a word as short as “A” the whole label must follow
    return not any(
        words[: len(label)] == label or any(words[0].startswith(word) for word in label if len(word) > 2)
        for label in of_labels
    )


def contradiction(
    before: str, after: str, aspects: tuple[AspectSpec, ...], given: set[str], labels: tuple[str, ...]
) -> str | None:
    """A contradiction to the answer in the prose before or after it, in words for a fault; None if there is none. `given`
    are the labels of the answer and `labels` all possible ones (none on a scale), as the reply spells them."""
    before, after = (_plain(part) for part in (before[-_NEAR:], after[: _NEAR + 1]))
    line = before[-80:].rpartition("\n")[2]
    if retracted := _RETRACTED_BEFORE.search(line):
        return f"the words before the answer take it back: “{_shown(retracted)}”"
    if len(after) > _NEAR:
        return "the answer is followed by a long text"
    if taken_back := retraction(after):
        return f"the text after the answer takes it back: “{taken_back[:60]}”"
    if _ASKED.match(after):
        return "the answer is part of a question"
    claim = _claim(aspects, labels)
    # with several aspects, the text before the answer usually discusses them one by one
    earlier = list(claim.finditer(before)) if len(aspects) == 1 else []
    named = tuple(name_key(name) for aspect in aspects for name in (aspect.field, aspect.name))
    earlier = [each for each in earlier if each is earlier[-1] or _states(each, named)]
    same = {_label_key(label) for label in given}
    for other in (*earlier, *claim.finditer(after)):
        if _label_key(other[1]) not in same or len(same) > 1:
            return f"the text beside the answer says otherwise: “{_shown(other)}”"
    if len(aspects) == 1 and (again := _raised_again(after, aspects[0], claim)):
        return f"the text after the answer speaks of it again: “{again}”"
    words = [label for label in labels if not label.isdigit() and _label_key(label) not in same]
    if words and len(same) == 1 and (other_label := _any_of(words).search(" ".join(_WORD.findall(after)))):
        return f"the text after the answer names another one: “{other_label[0]}”"
    return None


def _plain(text: str) -> str:
    """The text with ordinary letters and digits in place of wide ones and the like, and without underscores for emphasis."""
    return _EMPHASIS.sub(" ", unicodedata.normalize("NFKC", text))


def _claim(aspects: tuple[AspectSpec, ...], labels: tuple[str, ...]) -> re.Pattern[str]:
    """A word for the answer, few words, and a label: “my final answer is: Good Match”."""
    names = {*_WORDS_FOR_ANSWER, *(name_key(aspect.field) for aspect in aspects)}
    numeric = not labels or all(label.isdigit() for label in labels)
    between = _VERBS if numeric else r"[^\W\d]{1,20}"
    answer = (
        r"[+-]?\d+(?:\.\d+)?(?![\d.]*\d)(?!\s{1,3}(?:of|out|items?|places?)\b)"
        if numeric
        else _any_of(labels).pattern
    )
    name = "|".join(map(_spelled, sorted(names)))
    words = rf"(?:(?:{between})\W{{1,4}}){{0,4}}?"
    # a form that lists the labels claims none
    listed = rf"(?![\"”'’*`]{{0,3}}\s{{0,3}}(?:,|/|\||or\b)\W{{0,4}}(?:or\W{{1,3}})?(?:{answer}))"
    return re.compile(rf"\b(?:{name})\b\W{{1,6}}{words}({answer}){listed}", re.IGNORECASE)


def _raised_again(after: str, aspect: AspectSpec, claim: re.Pattern[str]) -> str | None:
    """A mention of the aspect that asks for it or gives it a value, but names no label."""
    name = "|".join(map(_spelled, {aspect.field, aspect.name}))
    for mention in re.finditer(
        rf"\b(?:{name})\b(?:\W{{0,4}}[:=]|[^.!?\n]{{0,60}}[?？])", after, re.IGNORECASE
    ):
        if not claim.match(after, mention.start()):
            return _shown(mention)
    return None


def _states(claim: re.Match[str], names: tuple[str, ...]) -> bool:
    """Whether a claim is the name of the aspect, a colon or an equals sign, and a label."""
    *heads, _ = re.split(r"[:=]", claim[0])
    before = "_" + name_key(re.sub(r"\W+", " ", heads[-1] if heads else ""))
    return any(before.endswith(f"_{name}") for name in names)


def _any_of(labels: list[str] | tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(labels, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_spelled, longest_first))})(?!\w)", re.IGNORECASE)


def _spelled(name: str) -> str:
    """A pattern of a name or label with any white space, underscore or mark between its words."""
    return r"[\W_]{1,3}".join(re.escape(word) for word in name.replace("_", " ").split()) or r"(?!)"


def name_key(name: str) -> str:
    """A name or label in lower case, with `_` for any space or marks between its words."""
    return "_".join(_NAME_WORD.findall(name.casefold())) or name.casefold().strip()


def _label_key(label: str) -> str | float:
    try:
        return float(label)
    except ValueError:
        return name_key(label)


def _shown(match: re.Match[str]) -> str:
    return " ".join(match[0].split())[:60]


# ---- retractions -----------------------------------------------------------------------------------------------

# In doubt, a text counts as a retraction: the judge is only asked once more.
# English, matched in a text reduced to words with single spaces
_ENGLISH = re.compile(
    r"\b(?:wait|hold on|oops|sorry|correction|corrected|correct my|scratch that|on second thought|on reflection|mistake|"
    r"mistaken|wrong|incorrect|not right|an error|chang(?:e|ed|ing) my|reconsider|disregard|ignore (?:that|this|the|my)|"
    r"instead|retract|withdraw|take (?:that|it) back|should (?:have been|be|rather)|actually|revis(?:e|ed|ing)|but no\b|"
    r"not that|not the above|nonsense|make that|edit\b|erratum|(?:isn|wasn) t (?:right|correct|true))",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?<!\w)(?:no|nein|non|não|nee|nej|nei|nie|ne|нет|ні|не|όχι|hayır|nem|nu|không|tidak|bukan)[,;:.!]",
    re.IGNORECASE,
)
_DATA = tomllib.loads(files("recjudge_tui.protocols").joinpath("retractions.toml").read_text("utf-8"))
_WORDS = frozenset(_DATA["words"].split())
_BEGINNINGS = frozenset(
    word for line in _DATA["beginnings"].splitlines() if not line.startswith("#") for word in line.split()
)
_LENGTHS = sorted({len(beginning) for beginning in _BEGINNINGS})
_ANYWHERE = tuple(_DATA["anywhere"])


def retraction(text: str) -> str | None:
    """The first words found that take an answer back, or None. Linear in the length of the text."""
    words: list[str] = re.findall(r"\w+", text)
    if match := _ENGLISH.search(" ".join(words)) or _NO.search(text):
        return match[0]
    for word in words:
        folded = word.casefold()
        if folded in _WORDS or any(folded[:length] in _BEGINNINGS for length in _LENGTHS):
            return word
    folded = " ".join(text.casefold().split())
    return next((words for words in _ANYWHERE if words in folded), None)
