"""The verdicts on a case: scores as rows of bars, verdicts on several aspects as a grid, otherwise a line per rater."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from recjudge_tui.domain.protocols import OVERALL, protocol_facts, smallest_disagreement
from recjudge_tui.domain.roles import WITHOUT_OPINION
from recjudge_tui.domain.text import one_line
from recjudge_tui.store.case_detail import CallAnswer, CaseDetail, Opinion
from recjudge_tui.tui.kit.glyphs import Glyphs, bar, fit, score

Part = tuple[str, str]

_BAR = 5
# raters are indented below the name of an aspect
_UNDER = 4
_ASPECT = 26
_MOST_COLUMNS = 60


def raters_title(case: CaseDetail) -> str:
    if _scored(case):
        facts = protocol_facts(case.protocol)
        return f"Scores, {facts.low:g} to {facts.high:g}"
    if len(case.aspects) == 1:
        return "Raters"
    both = len({answer.set_one for answer in case.run_answers}) > 1
    return "Aspects (AB, BA: order shown)" if both else "Aspects"


def raters(case: CaseDetail, width: int, symbols: Glyphs) -> Iterator[Content]:
    """Every verdict on the case, laid out for `width` cells."""
    if _scored(case):
        yield from _scores(case, width, symbols)
    elif len(case.aspects) > 1:
        yield from _grid(case, width, symbols)
    else:
        yield from _lines(case, symbols)


def aspect_words(aspect: str) -> str:
    return one_line(aspect.replace("_", " "), _ASPECT)


def _scored(case: CaseDetail) -> bool:
    return case.kind == "explanation"


# ---- scores of an explanation


def spread(case: CaseDetail, aspect: str) -> float | None:
    """Highest minus lowest score of people and judges; None with fewer than two."""
    values = [
        o.value
        for o in case.opinions
        if o.aspect == aspect and o.value is not None and o.rater_kind not in WITHOUT_OPINION
    ]
    return max(values) - min(values) if len(values) > 1 else None


def _scores(case: CaseDetail, width: int, symbols: Glyphs) -> Iterator[Content]:
    """Each aspect with its spread, and below it (beside it in a wide window) a small bar for each rater."""
    aspects = sorted(case.aspects, key=lambda aspect: aspect != case.aspect)
    cells = {aspect: _aspect_cells(case, aspect, symbols) for aspect in aspects}
    flat = [cell for cells_of_row in cells.values() for cell in cells_of_row]
    widths = [max((cell_len(cell[at][0]) for cell in flat), default=0) for at in range(4)]
    if _UNDER + 2 * (sum(widths) + 3) + 3 > width >= _UNDER + 2 * (sum(widths) + 2 - widths[1]) + 3:
        # two raters side by side are more useful than their bars
        cells = {aspect: [_without_bar(cell) for cell in row] for aspect, row in cells.items()}
        widths = [widths[0], *widths[2:]]
    each = sum(widths) + len(widths) - 1
    heads = {aspect: _score_head(case, aspect, symbols) for aspect in aspects}
    left = max((head.cell_length for head in heads.values()), default=0) + 3
    beside = width - left >= 2 * (each + 3)
    if not beside:
        left = _UNDER
    row = max((width - left + 3) // (each + 3), 1)
    for aspect in aspects:
        head: Content | None = heads[aspect]
        assert head is not None
        if not beside:
            yield head
            head = None
        for start in range(0, len(cells[aspect]), row):
            parts = _padded(cells[aspect][start : start + row], widths)
            yield Content.assemble(
                head or "", " " * (left - (head.cell_length if head else 0)), *parts
            ).rstrip()
            head = None


def _score_head(case: CaseDetail, aspect: str, symbols: Glyphs) -> Content:
    mine = aspect == case.aspect
    measured = all(o.rater_kind == "metric" for o in case.opinions if o.aspect == aspect)
    name = f"{symbols.crumb if mine else ' '} {'metrics, 0 to 1' if measured else aspect_words(aspect)}"
    apart = spread(case, aspect)
    if apart is None:
        return Content.styled(name, "bold" if mine else "")
    far = apart >= smallest_disagreement(case.protocol)
    spread_text = f"  {symbols.marked + ' ' if far else ''}spread {score(apart, symbols)}"
    return Content.assemble((name, "bold" if mine else ""), (spread_text, "$warning" if far else "dim"))


def _aspect_cells(case: CaseDetail, aspect: str, symbols: Glyphs) -> list[list[Part]]:
    opinions = [opinion for opinion in case.opinions if opinion.aspect == aspect]
    opinions.sort(
        key=lambda opinion: (opinion.rater_kind != "ground_truth", opinion.rater_kind in WITHOUT_OPINION)
    )
    truth = next((o.value for o in opinions if o.rater_kind == "ground_truth" and o.value is not None), None)
    return [_score_cell(opinion, truth, symbols) for opinion in opinions]


def _score_cell(opinion: Opinion, truth: float | None, symbols: Glyphs) -> list[Part]:
    """Name, bar, score, and its distance from the user's own score."""
    name = (one_line(opinion.rater, 14), "bold" if opinion.mine else "")
    if opinion.failed or opinion.value is None:
        return [name, (symbols.failed, "$error"), ("failed", "$error"), ("", "")]
    metric = opinion.rater_kind == "metric"
    drawn = bar(
        opinion.value / (1.0 if metric else protocol_facts(opinion.protocol).high), _BAR, symbols
    ).ljust(_BAR)
    away, style = "", ""
    if opinion.rater_kind == "ground_truth":
        away, style = "user", "bold"
    elif truth is not None and not metric and opinion.value != truth:
        # disagreement with a random baseline has no meaning
        far = (
            abs(opinion.value - truth) >= smallest_disagreement(opinion.protocol)
            and opinion.rater_kind not in WITHOUT_OPINION
        )
        sign = "+" if opinion.value > truth else "-"
        away = f"{sign}{score(abs(opinion.value - truth), symbols)}{' ' + symbols.marked if far else ''}"
        style = "$warning" if far else "dim"
    return [name, (drawn, "$accent"), (score(opinion.value, symbols), "bold"), (away, style)]


