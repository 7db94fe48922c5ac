"""The data of a project: what was imported, and what a judge will see of it."""
