"""What the answers in a column mean. The whole set of values decides, before anything is stored.

Pure: `settle` takes how often each answer occurs and what was expected, and gives a reading in which every kept
answer has a meaning, or raises `Unclear` with the readings to choose from. A reading is never taken when another one
fits as well, nor when it fits only some of the answers, apart from a few strays.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from recjudge_tui.domain.scales import Scale, ends_of, values_of
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import InputError
from recjudge_tui.files import parse_toml

# below both, values that do not fit are strays, which are left out
STRAY_SHARE, STRAY_ROWS = 0.01, 20
# a row's answer that is the name of its first or second system, or that a name and a side of the pair contradict
NAMED_A, NAMED_B, EITHER = "\0a", "\0b", "\0?"
Form = Literal["pair", "labels", "scores", "shown"]
Side = Literal["a", "b"]
# what a side was named by: the pair itself, its place in the order shown, or a letter, which may mean either
Means = Literal["side", "place", "letter"]

_WORDS = parse_toml(Path(__file__).with_name("answers.toml").read_text("utf-8"))
FAILED, VALID = frozenset(_WORDS["failed"]), frozenset(_WORDS["valid"])
_MUCH, _SLIGHTLY, _NOISE, _AFTER_ARTICLE = (
    frozenset(_WORDS[name]) for name in ("much", "slightly", "noise", "after_article")
)
_NOUNS = "|".join(_WORDS["nouns"])
_NUMBERED = re.compile(rf"({_NOUNS})\s*#?(\d+)(?: wins| won| win)?")
_WITH_NOUN = re.compile(rf"(?:the )?(?:({_NOUNS}) )?(a|b|left|right|first|second)(?: (?:{_NOUNS}|one|list))?")
# a number at the beginning of an answer, perhaps with a comma before its fraction
_BEGINS = re.compile(r"[+-]?\d+(?:\.\d+|(,\d+)(?=\s*$))?(?![\w,.])", re.ASCII)
_IN_MAPPING = "in [labels] of a mapping that names all columns (recjudge docs mapping)"
_NUMBER_ALONE = r"""value = { column = "value", pattern = '^-?[\d.]+' }"""
# what is judged, as the pair itself names it
_NAMED = ("model", "system")
_OPERATOR = re.compile(r"(\w[\w ]*?)\s*(>{1,3}|<{1,3}|=|≈|~|≫|≪|≻|≺)\s*(\w[\w ]*)")


class Code(NamedTuple):
    """The meaning of one answer. `value` is None for a failed one. `strength` is that of a graded preference, in words."""

    value: float | None
    means: Means = "side"
    strength: str = ""


class Expected(NamedTuple):
    """The answers that a column may have: those of a `pair`, the `labels` of a list, `scores`, or a pair's in the order
    `shown` of an exported task. `names`: value -> its label; `words`: other ways to write them; `scale`: of scores, None for
    any number. `sides`: the names of the columns of the two systems, which an answer may repeat. `aspect`: that of scores
    where the file has several, for which a command's scale would count too.
    """

    form: Form
    what: str
    names: Mapping[float, str] = {}
    words: Mapping[str, float] = {}
    scale: Scale | None = None
    sides: tuple[str, str] = ("", "")
    aspect: str = ""


_Remarks = list[tuple[str, dict[str, float]]]


class Codebook(NamedTuple):
    """What the user said: what answers mean, the two ends of a scale, that the rest may be dropped. `ours`: the file is
    our own export, whose numbers are ours."""

    values: Mapping[str, str] = {}
    ends: tuple[float, float] | None = None
    keep_fitting: bool = False
    ours: bool = False

    def entry(self, text: str) -> str | None:
        """The answer among `values` that this one is, in another spelling or as the same number; None for others."""
        word, number = fold(text.removeprefix(EITHER)), number_of(text)
        same = (old for old in self.values if number is not None and number_of(old) == number)
        return next((old for old in self.values if fold(old) == word), next(same, None))


class Reading(NamedTuple):
    """answer -> its meaning. `strays`: answer -> its rows, which are left out. `remarks`: how it was read (words.toml)."""

    codes: Mapping[str, Code]
    strays: Mapping[str, int]
    remarks: tuple[tuple[str, dict[str, float]], ...] = ()


class Unclear(InputError):  # noqa: N818 - a question
    """The answers do not fit, or in more than one way. `lines`: (what settles it, what it means)."""

    def __init__(self, title: str, cause: str, lines: tuple[tuple[str, str], ...]) -> None:
        width = max((len(option) for option, _ in lines), default=0)
        choices = "".join(f"\n  {option:<{width}}   {meaning}" for option, meaning in lines)
        super().__init__(title, cause, f"Say what they mean:{choices}")
        self.lines = lines
        # without what has to be written by hand
        self.choices = found = list[tuple[str, dict[str, Any]]]()
        for line, meaning in lines:
            name, text = (*shlex.split(line), "")[:2] if line.startswith("--") else ("", "")
            if name == "--keep-fitting":
                found.append((meaning, {"keep_fitting": True}))
            elif name == "--scale" and (ends := ends_of(text)) is not None:
                found.append((meaning, {"scale": ends}))
            elif name == "--values" and (values := values_of(text)) and "|" not in "".join(values.values()):
                words = ", ".join(f"{old} = {new}" for old, new in values.items())
                found.append((f"{words}: {meaning}", {"values": values}))


def is_few(lost: float, of: int) -> bool:
    """Whether so few of all values do not fit that they are strays."""
    return lost < min(STRAY_ROWS, STRAY_SHARE * of)


def fold(text: str) -> str:
    """The answer as a word: in small letters, without brackets around it, underscores and hyphens as spaces."""
    return " ".join(text.lower().replace("_", " ").strip("[] \t\"'").split())


def as_name(text: str) -> str:
    """A system's name without what its spellings differ in."""
    return fold(re.sub(r"\b-\b", " ", text.removeprefix(EITHER)))