def _without_bar(cell: Sequence[Part]) -> list[Part]:
    return [part for at, part in enumerate(cell) if at != 1]


def _padded(cells: Sequence[Sequence[Part]], widths: Sequence[int]) -> Iterator[Part]:
    for place, cell in enumerate(cells):
        if place:
            yield "   ", ""
        for at, (text, style) in enumerate(cell):
            filled = text + " " * (widths[at] - cell_len(text))
            yield filled + (" " if at + 1 < len(cell) else ""), style


# ---- verdicts on several aspects


class _Column(NamedTuple):
    head: str
    mine: bool
    cells: dict[str, Part]


def _grid(case: CaseDetail, width: int, symbols: Glyphs) -> Iterator[Content]:
    """Aspects in rows, verdicts in columns: first the answers in the two orders, then the verdicts of every rater.

    Columns that do not fit side by side continue in a block below; raters of a single aspect share a line.
    """
    left = max(cell_len(aspect_words(aspect)) for aspect in case.aspects) + 2
    left = max(min(left, width - 12), 6)
    columns = [*_orders(case, symbols), *_rater_columns(case, symbols)]
    gap = 2 if width > 50 else 1
    block: list[_Column] = []
    used = left
    for column in columns[:_MOST_COLUMNS]:
        if block and used + _wide(column) + gap > width:
            yield from _block(case, block, left, gap, symbols)
            block, used = [], left
        block.append(column)
        used += _wide(column) + gap
    if block:
        yield from _block(case, block, left, gap, symbols)
    yield from _singles(case, symbols)
    if len(columns) > _MOST_COLUMNS:
        yield Content.styled(f"and {len(columns) - _MOST_COLUMNS} more raters", "dim")


def _wide(column: _Column) -> int:
    return max(cell_len(column.head), *(cell_len(text) for text, _ in column.cells.values()), 1)


