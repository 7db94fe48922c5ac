"""Reads a file as lines of text, or explains why it is not text."""

from __future__ import annotations

import codecs
import errno
import gzip
import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from recjudge_tui.errors import InputError, RecjudgeError, UsageError
from recjudge_tui.files import check_regular, scratch_folder
from recjudge_tui.importers.files.layout import Sample
from recjudge_tui.importers.files.packing import (
    EXCEL_ENDINGS,
    EXCEL_STEP,
    GZIP,
    MAX_FIELD,
    PACKED,
    ZIP,
    opened,
    plain_file,
)
from recjudge_tui.importers.files.parquet import MAGIC, is_parquet, parquet_beginning, parquet_length

UTF8 = "utf-8-sig"
_SAMPLE_BYTES = 65_536
_BLOCK = 1 << 20
# what Excel writes before the header so that it knows the delimiter, such as `sep=;`
_SEPARATOR_LINE = re.compile(r"\ufeff?\"?sep=[,;|\t]\"?[\s,;|]*", re.IGNORECASE)
_MOST_PIPED = 20_000_000_000
# first bytes, type of such a file, what to do
_NOT_TEXT = (
    (b"PK\x03\x04", "a zip archive in another archive", "Unpack it."),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Office file", EXCEL_STEP),
    (b"SQLite format 3\x00", "an SQLite database", "Export the table as CSV."),
    (b"PAR1", "a packed Parquet file", "Unpack it."),
    (b"%PDF", "a PDF", "Export the table as CSV."),
    (b"\x89PNG", "an image", "Choose another file."),
    (b"BZh", "compressed with bzip2", "Unpack it, or compress it with gzip."),
    (b"\xfd7zXZ", "compressed with xz", "Unpack it, or compress it with gzip."),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "Unpack it, or compress it with gzip."),
)
_UTF16_STEP = "Save it as UTF-8 (iconv -f UTF-16 -t UTF-8), or name its encoding in a mapping file."


_TABLES = {".csv", ".tsv", ".json", ".jsonl", ".parquet"}
_TEST_SPLIT = re.compile(r"(?<![a-z])(test|valid|validation|val|hold[-_]?out|held[-_]?out)\d*(?![a-z0-9])")
_NO_TEST_SPLIT = re.compile(r"(?<![a-z])(train|training|ab)(?![a-z])")


class Contents(NamedTuple):
    """The SHA-256 of a file's bytes on disk, and its number of lines after unpacking."""

    sha256: str
    lines: int


def contents_of(path: Path) -> Contents:
    """Digest and number of lines of the file, read in blocks. Raises InputError when the file cannot be read to its
    end, so that damaged gzip files and decompression bombs are found before anything is stored.
    """
    digest, lines, last = hashlib.sha256(), 0, b"\n"
    with _explained(path), plain_file(path) as handle:
        start = handle.peek(4)[:4]
        packed = start.startswith((GZIP, ZIP))
        while block := handle.read(_BLOCK):
            digest.update(block)
            if not packed:
                lines, last = lines + block.count(b"\n"), block[-1:]
                if start != MAGIC:
                    _check_zeros(path, block, lines)
    if packed or path.suffix.lower() in PACKED:
        with _explained(path), opened(path) as unpacked:
            while block := unpacked.read(_BLOCK):
                lines, last = lines + block.count(b"\n"), block[-1:]
    if is_parquet(path):
        return Contents(digest.hexdigest(), parquet_length(path))
    return Contents(digest.hexdigest(), lines + (last != b"\n"))


def sample_of(path: Path, encoding: str = UTF8) -> Sample:
    """The file's beginning; for a Parquet file, its first rows as JSON Lines.

    Raises InputError for an empty file and for anything that is not text.
    """
    with _explained(path):
        check_regular(path)
        if is_parquet(path):
            beginning = parquet_beginning(path, _SAMPLE_BYTES)
            if not beginning:
                raise InputError(
                    f"{path} has no rows", next_step="Check how it was created; nothing was imported."
                )
            return Sample(path, beginning)
    with _explained(path), opened(path) as handle:
        start = handle.read(_SAMPLE_BYTES)
        if len(start) == _SAMPLE_BYTES and _is_begun_json(start):
            start += handle.read(_BLOCK)
    if not start.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(f"{path} is empty", next_step="Check how it was created; nothing was imported.")
    _check_text(path, start, encoding)
    text = start.decode(encoding, errors="replace")
    if len(start) >= _SAMPLE_BYTES:
        text = text[: text.rfind("\n") + 1] or text
    first, *rest = text.split("\n", 1)
    if rest and _SEPARATOR_LINE.fullmatch(first):
        text = f"\n{rest[0]}"
    if text.lstrip()[:15].lower().startswith(("<!doctype html", "<html", "<?xml")):
        raise InputError(
            f"{path} is a web page or XML, not a table",
            "A download that needs a login often produces this.",
            "Open it in a browser to check, and download the table again.",
        )
    return Sample(path, text)


