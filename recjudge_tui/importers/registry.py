"""The known layouts, and the choice of a file's layout. Other packages add layouts through entry points."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.datasets.amazon_reviews import AMAZON_REVIEWS
from recjudge_tui.importers.datasets.esci import ESCI
from recjudge_tui.importers.datasets.lists_by_user import LISTS_BY_USER
from recjudge_tui.importers.datasets.mind import MIND, MIND_TRAIN
from recjudge_tui.importers.datasets.movielens import MOVIELENS_1M, MOVIELENS_100K, MOVIELENS_LATEST
from recjudge_tui.importers.datasets.ranx import RANX_QRELS, RANX_RUN
from recjudge_tui.importers.datasets.recbole import RECBOLE
from recjudge_tui.importers.datasets.recommenders import CORNAC, ELLIOT
from recjudge_tui.importers.datasets.recsys_arena import RECSYS_ARENA
from recjudge_tui.importers.datasets.trec import TREC_QRELS, TREC_RUN
from recjudge_tui.importers.datasets.yelp import YELP
from recjudge_tui.importers.datasets.zhang2024 import ZHANG2024, ZHANG2024_JUDGE, ZHANG2024_PARTS
from recjudge_tui.importers.files.layout import Layout, Sample
from recjudge_tui.importers.files.mapping import FileMapping
from recjudge_tui.importers.labelling.argilla import ARGILLA
from recjudge_tui.importers.labelling.doccano import DOCCANO
from recjudge_tui.importers.labelling.label_studio import LABEL_STUDIO
from recjudge_tui.importers.labelling.prodigy import PRODIGY
from recjudge_tui.importers.plain.tables import PLAIN, plain_kinds
from recjudge_tui.plugins import IMPORTERS, load_plugin, plugins

# the labelling tools whose exports a mapping can describe
_LABELLING_TOOLS = (LABEL_STUDIO, ARGILLA, PRODIGY, DOCCANO)
# tried in this order, the most specific first
_BUILT_IN: tuple[Layout, ...] = (
    RECBOLE,
    RECSYS_ARENA,
    YELP,
    AMAZON_REVIEWS,
    ESCI,
    ZHANG2024_PARTS,
    ZHANG2024,
    ZHANG2024_JUDGE,
    *_LABELLING_TOOLS,
    TREC_RUN,
    TREC_QRELS,
    RANX_RUN,
    RANX_QRELS,
    ELLIOT,
    CORNAC,
    MOVIELENS_100K,
    MOVIELENS_1M,
    MOVIELENS_LATEST,
    MIND_TRAIN,
    MIND,
    LISTS_BY_USER,
)


def layouts() -> list[Layout]:
    """All layouts: built-in ones, those of other packages, and plain tables last. One that cannot be loaded is left out."""
    known = list(_BUILT_IN)
    for point in _other_packages():
        with suppress(UsageError):
            known.append(_loaded(point))
    return [*known, PLAIN]


def _loaded(point: EntryPoint) -> Layout:
    """Raises UsageError when another package's layout cannot be loaded."""
    layout = load_plugin(point)
    if not isinstance(layout, Layout):
        raise UsageError(f"the importer “{point.name}” is not a recjudge layout")
    return layout


def _other_packages() -> tuple[EntryPoint, ...]:
    return _points(tuple((place, _changed_ns(place)) for place in sys.path))


@lru_cache(maxsize=1)
def _points(_places: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """The layouts of other packages, by name.

    The metadata of all packages is read again only after a package was installed in or removed from a folder of the
    search path.
    """
    return tuple(plugins(IMPORTERS))


def _changed_ns(place: str) -> int:
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


def special_layout(known: list[Layout], sample: Sample, kind: ImportKind) -> Layout | None:
    """The first layout other than plain tables that fits the beginning of the file as `kind`."""
    return next(
        (
            layout
            for layout in known
            if layout is not PLAIN and kind in layout.kinds and layout.fits(sample, kind)
        ),
        None,
    )


def choose_layout(sample: Sample, kind: ImportKind, name: str | None, system: str | None = None) -> Layout:
    """The layout called `name`, or the first one that fits the beginning of the file and can hold `kind`.

    Raises UsageError for an unknown name, InputError for a layout that cannot hold this kind and, without a name, for
    a file that holds another kind.
    """
    known = layouts()
    if name is None:
        special = special_layout(known, sample, kind)
        if special is None and kind not in plain_kinds(sample, system):
            _refuse_other_kind(known, sample, kind)
        return special or PLAIN
    for layout in known:
        if layout.name == name:
            if kind not in layout.kinds:
                raise InputError(
                    f"layout {name} does not contain {kind}", f"It holds: {', '.join(layout.kinds)}."
                )
            return layout
    for point in _other_packages():
        if point.name == name:
            _loaded(point)  # says why it cannot
    raise UsageError(f"no layout “{name}”", f"Known: {', '.join(layout.name for layout in known)}.")


def mapped_layout(mapping: FileMapping, kind: ImportKind) -> Layout:
    """The layout that reads a file with this mapping: plain tables, or the labelling tool that the mapping names.

    Raises InputError for any other name, and for a tool whose exports do not hold this kind.
    """
    if not mapping.layout:
        return PLAIN
    tool = next((layout for layout in _LABELLING_TOOLS if layout.name == mapping.layout), None)
    if tool is not None and kind in tool.kinds:
        return tool
    raise InputError(
        f"layout “{mapping.layout}” in the mapping {mapping.name} does not support {kind}",
        f"A mapping describes a table, or the labels of: {', '.join(tool.name for tool in _LABELLING_TOOLS)}.",
        "See docs/importing-labels.md.",
    )


def _refuse_other_kind(known: list[Layout], sample: Sample, kind: ImportKind) -> None:
    fits = {other: special_layout(known, sample, other) for other in IMPORT_KINDS}
    kinds = [other for other, layout in fits.items() if layout is not None]
    if not kinds:
        return
    first = fits[kinds[0]]
    assert first is not None
    raise InputError(
        f"{sample.path} contains {' and '.join(kinds)}, not {kind}",
        f"It has the layout {first.name}: {first.about}.",
        f"Import it with --as {kinds[0]}.",
    )
