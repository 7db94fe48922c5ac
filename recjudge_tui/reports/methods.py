"""The methods paragraphs of a project: `methods.md.jinja` over stored facts, with citations of `references.bib`.

The template writes Markdown with citations in Pandoc's form, `[@holm1979; @fisher1935]`; plain text and LaTeX are made from
that. A sentence is written only where a stored fact says it.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from recjudge_tui.domain.calls import Sampling
from recjudge_tui.domain.judge import Identity, JudgeSpec
from recjudge_tui.domain.protocols import PROTOCOLS, ProtocolFacts, offered
from recjudge_tui.domain.roles import REFERENCES, RaterKind, is_language_model
from recjudge_tui.domain.run import RunSettings, sampling_of
from recjudge_tui.domain.run_options import settings_that
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError, check_known
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Column, Page, Row, Table
from recjudge_tui.reports.common.writers.documents import escaped as markdown_text
from recjudge_tui.reports.common.writers.latex import escaped as latex_text
from recjudge_tui.reports.declare import table_of
from recjudge_tui.reports.listings import recipe_words
from recjudge_tui.shapes import grouped
from recjudge_tui.stats.defaults import level_text
from recjudge_tui.store.data import heldout_types
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.prompts import UsedPrompt
from recjudge_tui.store.raters import list_raters, provenance, rater_row
from recjudge_tui.store.runs import CallTotals, call_totals, run_conditions
from recjudge_tui.version import VERSION

# in place of a statistic's name: every one that the data allow
ALL = "all"
_TEMPLATE = "methods.md.jinja"
# settings that change neither what one call asks nor how cases are drawn
_OF_THE_RUN = settings_that("cases", "work")
_CITED = re.compile(r"(?<!\\)\[(@\w+(?:; @\w+)*)\]")
_ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),$.*?^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (author|year) = \{(.*)\},?$", re.MULTILINE)
_ACCENTS = {r"{\"a}": "ä", r"{\"u}": "ü"}
_REFERENCES = (Column("key", "Key"), Column("short", "Cited as"), Column("bibtex", "BibTeX"))
_T = TypeVar("_T")


class Conditions(NamedTuple):
    """Runs of one rater and protocol that asked the same: the same judge, served model, prompt and settings."""

    rater: str
    kind: RaterKind
    protocol: str
    judge: JudgeSpec
    served: Identity | None
    settings: RunSettings
    prompt: UsedPrompt
    totals: CallTotals
    facts: ProtocolFacts
    sampling: Sampling
    is_model: bool


@dataclass(frozen=True)
class Methods:
    """The paragraphs in Markdown, and how each run was asked."""

    project: str
    paragraphs: tuple[str, ...]
    runs: Table
    settings: dict[str, object] = field(default_factory=dict)

    @property
    def works(self) -> list[Reference]:
        """The works cited, each once, in the order of `references.bib`."""
        cited = {key for text in self.paragraphs for keys in _CITED.findall(text) for key in _keys(keys)}
        return [reference for key, reference in references().items() if key in cited]

    @property
    def bibtex(self) -> str:
        return "\n\n".join(work.bibtex for work in self.works)


class Reference(NamedTuple):
    """`short` is how a text cites it, such as `Clopper and Pearson, 1934`; `bibtex` is the entry."""

    key: str
    short: str
    bibtex: str


def methods(project: Project, raters: Sequence[str] = (), statistics: Sequence[str] = ()) -> Methods:
    """The methods of a project; if raters are named, only theirs. `statistics` are named in addition to the usual ones.
    Raises NotFoundError for an unknown rater, UsageError for an unknown statistic and a project without verdicts."""
    db, project_id = project.db, project.id
    for name in raters:
        rater_row(db, project_id, name)
    conditions = _conditions(db, project_id, raters)
    origins = provenance(db, project_id)
    judging = [row for row in list_raters(db, project_id) if row["verdicts"]]
    wanted = [row for row in judging if not raters or row["name"] in raters]
    described = [{**row, **origins[str(row["name"])]} for row in wanted]
    if not conditions and not described:
        why = "No judge and no person gave a verdict."
        raise UsageError("there is nothing to describe yet", why, "Start a run, or import labels.")
    figures = _figures(described, conditions, held_out=bool(heldout_types(db, project_id)))
    written = _template().make_module({
        "conditions": conditions, "raters": described, "figures": figures, "wanted": statistics, "ALL": ALL,
        "VERSION": VERSION, "LEVEL": level_text(),
    })  # fmt: skip
    known: dict[str, object] = written.STATISTICS  # type: ignore[attr-defined]
    check_known("statistic", (name for name in statistics if name != ALL), known)
    paragraphs = (" ".join(paragraph.split()) for paragraph in str(written).split("\n\n"))
    runs = table_of(project, "runs settings")
    kept = tuple(row for row in runs.rows if not raters or row["rater"] in raters)
    runs = replace(runs, rows=kept, answer="")
    settings: dict[str, object] = {"raters": list(raters), "statistics": list(statistics)}
    return Methods(project.name, tuple(filter(None, paragraphs)), runs, settings)


def methods_text(of: Methods, fmt: str, *, whole: bool = True) -> str:
    """The paragraphs in `text`, `md` or `latex`, then the works cited as BibTeX; a text has these only if `whole`."""
    if fmt == "md":
        parts = [*of.paragraphs, f"```bibtex\n{of.bibtex}\n```"]
    elif fmt == "latex":
        notes = "\n".join(f"% {line}".rstrip() for line in of.bibtex.splitlines())
        cite = r"\citep{{{}}}".format
        cited = [_converted(text, latex_text, lambda keys: cite(",".join(keys))) for text in of.paragraphs]
        parts = ["% needs \\usepackage{natbib}", *cited, f"% references.bib:\n{notes}"]
    else:
        parts = [*map(_plain, of.paragraphs), *([of.bibtex] if whole else [])]
    return "\n\n".join(parts)


def methods_page(of: Methods) -> Page:
    """For the other formats: the paragraphs, a table of the runs, and the references."""
    works: tuple[Row, ...] = tuple(work._asdict() for work in of.works)
    tables = (of.runs, Table("References", _REFERENCES, works))
    return Page(f"Methods of {of.project}", tuple(map(_plain, of.paragraphs)), tables, of.settings)


def _plain(paragraph: str) -> str:
    """`… (Liu et al., 2026).`"""
    return _converted(paragraph, str, lambda keys: f"({'; '.join(references()[key].short for key in keys)})")


def _converted(paragraph: str, text: Callable[[str], str], cite: Callable[[list[str]], str]) -> str:
    """A paragraph of the template in another form; `text` gets no white space at its ends, which it might remove."""
    out = []
    for at, part in enumerate(_CITED.split(paragraph)):
        plain = html.unescape(re.sub(r"\\([\W_])", r"\1", part))
        said = re.sub(r"\S(?:.*\S)?", lambda found: text(found[0]), plain)
        out.append(cite(_keys(part)) if at % 2 else said)
    return "".join(out)


def _keys(citation: str) -> list[str]:
    return [key.removeprefix("@") for key in citation.split("; ")]


@lru_cache(maxsize=1)
def references() -> dict[str, Reference]:
    """key -> reference, in the order of the file."""
    text = Path(__file__).with_name("references.bib").read_text(encoding="utf-8")
    found = {}
    for entry in _ENTRY.finditer(text):
        fields = dict(_FIELD.findall(entry[0]))
        for written, character in _ACCENTS.items():
            fields["author"] = fields["author"].replace(written, character)
        names = [name.split(",")[0].strip() for name in fields["author"].split(" and ")]
        authors = f"{names[0]} et al." if names[2:] else " and ".join(names)
        found[entry["key"]] = Reference(entry["key"], f"{authors}, {fields['year']}", entry[0])
    return found


def _conditions(db: Database, project_id: int, raters: Collection[str]) -> list[Conditions]:
    """The conditions of the named raters (all if empty), in the order of their first runs. Reads every call."""
    alike: dict[tuple[object, ...], list[tuple[StoredRow, UsedPrompt, Identity | None]]] = defaultdict(list)
    for run, prompt in run_conditions(db, project_id):
        if not raters or run["rater"] in raters:
            settings = json.loads(run["settings"]).items()
            asked = json.dumps({k: v for k, v in settings if k not in _OF_THE_RUN}, sort_keys=True)
            served = Identity.model_validate_json(run["identity"]) if run["identity"] else None
            model = (served.name, served.digest) if served else None
            key = (run["rater"], run["protocol"], run["judge"], model, prompt, asked)
            alike[key].append((run, prompt, served))
    found = []
    for runs in alike.values():
        first, prompt, served = runs[0]
        of_first = RunSettings.model_validate_json(first["settings"])
        found.append(Conditions(
            first["rater"], first["rater_kind"], first["protocol"], JudgeSpec.model_validate_json(first["judge"]), served,
            of_first, prompt, call_totals(db, [run["id"] for run, *_ in runs]), PROTOCOLS[first["protocol"]],
            sampling_of(of_first, 0), is_language_model(first["rater_kind"]),
        ))  # fmt: skip
    return found


def _figures(raters: Iterable[Row], conditions: Iterable[Conditions], *, held_out: bool) -> set[str]:
    """Which kinds of figures the verdicts of these raters allow, by the names that the template's table gives them:
    verdicts on pairs, scores, labels of single lists or texts, labels of people beside judges' (`compared`: on a scale
    with labels, `correlated`: without), held-out events, ensembles of Dawid and Skene."""
    judged = {of.protocol for of in conditions}
    people = {p for row in raters if row["kind"] in REFERENCES for p in str(row["protocols"]).split(", ")}
    met = [PROTOCOLS[name] for name in offered() if name in judged | people]
    both = [facts for facts in met if facts.name in judged and {facts.name, facts.question} & people]
    found = {
        "always": True,
        "pairs": any(facts.of_pairs for facts in met),
        "scores": any(facts.scores for facts in met),
        "labels": any(facts.leaderboard == "shares" for facts in met),
        "compared": any(facts.labels for facts in both),
        "correlated": any(not facts.labels for facts in both),
        "offline": held_out,
        "ensemble": any("dawid-skene" in str(row["recipe"]) for row in raters),
    }
    return {name for name, holds in found.items() if holds}


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=_safe,
    )  # fmt: skip
    environment.filters |= {
        "alike": _alike, "and": _and, "json": json.dumps, "quantity": quantity, "recipe": recipe_words,
        "together": lambda counts: dict(sum(map(Counter, counts), Counter()).most_common()),
    }  # fmt: skip
    environment.tests["among"] = lambda names, chosen: bool(set(names.split()) & chosen)
    return environment.get_template(_TEMPLATE)


def _safe(value: object) -> Markup:
    """Text from outside escaped for Markdown; what the template itself wrote is left as it is."""
    return value if isinstance(value, Markup) else Markup(markdown_text(str(value)))


def _alike(items: Iterable[_T], said: Callable[[_T], str]) -> list[tuple[str, list[_T]]]:
    """The items grouped by what a macro says of them, in the order of first occurrence."""
    return list(grouped((said(item), item) for item in items).items())


def _and(names: Iterable[str]) -> str:
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} and {last}" if others else last
