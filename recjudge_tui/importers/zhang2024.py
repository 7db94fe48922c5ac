"""Imports the data released with Zhang et al. (2024) in the form needed for the paper's table: the texts keep their
HTML.

Reads either the joined table `explanations.csv`, or the two tables of the release, whose rows are aligned. The release
keeps the users' own texts in a pickle, which is never opened, so these texts are missing then.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.datasets.zhang2024 import FIELDS, JOINED, MAPPING, SCORES, SHOWN, joined_rows
from recjudge_tui.importers.files.tables import long_fields
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.summary import ImportSummary
from recjudge_tui.store.database import Database

# explanations before labels, so that each case has its text
_KINDS: tuple[ImportKind, ...] = ("users", "items", "explanations", "labels")


def import_zhang2024(db: Database, project: str, folder: Path, scratch: Path) -> list[ImportSummary]:
    """Import everything needed for the paper's table; `scratch` is a folder for the joined table.

    Raises InputError for a folder without these files, and for tables that do not belong together.
    """
    table = table_of(folder, scratch)
    return [import_files(db, project, [table], kind, mapping=MAPPING) for kind in _KINDS]


def table_of(folder: Path, scratch: Path) -> Path:
    """The table to read: the one in the folder, else one joined from the two tables of the release."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", next_step="Give the folder of the data with --data.")
    if (folder / JOINED).is_file():
        return folder / JOINED
    missing = [name for name in (SHOWN, SCORES) if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder} does not contain the data of zhang2024",
            f"It has neither {JOINED} nor {' and '.join(missing)}.",
            "Download the files from the folder “data” of the paper's repository, Xiaoyu-SZ/LLMasEvaluator.",
        )
    joined = scratch / JOINED
    with joined.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*FIELDS, "self_explanation"], restval="")
        writer.writeheader()
        with long_fields():
            writer.writerows(row for _, row in joined_rows(folder / SHOWN, folder / SCORES))
    return joined


def left_out(summaries: list[ImportSummary]) -> Counter[str]:
    """The number of rows left out, by reason."""
    return sum((Counter(summary.warning_kinds) for summary in summaries), Counter())
