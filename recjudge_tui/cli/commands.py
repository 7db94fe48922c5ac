"""The subcommands of `recjudge`: where each is, and what the help says of it, so that the help loads none of them."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.reports.declare import REPORTS


class Subcommand(NamedTuple):
    """`module` is under `recjudge_tui.cli` and has the click command `name`; `summary` is the first sentence of its help."""

    module: str
    name: str
    summary: str


# heading in the help -> subcommand
SECTIONS = {
    "Data": {
        "project": Subcommand("data.projects", "project", "List, create, show or delete projects."),
        "import": Subcommand("data.imports", "import_", "Import files or folders into a project."),
        "imports": Subcommand("data.imports", "imports", "List or undo imports."),
        "cases": Subcommand("data.cases", "cases", "List or show cases, and manage saved filters."),
        "export": Subcommand("data.export", "export", "Export rows, or a figure for a paper."),
    },
    "Judge": {
        "judge": Subcommand("judging.judges", "judge", "List or test judges."),
        "prompt": Subcommand("judging.prompts", "prompt", "List, show, copy, check, try or delete prompts."),
        "run": Subcommand("judging.run", "run", "Judge lists or explanations with a published method."),
        "runs": Subcommand("judging.runs", "runs", "List, resume, retry, rename, stop or delete runs."),
        "batch": Subcommand("judging.batch", "batch", "Send a run's calls as a batch, by file or batch API."),
        "robustness": Subcommand(
            "judging.robustness", "robustness", "Test a judge with planted faults, prompts and positions."
        ),
    },
    "People": {
        "verdicts": Subcommand(
            "people.verdicts", "verdicts", "List verdicts, or accept, override, note or tag them."
        ),
        "rater": Subcommand("people.raters", "rater", "List, rename, combine or delete raters."),
        "annotate": Subcommand(
            "people.annotate", "annotate", "Let people judge cases blind, and settle disagreements."
        ),
    },
    "Results": {
        "outcome": Subcommand(
            "results.outcome", "outcome", "Record live experiments, and compare judges with them."
        ),
        "methods": Subcommand("results.methods", "methods", "Write the methods paragraphs of a paper."),
        "report": Subcommand("results.report", "report", "Write a project report as one HTML file."),
        "reproduce": Subcommand(
            "results.reproduce", "reproduce", "Show a paper's figures beside recomputed ones."
        ),
    },
    "Operate": {
        "demo": Subcommand("operate.demo", "demo", "Judge the sample data, then open the app."),
        "db": Subcommand("operate.database", "db", "Back up the database file."),
        "config": Subcommand("operate.config", "config", "Show your settings: theme, name, judge and keys."),
        "doctor": Subcommand("operate.doctor", "doctor", "Check the installation, servers, keys and runs."),
    },
}
# declared reports that belong to no group are commands of their own
for _report in REPORTS.values():
    if " " not in _report.name:
        SECTIONS[_report.section][_report.name] = Subcommand("declared", _report.name, _report.summary)
COMMANDS = {name: place for section in SECTIONS.values() for name, place in section.items()}
