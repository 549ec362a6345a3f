"""A RUN on disk: append-only JSON lines, one writer, safe against kill -9.

Layout:

* `config.toml`: the frozen, resolved configuration
* `manifest.json`: hashes, versions and counts
* `questions.jsonl`: the selected questions with their gold answers, so that a run can be re-scored anywhere
* `trajectories.jsonl`, `readings/<id>.jsonl`, `extractions/<id>.jsonl`, `scores/<id>.jsonl`, each of the last three
  with a sidecar `<id>.json` that holds the configuration behind the id
* `drift/<id>.jsonl` with a sidecar: the pinned items replayed through an extractor or judge (`looseleaf.lab.drift`)
* `report/`

Every record is one `O_APPEND` write. A torn last line is dropped when the file is opened.
"""

from looseleaf.runstore.config_id import config_id
from looseleaf.runstore.files import write_atomically
from looseleaf.runstore.ledger import Ledger
from looseleaf.runstore.rows import ExtractionRow, ReadingRow, ScoreRow
from looseleaf.runstore.run import Run

__all__ = ["ExtractionRow", "Ledger", "ReadingRow", "Run", "ScoreRow", "config_id", "write_atomically"]
