"""Reports: what was captured, what broke, what was guarded, where the time went.

`explain` runs a function and gives a `Report`, which prints itself, saves itself as HTML or JSON,
and can be compared with another one. Everything here is a function of events.
"""

from suture.tools.report.explain import explain, recording
from suture.tools.report.report import Report, ReportError, load

__all__ = ["Report", "ReportError", "explain", "load", "recording"]
