"""Parts of other packages, found by their entry points: one that fails or blocks on loading is named and left out."""

from __future__ import annotations

import sys
import threading
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from recjudge_tui.errors import UsageError

JUDGES, IMPORTERS = "recjudge.judges", "recjudge.importers"
LOAD_WITHIN_S = 30.0


def plugins(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, by name, as installed when this process first asks: each look reads a file of every
    package (11 ms with 112 of them)."""
    return _plugins(group, tuple(sys.path))


@lru_cache(maxsize=4)
def _plugins(group: str, _path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(sorted(entry_points(group=group), key=lambda point: point.name))


def package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value


def load_plugin(point: EntryPoint) -> Any:
    """The object of an entry point. Raises UsageError for whatever its import raises, and when it takes too long: it is
    loaded in a thread, which ends with this process at the latest.
    """
    loaded: list[Any] = []
    faults: list[str] = []

    def load() -> None:
        try:
            loaded.append(point.load())
        except BaseException as error:  # noqa: BLE001 - another package's code, which may even exit
            faults.append(f"{type(error).__name__}: {error}".strip(": "))

    thread = threading.Thread(target=load, name=f"load {point.name}", daemon=True)
    thread.start()
    thread.join(LOAD_WITHIN_S)
    if loaded:
        return loaded[0]
    raise UsageError(
        f"“{point.name}” of the package {package_of(point)} cannot be loaded",
        f"{faults[0]}." if faults else f"It was not ready within {LOAD_WITHIN_S:g} s.",
        "Reinstall, update or remove the package; everything else works without it.",
    )
