"""Screens kept as text files, one a screen and size, for a reader to compare by eye."""

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

SIZES = ((80, 24), (120, 40), (200, 60))


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


async def at_each_size(
    pilot: Pilot[Any], screens: SnapshotAssertion, name: str, sizes: tuple[tuple[int, int], ...] = SIZES
) -> None:
    """The screen as it stands, at these sizes one after another; all that differ are told at once."""
    other: list[str] = []
    for width, height in sizes:
        if pilot.app.size != (width, height):
            await pilot.resize_terminal(width, height)
            await settle(pilot)
            # a text that is wrapped anew shows or hides its scrollbar a moment later
            await pilot.pause(0.1)
        await painted(pilot)
        kept = screens(name=f"{name}-{width}x{height}")
        if kept != shown(pilot) + "\n":
            other += [f"{name} at {width}x{height}", *kept.get_assert_diff()]
    if pilot.app.size != sizes[0]:
        await pilot.resize_terminal(*sizes[0])
        await painted(pilot)
    assert not other, "\n".join(other)
