"""Loads a figure and the cases behind a mark from the reports, and exports figures, in the background."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Row, note_kind
from recjudge_tui.reports.figures.declared import FIGURES, behind, figure
from recjudge_tui.reports.figures.files import PICTURES, save_figure
from recjudge_tui.reports.figures.marks import LEVEL_NAMES, METHOD_NAMES, Behind, Figure
from recjudge_tui.reports.topics import Topic
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


class Shown(NamedTuple):
    """A figure on the screen, and its options."""

    data: Figure
    fields: tuple[ChoiceField, ...]

    @property
    def name(self) -> str:
        return self.data.name

    @property
    def notes(self) -> tuple[str, ...]:
        told = (note for note in self.data.notes if note_kind(note) != "definition")
        return (*(() if self.data.marks is None else plot_notes(self.data.marks)), *told)


def load_figure(
    db: Database,
    project_id: int,
    topic: Topic,
    name: str,
    chosen: Mapping[str, str],
    occasions: OccasionFilter = EVERY_OCCASION,
    *,
    switch: bool = False,
) -> Shown:
    """A figure about a topic on these occasions with the chosen values; a value that no longer exists is replaced by the
    first one.

    `chosen["topic"]` is the number of another topic. `switch`: if the figure cannot be drawn for this topic, use the
    first topic for which it can.
    """
    project, values = Project.numbered(db, project_id), {k: v for k, v in chosen.items() if k != "topic"}

    def of(topic: Topic) -> Figure:
        about = {**values, "protocol": topic.protocol, "aspect": topic.aspect}
        return figure(project, name, about, occasions=occasions, strict=False)

    data, place = of(topic), chosen.get("topic", "")
    if place.isdigit() and int(place) < len(data.topics) and data.topics[int(place)] != topic:
        data = of(data.topics[int(place)])
    if switch and not data.rows:
        data = next((drawn for drawn in map(of, data.topics) if drawn.rows), data)
    return Shown(data, (_topic_field(data), *_fields(data)))


def cases_behind(db: Database, project_id: int, data: Figure, row: Row) -> Behind:
    """The cases behind the mark of a row."""
    return behind(Project.numbered(db, project_id), data, row)


def _topic_field(data: Figure) -> ChoiceField:
    place = data.topics.index(data.topic) if data.topic in data.topics else 0
    names = [(str(at), topic.text()) for at, topic in enumerate(data.topics)]
    return ChoiceField("topic", "question", names, str(place))


def _fields(data: Figure) -> list[ChoiceField]:
    labels = {option.name: option.label for option in FIGURES[data.name].options}
    return [
        ChoiceField(
            name,
            labels[name],
            [(value, _VALUE_NAMES.get(name, {}).get(value, value)) for value in choice.values],
            choice.value,
        )
        for name, choice in data.choices.items()
    ]


def export_figure(data: Figure, path: Path) -> tuple[str, ...]:
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
