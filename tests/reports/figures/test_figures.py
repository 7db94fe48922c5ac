"""Figures: their numbers are those of the reports, each is drawn in each format, and no name harms a picture."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from recjudge_tui.domain.filters import parse_occasions
from recjudge_tui.errors import NotFoundError, StoreError, UsageError
from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.figures.declared import FIGURES, behind, figure
from recjudge_tui.reports.figures.files import WIDTHS, draw_picture, save_figure
from recjudge_tui.reports.figures.marks import Figure
from recjudge_tui.store.schema import connect
from tests.support.app.lists import judge
from tests.support.drawn_project import USERS, drawn_project
from tests.support.hostile import NAMED
from tests.support.verdicts import Project, new_project
from tests.support.visits import VISITS, make_visits

# all but Q against a metric, which needs lists of items
OF_VERDICTS = [name for name in FIGURES if name != "q-metric"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return drawn_project(tmp_path_factory.mktemp("figures") / "p.db")


def draw(project: Project, name: str, given: dict[str, str] | None = None, **more: Any) -> Figure:
    return figure(Opened.numbered(project.db, project.id), name, given, **more)


def texts(svg: bytes) -> list[str]:
    """What an SVG says; raises when it is no XML."""
    elements = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(element.itertext()) for element in elements]


@pytest.mark.parametrize("name", OF_VERDICTS)
def test_a_figure_is_drawn_in_each_format_with_its_caption_and_the_same_each_time(
    project: Project, name: str
) -> None:
    drawn = draw(project, name)
    assert "n = " in drawn.caption
    assert "interval" in drawn.caption or all(row.get("ci_low") is None for row in drawn.rows)
    content, notes = draw_picture(drawn, "svg")
    assert notes == ()
    assert drawn.caption in " ".join(texts(content))
    assert draw_picture(draw(project, name), "svg")[0] == content
    assert draw_picture(drawn, "pdf")[0].startswith(b"%PDF")
    if name == "leaderboard":
        assert drawn.caption not in " ".join(texts(draw_picture(drawn, "svg", caption=False)[0]))
    for columns, inches in WIDTHS.items() if name == "leaderboard" else list(WIDTHS.items())[:1]:
        width, height = struct.unpack(">II", draw_picture(drawn, "png", columns)[0][16:24])
        assert width == round(inches * 300)
        assert 200 < height < 4000


@pytest.mark.parametrize("name", OF_VERDICTS)
def test_a_mark_has_its_sentence_and_its_cases(project: Project, name: str) -> None:
    drawn, opened = draw(project, name), Opened.numbered(project.db, project.id)
    for row in drawn.rows:
        said = "".join(part if isinstance(part, str) else part.text for part in drawn.sentence(row))
        value = row[drawn.value]
        assert any(
            f"{value:{form}}" in said
            for form in ((".2f", ".0f", ".1%") if isinstance(value, float) else (",",))
        )
        found = behind(opened, drawn, row)
        assert "protocol:" in found.filter_text
        if name in ("confusion", "calibration", "q-matrix"):
            # two ties count from both sides in a confusion table
            tied = row.get("label_a") == row.get("label_b") == "Tie"
            counted = {"confusion": row.get("count"), "calibration": row["n"], "q-matrix": USERS}[name]
            assert len(found.cases or ()) * (2 if tied else 1) == counted


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    path = tmp_path_factory.mktemp("visits") / "p.db"
    with connect(path) as db:
        make_visits(db, VISITS)
    judge(path, 1, "pairwise")
    judge(path, 1, "pointwise")
    with connect(path) as db:
        yield Project(db, 1)


@pytest.mark.parametrize("name", [name for name in OF_VERDICTS if name not in ("calibration", "q-metric")])
def test_a_figure_is_of_the_occasions_asked_for(visits: Project, name: str) -> None:
    given = {"protocol": "pointwise" if name in ("label-shares", "flags") else "pairwise"}
    everywhere = draw(visits, name, given)
    at_home = draw(visits, name, given, occasions=parse_occasions("context:home"))
    assert at_home.caption.endswith(" Only in the context “home”.")
    assert at_home.table.settings["contexts"] == ["home"]
    assert at_home.rows != everywhere.rows
    found = behind(Opened.numbered(visits.db, 1), at_home, at_home.rows[0])
    assert found.filter_text.endswith("context:home")
    with pytest.raises(NotFoundError, match="no context “nowhere”"):
        draw(visits, name, given, occasions=parse_occasions("context:nowhere"))


@pytest.mark.parametrize("name", [name for name in OF_VERDICTS if name != "trend"])
def test_a_figure_is_of_the_systems_and_raters_asked_for(project: Project, name: str) -> None:
    chosen = draw(project, name, systems=("als", "text"))
    assert chosen.caption.count("Only the systems als, text.") == 1
    assert chosen.table.settings["systems"] == ["als", "text"]
    assert {row["system"] for row in chosen.rows if row.get("system")} <= {"als", "text"}
    with pytest.raises(NotFoundError, match="no system “xyz”"):
        draw(project, name, systems=("als", "xyz"))


# ---- names that would harm


@pytest.mark.parametrize("start", [0, 6])
def test_hostile_names_are_shown_as_they_are_and_harm_nothing(tmp_path: Path, start: int) -> None:
    """First those that no command takes; tests/cli/test_hostile_tables.py draws every figure with the others."""
    first = sorted(NAMED.values(), key=lambda text: len(text) < 3000 and "\x00" not in text)
    some = [text[:2_000] for text in first[start : start + 6]]
    systems = (f"a{some[0]}", f"b{some[1]}", f"c{some[2]}")
    project = drawn_project(tmp_path / "p.db", systems, f" $x_1${some[3][:60]}{some[4][:60]}{some[5][:60]}")
    for name in ("leaderboard", "label-shares", "q-matrix", "runs"):
        drawn = draw(project, name)
        said = "".join(texts(draw_picture(drawn, "svg")[0]))
        assert not [c for c in said if ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066\u200b"]


# ---- what cannot be drawn


def test_the_app_gets_the_reason_instead(project: Project, tmp_path: Path) -> None:
    for name, protocol, said in (
        ("q-matrix", "pointwise", "judges one thing at a time: choose one about pairwise"),
        ("label-shares", "pairwise", "choose one about pointwise"),
    ):
        drawn = draw(
            project, name, {"protocol": protocol, "aspect": "overall", "rater": "gone"}, strict=False
        )
        assert (drawn.rows, drawn.marks) == ((), None)
        assert said in " ".join(drawn.notes)
    about = {"protocol": "pairwise", "aspect": "overall", "rater": "gone", "over": "of another figure"}
    assert draw(project, "confusion", about, strict=False).rows
    empty = new_project(tmp_path / "empty.db")
    for name in FIGURES:
        with pytest.raises(UsageError, match="there are no verdicts yet"):
            draw(empty, name)
        assert not draw(empty, name, strict=False).rows


def test_a_file_is_written_whole_or_left_unchanged(project: Project, tmp_path: Path) -> None:
    drawn, path = draw(project, "confusion"), tmp_path / "a.svg"
    path.write_text("old")
    assert save_figure(drawn, path) == ()
    assert path.read_bytes() == draw_picture(drawn, "svg")[0]
    with pytest.raises(UsageError, match=r"no picture format for “a\.jpg”"):
        save_figure(drawn, tmp_path / "a.jpg")
    with pytest.raises(StoreError, match="cannot be written"):
        save_figure(drawn, tmp_path / "none" / "a.svg")
    assert [file.name for file in tmp_path.iterdir()] == ["a.svg"]


def test_drawing_leaves_nothing_behind_and_loads_no_pyplot(project: Project) -> None:
    code = """
import sys, matplotlib
from pathlib import Path
from recjudge_tui.project import Project
from recjudge_tui.reports.figures.declared import figure
from recjudge_tui.reports.figures.files import draw_picture
from recjudge_tui.store.schema import connect
def settings():
    # asking for the backend would choose one
    return {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}
before = settings()
with connect(Path(sys.argv[1])) as db:
    draw_picture(figure(Project.numbered(db, 1), "leaderboard"), "svg")
assert settings() == before
assert "matplotlib.pyplot" not in sys.modules
"""
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", code, str(project.db.path)], cwd=root, check=True)
