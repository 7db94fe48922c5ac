-- Lists imported again replace the earlier ones, and verdicts on those stay. What is counted over verdicts is about one
-- generation of lists, as in the reports.

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

DROP VIEW v_leaderboard;
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
