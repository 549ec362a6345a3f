"""What the extractor says does not depend on the process: Python orders sets anew in each."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SEEDS = range(12)

COVERAGE = """
from looseleaf.models.extractive.candidate import Passage
from looseleaf.models.extractive.pool import Pool
from looseleaf.models.extractive.query import analyse

question = (
    "Which five key categories of shoes did the Brennick company focus its 2021 product offerings on, "
    "as Table 3 says?"
)
pool = Pool(analyse(question), [Passage(1, question)])
pool.weights = {root: 0.1 + 0.07 * index for index, root in enumerate(pool.weights)}
print(repr(pool.coverage(pool.weights)), len(pool.weights))
"""

SUPPORT = """
from looseleaf.lab.grounding import PageIndex

words = "harbour crane timber ship quay master customs house paint green lady review annual".split()
index = PageIndex([" ".join(words[: 3 + i]) for i in range(10)])
print(repr([index.support(page, frozenset(words)) for page in range(1, 11)]))
"""


@pytest.mark.parametrize("script", [COVERAGE, SUPPORT], ids=["coverage", "support"])
def test_sums_over_words_are_the_same_in_every_process(script: str) -> None:
    printed = set()
    for seed in SEEDS:
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        printed.add(done.stdout)
    assert len(printed) == 1, printed
