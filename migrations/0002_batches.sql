-- Calls that are asked in batches: files that run elsewhere, and batches at a provider.

-- One batch at a provider. `planned`: written down, not yet asked for, or it is not known whether the server
-- took it. `reserved_usd` is the most it can cost, where the run has a budget. `asked_at` stands before the request that makes it is sent, `remote_id` as soon as it is answered.
CREATE TABLE batches (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  mark TEXT NOT NULL UNIQUE,
  server TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('planned', 'submitted', 'collected', 'failed')),
  calls INTEGER NOT NULL,
  reserved_usd REAL,
  file_id TEXT,
  remote_id TEXT,
  said TEXT NOT NULL DEFAULT '',
  done INTEGER,
  failed INTEGER,
  error TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  asked_at TEXT,
  submitted_at TEXT,
  looked_at TEXT,
  collected_at TEXT,
  CHECK (state = 'planned' OR state = 'failed' OR remote_id IS NOT NULL)
) STRICT;
CREATE INDEX batches_by_run ON batches(run_id);
CREATE UNIQUE INDEX batches_by_remote ON batches(server, remote_id) WHERE remote_id IS NOT NULL;

-- The name under which a call goes out. A name is used for one answer: a call that is asked again gets another.
CREATE TABLE batch_calls (
  custom_id TEXT PRIMARY KEY,
  call_id INTEGER NOT NULL REFERENCES calls(id) ON DELETE CASCADE,
  batch_id INTEGER REFERENCES batches(id) ON DELETE SET NULL,
  answered_at TEXT
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX batch_calls_open ON batch_calls(call_id) WHERE answered_at IS NULL;
CREATE INDEX batch_calls_by_call ON batch_calls(call_id);
CREATE INDEX batch_calls_by_batch ON batch_calls(batch_id);

CREATE VIEW v_batches AS
SELECT
  b.id, p.name AS project, b.run_id, b.server, b.state, b.remote_id, b.said, b.calls, b.done, b.failed, b.error,
  b.created_at, b.submitted_at, b.looked_at, b.collected_at
FROM batches b
JOIN runs ru ON ru.id = b.run_id
JOIN projects p ON p.id = ru.project_id;
