"""The common part of reports: tables, pages, files, and the choice of raters to compare."""
