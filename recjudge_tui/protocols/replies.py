"""From the text of a reply to its answers, or to the fault to name when the judge is asked again. In turn: the thinking is
taken off; JSON as asked, JSON within text, or the published text forms are read; anything else raises ReplyFault. A label
comes from the top level of the one object that has every field asked for, or from lines of the text form, and its spelling
may be weak only where it is clear. A reply that contradicts itself is a fault."""

from __future__ import annotations

import ast
import itertools
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from recjudge_tui.domain.calls import ParsedBy, ParsedReply, Reply
from recjudge_tui.domain.prompt import AspectSpec, LabelSpec, Prompt
from recjudge_tui.domain.thinking import split_thinking, without_end
from recjudge_tui.errors import ReplyFault

# ---- answers -----------------------------------------------------------------------------------------------------

_NUMBER = re.compile(
    r"[\s\"'`“”*(\[]{0,9}([+-]?(?:\d{1,30}\.?\d{0,30}|\.\d{1,30})(?:[eE][+-]?\d{1,4})?)"
    r"(?:\s{0,3}(?:/|out of|of)\s{0,3}(\d{1,9}(?:\.\d{1,9})?))?[\s\"'`“”*)\]]{0,9}",
    re.ASCII,
)
# what may stand around a label, and between its words
_AROUND = " \t\r\n\"'`“”‘’«»*_()[]{}<>.,;:!✅✔☑\ufe0f"
_BETWEEN = re.compile(r"[\s_\u2010-\u2015-]+(?:#(?=\d))?")
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
# a field with a longer text than this is not a label
_LONGEST_LABEL = 200
_MOST_FIELDS = 200


def read_fields(prompt: Prompt, reply: Reply, wanted: tuple[AspectSpec, ...]) -> tuple[Fields, ParsedBy]:
    """The reply as a mapping: every wanted field with the reply of one of its labels. Raises ReplyFault; its message tells
    the model what is missing, wrong or said twice."""
    text = without_end(reply.text)
    whole = whole_object(text)
    if whole is None and (answer := _without_thinking(text)) != text:
        text = answer
        whole = whole_object(text)
    if not text:
        raise ReplyFault("the reply was empty")
    if whole is not None:
        return _checked(prompt, whole, wanted), "schema" if reply.structured else "json"
    specs = tuple({label.reply: label for a in wanted for label in prompt.labels_of(a.name)}.values())
    labels = tuple(label.reply for label in specs)
    objects = json_objects(text, {*(name for aspect in wanted for name in _names(aspect)), *labels})
    given = [each for each in objects if any(_given(each.fields, aspect) for aspect in wanted)]
    given = [each for each in given if not _is_example(prompt, each.fields)]
    lines = _prose(text, objects).split("\n")
    flagged = flagged_section(lines, wanted) if prompt.issues and not given else ""
    labelled = [*label_lines(lines, wanted), *summary_lines(lines, wanted, strict=not given)]
    _check_agreement(prompt, wanted, given, labelled)
    _check_beside([each for each in objects if each not in given], prompt, wanted, specs)
    parsed_by: ParsedBy = "text"
    if given:
        fields, parsed_by = _checked(prompt, given[-1].fields, wanted), "json"
        first = given[0]
        before = _prose(text[: first.start], [each for each in objects if each.end <= first.start])
        after = _prose(text, [TextObject(first.fields, 0, first.end), *objects[objects.index(first) + 1 :]])
    elif labelled and {line.aspect for line in labelled} == set(wanted):
        fields = {**_spelled_out(prompt, lines, labelled), "flagged_items": flagged}
        numbers = sorted({line.number for line in labelled})
        before, after = "\n".join(lines[: numbers[0]]), "\n".join(lines[numbers[-1] + 1 :])
        if len(wanted) == 1:
            # the text before the first line that names a label, and the text after it without such lines
            numbers = [line.number for line in labelled if _readable(prompt, wanted[0], line.value)]
            before = "\n".join(lines[: numbers[0]])
            after = "\n".join(x for n, x in enumerate(lines) if n > numbers[0] and n not in numbers)
    elif objects:
        # raises: a repeated example, or the fields asked for are missing
        examples = [each for each in objects if _is_example(prompt, each.fields)]
        fields = _checked(prompt, (examples or objects)[-1].fields, wanted)
        before, after = "", ""
    elif len(wanted) == 1 and (label := named_label(text, specs)) and not label.reply.isdigit():
        fields, before, after = {name_key(wanted[0].field): label.reply}, "", ""
    else:
        raise ReplyFault("no JSON object with the fields asked for was found")
    replies = {fields[name_key(aspect.field)] for aspect in wanted}
    if fault := contradiction(before, after, wanted, replies, labels):
        raise ReplyFault(fault)
    return fields, parsed_by


