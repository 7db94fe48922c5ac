"""The checks of a gate for machines that run tests: a JUnit file, and annotations of a GitHub workflow."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.reliability.gate import MET, NOT_MET

# characters that XML 1.0 cannot contain, even escaped
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DIGITS = 4


def junit_text(table: Table) -> str:
    """One test suite, one test case per check: a failure if it is not met, an error if it could not be determined."""
    states = [row["state"] for row in table.rows]
    failures, errors = states.count(NOT_MET), sum(state not in (MET, NOT_MET) for state in states)
    counts = f'tests="{len(states)}" failures="{failures}" errors="{errors}"'
    notes = "\n".join(one_line(note) for note in table.notes)
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="recjudge gate" {counts}>',
            f"  <testsuite name={_attribute(table.title)} {counts}>",
            *(_test_case(row) for row in table.rows),
            f"    <system-out>{_text(notes)}</system-out>",
            "  </testsuite>",
            "</testsuites>",
        ]
    )


def github_text(table: Table) -> str:
    """One annotation per check that is not met (an error) or could not be determined (a warning), and one notice that
    counts the checks that are met."""
    lines = []
    for row in table.rows:
        if row["state"] != MET:
            level = "error" if row["state"] == NOT_MET else "warning"
            lines.append(
                f"::{level} title={_property(f'{table.title}: {_name(row)}')}::{_message(_figure_text(row))}"
            )
    met = sum(row["state"] == MET for row in table.rows)
    lines.append(f"::notice title={_property(table.title)}::{met} of {len(table.rows)} checks met")
    return "\n".join(lines)


def _test_case(row: Row) -> str:
    place = ".".join(str(row[key]) for key in ("protocol", "aspect") if row[key])
    head = f"    <testcase classname={_attribute(f'gate.{place}')} name={_attribute(_name(row))}"
    if row["state"] == MET:
        return f"{head}/>"
    kind = "failure" if row["state"] == NOT_MET else "error"
    message_text = _figure_text(row)
    return f"{head}>\n      <{kind} message={_attribute(message_text)}>{_text(message_text)}</{kind}>\n    </testcase>"


def _name(row: Row) -> str:
    """The check in words: `qwk against people, at least 0.6`, `win_rate of new over old, at least 0.5`."""
    between = "of" if row["figure"] == "win_rate" else "against"
    reference = f" {between} {row['reference']}" if row["reference"] else ""
    return one_line(f"{row['figure']}{reference}, {row['demand']}")


def _figure_text(row: Row) -> str:
    """The result of the check: the figures, the number of cases and the note."""
    parts = []
    for label, key in (("value", "value"), ("earlier", "earlier"), ("change", "change")):
        value = row.get(key)
        if isinstance(value, float):
            parts.append(f"{label} {value:.{_DIGITS}g}")
    low, high = row.get("ci_low"), row.get("ci_high")
    if isinstance(low, float) and isinstance(high, float):
        parts.append(f"interval {low:.{_DIGITS}g} to {high:.{_DIGITS}g}")
    parts.append(f"n {row['n']}")
    parts += [str(row[key]) for key in ("paired", "note") if row.get(key)]
    return one_line(f"{row['state']}: {', '.join(parts)}")


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", one_line(text)))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))


def _message(text: str) -> str:
    return one_line(text).replace("%", "%25")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
