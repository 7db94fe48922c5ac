"""Layouts by name, and which one a file has. Layouts of other packages come by entry points."""

from __future__ import annotations

from importlib.metadata import entry_points

from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.base import Layout, Sample
from recjudge_tui.importers.plain import PLAIN
from recjudge_tui.model.records import ImportKind

ENTRY_POINTS = "recjudge.importers"

# asked in this order; the plain tables, which explain what is missing, come last
_BUILT_IN: tuple[Layout, ...] = ()


def layouts() -> list[Layout]:
    """Every layout there is: built-in ones, those of other packages, and the plain tables last.

    Raises UsageError when another package's layout cannot be loaded.
    """
    found = list(_BUILT_IN)
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda p: p.name):
        try:
            layout = point.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"the importer “{point.name}” cannot be loaded",
                f"{error}.",
                "Reinstall or remove its package.",
            ) from error
        if not isinstance(layout, Layout):
            raise UsageError(f"the importer “{point.name}” is not a recjudge layout")
        found.append(layout)
    return [*found, PLAIN]


def choose_layout(sample: Sample, kind: ImportKind, name: str | None) -> Layout:
    """The layout called `name`, or the first that fits the file's beginning and can hold `kind`.

    Raises UsageError for an unknown name, InputError for a layout that never holds such a kind.
    """
    known = layouts()
    if name is None:
        return next(layout for layout in known if kind in layout.kinds and layout.fits(sample, kind))
    for layout in known:
        if layout.name == name:
            if kind not in layout.kinds:
                raise InputError(f"layout {name} holds no {kind}", f"It holds: {', '.join(layout.kinds)}.")
            return layout
    raise UsageError(f"no layout “{name}”", f"Known: {', '.join(layout.name for layout in known)}.")
