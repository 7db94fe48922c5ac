"""One case on the screen: what was shown, what was answered, and by whom."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual.content import Content

from recjudge_tui.domain.event_types import RATING
from recjudge_tui.domain.material import ItemView, ShownEvent, UserView, undated_text
from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.protocols import OVERALL, protocol_facts, question_of, smallest_disagreement
from recjudge_tui.domain.roles import FIRST_HAND, REVIEWED, WITHOUT_OPINION
from recjudge_tui.domain.text import one_line, quantity, safe_text
from recjudge_tui.errors import NotFoundError, RecjudgeError
from recjudge_tui.reports.cases import written_profile
from recjudge_tui.store.case_detail import CaseDetail
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.verdicts import LOW_CONFIDENCE
from recjudge_tui.tui.row_list import Reader
from recjudge_tui.tui.texts import call_facts, error_content, part, request_content
from recjudge_tui.tui.widgets import (
    GLYPHS,
    LONGEST_TEXT,
    ago,
    bar,
    case_number,
    fit,
    fraction,
    score,
    title_rule,
    wrapped,
)

if TYPE_CHECKING:
    from recjudge_tui.prompting.trial import SentVerdict
    from recjudge_tui.store.case_detail import CaseDetail


# ---- panel -------------------------------------------------------------------------------------------------------


TABS = ("reasoning", "lists", "user", "raters")
# these two are read only when they are looked at: requests are rendered again
SENT = ("sent", "raw")
_NOT_ASKED = "No model was asked for this verdict: a person gave it, or it was imported or made from others."
# a case, and what was sent for it if that was wanted
ReadCase = tuple["CaseDetail", "SentVerdict | None"]


class CasePanel(Reader):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.case: CaseDetail | None = None
        self.sent: SentVerdict | None = None

    def show_case(self, read: ReadCase | None, empty: str = "") -> None:
        """Show another case from its top, or the same case read again; without a case, a line with the reason."""
        if read is None:
            self.case, self.sent = None, None
            empty_text = Content.styled(empty, "dim")
            self.show_tabs("case", {"case": lambda _: empty_text}, "case")
            return
        case, sent = read
        again = self.case is not None and case.verdict_id == self.case.verdict_id
        self.case, self.sent = case, sent
        tabs = {tab: partial(case_content, case, tab=tab) for tab in TABS}
        tabs |= {tab: partial(sent_content, sent, tab) for tab in SENT}
        self.show_tabs(case_title(case), tabs, TABS[0], stay=again)


def read_case(db: Database, verdict_id: int, *, sent: bool = False) -> ReadCase | None:
    """The case behind a verdict, with what was `sent` for it; None if the verdict no longer exists."""
    from recjudge_tui.store.case_detail import case_detail

    try:
        case = case_detail(db, verdict_id)
    except NotFoundError:
        return None
    if not sent:
        return case, None
    from recjudge_tui.prompting.trial import sent_verdict

    return case, sent_verdict(db, verdict_id)


# ---- reasoning ---------------------------------------------------------------------------------------------------


# the names of the two lists in prompts and replies, in the order shown
_SHOWN = re.compile(r"\b(?:list|set|system|slate|option|recommender)\s+([A1]|[B2])\b", re.IGNORECASE)
_NAME = 24


def reasonings(
    case: CaseDetail, answers: Sequence[StoredRow], longest: int
) -> Iterator[tuple[str, list[Content]]]:
    """The order in words, and the text of each answer: of the first order, then of the swapped one."""
    for at, answer in enumerate(answers):
        yield _title(case, answer, at, len(answers) > 1), [*_body(case, answer, longest)]


def chosen_system(case: CaseDetail, label: str) -> str:
    """The system that a pair's label means; the label itself if it means none."""
    systems = dict(zip("AB", (name for name, _ in case.slates), strict=False))
    return one_line(systems.get(label, label), _NAME)


def cut_text(text: str, longest: int) -> str:
    """Safe text of several lines, cut to `longest` characters."""
    shown = safe_text(text[:longest]).strip()
    left = len(text) - longest
    return f"{shown} … ({left:,} more characters: “Y” saves all of it)" if left > 0 else shown


