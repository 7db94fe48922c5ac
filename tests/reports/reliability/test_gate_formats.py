"""A gate for machines: what JUnit's readers and GitHub's workflows make of it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.reliability.gate_formats import github_text, junit_text


def check(state: str, **more: object) -> Row:
    return {
        "check": "bound", "figure": "qwk", "protocol": "pairwise", "aspect": "overall", "reference": "people",
        "demand": "at least 0.6", "value": 0.5, "ci_low": 0.4, "ci_high": 0.61, "n": 30, "state": state, "note": "",
    } | more  # fmt: skip


def gate(*rows: Row) -> Table:
    columns = tuple(Column(name, name) for name in check("met"))
    return Table("Gate: rules", columns, rows, ("a note",))


GATE = gate(
    check("met"),
    check("not met", note="short & <small>"),
    check("unknown", figure="win_rate", reference="new over old", value=None),
)


def test_junit_counts_failures_and_errors() -> None:
    root = ElementTree.fromstring(junit_text(GATE))
    (suite,) = root
    assert {key: suite.get(key) for key in ("name", "tests", "failures", "errors")} == {
        "name": "Gate: rules", "tests": "3", "failures": "1", "errors": "1",
    }  # fmt: skip
    met, failed, unknown = suite.findall("testcase")
    assert (met.get("classname"), met.get("name")) == (
        "gate.pairwise.overall",
        "qwk against people, at least 0.6",
    )
    assert list(met) == []
    assert failed[0].tag == "failure"
    assert failed[0].get("message") == "not met: value 0.5, interval 0.4 to 0.61, n 30, short & <small>"
    assert unknown[0].tag == "error"
    assert suite.findtext("system-out") == "a note"


@pytest.mark.parametrize("hostile", ['"]]><x/>', "\x1b[31mred\x00", "a\ufffe\udc80b", "two\nlines"])
def test_junit_stays_well_formed(hostile: str) -> None:
    root = ElementTree.fromstring(
        junit_text(gate(check("not met", reference=hostile, note=hostile))).encode()
    )
    assert len(root.findall("./testsuite/testcase/failure")) == 1


def test_github_annotates_what_is_not_met() -> None:
    assert github_text(GATE).splitlines() == [
        (
            "::error title=Gate%3A rules%3A qwk against people%2C at least 0.6::"
            "not met: value 0.5, interval 0.4 to 0.61, n 30, short & <small>"
        ),
        (
            "::warning title=Gate%3A rules%3A win_rate of new over old%2C at least 0.6::"
            "unknown: interval 0.4 to 0.61, n 30"
        ),
        "::notice title=Gate%3A rules::1 of 3 checks met",
    ]


def test_no_text_starts_an_annotation_of_its_own() -> None:
    (error, notice) = github_text(gate(check("not met", note="100%\n::error::no"))).splitlines()
    assert error.startswith("::error title=")
    assert "100%25" in error
    assert notice.startswith("::notice ")
