-- Everything recjudge keeps. Ids that come from data are TEXT; times are ISO 8601 in UTC.
-- Tables are described for readers in docs/schema.md; the v_* views are the public interface.
-- A file is opened only if its tables, indexes, triggers and views are exactly these.

CREATE TABLE migrations (
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at TEXT NOT NULL
) STRICT;

CREATE TABLE projects (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  note TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  domain TEXT NOT NULL DEFAULT ''
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

-- A later import of the same id stands over an earlier one until it is undone.
CREATE TABLE items (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  item_id TEXT NOT NULL,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  title TEXT NOT NULL,
  brand TEXT NOT NULL DEFAULT '',
  category TEXT NOT NULL DEFAULT '',
  attributes TEXT NOT NULL DEFAULT '{}',
  image TEXT REFERENCES images(digest),
  PRIMARY KEY (project_id, item_id, import_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  attributes TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (project_id, user_id, import_id)
) STRICT, WITHOUT ROWID;

-- The images of items, each stored once for equal content: scaled down and written anew as JPEG when it is imported.
-- `digest` is the SHA-256 (hex) of `content`. Snapshots name the images that a judge was shown by their digests.
CREATE TABLE images (
  digest TEXT PRIMARY KEY,
  width INTEGER NOT NULL CHECK (width > 0),
  height INTEGER NOT NULL CHECK (height > 0),
  content BLOB NOT NULL
) STRICT;

-- An event with a context or a `served_at` tells about the lists of that occasion only. `is_copy`: 1 if the event is a
-- copy of one that is held out for every list of its user, such as in a file of all ratings beside its test split. No
-- judge may see a copy, and nothing may be counted from it.
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  type TEXT NOT NULL,
  item_id TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL DEFAULT '',
  timestamp TEXT NOT NULL DEFAULT '',
  value REAL,
  context TEXT NOT NULL DEFAULT '',
  served_at TEXT NOT NULL DEFAULT '',
  is_copy INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Visible events that are copies of an event which is held out for the lists of one occasion.
CREATE TABLE occasion_copies (
  event_id INTEGER NOT NULL REFERENCES events(id) ON DELETE CASCADE,
  context TEXT NOT NULL,
  served_at TEXT NOT NULL,
  PRIMARY KEY (event_id, context, served_at)
) STRICT, WITHOUT ROWID;

-- A user is recommended many lists: each visit, placement, query or day is another. The occasion of a list is its context
-- (any text, '' where there is none) and when it was served (ISO 8601 in UTC, '' where unknown).
-- A slate never changes; which imports brought it stands in slate_imports.
CREATE TABLE slates (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  system TEXT NOT NULL,
  length INTEGER NOT NULL,
  digest TEXT NOT NULL,
  context TEXT NOT NULL DEFAULT '',
  served_at TEXT NOT NULL DEFAULT '',
  UNIQUE (project_id, user_id, system, context, served_at, digest)
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
  context TEXT NOT NULL DEFAULT '',
  served_at TEXT NOT NULL DEFAULT '',
  UNIQUE (project_id, user_id, item_id, system, context, served_at, digest)
) STRICT;

CREATE TABLE explanation_imports (
  explanation_id INTEGER NOT NULL REFERENCES explanations(id) ON DELETE CASCADE,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  PRIMARY KEY (explanation_id, import_id)
) STRICT, WITHOUT ROWID;

-- Lists made to test judges: which fault was planted where, into which imported list.
CREATE TABLE planted_faults (
  slate_id INTEGER PRIMARY KEY REFERENCES slates(id) ON DELETE CASCADE,
  source_slate_id INTEGER NOT NULL REFERENCES slates(id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind <> ''),
  item_id TEXT NOT NULL CHECK (item_id <> ''),
  rank INTEGER NOT NULL CHECK (rank > 0),
  displaced_item_id TEXT NOT NULL
) STRICT;

-- The scale of an aspect, as files of labels give it: numbers from low to high, or words whose values are 0, 1, ...
-- Words without an order are categories.
CREATE TABLE scales (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  protocol TEXT NOT NULL,
  aspect TEXT NOT NULL,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  low REAL NOT NULL,
  high REAL NOT NULL,
  words TEXT NOT NULL DEFAULT '[]',
  ordered INTEGER NOT NULL DEFAULT 1 CHECK (ordered IN (0, 1)),
  -- whether the values were turned round, as those of later files then are
  turned INTEGER NOT NULL DEFAULT 0 CHECK (turned IN (0, 1)),
  PRIMARY KEY (project_id, protocol, aspect, import_id)
) STRICT, WITHOUT ROWID;

-- What can be judged. A label that stands alone makes a case without lists. Of a case with lists, `served_at` is the
-- earlier time of the two: what a judge sees of the user ends before it.
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
  context TEXT NOT NULL DEFAULT '',
  served_at TEXT NOT NULL DEFAULT '',
  CHECK (kind <> 'pair' OR system_a < system_b)
) STRICT;

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

-- What `recjudge judge test` found out about a judge at these servers; a new test replaces the row.
CREATE TABLE capabilities (
  judge TEXT NOT NULL,
  base_urls TEXT NOT NULL DEFAULT '[]',
  record TEXT NOT NULL,
  probed_at TEXT NOT NULL,
  PRIMARY KEY (judge, base_urls)
) STRICT, WITHOUT ROWID;

-- Runs that were asked for together, such as the two stages of SAER. `request` is what was asked for, as JSON.
CREATE TABLE run_groups (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  rater_id INTEGER NOT NULL REFERENCES raters(id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('saer')),
  request TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

-- One row: the highest number that a run ever had. That of a deleted run is not given to another one, because files and
-- notes outside the database may still mention it.
CREATE TABLE run_numbers (
  last INTEGER NOT NULL
) STRICT;
INSERT INTO run_numbers (last) VALUES (0);

-- `wanted_concurrency`: NULL means what the run was planned with; `concurrency` is what the process that works on it has
-- taken up. `started_at` is when the first attempt began, `attempt_started_at` the newest. `waiting_until`: a server asked
-- for a pause. `retry_why`, `retry_at`: why a server cannot be reached, with how many calls, and when the next of them
-- tries again; empty while it can. `stage` is the run's place in its group: of SAER, pointwise or pairwise.
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
  finished_at TEXT,
  wanted_concurrency INTEGER CHECK (wanted_concurrency BETWEEN 1 AND 1024),
  concurrency INTEGER CHECK (concurrency > 0),
  attempt_started_at TEXT,
  group_id INTEGER REFERENCES run_groups(id) ON DELETE SET NULL,
  stage TEXT NOT NULL DEFAULT '',
  waiting_until TEXT,
  name TEXT NOT NULL DEFAULT '',
  retry_why TEXT,
  retry_at TEXT,
  in_flight INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  left_s REAL
) STRICT;

-- What a judge was shown, kept once for equal content.
CREATE TABLE snapshots (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('user', 'slate', 'explanation')),
  content TEXT NOT NULL
) STRICT;