def _block(
    case: CaseDetail, columns: Sequence[_Column], left: int, gap: int, symbols: Glyphs
) -> Iterator[Content]:
    heads: list[Part] = [(" " * left, "")]
    for column in columns:
        heads += [
            (" " * gap, ""),
            (fit(column.head, _wide(column), symbols), "bold" if column.mine else "dim"),
        ]
    yield Content.assemble(*heads).rstrip()
    for aspect in case.aspects:
        mine = aspect == case.aspect
        name = fit(f"{symbols.crumb if mine else ' '} {aspect_words(aspect)}", left, symbols)
        parts: list[Part] = [(name, "bold" if mine else "")]
        for column in columns:
            text, style = column.cells.get(aspect, ("", ""))
            parts += [(" " * gap, ""), (fit(text, _wide(column), symbols), style)]
        yield Content.assemble(*parts).rstrip()


def _orders(case: CaseDetail, symbols: Glyphs) -> Iterator[_Column]:
    """The answers with A shown first, and with B first; several samples are counted."""
    systems = [name for name, _ in case.slates] or sorted({s.set_one for s in case.run_answers if s.set_one})
    for letter, system in zip("AB", systems, strict=False):
        answers = [answer for answer in case.run_answers if answer.set_one == system]
        if answers:
            cells = {aspect: _answers(answers, aspect, symbols) for aspect in case.aspects}
            yield _Column("AB" if letter == "A" else "BA", False, cells)


def _answers(answers: Iterable[CallAnswer], aspect: str, symbols: Glyphs) -> Part:
    here = [answer for answer in answers if answer.aspect in ("", aspect)]
    failed = any(answer.failed for answer in here)
    labels = [symbols.failed if answer.failed else one_line(answer.label, 10) for answer in here]
    shown = " ".join(labels[:3]) + (symbols.cut if len(labels) > 3 else "")
    return shown, "$error" if failed else "dim"


def _by_rater(case: CaseDetail) -> dict[str, list[Opinion]]:
    """Opinions by rater, the one of this verdict first."""
    opinions: dict[str, list[Opinion]] = {case.rater: []}
    for opinion in case.opinions:
        opinions.setdefault(opinion.rater, []).append(opinion)
    return opinions


def _rater_columns(case: CaseDetail, symbols: Glyphs) -> Iterator[_Column]:
    for rater, opinions in _by_rater(case).items():
        if len(opinions) > 1:
            cells = {opinion.aspect: opinion_part(opinion, symbols, short=True) for opinion in opinions}
            yield _Column(one_line(rater, 12), rater == case.rater, cells)


def _singles(case: CaseDetail, symbols: Glyphs) -> Iterator[Content]:
    """Raters who judged only one aspect: a line for each aspect."""
    by_aspect: dict[str, list[Opinion]] = {}
    for opinions_of_rater in _by_rater(case).values():
        if len(opinions_of_rater) == 1:
            by_aspect.setdefault(opinions_of_rater[0].aspect, []).append(opinions_of_rater[0])
    for aspect, opinions in by_aspect.items():
        parts: list[Part] = [(f"  {aspect_words(aspect)} alone:", "dim")]
        for opinion in opinions:
            name = (f"  {one_line(opinion.rater, 14)} ", "bold" if opinion.mine else "dim")
            parts += [name, opinion_part(opinion, symbols, short=True)]
        yield Content.assemble(*parts)


# ---- one question, a line per rater


def _lines(case: CaseDetail, symbols: Glyphs) -> Iterator[Content]:
    by_rater: dict[tuple[str, str], list[Opinion]] = {}
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
            parts += ["  ", (question, "dim"), opinion_part(opinion, symbols)]
        yield Content.assemble(*parts)


def opinion_part(opinion: Opinion, symbols: Glyphs, *, short: bool = False) -> Part:
    """The label, or a number and a bar if there is none; `swap` (a glyph if `short`) for a flip."""
    if opinion.failed:
        label = symbols.failed
    elif opinion.label and protocol_facts(opinion.protocol).labels:
        label = one_line(opinion.label, 10 if short else 30)
    else:
        label = score(opinion.value, symbols)
        if opinion.value is not None and not short:
            label += f" {bar(opinion.value, 2 * _BAR, symbols)}"
    mark = f" {symbols.marked}{'' if short else ' swap'}" if opinion.flipped else ""
    style = "$error" if opinion.failed else "$warning" if opinion.flipped else "bold" if opinion.mine else ""
    return label + mark, style
