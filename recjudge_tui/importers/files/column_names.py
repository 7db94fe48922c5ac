"""Finds the wanted columns of a table among the names that its header has."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

_SEPARATORS = re.compile(r"[\W_]+")
# a wanted name -> its squashed aliases, most likely first
Aliases = Mapping[str, Sequence[str]]


def squashed(name: str) -> str:
    """The name in small letters, without spaces and punctuation: `User_ID` and `user id` are `userid`."""
    return _SEPARATORS.sub("", name.lower())


class WantedColumns(NamedTuple):
    """The columns that a reader asks for. Each is found by its exact name, else ignoring case, else by an alias."""

    names: Collection[str] = ()
    aliases: Aliases = {}

    def renamed(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The columns of a file; those that are wanted have the wanted names, each at most once by an alias."""
        exact = set(columns)
        loose = {name.lower(): name for name in self.names if name not in exact}
        names = [name if name in self.names else loose.get(name.lower(), name) for name in columns]
        taken = set(names)
        places: dict[str, int] = {}
        for place, name in enumerate(names):
            if name not in self.names:
                places.setdefault(squashed(name), place)
        for name, aliases in self.aliases.items():
            alias = next((alias for alias in aliases if alias in places), None)
            if name not in taken and alias is not None:
                names[places.pop(alias)] = name
        return tuple(names)

    def count(self, columns: Iterable[str]) -> int:
        """How many of the wanted columns these names are."""
        known = {squashed(name) for name in self.names}.union(*self.aliases.values())
        return len(known.intersection(map(squashed, columns)))
