"""Every hostile text in every place of a table, in every format: nothing raw, nothing that the format would obey."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest
from rich.cells import cell_len

from recjudge_tui.domain.text import one_line, safe_text, unmarked
from recjudge_tui.importers.reader import long_reading
from recjudge_tui.reports.common.table import Column, Row, Screen, Table, render
from recjudge_tui.reports.common.writers.data import EXPORT_FORMATS, ExportFormat, write_rows
from tests.support.hostile import HOSTILE, LONE_SURROGATE, NAMED

TEXTS = NAMED | {"lone_surrogate": LONE_SURROGATE}
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)
SGR = re.compile(r"\x1b\[[0-9;]*m")
each_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


def table_of(text: str) -> Table:
    rows = ({"first": text, "second": text, "n": -1}, {"first": "x", "second": text, "n": 2})
    columns = (Column("first", text), Column("second", "Second"), Column("n", "n", "int"))
    return Table(text, columns, rows, (text, "a note"))


@each_text
def test_a_styled_screen_gets_our_styles_only(text: str) -> None:
    shown = render(table_of(text), "text", Screen(80, styled=True)).text
    assert RAW.search(SGR.sub("", shown)) is None
    assert max(cell_len(line) for line in SGR.sub("", shown).splitlines()) <= 80


@each_text
def test_csv_has_the_cells_and_no_formula(text: str) -> None:
    with long_reading():
        rows = list(csv.reader(io.StringIO(render(table_of(text), "csv").text, newline="")))
    assert [len(row) for row in rows] == [3, 3, 3]
    assert rows[1][2] == "-1"
    assert unmarked(rows[1][0]) == safe_text(text)
    bare = rows[1][0].strip()
    assert bare[:1] not in ("=", "+", "@", "＝", "＋", "－", "＠")
    assert bare[:1] != "-" or re.fullmatch(r"-[\d.]+", bare)


@each_text
def test_json_reads_back_the_same(text: str) -> None:
    found = json.loads(render(table_of(text), "json").text)
    assert found["rows"][0]["first"] == found["title"] == text


@each_text
def test_markdown_keeps_its_columns_and_has_no_html_or_link(text: str) -> None:
    written = render(table_of(text), "md").text
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    for line in written.splitlines():
        assert "<" not in line
        bare = re.sub(r"\\[\\|`*_\[\]~#$]", "", line.removeprefix("**").removesuffix("**"))
        assert not set(bare) & set("`*_[]~#$\\"), bare[:200]
        if line in rows:
            assert bare.count("|") == 4


@each_text
def test_latex_has_no_command_of_the_text(text: str) -> None:
    written = render(table_of(text), "latex").text
    body = written[written.index(r"\begin{table") :]
    commands = set(re.findall(r"\\([a-zA-Z]+|.)", body))
    assert commands <= {
        "begin", "end", "caption", "toprule", "midrule", "bottomrule", "par", "footnotesize", "\\", "$", "&", "#", "_",
        "%", "{", "}", "textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar", "symbol",
        "textasciigrave", "ldots", "textperiodcentered", "texttimes", "le", "ge", "pm", "to", "kappa", "alpha", "rho", "tau",
        "label", "centering", "small", "smallskip", "raggedright", "arraybackslash", "setlength", "tabcolsep", "allowbreak",
    }  # fmt: skip
    plain = re.sub(r"\\(?:[a-zA-Z]+(?:\{\})?|.)", "", body)
    assert plain.count("{") == plain.count("}")
    assert not set(plain) & set("#%_^~")
    assert body.count(r" \\" + "\n") == 3
    assert all(
        # the second column has one value and stands in the caption
        re.sub(r"\\.", "", line).count("&") == 1
        for line in body.splitlines()
        if line.endswith(r" \\")
    )


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells and self.tags[-1] in ("td", "th"):
            self.cells[-1] += data


@each_text
def test_html_has_our_elements_only(text: str) -> None:
    page = Elements(render(table_of(text), "html").text)
    ours = {
        "html", "head", "meta", "title", "style", "body", "main", "div", "table", "caption", "h1", "thead", "tbody", "tr",
        "th", "td", "ul", "li",
    }  # fmt: skip
    assert set(page.tags) == ours
    known = "lang charset http-equiv content name class role tabindex aria-label scope"
    assert page.attributes <= set(known.split())
    assert page.cells[3].strip() == one_line(text)
    assert page.tags.count("tr") == 3


@pytest.mark.parametrize("fmt", EXPORT_FORMATS)
@each_text
def test_exports_row_by_row(text: str, fmt: ExportFormat) -> None:
    out = io.StringIO(newline="")
    written = write_rows(("a", "b"), [(text, 1), (None, -2.5)], fmt, out)
    found = out.getvalue()
    assert RAW.search(found) is None
    assert written.rows == 2
    if fmt == "csv":
        assert written.defused == (safe_text(text) != _first_cell(found))
        assert bool(written.message()) == bool(written.defused)
    else:
        rows = json.loads(found) if fmt == "json" else [json.loads(line) for line in found.splitlines()]
        assert rows[0]["a"] == text


def _first_cell(text: str) -> str:
    with long_reading():
        return list(csv.reader(io.StringIO(text, newline="")))[1][0]


def test_a_text_of_a_megabyte_is_cut_and_says_so() -> None:
    text = render(Table("T", (Column("a", "A"),), ({"a": NAMED["megabyte"]},)), "plain").text
    assert len(text) < 21_000
    assert "(cut, 1,000,021 characters in all)" in text


def test_no_line_is_drawn_and_no_cell_begins_a_line_of_its_own() -> None:
    rows: tuple[Row, ...] = tuple({"a": text, "b": "x"} for text in HOSTILE)
    text = render(Table("T", (Column("a", "A"), Column("b", "B")), rows), "plain").text
    assert not set(text) & set("─│┌┐└┘━╭╮╯╰\x1b\r")
    body = text.split("\n\n")[1:]
    assert len(body) == len(HOSTILE)
    assert all(re.fullmatch(r"(A: .*\n)?B: x\n?", paragraph) for paragraph in body)
