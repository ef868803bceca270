"""The report: one HTML file that needs nothing else, and fragments of it for notebooks."""