-- What each case of a run was shown as. `example_snapshot`: the scored example that a one-shot question about an
-- explanation shows beside it.
CREATE TABLE run_cases (
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  case_id INTEGER NOT NULL REFERENCES cases(id) ON DELETE CASCADE,
  user_snapshot INTEGER NOT NULL REFERENCES snapshots(id),
  slate_a_snapshot INTEGER REFERENCES snapshots(id),
  slate_b_snapshot INTEGER REFERENCES snapshots(id),
  explanation_snapshot INTEGER REFERENCES snapshots(id),
  example_snapshot INTEGER REFERENCES snapshots(id),
  PRIMARY KEY (run_id, case_id)
) STRICT, WITHOUT ROWID;

-- What a call may cost is reserved before it is sent (`reserved_usd`) and settled after. What may have been billed for
-- attempts of unknown cost (lost, killed, without usage) is counted at its bound (`unknown_usd`).
-- `tokens_cache_written`: input tokens that the server stored in its cache, for which it may charge more than for others;
-- NULL where it did not say.
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
  reserved_usd REAL,
  unknown_usd REAL,
  tokens_cache_written INTEGER,
  UNIQUE (run_id, case_id, list_order, aspect, sample),
  CHECK ((state = 'failed') = (error_kind IS NOT NULL))
) STRICT;

-- One batch at a provider. `planned`: written down, not yet asked for, or it is not known whether the server took it.
-- `reserved_usd` is the most it can cost, where the run has a budget. `asked_at` stands before the request that makes it is
-- sent, `remote_id` as soon as it is answered.
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

-- The name under which a call goes out. A name is used for one answer: a call that is asked again gets another.
CREATE TABLE batch_calls (
  custom_id TEXT PRIMARY KEY,
  call_id INTEGER NOT NULL REFERENCES calls(id) ON DELETE CASCADE,
  batch_id INTEGER REFERENCES batches(id) ON DELETE SET NULL,
  answered_at TEXT
) STRICT, WITHOUT ROWID;

-- Answers have numbers, which the search of their reasoning by words needs; nothing else refers to them.
CREATE TABLE answers (
  id INTEGER PRIMARY KEY,
  call_id INTEGER NOT NULL REFERENCES calls(id) ON DELETE CASCADE,
  aspect TEXT NOT NULL,
  value REAL NOT NULL,
  label TEXT NOT NULL,
  reasoning TEXT NOT NULL DEFAULT '',
  confidence REAL,
  UNIQUE (call_id, aspect)
) STRICT;