def _title(case: CaseDetail, answer: StoredRow, at: int, several: bool) -> str:
    """`Reasoning (cooccurrence first → embedding)`."""
    name = "Reasoning" if at == 0 else "Swapped" if answer.set_one else "Again"
    sample = f"sample {answer.sample + 1}" if several and not answer.set_one else ""
    first = f"{one_line(answer.set_one, _NAME)} first" if answer.set_one else sample
    if not first:
        return name
    chosen = "failed" if answer.failed else chosen_system(case, answer.label)
    return f"{name} ({first} → {chosen})"


def _body(case: CaseDetail, answer: StoredRow, longest: int) -> Iterator[Content]:
    if answer.failed:
        tries = quantity(answer.attempts, "attempt")
        kind = one_line(answer.error_kind.replace("_", " "), 40)
        yield Content.assemble((f"{GLYPHS.failed} {kind}", "$error"), f" after {tries}")
    text = cut_text(answer.error if answer.failed else answer.reasoning, longest)
    yield _named(case, answer, text) if text else Content.styled("(no reasoning)", "dim")


def _named(case: CaseDetail, answer: StoredRow, text: str) -> Content:
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


# ---- head --------------------------------------------------------------------------------------------------------


_MOST_ANSWERS = 4


def head(case: CaseDetail) -> Iterator[Content]:
    """`llama: embedding .41   people: cooccurrence ×2`, then the reasons to look at it."""
    label = f"{GLYPHS.failed} failed" if case.failed else _label(case)
    parts: list[str | tuple[str, str]] = [
        (f"{one_line(case.rater, 30)}: ", ""),
        (label, "bold $error" if case.failed else "bold"),
    ]
    if case.aspect != OVERALL:
        parts.append(f" on {one_line(case.aspect.replace('_', ' '), 26)}")
    if case.confidence is not None:
        parts.append((f" {fraction(case.confidence, '')}", "dim"))
    if people := _people(case):
        parts.append(f"   people: {people}")
    yield Content.assemble(*parts)
    if reasons := list(reasons_to_look(case)):
        yield Content.assemble(
            ("WHY YOU SEE THIS  ", "bold $warning"), (f" {GLYPHS.dot} ".join(reasons), "$warning")
        )


def reasons_to_look(case: CaseDetail) -> Iterator[str]:
    """The reasons to look at the case, most important first."""
    if case.rater_kind in REVIEWED and case.value is not None and not case.failed:
        least, value = smallest_disagreement(case.protocol), case.value
        others = [o for o in _on_the_question(case) if o.value is not None and not o.mine]
        people = [o for o in others if o.rater_kind in FIRST_HAND]
        apart = [o for o in people if o.value is not None and abs(o.value - value) >= least]
        if apart:
            all_people = {1: "the person", 2: "both people"}.get(len(people), f"all {len(people)} people")
            some = f"{len(apart)} of {len(people)} people"
            yield f"judge against {all_people if len(apart) == len(people) else some}"
        judges = [o for o in others if o.rater_kind in REVIEWED and o.rater != case.rater]
        split = [o for o in judges if o.value is not None and abs(o.value - value) >= least]
        if split:
            yield "judges split: " + ", ".join(
                f"{one_line(o.rater, 20)} says {chosen_system(case, o.label) or f'{o.value:g}'}"
                for o in split[:3]
            )
    if case.flipped:
        yield "flips when swapped"
    if case.confidence is not None and case.confidence < LOW_CONFIDENCE:
        yield f"confidence {fraction(case.confidence, '')}"
    if case.failed:
        yield "a call failed"
    if flagged := sum(flag.mine for flag in case.flags):
        yield f"{quantity(flagged, 'flag')} on items"


def _on_the_question(case: CaseDetail) -> list[StoredRow]:
    question, alike = question_of(case.protocol), [o for o in case.opinions if o.aspect == case.aspect]
    return [o for o in alike if not o.failed and question_of(o.protocol) == question]


def _people(case: CaseDetail) -> str:
    """`cooccurrence ×2, tie`, in the order of the list; empty where no person judged the case."""
    given = Counter(
        (o.value, chosen_system(case, o.label) or score(o.value))
        for o in _on_the_question(case)
        if o.rater_kind in FIRST_HAND and not o.mine and o.value is not None
    )
    shown = sorted(given.items(), key=lambda entry: (-entry[1], -entry[0][0]))[:_MOST_ANSWERS]
    return ", ".join(
        answer + (f" {GLYPHS.times}{count}" if count > 1 else "") for (_, answer), count in shown
    )


