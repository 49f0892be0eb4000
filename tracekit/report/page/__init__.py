"""A report as one HTML file that needs nothing else."""

from tracekit.report.page.html import write_html

__all__ = ["write_html"]