CREATE VIRTUAL TABLE reasoning_search USING fts5(
  reasoning, content = 'answers', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

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
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  UNIQUE (rater_id, case_id, aspect),
  CHECK ((state = 'ok') = (value IS NOT NULL))
) STRICT;

-- The runs of a rater are one series, and the rater has one verdict on each case and aspect: that of its newest run, where
-- this did not fail. What the other runs said is kept here, so that two runs of one rater can be compared.
CREATE TABLE superseded_verdicts (
  id INTEGER PRIMARY KEY,
  rater_id INTEGER NOT NULL REFERENCES raters(id) ON DELETE CASCADE,
  case_id INTEGER NOT NULL REFERENCES cases(id) ON DELETE CASCADE,
  aspect TEXT NOT NULL,
  protocol TEXT NOT NULL,
  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('ok', 'failed')),
  value REAL,
  label TEXT NOT NULL DEFAULT '',
  rule TEXT NOT NULL,
  order_consistent INTEGER CHECK (order_consistent IN (0, 1)),
  confidence REAL,
  flag_count INTEGER NOT NULL DEFAULT 0,
  note TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  UNIQUE (run_id, case_id, aspect),
  CHECK ((state = 'ok') = (value IS NOT NULL))
) STRICT;

-- The judgements of pairs by order that came with a file: what calls and answers are to the runs of judges here.
CREATE TABLE games (
  verdict_id INTEGER NOT NULL REFERENCES verdicts(id) ON DELETE CASCADE,
  list_order TEXT NOT NULL CHECK (list_order IN ('ab', 'ba')),
  value REAL,
  PRIMARY KEY (verdict_id, list_order)
) STRICT, WITHOUT ROWID;

-- Flags read from a reply belong to its call, flags a person gave to the verdict.
CREATE TABLE flags (
  id INTEGER PRIMARY KEY,
  call_id INTEGER REFERENCES calls(id) ON DELETE CASCADE,
  verdict_id INTEGER REFERENCES verdicts(id) ON DELETE CASCADE,
  item_id TEXT NOT NULL,
  issue TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  -- why the data that the judge was shown contradict the flag; empty: they do not
  refuted TEXT NOT NULL DEFAULT '',
  CHECK ((call_id IS NULL) <> (verdict_id IS NULL))
) STRICT;

-- What readers did about verdicts: a log to which rows are added and never changed. A row outlives the verdict it is
-- about, not its case.
CREATE TABLE triage_log (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  case_id INTEGER NOT NULL REFERENCES cases(id) ON DELETE CASCADE,
  verdict_id INTEGER REFERENCES verdicts(id) ON DELETE SET NULL,
  rater TEXT NOT NULL,
  aspect TEXT NOT NULL,
  protocol TEXT NOT NULL,
  reader TEXT NOT NULL CHECK (reader <> ''),
  action TEXT NOT NULL CHECK (action IN ('accept', 'dismiss', 'override', 'note', 'tag', 'undo')),
  label TEXT NOT NULL DEFAULT '',
  value REAL,
  text TEXT NOT NULL DEFAULT '',
  undoes INTEGER REFERENCES triage_log(id),
  created_at TEXT NOT NULL,
  CHECK ((action = 'override') = (value IS NOT NULL)),
  CHECK ((action = 'undo') = (undoes IS NOT NULL)),
  CHECK (action NOT IN ('note', 'tag') OR text <> '')
) STRICT;

-- What people are asked to judge blind, one row a person and case: in which order, which list first, how it went.
-- The verdicts themselves stand with all others in `verdicts`.
CREATE TABLE annotation_tasks (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  rater_id INTEGER NOT NULL REFERENCES raters(id) ON DELETE CASCADE,
  case_id INTEGER NOT NULL REFERENCES cases(id) ON DELETE CASCADE,
  protocol TEXT NOT NULL,
  -- the guidelines, and the run of judges whose settings and snapshots the case is shown by (NULL: as it is now)
  prompt_id INTEGER NOT NULL REFERENCES prompts(id),
  run_id INTEGER REFERENCES runs(id) ON DELETE SET NULL,
  position INTEGER NOT NULL,
  first TEXT NOT NULL DEFAULT '' CHECK (first IN ('', 'a', 'b')),
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'skipped')),
  reason TEXT NOT NULL DEFAULT '',
  seconds REAL NOT NULL DEFAULT 0 CHECK (seconds >= 0),
  opened_at TEXT,
  done_at TEXT,
  -- from here on the others' verdicts were shown, and one's own stands
  revealed_at TEXT,
  UNIQUE (rater_id, case_id, protocol),
  CHECK ((state = 'open') = (done_at IS NULL))
) STRICT;

