"""Flagged items: read from a reply in any of its forms, and compared with the data that the judge was shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property

from recjudge_tui.domain.calls import Flag
from recjudge_tui.domain.event_types import owned
from recjudge_tui.domain.material import ItemView, Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.prose import name_key
from recjudge_tui.protocols.rendering import as_data

_NONE = re.compile(r"(?:none(?: flagged)?|no(?: items?| issues?)?|null|nil|n a|nothing)?")
_PLACE = re.compile(
    r"\W*(?:\d{1,3}[.)]\s+)?(?:item|position|rank|no\.?|#)\s*#?(\d{1,4})\b|\W*(\d{1,4})\b", re.IGNORECASE
)
_WORD = re.compile(r"\w+")
_EPISODE = re.compile(
    r"\b(season|episode|series|volume|part)s?\s+(?:\d+|one|two|three|[ivx]+)\b", re.IGNORECASE
)
_FILM = re.compile(r"\b(?:film|movie)s?\b", re.IGNORECASE)
_SERIAL = re.compile(r"series|serial|tv|show", re.IGNORECASE)
_OWNED = "already owned"


class FlagReader:
    """Reads the flagged items of replies about one case."""

    def __init__(self, prompt: Prompt, material: Material) -> None:
        self._material = material
        self._issues = {name_key(spec.name): spec.name for spec in prompt.issues}

    def read(self, raw: object) -> tuple[Flag, ...]:
        """The flags, each once. Raises ReplyFault, whose message names the entry."""
        entries = raw
        if isinstance(raw, str):
            if _NONE.fullmatch(" ".join(_WORD.findall(raw.casefold()))):
                return ()
            entries = _from_json(raw) or list(self._lines(raw))
        if (not entries and isinstance(entries, (dict, list))) or entries is None or not self._issues:
            return ()
        if not isinstance(entries, list):
            raise ReplyFault("“flagged_items” must be a list of objects with item, issue and reason")
        return tuple(dict.fromkeys(map(self._flag, entries)))

    def _flag(self, entry: object) -> Flag:
        if not isinstance(entry, dict):
            raise ReplyFault("every entry of “flagged_items” must be an object with item, issue and reason")
        issue = str(entry.get("issue", ""))[:200]
        if (name := self._issues.get(name_key(issue))) is None:
            raise ReplyFault(f"issue “{issue[:60]}” is none of {', '.join(self._issues.values())}")
        flag = Flag(item_id=self._item(entry.get("item")), issue=name, reason=str(entry.get("reason") or ""))
        return flag.model_copy(update={"refuted": refuted_by_data(flag, self._material) or ""})

    def _item(self, named: object) -> str:
        """The id of the item meant by its place in the list, or by its exact title."""
        items = self._material.slates[0].items
        text = str(named).strip()
        # no place has more than a few digits, and Python refuses to convert thousands of them
        if text.isdecimal() and len(text) < 10 and 1 <= int(text) <= len(items):
            return items[int(text) - 1].item_id
        if (item_id := self._ids.get(text.casefold())) is not None:
            return item_id
        raise ReplyFault(f"flagged item “{text[:60]}” is not a place in the list (1 to {len(items)})")

    @cached_property
    def _ids(self) -> dict[str, str]:
        """Titles, as in the data and as shown, in lower case -> id; the first of equal titles."""
        ids: dict[str, str] = {}
        for item in self._material.slates[0].items:
            for title in (item.title.strip(), as_data(item.title)):
                ids.setdefault(title.casefold(), item.item_id)
        return ids

    def _lines(self, text: str) -> Iterator[dict[str, object]]:
        """The entries of the published text form: `- Item 3 (Title): off-category - why`, a line each."""
        for line in filter(str.strip, re.split(r"[\n;]", text[:20_000])):
            folded = line.casefold()
            named = [key for key in self._issues if _issue(key).search(folded)]
            found = _issue(named[0]).search(folded) if len(named) == 1 else None
            if found is None:
                raise ReplyFault(
                    f"“{line.strip()[:60]}” is no flagged item: name its place, one issue type, and the reason"
                )
            item = line.strip()
            if place := _PLACE.match(line):
                item = next(filter(None, place.groups()))
            elif len(t := [t for t in self._ids if re.search(rf"(?<!\w){re.escape(t)}(?!\w)", folded)]) == 1:
                item = t[0]
            yield {"item": item, "issue": named[0], "reason": line[found.end() :].strip(" \t*:–—-().")}


def _issue(key: str) -> re.Pattern[str]:
    return re.compile(rf"\b{key.replace('_', '[^a-z0-9]{1,3}')}\b")


def _from_json(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def refuted_by_data(flag: Flag, material: Material) -> str | None:
    """Why the data shown refute a flag: an item flagged as owned that no event names, or the season of a film. Only what
    is plain counts: an event whose title shares half of its words may be another edition."""
    items = (item for slate in material.slates for item in slate.items)
    item = next((item for item in items if item.item_id == flag.item_id), None)
    if item is None:
        return None
    user = material.user
    if name_key(flag.issue) == name_key(_OWNED):
        events = [event for event in (*user.history, *user.others) if event.item and owned(event.type)]
        if not any(_alike(item, event.item) for event in events if event.item):
            return "no event shown says that the user has it"
    is_film = _FILM.search(item.category) and not _SERIAL.search(item.category)
    if (episode := _EPISODE.search(flag.reason)) and is_film and not _EPISODE.search(item.title):
        return f"its category is {as_data(item.category)[:60]}, which has no {episode[1].casefold()}s"
    return None


def _alike(first: ItemView, second: ItemView) -> bool:
    if first.item_id == second.item_id:
        return True
    one, other = (set(_WORD.findall(item.title.casefold())) for item in (first, second))
    return 2 * len(one & other) >= min(len(one), len(other)) > 0
