"""The process in which a model file runs: llama.cpp's server on loopback, until the process that started it is gone.

    python -m recjudge_tui.judges.gguf_child

The first line of stdin is JSON: `model`, `alias`, `key`, `context` (of a slot), `slots`, `threads`. The one line on stdout
is the server's address. stderr has llama.cpp's own log, which is the parent's to show."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal


def main() -> None:
    # the run ends on these, or goes on without its terminal; its end is what ends this process
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with os.fdopen(0, "rb", 0, closefd=False) as stdin:  # without a buffer it reads nothing behind the line
        wanted = json.loads(stdin.readline())
    # While the model is loaded, which may take minutes, no Python runs here: the kernel itself ends this process when
    # the pipe's other end is closed, by its owner or by its owner's death.
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:
        os._exit(0)

    import xllamacpp

    options = xllamacpp.CommonParams()
    options.model.path = wanted["model"]
    options.model_alias = {wanted["alias"]}
    options.hostnames, options.port = ["127.0.0.1"], 0
    options.api_keys = [wanted["key"]]
    options.n_parallel, options.n_ctx = wanted["slots"], wanted["slots"] * wanted["context"]
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = wanted["threads"]
    options.n_threads_http = wanted["slots"] + 2
    options.cache_ram_mib = 0  # each slot remembers its own prompt; by default 8 GB more are filled
    options.use_jinja, options.ui, options.offline = True, False, True
    server = xllamacpp.Server(options)
    os.write(1, f"{server.listening_address}\n".encode())
    os.read(0, 1)
    os._exit(0)  # llama.cpp's threads have no orderly end


if __name__ == "__main__":
    main()
