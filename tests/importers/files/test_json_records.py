"""JSON objects out of lines and out of arrays, and the beginnings by which layouts know their files."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.importers.reader import json_keys, json_records
from recjudge_tui.importers.values import Notes


def _read(path: Path, content: str | bytes) -> tuple[list[tuple[int, dict[str, object]]], Notes]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    notes = Notes(path)
    return list(json_records(path, notes)), notes


def test_lines_and_arrays_hold_the_same(tmp_path: Path) -> None:
    records = [{"id": n, "text": "é" * n, "deep": [[n]]} for n in range(5)]
    lines = "\r\n\r\n".join(map(json.dumps, records))
    wanted = [{"id": str(n), "text": "é" * n, "deep": [[str(n)]]} for n in range(5)]
    assert _read(tmp_path / "a", "\ufeff" + lines)[0] == [(2 * n + 1, wanted[n]) for n in range(5)]
    for text in (json.dumps(records), json.dumps(records, indent=1), "\ufeff \n" + json.dumps(records)):
        found, notes = _read(tmp_path / "b", text)
        assert found == [(n + 1, wanted[n]) for n in range(5)]
        assert notes.unit == "record "
    assert _read(tmp_path / "c", gzip.compress(json.dumps(records).encode()))[0][4] == (5, wanted[4])
    assert _read(tmp_path / "d", "[ ]")[0] == []


def test_an_array_on_one_line_longer_than_a_line_may_be(tmp_path: Path) -> None:
    records = [{"id": n, "text": "x" * 100_000} for n in range(120)]
    found, _ = _read(tmp_path / "long.json", json.dumps(records))
    assert [record["id"] for _, record in found] == [str(n) for n in range(120)]


def test_bad_lines_are_left_out_and_located(tmp_path: Path) -> None:
    deep = "[" * 100_000
    found, notes = _read(tmp_path / "a", f'{{"a": 1}}\n{{"a": \n3\n{{"a": {deep}\n{{"a": 2}}\n')
    assert [line for line, _ in found] == [1, 5]
    assert notes.kinds == {"broken JSON": 3}
    assert notes.first[0].startswith(f"{tmp_path / 'a'}:2: not a complete JSON object")


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


def test_first_keys_of_an_object_that_is_cut_off() -> None:
    def keys(text: str) -> dict[str, str]:
        return json_keys(text)

    assert keys('\ufeff[\n {"a": {"no": 1}, "b": [{"c": 2}], "d" : "e:f", "g": -1.5e3, "h": {"i": "') == {
        "a": "{", "b": "[", "d": '"e:f"', "g": "-1.5e3", "h": "{",
    }  # fmt: skip
    assert keys('{"a": 1}\n{"b": 2}') == {"a": "1"}
    assert keys("a,b\n1,2\n") == keys("[1, 2]") == keys("") == {}
