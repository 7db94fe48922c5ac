-- The judgements of pairs by order that came with a file: what calls and answers are to the runs of judges here.
CREATE TABLE games (
  verdict_id INTEGER NOT NULL REFERENCES verdicts(id) ON DELETE CASCADE,
  list_order TEXT NOT NULL CHECK (list_order IN ('ab', 'ba')),
  value REAL,
  PRIMARY KEY (verdict_id, list_order)
) STRICT, WITHOUT ROWID;
