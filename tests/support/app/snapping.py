"""Screens kept as text files, for a reader to compare by eye: at one size, the main ones also at the smallest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex
from textual.pilot import Pilot

from tests.support.app import driving
from tests.support.app.driving import painted, settle, shown

SIZE, SMALL = (120, 40), (80, 24)
ALSO_SMALL = ("home", "cases-queue", "texts", "monitor", "agreement", "compare")


class ScreenText(SingleFileSnapshotExtension):
    """`snapshots/test_FILE/test_NAME[SCREEN].txt`."""

    file_extension = "txt"
    _write_mode = WriteMode.TEXT

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        return f"{test_location.methodname}[{index}]"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(Path(test_location.filepath).parent / "snapshots" / test_location.basename)


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Each key on a painted screen, as in a terminal: what lies behind a dialog shows what was painted last."""
    await painted(pilot)
    for key in keys:
        await driving.press(pilot, key)
        await painted(pilot)


async def pictured(pilot: Pilot[Any], screens: SnapshotAssertion, name: str) -> None:
    """The screen as it stands is the one that is kept."""
    other: list[str] = []
    for size in (SMALL, SIZE) if name in ALSO_SMALL else (SIZE,):
        if pilot.app.size != size:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            # a text that is wrapped anew shows or hides its scrollbar a moment later
            await pilot.pause(0.1)
        await painted(pilot)
        kept = screens(name="{}-{}x{}".format(name, *size))
        if kept != shown(pilot) + "\n":
            other += [name, *kept.get_assert_diff()]
    assert not other, "\n".join(other)
