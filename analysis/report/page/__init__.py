"""The page report.html: its template, style and script, and the data that the script reads."""