-- Filters of the verdict list that somebody gave a name.
CREATE TABLE saved_filters (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL CHECK (name <> ''),
  filter TEXT NOT NULL CHECK (filter <> ''),
  created_at TEXT NOT NULL,
  UNIQUE (project_id, name)
) STRICT;

-- What live traffic said of two systems; a row an experiment, the systems in the order they were given. When it ran is
-- ISO 8601 UTC, empty where unknown.
CREATE TABLE outcomes (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL CHECK (name <> ''),
  system_a TEXT NOT NULL CHECK (system_a <> ''),
  system_b TEXT NOT NULL CHECK (system_b <> ''),
  impressions_a INTEGER NOT NULL CHECK (impressions_a > 0),
  impressions_b INTEGER NOT NULL CHECK (impressions_b > 0),
  clicks_a INTEGER NOT NULL CHECK (clicks_a BETWEEN 0 AND impressions_a),
  clicks_b INTEGER NOT NULL CHECK (clicks_b BETWEEN 0 AND impressions_b),
  created_at TEXT NOT NULL,
  began_at TEXT NOT NULL DEFAULT '',
  ended_at TEXT NOT NULL DEFAULT '',
  users_a INTEGER CHECK (users_a BETWEEN 1 AND impressions_a),
  users_b INTEGER CHECK (users_b BETWEEN 1 AND impressions_b),
  UNIQUE (project_id, name),
  CHECK (system_a <> system_b)
) STRICT;

CREATE INDEX imports_by_project ON imports(project_id);

CREATE INDEX items_by_import ON items(import_id);
CREATE INDEX items_by_image ON items(image) WHERE image IS NOT NULL;

CREATE INDEX users_by_import ON users(import_id);

CREATE INDEX events_by_user ON events(project_id, user_id, timestamp);
CREATE INDEX events_by_import ON events(import_id);
CREATE INDEX events_copies ON events(project_id) WHERE is_copy = 1;
CREATE INDEX events_held_out ON events(project_id, user_id, item_id) WHERE type LIKE 'heldout\_%' ESCAPE '\';

CREATE INDEX slate_imports_by_import ON slate_imports(import_id);

CREATE INDEX explanation_imports_by_import ON explanation_imports(import_id);

CREATE INDEX planted_faults_by_source ON planted_faults(source_slate_id);

CREATE INDEX scales_by_import ON scales(import_id);

CREATE INDEX cases_by_slate_a ON cases(slate_a) WHERE slate_a IS NOT NULL;
CREATE INDEX cases_by_slate_b ON cases(slate_b) WHERE slate_b IS NOT NULL;
CREATE INDEX cases_by_explanation ON cases(explanation_id) WHERE explanation_id IS NOT NULL;
CREATE UNIQUE INDEX cases_identity ON cases(
  project_id, kind, user_id, system_a, system_b, item_id,
  ifnull(slate_a, 0), ifnull(slate_b, 0), ifnull(explanation_id, 0), context, served_at
);

CREATE INDEX run_groups_by_project ON run_groups(project_id);
CREATE INDEX run_groups_by_rater ON run_groups(rater_id);

CREATE INDEX runs_by_project ON runs(project_id);
CREATE INDEX runs_by_rater ON runs(rater_id);
CREATE INDEX runs_by_prompt ON runs(prompt_id);
CREATE UNIQUE INDEX runs_by_group ON runs(group_id, stage) WHERE group_id IS NOT NULL;

CREATE INDEX run_cases_by_case ON run_cases(case_id);

CREATE INDEX calls_by_state ON calls(run_id, state, id);
CREATE INDEX calls_by_case ON calls(case_id);
CREATE INDEX calls_by_request ON calls(request_hash) WHERE state = 'done' AND request_hash IS NOT NULL;

CREATE INDEX batches_by_run ON batches(run_id);
CREATE UNIQUE INDEX batches_by_remote ON batches(server, remote_id) WHERE remote_id IS NOT NULL;

CREATE UNIQUE INDEX batch_calls_open ON batch_calls(call_id) WHERE answered_at IS NULL;
CREATE INDEX batch_calls_by_call ON batch_calls(call_id);
CREATE INDEX batch_calls_by_batch ON batch_calls(batch_id);

