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
CREATE INDEX annotation_tasks_by_state ON annotation_tasks(rater_id, protocol, state, position);
CREATE INDEX annotation_tasks_by_project ON annotation_tasks(project_id, protocol, state);
CREATE INDEX annotation_tasks_by_case ON annotation_tasks(case_id, protocol);
CREATE INDEX annotation_tasks_by_prompt ON annotation_tasks(prompt_id);
CREATE INDEX annotation_tasks_by_run ON annotation_tasks(run_id);

CREATE VIEW v_annotations AS
SELECT
  p.name AS project, r.name AS annotator, t.protocol, t.case_id, c.user_id, c.item_id, c.system_a, c.system_b,
  pr.name || '@' || pr.version AS prompt, t.position, t.first, t.state, t.reason, t.seconds,
  t.opened_at, t.done_at, t.revealed_at, t.id AS task_id
FROM annotation_tasks t
JOIN projects p ON p.id = t.project_id
JOIN raters r ON r.id = t.rater_id
JOIN cases c ON c.id = t.case_id
JOIN prompts pr ON pr.id = t.prompt_id;
