"""The report: one HTML file that needs nothing else, and fragments of it for notebooks."""

from farloop.report.page import fragment, page

__all__ = ["fragment", "page"]