def number_of(text: str) -> float | None:
    """The finite number that the text is, else None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text and text.isascii() else None


def settle(counts: Mapping[str, int], expected: Expected, given: Codebook = Codebook()) -> Reading:  # noqa: B008 - frozen
    """The one reading of a column's answers. `counts`: answer -> rows, without empty cells. Raises Unclear."""
    return _Column(counts, expected, given).reading()


def shown_counts(counts: Mapping[str, int], most: int = 12) -> str:
    """The answers with their numbers of rows, the most frequent first."""
    names = {NAMED_A: "the name of a system", NAMED_B: "the name of a system"}
    merged: Counter[str] = Counter()
    for text, rows in counts.items():
        merged[names.get(text, f"“{one_line(text.removeprefix(EITHER), 40)}”")] += rows
    parts = [f"{name} ({quantity(rows, 'row')})" for name, rows in merged.most_common(most)]
    return ", ".join(parts) + (f" and {len(merged) - most:,} others" if len(merged) > most else "")


# ---- words -------------------------------------------------------------------------------------------------------


PAIR_WORDS: Mapping[str, Code] = {word: Code(0.0) for word in _WORDS["ties"]} | {
    name: Code(value, means)
    for value, words in ((1.0, _WORDS["first"]), (-1.0, _WORDS["second"]))
    for means, names in words.items()
    for name in names
}
# word -> the system that was shown first
ORDERS: Mapping[str, Side] = {word: side for side, words in _WORDS["orders"].items() for word in words}


def _word(text: str, expected: Expected) -> Code | None:
    """The code of an answer in words; None for a number or an unknown word."""
    if expected.form == "scores":
        return _on_scale(text, expected.scale)
    word = fold(text)
    if word in FAILED:
        return Code(None)
    if expected.form == "labels":
        named = (value for value, name in expected.names.items() if name.lower() == word)
        value = next(named, expected.words.get(word))
        return None if value is None else Code(value)
    if text in (NAMED_A, NAMED_B):
        return Code(1.0 if text == NAMED_A else -1.0)
    if word and word in expected.sides:
        return Code(1.0 if word == expected.sides[0] else -1.0)
    return side_of(word)


