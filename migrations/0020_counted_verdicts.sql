-- Battles imported from a table of counts: reports say that their users are not known.
CREATE INDEX verdicts_counted ON verdicts(project_id, rater_id, protocol, aspect) WHERE rule = 'counted';
