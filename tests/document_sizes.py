"""How many questions the documents of MMLongBench-Doc have: sizes for simulations, no data of the benchmark.

`{(questions, answerable questions): documents}`, counted on `samples.json` of yubo2333/MMLongBench-Doc (1,082
questions, 859 of them answerable, 135 documents), for the whole set and for 37 of its documents. A test in
`test_statistics_coverage.py` counts again where the data is there.
"""

from __future__ import annotations

ALL_DOCUMENTS = {
    **{(3, 3): 3, (4, 3): 1, (4, 4): 4, (5, 4): 7, (5, 5): 3, (6, 4): 6, (6, 5): 11, (6, 6): 7},
    **{(7, 5): 9, (7, 6): 8, (7, 7): 5, (8, 5): 5, (8, 6): 16, (8, 7): 8, (9, 6): 4, (9, 7): 7},
    **{(9, 8): 1, (9, 9): 1, (10, 7): 4, (10, 8): 4, (10, 9): 1, (10, 10): 2, (11, 6): 1, (11, 7): 1},
    **{(11, 8): 1, (12, 6): 1, (12, 7): 1, (12, 8): 2, (12, 9): 2, (12, 12): 1, (14, 9): 1, (15, 15): 1},
    **{(16, 11): 2, (16, 16): 1, (17, 12): 1, (17, 17): 1, (18, 12): 1},
}
SOME_DOCUMENTS = {
    **{(3, 3): 1, (4, 3): 1, (4, 4): 1, (6, 4): 2, (7, 5): 2, (7, 6): 1, (8, 5): 3, (8, 6): 5, (8, 7): 6},
    **{(9, 6): 1, (9, 8): 1, (9, 9): 1, (10, 7): 3, (10, 8): 3, (10, 9): 1, (10, 10): 1, (12, 6): 1},
    **{(12, 8): 1, (15, 15): 1, (16, 16): 1},
}


def sizes_of(counted: dict[tuple[int, int], int]) -> list[tuple[int, int]]:
    """(questions, answerable questions) of each document."""
    return [size for size, documents in counted.items() for _ in range(documents)]