def side_of(word: str) -> Code | None:
    """The code of a folded word for an answer about a pair, graded ones (`a much better`, `a>>b`) too."""
    if code := PAIR_WORDS.get(word):
        return code
    if match := _OPERATOR.fullmatch(word):
        left, right = side_of(match[1]), side_of(match[3])
        if left is None or right is None or not left.value or left.value != -(right.value or 0.0):
            return None
        sign = match[2]
        if sign[0] in "=≈~":
            return Code(0.0)
        better = left if sign[0] in ">≫≻" else right
        return better._replace(strength="much" if len(sign) > 1 or sign in "≫≪" else "")
    return _with_noun(word) or _graded(word)


def place_of(word: str) -> Code | None:
    """The code of a folded word that is the number of a side: `2`, `model 2`."""
    match = _NUMBERED.fullmatch(f"model {word}" if word.isdigit() else word)
    return {"1": Code(1.0), "2": Code(-1.0)}.get(match[2]) if match else None


def code_of_name(name: str) -> Code | None:
    """The code of a word that may be the name of a system, in any spelling."""
    return side_of(fold(name)) or side_of(as_name(name)) or place_of(as_name(name))


def _with_noun(word: str) -> Code | None:
    """`assistant a`, `the left list`."""
    if (match := _WITH_NOUN.fullmatch(word)) is None:
        return None
    code = PAIR_WORDS[match[2]]
    return code._replace(means="side") if match[1] in _NAMED and code.means == "letter" else code


def _graded(word: str) -> Code | None:
    if ": " in word:
        word = " ".join(reversed(word.split(": ", 1)))
    word = word.split(" than ")[0].split(" over ")[0]
    words = [part.strip(".,:;()!") for part in word.split()]
    # the article of “a bit better” is not the side A
    words = [one for one, after in zip(words, [*words[1:], ""]) if one != "a" or after not in _AFTER_ARTICLE]  # noqa: B905
    found = set(words)
    strength = "much" if _MUCH & found else "slightly" if _SLIGHTLY & found else ""
    worse = "worse" in found
    if not (strength or worse or _NOISE & found):
        return None
    rest = [part for part in words if part not in _MUCH | _SLIGHTLY | _NOISE | {"worse"}]
    code = PAIR_WORDS.get(" ".join(rest)) or _with_noun(" ".join(rest))
    if code is None or code.value is None:
        return None
    value = 0.0 - code.value if worse else code.value
    return code._replace(value=value, strength=strength if code.value else "")


def _on_scale(text: str, scale: Scale | None) -> Code | None:
    if scale is not None and scale.words:
        by_word = {" ".join(name.lower().split()): Code(value) for value, name in scale.names.items()}
        return by_word.get(" ".join(text.lower().split()))
    value = number_of(text)
    if value is None:
        return Code(None) if fold(text) in FAILED else None
    return Code(value) if scale is None or scale.low <= value <= scale.high else None


# ---- a column of answers -----------------------------------------------------------------------------------------


