-- How many calls a run is worked on with: what is wished for (NULL: what it was planned with), and what the process
-- that works on it has taken up.
ALTER TABLE runs ADD COLUMN wanted_concurrency INTEGER CHECK (wanted_concurrency BETWEEN 1 AND 1024);
ALTER TABLE runs ADD COLUMN concurrency INTEGER CHECK (concurrency > 0);

-- When the newest attempt at the run began; started_at is the first one's. Of runs that were resumed before this
-- column came nobody knows it.
ALTER TABLE runs ADD COLUMN attempt_started_at TEXT;
UPDATE runs SET attempt_started_at = started_at WHERE seconds = 0;

-- How far a run's verdicts agree with people's, worked out once. No row: not yet; computed_at NULL: somebody is at it;
-- truth_id NULL: people labelled nothing of it.
CREATE TABLE run_agreements (
  run_id INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  run_finished_at TEXT NOT NULL,
  token TEXT NOT NULL,
  truth_id INTEGER REFERENCES raters(id) ON DELETE CASCADE,
  stat TEXT NOT NULL DEFAULT '',
  value REAL,
  n INTEGER NOT NULL DEFAULT 0,
  computed_at TEXT
) STRICT;
CREATE INDEX run_agreements_by_project ON run_agreements(project_id);
CREATE INDEX run_agreements_by_truth ON run_agreements(truth_id);

-- Verdicts without a run are labels, overrides, consensus: whatever changes them makes the figures of the project stale.
CREATE TRIGGER run_agreements_label_added AFTER INSERT ON verdicts WHEN NEW.run_id IS NULL BEGIN
  DELETE FROM run_agreements WHERE project_id = NEW.project_id;
END;
CREATE TRIGGER run_agreements_label_changed AFTER UPDATE OF value, state, aspect, case_id, rater_id, protocol
ON verdicts WHEN NEW.run_id IS NULL BEGIN
  DELETE FROM run_agreements WHERE project_id = NEW.project_id;
END;
CREATE TRIGGER run_agreements_label_removed AFTER DELETE ON verdicts WHEN OLD.run_id IS NULL BEGIN
  DELETE FROM run_agreements WHERE project_id = OLD.project_id;
END;