_BULLET = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.)])\s+(.*\S)")


def read_lines(reply: Reply, name: str) -> list[str]:
    """The texts under `name` in a reply that is an object, or the lines of a list in plain text. Raises ReplyFault where
    there are none."""
    text = reply.text.strip()
    fields = whole_object(text)
    if fields is None:
        text = _without_thinking(text)
        named = (each.fields for each in json_objects(text, {name}))
        fields = next((each for each in named if name_key(name) in map(name_key, each)), None)
    if fields is None:
        given: object = [found[1] for line in text.split("\n") if (found := _BULLET.match(line))]
    else:
        given = next((value for key, value in fields.items() if name_key(key) == name_key(name)), None)
    entries = given.split("\n") if isinstance(given, str) else given
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise ReplyFault(f"“{name}” must be a list of texts")
    if not (lines := [entry.strip() for entry in entries if entry.strip()]):
        raise ReplyFault(f"“{name}” has no line")
    return lines


def _without_thinking(text: str) -> str:
    """The text after the thinking. Raises ReplyFault for thinking without an end, and for text before or between."""
    answer, _, fault = split_thinking(text)
    if fault:
        raise ReplyFault(fault)
    return answer


def label_of(prompt: Prompt, aspect: AspectSpec, value: object) -> LabelSpec:
    """The label that `value` names, or a number on the scale. Raises ReplyFault, which says what is allowed."""
    text = str(_only(value))
    if (scale := prompt.scale) is not None:
        # comparisons with NaN are false
        if scale.low <= (found := _number(text, scale.high)) <= scale.high:
            found += 0.0  # no negative zero
            return LabelSpec(name=f"{found:g}", reply=f"{found!r}", value=found)
        allowed = f"a number from {scale.low:g} to {scale.high:g}"
    else:
        labels = prompt.labels_of(aspect.name)
        if (label := named_label(text, labels)) is not None:
            return label
        allowed = "one of " + ", ".join(f"“{label.reply}”" for label in labels)
    raise ReplyFault(f"“{aspect.field}” must be {allowed}, not “{text[:60]}”")


def named_label(text: str, labels: tuple[LabelSpec, ...]) -> LabelSpec | None:
    """The one label that a text names: its words in any case, or, where that is clear, with other marks around them.
    Labels that are numbers may be written as in `4/5` and `4 out of 5`, if 5 is the highest."""
    if len(text) > _LONGEST_LABEL:
        return None
    words, weak = text.casefold().split(), _weak(text)
    numeric = all(label.reply.isascii() and label.reply.isdigit() for label in labels)
    exact = [label for label in labels if label.reply.casefold().split() == words]
    if numeric and not exact:
        number = _number(text, max(float(label.reply) for label in labels))
        exact = [label for label in labels if float(label.reply) == number]
    elif not exact and any(weak):
        exact = [label for label in labels if weak in (_weak(label.reply), ["".join(_weak(label.reply))])]
    return exact[0] if len(exact) == 1 else None


def _weak(text: str) -> list[str]:
    """The words of a label in ordinary letters, without the marks around them and characters that nobody sees."""
    ordinary = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    return _BETWEEN.split(ordinary.casefold().strip(_AROUND))


