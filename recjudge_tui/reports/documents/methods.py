"""The methods paragraphs of a project: judges, prompts, cases, failures, people and statistics, with citations."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from recjudge_tui.domain.protocols import PROTOCOLS, ProtocolFacts, offered
from recjudge_tui.domain.roles import COMBINED, FIRST_HAND, REFERENCES, is_language_model
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.page import Page
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.documents.cited_text import (
    Paragraph,
    Sentence,
    cite,
    cited_works,
    latex,
    markdown,
    plain,
)
from recjudge_tui.reports.documents.methods_facts import (
    SHORT_DIGEST,
    Conditions,
    conditions_of,
    conditions_table,
)
from recjudge_tui.reports.documents.methods_statistics import Evaluation, statistics_sentences
from recjudge_tui.reports.projects.overview import raters_table
from recjudge_tui.store.data.catalogue import heldout_types
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.projects import project_names
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.version import VERSION

_UNITS = {
    "list": ("list", "lists"),
    "pair": ("pair of lists", "pairs of lists"),
    "explanation": ("text", "texts"),
}
# descriptions of baselines, singular and plural
_BASELINES = {
    "rules": (
        "is not a language model but guidelines for lists and texts written as code: a baseline.",
        "are not language models but guidelines for lists and texts written as code: baselines.",
    ),
    "random": ("draws its answers at random: a baseline.", "draw their answers at random: baselines."),
}
_POSITION_TIES = "where the two answers differ, the verdict is a tie that is counted as a position tie"
_HANDLING = (
    "A call that fails because of the server is repeated; a reply that cannot be read is asked for once more with the fault"
    " named. If there is still no answer, the call has failed, and a case with a failed call has no verdict: it is left"
    " out of all figures and counted, and is neither a tie nor a score."
)
_REFERENCES = (Column("key", "Key"), Column("short", "Cited as"), Column("bibtex", "BibTeX"))


@dataclass(frozen=True)
class Methods:
    """The paragraphs, and one row for the runs of each judge made under the same conditions."""

    project: str
    paragraphs: tuple[Paragraph, ...]
    runs: Table
    settings: dict[str, object] = field(default_factory=dict)

    @property
    def bibtex(self) -> str:
        return "\n\n".join(work.bibtex for work in cited_works(self.paragraphs))


def methods(
    db: Database, project_id: int, raters: Sequence[str] = (), statistics: Sequence[str] = ()
) -> Methods:
    """The methods of a project; if raters are named, only these and the raters they are made from. `statistics` are named
    in addition to the usual ones.

    Raises NotFoundError for an unknown rater, UsageError for an unknown statistic and a project without verdicts.
    """
    for name in raters:
        rater_row(db, project_id, name)
    everyone = [row for row in raters_table(db, project_id).rows if row["verdicts"]]
    chosen = [row for row in everyone if not raters or row["name"] in raters]
    conditions = conditions_of(db, project_id, raters)
    if not conditions and not chosen:
        raise UsageError(
            "there is nothing to describe yet",
            "No judge and no person gave a verdict.",
            "Start with “recjudge run”.",
        )
    evaluation = _evaluation(chosen, conditions, held_out=bool(heldout_types(db, project_id)))
    written = (
        tuple(_judges(conditions)),
        tuple(_tasks(conditions)),
        tuple(_cases_and_failures(conditions)),
        tuple(_people(chosen)),
        tuple(statistics_sentences(evaluation, statistics)),
    )
    return Methods(
        dict(project_names(db))[project_id],
        tuple(paragraph for paragraph in written if paragraph),
        conditions_table(conditions),
        {"raters": list(raters), "statistics": list(statistics)},
    )


def methods_text(of: Methods, fmt: str) -> str:
    """The paragraphs, then the works cited as BibTeX, in `text`, `md` or `latex`."""
    if fmt == "md":
        parts = [*map(markdown, of.paragraphs), f"```bibtex\n{of.bibtex}\n```"]
    elif fmt == "latex":
        notes = "\n".join(f"% {line}".rstrip() for line in of.bibtex.splitlines())
        parts = ["% needs \\usepackage{natbib}", *map(latex, of.paragraphs), f"% references.bib:\n{notes}"]
    else:
        parts = [*map(plain, of.paragraphs), of.bibtex]
    return "\n\n".join(parts)


def methods_page(of: Methods) -> Page:
    """For the other formats: the paragraphs, a table of the runs, and the references."""
    works: tuple[Row, ...] = tuple(work._asdict() for work in cited_works(of.paragraphs))
    tables = (of.runs, Table("References", _REFERENCES, works))
    return Page(f"Methods of {of.project}", tuple(map(plain, of.paragraphs)), tables, of.settings)


def _judges(conditions: Sequence[Conditions]) -> Iterator[Sentence]:
    """Who judged: the model asked for, the one served, and when."""
    yield (f"Verdicts were collected and analysed with recjudge {VERSION}.",)
    for kind, runs in _grouped(conditions, lambda of: of.kind):
        if kind in _BASELINES:
            names = list(dict.fromkeys(of.rater for of in runs))
            yield (f"{_and(names)} {_BASELINES[kind][len(names) > 1]}",)
            continue
        for (name, spec, served), alike in _grouped(runs, lambda of: (of.rater, of.judge.spec, _served(of))):
            yield (f"{name} is the model {spec}, {served}{_dates(alike)}.",)


def _served(of: Conditions) -> str:
    """`served as llama3.1:8b (digest 46e0c10c039e)`, with the names in replies if they differ."""
    if of.served is None or not of.served.name:
        return (
            f"served as {', '.join(of.models)}"
            if of.models
            else "whose server did not name the model that it served"
        )
    digest = f" (digest {of.served.digest[:SHORT_DIGEST]})" if of.served.digest else ""
    others = [model for model in of.models if model != of.served.name]
    return f"served as {of.served.name}{digest}" + (f" (replies name {', '.join(others)})" if others else "")


def _dates(runs: Iterable[Conditions]) -> str:
    days = [day[:10] for of in runs for day in (of.totals.first, of.totals.last) if day]
    if not days:
        return "; no call was sent"
    first, last = min(days), max(days)
    return f", called on {first} (UTC)" if first == last else f", called from {first} to {last} (UTC)"


def _tasks(conditions: Sequence[Conditions]) -> Iterator[Sentence]:
    """The questions and settings: one sentence for judges that were asked in the same way."""
    for (protocol, prompt, shown, sampling), runs in _grouped(
        conditions, lambda of: (of.protocol, _prompt(of), _shown(of), _sampling(of))
    ):
        facts = PROTOCOLS.get(protocol)
        names = _and(dict.fromkeys(of.rater for of in runs))
        about = f" ({facts.summary})" if facts else ""
        reference = (" ", cite(facts.reference)) if facts and facts.reference else ()
        refused = sorted({name for of in runs for name in of.refused})
        not_sent = f"; the server refused {_and(refused)}, so it was left out" if refused else ""
        yield (f"Protocol {protocol}{about}", *reference, f": {names} {shown}{prompt}{sampling}{not_sent}.")


def _prompt(of: Conditions) -> str:
    if not is_language_model(of.kind):
        return ""
    whose = "shipped with recjudge" if of.shipped else "our own"
    return f"; prompt {of.prompt} ({whose}, SHA-256 {of.prompt_digest[:SHORT_DIGEST]})"


def _shown(of: Conditions) -> str:
    """What each call showed of the case and the user."""
    settings, facts = of.settings, PROTOCOLS.get(of.protocol)
    is_text = facts is not None and facts.unit == "explanation"
    parts = ["the text" if is_text else f"the first {settings.top_k} items of each list"]
    if settings.history:
        days = quantity(settings.history_days, "day")
        parts.append(f"at most {quantity(settings.history, 'event')} of the user's last {days}")
    person = {
        "none": "",
        "attributes": "the user's attributes",
        "llm": "a profile that the model had written",
    }
    parts += [text for text in (person.get(settings.profile, ""),) if text]
    if settings.shots != "none":
        parts.append(
            "one scored example for all" if settings.shots == "one" else "an example scored by the same user"
        )
    if settings.images:
        parts.append("the items' images")
    text = f"saw {_and(parts)}"
    if facts is not None and facts.of_pairs:
        text += (
            f", each pair in both orders ({_POSITION_TIES})" if settings.swap else ", each pair in one order"
        )
    if facts is not None and facts.many_aspects:
        text += (
            ", all aspects in one call"
            if settings.aspects == "multi"
            else ", each aspect in a call of its own"
        )
    return text + (", in the form of the paper" if settings.as_published else "")


def _sampling(of: Conditions) -> str:
    if not is_language_model(of.kind):
        return ""
    sampling, repeats = of.sampling, of.settings.repeats
    sent = ", ".join(f"{name} = {json.dumps(value)}" for name, value in sampling.extra.items())
    also = f", sent with {sent}" if sent else ""
    often = f"; each call was made {repeats} times, and the answers were combined" if repeats > 1 else ""
    return (
        f"; temperature {sampling.temperature:g}, seed {of.settings.seed}, at most {sampling.max_tokens:,} tokens a reply"
        f"{also}{often}"
    )


def _cases_and_failures(conditions: Sequence[Conditions]) -> Iterator[Sentence]:
    for (protocol, amount), runs in _grouped(conditions, lambda of: (of.protocol, _amount(of))):
        yield (f"{protocol}: {_and(dict.fromkeys(of.rater for of in runs))} judged {amount}.",)
    for name, runs in _grouped(conditions, lambda of: of.rater):
        calls, failed, reused, not_made = (
            sum(getattr(of.totals, part) for of in runs) for part in ("calls", "failed", "reused", "open")
        )
        if not is_language_model(runs[0].kind) and not failed and not not_made:
            continue
        kinds: dict[str, int] = {}
        for of in runs:
            for kind, count in of.failures.items():
                kinds[kind] = kinds.get(kind, 0) + count
        why = f" ({', '.join(f'{count:,} {kind}' for kind, count in kinds.items())})" if kinds else ""
        cached = f"; {reused:,} were answered from stored replies to the same request" if reused else ""
        rest = f"; {quantity(not_made, 'call')} planned had not been made" if not_made else ""
        yield (f"Of {quantity(calls, 'call')} of {name}, {failed:,} failed{why}{cached}{rest}.",)
    if any(is_language_model(of.kind) for of in conditions):
        yield (_HANDLING,)


def _amount(of: Conditions) -> str:
    facts: ProtocolFacts | None = PROTOCOLS.get(of.protocol)
    unit = _UNITS[facts.unit] if facts is not None else ("case", "cases")
    users, occasions = quantity(of.totals.users, "user"), quantity(of.totals.occasions, "occasion")
    drawn = ""
    if of.settings.sample:
        level = ", evenly from four levels of activity" if of.settings.stratify == "activity" else ""
        drawn = f" (a random sample{level}, seed {of.settings.seed})"
    elif of.settings.limit:
        drawn = " (the first ones, user by user)"
    where = f" on {occasions}" if of.totals.occasions != of.totals.users else ""
    return f"{quantity(of.totals.cases, *unit)} of {users}{where}{drawn}"


def _people(raters: Iterable[Row]) -> Iterator[Sentence]:
    for rater in raters:
        name, verdicts = rater["name"], rater["verdicts"]
        assert isinstance(verdicts, int)
        amount = f"{quantity(verdicts, 'verdict')} ({rater['protocols']})"
        if rater["kind"] == "ground_truth":
            yield (f"{name} stands for the users' own judgements: {amount}.",)
        elif rater["kind"] in FIRST_HAND:
            yield (f"{name} is a person who judged without seeing a judge's verdict: {amount}.",)
        elif rater["kind"] in COMBINED:
            yield (f"{name} is made from other raters ({rater['recipe']}): {amount}.",)


def _evaluation(raters: Iterable[Row], conditions: Iterable[Conditions], *, held_out: bool) -> Evaluation:
    """Which figures the verdicts of these raters allow."""
    judged = {of.protocol for of in conditions}
    people: set[str] = set()
    for row in raters:
        protocols = set(str(row["protocols"]).split(", "))
        if row["kind"] in REFERENCES:
            people |= protocols
    met = [PROTOCOLS[name] for name in offered() if name in judged | people]
    both = [facts for facts in met if facts.name in judged and {facts.name, facts.question} & people]
    return Evaluation(
        pairs=any(facts.of_pairs for facts in met),
        scores=any(facts.scores for facts in met),
        labels=any(facts.leaderboard == "shares" for facts in met),
        compared=any(facts.labels for facts in both),
        correlated=any(not facts.labels for facts in both),
        held_out=held_out,
        ensemble=any("dawid-skene" in str(row["recipe"]) for row in raters),
    )


_Key = TypeVar("_Key", bound=Hashable)


def _grouped(
    conditions: Iterable[Conditions], key: Callable[[Conditions], _Key]
) -> list[tuple[_Key, list[Conditions]]]:
    """The entries grouped by key, in the order of first occurrence."""
    groups: dict[_Key, list[Conditions]] = {}
    for of in conditions:
        groups.setdefault(key(of), []).append(of)
    return list(groups.items())


def _and(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