CREATE INDEX verdicts_by_run ON verdicts(run_id) WHERE run_id IS NOT NULL;
CREATE INDEX verdicts_by_import ON verdicts(import_id) WHERE import_id IS NOT NULL;
-- All that the reports read of a question's verdicts, so that they need not touch the rows. The condition always holds;
-- it keeps the index from queries that do not state it, which have better ones.
CREATE INDEX verdicts_by_question ON verdicts(rater_id, protocol, aspect, case_id, value, order_consistent)
WHERE rater_id > 0;
-- The list of verdicts in the order they were made, and what its filters ask for most.
CREATE INDEX verdicts_by_project ON verdicts(project_id);
CREATE INDEX verdicts_flagged ON verdicts(project_id) WHERE flag_count > 0;
CREATE INDEX verdicts_flipped ON verdicts(project_id) WHERE order_consistent = 0;
CREATE INDEX verdicts_failed ON verdicts(project_id) WHERE state = 'failed';
CREATE INDEX verdicts_noted ON verdicts(project_id) WHERE note <> '';
CREATE INDEX verdicts_by_rater ON verdicts(rater_id);
-- Verdicts without a label or a confidence come last.
CREATE INDEX verdicts_by_label ON verdicts(project_id, label = '', label COLLATE NOCASE);
CREATE INDEX verdicts_by_confidence ON verdicts(project_id, confidence IS NULL, confidence);
CREATE INDEX verdicts_by_case ON verdicts(case_id, aspect, rater_id, project_id);
-- Battles imported from a table of counts: reports say that their users are not known.
CREATE INDEX verdicts_counted ON verdicts(project_id, rater_id, protocol, aspect) WHERE rule = 'counted';

CREATE INDEX superseded_verdicts_by_rater ON superseded_verdicts(rater_id);
CREATE INDEX superseded_verdicts_by_case ON superseded_verdicts(case_id);

CREATE INDEX flags_by_call ON flags(call_id);
CREATE INDEX flags_by_verdict ON flags(verdict_id);

CREATE INDEX triage_by_verdict ON triage_log(verdict_id, id);
CREATE INDEX triage_by_case ON triage_log(case_id);
CREATE INDEX triage_by_project ON triage_log(project_id, id);
CREATE UNIQUE INDEX triage_undone ON triage_log(undoes);

CREATE INDEX annotation_tasks_by_state ON annotation_tasks(rater_id, protocol, state, position);
CREATE INDEX annotation_tasks_by_project ON annotation_tasks(project_id, protocol, state);
CREATE INDEX annotation_tasks_by_case ON annotation_tasks(case_id, protocol);
CREATE INDEX annotation_tasks_by_prompt ON annotation_tasks(prompt_id);
CREATE INDEX annotation_tasks_by_run ON annotation_tasks(run_id);

CREATE TRIGGER answers_found AFTER INSERT ON answers BEGIN
  INSERT INTO reasoning_search(rowid, reasoning) VALUES (new.id, new.reasoning);
END;

CREATE TRIGGER answers_lost AFTER DELETE ON answers BEGIN
  INSERT INTO reasoning_search(reasoning_search, rowid, reasoning) VALUES ('delete', old.id, old.reasoning);
END;

CREATE TRIGGER answers_changed AFTER UPDATE OF reasoning ON answers BEGIN
  INSERT INTO reasoning_search(reasoning_search, rowid, reasoning) VALUES ('delete', old.id, old.reasoning);
  INSERT INTO reasoning_search(rowid, reasoning) VALUES (new.id, new.reasoning);
END;

CREATE TRIGGER triage_is_not_changed BEFORE UPDATE OF id, project_id, case_id, rater, aspect, protocol, reader,
  action, label, value, text, undoes, created_at ON triage_log
BEGIN SELECT raise(ABORT, 'the triage log is only added to'); END;

CREATE TRIGGER triage_is_not_deleted BEFORE DELETE ON triage_log
WHEN EXISTS (SELECT 1 FROM projects WHERE id = old.project_id) AND EXISTS (SELECT 1 FROM cases WHERE id = old.case_id)
BEGIN SELECT raise(ABORT, 'the triage log is only added to'); END;

CREATE TRIGGER run_groups_last_run_deleted AFTER DELETE ON runs WHEN OLD.group_id IS NOT NULL BEGIN
  DELETE FROM run_groups WHERE id = OLD.group_id AND NOT EXISTS (SELECT 1 FROM runs WHERE group_id = OLD.group_id);
END;

CREATE VIEW v_current_items AS
SELECT i.* FROM items i
WHERE i.import_id = (SELECT max(j.import_id) FROM items j WHERE j.project_id = i.project_id AND j.item_id = i.item_id);

CREATE VIEW v_current_users AS
SELECT u.* FROM users u
WHERE u.import_id = (SELECT max(j.import_id) FROM users j WHERE j.project_id = u.project_id AND j.user_id = u.user_id);

