"""results/report.html: the report as one page that needs nothing else."""
