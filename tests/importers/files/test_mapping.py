"""Mapping files: any table as the plain ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.columns import KNOWN
from recjudge_tui.importers.layout import load_declaration
from recjudge_tui.importers.values import html_text
from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

DOCS = Path(__file__).parents[3] / "docs" / "mapping.md"


def test_every_setting_of_a_field(load: Load, db: Database, tmp_path: Path) -> None:
    toml = """
        encoding = "latin-1"
        delimiter = ":"
        quote = ""
        [events]
        user_id = "uid"
        item_id = { column = "MOVIE" }
        type = { value = "rating" }
        value = { column = "stars", values = { five = 5 } }
        timestamp = { column = "day", format = "%d.%m.%Y" }
        text = { column = "query", html = true, default = "-" }
    """
    content = 'uid:movie:stars:day:query\n1:"7:five:01.05.2024:<b>Caf\xe9</b> noir\n2:8:4::\n3:9:4:May:\n'
    summary = load("events", content.encode("latin-1"), mapping=toml)
    assert summary.warnings[0].endswith("in.csv:4: timestamp “May” is not written as %d.%m.%Y; row left out")
    assert rows_of(db, "SELECT user_id, item_id, type, value, timestamp, text FROM events") == [
        ("1", '"7', "rating", 5.0, "2024-05-01T00:00:00+00:00", "Café noir"),
        ("2", "8", "rating", 4.0, "", "-"),
    ]
    assert db.value("SELECT layout FROM imports").startswith("mapping m.toml ")


def test_aspects_in_columns_with_the_rater_in_another(load: Load, db: Database, tmp_path: Path) -> None:
    toml = """
        [labels]
        rater = "who"
        user_id = "battle"
        system_a = { value = "x" }
        system_b = { value = "y" }
        scale = [0, 1]
        [labels.aspects]
        overall = { column = "win", values = { left = "A", right = "B", neither = "Tie" } }
        accuracy = "acc"
    """
    summary = load("labels", "who,battle,win,acc\nann,1,left,Tie\nbob,1,neither,\n", mapping=toml)
    assert (summary.stored, summary.skipped) == (3, 1)
    assert summary.warnings[0].endswith("in.csv:3: no value for accuracy by bob; left out")
    assert rows_of(db, "SELECT rater, aspect, label FROM v_verdicts ORDER BY verdict_id") == [
        ("ann", "overall", "A"),
        ("ann", "accuracy", "Tie"),
        ("bob", "overall", "Tie"),
    ]


@pytest.mark.parametrize(
    ("toml", "content"),
    [
        ('decimal = ","', "user;item;score\nu;2;0,5\nu;1;1,25\n"),
        ('delimiter = " "', "user item score\nu 2 0.5\nu 1 1.25\n"),
        ('header = ["uid", "score", "iid"]', "u,0.5,2\nu,1.25,1\n"),
        ('[lists]\nuser_id = "a"\nitem_id = "b"\nscore = "c"', "a,b,c\nu,2,0.5\nu,1,1.25\n"),
        ('decimal = ","\n[lists]\nuser_id = "a"\nitem_id = "b"\nscore = "c"', "a;b;c\nu;2;0,5\nu;1;1,25\n"),
    ],
)
def test_how_a_table_is_written(load: Load, db: Database, tmp_path: Path, toml: str, content: str) -> None:
    (tmp_path / "map.toml").write_text(toml, encoding="utf-8")
    load("lists", content, mapping=tmp_path / "map.toml", system="s")
    assert rows_of(db, "SELECT item_id, score FROM slate_items ORDER BY rank") == [("1", 1.25), ("2", 0.5)]


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[items", "is not a TOML file"),
        ("[things]\na = 'b'", "“things” is none of: items, users"),
        ("[items]\nprice = 'p'", "“items.price” is not a column of items: item_id, title"),
        ("[items]\nitem_id = 3", "“items.item_id” must be a column's name or a table"),
        ("[items]\nitem_id = { colum = 'x' }", "has “colum”, which is none of: column, value"),
        ("[items]\nitem_id = { html = true }", "needs either a column or a constant"),
        ("[items]\nitem_id = { column = 'x', value = 'y' }", "needs either a column or a constant"),
        ("[items]\nitem_id = { column = 'x', html = 'yes' }", "html” Input should be a valid boolean"),
        ("[labels]\nrater = 'r'\n[labels.ann]\noverall = 'x'", "a table for each rater"),
        ("[labels]\nvalue = 'r'\n[labels.ann]\noverall = 'x'", "so it cannot have “value” too"),
        ("[labels]\nscale = [5, 1]", "must be below the highest"),
        ("encoding = 'nonsense'", "“nonsense” is not known"),
        ("decimal = ';'", "“decimal” Input should be"),
        ("delimiter = '::'", "should have at most 1 character"),
        ("[users]\nuser_id = 'x'", "has no table .items."),
        ("[items]\nitem_id = 'item_id'", "has no field “title” for items"),
        ("[items]\nitem_id = 'nope'\ntitle = 'title'", "has no column nope Found: item_id, title"),
    ],
)
def test_mistakes_in_a_mapping(load: Load, tmp_path: Path, toml: str, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says).replace("\\.", ".")):
        load("items", "item_id,title\n1,a\n", mapping=toml)


def test_two_items_in_a_mapped_column_are_no_item(load: Load, db: Database) -> None:
    toml = "[events]\nuser_id = 'u'\nitem_id = 'it'\ntype = { value = 'click' }"
    load("events", '{"u": "a", "it": ["5", "9"]}\n{"u": "b", "it": "7"}\n', mapping=toml)
    assert rows_of(db, "SELECT user_id, item_id FROM events") == [("b", "7")]


def test_a_mapping_is_no_layout(load: Load, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        load("items", "x", mapping=tmp_path / "m.toml", layout="other")
    with pytest.raises(InputError, match="cannot be read"):
        load("items", "x", mapping=tmp_path / "m.toml")


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("plain", "plain"), ("a <b>b</b>&amp;c", "a b&c"), ("<p>one</p><p>two<br>three</p>", "one\ntwo\nthree"),
        ("<style>x{}</style><script>alert('<b>')</script>kept", "kept"),
        ("<span title='<img src=\"x\"/>'>name </span>", "name"), ("1 < 2 and <3", "1 < 2 and <3"),
        ("&lt;b&gt;", "<b>"),
    ],
)  # fmt: skip
def test_html_text(markup: str, text: str) -> None:
    assert html_text(markup) == text


def test_the_documented_examples_hold(tmp_path: Path) -> None:
    text = "".join(
        (DOCS.parent / name).read_text(encoding="utf-8") for name in (DOCS.name, "importing-labels.md")
    )
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 7
    for number, block in enumerate(blocks):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        assert load_declaration(path).kinds


def test_the_documented_columns_are_the_real_ones() -> None:
    rows = dict(re.findall(r"^\| (\w+) \| (.*) \| [^|]* \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
    for kind, columns in KNOWN.items():
        assert set(columns) <= set(re.findall(r"\w+", rows[kind])), kind


ODD = "a;b;c;d\nu;12;als;1\nu;13;als;2\nv;14;als;x\n"
ROWS = (
    "line 2: user_id = “u”, item_id = “12”, system = “als”, rank = “als”",
    "line 3: user_id = “u”, item_id = “13”, system = “als”, rank = “als”",
    "line 4: user_id = “v”, item_id = “14”, system = “als”, rank = “als”",
)


@pytest.mark.parametrize(
    ("rank", "says"),
    [
        ("rank = 'position'", ("has no column position", "line 2: a = “u”, b = “12”, c = “als”, d = “1”", "line 4: a")),
        ("rank = 'c'", ("nothing in .*in.csv could be", "0 of 3 rows fit", "as the mapping reads them", *ROWS)),
        ("score = 'd'\nitem_id = 'b'", ("is not a TOML file",)),
    ],
)  # fmt: skip
def test_a_mistake_shows_the_first_rows(
    load: Load, db: Database, tmp_path: Path, rank: str, says: tuple[str, ...]
) -> None:
    mapping = f"[lists]\nuser_id = 'a'\nitem_id = 'b'\nsystem = 'c'\n{rank}\n"
    with pytest.raises(InputError) as raised:
        load("lists", ODD, mapping=mapping)
    for part in says:
        assert re.search(part, str(raised.value)), part
    assert db.value("SELECT count(*) FROM projects") == 0


def test_a_header_for_a_file_that_has_none(load: Load, db: Database, tmp_path: Path) -> None:
    mapping = tmp_path / "m.toml"
    table = "[lists]\nuser_id = 'who'\nitem_id = 'what'\nsystem = { value = 'als' }\nscore = 'points'\n"
    mapping.write_text('header = ["who", "what", "points"]\n' + table)
    summary = load("lists", "u\t12\t0.5\nu\t13\t0.75\n", mapping=mapping)
    assert (summary.stored, summary.files[0].columns) == (
        2,
        "who as user_id, what as item_id, system = als, points as score",
    )
    assert db.column("SELECT item_id FROM slate_items ORDER BY rank") == ["13", "12"]
    with pytest.raises(InputError, match="the first row has 2 fields, but the header 3"):
        load("lists", "u,12\n", "2.csv", mapping=mapping)
    for header, says in (('"who"', "should be a valid tuple"), ('["a", "a"]', "names a column twice")):
        mapping.write_text(f"header = {header}\n" + table)
        with pytest.raises(InputError, match=says):
            load("lists", "u,12\n", mapping=mapping)
