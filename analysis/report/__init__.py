"""What people read: report.md and report.html, which are one content (`model`) in two templates;
the answer of `make shape` (`shape_ranking`); the table of docs/special_rows.md (`special_rows`).
"""
