"""results/report.html: the report as a single file for a browser, without a network."""
