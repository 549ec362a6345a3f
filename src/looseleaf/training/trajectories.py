"""Stored trajectories as training data: read from files or RUN folders, and turned into token sequences on demand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from looseleaf.benchmarks import QuestionSet
from looseleaf.document import PageStore
from looseleaf.errors import DataError
from looseleaf.protocol import Protocol
from looseleaf.runstore import Ledger, Run
from looseleaf.training.conversation import Conversation, run_now
from looseleaf.training.sequences import TokenSequence, sequence_of
from looseleaf.training.stored_view import StoredView
from looseleaf.trajectory import Trajectory

__all__ = ["SftData", "read_trajectories"]


def read_trajectories(places: Sequence[str], protocol: Protocol) -> list[Trajectory]:
    """Trajectories of files and RUN folders, in order, without those that a fault ended.

    Raises:
        UserError: a place cannot be read, holds none, or holds trajectories of another protocol.
    """
    found: list[Trajectory] = []
    for place in places:
        held = _held(Path(place))
        if not held:
            raise DataError(
                f"{place} holds no trajectory to learn from; make some with `looseleaf train collect`."
            )
        other = next((one for one in held if one.protocol not in ("", protocol.name)), None)
        if other is not None:
            raise DataError(
                f"{other.trajectory_id} of {place} was made under the protocol {other.protocol} and this training has "
                f"{protocol.name}; what the model reads would differ, so collect under the same rules."
            )
        found += held
    return found


def _held(path: Path) -> list[Trajectory]:
    if path.is_dir():
        stored = Run.open(path).trajectories().values()
    elif path.is_file():
        stored = {one.trajectory_id: one for one in Ledger(path, Trajectory).read()}.values()
    else:
        raise DataError(f"There are no trajectories at {path}; make them with `looseleaf train collect`.")
    return [one for one in stored if not one.stop_reason.is_fault]


class SftData:
    """A data set whose items are token sequences.

    It keeps trajectories, which are small; a sequence with its page images is built anew whenever it is asked for.
    Nothing goes through Arrow, which would pad the arguments of tool calls with nulls that a template then prints.

    Args:
        trajectories: what is learnt.
        question_set: has their documents.
        conversation: of the model that learns.
        store: page store; the process-wide one by default.

    Raises:
        DataError: a trajectory's question or document is not in the set.
    """

    def __init__(
        self,
        trajectories: Sequence[Trajectory],
        question_set: QuestionSet,
        conversation: Conversation,
        store: PageStore | None = None,
    ) -> None:
        self._trajectories = list(trajectories)
        self._set = question_set
        self._conversation = conversation
        self._store = store
        self.questions = [question_set.question(one.question_id) for one in self._trajectories]
        for question in self.questions:
            question_set.path_of(question)

    def __len__(self) -> int:
        return len(self._trajectories)

    def __getitem__(self, index: int) -> TokenSequence:
        return run_now(sequence_of(self._conversation, self.view(index)))

    def view(self, index: int) -> StoredView:
        """A trajectory as its policy saw it.

        Raises:
            DataError: its document is not the one that was read.
            DocumentError: its document cannot be opened.
        """
        trajectory = self._trajectories[index]
        document = self._set.open(self.questions[index], self._store)
        if trajectory.doc_sha256 not in ("", document.sha256):
            raise DataError(
                f"{document.path} is not the document that {trajectory.trajectory_id} was made from; "
                "put that one back, or collect again."
            )
        return StoredView(trajectory, document, self._conversation.protocol)

    def fitting(self, longest: int) -> tuple[SftData, int]:
        """The trajectories with at most that many tokens after the opening, and how many have more.

        Every sequence is built once for that, so a page that cannot be rendered is found before training starts.
        A longer one is left out whole: cut off, it would lack the answer.
        """
        kept = [
            one for index, one in enumerate(self._trajectories) if self[index].completion_tokens <= longest
        ]
        left_out = len(self._trajectories) - len(kept)
        return SftData(kept, self._set, self._conversation, self._store), left_out
