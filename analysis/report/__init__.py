"""report.md and report.html: one content (`model`), two templates."""
