-- Everything recjudge keeps. Ids that come from data are TEXT; times are ISO 8601 in UTC.
-- Tables are described for readers in docs/schema.md; the v_* views are the public interface.

CREATE TABLE projects (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  note TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE imports (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('items', 'users', 'events', 'lists', 'explanations', 'labels')),
  layout TEXT NOT NULL,
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  rows_read INTEGER NOT NULL,
  rows_stored INTEGER NOT NULL,
  rows_skipped INTEGER NOT NULL,
  warnings TEXT NOT NULL DEFAULT '[]',
  created_at TEXT NOT NULL,
  undone_at TEXT
) STRICT;
CREATE INDEX imports_by_project ON imports(project_id);

-- A later import of the same id stands over an earlier one until it is undone.
CREATE TABLE items (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  item_id TEXT NOT NULL,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  title TEXT NOT NULL,
  brand TEXT NOT NULL DEFAULT '',
  category TEXT NOT NULL DEFAULT '',
  attributes TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (project_id, item_id, import_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX items_by_import ON items(import_id);

CREATE TABLE users (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  attributes TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (project_id, user_id, import_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX users_by_import ON users(import_id);

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  type TEXT NOT NULL,
  item_id TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL DEFAULT '',
  timestamp TEXT NOT NULL DEFAULT '',
  value REAL
) STRICT;
CREATE INDEX events_by_user ON events(project_id, user_id, timestamp);
CREATE INDEX events_by_import ON events(import_id);

-- A slate never changes; which imports brought it stands in slate_imports.
CREATE TABLE slates (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  system TEXT NOT NULL,
  length INTEGER NOT NULL,
  digest TEXT NOT NULL,
  UNIQUE (project_id, user_id, system, digest)
) STRICT;

CREATE TABLE slate_items (
  slate_id INTEGER NOT NULL REFERENCES slates(id) ON DELETE CASCADE,
  rank INTEGER NOT NULL,
  item_id TEXT NOT NULL,
  score REAL,
  PRIMARY KEY (slate_id, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE slate_imports (
  slate_id INTEGER NOT NULL REFERENCES slates(id) ON DELETE CASCADE,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  PRIMARY KEY (slate_id, import_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX slate_imports_by_import ON slate_imports(import_id);

CREATE TABLE explanations (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  item_id TEXT NOT NULL,
  system TEXT NOT NULL,
  text TEXT NOT NULL,
  reference TEXT NOT NULL DEFAULT '',
  attributes TEXT NOT NULL DEFAULT '{}',
  digest TEXT NOT NULL,
  UNIQUE (project_id, user_id, item_id, system, digest)
) STRICT;

CREATE TABLE explanation_imports (
  explanation_id INTEGER NOT NULL REFERENCES explanations(id) ON DELETE CASCADE,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  PRIMARY KEY (explanation_id, import_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX explanation_imports_by_import ON explanation_imports(import_id);

-- What can be judged. A label that stands alone makes a case without lists.
CREATE TABLE cases (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('list', 'pair', 'explanation')),
  user_id TEXT NOT NULL,
  item_id TEXT NOT NULL DEFAULT '',
  system_a TEXT NOT NULL DEFAULT '',
  system_b TEXT NOT NULL DEFAULT '',
  slate_a INTEGER REFERENCES slates(id),
  slate_b INTEGER REFERENCES slates(id),
  explanation_id INTEGER REFERENCES explanations(id),
  CHECK (kind <> 'pair' OR system_a < system_b)
) STRICT;
CREATE UNIQUE INDEX cases_identity ON cases(
  project_id, kind, user_id, system_a, system_b, item_id,
  ifnull(slate_a, 0), ifnull(slate_b, 0), ifnull(explanation_id, 0)
);
CREATE INDEX cases_by_slate_a ON cases(slate_a);
CREATE INDEX cases_by_slate_b ON cases(slate_b);
CREATE INDEX cases_by_explanation ON cases(explanation_id);

CREATE TABLE raters (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('judge', 'rules', 'random', 'annotator', 'ground_truth', 'consensus', 'ensemble', 'metric', 'reader')),
  recipe TEXT NOT NULL DEFAULT '{}',
  created_at TEXT NOT NULL,
  UNIQUE (project_id, name)
) STRICT;

CREATE TABLE prompts (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  protocol TEXT NOT NULL,
  digest TEXT NOT NULL,
  content TEXT NOT NULL,
  origin TEXT NOT NULL CHECK (origin IN ('shipped', 'user')),
  created_at TEXT NOT NULL,
  UNIQUE (name, version),
  UNIQUE (name, digest)
) STRICT;

CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  rater_id INTEGER NOT NULL REFERENCES raters(id) ON DELETE CASCADE,
  prompt_id INTEGER NOT NULL REFERENCES prompts(id),
  protocol TEXT NOT NULL,
  judge TEXT NOT NULL,
  identity TEXT,
  settings TEXT NOT NULL,
  estimate TEXT NOT NULL DEFAULT '{}',
  state TEXT NOT NULL CHECK (state IN ('planned', 'running', 'paused', 'stopped', 'done', 'failed')),
  wanted TEXT NOT NULL DEFAULT 'run' CHECK (wanted IN ('run', 'pause', 'stop')),
  error TEXT NOT NULL DEFAULT '',
  lease_owner TEXT,
  heartbeat_at TEXT,
  seconds REAL NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  started_at TEXT,
  finished_at TEXT
) STRICT;
CREATE INDEX runs_by_project ON runs(project_id);
CREATE INDEX runs_by_rater ON runs(rater_id);
CREATE INDEX runs_by_prompt ON runs(prompt_id);

-- What a judge was shown, kept once for equal content.
CREATE TABLE snapshots (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('user', 'slate', 'explanation')),
  content TEXT NOT NULL
) STRICT;

CREATE TABLE run_cases (
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  case_id INTEGER NOT NULL REFERENCES cases(id) ON DELETE CASCADE,
  user_snapshot INTEGER NOT NULL REFERENCES snapshots(id),
  slate_a_snapshot INTEGER REFERENCES snapshots(id),
  slate_b_snapshot INTEGER REFERENCES snapshots(id),
  explanation_snapshot INTEGER REFERENCES snapshots(id),
  PRIMARY KEY (run_id, case_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_cases_by_case ON run_cases(case_id);

CREATE TABLE calls (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  case_id INTEGER NOT NULL REFERENCES cases(id) ON DELETE CASCADE,
  list_order TEXT NOT NULL DEFAULT '' CHECK (list_order IN ('', 'ab', 'ba')),
  aspect TEXT NOT NULL DEFAULT '',
  sample INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'done', 'failed')),
  attempts INTEGER NOT NULL DEFAULT 0,
  content_hash TEXT,
  request_hash TEXT,
  cached_from INTEGER,
  reply TEXT,
  thinking TEXT,
  model TEXT,
  stop_reason TEXT,
  parsed_by TEXT,
  structured INTEGER,
  tokens_in INTEGER,
  tokens_out INTEGER,
  tokens_cached INTEGER,
  cost_usd REAL,
  latency_s REAL,
  sent TEXT,
  error_kind TEXT,
  error TEXT,
  finished_at TEXT,
  UNIQUE (run_id, case_id, list_order, aspect, sample),
  CHECK ((state = 'failed') = (error_kind IS NOT NULL))
) STRICT;
CREATE INDEX calls_by_state ON calls(run_id, state, id);
CREATE INDEX calls_by_case ON calls(case_id);
CREATE INDEX calls_by_request ON calls(request_hash) WHERE state = 'done' AND request_hash IS NOT NULL;

CREATE TABLE answers (
  call_id INTEGER NOT NULL REFERENCES calls(id) ON DELETE CASCADE,
  aspect TEXT NOT NULL,
  value REAL NOT NULL,
  label TEXT NOT NULL,
  reasoning TEXT NOT NULL DEFAULT '',
  confidence REAL,
  PRIMARY KEY (call_id, aspect)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdicts (
  id INTEGER PRIMARY KEY,
  rater_id INTEGER NOT NULL REFERENCES raters(id) ON DELETE CASCADE,
  case_id INTEGER NOT NULL REFERENCES cases(id) ON DELETE CASCADE,
  aspect TEXT NOT NULL,
  protocol TEXT NOT NULL,
  run_id INTEGER REFERENCES runs(id) ON DELETE CASCADE,
  import_id INTEGER REFERENCES imports(id) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('ok', 'failed')),
  value REAL,
  label TEXT NOT NULL DEFAULT '',
  rule TEXT NOT NULL,
  order_consistent INTEGER CHECK (order_consistent IN (0, 1)),
  confidence REAL,
  flag_count INTEGER NOT NULL DEFAULT 0,
  note TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  UNIQUE (rater_id, case_id, aspect),
  CHECK ((state = 'ok') = (value IS NOT NULL))
) STRICT;
CREATE INDEX verdicts_by_case ON verdicts(case_id, aspect, rater_id);
CREATE INDEX verdicts_by_run ON verdicts(run_id);
CREATE INDEX verdicts_by_import ON verdicts(import_id);

-- Flags read from a reply belong to its call, flags a person gave to the verdict.
CREATE TABLE flags (
  id INTEGER PRIMARY KEY,
  call_id INTEGER REFERENCES calls(id) ON DELETE CASCADE,
  verdict_id INTEGER REFERENCES verdicts(id) ON DELETE CASCADE,
  item_id TEXT NOT NULL,
  issue TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  CHECK ((call_id IS NULL) <> (verdict_id IS NULL))
) STRICT;
CREATE INDEX flags_by_call ON flags(call_id);
CREATE INDEX flags_by_verdict ON flags(verdict_id);

CREATE VIEW v_current_items AS
SELECT i.* FROM items i
WHERE i.import_id = (SELECT max(j.import_id) FROM items j WHERE j.project_id = i.project_id AND j.item_id = i.item_id);

CREATE VIEW v_current_users AS
SELECT u.* FROM users u
WHERE u.import_id = (SELECT max(j.import_id) FROM users j WHERE j.project_id = u.project_id AND j.user_id = u.user_id);

CREATE VIEW v_current_slates AS
SELECT project_id, user_id, system, id AS slate_id, length FROM (
  SELECT s.*, row_number() OVER (
    PARTITION BY s.project_id, s.user_id, s.system ORDER BY si.import_id DESC, s.id DESC) AS place
  FROM slates s JOIN slate_imports si ON si.slate_id = s.id
) WHERE place = 1;

CREATE VIEW v_current_explanations AS
SELECT project_id, user_id, item_id, system, id AS explanation_id, text, reference, attributes FROM (
  SELECT e.*, row_number() OVER (
    PARTITION BY e.project_id, e.user_id, e.item_id, e.system ORDER BY ei.import_id DESC, e.id DESC) AS place
  FROM explanations e JOIN explanation_imports ei ON ei.explanation_id = e.id
) WHERE place = 1;

CREATE VIEW v_verdicts AS
SELECT
  p.name AS project, v.protocol, v.case_id, c.user_id, c.item_id, c.system_a, c.system_b,
  r.name AS rater, r.kind AS rater_kind, v.run_id, v.aspect, v.value, v.label, v.state,
  v.order_consistent, v.confidence,
  CASE WHEN v.run_id IS NULL THEN v.note ELSE coalesce((
    SELECT group_concat(
      CASE k.list_order
        WHEN 'ab' THEN '[Set 1 = ' || c.system_a || '] '
        WHEN 'ba' THEN '[Set 1 = ' || c.system_b || '] '
        ELSE '' END || a.reasoning, char(10))
    FROM calls k JOIN answers a ON a.call_id = k.id AND a.aspect = v.aspect
    WHERE k.run_id = v.run_id AND k.case_id = v.case_id), '') END AS reasoning,
  v.created_at, v.id AS verdict_id, v.rule, v.flag_count, v.note
FROM verdicts v
JOIN raters r ON r.id = v.rater_id
JOIN cases c ON c.id = v.case_id
JOIN projects p ON p.id = c.project_id;

CREATE VIEW v_calls AS
SELECT
  p.name AS project, k.id AS call_id, k.run_id, ru.protocol, r.name AS rater, k.case_id, c.user_id, c.item_id,
  c.system_a, c.system_b, k.list_order, k.aspect, k.sample, k.state, k.attempts, k.content_hash, k.request_hash,
  k.cached_from, k.reply, k.thinking, k.model, k.stop_reason, k.parsed_by, k.structured, k.tokens_in, k.tokens_out,
  k.tokens_cached, k.cost_usd, k.latency_s, k.sent, k.error_kind, k.error, k.finished_at
FROM calls k
JOIN runs ru ON ru.id = k.run_id
JOIN raters r ON r.id = ru.rater_id
JOIN cases c ON c.id = k.case_id
JOIN projects p ON p.id = ru.project_id;

CREATE VIEW v_flags AS
SELECT p.name AS project, r.name AS rater, r.kind AS rater_kind, c.id AS case_id, c.user_id, c.system_a, c.system_b,
  k.run_id, k.id AS call_id, NULL AS verdict_id, f.item_id, f.issue, f.reason
FROM flags f
JOIN calls k ON k.id = f.call_id
JOIN runs ru ON ru.id = k.run_id
JOIN raters r ON r.id = ru.rater_id
JOIN cases c ON c.id = k.case_id
JOIN projects p ON p.id = c.project_id
UNION ALL
SELECT p.name, r.name, r.kind, c.id, c.user_id, c.system_a, c.system_b, v.run_id, NULL, v.id, f.item_id, f.issue, f.reason
FROM flags f
JOIN verdicts v ON v.id = f.verdict_id
JOIN raters r ON r.id = v.rater_id
JOIN cases c ON c.id = v.case_id
JOIN projects p ON p.id = c.project_id;

CREATE VIEW v_runs AS
SELECT
  ru.id, p.name AS project, ru.protocol, r.name AS rater, json_extract(ru.judge, '$.spec') AS judge,
  pr.name || '@' || pr.version AS prompt, ru.state, ru.wanted,
  (SELECT count(*) FROM calls k WHERE k.run_id = ru.id) AS calls,
  (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state = 'done') AS done,
  (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state = 'failed') AS failed,
  (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.cached_from IS NOT NULL) AS cached,
  (SELECT sum(k.tokens_in) FROM calls k WHERE k.run_id = ru.id AND k.cached_from IS NULL) AS tokens_in,
  (SELECT sum(k.tokens_out) FROM calls k WHERE k.run_id = ru.id AND k.cached_from IS NULL) AS tokens_out,
  (SELECT sum(k.cost_usd) FROM calls k WHERE k.run_id = ru.id AND k.cached_from IS NULL) AS cost_usd,
  ru.seconds, ru.error, ru.created_at, ru.started_at, ru.finished_at
FROM runs ru
JOIN projects p ON p.id = ru.project_id
JOIN raters r ON r.id = ru.rater_id
JOIN prompts pr ON pr.id = ru.prompt_id;

CREATE VIEW v_leaderboard AS
SELECT project, rater, protocol, aspect, system, opponent,
  sum(state = 'ok' AND score > 0) AS wins,
  sum(state = 'ok' AND score = 0) AS ties,
  sum(state = 'ok' AND score < 0) AS losses,
  sum(state = 'ok' AND score = 0 AND order_consistent = 0) AS position_ties,
  sum(state = 'failed') AS failed,
  sum(state = 'ok') AS n
FROM (
  SELECT project, rater, protocol, aspect, system_a AS system, system_b AS opponent, state, value AS score, order_consistent
  FROM v_verdicts WHERE system_b <> ''
  UNION ALL
  SELECT project, rater, protocol, aspect, system_b, system_a, state, -value, order_consistent
  FROM v_verdicts WHERE system_b <> ''
)
GROUP BY project, rater, protocol, aspect, system, opponent;