def _number(text: str, highest: float) -> float:
    """The number that a text is, alone or of the highest one; NaN if it is none."""
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_LABEL else None
    if match is None or (match[2] and float(match[2]) != highest):
        return math.nan
    return float(match[1])


def _only(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _checked(prompt: Prompt, reply: Fields, wanted: tuple[AspectSpec, ...]) -> Fields:
    if _is_example(prompt, reply):
        raise ReplyFault("the reply only repeats an example of the instructions")
    if len(reply) > _MOST_FIELDS:
        raise ReplyFault(f"the object has more than {_MOST_FIELDS} fields")
    fields = {name_key(name): value for name, value in reply.items()}
    for aspect in wanted:
        given = _given(reply, aspect)
        if not given:
            raise ReplyFault(f"the field “{aspect.field}” is missing")
        if any(isinstance(_only(value), (dict, list, bool)) for value in given):
            raise ReplyFault(f"the field “{aspect.field}” must hold one label")
        deeper = (found for value in reply.values() for found in _deeper(value, aspect))
        replies = {label_of(prompt, aspect, value).reply for value in given}
        replies |= set(filter(None, (_readable(prompt, aspect, value) for value in deeper)))
        if len(replies) > 1:
            raise ReplyFault(f"“{aspect.field}” is given twice, with different values")
        fields[name_key(aspect.field)] = replies.pop()
    return fields


def _given(reply: Fields, aspect: AspectSpec) -> list[Any]:
    """The values at the top level of a reply under any name of the aspect."""
    names = set(map(name_key, _names(aspect)))
    return [value for name, value in reply.items() if value is not None and name_key(name) in names]


def _deeper(value: object, aspect: AspectSpec) -> Iterator[object]:
    """The values within objects of a reply under any name of the aspect."""
    if isinstance(value, dict):
        yield from _given(value, aspect)
        for part in value.values():
            yield from _deeper(part, aspect)


def _names(aspect: AspectSpec) -> tuple[str, ...]:
    return aspect.field, *aspect.aliases


def _is_example(prompt: Prompt, reply: Fields) -> bool:
    return reply in [example.reply for example in prompt.examples]


def text_of(value: object) -> str:
    """The text of a field: a text as it is, another value as JSON, nothing as an empty text."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if value else ""


def _readable(prompt: Prompt, aspect: AspectSpec, value: object) -> str | None:
    """The label that the value names, as a reply spells it; None if it names none."""
    try:
        return label_of(prompt, aspect, value).reply
    except ReplyFault:
        return None


def _check_agreement(
    prompt: Prompt, wanted: tuple[AspectSpec, ...], given: list[TextObject], labelled: list[LabelLine]
) -> None:
    """Raise ReplyFault where two objects differ in more than their words, or two places name different labels."""
    for first, second in itertools.pairwise(each.fields for each in given):
        told = (name for name, value in first.items() if not isinstance(value, str))
        if any(second.get(name, first[name]) != first[name] for name in told):
            raise ReplyFault("it has two JSON objects that differ")
    for aspect in wanted:
        labels = tuple(label.reply for label in prompt.labels_of(aspect.name))
        values = [value for answer in given for value in _given(answer.fields, aspect)]
        values = [value for value in values if not is_placeholder(str(value), labels)]
        named = [line.value for line in labelled if line.aspect == aspect]
        values += [value for value in named if not argues(value, labels)]
        stated = dict.fromkeys(_readable(prompt, aspect, value) or str(value)[:60] for value in values)
        if len(stated) > 1:
            shown = " and ".join(f"“{value}”" for value in stated)
            raise ReplyFault(f"“{aspect.field}” is given twice, with different values: {shown}")


def _check_beside(
    objects: list[TextObject], prompt: Prompt, wanted: tuple[AspectSpec, ...], labels: tuple[LabelSpec, ...]
) -> None:
    """Raise ReplyFault if an object that is not the answer contains a requested field or a label, at any depth."""
    names = {name_key(name) for aspect in wanted for name in _names(aspect)}
    values: list[object] = [each.fields for each in objects if not _is_example(prompt, each.fields)]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            if names & set(map(name_key, value)):
                fault = "the fields asked for are in a JSON object within another one, or hold no label"
                raise ReplyFault(fault)
            values += value.values()
        elif isinstance(value, list):
            values += value
        elif isinstance(value, str | int) and named_label(str(value), labels):
            raise ReplyFault("a JSON object without the fields asked for names a label")


def _prose(text: str, objects: list[TextObject]) -> str:
    """The text with a line break in place of each object that has fields."""
    answers = [each for each in objects if each.fields]
    ends = [0, *(each.end for each in answers)]
    starts = [*(each.start for each in answers), len(text)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _spelled_out(prompt: Prompt, lines: list[str], labelled: list[LabelLine]) -> Fields:
    """The published text forms: a line such as `CATEGORY: Good Match` for every aspect. The text before and after those
    lines is the reasoning, including lines on an aspect that argue without naming a label."""
    fields: Fields = {
        name_key(line.aspect.field): label_of(prompt, line.aspect, line.value).reply
        for line in {line.aspect.name: line for line in labelled}.values()
    }
    labels = {line.number for line in labelled if _readable(prompt, line.aspect, line.value)}
    rest = "\n".join("" if number in labels else line for number, line in enumerate(lines))
    fields["reasoning"] = re.sub(r"^\W*reasoning\W*[:=]\W*", "", rest.strip(), flags=re.I)
    return fields


# ---- JSON --------------------------------------------------------------------------------------------------------

Fields = dict[str, Any]

LONGEST = 1_000_000
_MOST = {"[": 1_000, "{": 1_000, '"': 10_000, ",": 10_000, "\n": 2_000, "\\": 10_000}
# ValueError: text that is not JSON, and numbers too long for Python to convert
_UNREADABLE = (ValueError, RecursionError)
# also one that only looks like JSON: other quotes, comments
_BEGINS_OBJECT = re.compile(r"""\{\s*(?:["'“”„«»‘’″`＂}\\#]|//|/\*|\w+\s*["':])""")
# a brace that is still open, after some words, where an object begins
_OPEN_BEFORE = re.compile(r"\{[^{}\w]*\w[^{}]*(?:\{\s*)*?(?=\{\s*[^\s{])")
_LONE = re.compile("[\ud800-\udfff]")
_PRINTED = re.compile(r"\s*\{\s*'")
# JSON knows no such escapes, but Markdown and TeX do: the character itself is meant
_NO_ESCAPE = re.compile(r"""(?<!\\)((?:\\\\)*)\\(?=['_%*#&$])""")
_WORD = re.compile(r"\w+")
# a string without an end matches up to the end of the text, so that no part of it is scanned twice
_TOKEN = re.compile(
    r'[^"{}\[\],]*(?:"(?:[^"\\]+|\\.)*(?:"|\\?\Z)|(?P<bracket>[{}\[\]])|(?P<trailing>,(?=\s*[}\]]))|,)',
    re.DOTALL,
)


class TextObject(NamedTuple):
    """A complete JSON object and its position in the text."""

    fields: Fields
    start: int
    end: int


def whole_object(text: str) -> Fields | None:
    """The text as one JSON object, or None. Raises ReplyFault for a key given twice and for a text out of bounds."""
    if len(text) > LONGEST:
        raise ReplyFault(f"the reply has more than {LONGEST:,} characters")
    for mark, most in _MOST.items():
        if text.count(mark) > most:
            name = "line breaks" if mark == "\n" else f"“{mark}”"
            raise ReplyFault(f"the reply has more than {most:,} {name}")
    try:
        value = _sound(text, _DECODER.decode(text))
        if isinstance(value, str) and value.lstrip().startswith("{"):
            # an object written as a text
            value = _sound(value, _DECODER.decode(value))
    except _UNREADABLE:
        value = _literal(text)
    return value if isinstance(value, dict) else None


def _literal(text: str) -> object:
    """The text as a dict that Python printed; None if it is none, or has a key twice."""
    if not (len(text) < 20_000 and _PRINTED.match(text)):
        return None
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        keys = [ast.dump(key) for key in tree.keys if key] if isinstance(tree, ast.Dict) else []
        return ast.literal_eval(tree) if len(set(keys)) == len(keys) else None
    except (*_UNREADABLE, SyntaxError, MemoryError, TypeError):
        return None


def json_objects(text: str, words: Iterable[str]) -> list[TextObject]:
    """Every outermost JSON object in the text, in order; trailing commas are forgiven. Raises ReplyFault if an object is
    cut off, because the text after it may belong to it, and if an invalid object contains one of the words of the answer.
    Any other invalid object, such as a form from the instructions, has no fields."""
    objects = []
    start = text.find("{")
    while start >= 0:
        end = start + 1
        if _BEGINS_OBJECT.match(text, start):
            fields, end = _object_at(text, start)
            if fields is None and not _is_form(text[start:end], words):
                raise _broken(text, start)
            objects.append(TextObject(fields or {}, start, end))
        elif (opened := _OPEN_BEFORE.match(text, start)) and _BEGINS_OBJECT.match(text, opened.end()):
            raise _broken(text, start)
        start = text.find("{", end)
    return objects


def _is_form(broken: str, words: Iterable[str]) -> bool:
    """Whether a broken object is a form from the instructions: no brace in a string, and no word of the answer."""
    if broken.count("{") != broken.count("}"):
        return False
    parts = {part for word in words for part in (word.casefold(), *_WORD.findall(word.casefold()))}
    # a short word such as “A” is contained in many others
    parts = {part for part in parts if len(part) > 2 or part.isdigit()}
    # if a part of the word is missing, so is the word
    least = [part for part in parts if not any(other != part and other in part for other in parts)]
    folded = broken.casefold()
    return not any(part in folded for part in least)


def _unique(pairs: list[tuple[str, Any]]) -> Fields:
    fields: Fields = {}
    for name, value in pairs:
        if name in fields:
            raise ReplyFault(f"“{name[:60]}” is given twice in one JSON object")
        fields[name] = value
    return fields


# not strict: local models write line breaks and tabs into strings as they are
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, strict=False)


def _object_at(text: str, start: int) -> tuple[Fields | None, int]:
    """The object that begins at `start`, None if it is not valid, and its end."""
    try:
        fields, end = _DECODER.raw_decode(text, start)
    except _UNREADABLE:
        repaired, end = _without_trailing_commas(text, start)
        try:
            fields = _DECODER.decode(_NO_ESCAPE.sub(r"\1", repaired))
        except _UNREADABLE:
            return None, end
    return _sound(text, fields), end


def _broken(text: str, start: int) -> ReplyFault:
    begin = " ".join(text[start : start + 40].split())
    return ReplyFault(f"no JSON object could be read: the one that begins “{begin}” is cut off or not valid")


def _without_trailing_commas(text: str, start: int) -> tuple[str, int]:
    """The object at `start` without commas before a closing bracket, and its end in the text."""
    open_marks, copied, parts = [], start, []
    for token in _TOKEN.finditer(text, start):
        mark = token["bracket"]
        if token["trailing"]:
            parts.append(text[copied : token.end() - 1])
            copied = token.end()
        elif mark in ("{", "["):
            open_marks.append(mark)
        elif mark:
            if open_marks.pop() + mark not in ("{}", "[]"):
                break
            if not open_marks:
                return "".join((*parts, text[copied : token.end()])), token.end()
    raise _broken(text, start)


def _sound(text: str, value: Any) -> Any:
    """The value with U+FFFD for lone surrogates, which JSON can escape but a database cannot store."""
    if "\\ud" not in text and "\\uD" not in text:
        return value
    return json.loads(_LONE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))


# ---- profiles ----------------------------------------------------------------------------------------------------

PROFILE_FIELD = "profile"
LONGEST_PROFILE = 4000


def parse_profile(reply: Reply) -> ParsedReply:
    """Checks that the reply holds a profile; there are no answers. Raises ReplyFault."""
    profile_text(reply.text)
    return ParsedReply(answers=(), parsed_by="schema" if reply.structured else "text")


def profile_text(text: str) -> str:
    """The profile in a reply: the field of the last JSON object that has it, else the whole text. Raises ReplyFault for
    anything else, such as an incomplete object."""
    whole = whole_object(text)
    objects = [whole] if whole is not None else [each.fields for each in json_objects(text, [PROFILE_FIELD])]
    named = (value for fields in objects for name, value in fields.items() if name_key(name) == PROFILE_FIELD)
    profiles = [value for value in named if isinstance(value, str)]
    profile = (profiles[-1] if profiles else text).strip()
    if not profiles and (PROFILE_FIELD + '"' in text or profile.startswith(("{", "["))):
        raise ReplyFault(f"it has no JSON object with the profile as text in the field “{PROFILE_FIELD}”")
    if not any(map(str.isalpha, profile)) or profile == "null":
        raise ReplyFault("the profile was empty")
    return profile[:LONGEST_PROFILE]


# ---- loops -------------------------------------------------------------------------------------------------------


# the end of a reply that is searched for repetitions
_END = 6_000
_LEAST_REPEATED = 160
_SENTENCE = re.compile(r"[.!?;\n]+")


def repeats_itself(text: str) -> bool:
    """Whether a text that was cut off ends in a loop: one piece three times or more, or the same few sentences. Numbers
    count as equal, so that numbered lines of the same words are a loop too."""
    end = " ".join(re.sub(r"\d+", "0", text[-_END:].casefold()).split())[::-1]
    for period in range(1, len(end) // 3 + 1):
        length = max(_LEAST_REPEATED, 3 * period)
        if length <= len(end) and end[: length - period] == end[period:length]:
            return True
    sentences = [part for part in map(str.strip, _SENTENCE.split(end)) if len(part) > 10][:20]
    return len(sentences) >= 8 and len(set(sentences)) * 3 <= len(sentences)


# ---- prose -----------------------------------------------------------------------------------------------------------


# the part of the prose next to the answer that is read for contradictions
_NEAR = 10_000
_RETRACTED_BEFORE = re.compile(
    r"\b(?:not|never)\W{0,5}\Z|\b(?:instead of|rather than|first thought|at first|initially|originally|nearly said|"
    r"almost said|wrong|not answer|not say|not print|should i|shall i|would i|if i|if the|suppose|for example|for instance|"
    r"wants? me to|asked me to)\b[^.!?]{0,40}\Z",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[\s\"'`*”’)]{0,9}[?？]")
_WORDS_FOR_ANSWER = "answer verdict category winner rating score decision choice boxed".split()
# including what YAML may put before a value
_VERBS = "a|an|str|is|was|are|of|would|should|must|be|to|remains|as"
_NUMBERING = re.compile(r"\d{1,4}[.)][ \t*]*")
_SUMMARY = re.compile(r"summary[ \t*]*:", re.IGNORECASE)
_FLAGGED = re.compile(r"[ \t>*#\-\d.]{0,9}flagged[ _]items?[ \t*]*:[ \t*]*", re.IGNORECASE)
_HEADING = re.compile(r"[ \t>*#\-\d.]{0,9}(?:reasoning|summary|conclusion)[ \t*]*:", re.IGNORECASE)
_DOTS = ("...", "…")
_EMPHASIS = re.compile(r"(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_NAME_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d+(?:,?[ \t]+\d+)*")


class LabelLine(NamedTuple):
    """A line such as `CATEGORY: Good Match`: its number, its aspect and the text after the colon. A line such as `Summary:
    3 4 3 5` counts as one for each aspect, in their order."""

    number: int
    aspect: AspectSpec
    value: str


def label_lines(lines: list[str], aspects: tuple[AspectSpec, ...]) -> list[LabelLine]:
    """The lines, and the parts after a semicolon or a full stop, that begin with the name of an aspect and `:` or `=`."""
    by_name = {name_key(name): aspect for aspect in aspects for name in (aspect.name, *_names(aspect))}
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
    start = starts[0]
    later = range(start + 1, len(lines))
    ends = (n for n in later if _HEADING.match(lines[n]) or label_lines([lines[n]], aspects))
    end, first = next(ends, len(lines)), _FLAGGED.sub("", lines[start], count=1)
    section = "\n".join([first, *lines[start + 1 : end]])
    lines[start:end] = [""] * (end - start)
    return section


def summary_lines(lines: list[str], aspects: tuple[AspectSpec, ...], *, strict: bool) -> list[LabelLine]:
    """The lines `Summary: 3 4 3 5`. A line that begins with `>` quotes somebody, such as a text that marks itself. One with
    fewer or more values than aspects is left out, or raises ReplyFault (`strict`)."""
    summaries: list[LabelLine] = []
    for number, line in enumerate(lines):
        bare = line.strip(" \t*#-.\r")
        begin = _SUMMARY.match(bare)
        if not begin or not _DIGITS.fullmatch(values := bare[begin.end() :].strip(" \t*")):
            continue
        given = re.findall(r"\d+", values)
        if len(given) == len(aspects):
            summaries += [LabelLine(number, *pair) for pair in zip(aspects, given, strict=True)]
        elif strict:
            wanted = f"{len(aspects)} values, one for each aspect"
            raise ReplyFault(f"“Summary” must hold {wanted}, not {len(given)}")
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
    # in ordinary letters and digits in place of wide ones and the like, and without underscores for emphasis
    near = (unicodedata.normalize("NFKC", part) for part in (before[-_NEAR:], after[: _NEAR + 1]))
    before, after = (_EMPHASIS.sub(" ", part) for part in near)
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
    raised = rf"\b(?:{name})\b(?:\W{{0,4}}[:=]|[^.!?\n]{{0,60}}[?？])"
    mentions = re.finditer(raised, after, re.IGNORECASE)
    return next((_shown(m) for m in mentions if not claim.match(after, m.start())), None)


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
    return _short_key(name) if len(name) <= _LONGEST_LABEL else _key(name)


def _key(name: str) -> str:
    return "_".join(_NAME_WORD.findall(name.casefold())) or name.casefold().strip()


_short_key = lru_cache(maxsize=1024)(_key)


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
    r"not that|not the above|nonsense|make that|edit\b|erratum|(?:isn|wasn) t (?:right|correct|true)|hmm+|though|although)",
    re.IGNORECASE,
)
# “actually” and “correction” in other languages
_ELSEWHERE = re.compile(
    r"(?<!\w)(?:eigentlich|korrektur|korrigier|vielmehr|doch lieber|en fait|rectification|finalement|en realidad|"
    r"corrección|mejor dicho|correzione|in realtà|anzi|correção|na verdade|correctie|eigenlijk|korekta|właściwie|"
    r"исправл|на самом деле|更正|其实|其實|实际上|實際上|訂正|実は|정정|사실은)",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?<!\w)(?:no|nein|non|não|nee|nej|nei|nie|ne|нет|ні|не|όχι|hayır|nem|nu|không|tidak|bukan)[,;:.!]",
    re.IGNORECASE,
)


def retraction(text: str) -> str | None:
    """The first words found that take an answer back, or None. Linear in the length of the text."""
    words = " ".join(re.findall(r"\w+", text))
    match = _ENGLISH.search(words) or _ELSEWHERE.search(words) or _NO.search(text)
    return match[0] if match else None