CREATE VIEW v_batches AS
SELECT
  b.id, p.name AS project, b.run_id, b.server, b.state, b.remote_id, b.said, b.calls, b.done, b.failed, b.error,
  b.created_at, b.submitted_at, b.looked_at, b.collected_at
FROM batches b
JOIN runs ru ON ru.id = b.run_id
JOIN projects p ON p.id = ru.project_id;

-- `standing`: nobody took it back. `decides`: the last standing decision about its verdict.
CREATE VIEW v_triage AS
SELECT p.name AS project, t.id AS log_id, t.case_id, t.verdict_id, t.rater, t.protocol, t.aspect, t.reader, t.action,
  t.label, t.value, t.text, t.undoes, t.created_at,
  t.action <> 'undo' AND NOT EXISTS (SELECT 1 FROM triage_log u WHERE u.undoes = t.id) AS standing,
  t.action IN ('accept', 'dismiss', 'override')
    AND NOT EXISTS (SELECT 1 FROM triage_log u WHERE u.undoes = t.id)
    AND NOT EXISTS (SELECT 1 FROM triage_log n WHERE n.verdict_id = t.verdict_id AND n.id > t.id
      AND n.action IN ('accept', 'dismiss', 'override')
      AND NOT EXISTS (SELECT 1 FROM triage_log u WHERE u.undoes = n.id)) AS decides,
  t.project_id
FROM triage_log t JOIN projects p ON p.id = t.project_id;

-- Lists and texts imported again for an occasion replace the earlier ones, and verdicts on those stay.
CREATE VIEW v_current_slates AS
SELECT project_id, user_id, system, id AS slate_id, length, context, served_at FROM (
  SELECT s.*, row_number() OVER (
    PARTITION BY s.project_id, s.user_id, s.system, s.context, s.served_at
    ORDER BY si.import_id DESC, s.id DESC) AS place
  FROM slates s JOIN slate_imports si ON si.slate_id = s.id
) WHERE place = 1;

CREATE VIEW v_current_explanations AS
SELECT project_id, user_id, item_id, system, id AS explanation_id, text, reference, attributes, context, served_at FROM (
  SELECT e.*, row_number() OVER (
    PARTITION BY e.project_id, e.user_id, e.item_id, e.system, e.context, e.served_at
    ORDER BY ei.import_id DESC, e.id DESC) AS place
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
        WHEN 'ab' THEN '[' || iif(v.protocol = 'arena', 'A', 'Set 1') || ' = ' || c.system_a || '] '
        WHEN 'ba' THEN '[' || iif(v.protocol = 'arena', 'A', 'Set 1') || ' = ' || c.system_b || '] '
        ELSE '' END || a.reasoning, char(10))
    FROM calls k JOIN answers a ON a.call_id = k.id AND a.aspect = v.aspect
    WHERE k.run_id = v.run_id AND k.case_id = v.case_id), '') END AS reasoning,
  v.created_at, v.id AS verdict_id, v.rule, v.flag_count, v.note, c.context, c.served_at
FROM verdicts v
JOIN raters r ON r.id = v.rater_id
JOIN cases c ON c.id = v.case_id
JOIN projects p ON p.id = c.project_id;

CREATE VIEW v_flags AS
SELECT p.name AS project, r.name AS rater, r.kind AS rater_kind, c.id AS case_id, c.user_id, c.system_a, c.system_b,
  k.run_id, k.id AS call_id, NULL AS verdict_id, f.item_id, f.issue, f.reason, c.context, c.served_at,
  f.refuted
FROM flags f
JOIN calls k ON k.id = f.call_id
JOIN runs ru ON ru.id = k.run_id
JOIN raters r ON r.id = ru.rater_id
JOIN cases c ON c.id = k.case_id
JOIN projects p ON p.id = c.project_id
UNION ALL
SELECT p.name, r.name, r.kind, c.id, c.user_id, c.system_a, c.system_b, v.run_id, NULL, v.id, f.item_id, f.issue,
  f.reason, c.context, c.served_at, f.refuted
FROM flags f
JOIN verdicts v ON v.id = f.verdict_id
JOIN raters r ON r.id = v.rater_id
JOIN cases c ON c.id = v.case_id
JOIN projects p ON p.id = c.project_id;

CREATE VIEW v_annotations AS
SELECT
  p.name AS project, r.name AS annotator, t.protocol, t.case_id, c.user_id, c.item_id, c.system_a, c.system_b,
  pr.name || '@' || pr.version AS prompt, t.position, t.first, t.state, t.reason, t.seconds,
  t.opened_at, t.done_at, t.revealed_at, t.id AS task_id, c.context, c.served_at
