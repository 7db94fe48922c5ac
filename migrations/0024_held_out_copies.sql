-- A visible event may be a copy of one that is held out, such as a file of all ratings beside its test split. No judge may
-- see it, and nothing may be counted from it.

-- 1: a copy of an event that is held out for every list of its user
ALTER TABLE events ADD COLUMN is_copy INTEGER NOT NULL DEFAULT 0;
CREATE INDEX events_copies ON events(project_id) WHERE is_copy = 1;
CREATE INDEX events_held_out ON events(project_id, user_id, item_id) WHERE type LIKE 'heldout\_%' ESCAPE '\';

-- Visible events that are copies of an event which is held out for the lists of one occasion.
CREATE TABLE occasion_copies (
  event_id INTEGER NOT NULL REFERENCES events(id) ON DELETE CASCADE,
  context TEXT NOT NULL,
  served_at TEXT NOT NULL,
  PRIMARY KEY (event_id, context, served_at)
) STRICT, WITHOUT ROWID;

-- Visible events beside the held-out ones of the same user and item. `is_copy`: whether both may be one event, because all that
-- both carry is equal: the context; the time, to the second, or the day where one of them has only a day; the value, unless
-- both have a time; the type, unless one says only that there was an interaction or a judgement.
CREATE VIEW v_held_out_matches AS
SELECT v.project_id, v.id AS event_id, v.import_id, v.user_id, v.item_id, h.id AS held_out_id, h.context, h.served_at,
  (v.context = '' OR h.context = '' OR v.context = h.context)
  AND (v.timestamp = '' OR h.timestamp = '' OR substr(v.timestamp, 1, 19) = substr(h.timestamp, 1, 19)
    OR (substr(v.timestamp, 1, 10) = substr(h.timestamp, 1, 10)
      AND '00:00:00' IN (substr(v.timestamp, 12, 8), substr(h.timestamp, 12, 8))))
  AND (v.value IS NULL OR h.value IS NULL OR v.value = h.value OR lower(h.type) = 'heldout_relevance'
    OR (v.timestamp <> '' AND h.timestamp <> ''))
  AND (lower(h.type) IN ('heldout_' || lower(v.type), 'heldout_relevance', 'heldout_interaction')
    OR lower(v.type) = 'interaction'
    OR (ifnull(v.value = h.value, 0) AND v.timestamp <> '' AND v.timestamp = h.timestamp)) AS is_copy
FROM events v CROSS JOIN events h
WHERE v.type NOT LIKE 'heldout\_%' ESCAPE '\' AND v.item_id <> '' AND h.type LIKE 'heldout\_%' ESCAPE '\'
  AND h.project_id = v.project_id AND h.user_id = v.user_id AND h.item_id = v.item_id;

UPDATE events SET is_copy = 1 WHERE id IN (
  SELECT event_id FROM v_held_out_matches WHERE is_copy AND context = '' AND served_at = '');
INSERT OR IGNORE INTO occasion_copies
SELECT event_id, context, served_at FROM v_held_out_matches WHERE is_copy AND context || served_at <> '';
