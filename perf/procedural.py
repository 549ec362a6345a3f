"""How fast documents are generated, and whether anything but the evidence gives their answers away.

Answerable questions are read from different pages and scored by the official rule:

* `non-gold`: every page except the gold pages, by the embedded extractive model, which may abstain;
* `non-gold, forced`: the same, but its best guess is taken however weak it is;
* `non-gold, nearest line` and `gold, nearest line`: a guesser that is told the answer format, takes the line with the
  most words of the question, and from it a number or name of that format that the question does not hold;
* `question only`: no page at all;
* `gold`: the gold pages only, for comparison.

    python perf/procedural.py [--documents 60] [--seed 0] [--split test] [--difficulty 0.5]

Bounds that are checked: at least 600 pages a CPU minute; at most 5 % from non-gold pages, at most 3 % from the
question alone.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium

from looseleaf.models.extractive import Passage, answer, candidates
from looseleaf.procedural import make
from looseleaf.scoring import mmlongbench

LEAST_PAGES_A_MINUTE = 600
MOST_NON_GOLD, MOST_QUESTION_ONLY = 0.05, 0.03
Reader = Callable[[str, list[Passage], int, str], str]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", default="test", choices=["train", "rl", "test"])
    parser.add_argument("--difficulty", type=float, default=0.5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "made"
        start = time.process_time()
        manifest = make(
            folder,
            documents=options.documents,
            seed=options.seed,
            split=options.split,
            difficulty=options.difficulty,
        )
        speed = manifest.pages / (time.process_time() - start) * 60
        print(f"{manifest.pages} pages ({manifest.scanned_pages} scanned): {speed:.0f} pages a CPU minute")
        print(f"questions {manifest.questions}, over several pages {manifest.cross_page}")
        print(f"formats {manifest.formats}\nsources {manifest.sources}")
        means = shortcuts(folder)
    good = speed >= LEAST_PAGES_A_MINUTE
    good &= max(mean for name, mean in means.items() if name.startswith("non-gold")) <= MOST_NON_GOLD
    good &= means["question only"] <= MOST_QUESTION_ONLY
    return 0 if good else 1


def shortcuts(folder: Path) -> dict[str, float]:
    """Mean official score of each reading; printed by group of templates."""
    rows = json.loads((folder / "samples.json").read_bytes())
    truth = json.loads((folder / "truth.json").read_bytes())["questions"]
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    words: dict[str, list[str]] = {}
    for row, question in zip(rows, truth, strict=True):
        if row["answer_format"] == "None":
            continue
        if row["doc_id"] not in words:
            words = {row["doc_id"]: texts(folder / "documents" / row["doc_id"])}
        pages = [Passage(i, text) for i, text in enumerate(words[row["doc_id"]], start=1)]
        gold = set(question["evidence_pages"])
        others = [page for page in pages if page.page not in gold]
        for name, reader, shown in (
            ("non-gold", own_answer, others),
            ("non-gold, forced", best_guess, others),
            ("non-gold, nearest line", nearest_line, others),
            ("question only", own_answer, []),
            ("gold", own_answer, [page for page in pages if page.page in gold]),
            ("gold, nearest line", nearest_line, [page for page in pages if page.page in gold]),
        ):
            said = reader(row["question"], shown, len(pages), row["answer_format"])
            value = mmlongbench.score(row["answer"], said, row["answer_format"]).value or 0.0
            for group in ("all", row["answer_format"], question["template"].split(".")[0]):
                scores[name][group].append(value)
    for name, groups in scores.items():
        shown_groups = {group: round(sum(s) / len(s), 3) for group, s in sorted(groups.items())}
        print(f"{name} (n = {len(groups['all'])}): {shown_groups}")
    return {name: sum(groups["all"]) / len(groups["all"]) for name, groups in scores.items()}


def own_answer(question: str, pages: list[Passage], count: int, _: str) -> str:
    found = answer(question, pages, count)
    return found.text if found else "Not answerable"


def best_guess(question: str, pages: list[Passage], count: int, _: str) -> str:
    found = candidates(question, pages, count)
    return found[0].text if found else "Not answerable"


def nearest_line(question: str, pages: list[Passage], _: int, answer_format: str) -> str:
    """A typed piece of the line that shares most words with the question; of equal lines the first."""
    asked = set(words_of(question))
    lines = [line for page in pages for line in re.split(r"[\r\n]+|(?<=\.) ", page.text)]
    ranked = sorted(lines, key=lambda line: -len(asked & set(words_of(line))))
    for line in ranked[:40]:
        numbers = [n.replace(",", "") for n in NUMBER.findall(line) if n not in question]
        if answer_format == "Str":
            rest = NUMBER.split(line)[0].strip(" .:%")
            if rest and rest not in question:
                return rest
        else:
            fitting = [n for n in numbers if ("." in n) == (answer_format == "Float")]
            if fitting:
                return fitting[0] if answer_format != "List" else repr(fitting[:2])
    return "Not answerable"


def words_of(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]+|\d+", text.lower())


def texts(path: Path) -> list[str]:
    pdf: Any = pdfium.PdfDocument(path)
    return [page.get_textpage().get_text_range() for page in pdf]


if __name__ == "__main__":
    sys.exit(main())