FROM annotation_tasks t
JOIN projects p ON p.id = t.project_id
JOIN raters r ON r.id = t.rater_id
JOIN cases c ON c.id = t.case_id
JOIN prompts pr ON pr.id = t.prompt_id;

-- From which import to before which import a list stood. What is counted over verdicts is about one generation of lists.
CREATE VIEW v_list_lifetimes AS
WITH linked AS (
  SELECT s.id, s.project_id, s.user_id, s.system, s.context, s.served_at, l.import_id,
    lag(s.id) OVER (
      PARTITION BY s.project_id, s.user_id, s.system, s.context, s.served_at ORDER BY l.import_id, s.id) AS before,
    max(l.import_id) OVER (PARTITION BY s.project_id, s.user_id, s.system, s.context, s.served_at) AS newest
  FROM slates s LEFT JOIN slate_imports l ON l.slate_id = s.id
), starts AS (
  SELECT *, lead(import_id) OVER (
    PARTITION BY project_id, user_id, system, context, served_at ORDER BY import_id, id) AS next
  FROM linked WHERE before IS NOT id
)
-- of a list that stood several times, the last time; `next` is taken from the row of max(import_id)
SELECT project_id, id AS slate_id, ifnull(max(import_id), 0) AS since,
  CASE WHEN import_id IS NOT NULL THEN next WHEN newest IS NOT NULL THEN 1 END AS until
FROM starts GROUP BY project_id, id;

CREATE VIEW v_leaderboard AS
WITH pairs AS (
  SELECT c.id, c.system_a, c.system_b, max(ifnull(a.since, 0), ifnull(b.since, 0)) AS since,
    min(ifnull(a.until, 9223372036854775807), ifnull(b.until, 9223372036854775807)) AS until
  FROM cases c
  LEFT JOIN v_list_lifetimes a ON a.slate_id = c.slate_a
  LEFT JOIN v_list_lifetimes b ON b.slate_id = c.slate_b
  WHERE c.system_b <> ''
), judged AS (
  -- two lists that never stood together count as replaced
  SELECT v.project_id, v.rater_id, v.protocol, v.aspect, v.state, v.value, v.order_consistent, p.system_a, p.system_b,
    p.until, min(p.since, p.until - 1) AS since,
    max(min(p.since, p.until - 1)) OVER (PARTITION BY v.rater_id, v.protocol, v.aspect) AS newest
  FROM verdicts v JOIN pairs p ON p.id = v.case_id
  WHERE v.protocol <> 'adversarial'
), standing AS (
  SELECT * FROM judged WHERE since <= newest AND newest < until
)
SELECT p.name AS project, r.name AS rater, protocol, aspect, system, opponent,
  sum(state = 'ok' AND score > 0) AS wins,
  sum(state = 'ok' AND score = 0) AS ties,
  sum(state = 'ok' AND score < 0) AS losses,
  sum(state = 'ok' AND score = 0 AND order_consistent = 0) AS position_ties,
  sum(state = 'failed') AS failed,
  sum(state = 'ok') AS n
FROM (
  SELECT project_id, rater_id, protocol, aspect, system_a AS system, system_b AS opponent, state, value AS score,
    order_consistent FROM standing
  UNION ALL
  SELECT project_id, rater_id, protocol, aspect, system_b, system_a, state, -value, order_consistent FROM standing
) s
JOIN projects p ON p.id = s.project_id
JOIN raters r ON r.id = s.rater_id
GROUP BY p.name, r.name, protocol, aspect, system, opponent;

-- Visible events beside the held-out ones of the same user and item. `is_copy`: whether both may be one event, because
-- all that both carry is equal: the context; the time, to the second, or the day where one of them has only a day; the
-- value, unless both have a time; the type, unless one says only that there was an interaction or a judgement.
CREATE VIEW v_held_out_matches AS
SELECT v.project_id, v.id AS event_id, v.import_id, v.user_id, v.item_id, h.id AS held_out_id, h.context, h.served_at,
  (v.context = '' OR h.context = '' OR v.context = h.context)
  AND (v.timestamp = '' OR h.timestamp = '' OR substr(v.timestamp, 1, 19) = substr(h.timestamp, 1, 19)
    OR (substr(v.timestamp, 1, 10) = substr(h.timestamp, 1, 10)
      AND '00:00:00' IN (substr(v.timestamp, 12, 8), substr(h.timestamp, 12, 8))))
  AND (v.value IS NULL OR h.value IS NULL OR v.value = h.value OR lower(h.type) = 'heldout_relevance'
    OR (v.timestamp <> '' AND h.timestamp <> ''))
  AND (lower(h.type) IN ('heldout_' || lower(v.type), 'heldout_relevance', 'heldout_interaction')
    OR lower(v.type) = 'interaction'
    OR (ifnull(v.value = h.value, 0) AND v.timestamp <> '' AND v.timestamp = h.timestamp)) AS is_copy
