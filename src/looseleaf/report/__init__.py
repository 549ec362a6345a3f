"""Reports of stored runs: tables on the terminal, Markdown and JSON on disk."""

from looseleaf.report.build import build_report, write_report
from looseleaf.report.record import Report
from looseleaf.report.terminal import print_comparison, print_report

__all__ = ["Report", "build_report", "print_comparison", "print_report", "write_report"]
