-- The agreement of runs with people is computed by other rules since: its intervals, and from which side pairs are seen.
DELETE FROM run_agreements;
