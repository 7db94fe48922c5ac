"""The numbers, the marks and the cases of a figure, by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Protocol, cast

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.domain.occasions import EVERY_OCCASION
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.common.segments import about_occasions, about_systems, occasions_note, systems_note
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.data import FigureContent, FigureData
from recjudge_tui.reports.figures.marks import CaseSelection, Marks, Sentence
from recjudge_tui.reports.figures.options import (
    Choice,
    FigureContext,
    FigureOptions,
    Topic,
    chosen_topic,
    chosen_values,
    figure_context,
    project_topics,
)
from recjudge_tui.reports.figures.registry import FigureKind, figure_kind
from recjudge_tui.store.database import Database

_MISSING = {
    "truth": (
        "no person judged this, so there is no truth for a comparison; to import labels, press i"
        " or run “recjudge import --as labels”"
    ),
    "rater": "only people judged this; to start a run, press r, then n, or use “recjudge run”",
    "metric": "no offline metric can be computed for these lists; “recjudge metrics” says why",
}
_NOT_NAMED = {
    "truth": "of the raters named, no person judged this; name one with --raters",
    "rater": "of the raters named, no judge answered this; name one with --raters",
}
_OF_RATERS = ("rater", "rater_a", "rater_b", "truth", "against")


class FigureModule(Protocol):
    """The functions of a figure's module. `sentence` and `cases` take a row of the figure's table."""

    def choices(self, context: FigureContext, options: FigureOptions, /) -> Mapping[str, Choice]: ...

    def content(self, context: FigureContext, chosen: dict[str, str], /) -> FigureContent: ...

    def marks(self, data: FigureData, /) -> Marks: ...

    def sentence(self, data: FigureData, row: Row, /) -> Sentence: ...

    def cases(self, db: Database, project_id: int, data: FigureData, row: Row, /) -> CaseSelection: ...


def figure_data(db: Database, project_id: int, name: str, options: FigureOptions) -> FigureData:
    """The numbers of one of FIGURES about a project.

    With `strict` options, values that do not fit raise UsageError or NotFoundError, and a figure without numbers
    raises RecjudgeError. Otherwise such a figure has no rows, and its notes say why.
    """
    kind = figure_kind(name)
    topics = project_topics(db, project_id)
    if options.strict:
        topic = chosen_topic(topics, options, kind.protocols)
        data = _data(name, kind, figure_context(db, project_id, topics, topic, options), options)
        if not data.rows:
            why = "; ".join(data.notes) or "There is nothing to draw."
            raise RecjudgeError(f"no figure “{name}” of {topic.text()}", why)
        return data
    topic = Topic(options.protocol, options.aspect)
    if topic.protocol and topic.protocol not in kind.protocols:
        return FigureData(name, topic, kind.title, notes=(_unfit(kind, topic, topics),))
    try:
        return _data(name, kind, figure_context(db, project_id, topics, topic, options), options)
    except RecjudgeError as error:
        return FigureData(name, topic, kind.title, notes=_sentences(error))


def figure_marks(data: FigureData) -> Marks:
    """The description that renderers draw; `data` has rows."""
    return _module(data.name).marks(data)


def mark_sentence(data: FigureData, row: Row) -> Sentence:
    """The full description of the mark of a row."""
    return _module(data.name).sentence(data, row)


def mark_cases(db: Database, project_id: int, data: FigureData, row: Row) -> CaseSelection:
    """The cases behind the mark of a row, on the occasions of the figure."""
    selection = _module(data.name).cases(db, project_id, data, row)
    chosen = parse_filter(selection.filter_text).at(data.selection.occasions)
    return selection._replace(filter_text=chosen.text())


def _data(name: str, kind: FigureKind, context: FigureContext, options: FigureOptions) -> FigureData:
    module = _module(name)
    choices = module.choices(context, options)
    empty = FigureData(name, context.topic, kind.title, choices=choices, selection=context.selection)
    reasons = _MISSING | _NOT_NAMED if context.named else _MISSING
    missing = next((reasons[key] for key, c in choices.items() if not c.value and key in reasons), "")
    # the confusion table itself reports that it needs a second rater
    if missing and name != "confusion":
        return replace(empty, notes=(missing,))
    try:
        content = module.content(context, chosen_values(choices))
    except RecjudgeError as error:
        if options.strict:
            raise
        return replace(empty, notes=_sentences(error))
    table = about_occasions(about_systems(content.table, options.systems), options.occasions)
    if not table.rows:
        return replace(empty, notes=table.notes)
    caption = " ".join([content.caption, *_about_raters(context, choices, table.rows)])
    if options.systems:
        caption = f"{caption} {_sentence(systems_note(options.systems))}"
    if options.occasions != EVERY_OCCASION:
        caption = f"{caption} {_sentence(occasions_note(options.occasions))}"
    return replace(empty, title=content.title, caption=caption, table=table, notes=table.notes)


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


def _about_raters(
    context: FigureContext, choices: Mapping[str, Choice], rows: Iterable[Row]
) -> Iterator[str]:
    """Sentences for the caption about the raters in a figure."""
    from recjudge_tui.reports.common.scales import combined_notes
    from recjudge_tui.store.verdicts.ratings import project_raters

    raters = project_raters(context.db, context.project_id)
    shown = {choices[key].value for key in _OF_RATERS if key in choices}
    shown |= {str(row[key]) for row in rows for key in _OF_RATERS if key in row}
    for note in combined_notes(raters[name] for name in shown if name in raters):
        yield f"{note}."


def _module(name: str) -> FigureModule:
    return cast("FigureModule", import_module(f"recjudge_tui.reports.figures.{name.replace('-', '_')}"))


def _unfit(kind: FigureKind, topic: Topic, topics: tuple[Topic, ...]) -> str:
    judged = dict.fromkeys(t.protocol for t in topics if t.protocol in kind.protocols)
    advice = f"choose one about {' or '.join(judged)}" if judged else "this project has none"
    return f"{kind.lacks.format(topic.protocol)}: {advice}"


def _sentences(error: RecjudgeError) -> tuple[str, ...]:
    return tuple(part for part in (error.title, error.cause, error.next_step) if part)
