"""The choices of the launch form: judges, systems and prompts."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.run_options import OCCASION_SETTINGS
from recjudge_tui.runs.settings import project_domain
from recjudge_tui.store.cases import known_occasions
from recjudge_tui.store.data import any_images, explanation_systems, systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import domain_names, list_prompts, load_shipped
from recjudge_tui.store.runs import has_runs
from recjudge_tui.tui.kit.judge_picker import KnownJudge, known_judges


class Choices(NamedTuple):
    """The choices of the form. `systems` made lists, `explainers` made explanations; `prompts` are (protocol,
    NAME@VERSION), newest versions first; `domains` are by name. `by_data` are settings that only some data needs:
    occasions if there are any, the domain if it is unknown, showing images if items have some, judging again if there
    are runs.
    """

    judges: tuple[KnownJudge, ...]
    systems: tuple[str, ...]
    explainers: tuple[str, ...]
    prompts: tuple[tuple[str, str], ...]
    domains: tuple[str, ...] = ()
    by_data: tuple[str, ...] = ()


def choices(db: Database, project_id: int) -> Choices:
    load_shipped(db)
    prompts = sorted(list_prompts(db), key=lambda row: (row["name"], -row["version"]))
    contexts, times = known_occasions(db, project_id)
    return Choices(
        known_judges(db, project_id),
        tuple(systems(db, project_id)),
        tuple(explanation_systems(db, project_id)),
        tuple((row["protocol"], f"{row['name']}@{row['version']}") for row in prompts),
        domain_names(),
        (
            *(name for name in OCCASION_SETTINGS if (contexts if name == "contexts" else times)),
            *(() if project_domain(db, project_id) else ("domain",)),
            *(("images",) if any_images(db, project_id) else ()),
            *(("again",) if has_runs(db, project_id) else ()),
        ),
    )