class _Column(NamedTuple):
    counts: Mapping[str, int]
    expected: Expected
    given: Codebook

    def reading(self) -> Reading:
        counts, expected, given = self
        codes: dict[str, Code] = {}
        dropped: dict[str, int] = {}
        open_: dict[str, float] = {}
        sides: dict[str, re.Match[str]] = {}
        either: list[str] = []
        for text, rows in counts.items():
            number = number_of(text)
            new = given.values.get(given.entry(text) or "")
            if new is not None and not new.strip():
                dropped[text] = rows
            elif new is not None:
                codes[text] = self._said(new, text)
            elif text.startswith(EITHER):
                either.append(text)
            elif (code := _word(text, expected)) is not None:
                codes[text] = code
            elif number is not None:
                open_[text] = number
            elif expected.form == "pair" and (match := _NUMBERED.fullmatch(fold(text))):
                sides[text] = match
        if either:
            raise self._either(either)
        remarks: _Remarks = []
        codes |= self._numbered_sides(sides)
        codes |= self._numbers(open_, codes, remarks)
        unfit = {text: rows for text, rows in counts.items() if text not in codes and text not in dropped}
        lost, kept = sum(unfit.values()), sum(counts[text] for text in codes)
        if lost and not (kept and (is_few(lost, lost + kept) or given.keep_fitting)):
            raise self._partly(unfit, codes)
        return Reading(codes, {**unfit, **dropped}, tuple(remarks))

    def _said(self, new: str, text: str) -> Code:
        """What the user says an answer means. Raises Unclear for a word that means nothing here."""
        expected = self.expected
        if fold(new) == "name" and text.startswith(EITHER):
            # the loader looks at the systems of the row
            return Code(math.nan)
        if (code := _word(new, expected)) is not None:
            return code
        if (number := number_of(new)) is not None and number in expected.names:
            return Code(number)
        title, answers = f"“{one_line(new, 40)}” is not an answer of {expected.what}", self._answers()
        raise Unclear(title, f"The answers are {answers}.", (self._example([text]),))

    def _numbered_sides(self, sides: Mapping[str, re.Match[str]]) -> dict[str, Code]:
        """`model_1`, `response 2` and the like: counted from 0 or from 1, which a single one does not tell."""
        found = {int(match[2]) for match in sides.values()}
        if not found or not found <= {0, 1, 2} or found >= {0, 2}:
            return {}
        if found == {1} and not self.given.ours:
            ways = (("A", "it is the first system (system_a)"), ("B", "the second (system_b)"))
            raise Unclear(
                f"“{one_line(next(iter(sides)), 40)}” may be the first or the second of the pair",
                f"The answers are {shown_counts(self.counts)}: counted from 1 it is the first system, from 0 the second.",
                tuple((self._values((word, side) for word in sides), meaning) for side, meaning in ways),
            )
        first = 0 if 0 in found else 1
        return {
            text: Code(1.0 if int(match[2]) == first else -1.0, "side" if match[1] in _NAMED else "letter")
            for text, match in sides.items()
        }

    def _numbers(
        self, open_: Mapping[str, float], words: Mapping[str, Code], remarks: _Remarks
    ) -> dict[str, Code]:
        """The codes of answers that are numbers where labels are expected. Raises Unclear where they can be read in two
        ways."""
        counts, expected, given = self
        found = set(open_.values())
        if not found or expected.form == "scores":
            return {}
        if given.ends is not None and expected.form == "pair":
            return _along(open_, given.ends, remarks)
        shown = {1.0: 1.0, 0.0: 0.0, 2.0: -1.0}
        ours = shown if expected.form == "shown" else {value: value for value in expected.names}
        # beside words, and what the command says, a number may be the code of a missing answer
        mixed = not given.ours and any(code.value is not None for code in words.values())
        # a few numbers among many that fit are strays, and do not make the others unclear
        few = {number for text, number in open_.items() if is_few(counts[text], sum(counts.values()))}
        likely = found - (few if mixed else few - set(ours))
        if not likely or (mixed and given.keep_fitting):
            return {}
        # our own codes: of a pair 1 and -1, or -1 alone, of three labels 0 and 2, of an order 2, or 1 alone
        proven = likely == {-1.0} or {min(ours), max(ours)} <= likely
        if expected.form == "shown":
            proven = 2.0 in likely or likely == {1.0}
        fits = {text: Code(ours[number]) for text, number in open_.items() if number in ours}
        if not mixed and (
            given.ours
            or (proven and likely <= set(ours))
            or (given.keep_fitting and likely & set(ours) and not likely <= set(ours))
        ):
            return fits
        whole, furthest = all(map(float.is_integer, likely)), max(map(abs, likely))
        graded = expected.form == "pair" and whole and furthest == 3 and min(likely) < 0 < max(likely)
        if graded and likely == found and not mixed:
            remarks.append(("strengths", {}))
            degrees = {3.0: "much", 1.0: "slightly"}
            return {
                text: Code(float((number > 0) - (number < 0)), strength=degrees.get(abs(number), ""))
                for text, number in open_.items()
            }
        # strays do not hide the reading of the others
        readings = [*self._readings(likely), *self._readings(found)]
        if mixed:
            own = self._values((text, expected.names[code.value or 0.0]) for text, code in fits.items())
            readings = [(own, "our own numbers")] if fits.keys() == open_.keys() else readings
            readings.append((self._values((text, "") for text in open_), "no answer"))
        unfit = {text: counts[text] for text in open_ if mixed or text not in fits}
        partly = bool(unfit and (fits or words))
        title = f"the numbers of {expected.what} can be read in more than one way"
        raise Unclear(
            f"only some answers of {expected.what} fit" if partly else title,
            f"It has {shown_counts(counts)}. The answers are {self._answers()}.",
            (*dict.fromkeys(readings), *(self._keep(unfit, words if mixed else fits) if partly else ())),
        )

    def _readings(self, found: set[float]) -> Iterator[tuple[str, str]]:
        """The ways to read all of these numbers, each with its meaning."""
        form, (first, last) = self.expected.form, _usual_ends(found)
        for reading in _WORDS["readings"]:
            if reading["form"] == form and found <= set(reading.get("numbers", found)):
                for pairs, meaning in reading["ways"].items():
                    yield self._values(pair.split("=") for pair in pairs.split(",")), meaning
        if form == "labels":
            yield f"--scale {first:g}..{last:g}", "scores on a scale of their own (protocol absolute)"
            yield f"--scale {last:g}..{first:g}", f"the same, where {first:g} is the best"
        elif form == "pair" and not found <= {-1.0, 0.0, 1.0}:
            meaning = f"a scale from A ({first:g}) to B ({last:g}), its middle is a tie"
            yield f"--scale {first:g}..{last:g}", meaning
            yield f"--scale {last:g}..{first:g}", f"the same from B to A: {last:g} means that A is better"

    def _answers(self) -> str:
        form, names, scale = self.expected.form, self.expected.names, self.expected.scale
        if form == "pair" and self.given.ends:
            return f"{self.given.ends[0]:g} to {self.given.ends[1]:g}"
        if form == "shown":
            return "List 1, Tie, List 2"
        if form == "scores" and scale is not None:
            return ", ".join(scale.words) or f"{scale.low:g} to {scale.high:g}"
        if form == "scores":
            return "numbers"
        order = sorted(names, key=lambda value: (value == 0 and form != "labels", -value))
        numbers = ", ".join(f"{value:g}" for value in sorted(names, reverse=True))
        either = " or the systems' names" if form == "pair" else ""
        return f"{', '.join(names[value] for value in order)} ({numbers}){either}"

    def _keep(self, unfit: Mapping[str, int], codes: Iterable[str]) -> tuple[tuple[str, str], ...]:
        kept, left = sum(self.counts[text] for text in codes), sum(unfit.values())
        meaning = f"keep the {kept:,} that fit as they are, and leave out {left:,}"
        meaning = meaning if kept else f"leave out these {left:,}, and keep what fits of the other aspects"
        return (("--keep-fitting", meaning),) if kept or self.expected.aspect else ()

    def _example(self, texts: Sequence[str], taken: Collection[float | None] = ()) -> tuple[str, str]:
        """The option with the likely meanings of answers: a label that the word begins with, or of a pair the last one left;
        else all to choose from."""
        form, names = self.expected.form, self.expected.names
        meanings = list(names.values()) if form == "labels" else ["A", "B", "Tie"]
        if form == "scores" and (scale := self.expected.scale):
            meanings = list(scale.names.values()) if scale.words else [f"{scale.low:g}", f"{scale.high:g}"]
        left = set(meanings) - {names.get(value) for value in taken if value is not None}
        last = left if form == "pair" and len(left) == len(texts) == 1 else meanings
        said = {}
        # what follows a side may turn it round: “A is not better”
        rest = r"[\W_]*$" if form == "pair" else ""
        for text in texts[:8]:
            begins = (m for m in meanings if re.match(re.escape(m) + rest, text, re.IGNORECASE))
            said[text] = next(begins, "") or "|".join(last)
        return self._values(said.items()), "for example; an empty meaning (WORD=) leaves an answer out"

    def _partly(self, unfit: Mapping[str, int], codes: Mapping[str, Code]) -> Unclear:
        expected, counts, ends, aspect = self.expected, self.counts, self.given.ends, self.expected.aspect
        numbers = {number for text in counts if (number := number_of(text)) is not None}
        words = [text for text in unfit if number_of(text) is None and "|" not in text]
        begun = {text: match for text in words if (match := _BEGINS.match(text))}
        scores = expected.form == "scores" and not (expected.scale and expected.scale.words)
        lines: list[tuple[str, str]] = []
        if scores and any(match[1] for match in begun.values()):
            lines = [('decimal = ","', "in a mapping: a comma stands before the fraction")]
        elif scores and begun:
            rest = "” or “".join(dict.fromkeys(one_line(text[m.end() :], 30) for text, m in begun.items()))
            lines = [(_NUMBER_ALONE, f"{_IN_MAPPING}: only the number, without “{rest}”; or write it so")]
        elif numbers - set(map(number_of, codes)) and (scores or (expected.form == "pair" and ends)):
            first, last = _usual_ends(numbers)
            if ends:
                first, last = min(*ends, *numbers), max(*ends, *numbers)
                first, last = (first, last) if ends[0] < ends[1] else (last, first)
            lines = [(f"--scale {first:g}..{last:g}", f"the scale goes from {first:g} to {last:g}")]
            if aspect:
                meaning = f"{_IN_MAPPING}, for this aspect alone; or a column scale in the table"
                lines = [(f"scale = {{ {json.dumps(aspect)} = [{first:g}, {last:g}] }}", meaning)]
        elif expected.form == "scores" and words and not numbers:
            ends_ = '["low", "high"]'
            of_aspect = f"{{ {json.dumps(aspect)} = {ends_} }}" if aspect else ends_
            lines = [(f"scale = {of_aspect}", f"{_IN_MAPPING}: the words from the lowest to the highest")]
        if not scores and not lines:
            lines = [self._example(list(unfit), [code.value for code in codes.values()])]
        if scores:
            lines.append((self._values((text, "") for text in [*unfit][:8]), "they are no answers"))
        return Unclear(
            f"only some answers of {expected.what} fit" if codes else f"no answer of {expected.what} fits",
            f"It has {shown_counts(counts)}. The answers are {self._answers()}, and {shown_counts(unfit)} do not fit.",
            (*lines, *self._keep(unfit, codes)),
        )

    def _either(self, either: Sequence[str]) -> Unclear:
        sides = {}
        for text in either:
            code = code_of_name(text.removeprefix(EITHER))
            sides[text] = "Tie" if code is None or not code.value else "BA"[code.value > 0]
        return Unclear(
            "an answer is a side of the pair, and the name of the other system",
            f"It has {shown_counts({text: self.counts[text] for text in either})}.",
            (
                (self._values((text, "name") for text in either), "it is the name of a system"),
                (self._values(sides.items()), "it is the side: A is system_a, B is system_b"),
            ),
        )

    def _values(self, meanings: Iterable[tuple[str, str]]) -> str:
        """The option that gives answers these meanings, beside those that were given."""
        pairs = {**self.given.values, **{text.removeprefix(EITHER): new for text, new in meanings}}
        escaped = (re.sub("([,=])", r"\\\1", " ".join(old.split())) for old in pairs)
        return f"--values {shlex.quote(','.join(map('='.join, zip(escaped, pairs.values(), strict=True))))}"


