"""Imports the data released with Zhang et al. (2024) in the form needed for the paper's table: the texts keep their
HTML, because how it becomes text is part of the paper's figures.

Reads either the joined table `explanations.csv`, or the two tables of the release, whose rows are aligned. The
release keeps the users' own texts in a pickle, which is never opened, so these texts are missing then.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.layout import Declaration, When, load_declaration, shipped_file
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.summary import ImportSummary
from recjudge_tui.importers.values import refusal
from recjudge_tui.store.database import Database

# explanations before labels, so that each case has its text
_KINDS: tuple[ImportKind, ...] = ("users", "items", "explanations", "labels")


def import_zhang2024(db: Database, project: str, folder: Path) -> list[ImportSummary]:
    """Import everything needed for the paper's table.

    Raises InputError for a folder without these files, and for tables that do not belong together.
    """
    declared = _with_html()
    joined, parts = declared.parts
    if not folder.is_dir():
        raise refusal("no-folder", path=folder)
    shown, *scores = paths = [folder / name for name in parts]
    if (folder / joined).is_file():
        shown, scores = folder / joined, []
    elif missing := [path.name for path in paths if not path.is_file()]:
        raise refusal("no-zhang2024", path=folder, joined=joined, missing=" and ".join(missing))
    return [
        import_files(db, project, [shown, *scores] if kind == "labels" else [shown], kind, mapping=declared)
        for kind in _KINDS
    ]


def _with_html() -> Declaration:
    """The layout without the conversion of the texts, and with people as the table of explanations has them."""
    path = shipped_file("zhang2024")
    assert path is not None
    declared = load_declaration(path)
    (texts,) = declared.kinds["explanations"]
    users = declared.kinds["users"][-1]
    raw = texts.fields["text"].model_copy(update={"html": False})
    kinds = {
        **declared.kinds,
        "explanations": (texts.model_copy(update={"fields": {**texts.fields, "text": raw}}),),
        "users": (users.model_copy(update={"when": (When(has=users.when[0].has),), "attributes": {}}),),
    }
    return declared.model_copy(update={"kinds": kinds})


def left_out(summaries: list[ImportSummary]) -> Counter[str]:
    """The number of rows left out, by reason."""
    return sum((Counter(summary.warning_kinds) for summary in summaries), Counter())
