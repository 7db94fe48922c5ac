"""The contents of a project: runs, judges, costs, experiments; and a check of the installation."""
