"""Fetches the images of items from the internet before an import, only if requested, and keeps them in a cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import httpx

from recjudge_tui.domain.records import Item
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.files import whole_file
from recjudge_tui.importers.files.layout import Request
from recjudge_tui.importers.files.mapping import load_mapping
from recjudge_tui.importers.files.notes import Notes
from recjudge_tui.importers.files.reading import UTF8, sample_of
from recjudge_tui.importers.files.tables import long_fields
from recjudge_tui.importers.images import MOST_BYTES, is_address
from recjudge_tui.importers.plain.columns import KNOWN
from recjudge_tui.importers.registry import choose_layout, mapped_layout
from recjudge_tui.network import socks_answers, tls_context, usable_network
from recjudge_tui.settings import cache_dir
from recjudge_tui.version import USER_AGENT

FETCH_LIMIT = 1_000
AT_ONCE = 8
TIMEOUT_S = 20.0
MOST_REDIRECTS = 5


class FetchedImages(NamedTuple):
    """The images in the cache, and for each missing one the reason: address -> reason."""

    folder: Path
    failures: Mapping[str, str]

    def content(self, address: str) -> bytes:
        return _cached(self.folder, address).read_bytes()


def fetch_images(
    paths: Sequence[Path], layout: str | None, mapping: Path | None, limit: int
) -> FetchedImages:
    """Fetch every image that the items in these files name by address, unless it is in the cache.

    Raises InputError, and fetches nothing, when more than `limit` are not in the cache.
    """
    folder = cache_dir() / "images"
    missing = [
        address
        for address in dict.fromkeys(a for path in paths for a in _addresses(path, layout, mapping))
        if not _cached(folder, address).is_file()
    ]
    if len(missing) > limit:
        raise InputError(
            f"{len(missing):,} images would be fetched, more than {limit:,}",
            "Nothing was fetched or stored.",
            f"Allow it with --fetch-limit {len(missing)}.",
        )
    if not missing:
        return FetchedImages(folder, {})
    folder.mkdir(parents=True, exist_ok=True)
    with usable_network():
        http = httpx.Client(
            headers={"User-Agent": USER_AGENT},
            timeout=TIMEOUT_S,
            verify=tls_context(),
            follow_redirects=True,
            max_redirects=MOST_REDIRECTS,
        )
    with (
        http as client,
        ThreadPoolExecutor(AT_ONCE) as threads,
    ):
        reasons = threads.map(lambda address: _fetch(client, address, _cached(folder, address)), missing)
        return FetchedImages(
            folder, {address: why for address, why in zip(missing, reasons, strict=True) if why}
        )


def _addresses(path: Path, layout: str | None, mapping: Path | None) -> Iterator[str]:
    described = None if mapping is None else load_mapping(mapping, KNOWN)
    if described is not None:
        chosen = mapped_layout(described, "items")
    else:
        chosen = choose_layout(sample_of(path, UTF8), "items", layout)
    with long_fields():
        for read in chosen.read(Request(path, "items", Notes(path), mapping=described)):
            if isinstance(read.record, Item) and is_address(read.record.image):
                yield read.record.image


def _cached(folder: Path, address: str) -> Path:
    return folder / hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()


def _fetch(client: httpx.Client, address: str, path: Path) -> str:
    """Fetch one image into the cache; the reason if it could not be fetched, else an empty text."""
    try:
        with socks_answers(), client.stream("GET", address) as response:
            if response.status_code != 200:
                return f"the server answered {response.status_code}"
            content = bytearray()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MOST_BYTES:
                    return f"it is larger than {MOST_BYTES // 2**20} MB"
        with whole_file(path) as draft:
            draft.write_bytes(content)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError) as error:
        return f"it could not be fetched: {one_line(error, 100) or type(error).__name__}"
    return ""
