"""results/report.md and results/report.html: one content (`model`), two templates."""
