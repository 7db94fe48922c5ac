"""Checks whether a run can show its judge images, before anything is sent."""

from __future__ import annotations

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.judges.base import Judge, takes_images
from recjudge_tui.runs.plan.estimate import Sample
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import judge_capabilities

_OTHERWISE = "Leave out --images, or choose a judge that sees images (docs/images.md)."


def check_sight(db: Database, spec: JudgeSpec, judge: Judge, settings: RunSettings) -> None:
    """Raises UsageError if images are to be shown to a judge that does not accept images, or that could not see them
    in a test.
    """
    if not settings.images:
        return
    if not takes_images(judge):
        raise UsageError(f"judge “{judge.name}” does not accept images", next_step=_OTHERWISE)
    known = judge_capabilities(db, spec)
    if known is not None and known.images is False:
        raise UsageError(
            f"judge “{judge.name}” does not see images",
            "This is the result of “recjudge judge test”.",
            _OTHERWISE,
        )


def check_images(sample: Sample, settings: RunSettings) -> None:
    """Raises RunError if images are to be shown but none of the judged items has one."""
    if settings.images and sample.cases and not sample.images:
        raise RunError(
            "none of the items to judge has an image",
            next_step="Import items with images (docs/images.md), or leave out --images.",
        )
