"""results/report.md: the ranking, then the evidence for it."""
