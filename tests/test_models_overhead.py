"""What looseleaf costs on top of the model calls, held against its bounds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "perf" / "overhead.py"


@pytest.mark.slow
def test_cpu_and_memory_stay_within_their_bounds() -> None:
    """At most 1.25 × the CPU of a bare loop, and less than 300 MB at 64 in flight; the script checks both."""
    command = [
        sys.executable,
        str(SCRIPT),
        "--questions",
        "128",
        "--rounds",
        "2",
        "--inspect-python",
        "nowhere",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"looseleaf / bare loop: \d", done.stdout)
