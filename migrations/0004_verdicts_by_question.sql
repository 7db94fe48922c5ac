-- All that the reports read of a question's verdicts, so that they need not touch the rows. The condition always
-- holds; it keeps the index from queries that do not state it, which have better ones.
CREATE INDEX verdicts_by_question ON verdicts(rater_id, protocol, aspect, case_id, value, order_consistent)
WHERE rater_id > 0;
