"""The judges that are available here, what a probe of one found, and the result of trying a prompt on one case."""

from __future__ import annotations

import asyncio

from recjudge_tui.domain.calls import Trial
from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.domain.roles import BUILT_IN, rules_note
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import JudgeError
from recjudge_tui.judges.keys import is_set
from recjudge_tui.judges.local_servers import local_files, local_servers
from recjudge_tui.judges.ollama import installed_models
from recjudge_tui.judges.registry import PROVIDERS, third_party
from recjudge_tui.reports.common.table import Note, Row, Table, columns
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import judges_used

_JUDGES = columns("spec|Judge", "source|Where", "key|Key", "details|Details")
_PROBE = columns("what|What", "found|Found", "note")
_TRIAL = columns("kind|Kind", "aspect label value", "confidence|(Confidence)|float", "reasoning|Reasoning")


def judges_table(db: Database, base_url: str = "") -> Table:
    """The available judges: built in, on the servers of this machine, from other packages, used before. For keys, only
    the names of the variables and whether they are set are shown."""

    def row(spec: str, source: str, details: str, key: str = "") -> Row:
        return {"spec": spec, "source": source, "key": key, "details": details}

    rows = []
    for provider in PROVIDERS.values():
        here = [name for name in provider.key_variables if is_set(name)]
        key = f"{', '.join(here)} set" if here else ""
        if provider.key_variables and not here:
            key = f"{' / '.join(provider.key_variables)} not set"
        installed = provider.is_installed()
        lacks = "" if installed else f"; needs: pip install 'recjudge[{provider.extra}]'"
        source = "built in" if installed else "not installed"
        rows.append(row(provider.form, source, f"{provider.about}{lacks}", key))
    rows += [row(f"{name}:…", "another package", package) for name, package in third_party().items()]
    notes = [Note(rules_note())]
    try:
        for model in asyncio.run(installed_models(base_url)):
            size = f"{model.size_bytes / 1e9:.1f} GB" if model.size_bytes else ""
            facts = (model.parameters, model.quantization, size, model.digest[:12])
            rows.append(row(f"ollama:{model.name}", "installed in Ollama", ", ".join(filter(None, facts))))
    except JudgeError as error:
        notes.append(Note(one_line(f"{error.title}. {error.cause} {error.next_step}")))
    # as the form of a run finds them
    servers = local_servers()
    for server in (server for server in servers if server.base_urls):
        where = f"{server.name} {server.place}", f"base URL {' '.join(server.base_urls)}"
        rows += [row(spec, *where) for spec, _ in server.judges]
    rows += [row(*file) for file in local_files(servers)]
    for used in judges_used(db):
        last = used["last_used"][:16].replace("T", " ")
        rows.append(row(used["spec"], "used before", f"{quantity(used['runs'], 'run')}, last {last}"))
    return Table("Judges", _JUDGES, tuple(rows), tuple(notes))


def probe_table(asked: JudgeSpec, found: Capabilities | None, price: str) -> Table:
    """The result of a probe, one row per property; without a record the judge cannot be used. `price` is in words."""
    judge = asked.spec
    address = [("address", asked.where, "servers, and names of variables")] if asked.where else []
    if found is None:
        answers = [("usable", "no", "")]
    elif not found.language_model:
        no_call = "not a language model, so no call was made"
        answers = [("reachable", "yes", ""), ("model", found.model, no_call)]
    else:
        answers = _answers(found, price)
    answers[1:1] = address
    rows: tuple[Row, ...] = tuple({"what": what, "found": said, "note": note} for what, said, note in answers)
    problems = found.problems if found else ()
    notes = tuple(Note(f"a call failed: {one_line(problem)}", "warning") for problem in problems)
    answer = f"{judge} {'can' if found else 'cannot'} be used."
    return Table(f"Judge {judge}", _PROBE, rows, notes, answer=answer)


def _answers(found: Capabilities, price: str) -> list[tuple[str, str, str]]:
    def accepted(name: str, value: bool | None) -> str:
        if name in found.refused:
            return "refused"
        return "accepted" if value else "unknown" if value is None else "no such parameter"

    sight = {True: "it read a word in an image", False: "it cannot be asked about images", None: "not tested"}
    confident = "labels get a confidence if the server returns them"
    context, latency = found.context_length, found.latency_s
    return [
        ("reachable", "yes", ", ".join(found.endpoints)),
        ("model", found.model, f"digest {found.digest[:12]}" if found.digest else ""),
        ("schema enforced", _yes_no(found.schema_enforced),
         "" if found.schema_enforced else "JSON is extracted from the text"),
        ("temperature", accepted("temperature", found.temperature), ""),
        ("seed", accepted("seed", found.seed), ""),
        ("logprobs", _yes_no(found.logprobs), confident if found.logprobs else "no confidence from one answer"),
        ("sees images", _yes_no(found.images), sight[found.images]),
        ("context length", *(("not reported", "") if context is None else (f"{context:,}", "tokens"))),
        ("latency", "unknown" if latency is None else f"{latency:.2f} s", "median of three small calls"),
        ("price", price, ""),
    ]  # fmt: skip


def _yes_no(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def trial_table(trial: Trial, prompt: str) -> Table:
    """A row for each answer, then one for each flag (`aspect` is the issue, `label` the item's id); `prompt` is its
    name. A failed call has no rows; the reason is in the notes. The settings have the tokens, US dollars and seconds of
    the call; None if unknown."""
    reply, parsed = trial.reply, trial.parsed
    names = ("aspect", "label", "value", "confidence", "reasoning")
    answers, flags = (parsed.answers, parsed.flags) if parsed else ((), ())
    rows: list[Row] = [{"kind": "answer"} | {name: getattr(one, name) for name in names} for one in answers]
    said = ", ".join(f"{row['aspect']} {row['label'] or row['value']}" for row in rows)
    about = ((flag.issue, flag.item_id, None, None, flag.reason) for flag in flags)
    rows += [{"kind": "flag"} | dict(zip(names, cells, strict=True)) for cells in about]
    settings: dict[str, object] = {
        "prompt": prompt, "case_id": trial.case_id, "order": trial.order or None, "judge": trial.judge,
        "model": (reply.model or None) if reply else None, "attempts": trial.attempts,
        "tokens_in": reply.usage.input if reply else None, "tokens_out": reply.usage.output if reply else None,
        "cost_usd": trial.cost_usd, "seconds": reply.latency_s if reply else None,
        "parsed_by": parsed.parsed_by if parsed else None, "error_kind": trial.error_kind or None,
        "reply": reply.text if reply else None,
    }  # fmt: skip
    notes = [] if parsed else [Note(f"no answer ({trial.error_kind}): {trial.error}", "warning")]
    notes.append(Note("a trial: nothing is stored and no verdict is counted"))
    if trial.rater_kind in BUILT_IN:
        notes.append(Note(f"“{trial.judge}” is not a language model"))
    return Table(
        f"{prompt} on case {trial.case_id}", _TRIAL, tuple(rows), tuple(notes), settings,
        answer=f"{trial.judge} says: {said}." if said else "",
    )  # fmt: skip
