-- What the list of verdicts is read by: each verdict knows its project, its orders and filters have indexes, and the
-- reasoning can be searched by words.
ALTER TABLE verdicts ADD COLUMN project_id INTEGER NOT NULL DEFAULT 0 REFERENCES projects(id) ON DELETE CASCADE;
UPDATE verdicts SET project_id = (SELECT r.project_id FROM raters r WHERE r.id = rater_id);

-- in the order they were made; what a filter asks for most is a part of it
CREATE INDEX verdicts_by_project ON verdicts(project_id);
CREATE INDEX verdicts_flagged ON verdicts(project_id) WHERE flag_count > 0;
CREATE INDEX verdicts_flipped ON verdicts(project_id) WHERE order_consistent = 0;
CREATE INDEX verdicts_failed ON verdicts(project_id) WHERE state = 'failed';
CREATE INDEX verdicts_noted ON verdicts(project_id) WHERE note <> '';
CREATE INDEX verdicts_by_rater ON verdicts(rater_id);
-- verdicts without a label or a confidence come last
CREATE INDEX verdicts_by_label ON verdicts(project_id, label = '', label COLLATE NOCASE);
CREATE INDEX verdicts_by_confidence ON verdicts(project_id, confidence IS NULL, confidence);
DROP INDEX verdicts_by_case;
CREATE INDEX verdicts_by_case ON verdicts(case_id, aspect, rater_id, project_id);

-- Answers get numbers, which a search by words needs; nothing refers to them, and the views go on to see them.
CREATE TABLE numbered_answers (
  id INTEGER PRIMARY KEY,
  call_id INTEGER NOT NULL REFERENCES calls(id) ON DELETE CASCADE,
  aspect TEXT NOT NULL,
  value REAL NOT NULL,
  label TEXT NOT NULL,
  reasoning TEXT NOT NULL DEFAULT '',
  confidence REAL,
  UNIQUE (call_id, aspect)
) STRICT;
INSERT INTO numbered_answers (call_id, aspect, value, label, reasoning, confidence)
SELECT call_id, aspect, value, label, reasoning, confidence FROM answers ORDER BY call_id, aspect;
DROP TABLE answers;
PRAGMA legacy_alter_table = ON;
ALTER TABLE numbered_answers RENAME TO answers;
PRAGMA legacy_alter_table = OFF;

CREATE VIRTUAL TABLE reasoning_search USING fts5(
  reasoning, content = 'answers', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO reasoning_search(reasoning_search) VALUES ('rebuild');
CREATE TRIGGER answers_found AFTER INSERT ON answers BEGIN
  INSERT INTO reasoning_search(rowid, reasoning) VALUES (new.id, new.reasoning);
END;
CREATE TRIGGER answers_lost AFTER DELETE ON answers BEGIN
  INSERT INTO reasoning_search(reasoning_search, rowid, reasoning) VALUES ('delete', old.id, old.reasoning);
END;
CREATE TRIGGER answers_changed AFTER UPDATE OF reasoning ON answers BEGIN
  INSERT INTO reasoning_search(reasoning_search, rowid, reasoning) VALUES ('delete', old.id, old.reasoning);
  INSERT INTO reasoning_search(rowid, reasoning) VALUES (new.id, new.reasoning);
END;
