"""A LaTeX table; needs the package booktabs."""

from __future__ import annotations

from recjudge_tui.model.text import one_line
from recjudge_tui.reports.table import Screen, Table, Written
from recjudge_tui.reports.writers.cells import is_number, shown

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "[": "{[}", "]": "{]}",
    "–": "--", "…": r"\ldots{}", "·": r"\textperiodcentered{}",
}  # fmt: skip


def write(table: Table, _: Screen) -> Written:
    shape = "".join("r" if is_number(column) else "l" for column in table.columns)
    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}",
        rf"\caption{{{_escaped(table.title)}}}",
        rf"\begin{{tabular}}{{{shape}}}",
        r"\toprule",
        _line([column.label for column in table.columns]),
        r"\midrule",
        *(_line([shown(row.get(c.name), c, None) for c in table.columns]) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\footnotesize {_escaped(note)}" for note in table.notes),
        r"\end{table}",
    ]
    return Written("\n".join(lines) + "\n")


def _line(cells: list[str]) -> str:
    return " & ".join(_escaped(cell) for cell in cells) + r" \\"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in one_line(text))
