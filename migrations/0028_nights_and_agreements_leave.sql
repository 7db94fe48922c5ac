-- Nothing watches a folder any more, and agreement is counted from the verdicts whenever it is asked for.
DROP TRIGGER run_agreements_label_added;
DROP TRIGGER run_agreements_label_changed;
DROP TRIGGER run_agreements_label_removed;
DROP TABLE run_agreements;
DROP TABLE anchor_verdicts;
DROP TABLE anchor_cases;
DROP TABLE watched_files;
DROP TABLE watches;
