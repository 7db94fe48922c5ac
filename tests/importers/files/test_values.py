"""Times and numbers as files write them."""

from __future__ import annotations

import pytest

from recjudge_tui.importers.values import RowFault, Times, formatted, number, plain_number, whole

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


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("05/01/2024", "is the day or the month first? Write 2024-05-31"),
        ("5.1.24 12:00", "is the day or the month first? Write 2024-05-31"),
        ("next Tuesday", "write 2024-05-31, 2024-05-31T12:00:00Z or Unix time"),
    ],
)
def test_a_bad_time_says_how_to_write_it(text: str, advice: str) -> None:
    with pytest.raises(RowFault) as fault:
        Times().read(text)
    assert f"is not a time ({advice}" in fault.value.text


def test_formatted_times() -> None:
    assert formatted("01.05.2024 12:00", "%d.%m.%Y %H:%M") == NOON
    assert formatted(" ", "%d") == ""
    with pytest.raises(RowFault):
        formatted("May", "%d.%m.%Y")


@pytest.mark.parametrize(
    ("text", "value"), [("4", 4.0), (" -0.5 ", -0.5), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0)]
)
def test_numbers(text: str, value: float) -> None:
    assert number(text, "score") == value


@pytest.mark.parametrize("text", ["", "nan", "inf", "-Infinity", "1_000", "3,5", "0x10", "1e999", "²"])
def test_not_numbers(text: str) -> None:
    with pytest.raises(RowFault, match="score"):
        number(text, "score")


def test_whole_and_plain_numbers() -> None:
    assert whole("3.0", "rank") == 3
    assert (plain_number(4.0), plain_number(3.5)) == ("4", "3.5")
    with pytest.raises(RowFault):
        whole("3.5", "rank")
