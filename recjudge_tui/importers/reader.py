"""Reads files: CSV and the like, JSON in any form, Parquet; packed or not. Rows come with their place in the file.

Nothing else knows about files. What is not a table in text is refused by its beginning; gzip, xz, zip and tar are unpacked
within bounds, however the file is named.
"""

from __future__ import annotations

import codecs
import csv
import errno
import gc
import gzip
import hashlib
import io
import json
import lzma
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from itertools import chain, filterfalse, islice
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO, NamedTuple, NoReturn, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError, RecjudgeError
from recjudge_tui.files import check_regular, scratch_folder
from recjudge_tui.importers.values import (
    Notes,
    Row,
    RowFault,
    first_few,
    misuse,
    refusal,
    shown,
    stop_if,
    storable,
)

# the records of a file, each with its line or number
_Records = Iterator[tuple[int, dict[str, Any]]]
UTF8 = "utf-8-sig"
# MovieLens and others exist in both encodings; bytes that are not UTF-8 are then read as latin-1
UTF8_OR_LATIN1 = "utf-8 or latin-1"
STDIN_NAME = "stdin"
# characters of one field, or of one line
MAX_FIELD = 10_000_000
_BLOCK, _SAMPLE_BYTES = 1 << 20, 65_536
_MOST_PIPED = 20_000_000_000
# tables rarely compress to less than a fiftieth of their size
_MOST_RATIO, _UNPACKED_FREELY, _MOST_UNPACKED = 200, 100_000_000, 200_000_000_000


def _latin_1(error: Any) -> tuple[str, int]:
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("latin-1", _latin_1)

# ---- opening and unpacking ---------------------------------------------------------------------------------------

GZIP, ZIP, XZ, PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ\x00", b"PAR1"
_TAR = re.compile(rb".{257}ustar", re.DOTALL)
_CLAIMED = {".gz": ("gzip", GZIP), ".tgz": ("gzip", GZIP), ".zip": ("zip", ZIP), ".xz": ("xz", XZ)}
_PACKED_ENDINGS = re.compile(r"(?<=.)(\.(gz|tgz|zip|xz|tar))+$", re.IGNORECASE)
_EXCEL_ENDINGS = (".xlsx", ".xlsm", ".xlsb")
_EXCEL_STEP = "Export the sheet as CSV (UTF-8) and import that."
_MEMORY_OF_XZ = 256 << 20


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if it is gzip, xz, or a zip or tar archive of one file, whatever its name."""
    with ExitStack() as stack:
        raw = stack.enter_context(path.open("rb"))
        start, ending = raw.peek(6)[:6], path.suffix.lower()
        kind, magic = _CLAIMED.get(ending, ("", b""))
        stop_if(not start.startswith(magic), "claims", path=path, kind=kind, ending=ending)
        if start.startswith(ZIP):
            archive = stack.enter_context(zipfile.ZipFile(raw))
            files = [info.filename for info in archive.infolist() if not info.is_dir()]
            stop_if(any(name.startswith("xl/") for name in files), "workbook", path=path)
            name = _only(path, "zip", [name for name in files if _is_ours(name)])
            stop_if(archive.getinfo(name).flag_bits & 1, "encrypted", path=path)
            yield _bounded(path, stack.enter_context(archive.open(name)).read, raw)
            return
        stream = _unpacked(path, raw)
        if not _TAR.match(stream.peek(512)):
            yield stream
            return
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            names = [member.name for member in tar if member.isreg() and _is_ours(member.name)][:100]
        wanted = _only(path, "tar", names)
        raw.seek(0)
        tar = stack.enter_context(tarfile.open(fileobj=_unpacked(path, raw), mode="r|"))
        found = next(member for member in tar if member.name == wanted and member.isreg())
        yield _bounded(path, cast(IO[bytes], tar.extractfile(found)).read, raw)


def _unpacked(path: Path, raw: io.BufferedReader) -> io.BufferedReader:
    start = raw.peek(6)[:6]
    if start.startswith(GZIP):
        return _bounded(path, gzip.GzipFile(fileobj=raw).read, raw)
    return _bounded(path, _Unxz(raw).read, raw) if start.startswith(XZ) else raw


def _is_ours(name: str) -> bool:
    """Whether the member of an archive is data, not what systems put beside it."""
    parts = name.split("/")
    not_ours = parts[0] == "__MACOSX" or parts[-1] in ("", "Thumbs.db", "desktop.ini")
    return not (not_ours or parts[-1].startswith("."))


def _only(path: Path, kind: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    some = f"It holds {', '.join(names[:5])}{', …' if len(names) > 5 else ''}." if names else ""
    raise refusal("archive", path=path, kind=kind, count=len(names), holds=some)


class _Unxz:
    """Unpacks xz with a bound on its memory, which a small file may otherwise set to gigabytes."""

    def __init__(self, packed: BinaryIO) -> None:
        self.packed, self.unpacker = packed, lzma.LZMADecompressor(memlimit=_MEMORY_OF_XZ)

    def read(self, size: int) -> bytes:
        while True:
            more = b""
            if self.unpacker.eof:
                more = self.unpacker.unused_data or self.packed.read(_BLOCK)
                if not more.strip(b"\0"):
                    return b""
                self.unpacker = lzma.LZMADecompressor(memlimit=_MEMORY_OF_XZ)
            elif self.unpacker.needs_input and not (more := self.packed.read(_BLOCK)):
                raise lzma.LZMAError("The file ends before its end-of-stream marker")
            if block := self.unpacker.decompress(more, size):
                return block


class _UnpackedBytes(io.RawIOBase):
    """Unpacked bytes up to a limit: a small file must not keep the machine busy for hours."""

    def __init__(self, path: Path, unpack: Callable[[int], bytes], packed: BinaryIO) -> None:
        self.path, self.unpack, self.packed, self.size = path, unpack, packed, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self.unpack(len(buffer))
        buffer[: len(block)] = block
        self.size += len(block)
        check_unpacked(self.path, self.size, self.packed.tell())
        return len(block)


def _bounded(path: Path, unpack: Callable[[int], bytes], packed: BinaryIO) -> io.BufferedReader:
    return io.BufferedReader(_UnpackedBytes(path, unpack, packed), _SAMPLE_BYTES)


def check_unpacked(path: Path, unpacked: int, packed: int) -> None:
    """Raise InputError if the number of unpacked bytes is too large for the compressed size."""
    most = min(_MOST_UNPACKED, max(_UNPACKED_FREELY, _MOST_RATIO * packed))
    stop_if(unpacked > most, "bomb", path=path, most=most / 1e9)


# what libraries raise for a damaged file -> its kind, what to do
_DAMAGED: dict[tuple[type[Exception], ...], tuple[str, str]] = {
    (lzma.LZMAError,): ("xz file", "Download it again."),
    (EOFError, zlib.error, gzip.BadGzipFile): ("gzip file", "Download it again."),
    (tarfile.TarError,): ("tar archive", "Unpack it, and import the file."),
    (zipfile.BadZipFile, NotImplementedError): (
        "zip archive, or one of an unknown kind",
        "Unpack it with another program.",
    ),
}
_FAULTS: tuple[type[Exception], ...] = (OSError, *chain.from_iterable(_DAMAGED))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Explain what is wrong with a file. A pipe or a device may block or never end, and files are read several times."""
    try:
        check_regular(path)
        yield
    except _FAULTS as error:
        for kinds, (what, step) in _DAMAGED.items():
            if isinstance(error, kinds):
                if path.suffix.lower() in _EXCEL_ENDINGS:
                    what, step = "Excel workbook", _EXCEL_STEP
                why = str(error).rstrip(".")
                raise refusal("damaged", path=path, what=what, why=why, step=step) from error
        piped = getattr(error, "errno", 0) == errno.EINVAL
        step = "Save its output to a file, or pipe it to “recjudge import -”." * piped
        reason = getattr(error, "strerror", "") or error
        raise refusal("unreadable", path=path, why=reason, step=step) from error


