"""People and what is made from raters: annotation, adjudication, consensus, ensembles, metrics as raters."""
