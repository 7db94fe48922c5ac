"""Chooses the words that a run's prompt uses for the recommended things: by the run's settings, or by the imported
data.
"""

from __future__ import annotations

from recjudge_tui.domain.domains import SHORT_WORDS, WORDS, dataset_of
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.run import RunSettings, form_words
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import imported_layouts
from recjudge_tui.store.prompts import domain_named, domain_names


def project_domain(db: Database, project_id: int) -> str:
    """The domain named by the layouts of the project's imports; empty if none does, or if they differ."""
    known = {dataset.domain for layout in imported_layouts(db, project_id) if (dataset := dataset_of(layout))}
    return known.pop() if len(known) == 1 else ""


def domain_words(prompt: Prompt, domain: str, settings: RunSettings) -> dict[str, str]:
    """The variables that a run sets: those of the settings, and the domain's name and words that differ from the prompt's.

    Raises UsageError for an unknown domain, PromptError for a file that does not define a domain.
    """
    words = {"domain": domain, **domain_named(domain).words} if domain else {}
    own = {name: word for name, word in words.items() if prompt.variables.get(name, word) != word}
    return own | settings.variables


def in_words_of(db: Database, project_id: int, prompt: Prompt, settings: RunSettings) -> Prompt:
    """The prompt that a run with these settings would use, in the words of the project's domain."""
    words = domain_words(prompt, settings.domain or project_domain(db, project_id), settings)
    return prompt.with_variables({**form_words(settings), **words})


def unknown_domain_note(prompt: Prompt) -> str:
    """The note before a run whose domain is unknown. `prompt` has the run's variables."""
    used = [f"“{prompt.variables[name]}”" for name in prompt.variables if name in SHORT_WORDS]
    reason = f"the prompt says {' and '.join(used)}" if used else f"the prompt is written for {prompt.domain}"
    return f"this project's domain is not set: {reason}; choose one with --domain {'|'.join(domain_names())}"


def left_out_examples_note(prompt: Prompt, domain: str) -> str:
    """The note that the examples, which are about other domains, are not shown; empty if some are shown.

    `prompt` has the variables of the run.
    """
    about = tuple(dict.fromkeys(example.domain for example in prompt.examples if example.domain))
    if not domain or not about or domain in about:
        return ""
    return (
        f"the examples of prompt {prompt.name} are about {', '.join(about)}: none of them is shown for {domain};"
        " “recjudge prompt copy” lets you add your own"
    )


def without_domain_words(variables: dict[str, str]) -> dict[str, str]:
    """The variables that no domain sets, and the domain's name where one is set."""
    return {name: word for name, word in variables.items() if "domain" not in variables or name not in WORDS}
