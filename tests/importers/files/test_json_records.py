"""JSON objects out of lines and out of arrays, and the beginnings by which layouts know their files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.importers.reader import json_records
from recjudge_tui.importers.values import Notes


def _read(path: Path, content: str | bytes) -> tuple[list[tuple[int, dict[str, object]]], Notes]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    notes = Notes(path)
    return list(json_records(path, notes)), notes


def test_an_array_on_one_line_longer_than_a_line_may_be(tmp_path: Path) -> None:
    records = [{"id": n, "text": "x" * 100_000} for n in range(120)]
    found, _ = _read(tmp_path / "long.json", json.dumps(records))
    assert [record["id"] for _, record in found] == [str(n) for n in range(120)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('[{"a": 1}, {"a": 2', r"record 2: broken JSON .*cut off"),
        ('[{"a": 1}, {"a" 2}, {"a": 3}]', r"record 2: broken JSON"),
        ('[{"a": 1}', r"record 2: broken JSON"),
        ('[{"a": ' + "[" * 100_000, r"record 1: broken JSON .*(nested too deeply|cut off)"),
        (b'[{"a": "caf\xe9"}]', r"not UTF-8 \(byte 0xe9\)"),
    ],
)
def test_a_broken_array_is_one_error(tmp_path: Path, content: str | bytes, says: str) -> None:
    with pytest.raises(InputError) as error:
        _read(tmp_path / "a.json", content)
    assert re.search(says, str(error.value))
