-- A run may have a name of the user's own. The number of a deleted run is not given to another one: files and notes
-- outside the database may still mention it.
ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT '';
CREATE TABLE run_numbers (
  last INTEGER NOT NULL
) STRICT;
INSERT INTO run_numbers (last) SELECT ifnull(max(id), 0) FROM runs;

DROP VIEW v_runs;
CREATE VIEW v_runs AS
SELECT
  ru.id, p.name AS project, ru.protocol, r.name AS rater, json_extract(ru.judge, '$.spec') AS judge,
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