def _label(case: CaseDetail) -> str:
    """The choice in words, or a number with a bar on a scale from 0 to 1."""
    if case.kind == "explanation" and case.rater_kind != "metric":
        return f"{score(case.value)} of {protocol_facts(case.protocol).high:g}"
    if case.label and protocol_facts(case.protocol).labels:
        return chosen_system(case, case.label)
    return f"{score(case.value)}  {bar(case.value or 0.0, 10)}"


# ---- lists -------------------------------------------------------------------------------------------------------


_GAP = 2
_SHARED = "="
_FEWEST_CELLS = 8
# the width of each list if the history is beside them
_COMFORTABLE = 34
_HISTORY = 36
_WIDE_ITEM = 44
_FEWEST_EVENTS = 15
_LONGEST_ALIGNED = 500


class _Cell(NamedTuple):
    """One item in one list: `rank` from 1; `other` is the rank of the item in the other list."""

    item: ItemView
    rank: int
    other: int | None


def lists_title(case: CaseDetail) -> str:
    if len(case.slates) < 2:
        return "List"
    first, second = ({item.item_id for item in slate.items} for _, slate in case.slates[:2])
    shared = len(first & second)
    return f"Lists, {_SHARED} in both: {shared}" if shared else "Lists, no item in both"


def history_beside(case: CaseDetail, width: int) -> bool:
    """Whether there is a history and enough width to show it beside the lists."""
    room = width - _HISTORY - _GAP
    return bool(case.user.history) and room >= _COMFORTABLE * len(case.slates) + _GAP and bool(case.slates)


def lists(case: CaseDetail, width: int) -> Iterator[Content]:
    """The lists with their flags; the reason for a flag is below its item."""
    if history_beside(case, width):
        shown = list(_lists(case, width - _HISTORY - _GAP))
        room = width - _HISTORY - _GAP
        for left, right in zip_longest(shown, _history(case.user, len(shown))):
            left_cell = left if left is not None else Content("")
            filled = Content.assemble(left_cell, " " * max(room - left_cell.cell_length, 0))
            yield (Content.assemble(filled, " " * _GAP, right) if right is not None else left_cell).rstrip()
    else:
        yield from _lists(case, width)
    in_lists = {item.item_id for _, slate in case.slates for item in slate.items}
    for item_id, raised in _flags(case).items():
        if item_id not in in_lists:
            name = (f"{GLYPHS.marked} {one_line(item_id, 60)}", "$warning")
            yield Content.assemble(name, (" is in no list", "dim"))
            for flag in raised:
                yield from _flag(flag, width)
    if case.flags_beyond:
        beyond = quantity(case.flags_beyond, "flag")
        yield Content.styled(
            f"not shown: {beyond} by other raters, on ranks that this judge was not shown", "dim"
        )


def event_line(event: ShownEvent) -> Content:
    """Day, kind, title and value of one of the user's events."""
    what = item_words(event.item) if event.item else one_line(event.text, 120) or GLYPHS.none
    value = "" if event.value is None else f"{event.value:g}"
    kind = "" if event.type in ("purchase", "rating", "click", "search") else f"{one_line(event.type, 20)} "
    if value and event.type == RATING:
        kind, value = f"rated {value} ", ""
    day = f"{one_line(event.timestamp[:10], 10):10} " if event.timestamp else ""
    return Content.assemble((f"  {day}{kind}", "dim"), what, (value and f" {value}", "dim"))


def item_words(item: ItemView) -> str:
    more = [one_line(part, 40) for part in (item.brand, item.category) if part]
    return one_line(item.title, 200) + (f" {GLYPHS.dot} " + ", ".join(more) if more else "")


def _history(user: UserView, lines: int) -> Iterator[Content]:
    yield Content.styled(f"history ({len(user.history)}), newest first", "bold")
    most = max(lines - 2, _FEWEST_EVENTS)
    for event in user.history[:most]:
        yield event_line(event).truncate(_HISTORY, ellipsis=True)
    if len(user.history) > most:
        yield Content.styled(f"  {GLYPHS.cut} {len(user.history) - most} more", "dim")


def _flags(case: CaseDetail) -> dict[str, list[StoredRow]]:
    flags: dict[str, list[StoredRow]] = {}
    for flag in case.flags:
        flags.setdefault(flag.item_id, []).append(flag)
    return flags


