"""Small files of every importer family, changed by chance; importing one stores all that fits or says what is wrong."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import shutil
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow
from pyarrow import parquet

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.database import Database
from tests.support import samples
from tests.support.runs import intact

# seconds of processor time for one file of some hundred bytes
SLOW_S = 2.0
_TASK = {
    "id": 1,
    "data": {"user_id": "u", "system": "a", "protocol": "pointwise"},
    "annotations": [
        {
            "completed_by": {"email": "ann@example.org"},
            "result": [{"from_name": "overall", "type": "choices", "value": {"choices": ["Good Match"]}}],
        }
    ],
}
_ARGILLA = {
    "id": "1",
    "fields": {"case": "t"},
    "metadata": {"user_id": "u", "system": "a", "protocol": "pointwise"},
    "suggestions": {},
    "responses": {"overall": [{"value": "Good Match", "user_id": "ann"}]},
}
_PRODIGY = {"text": "t", "_input_hash": 1, "_task_hash": 2, "accept": ["Good Match"], "answer": "accept",
            "meta": {"user_id": "u", "system": "a"}, "_annotator_id": "db-ann"}  # fmt: skip
_DOCCANO = {"id": 1, "text": "t", "label": ["Good Match"], "user_id": "u", "system": "a", "username": "ann"}
_YELP = '{"review_id": "r", "user_id": "u", "business_id": "b", "stars": 4, "text": "t", "date": "2010-01-01 10:00:00"}\n'
_AMAZON = '{"rating": 5.0, "title": "t", "text": "x", "images": [], "asin": "B0", "parent_asin": "B0", "user_id": "u", "timestamp": 1588687728923, "helpful_vote": 0, "verified_purchase": true}\n'  # noqa: E501


def _parquet() -> bytes:
    written = io.BytesIO()
    rows = {"user_id": ["u", "u"], "system": ["a", "a"], "item_id": [1, 2], "rank": [1, 2]}
    parquet.write_table(pyarrow.table(rows), written)
    return written.getvalue()


def _archive(form: str) -> bytes:
    with TemporaryDirectory() as folder:
        inside = Path(folder) / "inside"
        inside.mkdir()
        (inside / "items.csv").write_text(samples.ITEMS, encoding="utf-8")
        return Path(shutil.make_archive(str(Path(folder) / "items"), form, inside, "items.csv")).read_bytes()


# family -> (name of a file, what it holds, its content)
FAMILIES: dict[str, list[tuple[str, ImportKind, bytes]]] = {
    "plain": [
        ("items.csv", "items", samples.ITEMS.encode()),
        ("events.csv", "events", samples.EVENTS.encode()),
        ("lists.csv", "lists", samples.LISTS.encode()),
        ("battles.csv", "labels", samples.BATTLES.encode()),
        ("lists.jsonl", "lists", b'{"user_id": "u", "system": "a", "items": ["1", "2"], "scores": [0.5, 0.1]}\n'),
        ("items.json", "items", b'[{"item_id": 7, "title": "Glass", "price": 1.5e3}]'),
        ("users.tsv", "users", b"user_id\tage\nu\t\"30\"\nv\t31\n"),
        ("lists.csv", "lists", b"user_id;system;items\nu;a;['1', '2']\nv;a;[{\"item\": 1, \"score\": 0.5}]\n"),
    ],
    "packed": [
        ("lists.parquet", "lists", _parquet()),
        ("events.csv.gz", "events", gzip.compress(samples.EVENTS.encode(), mtime=0)),
        ("events.csv.xz", "events", lzma.compress(samples.EVENTS.encode())),
        ("items.zip", "items", _archive("zip")),
        ("items.tar.gz", "items", _archive("gztar")),
    ],
    "movielens": [
        ("u.data", "events", samples.U_DATA.encode()),
        ("u.item", "items", samples.U_ITEM),
        ("u.user", "users", samples.U_USER.encode()),
        ("ratings.dat", "events", samples.RATINGS_DAT.encode()),
        ("movies.dat", "items", samples.MOVIES_DAT),
        ("ratings.csv", "events", samples.RATINGS_CSV.encode()),
        ("movies.csv", "items", samples.MOVIES_CSV.encode()),
    ],
    "mind": [
        ("news.tsv", "items", samples.NEWS.encode()),
        ("behaviors.tsv", "events", samples.BEHAVIORS.encode()),
        ("behaviors.tsv", "lists", samples.BEHAVIORS.encode()),
    ],
    "recbole": [
        ("a.inter", "events", f"{samples.INTER}1\t2\t3\t4\n".encode()),
        ("a.item", "items", f"{samples.ITEM}1\tx\t2\ty\t1 2\n".encode()),
    ],
    "recsys-arena": [
        ("arena.csv", "users", samples.ARENA_TABLE.encode()),
        ("arena.csv", "lists", samples.ARENA_TABLE.encode()),
    ],
    "trec": [
        ("bm25.run", "lists", b"301 Q0 d1 1 2.5 bm25\n301 Q0 d2 2 1.5 bm25\n"),
        ("qrels.txt", "events", b"301 0 d1 1\n301 0 d2 0\n"),
    ],
    "ranx": [("run.json", "lists", b'{"q1": {"d1": 0.5, "d2": 0.25}, "q2": {"d1": 1}}')],
    "yelp": [("review.json", "events", _YELP.encode())],
    "amazon": [("Books.jsonl", "events", _AMAZON.encode())],
    "label tools": [
        ("ls.json", "labels", json.dumps([_TASK]).encode()),
        ("argilla.json", "labels", json.dumps([_ARGILLA]).encode()),
        ("prodigy.jsonl", "labels", (json.dumps(_PRODIGY) + "\n").encode()),
        ("doccano.jsonl", "labels", (json.dumps(_DOCCANO) + "\n").encode()),
    ],
}  # fmt: skip
_PIECES = (
    b"", b"\n", b"\r", b"\r\n", b",", b"\t", b"|", b"::", b'"', b"'", b"{", b"}", b"[", b"]", b"null", b"NaN", b"Infinity",
    b"1e999", b"-1", b"99999999999999999999", b"1_0", b"\xff", b"\xc3", b"\0", b"\xef\xbb\xbf", b"\xe2\x80\xae", b"true",
    b'\\ud800', b"\\u0000", b"=1+1", b" ", b"0x10", b"2024-13-45", b"1e-400", b"[[[[[[[[", b"a" * 3000, "é漢👩".encode(),
)  # fmt: skip


class Mutated(NamedTuple):
    """How many files were tried, how the imports ended, and those that ended in a way that nobody foresaw."""

    tried: int
    ends: Counter[str]
    wrong: list[tuple[str, bytes]]


def mutated(content: bytes, random: Random) -> bytes:
    """The content with one to four changes: pieces put in, taken out, doubled, swapped, or the end cut off."""
    for _ in range(random.choice((1, 1, 2, 4))):
        place = random.randrange(len(content) + 1)
        end = min(len(content), place + random.choice((0, 1, 1, 3, 20)))
        way = random.random()
        if way < 0.5:
            content = content[:place] + random.choice(_PIECES) + content[end:]
        elif way < 0.6:
            content = content[:place]
        elif way < 0.75:
            content = content[:end] + content[place:end] * random.choice((1, 2, 50)) + content[end:]
        elif way < 0.9:
            lines = content.splitlines(keepends=True)
            random.shuffle(lines)
            content = b"".join(lines)
        else:
            content = content[:place] + random.randbytes(random.randrange(1, 9)) + content[end:]
    return content


def import_mutated(db: Database, folder: Path, family: str, count: int, seed: int) -> Mutated:
    """Import so many changed files of a family, each into a project of its own."""
    random, ends = Random(f"{family}/{seed}"), Counter[str]()
    wrong: list[tuple[str, bytes]] = []
    for number in range(count):
        name, kind, content = random.choice(FAMILIES[family])
        changed = mutated(content, random)
        path = folder / name
        path.write_bytes(changed)
        before = db.value("SELECT count(*) FROM imports")
        begun = time.process_time()
        try:
            import_files(db, f"{family} {number}", [path], kind)
            end = "stored"
        except RecjudgeError as error:
            end = "refused"
            if db.value("SELECT count(*) FROM imports") != before:
                wrong.append((f"refused, but something was stored: {error}", changed))
        except Exception as error:  # noqa: BLE001 - the very thing that is looked for
            end = "unforeseen"
            wrong.append((f"{name} as {kind}: {type(error).__name__}: {error}", changed))
        if time.process_time() - begun > SLOW_S:
            wrong.append((f"{name} as {kind}: slow", changed))
        ends[end] += 1
    if not intact(db):
        wrong.append(("the database is damaged", b""))
    return Mutated(count, ends, wrong)
