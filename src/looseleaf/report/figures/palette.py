"""Colours that people with any colour vision can tell apart, always with a shape or a label beside them.

Source: Okabe and Ito, "Color Universal Design" (2002).
"""

from __future__ import annotations

__all__ = ["CELL_COLOURS", "INK", "LINE", "MUTED", "SERIES"]

INK = "#1c2430"
MUTED = "#55606e"
LINE = "#d4d9e0"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#8a4f7d")
"""Blue, vermilion, bluish green, and a purple that is dark enough for text."""
CELL_COLOURS = {"11": "#0072b2", "10": "#e69f00", "01": "#56b4e9", "00": "#b8bec7"}
"""Fills of the outcome cells by (s_ans, s_mem)."""
