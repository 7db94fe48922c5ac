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
CREATE INDEX superseded_verdicts_by_rater ON superseded_verdicts(rater_id);
CREATE INDEX superseded_verdicts_by_case ON superseded_verdicts(case_id);
