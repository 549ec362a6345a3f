"""The reader of the demonstration's training: a rule that sees a question and a memory, and nothing else."""

from __future__ import annotations

import re

from looseleaf.memory import WorkingMemory
from looseleaf.question import NOT_ANSWERABLE
from looseleaf.roles import Reading

__all__ = ["CountReader", "count_reader"]

ASKED = re.compile(r"How many (\w+) are on page (\d+)\?")
COUNTED = re.compile(r"(\d+) (\w+)")


class CountReader:
    """Answers "How many boats are on page 3?" from a finding of page 3 that says "47 boats"."""

    def read(self, question: str, memory: WorkingMemory) -> Reading:
        """The number of the first finding that says it, or that it is not answerable."""
        asked = ASKED.fullmatch(question)
        if asked is None:
            return Reading(text=NOT_ANSWERABLE)
        thing, page = asked.groups()
        for finding in memory:
            for number, counted in COUNTED.findall(finding.text):
                if counted == thing and finding.source_page == int(page):
                    return Reading(text=number)
        return Reading(text=NOT_ANSWERABLE)


def count_reader() -> CountReader:
    """For `--reader python:looseleaf.training.demo.readers:count_reader`."""
    return CountReader()