def bare_name(path: Path) -> str:
    """The file's name without the endings of packed files."""
    return _PACKED_ENDINGS.sub("", path.name)


def stem(path: Path) -> str:
    """The file's name without any ending, or the whole name if it has no other part."""
    name = bare_name(path)
    return name.rpartition(".")[0] or name


_TEST_SPLIT = re.compile(r"(?<![a-z])(test|valid|validation|val|hold[-_]?out|held[-_]?out)\d*(?![a-z0-9])")
_NO_TEST_SPLIT = re.compile(r"(?<![a-z])(train|training|ab)(?![a-z])")


def is_test_split(path: Path) -> bool:
    """Whether the name says that the file is the held-out part of a split: `u1.test`, `ml.valid.inter`,
    `ratings_test.csv`. Not `train_valid.csv`, which is both, and not an A/B test.
    """
    name = bare_name(path).lower()
    return bool(_TEST_SPLIT.search(name)) and not _NO_TEST_SPLIT.search(name)


# ---- the beginning and the whole of a file -----------------------------------------------------------------------

# first bytes, type of such a file, what to do
_NOT_TEXT = (
    (ZIP, "a zip archive in another archive", "Unpack it."),
    (GZIP, "a gzip file in another archive", "Unpack it."),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Office file", _EXCEL_STEP),
    (b"SQLite format 3\x00", "an SQLite database", "Export the table as CSV."),
    (PARQUET, "a packed Parquet file", "Unpack it."),
    (b"%PDF", "a PDF", "Export the table as CSV."),
    (b"\x89PNG", "an image", "Choose another file."),
    (b"BZh", "compressed with bzip2", "Unpack it, or compress it with gzip."),
    (XZ, "an xz file in another archive", "Unpack it."),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "Unpack it, or compress it with gzip."),
)
# what Excel writes before the header so that it knows the delimiter, such as `sep=;`
_SEPARATOR_LINE = re.compile(r"\ufeff?\"?sep=[,;|\t]\"?[\s,;|]*", re.IGNORECASE)


class Sample(NamedTuple):
    """The beginning of a file: at most 64 KB of complete lines, unpacked and decoded; of Parquet, rows as JSON Lines."""

    path: Path
    text: str

    @property
    def first_line(self) -> str:
        return next((line for line in self.text.split("\n") if line.strip()), "")


class Contents(NamedTuple):
    """The SHA-256 of a file's bytes on disk, and its number of lines after unpacking. `quoted`: it has quotation marks;
    `spaced`: spaces beside some of them.
    """

    sha256: str
    lines: int
    quoted: bool = True
    spaced: bool = True


