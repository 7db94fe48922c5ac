r"""A LaTeX table ready for a two-column paper; needs the packages array, booktabs and siunitx."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Screen, Table, TableText
from recjudge_tui.reports.common.writers.cells import UNDEFINED
from recjudge_tui.reports.common.writers.latex_layout import (
    COLUMN,
    GAP,
    LONGEST,
    PaperColumn,
    PaperTable,
    laid_out,
)

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\symbol{34}", "[": "{[}", "]": "{]}", "*": "{*}", "`": r"\textasciigrave{}",
    "–": "--", "—": "---", "…": r"\ldots{}", "·": r"\textperiodcentered{}", "×": r"\texttimes{}", "−": "$-$",
    "≤": r"$\le$", "≥": r"$\ge$", "±": r"$\pm$", "→": r"$\to$", "κ": r"$\kappa$", "α": r"$\alpha$", "ρ": r"$\rho$",
    "τ": r"$\tau$",
}  # fmt: skip
# pairs that TeX's fonts would join: --limit is not a dash, ,, and '' are not quotation marks
_LIGATURES = re.compile(r"(?<=[-–—',])(?=[-–—',])")
_PLAIN_TEX = re.compile("[^\\n -\u024f\u2010-\u2022]")
# a word wider than its cell, such as the path of a model, breaks after these characters, or anywhere if necessary
_LONG_WORD = re.compile(r"[^\s\0]{16,}")
_BREAKS = re.compile(r"(?<=[/_.:@=-])(?=.)")
_ANYWHERE = 12
# a table with more rows than fit on a page is split
_MOST_ROWS = 45
_MOST_ROW_NOTES = 12
_SLUG = 48


def write(table: Table, _: Screen) -> TableText:
    body = "\n".join(_tables(table))
    engine = ["% has characters that need LuaLaTeX or XeLaTeX"] if _PLAIN_TEX.search(body) else []
    return TableText("\n".join([r"% needs \usepackage{array,booktabs,siunitx}", *engine, body]) + "\n")


def _tables(table: Table) -> Iterator[str]:
    paper = laid_out(table)
    if paper.left_out:
        yield f"% left out: {', '.join(one_line(label, LONGEST) for label in paper.left_out)}; --columns chooses"
    lines = len(paper.columns[0].cells) if paper.columns else 0
    starts = range(0, max(1, lines), _MOST_ROWS)
    for part, start in enumerate(starts, 1):
        place = f" (part {part} of {len(starts)})" if len(starts) > 1 else ""
        label = _slug(table.title) + (f"-{part}" if part > 1 else "")
        constants = f". {'; '.join(paper.constants)}" if paper.constants else ""
        kind = "table*" if paper.width > COLUMN else "table"
        yield from (
            rf"\begin{{{kind}}}",
            rf"\caption{{{_broken(table.title + place + constants)}}}",
            rf"\label{{tab:{label}}}",
            r"\centering\small",
            rf"\setlength{{\tabcolsep}}{{{GAP / 2:g}pt}}",
            rf"\begin{{tabular}}{{@{{}}{''.join(map(_specification, paper.columns))}@{{}}}}",
            r"\toprule",
            *_heads(paper),
            r"\midrule",
            *_rows(paper, range(start, min(lines, start + _MOST_ROWS))),
            r"\bottomrule",
            r"\end{tabular}",
        )
        if part == len(starts):
            yield from _notes(paper, table.notes)
        yield rf"\end{{{kind}}}"


def _specification(column: PaperColumn) -> str:
    if column.wrapped is not None:
        return rf">{{\raggedright\arraybackslash}}p{{{column.wrapped:.0f}pt}}"
    if column.digits:
        before, after = column.digits
        minus = any(cell.startswith("-") for cell in column.cells)
        return f"S[table-format={'-' if minus else ''}{before - minus}{f'.{after}' if after else '.0'}]"
    return "r" if column.number else "l"


def _heads(paper: PaperTable) -> Iterator[str]:
    groups = [column.group for column in paper.columns]
    if any(groups):
        cells, rules, at = [], [], 0
        while at < len(groups):
            span = 1
            while groups[at] and at + span < len(groups) and groups[at + span] == groups[at]:
                span += 1
            cells.append(rf"\multicolumn{{{span}}}{{c}}{{{escaped(groups[at])}}}" if groups[at] else "")
            rules += [rf"\cmidrule(lr){{{at + 1}-{at + span}}}"] if groups[at] else []
            at += span
        yield " & ".join(cells) + r" \\"
        yield "".join(rules)
    yield " & ".join(_head(column) for column in paper.columns) + r" \\"


def _head(column: PaperColumn) -> str:
    text = escaped(column.label) if column.wrapped is None else _broken(column.label)
    return f"{{{text}}}" if column.digits else text


def _rows(paper: PaperTable, lines: range) -> Iterator[str]:
    """The rows; a key equal to the one in the row above is not repeated."""
    for line in lines:
        texts = [_cell(column, column.cells[line]) for column in paper.columns]
        if (
            paper.keys > 1
            and line > lines.start
            and paper.columns[0].cells[line] == paper.columns[0].cells[line - 1]
        ):
            texts[0] = ""
        if paper.marks and paper.marks[line] and len(paper.row_notes) <= _MOST_ROW_NOTES:
            at = max(0, paper.keys - 1)
            mark = _mark(*paper.marks[line])
            texts[at] += f"{{{mark}}}" if paper.columns[at].digits else mark
        yield " & ".join(texts) + r" \\"


def _cell(column: PaperColumn, text: str) -> str:
    if column.digits:
        return text if text not in ("", UNDEFINED) else f"{{{escaped(text)}}}"
    if column.number:
        return escaped(text.replace("-", "−"))
    return _broken(text) if column.wrapped is not None else escaped(text)


def _mark(*numbers: int) -> str:
    return rf"\textsuperscript{{{','.join(map(str, numbers))}}}"


def _notes(paper: PaperTable, notes: Sequence[str]) -> Iterator[str]:
    """All notes once, in one paragraph below."""
    of_rows = [
        (_mark(number) if paper.marks else "") + _broken(note)
        for number, note in enumerate(paper.row_notes, 1)
    ]
    if len(of_rows) > _MOST_ROW_NOTES:
        yield f"% left out: {len(of_rows)} notes of rows"
        of_rows = []
    if texts := [*of_rows, *map(_broken, notes)]:
        yield r"\par\smallskip\footnotesize\raggedright " + ". ".join(dict.fromkeys(texts))


def _slug(title: str) -> str:
    words = "-".join(re.findall(r"[a-z0-9]+", one_line(title, LONGEST).lower()))
    return words[:_SLUG].strip("-") or "table"


def escaped(text: str) -> str:
    """Text escaped for LaTeX, on one line."""
    return _escaped(one_line(text))


def _broken(text: str) -> str:
    """Escaped text in which long words may break."""
    return _escaped(_LONG_WORD.sub(lambda word: _with_breaks(word[0]), one_line(text, 2 * LONGEST))).replace(
        "\1", r"\allowbreak{}"
    )


def _with_breaks(word: str) -> str:
    parts = _BREAKS.split(word)
    return "\1".join(
        "\1".join(part[at : at + _ANYWHERE] for at in range(0, len(part), _ANYWHERE)) for part in parts
    )


def _escaped(line: str) -> str:
    apart = _LIGATURES.sub("\0", line)
    return "".join(_SPECIAL.get(character, character) for character in apart).replace("\0", "{}")