def _lists(case: CaseDetail, width: int) -> Iterator[Content]:
    column = max((width - _GAP * (len(case.slates) - 1)) // len(case.slates), _FEWEST_CELLS)
    names = [f"{letter} {one_line(name, 60)}" for letter, (name, _) in zip("AB", case.slates, strict=False)]
    if len(case.slates) == 1:
        names = [one_line(case.slates[0][0], 60)]
    yield Content.styled((" " * _GAP).join(fit(name, column) for name in names).rstrip(), "bold")
    flags = _flags(case)
    for cells in _places(case):
        yield from _row(cells, flags, column)


def _places(case: CaseDetail) -> Iterator[list[_Cell | None]]:
    """The lines of the lists. An item in both lists is on one line as far as the two orders allow it."""
    items = [slate.items for _, slate in case.slates]
    if len(items) != 2:
        for rank, row in enumerate(zip_longest(*items), 1):
            yield [None if item is None else _Cell(item, rank, None) for item in row]
        return
    ids = [[item.item_id for item in slate] for slate in items]
    ranks = [{key: rank for rank, key in reversed(list(enumerate(keys, 1)))} for keys in ids]
    a, b = ([_Cell(item, rank, ranks[1 - side].get(item.item_id)) for rank, item in enumerate(items[side], 1)]
            for side in (0, 1))  # fmt: skip
    if max(len(a), len(b)) > _LONGEST_ALIGNED:
        yield from ([x, y] for x, y in zip_longest(a, b))
        return
    for _, first, last, start, end in SequenceMatcher(None, ids[0], ids[1], autojunk=False).get_opcodes():
        yield from ([x, y] for x, y in zip_longest(a[first:last], b[start:end]))


def _row(cells: Sequence[_Cell | None], flags: dict[str, list[StoredRow]], column: int) -> Iterator[Content]:
    parts: list[str | tuple[str, str]] = []
    raised: list[StoredRow] = []
    on_one_line = None not in cells and len({cell.item.item_id for cell in cells if cell}) == 1
    for place, cell in enumerate(cells):
        flagged = flags.get(cell.item.item_id, []) if cell else []
        raised += [flag for flag in flagged if flag not in raised]
        letter = "" if on_one_line else "BA"[place]
        text = "" if cell is None else _item(cell, bool(flagged), letter, len(cells) > 1, column)
        shared = cell is not None and cell.other is not None
        parts.append((fit(text, column), "$warning" if flagged else "dim" if shared else ""))
        if place + 1 < len(cells):
            parts.append(" " * _GAP)
    yield Content.assemble(*parts).rstrip()
    width = (column + _GAP) * len(cells) - _GAP
    for flag in raised:
        yield from _flag(flag, width)


def _item(cell: _Cell, flagged: bool, letter: str, paired: bool, column: int) -> str:
    """`= 2 ▲ Heat 2 (B4)`: in both lists, second here, flagged, fourth in B."""
    wide = not paired or column >= _WIDE_ITEM
    title = item_words(cell.item) if wide else one_line(cell.item.title, 200)
    elsewhere = f" ({letter}{cell.other})" if letter and cell.other is not None else ""
    shared = "" if not paired else f"{_SHARED if cell.other is not None else ' '}"
    head = f"{shared}{cell.rank:2} {GLYPHS.marked + ' ' if flagged else ''}"
    room = column - cell_len(head) - cell_len(elsewhere)
    return head + (fit(title, room).rstrip() if cell_len(title) > room else title) + elsewhere


def _flag(flag: StoredRow, width: int) -> Iterator[Content]:
    """Issue and reason, indented under the item, wrapped by hand to keep the indent."""
    order = f", Set 1 = {one_line(flag.set_one, 30)}" if flag.set_one else ""
    text = f"{one_line(flag.issue, 60)}: {one_line(flag.reason, 1200)} ({one_line(flag.rater, 30)}{order})"
    for line in wrapped(text, max(width - 6, 12)) or [""]:
        yield Content.styled(f"     {line}", "$warning" if flag.mine else "dim")


# ---- raters ------------------------------------------------------------------------------------------------------


Part = tuple[str, str]
_BAR = 10
_ASPECT = 26
_MOST_COLUMNS = 60


class _Column(NamedTuple):
    head: str
    mine: bool
    cells: dict[str, Part]

    @property
    def width(self) -> int:
        return max(cell_len(self.head), *(cell_len(text) for text, _ in self.cells.values()), 1)


def raters_title(case: CaseDetail) -> str:
    if case.kind == "explanation":
        facts = protocol_facts(case.protocol)
        return f"Scores, {facts.low:g} to {facts.high:g}"
    if len(case.aspects) == 1:
        return "Raters"
    both = len({answer.set_one for answer in case.run_answers}) > 1
    return "Aspects (AB, BA: order shown)" if both else "Aspects"


def raters(case: CaseDetail, width: int) -> Iterator[Content]:
    """Every verdict on the case, laid out for `width` cells: a line for each rater, or aspects in rows and the two
    orders and the raters in columns, which continue below if they do not fit side by side."""
    if len(case.aspects) == 1 and case.kind != "explanation":
        yield from _lines(case)
        return
    names = {aspect: _aspect_name(case, aspect) for aspect in case.aspects}
    columns = [*_orders(case), *_rater_columns(case)]
    widest = max((column.width for column in columns), default=0)
    left = max(min(max(name.cell_length for name in names.values()), width - widest - 2), 6)
    block: list[_Column] = []
    for column in (*columns[:_MOST_COLUMNS], None):
        used = left + sum(other.width + 2 for other in block)
        if block and (column is None or used + column.width + 2 > width):
            yield _row_of(Content(""), left, [(c.head, "bold" if c.mine else "dim") for c in block], block)
            for aspect, name in names.items():
                if any(aspect in c.cells for c in block):
                    cells = [c.cells.get(aspect, ("", "")) for c in block]
                    yield _row_of(name, left, cells, block)
            block = []
        block += [column] if column is not None else []
    if len(columns) > _MOST_COLUMNS:
        yield Content.styled(f"and {len(columns) - _MOST_COLUMNS} more raters", "dim")


def _row_of(name: Content, left: int, cells: Sequence[Part], columns: Sequence[_Column]) -> Content:
    shown = [(f"  {fit(text, c.width)}", style) for (text, style), c in zip(cells, columns, strict=True)]
    name = name.truncate(left, ellipsis=True)
    return Content.assemble(name, " " * (left - name.cell_length), *shown).rstrip()


def aspect_words(aspect: str) -> str:
    return one_line(aspect.replace("_", " "), _ASPECT)


def _aspect_name(case: CaseDetail, aspect: str) -> Content:
    """The aspect, marked if the verdict is about it, with the spread of the scores of people and judges."""
    mine = aspect == case.aspect
    of_aspect = [o for o in case.opinions if o.aspect == aspect]
    scored = case.kind == "explanation"
    metrics = scored and all(o.rater_kind == "metric" for o in of_aspect)
    name = f"{GLYPHS.crumb if mine else ' '} {'metrics, 0 to 1' if metrics else aspect_words(aspect)}"
    values = [o.value for o in of_aspect if o.value is not None and o.rater_kind not in WITHOUT_OPINION]
    if not scored or len(values) < 2:
        return Content.styled(name, "bold" if mine else "")
    apart = max(values) - min(values)
    far = apart >= smallest_disagreement(case.protocol)
    spread = f"  {GLYPHS.marked + ' ' if far else ''}spread {score(apart)}"
    return Content.assemble((name, "bold" if mine else ""), (spread, "$warning" if far else "dim"))


def _orders(case: CaseDetail) -> Iterator[_Column]:
    """The answers with A shown first, and with B first; several samples are counted."""
    systems = [name for name, _ in case.slates] or sorted({s.set_one for s in case.run_answers if s.set_one})
    for head, system in zip(("AB", "BA"), systems, strict=False):
        answers = [answer for answer in case.run_answers if answer.set_one == system]
        cells: dict[str, Part] = {}
        for aspect in case.aspects:
            here = [answer for answer in answers if answer.aspect in ("", aspect)]
            labels = [GLYPHS.failed if answer.failed else one_line(answer.label, 10) for answer in here]
            shown = " ".join(labels[:3]) + (GLYPHS.cut if len(labels) > 3 else "")
            cells[aspect] = shown, "$error" if any(answer.failed for answer in here) else "dim"
        if answers:
            yield _Column(head, False, cells)


def _rater_columns(case: CaseDetail) -> Iterator[_Column]:
    """The verdict's own rater first; of scores, the user's own, and last those without an opinion."""
    by_rater: dict[str, list[StoredRow]] = {}
    for opinion in case.opinions:
        by_rater.setdefault(opinion.rater, []).append(opinion)
    truth = {o.aspect: o.value for o in case.opinions if o.rater_kind == "ground_truth"}
    scored = case.kind == "explanation"

    def order(rater: str) -> tuple[bool, bool, bool]:
        kind = by_rater[rater][0].rater_kind
        return scored and kind != "ground_truth", rater != case.rater, kind in WITHOUT_OPINION

    for rater in sorted(by_rater, key=order):
        opinions = by_rater[rater]
        cells = {
            o.aspect: _scored(o, truth.get(o.aspect)) if scored else opinion_part(o, short=True)
            for o in opinions
        }
        yield _Column(one_line(rater, 12), rater == case.rater, cells)


def _scored(opinion: StoredRow, truth: float | None) -> Part:
    """A score, and its distance from the user's own: `4 -1`. Disagreement with a random baseline has no meaning."""
    if opinion.failed or opinion.value is None:
        return GLYPHS.failed, "$error"
    text, kind = score(opinion.value), opinion.rater_kind
    if truth is None or kind in ("metric", "ground_truth") or opinion.value == truth:
        return text, "bold" if opinion.mine else ""
    away = opinion.value - truth
    far = abs(away) >= smallest_disagreement(opinion.protocol) and kind not in WITHOUT_OPINION
    sign = "+" if away > 0 else "-"
    return (f"{text} {sign}{score(abs(away))}{GLYPHS.marked if far else ''}", "$warning" if far else "")


def _lines(case: CaseDetail) -> Iterator[Content]:
    by_rater: dict[tuple[str, str], list[StoredRow]] = {}
    for opinion in case.opinions:
        by_rater.setdefault((opinion.rater, opinion.rater_kind), []).append(opinion)
    several = len({opinion.protocol for opinion in case.opinions}) > 1
    for (rater, kind), opinions in by_rater.items():
        parts: list[str | Part] = [
            (one_line(rater, 30), "bold" if any(o.mine for o in opinions) else ""),
            ("" if rater == kind else f" {kind.replace('_', ' ')}", "dim"),
        ]
        for opinion in opinions:
            question = f"{one_line(opinion.protocol, 12)} " if several else ""
            if opinion.aspect != OVERALL:
                question += f"{aspect_words(opinion.aspect)} "
            parts += ["  ", (question, "dim"), opinion_part(opinion)]
        yield Content.assemble(*parts)


def opinion_part(opinion: StoredRow, *, short: bool = False) -> Part:
    """The label, or a number and a bar if there is none; `swap` (a glyph if `short`) for a flip."""
    if opinion.failed:
        label = GLYPHS.failed
    elif opinion.label and protocol_facts(opinion.protocol).labels:
        label = one_line(opinion.label, 10 if short else 30)
    else:
        label = score(opinion.value)
        if opinion.value is not None and not short:
            label += f" {bar(opinion.value, _BAR)}"
    mark = f" {GLYPHS.marked}{'' if short else ' swap'}" if opinion.flipped else ""
    style = "$error" if opinion.failed else "$warning" if opinion.flipped else "bold" if opinion.mine else ""
    return label + mark, style


# ---- images ------------------------------------------------------------------------------------------------------


def images(case: CaseDetail) -> Iterator[Content]:
    """`A2 Heat` for each item whose image was shown; the letter only where there are two lists."""
    for letter, (_, slate) in zip("AB", case.slates, strict=False):
        for rank, item in enumerate(slate.items, 1):
            if item.image is not None:
                name = f"{letter if len(case.slates) > 1 else ''}{rank}"
                yield Content.assemble((f"{name} ", "dim"), one_line(item.title, 200))
    if case.explanation is not None and case.explanation.item.image is not None:
        yield Content(one_line(case.explanation.item.title, 200))


# ---- text --------------------------------------------------------------------------------------------------------


_SHOWN_EVENTS = 25
_DONE = {"accept": "accepted", "dismiss": "dismissed", "override": "overridden"}
Line = Content | str
# its tab, its title, and its lines
Section = tuple[str, str, Iterable[Line]]


def case_content(case: CaseDetail, width: int, longest: int = LONGEST_TEXT, tab: str = TABS[0]) -> Content:
    """A tab of the case, laid out for `width` cells; the first one has all of it, the reasoning at its top. Texts longer
    than `longest` are cut and marked as cut."""
    beside = history_beside(case, width)
    seen = f"as run {case.run_shown} saw it" if case.run_shown is not None else "as imported"
    profile = case.user.profile or (written_profile(case.profile) if case.profile else "")
    shown: list[Section] = [("lists", lists_title(case), lists(case, width) if case.slates else ())]
    if case.images:
        shown.append(("lists", "Images shown", images(case)))
    everybody = ("raters", raters_title(case), [*raters(case, width), _how(case)])
    # scores and aspects are the main content of such a verdict; single labels need little room
    early = case.kind == "explanation" or len(case.aspects) > 1
    sections: list[Section] = [
        ("", "", [*head(case), *([Content(cut_text(case.note, longest))] if case.note else [])]),
        ("", "Triage", _triage(case, longest)),
        ("lists", "Explanation", _explanation(case, longest)),
        *_reasoning(case, longest),
        *([everybody] if early else []),
        *(_reasons(case, longest) if case.kind == "explanation" else ()),
        *shown,
        ("user", f"User ({seen})", _user(case, longest, events=not beside or tab == "user")),
        ("user", "Profile (written by the model)", [Content(cut_text(profile, longest))] if profile else ()),
        *([] if early else [everybody]),
        ("lists", "Example shown before it", _example(case, longest)),
        *(_other_reasoning(case, longest) if case.kind != "explanation" else ()),
    ]
    lines: list[Line] = []
    for of_tab, title, body in sections:
        section = list(body) if tab in (TABS[0], of_tab) else []
        lines += [title_rule(title, width), *section] if section and title else section
    return Content("\n").join(lines)


def sent_content(sent: SentVerdict | None, tab: str, width: int) -> Content:
    """What was sent for every call behind the verdict, in both orders, or what came back."""
    if sent is None:
        return Content.styled(_NOT_ASKED, "dim")
    lines: list[Content] = []
    for call in sent.calls:
        row = call.row
        lines.append(title_rule(one_line(call.title(), 60), width))
        if tab == "raw":
            known = {**row, "seconds": row["latency_s"], "stop": row["stop_reason"]}
            lines.append(call_facts(row["attempts"], row["cost_usd"], known))
            if row["cached_from"] is not None:
                lines.append(Content.styled("a stored reply was used", "dim"))
            if row["state"] == "failed":
                kind = one_line((row["error_kind"] or "").replace("_", " "), 40)
                lines.append(error_content(RecjudgeError(kind, row["error"] or "")))
            lines.append(part("reply", row["reply"] or ""))
            lines += [part("thinking", row["thinking"])] if row["thinking"] else []
        elif call.request is None:
            fault = f"The request cannot be rendered any more: {safe_text(call.fault)}"
            lines.append(Content.styled(fault, "$warning"))
        else:
            if call.same is False:
                other = "This is not the request that was sent: its hash differs from the stored one."
                lines.append(Content.styled(f"{GLYPHS.marked} {other}", "$warning"))
            lines.append(request_content(call.request.messages))
            if call.parameters:
                given = ", ".join(f"{name} {value}" for name, value in call.parameters.items())
                lines.append(Content.styled(f"with {one_line(given, 600)}", "dim"))
    return Content("\n").join(lines)


def case_title(case: CaseDetail) -> str:
    run = f" {GLYPHS.dot} run {case.run_id}" if case.run_id is not None else ""
    return f"case {case_number(case.case_id)} {GLYPHS.dot} {one_line(case.rater, 14)}{run}"


def _triage(case: CaseDetail, longest: int) -> Iterator[Line]:
    """The readers' actions on the verdict, oldest first, without undone ones."""
    for entry in case.triage:
        if entry.standing:
            change = (
                f" to {one_line(entry.label, 40) or score(entry.value)}" if entry.action == "override" else ""
            )
            text = f": {cut_text(entry.text, longest)}" if entry.text else ""
            who = f"{one_line(entry.reader, 20)} {GLYPHS.dot} {ago(entry.created_at)}"
            yield Content.assemble(
                (_DONE.get(entry.action, entry.action), "bold"), f"{change}{text}  ", (who, "dim")
            )


def _reasoning(case: CaseDetail, longest: int) -> Iterator[Section]:
    """The reasoning about the verdict's own aspect, each order under a title of its own."""
    if not case.answers:
        made = "none: this verdict was not made by a run" if case.run_id is None else "none stored"
        yield "", "Reasoning", [Content.styled(made, "dim")]
    for title, body in reasonings(case, case.answers, longest):
        yield "", title, body


def _other_reasoning(case: CaseDetail, longest: int) -> Iterator[Section]:
    """The reasoning about the other aspects, where the text differs from that of the own aspect."""
    own = {(answer.call, answer.reasoning) for answer in case.answers}
    for aspect in case.aspects:
        answers = [answer for answer in case.run_answers if answer.aspect == aspect and aspect != case.aspect]
        if any((answer.call, answer.reasoning) not in own for answer in answers):
            for title, body in reasonings(case, answers, longest):
                yield "raters", f"{title} on {aspect_words(aspect)}", body


def _reasons(case: CaseDetail, longest: int) -> Iterator[Section]:
    """What each rater says of each aspect, the verdict's own rater first; aspects with the same words together."""
    own = next((o.reason for o in case.opinions if o.mine), "")
    said: dict[str, dict[str, list[StoredRow]]] = {}
    for opinion in sorted(case.opinions, key=lambda o: o.rater != case.rater):
        # the reasoning of the verdict itself stands above
        if opinion.reason and (opinion.rater, opinion.reason) != (case.rater, own):
            said.setdefault(opinion.rater, {}).setdefault(opinion.reason, []).append(opinion)
    for rater, reasons in said.items():
        lines = []
        for text, opinions in reasons.items():
            about = ", ".join(f"{aspect_words(o.aspect)} {score(o.value)}" for o in opinions)
            lines.append(Content.assemble((about, "bold"), f"  {cut_text(text, longest)}"))
        yield "raters", f"Reasons of {one_line(rater, 30)}", lines


def _how(case: CaseDetail) -> Content:
    """Protocol, rule and prompt behind the verdict."""
    how = [one_line(case.protocol, 20), f"rule {one_line(case.rule, 40)}"]
    if case.prompt:
        how.append(one_line(case.prompt, 60))
    if case.rater_kind == "rules":
        how.append("built-in rules, not a language model")
    return Content.styled(f" {GLYPHS.dot} ".join(how), "dim")


def _user(case: CaseDetail, longest: int, *, events: bool) -> Iterator[Line]:
    """Facts and history; without `events` if the history is beside the lists."""
    user = case.user
    details = "".join(
        f" {GLYPHS.dot} {part}" for part in (occasion_text(case.occasion), user_facts(user)) if part
    )
    yield Content.assemble((one_line(user.user_id, 60), "bold"), details)
    if undated := undated_text(user, case.occasion.served_at):
        yield Content.styled(f"{GLYPHS.marked} {undated}", "$warning")
    yield from user_lines(user, longest, events=events)


def user_facts(user: UserView) -> str:
    return ", ".join(f"{one_line(k, 30)} {one_line(v, 60)}" for k, v in list(user.attributes.items())[:20])


def user_lines(
    user: UserView, longest: int, *, events: bool = True, most: int = _SHOWN_EVENTS
) -> Iterator[Content]:
    """What the user did, the newest first, and what is known besides."""
    shown = {"searches": user.searches, "clicks": user.clicks, "other": user.others}
    for title, done in ({"history": user.history} | shown if events else shown).items():
        if done:
            yield Content.styled(f"{title} ({len(done)}), newest first", "dim")
            yield from map(event_line, done[:most])
        if len(done) > most:
            yield Content.styled(f"  {GLYPHS.cut} {len(done) - most} more", "dim")
    if user.browsed:
        yield Content.assemble(("browsed ", "dim"), ", ".join(one_line(b, 60) for b in user.browsed[:20]))
    if user.preferences:
        yield Content.assemble(("prefers ", "dim"), cut_text("; ".join(user.preferences), longest))


def _explanation(case: CaseDetail, longest: int) -> Iterator[Line]:
    if case.explanation is None:
        return
    yield Content.assemble(
        (item_words(case.explanation.item), "bold"), (f"  by {one_line(case.explanation_system, 40)}", "dim")
    )
    yield Content(cut_text(case.explanation.text, longest))


def _example(case: CaseDetail, longest: int) -> Iterator[Line]:
    """The scored example of a one-shot question."""
    if case.example is None:
        return
    yield Content.styled(item_words(case.example.item), "bold")
    yield Content(cut_text(case.example.text, longest))
    scores = list(case.example.scores.items())[:20]
    yield Content.styled("  ".join(f"{aspect_words(name)} {score(v)}" for name, v in scores), "dim")
