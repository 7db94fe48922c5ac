"""The available judges, and the result of probing one."""

from __future__ import annotations

from recjudge_tui.domain.judge import Capabilities
from recjudge_tui.domain.roles import rules_note
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import JudgeError
from recjudge_tui.judges.http.keys import is_set
from recjudge_tui.judges.local_servers import local_servers
from recjudge_tui.judges.registry import Provider, built_in, third_party
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.judges import judges_used


def judges_table(db: Database, base_url: str = "") -> Table:
    """The available judges: built in, on the servers of this machine, from other packages, used before.

    For keys, only the names of the variables and whether they are set are shown.
    """
    rows: list[Row] = [_provider_row(provider) for provider in built_in()]
    rows += [
        {"spec": f"{name}:…", "source": "another package", "key": "", "details": package}
        for name, package in third_party().items()
    ]
    notes = [rules_note()]
    try:
        rows += _installed_rows(base_url)
    except JudgeError as error:
        notes.append(one_line(f"{error.title}. {error.cause} {error.next_step}"))
    rows += _served_rows()
    for row in judges_used(db):
        details = f"{quantity(row['runs'], 'run')}, last {row['last_used'][:16].replace('T', ' ')}"
        rows.append({"spec": row["spec"], "source": "used before", "key": "", "details": details})
    columns = (
        Column("spec", "Judge"),
        Column("source", "Where"),
        Column("key", "Key"),
        Column("details", "Details"),
    )
    return Table("Judges", columns, tuple(rows), tuple(notes))


def _served_rows() -> list[Row]:
    """The models of the other servers that answer on this machine, as the form of a run finds them."""
    return [
        {
            "spec": spec,
            "source": f"{server.name} {server.place}",
            "key": "",
            "details": f"--base-url {' '.join(server.base_urls)}",
        }
        for server in local_servers()
        if server.base_urls
        for spec, _ in server.judges
    ]


def _provider_row(provider: Provider) -> Row:
    installed = provider.is_installed()
    return {
        "spec": provider.form,
        "source": "built in" if installed else "not installed",
        "key": _key_state(provider.key_variables),
        "details": provider.about
        if installed
        else f"{provider.about}; needs: pip install 'recjudge[{provider.extra}]'",
    }


def _key_state(variables: tuple[str, ...]) -> str:
    capabilities = [name for name in variables if is_set(name)]
    if capabilities:
        return f"{', '.join(capabilities)} set"
    return f"{' / '.join(variables)} not set" if variables else ""


def _installed_rows(base_url: str) -> list[Row]:
    from recjudge_tui.judges.providers.ollama_models import installed_models

    rows: list[Row] = []
    for model in installed_models(base_url):
        size = f"{model.size_bytes / 1e9:.1f} GB" if model.size_bytes else ""
        facts = (model.parameters, model.quantization, size, model.digest[:12])
        details = ", ".join(fact for fact in facts if fact)
        rows.append(
            {"spec": f"ollama:{model.name}", "source": "installed in Ollama", "key": "", "details": details}
        )
    return rows


def probe_table(judge: str, capabilities: Capabilities | None, price: str) -> Table:
    """The result of a probe, one row per property; without a record the judge cannot be used. `price` describes the
    price in words."""
    columns = (Column("what", "What"), Column("found", "Found"), Column("note", "Note"))
    title = f"Judge {judge}"
    if capabilities is None:
        return Table(title, columns, ({"what": "usable", "found": "no", "note": ""},))
    if not capabilities.language_model:
        answers: list[tuple[str, str, str]] = [
            ("reachable", "yes", ""),
            ("model", capabilities.model, "not a language model, so no call was made"),
        ]
    else:
        answers = _answers(capabilities, price)
    rows: list[Row] = [{"what": what, "found": answer, "note": note} for what, answer, note in answers]
    return Table(
        title, columns, tuple(rows), tuple(f"a call failed: {one_line(p)}" for p in capabilities.problems)
    )


def _answers(capabilities: Capabilities, price: str) -> list[tuple[str, str, str]]:
    schema_note = "" if capabilities.schema_enforced else "JSON is extracted from the text"
    context = "not reported" if capabilities.context_length is None else f"{capabilities.context_length:,}"
    latency = "unknown" if capabilities.latency_s is None else f"{capabilities.latency_s:.2f} s"
    return [
        ("reachable", "yes", ", ".join(capabilities.endpoints)),
        ("model", capabilities.model, f"digest {capabilities.digest[:12]}" if capabilities.digest else ""),
        ("schema enforced", _yes_no(capabilities.schema_enforced), schema_note),
        ("temperature", _parameter(capabilities, "temperature", capabilities.temperature), ""),
        ("seed", _parameter(capabilities, "seed", capabilities.seed), ""),
        (
            "logprobs",
            _yes_no(capabilities.logprobs),
            "labels get a confidence if the server returns them"
            if capabilities.logprobs
            else "no confidence from one answer",
        ),
        ("sees images", *_sight(capabilities.images)),
        ("context length", context, "tokens" if capabilities.context_length is not None else ""),
        ("latency", latency, "median of three small calls"),
        ("price", price, ""),
    ]


def _sight(images: bool | None) -> tuple[str, str]:
    notes = {
        True: "it read a word in an image",
        False: "it cannot be asked with --images",
        None: "not tested",
    }
    return _yes_no(images), notes[images]


def _yes_no(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def _parameter(capabilities: Capabilities, name: str, accepted: bool | None) -> str:
    if name in capabilities.refused:
        return "refused"
    return "accepted" if accepted else "unknown" if accepted is None else "no such parameter"