def bare_name(path: Path) -> str:
    """The file's name without `.gz` or `.zip`."""
    return path.stem if path.suffix.lower() in PACKED else path.name


def is_test_split(path: Path) -> bool:
    """Whether the name says that the file is the held-out part of a split: `u1.test`, `ml.valid.inter`,
    `ratings_test.csv`. Not `train_valid.csv`, which is both, and not an A/B test.
    """
    name = bare_name(path).lower()
    return bool(_TEST_SPLIT.search(name)) and not _NO_TEST_SPLIT.search(name)


def stem(path: Path) -> str:
    """The file's name without any ending, or the whole name if it has no other part."""
    name = bare_name(path)
    return name.rpartition(".")[0] or name


def table_copies(paths: Iterable[Path]) -> dict[Path, Path]:
    """For each table that is present in several formats (ratings.csv, ratings.parquet), all files but the first, each
    with the first.
    """
    first: dict[tuple[Path, str], Path] = {}
    copies = {}
    for path in paths:
        name = Path(bare_name(path).lower())
        kept = first.setdefault((path.parent, name.stem if name.suffix in _TABLES else str(path)), path)
        if kept != path:
            copies[path] = kept
    return copies


def copy_note(path: Path, first: Path) -> str:
    """Why one of `table_copies` is left out."""
    return (
        f"{path} was not imported, because {first.name} beside it has the same name and would count twice; "
        f"if it has other rows, import it with a separate command"
    )


def most_lines_match(sample: Sample, pattern: re.Pattern[str]) -> bool:
    """Whether the pattern fully matches the first non-blank line and at least half of the first hundred lines."""
    lines = [line.rstrip("\r") for line in sample.text.split("\n", 101)[:100] if line.strip()]
    fit = [pattern.fullmatch(line) is not None for line in lines]
    return bool(fit) and fit[0] and 2 * sum(fit) >= len(fit)


def text_lines(path: Path, encoding: str = UTF8, *, or_latin1: bool = False) -> Iterator[str]:
    """The lines with their line ends, unpacked if gzipped; Excel's `sep=;` in the first line is blank.

    With `or_latin1`, lines that are not UTF-8 are read as latin-1, for files that exist in both encodings.
    Raises InputError with the line for bytes that are not in the encoding, NUL characters, a damaged
    archive, and a line over 10 million characters.
    """
    number = 0
    with _explained(path), opened(path) as handle:
        if is_parquet(path):
            raise InputError(
                f"{path} is a Parquet file, not text", next_step="Export it as the layout has it."
            )
        text = io.TextIOWrapper(handle, encoding=encoding, newline="")
        read = partial(_utf8_or_latin1, handle) if or_latin1 else partial(text.readline, MAX_FIELD + 1)
        try:
            while line := read():
                number += 1
                if "\0" in line:
                    raise InputError(
                        f"{path}:{number}: a NUL character",
                        "Text never contains one; the file is damaged or is not a table.",
                        "Remove it (tr -d '\\000') and import again; nothing was imported.",
                    )
                if len(line) > MAX_FIELD:
                    raise InputError(
                        f"{path}:{number}: a line of more than {MAX_FIELD:,} characters",
                        next_step="Check that it is a table with one row per line; nothing was imported.",
                    )
                # a blank line replaces it, so that the other lines keep their numbers
                yield "\n" if number == 1 and _SEPARATOR_LINE.fullmatch(line) else line
        except UnicodeDecodeError as error:
            raise _encoding_error(path, encoding, number, error) from error


def text_blocks(path: Path) -> Generator[str, None, None]:
    """The text in pieces, for JSON: a file of one line cannot be read line by line. Raises InputError."""
    with (
        _explained(path),
        opened(path) as handle,
        io.TextIOWrapper(handle, encoding=UTF8, newline="") as text,
    ):
        try:
            while block := text.read(_BLOCK):
                yield block
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: not UTF-8 (byte 0x{error.object[error.start]:02x})",
                "JSON is UTF-8.",
                "Export it again as UTF-8; nothing was imported.",
            ) from error


