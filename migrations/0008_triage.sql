-- What readers did about verdicts: a log to which rows are added and never changed. A row outlives the verdict it
-- is about, not its case.
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
CREATE INDEX triage_by_verdict ON triage_log(verdict_id, id);
CREATE INDEX triage_by_case ON triage_log(case_id);
CREATE INDEX triage_by_project ON triage_log(project_id, id);
CREATE UNIQUE INDEX triage_undone ON triage_log(undoes);
CREATE TRIGGER triage_is_not_changed BEFORE UPDATE OF id, project_id, case_id, rater, aspect, protocol, reader,
  action, label, value, text, undoes, created_at ON triage_log
BEGIN SELECT raise(ABORT, 'the triage log is only added to'); END;
CREATE TRIGGER triage_is_not_deleted BEFORE DELETE ON triage_log
WHEN EXISTS (SELECT 1 FROM projects WHERE id = old.project_id) AND EXISTS (SELECT 1 FROM cases WHERE id = old.case_id)
BEGIN SELECT raise(ABORT, 'the triage log is only added to'); END;

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