FROM events v CROSS JOIN events h
WHERE v.type NOT LIKE 'heldout\_%' ESCAPE '\' AND v.item_id <> '' AND h.type LIKE 'heldout\_%' ESCAPE '\'
  AND h.project_id = v.project_id AND h.user_id = v.user_id AND h.item_id = v.item_id;

-- Sums leave out nothing silently: where a call has an impossible number there is no sum.
CREATE VIEW v_runs AS
SELECT
  ru.id, p.name AS project, ru.protocol, r.name AS rater,
  CASE WHEN json_valid(ru.judge) THEN CAST(json_extract(ru.judge, '$.spec') AS TEXT) ELSE '' END AS judge,
  pr.name || '@' || pr.version AS prompt, ru.state, ru.wanted,
  (SELECT count(*) FROM calls k WHERE k.run_id = ru.id) AS calls,
  (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state = 'done') AS done,
  (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.state = 'failed') AS failed,
  (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.cached_from IS NOT NULL) AS cached,
  (SELECT CASE WHEN ifnull(sum(k.tokens_in NOT BETWEEN 0 AND 1e12), 0) = 0
     THEN sum(CASE WHEN k.tokens_in BETWEEN 0 AND 1e12 THEN k.tokens_in END) END
   FROM calls k WHERE k.run_id = ru.id AND k.cached_from IS NULL) AS tokens_in,
  (SELECT CASE WHEN ifnull(sum(k.tokens_out NOT BETWEEN 0 AND 1e12), 0) = 0
     THEN sum(CASE WHEN k.tokens_out BETWEEN 0 AND 1e12 THEN k.tokens_out END) END
   FROM calls k WHERE k.run_id = ru.id AND k.cached_from IS NULL) AS tokens_out,
  (SELECT CASE WHEN ifnull(sum(k.cost_usd NOT BETWEEN 0 AND 1e9), 0) = 0 THEN sum(k.cost_usd) END
   FROM calls k WHERE k.run_id = ru.id AND k.cached_from IS NULL) AS cost_usd,
  ru.seconds, ru.error, ru.created_at, ru.started_at, ru.finished_at,
  (SELECT total(k.unknown_usd) + total(k.reserved_usd) FROM calls k WHERE k.run_id = ru.id) AS unknown_usd,
  (SELECT count(*) FROM calls k WHERE k.run_id = ru.id AND k.cached_from IS NULL AND (
     k.tokens_in NOT BETWEEN 0 AND 1e12 OR k.tokens_out NOT BETWEEN 0 AND 1e12 OR k.cost_usd NOT BETWEEN 0 AND 1e9
   )) AS impossible, ru.waiting_until, ru.name
FROM runs ru
JOIN projects p ON p.id = ru.project_id
JOIN raters r ON r.id = ru.rater_id
JOIN prompts pr ON pr.id = ru.prompt_id;

CREATE VIEW v_calls AS
SELECT
  p.name AS project, k.id AS call_id, k.run_id, ru.protocol, r.name AS rater, k.case_id, c.user_id, c.item_id,
  c.system_a, c.system_b, k.list_order, k.aspect, k.sample, k.state, k.attempts, k.content_hash, k.request_hash,
  k.cached_from, k.reply, k.thinking, k.model, k.stop_reason, k.parsed_by, k.structured, k.tokens_in, k.tokens_out,
  k.tokens_cached, k.tokens_cache_written, k.cost_usd, k.latency_s, k.sent, k.error_kind, k.error, k.finished_at,
  c.context, c.served_at
FROM calls k
JOIN runs ru ON ru.id = k.run_id
JOIN raters r ON r.id = ru.rater_id
JOIN cases c ON c.id = k.case_id
JOIN projects p ON p.id = ru.project_id;

CREATE VIEW v_outcomes AS
SELECT
  p.name AS project, o.name AS experiment, o.system_a, o.system_b, o.impressions_a, o.impressions_b,
  o.clicks_a, o.clicks_b, o.clicks_a * 1.0 / o.impressions_a AS rate_a, o.clicks_b * 1.0 / o.impressions_b AS rate_b,
  (o.clicks_a * 1.0 / o.impressions_a) / nullif(o.clicks_b * 1.0 / o.impressions_b, 0) - 1 AS lift,
  o.created_at, o.began_at, o.ended_at, o.users_a, o.users_b
FROM outcomes o
JOIN projects p ON p.id = o.project_id;
