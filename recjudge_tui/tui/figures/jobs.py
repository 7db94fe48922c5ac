"""Loads a figure and the cases behind a mark from the reports, and exports figures, in the background."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.reports.figures.data import FigureData
from recjudge_tui.reports.figures.loading import figure_data, figure_marks
from recjudge_tui.reports.figures.marks import Marks
from recjudge_tui.reports.figures.options import FigureOptions, Topic, project_topics
from recjudge_tui.reports.figures.paper.files import PICTURES, save_figure
from recjudge_tui.reports.figures.registry import FIGURES
from recjudge_tui.reports.figures.words import LEVEL_NAMES, METHOD_NAMES
from recjudge_tui.stats.registry import STATISTICS
from recjudge_tui.store.database import Database
from recjudge_tui.tui.figures.render import plot_notes
from recjudge_tui.tui.kit.choice_form import ChoiceField
from recjudge_tui.tui.kit.exporting import export_table

_VALUE_NAMES = {
    "stat": {name: statistic.label for name, statistic in STATISTICS.items()},
    "level": LEVEL_NAMES,
    "method": METHOD_NAMES,
}


class Figure(NamedTuple):
    """A figure on the screen: its numbers, its marks (None without numbers), and its options."""

    data: FigureData
    marks: Marks | None
    fields: tuple[ChoiceField, ...]

    @property
    def name(self) -> str:
        return self.data.name

    @property
    def notes(self) -> tuple[str, ...]:
        return (*(() if self.marks is None else plot_notes(self.marks)), *self.data.notes)


def load_figure(
    db: Database,
    project_id: int,
    topic: Topic,
    name: str,
    chosen: Mapping[str, str],
    occasions: OccasionFilter = EVERY_OCCASION,
    *,
    switch: bool = False,
) -> Figure:
    """A figure about a topic on these occasions with the chosen values; a value that no longer exists is replaced by the
    first one.

    `chosen["topic"]` is the number of another topic. `switch`: if the figure cannot be drawn for this topic, use the
    first topic for which it can.
    """
    topics = project_topics(db, project_id)
    place = chosen.get("topic", "")
    topic = topics[int(place)] if place.isdigit() and int(place) < len(topics) else topic
    values: dict[str, Any] = {option: value for option, value in chosen.items() if option != "topic"}
    options = replace(
        FigureOptions(topic.protocol, topic.aspect, strict=False, occasions=occasions), **values
    )
    data = figure_data(db, project_id, name, options)
    for other in topics if switch and not data.rows else ():
        of_other = replace(options, protocol=other.protocol, aspect=other.aspect)
        drawn = figure_data(db, project_id, name, of_other)
        if drawn.rows:
            data, topic = drawn, other
            break
    marks = figure_marks(data) if data.rows else None
    return Figure(data, marks, (_topic_field(topics, topic), *_fields(data)))


def _topic_field(topics: tuple[Topic, ...], topic: Topic) -> ChoiceField:
    place = topics.index(topic) if topic in topics else 0
    return ChoiceField("topic", "question", [(str(at), t.text()) for at, t in enumerate(topics)], str(place))


def _fields(data: FigureData) -> list[ChoiceField]:
    labels = FIGURES[data.name].labels
    return [
        ChoiceField(
            name,
            labels[name],
            [(value, _VALUE_NAMES.get(name, {}).get(value, value)) for value in choice.values],
            choice.value,
        )
        for name, choice in data.choices.items()
    ]


def export_figure(data: FigureData, path: Path) -> tuple[str, ...]:
    """Write the figure, or the table of its numbers, as the file's ending says; returns notes for the user.

    Raises UsageError for another ending, RecjudgeError when the file exists or Matplotlib is missing, StoreError when
    the file cannot be written.
    """
    if path.suffix.lower() not in PICTURES:
        try:
            return export_table(data.table, path)
        except UsageError as error:
            raise UsageError(
                error.title, error.cause, f"{', '.join(PICTURES)} draw it; for its numbers: {error.next_step}"
            ) from error
    if path.exists():
        raise RecjudgeError(f"{path} exists already", next_step="Press e again and give another name.")
    return save_figure(data, path)