def _utf8_or_latin1(handle: BinaryIO) -> str:
    raw = handle.readline(MAX_FIELD + 1)
    try:
        return raw.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _check_zeros(path: Path, block: bytes, line: int) -> None:
    """Raise InputError for a block of zero bytes, as in a sparse file or an incomplete download."""
    if block[:1] == b"\0" and block.count(0) == len(block):
        raise _zeros(path, line + 1)


def _zeros(path: Path, line: int) -> InputError:
    return InputError(
        f"{path}:{line}: a thousand zero bytes or more in a row",
        "The file is damaged, or was not downloaded whole.",
        "Download it again; nothing was imported.",
    )


def _is_begun_json(start: bytes) -> bool:
    """Whether the text is the beginning of JSON whose first object is longer than the text."""
    text = start.decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n").removeprefix("[").lstrip()
    if not text.startswith("{"):
        return False
    try:
        json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return True
    return False


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path} is a damaged gzip file",
            f"{str(error).rstrip('.')}.",
            "Download it again; nothing was imported.",
        ) from error
    except (zipfile.BadZipFile, NotImplementedError) as error:
        if path.suffix.lower() in EXCEL_ENDINGS:
            raise InputError(f"{path} is a damaged Excel workbook", next_step=EXCEL_STEP) from error
        raise InputError(
            f"{path} is a damaged zip archive, or one of an unknown kind",
            f"{str(error).rstrip('.')}.",
            "Unpack it with another program; nothing was imported.",
        ) from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be read",
            f"{error.strerror or error}.",
            "Save its output to a file, or pipe it to “recjudge import -”."
            if error.errno == errno.EINVAL
            else "",
        ) from error


def _check_text(path: Path, start: bytes, encoding: str) -> None:
    for magic, what, step in _NOT_TEXT:
        if start.startswith(magic):
            raise InputError(f"{path} is {what}, not a table in text", next_step=step)
    if encoding != UTF8:
        return
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is UTF-16, not UTF-8", next_step=_UTF16_STEP)
    if b"\0" * 1000 in start and start.strip(b"\0"):
        raise _zeros(path, start.count(b"\n", 0, start.index(b"\0")) + 1)
    zeros = start.count(0)
    if zeros == len(start):
        raise InputError(f"{path} contains only zero bytes", next_step="Download it again.")
    if zeros > len(start) // 3:
        raise InputError(f"{path} looks like UTF-16, not UTF-8", next_step=_UTF16_STEP)
    if zeros > len(start) // 1000 + 1:
        raise InputError(f"{path} is binary, not a table in text", next_step="Export it as CSV (UTF-8).")


def _encoding_error(path: Path, encoding: str, near: int, error: UnicodeDecodeError) -> InputError:
    line, byte = near + 1, error.object[error.start]
    if encoding == UTF8:
        line, byte = _first_not_utf8(path) or (line, byte)
    name = "UTF-8" if encoding == UTF8 else encoding
    return InputError(
        f"{path}:{line}: not {name} (byte 0x{byte:02x})",
        "Every file is read as UTF-8 unless a mapping file names another encoding.",
        'Save it as UTF-8 (iconv -f LATIN1 -t UTF-8), or write “encoding = "latin-1"” in a mapping file.',
    )


def _first_not_utf8(path: Path) -> tuple[int, int] | None:
    """Line and byte of the error. The file is read again, because the decoder reads ahead in blocks."""
    with opened(path) as handle:
        for number, line in enumerate(handle, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return number, error.object[error.start]
    return None


STDIN_NAME = "stdin"


def _save(stream: BinaryIO, path: Path) -> None:
    """Save the whole stream. A stream that does not begin like a table is refused at once."""
    size = 0
    with path.open("wb") as file:
        while block := stream.read(_BLOCK):
            file.write(block)
            if size == 0:
                file.flush()
                sample_of(path)
            size += len(block)
            if size > _MOST_PIPED:
                raise InputError(
                    f"{path} is longer than {_MOST_PIPED / 1e9:g} GB",
                    next_step="Save it to a file and import that.",
                )


@contextmanager
def saved_input(stream: BinaryIO) -> Iterator[Path]:
    """The path of a temporary file with the whole stream. Errors call it stdin, and `-` where they show a command.

    Raises UsageError for a terminal.
    """
    if stream.isatty():
        raise UsageError(
            "the standard input is a terminal",
            "“-” reads a file from it.",
            "Name a file, or pipe one: … | recjudge import -",
        )
    with scratch_folder() as folder:
        path = folder / STDIN_NAME
        try:
            _save(stream, path)
            yield path
        except RecjudgeError as error:
            for part in ("title", "cause", "next_step"):
                text = getattr(error, part).replace(f"import {path} ", "import - ")
                setattr(error, part, text.replace(str(path), STDIN_NAME))
            raise
