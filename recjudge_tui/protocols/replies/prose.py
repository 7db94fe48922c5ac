"""What the prose of a reply says: the published text forms, and words that contradict the answer or take it back.

A careful reader believes no reply that says two things. The patterns err on the side of doubt, because a reply in doubt
is asked for once more. They are bounded, so that their time is linear in the text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recjudge_tui.domain.prompt import AspectSpec

# the part of the prose next to the answer that is read for contradictions
_NEAR = 10_000
# of words alone, with a blank between them
_RETRACTION = re.compile(
    r"\b(?:wait|hold on|oops|sorry|correction|scratch that|on second thought|on reflection|mistake|wrong|incorrect|"
    r"not right|an error|chang(?:e|ed|ing) my|reconsider|disregard|ignore (?:that|this|the|my)|instead|retract|withdraw|"
    r"take (?:that|it) back|should (?:have been|be|rather)|actually|revis(?:e|ed|ing)|but no\b|not that|not the above|"
    r"nonsense|(?:isn|wasn) t (?:right|correct|true))",
    re.IGNORECASE,
)
_NO = re.compile(r"\bno[,;:.!]", re.IGNORECASE)
_RETRACTED_BEFORE = re.compile(
    r"\b(?:not|never)\W{0,5}\Z|\b(?:instead of|rather than|first thought|at first|initially|originally|nearly said|"
    r"almost said|wrong)\b[^.!?]{0,30}\Z",
    re.IGNORECASE,
)
_WORDS_FOR_ANSWER = ("answer", "verdict", "category", "winner", "rating", "score", "decision", "choice")
_VERBS = "is|was|are|of|would|should|must|be|to|remains|as"
_NUMBERING = re.compile(r"\d{1,4}[.)][ \t*]*")
_SUMMARY = re.compile(r"summary[ \t*]*:", re.IGNORECASE)
_DOTS = ("...", "…")
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d[\d \t]*")
_ENUMERATION = r"(?![\"”'’*`]{0,3}\s{0,3}(?:,|/|\||or\b))"


class LabelLine(NamedTuple):
    """A line such as `CATEGORY: Good Match`: its number, its aspect and what stands after the colon."""

    number: int
    aspect: AspectSpec
    value: str


class SummaryLine(NamedTuple):
    """A line such as `Summary: 3 4 3 5`."""

    number: int
    values: tuple[str, ...]


def label_lines(lines: list[str], aspects: tuple[AspectSpec, ...]) -> list[LabelLine]:
    """The lines that begin with the name of an aspect and a colon or an equals sign."""
    by_name = {
        _name_key(name): aspect for aspect in aspects for name in (aspect.field, aspect.name, *aspect.aliases)
    }
    names = "|".join(_spelled(name) for name in by_name)
    begins = re.compile(rf"({names})[ \t*]*[:=](.*)", re.IGNORECASE | re.DOTALL)
    found = []
    for number, line in enumerate(lines):
        if ":" not in line and "=" not in line:
            continue
        bare = line.lstrip(" \t>*#-.")
        numbering = _NUMBERING.match(bare)
        match = begins.match(bare, numbering.end() if numbering else 0)
        value = match[2].strip(" \t.*").strip("\"'`“”* \r") if match else ""
        if match and value:
            found.append(LabelLine(number, by_name[_name_key(match[1])], value))
    return found


def summary_lines(lines: list[str]) -> list[SummaryLine]:
    """The lines `Summary: 3 4 3 5`. A line that begins with `>` quotes somebody, such as a text that marks itself."""
    found = []
    for number, line in enumerate(lines):
        bare = line.strip(" \t*#-.\r")
        begin = _SUMMARY.match(bare)
        if begin and _DIGITS.fullmatch(values := bare[begin.end() :].strip(" \t*")):
            found.append(SummaryLine(number, tuple(values.split())))
    return found


def is_placeholder(value: str, labels: tuple[str, ...]) -> bool:
    """Whether a value stands for any label, as in a form repeated from the instructions: “...”, or all labels."""
    value = value[:200]
    if value.strip("<> ") in _DOTS:
        return True
    named = {_label_key(match[0]) for match in _any_of(labels).finditer(value)} if labels else set()
    if len(labels) < 2 or len(named) < len(labels):
        return False
    return set(_WORD.findall(_any_of(labels).sub("", value).casefold())) <= {"or", "one", "of"}


def argues(value: str, labels: tuple[str, ...]) -> bool:
    """Whether what stands after “category:” is a sentence that argues, and no label, spelled wrong or not."""
    if value.strip("<> ") in _DOTS:
        return True
    words = _WORD.findall(value[:200].casefold())
    if len(words) < 3 or words[0][0].isdigit():
        return False
    label_words = {word for label in labels for word in _WORD.findall(label.casefold())}
    return not any(words[0].startswith(word) for word in label_words if word == words[0] or len(word) > 2)


def contradiction(
    before: str, after: str, aspects: tuple[AspectSpec, ...], given: set[str], labels: tuple[str, ...]
) -> str | None:
    """What in the prose before or after the answer speaks against it, as words for a fault; None where nothing does.

    `given` are the labels of the answer and `labels` all there are, none on a scale, as the reply spells them.
    """
    before, line = before[-_NEAR:], before[-80:].rpartition("\n")[2]
    if retracted := _RETRACTED_BEFORE.search(line):
        return f"the words before the answer take it back: “{_shown(retracted)}”"
    if len(after) > _NEAR:
        return "the answer is followed by a long text"
    words_after = " ".join(_WORD.findall(after))
    if retracted := _RETRACTION.search(words_after) or _NO.search(after):
        return f"the text after the answer takes it back: “{_shown(retracted)}”"
    claim = _claim(aspects, labels)
    # with several aspects the words before the answer weigh one after the other
    earlier = list(claim.finditer(before))[-1:] if len(aspects) == 1 else []
    same = {_label_key(label) for label in given}
    for other in (*earlier, *claim.finditer(after)):
        if _label_key(other[1]) not in same or len(same) > 1:
            return f"the text beside the answer says otherwise: “{_shown(other)}”"
    words = [label for label in labels if not label.isdigit() and _label_key(label) not in same]
    if words and len(same) == 1 and (other_label := _any_of(words).search(words_after)):
        return f"the text after the answer names another one: “{other_label[0]}”"
    return None


def _claim(aspects: tuple[AspectSpec, ...], labels: tuple[str, ...]) -> re.Pattern[str]:
    """A word for the answer, few words, and a label: “my final answer is: Good Match”."""
    names = {*_WORDS_FOR_ANSWER, *(_name_key(aspect.field) for aspect in aspects)}
    numeric = not labels or all(label.isdigit() for label in labels)
    between = _VERBS if numeric else r"[^\W\d]{1,20}"
    answer = (
        r"[+-]?\d+(?:\.\d+)?(?![\d.]*\d)(?!\s{1,3}(?:of|out|items?|places?)\b)"
        if numeric
        else _any_of(labels).pattern
    )
    name = "|".join(map(_spelled, sorted(names)))
    words = rf"(?:(?:{between})\W{{1,4}}){{0,4}}?"
    return re.compile(rf"\b(?:{name})\b\W{{1,6}}{words}({answer}){_ENUMERATION}", re.IGNORECASE)


def _any_of(labels: list[str] | tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(labels, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_spelled, longest_first))})(?!\w)", re.IGNORECASE)


def _spelled(name: str) -> str:
    """A pattern of a name or label with any white space, underscore or mark between its words."""
    return r"[\W_]{1,3}".join(re.escape(word) for word in name.replace("_", " ").split()) or r"(?!)"


def _name_key(name: str) -> str:
    return "_".join(name.replace("_", " ").casefold().split())


def _label_key(label: str) -> str | float:
    try:
        return float(label)
    except ValueError:
        return _name_key(label)


def _shown(match: re.Match[str]) -> str:
    return " ".join(match[0].split())[:60]
