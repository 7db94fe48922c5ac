-- What live traffic said of two systems; a row an experiment, the systems in the order they were given.
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
  UNIQUE (project_id, name),
  CHECK (system_a <> system_b)
) STRICT;

CREATE VIEW v_outcomes AS
SELECT
  p.name AS project, o.name AS experiment, o.system_a, o.system_b, o.impressions_a, o.impressions_b,
  o.clicks_a, o.clicks_b, o.clicks_a * 1.0 / o.impressions_a AS rate_a, o.clicks_b * 1.0 / o.impressions_b AS rate_b,
  (o.clicks_a * 1.0 / o.impressions_a) / nullif(o.clicks_b * 1.0 / o.impressions_b, 0) - 1 AS lift,
  o.created_at
FROM outcomes o
JOIN projects p ON p.id = o.project_id;
