"""Files of every importer family with random changes: each is stored or refused with a reason, within two seconds.

    python benchmarks/files.py [COUNT] [SEED] [--quick]

tries COUNT files of each family (3,000) and prints those with another result.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, command_parser
from recjudge_tui.store.schema import connect
from tests.support.mutated_files import FAMILIES, Mutated, import_mutated

COUNT, QUICK_COUNT = 300, 4


def measure(quick: bool = False) -> list[Row]:
    count = QUICK_COUNT if quick else COUNT
    return [
        {
            "name": f"{result.tried:,} changed files ({family}), imports that ended in no foreseen way",
            "ours": len(result.wrong),
            "comparison": None,
            "ratio": None,
            "bound": "none",
            "holds": not result.wrong,
            "note": ", ".join(f"{number:,} {end}" for end, number in result.ends.most_common()),
        }
        for family, result in ((family, tried(family, count, seed=1)) for family in FAMILIES)
    ]


def tried(family: str, count: int, seed: int) -> Mutated:
    with tempfile.TemporaryDirectory() as folder, connect(Path(folder) / "files.db") as db:
        # the files are deleted with the temporary folder, so nothing has to reach the disk
        db.execute("PRAGMA synchronous = OFF")
        return import_mutated(db, Path(folder), family, count, seed)


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("count", nargs="?", type=int, default=3000)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    options = parser.parse_args(words)
    count = QUICK_COUNT if options.quick else options.count
    for family in FAMILIES:
        result = tried(family, count, options.seed)
        print(f"{family}: {result.tried:,} files, {dict(result.ends)}, {len(result.wrong)} wrong", flush=True)
        for why, content in result.wrong[:5]:
            print(f"  {why}\n    {content[:300]!r}", flush=True)


if __name__ == "__main__":
    main()