def contents_of(path: Path, encoding: str = UTF8, read: Callable[[int], None] = lambda _: None) -> Contents:
    """What is to be known of the whole file before it is read. Raises InputError when the file cannot be read to its
    end, so that damaged archives and decompression bombs are found before anything is stored, and for NUL characters and
    endless lines. `read` is told how many more bytes on disk were read.
    """
    digest = hashlib.sha256()
    with _explained(path):
        with path.open("rb") as handle:
            start = handle.read(512)
            packed = start.startswith((GZIP, ZIP, XZ, PARQUET)) or _TAR.match(start)
            handle.seek(0)
            while packed and (block := handle.read(_BLOCK)):
                digest.update(block)
                read(len(block))
        if start.startswith(PARQUET):
            with _parquet(path) as file:
                rows, columns = file.metadata.num_rows, file.metadata.num_columns
            check_unpacked(path, _BYTES_A_CELL * rows * columns, path.stat().st_size)
            return Contents(digest.hexdigest(), rows)
    lines, last, length, quoted, spaced = 0, b"\n", 0, False, False
    bytes_are_text = encoding in (UTF8, UTF8_OR_LATIN1)
    with _explained(path), opened(path) as unpacked:
        while block := unpacked.read(_BLOCK):
            if not packed:
                digest.update(block)
                read(len(block))
            if bytes_are_text and b"\0" in block:
                raise _nul(path, block, lines)
            feeds = block.count(b"\n")
            # the next line may have begun in an earlier block
            length = len(block) - block.rfind(b"\n") if feeds else length + len(block)
            is_long = length > 4 * MAX_FIELD
            if is_long and sample_of(path).text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
                raise refusal("long-line", path=path, line=lines + feeds + 1, most=MAX_FIELD)
            if not spaced and (quoted := quoted or b'"' in block):
                joined = last + block
                spaced = b' "' in joined or b'" ' in joined
            lines, last = lines + feeds, block[-1:]
    return Contents(digest.hexdigest(), lines + (last != b"\n"), quoted, spaced)


def _nul(path: Path, block: bytes, before: int) -> InputError:
    at = block.index(b"\0")
    line = before + block.count(b"\n", 0, at) + 1
    name = "zeros" if block[at : at + 1000].count(0) == 1000 else "nul"
    return refusal(name, path=path, line=line)


