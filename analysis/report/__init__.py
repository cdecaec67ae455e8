"""results/report.md: the verdict, then the evidence for it."""