# ---- numbers -----------------------------------------------------------------------------------------------------


def _along(open_: Mapping[str, float], ends: tuple[float, float], remarks: _Remarks) -> dict[str, Code]:
    """Numbers on a scale from the first system (its first end) to the second: the middle is a tie."""
    low, high = min(ends), max(ends)
    middle, sign = (low + high) / 2, 1.0 if ends[0] > ends[1] else -1.0
    codes = {}
    for text, number in open_.items():
        if low <= number <= high:
            far = abs(number - middle) / ((high - low) / 2)
            value = 0.0 if number == middle else math.copysign(sign, (number - middle) * sign)
            degree = "much" if far > 0.8 else "slightly" if far < 0.5 else ""
            codes[text] = Code(value, strength="" if not value or (far == 1 and high - low <= 2) else degree)
    remarks.append(("along", {"first": ends[0], "last": ends[1], "middle": middle}))
    return codes


_USUAL = (
    (0, 1), (1, 3), (-1, 1), (0, 2), (0, 3), (1, 4), (-2, 2), (0, 4), (1, 5), (0, 5), (1, 6), (-3, 3), (1, 7), (1, 10),
    (0, 10), (0, 100),
)  # fmt: skip


def _usual_ends(found: set[float]) -> tuple[float, float]:
    """The ends of the smallest usual scale that holds these numbers."""
    low, high = min(found), max(found)
    usual = next((ends for ends in _USUAL if ends[0] <= low and high <= ends[1]), None)
    return usual or (low, high if high > low else low + 1)
