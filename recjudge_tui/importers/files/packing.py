"""Opens a regular file, and unpacks gzip and zip within bounds."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, cast

from recjudge_tui.errors import InputError
from recjudge_tui.files import check_regular

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
EXCEL_ENDINGS = (".xlsx", ".xlsm", ".xlsb")
EXCEL_STEP = "Export the sheet as CSV (UTF-8) and import that."
# characters of one field, or of one line
MAX_FIELD = 10_000_000
_BUFFER = 1 << 16
# tables rarely compress to less than a fiftieth of their size
_MOST_RATIO = 200
_UNPACKED_FREELY = 100_000_000
_MOST_UNPACKED = 200_000_000_000


class _Packing(NamedTuple):
    name: str
    magic: bytes


PACKED = {".gz": _Packing("gzip", GZIP), ".zip": _Packing("zip", ZIP)}


@contextmanager
def plain_file(path: Path) -> Iterator[io.BufferedReader]:
    """An open regular file. A pipe or a device may block or never end, and files are read several times."""
    check_regular(path)
    with path.open("rb") as handle:
        yield handle


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes, unpacked if they are gzip or a zip archive of one file, regardless of the file name."""
    with plain_file(path) as raw:
        start = raw.peek(4)[:4]
        claimed = path.suffix.lower()
        if claimed in PACKED and not start.startswith(PACKED[claimed].magic):
            name = PACKED[claimed].name
            raise InputError(
                f"{path} is not {name}, though its name ends in {claimed}",
                next_step=f"Download it again, or remove {claimed} from its name if it is plain text; nothing was imported.",
            )
        if start == ZIP:
            with zipfile.ZipFile(raw) as archive, archive.open(_only_member(path, archive)) as member:
                yield _bounded(path, member, raw)
        elif start.startswith(GZIP):
            with gzip.GzipFile(fileobj=raw) as packed:
                yield _bounded(path, packed, raw)
        else:
            yield raw


def _only_member(path: Path, archive: zipfile.ZipFile) -> str:
    names = [
        info.filename
        for info in archive.infolist()
        if not info.is_dir() and not info.filename.startswith("__MACOSX/")
    ]
    if any(name.startswith("xl/") for name in names):
        raise InputError(f"{path} is an Excel workbook", next_step=EXCEL_STEP)
    if len(names) != 1:
        some = f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}"
        raise InputError(
            f"{path} is a zip archive of {len(names)} files; it may only contain one",
            f"It holds {some}." if names else "",
            "Unpack it, and import the files or their folder.",
        )
    if archive.getinfo(names[0]).flag_bits & 1:
        raise InputError(f"{path} is encrypted", next_step="Unpack it with its password first.")
    return names[0]


class _UnpackedBytes(io.RawIOBase):
    """Unpacked bytes up to a limit: a small file must not keep the machine busy for hours."""

    def __init__(self, path: Path, unpacked: IO[bytes] | gzip.GzipFile, packed: BinaryIO) -> None:
        self.path, self.unpacked, self.packed, self.size = path, unpacked, packed, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self.unpacked.read(len(buffer))
        buffer[: len(block)] = block
        self.size += len(block)
        check_unpacked(self.path, self.size, self.packed.tell())
        return len(block)


def check_unpacked(path: Path, unpacked: int, packed: int) -> None:
    """Raise InputError if the number of unpacked bytes is too large for the compressed size."""
    if unpacked > _MOST_UNPACKED:
        raise _unpacks_too_far(path, f"It unpacks to more than {_MOST_UNPACKED / 1e9:g} GB.")
    if unpacked > _UNPACKED_FREELY and unpacked > _MOST_RATIO * packed:
        raise _unpacks_too_far(path, f"It unpacks to more than {_MOST_RATIO} times its size.")


def _bounded(path: Path, unpacked: IO[bytes] | gzip.GzipFile, packed: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_UnpackedBytes(path, unpacked, packed), _BUFFER))


def _unpacks_too_far(path: Path, cause: str) -> InputError:
    return InputError(
        f"{path} is compressed too strongly for a table",
        cause,
        "If it is one, write it unpacked, as CSV, and import that; nothing was imported.",
    )
