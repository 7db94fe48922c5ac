"""Times and numbers as files write them."""

from __future__ import annotations

import pytest

from recjudge_tui.importers.values import RowFault, Times

NOON = "2024-05-01T12:00:00+00:00"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""), (NOON, NOON), ("2024-05-01T12:00:00", NOON), ("2024-05-01 12:00", NOON),
        ("2024-05-01T12:00:00Z", NOON), ("2024-05-01 12:00:00 UTC", NOON), ("2024-05-01T14:00:00+02:00", NOON),
        ("2024-05-01T14:00:00+0200", NOON), ("2024-05-01 07:00:00 -05", NOON), ("2024/05/01 12:00:00", NOON),
        ("2024-05-01T12:00:00.5Z", "2024-05-01T12:00:00.500000+00:00"),
        ("2024-05-01T12:00:00.123456789Z", "2024-05-01T12:00:00.123456+00:00"),
        ("2024-05-01", "2024-05-01T00:00:00+00:00"), ("20240501", "2024-05-01T00:00:00+00:00"), ("1714564800", NOON),
        ("1714564800.0", NOON), ("1714564800000", NOON), ("1714564800000000", NOON), ("1714564800000000000", NOON),
        ("874965758", "1997-09-22T22:02:38+00:00"),
    ],
)  # fmt: skip
def test_timestamps(text: str, expected: str) -> None:
    assert Times().read(text) == expected


@pytest.mark.parametrize(
    "text", ["soon", "2024", "2024-13-01", "2024-02-30T12:00:00+00:00", "01/05/2024", "1e40", "2024-W01-1T12:00:00+99:00"]
)  # fmt: skip
def test_bad_timestamps(text: str) -> None:
    with pytest.raises(RowFault, match="is not a time"):
        Times().read(text)
