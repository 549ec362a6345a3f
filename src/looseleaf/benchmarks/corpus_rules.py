"""Faults that show only when the documents of a folder are compared with each other and with the questions."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from looseleaf.benchmarks.faults import Fault, FaultKind
from looseleaf.benchmarks.folder import normalised_name
from looseleaf.benchmarks.rows import readable
from looseleaf.document import Document
from looseleaf.question import Question

__all__ = ["duplicate_documents", "misplaced_documents", "renamed_documents", "vocabulary", "wrong_documents"]

BETTER_SHARE = 0.2
"""Share of unrelated documents that must fit the questions better before a document is suspected.

On the 71 documents with enough text among 93 of MMLongBench-Doc's, the right document was beaten by at most 12.7 % of
the others; a document drawn at random is beaten by more than 20 % in four of five cases.
"""

FEWEST_OTHERS = 5
"""Fewest documents to compare with, and with two of them beating the document."""

MOST_OTHERS = 100
"""Most documents to compare with; they are taken at even steps."""

FEWEST_QUESTIONS = 3
FEWEST_WORDS = 200
FEWEST_CHARACTERS = 300
"""A document is judged by its words only if it has this many questions, different words, and characters a page."""

LARGER_VOCABULARY = 2.0
"""Only documents with at most this many times the words are compared: the longer a text, the more words it has."""

NAME_LIKENESS = 0.85
"""Likeness of two normalised names (difflib ratio) from which one may be the other's misspelling."""

_WORD = re.compile(r"[^\W\d_]{4,}")


def vocabulary(text: str) -> frozenset[str]:
    """The different words of a text, of four letters or more, case-folded."""
    return frozenset(word.casefold() for word in _WORD.findall(text))


def renamed_documents(documents: Mapping[str, Path]) -> Iterator[Fault]:
    """Documents that were found only after their names were normalised."""
    for doc_id, path in documents.items():
        tail = doc_id.rpartition("/")[2]
        if path.name not in (tail, f"{tail}.pdf"):
            message = (
                f'"{doc_id}" was taken to be the file {readable(path.name)}; rename the file to be exact'
            )
            yield Fault(
                kind=FaultKind.RENAMED_DOCUMENT,
                message=message,
                doc_id=doc_id,
                detail={"file": readable(path.name)},
            )


def duplicate_documents(hashes: Mapping[str, str], extra: Mapping[str, str]) -> Iterator[Fault]:
    """Documents with the same bytes.

    Args:
        hashes: `doc_id` to sha256.
        extra: name to sha256 of the files that no question names.
    """
    owners: dict[str, list[str]] = defaultdict(list)
    for name, sha256 in (*hashes.items(), *extra.items()):
        owners[sha256].append(name)
    for name, sha256 in hashes.items():
        if others := [other for other in owners[sha256] if other != name]:
            message = f"{', '.join(others)} has the same bytes; one of them is not what its name says"
            yield Fault(
                kind=FaultKind.DUPLICATE_DOCUMENT,
                message=message,
                doc_id=name,
                detail={"same_as": others, "sha256": sha256},
            )


def misplaced_documents(missing: Iterable[str], extra: Mapping[str, Path]) -> Iterator[Fault]:
    """Files that no question names, whose name is not UTF-8 or is close to a missing document's."""
    absent = {normalised_name(doc_id): doc_id for doc_id in missing}
    for name, path in extra.items():
        if not _is_utf8(path.name):
            message = f"the file name {name} is not UTF-8; rename it to the document's name"
            yield Fault(kind=FaultKind.UNREADABLE_NAME, message=message, doc_id=name)
        close = difflib.get_close_matches(normalised_name(path.name), absent, n=1, cutoff=NAME_LIKENESS)
        if close:
            doc_id = absent[close[0]]
            message = f'no question names the file {name}, and it may be the missing "{doc_id}"'
            yield Fault(
                kind=FaultKind.MISPLACED_DOCUMENT,
                message=message,
                doc_id=doc_id,
                certain=False,
                detail={"file": name},
            )


def wrong_documents(
    questions: Mapping[str, Sequence[Question]], documents: Mapping[str, Document]
) -> Iterator[Fault]:
    """Documents whose words fit their own questions worse than unrelated documents' words do.

    The fit is the share of the questions' words that occur in the document, each word weighed by its rarity among all
    questions. Scanned documents have no words and are not judged.
    """
    words = {doc_id: vocabulary(" ".join(document.texts())) for doc_id, document in documents.items()}
    rarity = _rarity(question for listed in questions.values() for question in listed)
    for doc_id, document in documents.items():
        if not _judged(document, words[doc_id], questions[doc_id]):
            continue
        asked = [vocabulary(question.question) for question in questions[doc_id]]
        own = _fit(asked, words[doc_id], rarity)
        others = _comparable(doc_id, words)
        better = [other for other in others if _fit(asked, words[other], rarity) >= own]
        if len(others) >= FEWEST_OTHERS and len(better) >= max(2, math.ceil(BETTER_SHARE * len(others))):
            message = (
                f"{len(better)} of {len(others)} unrelated documents have more of its questions' words than the file "
                "has; it may be another document under this name"
            )
            yield Fault(
                kind=FaultKind.WRONG_DOCUMENT,
                message=message,
                doc_id=doc_id,
                certain=False,
                detail={"fit": round(own, 3), "better": len(better), "compared": len(others)},
            )


def _judged(document: Document, words: frozenset[str], questions: Sequence[Question]) -> bool:
    characters = sum(len(text) for text in document.texts())
    return (
        len(questions) >= FEWEST_QUESTIONS
        and len(words) >= FEWEST_WORDS
        and characters >= FEWEST_CHARACTERS * document.page_count
    )


def _comparable(doc_id: str, words: Mapping[str, frozenset[str]]) -> list[str]:
    most = LARGER_VOCABULARY * len(words[doc_id])
    others = [other for other, found in words.items() if other != doc_id and len(found) <= most]
    return others[:: math.ceil(len(others) / MOST_OTHERS) or 1]


def _rarity(questions: Iterable[Question]) -> dict[str, float]:
    counted = [vocabulary(question.question) for question in questions]
    seen = Counter(word for found in counted for word in found)
    return {word: math.log(len(counted) / count) for word, count in seen.items()}


def _fit(asked: Sequence[frozenset[str]], words: frozenset[str], rarity: Mapping[str, float]) -> float:
    total = sum(rarity[word] for found in asked for word in found)
    return sum(rarity[word] for found in asked for word in found & words) / total if total else 0.0


def _is_utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
