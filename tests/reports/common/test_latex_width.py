"""Tables fit a paper of two columns: measured in Computer Modern itself, and compiled where TeX is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from matplotlib import get_data_path
from matplotlib.ft2font import FT2Font

from recjudge_tui.reports.common.table import Column, Row, Table, render

ENGINES = [name for name in ("tectonic", "pdflatex") if shutil.which(name)]
# the narrowest column and page of ACM's and IEEE's papers
ROOM = {"table": 241.0, "table*": 505.0}
SMALL = 0.925
PAPER = (
    r"\documentclass[twocolumn]{article}\usepackage{array,booktabs}\hfuzz=0pt\begin{document}%s\end{document}"
)
WORDS = (
    (r"\textbackslash{}", "/"), (r"\textasciitilde{}", "~"), (r"\textasciicircum{}", "^"), (r"\textless{}", "="),
    (r"\textgreater{}", "="), (r"\textbar{}", "="), (r"\ldots{}", "..."), ("{--}", "--"), ("$-$", "="), (r"\kappa", "o"),
)  # fmt: skip


@cache
def font() -> FT2Font:
    cmr10 = FT2Font(str(Path(get_data_path(), "fonts", "ttf", "cmr10.ttf")))
    cmr10.set_size(10, 72)
    return cmr10


@cache
def advance(character: str) -> float:
    return float(font().load_char(ord(character)).linearHoriAdvance) / 65536


def printed(cell: str) -> float:
    """The width of a cell's text in points, in small print."""
    for command, text in WORDS:
        cell = cell.replace(command, text)
    plain = re.sub(r"\\[a-z]+\{[^}]*\}|\\[a-z]+|[{}$\\]", "", cell.strip())
    return SMALL * sum(advance(character) for character in plain if ord(character) < 127)


def widths(text: str) -> list[tuple[str, float]]:
    """The kind and the width of each table, from the cells as written; wrapped columns have the width they are given."""
    measured = []
    for kind, body in re.findall(r"\\begin\{(table\*?)\}(.*?)\\end\{table\*?\}", text, re.DOTALL):
        specification = re.search(r"\\begin\{tabular\}\{@\{\}(.*)@\{\}\}", body)
        columns = re.findall(r">\{.*?\}p\{(\d+)pt\}|[lr]", specification[1])
        lines = [re.split(r"(?<!\\)&", line[:-3]) for line in body.splitlines() if line.endswith(r" \\")]
        cells = [line for line in lines if len(line) == len(columns) and "multicolumn" not in "".join(line)]
        assert cells
        of_columns = [
            float(wrapped) if wrapped else max(printed(line[at]) for line in cells)
            for at, wrapped in enumerate(columns)
        ]
        measured.append((kind, sum(of_columns) + 8 * (len(columns) - 1)))
    return measured


def board(systems: int, raters: int, aspects: int, name: str = "system {}") -> Table:
    columns = (
        Column("system", "System"), Column("rater", "Rater"), Column("aspect", "Aspect"), Column("wins", "Wins", "int"),
        Column("ties", "Ties", "int"), Column("score", "Score", "float"), Column("ci_low", "CI low", "ci"),
        Column("ci_high", "CI high", "ci"), Column("n", "n", "int"), Column("note", "Note"),
    )  # fmt: skip
    rows: tuple[Row, ...] = tuple(
        {
            "system": name.format(s), "rater": f"rater-{r}", "aspect": f"aspect {a}", "wins": s + r, "ties": a,
            "score": s - 1.25, "ci_low": s - 2.0, "ci_high": s - 1.0, "n": 40, "note": "few users" if s == 1 else "",
        }
        for a in range(aspects) for r in range(raters) for s in range(systems)
    )  # fmt: skip
    return Table("Board", columns, rows, ("a note of the table",))


SHAPES = {
    "systems": board(3, 1, 1),
    "systems x judges": board(3, 4, 1),
    "systems x judges x metrics": board(4, 3, 4),
    "many judges": board(2, 9, 1),
    "long names": board(3, 2, 1, "an/organisation/with-a-very-long-model-name-{}-instruct-v0.3-quantised-to-4-bits"),
    "many rows": board(60, 1, 1),
    "one row": board(1, 1, 1),
    "many columns": Table(
        "Wide", tuple(Column(f"c{n}", f"Column {n}", "float") for n in range(40)), ({f"c{n}": n / 3 for n in range(40)},)
    ),
    "long texts": Table(
        "Texts", tuple(Column(f"t{n}", "Text") for n in range(9)), ({f"t{n}": "some words " * 30 for n in range(9)},) * 2
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_no_table_is_wider_than_its_place(shape: str) -> None:
    text = render(SHAPES[shape], "latex").text
    for kind, width in widths(text):
        assert width <= ROOM[kind], text
    for engine in ENGINES:
        assert overfull(engine, text) == []


def overfull(engine: str, text: str) -> list[str]:
    """What TeX says of boxes that are too wide."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "paper.tex").write_text(PAPER % text, encoding="utf-8")
        words = [engine, "paper.tex"] if engine == "pdflatex" else [engine, "--keep-logs", "paper.tex"]
        subprocess.run(
            words, cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=120
        )
        log = Path(folder, "paper.log").read_text(encoding="utf-8", errors="replace")
    return re.findall(r"Overfull \\hbox.*", log)
