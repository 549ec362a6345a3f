"""Claim-level grounding: does the page that a finding cites say it?"""

from looseleaf.lab.grounding.check import check_finding
from looseleaf.lab.grounding.page_index import PageIndex
from looseleaf.lab.grounding.record import ClaimKind, ClaimVerdict, Grounding, Verdict

__all__ = ["ClaimKind", "ClaimVerdict", "Grounding", "PageIndex", "Verdict", "check_finding"]
