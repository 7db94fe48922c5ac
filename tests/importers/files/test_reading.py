"""From bytes on disk to lines: packed, marked, in latin-1; how much of a file is held at a time."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.importing import Load


@pytest.mark.parametrize(
    ("mark", "delimiter"), [("sep=;", ";"), ('"sep=;"', ";"), ("\ufeffSEP=,", ","), ("sep=\t", "\t")]
)
def test_the_first_line_of_excel_that_names_the_delimiter_is_no_header(
    load: Load, mark: str, delimiter: str
) -> None:
    rows = (mark, "user_id,item_id,type", "u1,i1,click", "u2,,click", "u3,i3,click")
    text = "\r\n".join(row.replace(",", delimiter) if at else row for at, row in enumerate(rows))
    summary = load("events", text.encode())
    assert (summary.stored, summary.skipped) == (2, 1)
    assert any("in.csv:4:" in warning for warning in summary.warnings), summary.warnings


PEAK = """
import sys
from pathlib import Path
from recjudge_tui.importers.load import import_files
from recjudge_tui.store import database
from recjudge_tui.store.schema import connect

# full with the first file already
database._BULK_CACHE_KIB = 2_048
for file in map(Path, sys.argv[1:]):
    with connect(file.with_suffix(".db")) as db:
        assert import_files(db, "p", [file], "events").stored
    # getrusage would also tell of the process that started this one
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM:")))
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """40,000 rows more, 44 MB of text, when SQLite's page cache is full already."""
    paths = []
    for rows in (20_000, 60_000):
        path = tmp_path / f"{rows}.csv.gz"
        with gzip.open(path, "wt", compresslevel=1) as file:
            file.write("user_id,item_id,type,text\n")
            file.writelines(f"u{n % 500},{n % 977},search,{'long words ' * 100}\n" for n in range(rows))
        paths.append(path)
    command = [sys.executable, "-c", PEAK, *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    first, second = (int(peak) / 1024 for peak in done.stdout.split())
    assert second - first < 6
