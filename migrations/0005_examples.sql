-- The scored example that a one-shot question about an explanation shows beside it.
ALTER TABLE run_cases ADD COLUMN example_snapshot INTEGER REFERENCES snapshots(id);

-- Arena's analyses speak of lists A and B, not of sets.
DROP VIEW v_verdicts;

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
  v.created_at, v.id AS verdict_id, v.rule, v.flag_count, v.note
FROM verdicts v
JOIN raters r ON r.id = v.rater_id
JOIN cases c ON c.id = v.case_id
JOIN projects p ON p.id = c.project_id;
