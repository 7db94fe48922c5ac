"""Files of every importer family changed by chance: each is stored or refused with a reason, within two seconds.

python benchmarks/files.py [COUNT] [SEED] tries COUNT files of each family (3,000) and prints those that ended otherwise.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recjudge_tui.store.opening import connect
from tests.support.mutated_files import FAMILIES, Mutated, import_mutated

COUNT = 300


def measure() -> list[dict[str, Any]]:
    return [
        {
            "name": f"{result.tried:,} changed files ({family}), imports that ended in no foreseen way",
            "ours": len(result.wrong),
            "comparison": None,
            "ratio": None,
            "bound": "none",
            "holds": not result.wrong,
            "note": ", ".join(f"{count:,} {end}" for end, count in result.ends.most_common()),
        }
        for family, result in ((family, tried(family, COUNT, seed=1)) for family in FAMILIES)
    ]


def tried(family: str, count: int, seed: int) -> Mutated:
    with tempfile.TemporaryDirectory() as folder, connect(Path(folder) / "files.db") as db:
        # the files go with the temporary folder, so nothing has to reach the disk
        db.execute("PRAGMA synchronous = OFF")
        return import_mutated(db, Path(folder), family, count, seed)


def main() -> None:
    count, seed = ([int(word) for word in sys.argv[1:]] + [3000, 1][len(sys.argv) - 1 :])[:2]
    for family in FAMILIES:
        result = tried(family, count, seed)
        print(f"{family}: {result.tried:,} files, {dict(result.ends)}, {len(result.wrong)} wrong", flush=True)
        for why, content in result.wrong[:5]:
            print(f"  {why}\n    {content[:300]!r}", flush=True)


if __name__ == "__main__":
    main()
