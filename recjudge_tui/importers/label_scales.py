"""Stores the scales that a file of labels gives to aspects, and holds it to those that they have."""

from __future__ import annotations

from recjudge_tui.domain.records import Label
from recjudge_tui.errors import InputError
from recjudge_tui.importers.import_job import ImportJob
from recjudge_tui.store.verdicts.scales import add_scale, scale_source, stored_scales


def store_scale(job: ImportJob, line: int, label: Label) -> None:
    """Store the scale of the label's aspect, once for each file. Raises InputError if the aspect has another one."""
    if label.scale is None:
        return
    target, key = job.target, (label.protocol, label.aspect)
    known = job.known.scales
    if known is None:
        known = job.known.scales = dict(stored_scales(target.db, target.project_id))
    standing = known.get(key, label.scale)
    if standing != label.scale:
        source = scale_source(target.db, target.project_id, *key)
        origin = "above in this file" if source == target.import_id else f"since import {source}"
        raise InputError(
            f"{job.notes.file}:{line}: {label.aspect} ({label.protocol}) cannot have the scale {label.scale.described()}",
            f"Its scale is {standing.described()} {origin}, and one aspect has one scale.",
            "Nothing was stored. Give these labels an aspect of their own, turn their values into that scale, or undo that"
            " import.",
        )
    if (target.import_id, *key) not in job.known.scaled:
        job.known.scaled.add((target.import_id, *key))
        known[key] = label.scale
        add_scale(target.db, target.project_id, target.import_id, *key, label.scale)
        job.notes.remark(f"scale of {label.aspect} ({label.protocol}): {label.scale.described()}")
