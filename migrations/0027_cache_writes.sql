-- Input tokens that the server stored in its cache, for which it may charge more than for others. NULL where it did not
-- say, and in all calls made before this was stored.
ALTER TABLE calls ADD COLUMN tokens_cache_written INTEGER;

DROP VIEW v_calls;
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
