"""Page numbers in foreign texts and file names.

The forms are those that writers of document agents use before a page image or as the heading of a page's text: `Page
7:`, `Page 7 (printed number vi):`, `[Image] File: a.pdf, Page: 7` (OxRML/MADQA @ 978fa76, openai_agent.py), `7-th
page:` (gipplab/ALDEN @ 8a0d3d4, vllm_rollout_spmd.py), and file names such as `page_0007.png` or `report_7.jpg`.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from looseleaf.adapters.imports.fields import MAX_PAGE

__all__ = ["heading_pages", "labelled_page", "named_page"]

_LABEL = re.compile(r"\bpage[\s_#:-]{0,3}(\d{1,7})\b|\b(\d{1,7})-?(?:st|nd|rd|th)[\s_-]page\b", re.IGNORECASE)
_HEADING = re.compile(
    r"^[#*\s\[]{0,8}page\s+(\d{1,7})\b[^\n]{0,80}?[:\]]?\**\s*$", re.IGNORECASE | re.MULTILINE
)
_FILE = re.compile(r"(?:page|p)[_-]?(\d{1,7})$|[_-](\d{1,7})$", re.IGNORECASE)
LOOK_BACK = 400
"""Characters before an image in which its label is looked for."""


def labelled_page(text: str) -> int | None:
    """The page that the end of a text names, as written; `None` where it names none."""
    found = list(_LABEL.finditer(text[-LOOK_BACK:]))
    return _number(found[-1]) if found else None


def heading_pages(text: str) -> tuple[int, ...]:
    """Pages whose text follows under a heading line such as `Page 7:`, as written, in order."""
    numbers = (_number(match) for match in _HEADING.finditer(text))
    return tuple(dict.fromkeys(number for number in numbers if number is not None))


def named_page(address: str) -> int | None:
    """The page that a file name or address names, as written; `None` for data addresses and other names."""
    if address.startswith("data:"):
        return None
    try:
        path = urlsplit(address).path
    except ValueError:
        return None
    stem = unquote(path).replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    found = _FILE.search(stem)
    return _number(found) if found else None


def _number(match: re.Match[str]) -> int | None:
    digits = next(group for group in match.groups() if group)
    return int(digits) if int(digits) <= MAX_PAGE else None
