-- When an experiment ran (ISO 8601 UTC, empty: unknown) and how many customers saw each system.
ALTER TABLE outcomes ADD COLUMN began_at TEXT NOT NULL DEFAULT '';
ALTER TABLE outcomes ADD COLUMN ended_at TEXT NOT NULL DEFAULT '';
ALTER TABLE outcomes ADD COLUMN users_a INTEGER CHECK (users_a BETWEEN 1 AND impressions_a);
ALTER TABLE outcomes ADD COLUMN users_b INTEGER CHECK (users_b BETWEEN 1 AND impressions_b);
DROP VIEW v_outcomes;
CREATE VIEW v_outcomes AS
SELECT
  p.name AS project, o.name AS experiment, o.system_a, o.system_b, o.impressions_a, o.impressions_b,
  o.clicks_a, o.clicks_b, o.clicks_a * 1.0 / o.impressions_a AS rate_a, o.clicks_b * 1.0 / o.impressions_b AS rate_b,
  (o.clicks_a * 1.0 / o.impressions_a) / nullif(o.clicks_b * 1.0 / o.impressions_b, 0) - 1 AS lift,
  o.created_at, o.began_at, o.ended_at, o.users_a, o.users_b
FROM outcomes o
JOIN projects p ON p.id = o.project_id;
