"""The judges that are available here, what a probe of one found, and the result of trying a prompt on one case."""

from __future__ import annotations

from recjudge_tui.domain.calls import Trial
from recjudge_tui.domain.judge import Capabilities
from recjudge_tui.domain.roles import BUILT_IN, rules_note
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import JudgeError
from recjudge_tui.judges.http.keys import is_set
from recjudge_tui.judges.local_servers import local_files, local_servers
from recjudge_tui.judges.registry import Provider, built_in, third_party
from recjudge_tui.reports.common.table import Note, Row, Table, columns
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import judges_used

_JUDGES = columns("spec|Judge", "source|Where", "key|Key", "details|Details")
_PROBE = columns("what|What", "found|Found", "note")
_TRIAL = columns("kind|Kind", "aspect label value", "confidence|(Confidence)|float", "reasoning|Reasoning")


def judges_table(db: Database, base_url: str = "") -> Table:
    """The available judges: built in, on the servers of this machine, from other packages, used before.

    For keys, only the names of the variables and whether they are set are shown.
    """

    def row(spec: str, source: str, details: str, key: str = "") -> Row:
        return {"spec": spec, "source": source, "key": key, "details": details}

    rows = [_provider_row(provider) for provider in built_in()]
    rows += [row(f"{name}:…", "another package", package) for name, package in third_party().items()]
    notes = [Note(rules_note())]
    try:
        rows += [
            row(f"ollama:{name}", "installed in Ollama", details) for name, details in _installed(base_url)
        ]
    except JudgeError as error:
        notes.append(Note(one_line(f"{error.title}. {error.cause} {error.next_step}")))
    # as the form of a run finds them
    servers = local_servers()
    rows += [
        row(spec, f"{server.name} {server.place}", f"--base-url {' '.join(server.base_urls)}")
        for server in servers
        if server.base_urls
        for spec, _ in server.judges
    ]
    rows += [row(*file) for file in local_files(servers)]
    for used in judges_used(db):
        last = used["last_used"][:16].replace("T", " ")
        rows.append(row(used["spec"], "used before", f"{quantity(used['runs'], 'run')}, last {last}"))
    return Table("Judges", _JUDGES, tuple(rows), tuple(notes))


def _provider_row(provider: Provider) -> Row:
    here = [name for name in provider.key_variables if is_set(name)]
    missing = f"{' / '.join(provider.key_variables)} not set" if provider.key_variables else ""
    installed = provider.is_installed()
    return {
        "spec": provider.form,
        "source": "built in" if installed else "not installed",
        "key": f"{', '.join(here)} set" if here else missing,
        "details": provider.about
        + ("" if installed else f"; needs: pip install 'recjudge[{provider.extra}]'"),
    }


def _installed(base_url: str) -> list[tuple[str, str]]:
    """Ollama's models with their facts."""
    from recjudge_tui.judges.providers.ollama_models import installed_models

    found = []
    for model in installed_models(base_url):
        size = f"{model.size_bytes / 1e9:.1f} GB" if model.size_bytes else ""
        facts = (model.parameters, model.quantization, size, model.digest[:12])
        found.append((model.name, ", ".join(fact for fact in facts if fact)))
    return found


def probe_table(judge: str, found: Capabilities | None, price: str) -> Table:
    """The result of a probe, one row per property; without a record the judge cannot be used. `price` is in words."""
    title = f"Judge {judge}"
    if found is None:
        return Table(
            title, _PROBE, ({"what": "usable", "found": "no", "note": ""},), answer=f"{judge} cannot be used."
        )
    if not found.language_model:
        answers = [
            ("reachable", "yes", ""),
            ("model", found.model, "not a language model, so no call was made"),
        ]
    else:
        answers = _answers(found, price)
    rows: tuple[Row, ...] = tuple({"what": what, "found": said, "note": note} for what, said, note in answers)
    notes = tuple(Note(f"a call failed: {one_line(problem)}", "warning") for problem in found.problems)
    return Table(title, _PROBE, rows, notes, answer=f"{judge} can be used.")


def _answers(found: Capabilities, price: str) -> list[tuple[str, str, str]]:
    def accepted(name: str, value: bool | None) -> str:
        if name in found.refused:
            return "refused"
        return "accepted" if value else "unknown" if value is None else "no such parameter"

    context = found.context_length
    sight = {
        True: "it read a word in an image",
        False: "it cannot be asked with --images",
        None: "not tested",
    }
    confident = (
        "labels get a confidence if the server returns them"
        if found.logprobs
        else "no confidence from one answer"
    )
    return [
        ("reachable", "yes", ", ".join(found.endpoints)),
        ("model", found.model, f"digest {found.digest[:12]}" if found.digest else ""),
        (
            "schema enforced",
            _yes_no(found.schema_enforced),
            "" if found.schema_enforced else "JSON is extracted from the text",
        ),
        ("temperature", accepted("temperature", found.temperature), ""),
        ("seed", accepted("seed", found.seed), ""),
        ("logprobs", _yes_no(found.logprobs), confident),
        ("sees images", _yes_no(found.images), sight[found.images]),
        (
            "context length",
            "not reported" if context is None else f"{context:,}",
            "" if context is None else "tokens",
        ),
        (
            "latency",
            "unknown" if found.latency_s is None else f"{found.latency_s:.2f} s",
            "median of three small calls",
        ),
        ("price", price, ""),
    ]


def _yes_no(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def trial_table(trial: Trial, prompt: str) -> Table:
    """A row for each answer, then one for each flag (`aspect` is the issue, `label` the item's id); `prompt` is its name.

    A failed call has no rows; the reason is in the notes. The settings have the tokens, US dollars and seconds of the
    call; None if unknown.
    """
    reply, parsed = trial.reply, trial.parsed
    rows: list[Row] = [
        {"kind": "answer"}
        | {name: getattr(answer, name) for name in ("aspect", "label", "value", "confidence", "reasoning")}
        for answer in (parsed.answers if parsed else ())
    ]
    for flag in parsed.flags if parsed else ():
        rows.append(
            {"kind": "flag", "aspect": flag.issue, "label": flag.item_id, "value": None, "confidence": None,
             "reasoning": flag.reason}
        )  # fmt: skip
    settings: dict[str, object] = {
        "prompt": prompt,
        "case_id": trial.case_id,
        "order": trial.order or None,
        "judge": trial.judge,
        "model": (reply.model or None) if reply else None,
        "attempts": trial.attempts,
        "tokens_in": reply.usage.input if reply else None,
        "tokens_out": reply.usage.output if reply else None,
        "cost_usd": trial.cost_usd,
        "seconds": reply.latency_s if reply else None,
        "parsed_by": parsed.parsed_by if parsed else None,
        "error_kind": trial.error_kind or None,
        "reply": reply.text if reply else None,
    }
    notes = [] if parsed else [Note(f"no answer ({trial.error_kind}): {trial.error}", "warning")]
    notes.append(Note("a trial: nothing is stored and no verdict is counted"))
    if trial.rater_kind in BUILT_IN:
        notes.append(Note(f"“{trial.judge}” is not a language model"))
    said = ", ".join(
        f"{row['aspect']} {row['label'] or row['value']}" for row in rows if row["kind"] == "answer"
    )
    return Table(
        f"{prompt} on case {trial.case_id}", _TRIAL, tuple(rows), tuple(notes), settings,
        answer=f"{trial.judge} says: {said}." if said else "",
    )  # fmt: skip