def sample_of(path: Path, encoding: str = UTF8) -> Sample:
    """The file's beginning. Raises InputError for an empty file and for anything that is not text."""
    with _explained(path):
        if is_parquet(path):
            records = islice(parquet_records(path), 200)
            lines = (json.dumps(record, ensure_ascii=False) + "\n" for _, record in records)
            # the first row alone may be longer
            beginning = next(lines, "")
            for line in lines:
                if len(beginning) + len(line) > _SAMPLE_BYTES:
                    break
                beginning += line
            stop_if(not beginning, "empty", path=path)
            return Sample(path, beginning)
        with opened(path) as handle:
            start = handle.read(_SAMPLE_BYTES)
            if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
                # the first object may be long
                start += handle.read(_BLOCK)
    stop_if(not start.strip(b"\xef\xbb\xbf \t\r\n"), "empty", path=path)
    for magic, what, step in _NOT_TEXT:
        stop_if(start.startswith(magic), "not-text", path=path, what=what, step=step)
    if encoding in (UTF8, UTF8_OR_LATIN1):
        zeros, marked = start.count(0), start.startswith((b"\xff\xfe", b"\xfe\xff"))
        stop_if(zeros == len(start), "all-zero", path=path)
        if not marked and b"\0" * 1000 in start:
            raise _nul(path, start[start.index(b"\0" * 1000) :], start.count(b"\n", 0, start.index(b"\0")))
        stop_if(marked or zeros > len(start) // 3, "utf-16", path=path)
        stop_if(zeros > len(start) // 1000 + 1, "binary", path=path)
    text = start.decode(UTF8 if encoding == UTF8_OR_LATIN1 else encoding, errors="replace")
    if len(start) >= _SAMPLE_BYTES:
        text = text[: text.rfind("\n") + 1] or text
    first, *rest = text.split("\n", 1)
    if rest and _SEPARATOR_LINE.fullmatch(first):
        text = f"\n{rest[0]}"
    if text.lstrip()[:15].lower().startswith(("<!doctype html", "<html", "<?xml")):
        raise refusal("web-page", path=path)
    return Sample(path, text)


@contextmanager
def _text(path: Path, encoding: str = UTF8) -> Iterator[io.TextIOWrapper]:
    """The decoded text, with its line ends. Raises InputError with the line for bytes that are not in the encoding."""
    with _explained(path), opened(path) as handle:
        stop_if(is_parquet(path), "parquet-text", path=path)
        name, errors = (UTF8, "latin-1") if encoding == UTF8_OR_LATIN1 else (encoding, "strict")
        text = io.TextIOWrapper(handle, encoding=name, errors=errors, newline="")
        try:
            yield text
        except UnicodeDecodeError as error:
            # the decoder reads ahead in blocks, so the file is read again
            with opened(path) as again:
                lines = enumerate(again if encoding == UTF8 else (), start=1)
                line = next((at for at, raw in lines if raw.decode(errors="ignore").encode() != raw), 1)
            name = "UTF-8" if encoding == UTF8 else encoding
            byte = error.object[error.start]
            raise refusal("encoding", path=path, line=line, encoding=name, byte=byte) from error
        except UnicodeError as error:
            raise refusal("other-encoding", path=path, encoding=encoding, why=error) from error
        finally:
            with suppress(ValueError):
                text.detach()


def text_lines(path: Path, encoding: str = UTF8) -> Iterator[str]:
    """The lines with their line ends, unpacked. Raises InputError for bytes that are not in the encoding."""
    with _text(path, encoding) as text:
        yield from text


def lines_match(sample: Sample, pattern: re.Pattern[str]) -> bool:
    """Whether the pattern fully matches the first non-blank line and at least half of the first hundred lines."""
    lines = [line.rstrip("\r") for line in sample.text.split("\n", 101)[:100] if line.strip()]
    fit = [pattern.fullmatch(line) is not None for line in lines]
    return bool(fit) and fit[0] and 2 * sum(fit) >= len(fit)


@contextmanager
def saved_input(stream: BinaryIO) -> Iterator[Path]:
    """The path of a temporary file with the whole stream. Errors call it stdin, and `-` where they show a command.

    A stream that does not begin like a table is refused at once. Raises UsageError for a terminal.
    """
    if stream.isatty():
        raise misuse("terminal")
    with scratch_folder() as folder:
        path = folder / STDIN_NAME
        size = 0
        try:
            with path.open("wb") as file:
                while block := stream.read(_BLOCK):
                    file.write(block)
                    if size == 0:
                        file.flush()
                        sample_of(path)
                    size += len(block)
                    stop_if(size > _MOST_PIPED, "long-input", path=path, most=_MOST_PIPED / 1e9)
            yield path
        except RecjudgeError as error:
            for part in ("title", "cause", "next_step"):
                text = getattr(error, part).replace(f"import {path} ", "import - ")
                setattr(error, part, text.replace(str(path), STDIN_NAME))
            raise


# ---- JSON --------------------------------------------------------------------------------------------------------

# columns whose readers expect a list as JSON
_IN_JSON = ("flags", "items", "scores")
# columns of one id, where a list of several is none
_IDS = ("user_id", "item_id", "system", "system_a", "system_b")
_GAP = re.compile(r"[\s,]*")
_NOT_JSON = "The rest is not valid JSON; the file may be cut off."
# the key of a record under which a key that it has twice stands
_TWICE = "@twice"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        found[_TWICE] = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return found


# numbers stay text, so that ids of 19 digits are exact
DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=str, parse_float=str, parse_constant=str)


def decoded(text: str) -> Any:
    """The value of a JSON text; None for anything else."""
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


class _JsonStream:
    """JSON read piece by piece; needs memory for the longest single value only."""

    def __init__(self, path: Path, text: IO[str], unit: str) -> None:
        self.path, self.source, self.unit = path, text, unit
        self.text, self.at, self.number, self.last = text.read(_BLOCK).lstrip("\ufeff \t\r\n"), 0, 0, ""
        self.ended = False

    def more(self) -> bool:
        """Read on: as much again as is not yet used, so that a long value is scanned a few times only."""
        kept = self.text[self.at :]
        block = self.source.read(max(_BLOCK, len(kept)))
        self.text, self.at, self.ended = kept + block, 0, not block
        return bool(block)

    def char(self) -> str:
        """The next character after blanks and commas; empty at the end."""
        while True:
            match = _GAP.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def value(self, decoder: json.JSONDecoder) -> Any:
        self.char()
        while True:
            try:
                value, end = decoder.raw_decode(self.text, self.at)
                # a number at the end of the text may go on
                if end == len(self.text) and not self.ended:
                    self.more()
                    continue
                self.at = end
                return value
            except RecursionError:
                self.broken("It is nested too deeply.")
            except json.JSONDecodeError as error:
                if len(self.text) - self.at > MAX_FIELD:
                    self.broken(f"{error.msg}, or it is longer than {MAX_FIELD:,} characters.")
                if not self.more():
                    self.broken(f"{error.msg}; the file may be cut off.")

    def members(self) -> Iterator[str]:
        """The keys of an object, each before its value, which the caller reads."""
        self.at += 1
        while self.char() not in ("}", ""):
            key = self.value(DECODER)
            if not isinstance(key, str) or self.char() != ":":
                self.broken(_NOT_JSON)
            self.at += 1
            yield key

    def array(self) -> Iterator[Any]:
        self.at += 1
        while (char := self.char()) != "]":
            self.number += 1
            if not char:
                self.broken("It ends before the array does; the file may be cut off.")
            yield self.value(DECODER)
        self.at += 1

    def broken(self, cause: str) -> NoReturn:
        where = f":{self.unit}{self.number}" if self.number else ""
        after = "" if self.number else f" after {self.last or 'the beginning'}"
        raise refusal("json", path=self.path, where=where, after=after, why=cause)


def json_entries(path: Path) -> _Records:
    """The entries of the object in the file, in order, as rows of `key` and `value`, those of a repeated key with `again`.
    An object that is a value is a tuple of (key, value), so that a repeated key is not lost. Raises InputError for anything
    but one complete object."""
    seen = set[str]()
    decoder = json.JSONDecoder(object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str)
    with _text(path) as text:
        stream = _JsonStream(path, text, "entry ")
        stop_if(stream.char() != "{", "json-object", path=path)
        for number, key in enumerate(stream.members(), start=1):
            value = stream.value(decoder)
            if isinstance(value, list):
                value = [dict(part) if isinstance(part, tuple) else part for part in value]
            again = {"again": "yes"} if key.strip() in seen else {}
            yield number, {"key": key.strip(), "value": value, **again}
            stream.last = shown(key)
            seen.add(key.strip())
        if stream.char() != "}":
            stream.broken(_NOT_JSON)
        stream.at += 1
        if stream.char():
            stream.broken("Something follows the object.")


def json_records(path: Path, notes: Notes, encoding: str = UTF8, within: str = "") -> _Records:
    """The objects of the file with their line, or, in an array, with their number from 1; for Parquet, the rows.

    `within`: the path of the array in an object that holds it (`results.results`); the values before the array are under the
    key `@file` of each record. Lines that are not objects are left out and noted. An array that is cut off or not valid
    raises InputError, because the rest cannot be read.
    """
    if is_parquet(path):
        notes.unit = "row "
        yield from parquet_records(path)
        return
    first = sample_of(path, encoding).text.lstrip("\ufeff \t\r\n")[:1]
    if first == "[" or (within and first == "{"):
        notes.unit = "record "
        with _text(path, encoding) as text:
            stream = _JsonStream(path, text, "record ")
            about: dict[str, Any] = {}
            if first == "{":
                _descend(stream, within.split("."), about)
            extra = {"@file": about} if about else {}
            for record in stream.array():
                if isinstance(record, dict):
                    yield stream.number, {**record, **extra} if extra else record
                else:
                    notes.skip(stream.number, "broken JSON", text=record)
            if first == "[" and stream.char():
                stream.broken("Something follows the array.")
        return
    for number, line in enumerate(text_lines(path, encoding), start=1):
        bare = line.strip().removeprefix("\ufeff")
        if not bare:
            continue
        record = decoded(bare)
        if isinstance(record, dict):
            yield number, record
        else:
            notes.skip(number, "broken JSON:cut" if record is None else "broken JSON", text=bare)


def _descend(stream: _JsonStream, keys: Sequence[str], about: dict[str, Any]) -> None:
    """Go to the array under these keys; the values on the way are put into `about`."""
    for depth, wanted in enumerate(keys):
        if stream.char() != "{":
            stream.broken(f"“{'.'.join(keys[:depth])}” is not an object.")
        for key in stream.members():
            if key == wanted and (stream.char() == "{" if depth < len(keys) - 1 else stream.char() == "["):
                break
            about[key] = stream.value(DECODER)
        else:
            stream.broken(f"It has no array “{'.'.join(keys)}”.")


@lru_cache(maxsize=4)
def json_keys(beginning: str) -> Mapping[str, str]:
    """The keys of the first object in a file's beginning, each with its value's first character.

    Empty for a text that does not begin with an object or an array of them. The object may be cut off.
    """
    start = beginning.lstrip("\ufeff \t\r\n").removeprefix("[").lstrip()
    if not start.startswith("{"):
        return {}
    keys: dict[str, str] = {}
    with suppress(InputError):
        stream = _JsonStream(Path(), io.StringIO(start), "")
        for key in stream.members():
            if char := stream.char():
                keys[key] = char
                stream.value(DECODER)
    return keys


def cell(name: str, value: Any) -> str:
    """A value of a JSON object as the text of a cell: numbers as written, a list of texts as `a|b`, null as empty."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    texts = name not in _IN_JSON and isinstance(value, list) and all(isinstance(part, str) for part in value)
    if texts and (name not in _IDS or len(value) < 2):
        return "|".join(value)
    return json.dumps(value, ensure_ascii=False)


# ---- Parquet -----------------------------------------------------------------------------------------------------

# a text repeated in many rows is stored once, so a few rows can be large; rows compressed this densely are read one by one
_ROWS, _DENSE_ROWS, _DENSE_BYTES, _DENSE_RATIO = 1000, 4, 10_000_000, 50
# the size of the shortest value in a table that is not Parquet
_BYTES_A_CELL = 4


def is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def parquet_records(path: Path) -> _Records:
    """Each row's number from 1 and its values as JSON has them: numbers as text, missing values as None.

    A whole number in a column of fractions is written without its `.0`; NaN is a missing value; the index that pandas
    adds is left out.
    """
    rows = (dict(zip(names, cells)) for names, columns in _batches(path) for cells in zip(*columns))  # noqa: B905
    return enumerate(rows, start=1)


def _batches(path: Path) -> Iterator[tuple[list[str], list[list[Any]]]]:
    """The names of the columns and their values, some rows at a time."""
    unpacked = 0
    packed = path.stat().st_size
    with _parquet(path) as file:
        import pyarrow as pa
        import pyarrow.compute as pc

        names = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]
        _refuse_twice(path, 0, names)
        groups = (file.metadata.row_group(place) for place in range(file.metadata.num_row_groups))
        chunks = (group.column(place) for group in groups for place in range(group.num_columns))
        free, most = _DENSE_BYTES, _DENSE_RATIO
        dense = any(c.total_uncompressed_size > max(free, most * c.total_compressed_size) for c in chunks)
        size = _DENSE_ROWS if dense else _ROWS
        for batch in file.iter_batches(batch_size=size, columns=names, use_threads=False):
            columns: list[list[Any]] = []
            for column in batch.columns:
                nested = pa.types.is_nested(column.type)
                if pa.types.is_floating(column.type):
                    column = pc.if_else(pc.is_nan(column), None, column)
                elif not nested and not pa.types.is_primitive(column.type):
                    column = column.cast(pa.string())
                unpacked += column.nbytes
                check_unpacked(path, unpacked, packed)
                cells = (column.slice(place, 1) for place in range(len(column)))
                is_long = column.nbytes > MAX_FIELD and any(value.nbytes > MAX_FIELD for value in cells)
                stop_if(is_long, "long-value", path=path, most=MAX_FIELD)
                if nested:
                    values = column.to_pylist()
                    columns.append([DECODER.decode(json.dumps(value, default=str)) for value in values])
                else:
                    # equal values become text once
                    places = column.dictionary_encode(null_encoding="encode")
                    texts = places.dictionary.cast(pa.string()).to_pylist()
                    columns.append(list(map(texts.__getitem__, places.indices.to_pylist())))
            yield names, columns


def _parquet_rows(path: Path, columns: Sequence[str], notes: Notes) -> Iterator[Row]:
    """The rows as text, with these names for their columns."""
    number = 0
    for _, values in _batches(path):
        cells = [
            [value if type(value) is str else cell(name, value) for value in column]
            for name, column in zip(columns, values, strict=True)
        ]
        odd = not storable("".join(chain.from_iterable(cells)))
        for row in zip(*cells, strict=True):
            number += 1
            if odd and not storable("".join(row)):
                notes.skip(number, "broken text")
            else:
                yield number, dict(zip(columns, row))  # noqa: B905 - of equal length


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise refusal("pyarrow", path=path) from error
    try:
        with pq.ParquetFile(path, buffer_size=_SAMPLE_BYTES) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise refusal("damaged", path=path, what="Parquet file", why=why, step="Write it again.") from error


# ---- tables ------------------------------------------------------------------------------------------------------

# a line without a cell, or one that names the delimiter for a spreadsheet
_NO_CELLS = re.compile(rf"[ \t\r\n,;|\ufeff]*|{_SEPARATOR_LINE.pattern}", re.IGNORECASE)
_DELIMITERS = (",", "\t", ";", "|")
_SWALLOWED_LINES = 20
_SEPARATORS = re.compile(r"[\W_]+")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def squashed(name: str) -> str:
    """The name in small letters, without spaces and punctuation: `User_ID` and `user id` are `userid`."""
    return _SEPARATORS.sub("", name.lower())


class WantedColumns(NamedTuple):
    """The columns that a reader asks for. Each is found by its exact name, else ignoring case, else by an alias.

    `aliases`: a wanted name -> its squashed aliases, most likely first.
    """

    names: Collection[str] = ()
    aliases: Mapping[str, Sequence[str]] = {}

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


def _known_encoding(name: str) -> str:
    try:
        codecs.lookup(UTF8 if name in ("", UTF8_OR_LATIN1) else name)
    except LookupError:
        raise ValueError(f"“{name}” is not known; try latin-1, cp1252 or utf-16") from None
    return name or UTF8


def compiles(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from error
    return text


def _once_each(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError("names a column twice")
    return names


Pattern = Annotated[str, AfterValidator(compiles)]


class Spec(BaseModel):
    """A table of a layout file. Numbers are taken as text; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


class Dialect(Spec):
    """How a table is written. `delimiter` empty: guessed from the first line; `quote` empty: no quoting; `header`: the
    columns of a file without a header row; `line`: a pattern whose named groups are the columns of each line; `suffix`: a
    pattern of what follows the names in the header; `within`: the array in a JSON object; `entries`: the file is one JSON
    object, each of whose entries is a row of `key` and `value`.
    """

    encoding: Annotated[str, AfterValidator(_known_encoding)] = UTF8
    delimiter: Annotated[str, StringConstraints(max_length=1)] = ""
    quote: Annotated[str, StringConstraints(max_length=1)] = '"'
    header: Annotated[tuple[str, ...], AfterValidator(_once_each)] = ()
    line: Pattern = ""
    suffix: Pattern = ""
    within: str = ""
    entries: bool = False


class Table(NamedTuple):
    """`columns` in the file's order; wanted columns have the wanted names. `original`: the names in the file. In the rows of
    `raw` JSON the values are as in the file, else text.
    """

    columns: tuple[str, ...]
    original: tuple[str, ...]
    rows: _Records
    json: bool = False


@contextmanager
def long_reading() -> Iterator[None]:
    """Temporarily raise the csv module's limit per field to 10 MB, and spare the search for reference cycles among millions
    of rows, which have none. Both are global."""
    before, collects = csv.field_size_limit(MAX_FIELD), gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        csv.field_size_limit(before)
        if collects:
            gc.enable()


def read_table(
    path: Path,
    wanted: WantedColumns,
    dialect: Dialect,
    notes: Notes,
    contents: Contents | None = None,
    *,
    raw: bool = False,
) -> Table:
    """Open a table as CSV, JSON or Parquet, as its beginning shows, regardless of the file name.

    A column is matched as `WantedColumns` does. In JSON numbers keep their text, and a list of plain values becomes `a|b`,
    unless the values are wanted `raw`. Rows that cannot be read go to `notes`. Raises InputError for a table that cannot be
    used at all.
    """
    if dialect.line:
        pattern = re.compile(dialect.line)
        names = tuple(pattern.groupindex)
        columns = wanted.renamed(names)
        return Table(columns, names, _matched(path, pattern, columns, dialect, notes))
    if dialect.entries:
        notes.unit = "entry "
        return Table(("key", "value"), ("key", "value"), json_entries(path), json=True)
    lines = filterfalse(_NO_CELLS.fullmatch, text_lines(path, dialect.encoding))
    first = "{" if is_parquet(path) else next(lines, "")
    stop_if(not first, "empty", path=path)
    if first.lstrip("\ufeff \t").startswith(("{", "[")):
        return _json_table(path, wanted, dialect, notes, raw=raw)
    return _csv_table(path, first, wanted, dialect, notes, contents or Contents("", 0))


def header_of(text: str, wanted: WantedColumns) -> list[str]:
    """The column names in the beginning of a table in CSV or JSON; empty if there are none."""
    if keys := json_keys(text):
        return [name.strip() for name in keys]
    first = next(filterfalse(_NO_CELLS.fullmatch, text.splitlines()), "")
    return [name.strip() for name in fields_of(first.strip(), wanted)]


def fields_of(line: str, wanted: WantedColumns = WantedColumns()) -> list[str]:  # noqa: B008 - frozen
    """The fields of one line of CSV, split at the most likely delimiter; empty if it cannot be read."""
    delimiter = _delimiter_of(line, wanted)
    try:
        return next(csv.reader(_unspaced([line], delimiter, '"'), delimiter=delimiter), [])
    except csv.Error:
        return []


def _delimiter_of(line: str, wanted: WantedColumns, quote: str = '"') -> str:
    """The delimiter that splits a line into the most wanted columns, then into the most columns."""

    def fit(delimiter: str) -> tuple[int, int]:
        names = [name.strip().strip(quote or None) for name in line.strip().split(delimiter)]
        return wanted.count(names), len(names)

    return max(_DELIMITERS, key=fit)


def _csv_reader(lines: Iterable[str], delimiter: str, quote: str) -> Any:
    form: dict[str, Any] = {"quotechar": quote} if quote else {"quotechar": None, "quoting": csv.QUOTE_NONE}
    return csv.reader(lines, delimiter=delimiter, strict=True, **form)


def _csv_table(
    path: Path, first: str, wanted: WantedColumns, dialect: Dialect, notes: Notes, contents: Contents
) -> Table:
    quote = dialect.quote if contents.quoted else ""
    sought = WantedColumns() if dialect.header else wanted
    delimiter = dialect.delimiter or _delimiter_of(first, sought, dialect.quote)
    plain = delimiter == "\t" and quote == '"' and not _quotes_enclose(path, dialect.encoding)
    header, names = None, list(dialect.header)
    if names and (width := len(next(_csv_reader([first], delimiter, quote), []))) != len(names):
        raise refusal("header-width", path=path, width=width, count=len(names), names=names)
    with ExitStack() as stack:
        text = stack.enter_context(_text(path, dialect.encoding))
        mark = "" if plain else quote
        spaced = bool(mark) and contents.spaced
        reader = _csv_reader(_unspaced(text, delimiter, mark) if spaced else text, delimiter, mark)
        if not names:
            try:
                header = next(fields for fields in reader if not _NO_CELLS.fullmatch(",".join(fields)))
            except csv.Error as error:
                first = one_line(first, 200)
                raise refusal("header", path=path, line=reader.line_num, first=first, why=error) from error
            names = [_unquoted(name) if plain else name for name in header]
        suffix = f"(?:{dialect.suffix})$" if dialect.suffix else r"\Z"
        original = tuple(re.sub(suffix, "", name.strip().removeprefix("\ufeff")) for name in names)
        columns = wanted.renamed(original)
        for own in (original, columns):
            _refuse_twice(path, reader.line_num, own)
        rows = _csv_rows(path, reader, stack.pop_all(), columns, notes, header, plain=plain)
    return Table(columns, original, rows)


def _refuse_twice(path: Path, line: int, columns: Sequence[str]) -> None:
    """Raise InputError for a column that a table has twice."""
    if twice := [name for name, count in Counter(columns).items() if name and count > 1]:
        where = f"{path}:{line}" if line else path
        raise refusal("column-twice", where=where, name=twice[0], names=columns)


def _quotes_enclose(path: Path, encoding: str) -> bool:
    """Whether the quotation marks of a table between tabs enclose its fields, perhaps over several lines; else they are
    plain characters, as in titles."""
    width = 0
    for line in text_lines(path, encoding):
        fields = line.rstrip("\r\n").split("\t")
        width = width or (0 if _NO_CELLS.fullmatch(line) else len(fields))
        if '"' in line and len(fields) < width:
            return True
    return False


def _unquoted(field: str) -> str:
    match = _QUOTED.fullmatch(field)
    return match[1].replace('""', '"') if match else field


def _unspaced(lines: Iterable[str], delimiter: str, quote: str) -> Iterator[str]:
    """The lines without the spaces around quoted fields, which the csv module does not take for quoted otherwise."""
    before, after, mark, end = f" {quote}", f"{quote} ", re.escape(quote), re.escape(delimiter)
    field = re.compile(rf"(^|{end}) *({mark}(?:[^{mark}]|{mark}{mark})*{mark}) *(?={end}|$)")
    for line in lines:
        yield field.sub(r"\1\2", line) if before in line or after in line else line


def _csv_rows(
    path: Path,
    reader: Any,
    stack: ExitStack,
    columns: tuple[str, ...],
    notes: Notes,
    header: list[str] | None,
    *,
    plain: bool,
) -> Iterator[Row]:
    width, line = len(columns), reader.line_num
    with stack:
        while True:
            try:
                for fields in reader:
                    line, last = reader.line_num, line
                    while len(fields) > width and not fields[-1].strip():
                        fields.pop()
                    if len(fields) != width:
                        if any(fields) and (last or not _SEPARATOR_LINE.fullmatch(",".join(fields))):
                            notes.skip(last + 1, "wrong number of fields", count=len(fields), width=width)
                        continue
                    if not fields[0] and not any(fields):
                        continue
                    if header is not None and fields == header:
                        notes.skip(last + 1, "repeated header")
                        continue
                    if plain:
                        fields = [_unquoted(field) if field[:1] == '"' else field for field in fields]
                    yield last + 1, dict(zip(columns, fields))  # noqa: B905 - of equal length
                return
            except csv.Error as error:
                first, line, why = line + 1, reader.line_num, str(error)
                too_long = "field limit" in why
                stop_if(too_long and line <= first, "long-line", path=path, line=first, most=MAX_FIELD)
                open_end = too_long or "unexpected end" in why or line - first >= _SWALLOWED_LINES
                stop_if(open_end, "quotes", path=path, line=first, last=line)
                where = f"lines {first} to {line}" if line > first else "the row"
                notes.skip(first, "unbalanced quotes", where=where)


def _matched(
    path: Path, pattern: re.Pattern[str], columns: Sequence[str], dialect: Dialect, notes: Notes
) -> Iterator[Row]:
    for number, line in enumerate(text_lines(path, dialect.encoding), start=1):
        bare = line.rstrip("\r\n")
        if match := pattern.fullmatch(bare):
            yield number, dict(zip(columns, (text or "" for text in match.groupdict().values()), strict=True))
        elif bare.strip():
            notes.skip(number, "a line of another form", text=bare)


def _json_table(path: Path, wanted: WantedColumns, dialect: Dialect, notes: Notes, *, raw: bool) -> Table:
    records = json_records(path, notes, dialect.encoding, dialect.within)
    first = next(records, None)
    if first is None:
        raise refusal("no-object", path=path, first=next(iter(notes.first), ""))
    original = tuple(key.strip() for key in first[1])
    columns = wanted.renamed(original)
    if not raw:
        for name, value in zip(columns, first[1].values(), strict=True):
            # an object in a column of ids, or a list of users
            if isinstance(value, {"user_id": list | dict, "item_id": dict}.get(name, ())):
                text = one_line(json.dumps(value, ensure_ascii=False), 100)
                column = original[columns.index(name)]
                lists = [key for key, own in first[1].items() if isinstance(own, list) and own is not value]
                each = f"; its rows are at: each = “{lists[0]}[]”, item_id = “@.item.id”" if lists else ""
                raise refusal("object-as-id", path=path, kind=name[:4], value=text, column=column, each=each)
    rows: _Records = chain([first], records)
    if not raw and is_parquet(path):
        rows = _parquet_rows(path, columns, notes)
    elif not raw:
        rows = _json_rows(path, rows, wanted, notes)
    return Table(columns, original, rows, json=True)


def _json_rows(path: Path, records: _Records, wanted: WantedColumns, notes: Notes) -> Iterator[Row]:
    keys: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    for number, record in records:
        own = tuple(record)
        if own != keys:
            keys, names = own, wanted.renamed([key.strip() for key in own])
        cells = {
            name: value if type(value) is str else cell(name, value)
            for name, value in zip(names, record.values())  # noqa: B905 - of equal length
        }
        if odd := [n for n, v in zip(names, record.values()) if isinstance(v, bool) and n in _IDS]:  # noqa: B905
            notes.skip_row(number, RowFault("not an id", name=odd[0], text=cells[odd[0]]))
            continue
        if _TWICE in cells:
            raise refusal("key-twice", path=path, line=f"{notes.unit}{number}", name=cells[_TWICE])
        if not storable("".join(cells.values())):
            notes.skip(number, "broken text")
            continue
        yield number, cells


# ---- parts of a file ---------------------------------------------------------------------------------------------

# column -> the cells of it that are read
Wanted = Mapping[str, frozenset[str]]


def parse_where(conditions: Sequence[str]) -> dict[str, frozenset[str]]:
    """The conditions, each written `COLUMN=VALUE`. Several values of one column are alternatives; several columns
    must all match. Raises UsageError for a condition without a column or without “=”.
    """
    wanted: dict[str, set[str]] = {}
    for condition in conditions:
        column, sign, value = condition.partition("=")
        if not sign or not column.strip():
            raise misuse("no-condition", condition=one_line(condition, 80))
        wanted.setdefault(column.strip(), set()).add(value.strip())
    return {column: frozenset(values) for column, values in wanted.items()}


def where_text(wanted: Wanted) -> str:
    """The conditions as written in a command, sorted."""
    return " ".join(f"{column}={value}" for column in sorted(wanted) for value in sorted(wanted[column]))


def chosen_rows(table: Table, wanted: Wanted, path: Path, notes: Notes) -> Table:
    """The table with the matching rows; after the last one a remark counts them. A column may be given by its name in
    the file or by the name under which it is read. Raises InputError for a file without the column.
    """
    if not wanted:
        return table
    names = {name: name for name in table.columns} | dict(zip(table.original, table.columns, strict=False))
    if missing := [column for column in wanted if column not in names]:
        raise refusal("where-column", path=path, name=one_line(missing[0], 80), names=table.original)

    def fitting() -> _Records:
        read = kept = 0
        seen: Counter[str] = Counter()
        for line, row in table.rows:
            read += 1
            cells = {name: cell(name, row.get(names[name])).strip() for name in wanted}
            if all(cells[name] in values for name, values in wanted.items()):
                kept += 1
                yield line, row
            elif not kept and len(seen) < 100:
                seen.update(f"{name}={text}" for name, text in cells.items())
        if read and not kept:
            there = first_few(map(shown, sorted(seen)), 10)
            raise refusal("where-nothing", path=path, conditions=where_text(wanted), there=there)
        notes.remark("where", kept=kept, read=read, conditions=one_line(where_text(wanted), 200))

    return table._replace(rows=fitting())


# ---- files that change -------------------------------------------------------------------------------------------


def watched(paths: Sequence[Path]) -> Callable[[], None]:
    """A function that raises InputError if one of the files was written to or replaced since now."""

    def versions() -> dict[Path, tuple[int, int, int]]:
        found = ((path, path.stat()) for path in paths if path.exists())
        return {path: (status.st_size, status.st_mtime_ns, status.st_ino) for path, status in found}

    before = versions()

    def refuse_changed() -> None:
        if changed := dict(before.items() ^ versions().items()):
            raise refusal("changed", path=next(iter(changed)))

    return refuse_changed
