"""The files of a run: names and places, nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class RunDir:
    """One run directory. Paths are POSIX paths of the host, wherever this code runs.

    Args:
        root: the directory.
        own_journal: the journal of a foreign command, where it is not in the usual place.
        own_log: its log, likewise.
    """

    root: PurePosixPath
    own_journal: PurePosixPath | None = None
    own_log: PurePosixPath | None = None

    @classmethod
    def of_output(cls, output: str) -> RunDir:
        """The run that owns ``<run>/prepared/raw_responses.jsonl`` (or a file right in it)."""
        folder = PurePosixPath(output).parent
        return cls(folder.parent if folder.name == "prepared" else folder)

    @property
    def journal(self) -> PurePosixPath:
        return self.own_journal or self.root / "prepared" / "raw_responses.jsonl"

    @property
    def failures(self) -> PurePosixPath:
        return self.root / "prepared" / "failures.jsonl"

    @property
    def settings(self) -> PurePosixPath:
        return self.root / "settings.json"

    @property
    def launch(self) -> PurePosixPath:
        """Settings as the console asked for them, before the generator has accepted them."""
        return self.root / "launch.json"

    @property
    def run(self) -> PurePosixPath:
        return self.root / "run.json"

    @property
    def log(self) -> PurePosixPath:
        return self.own_log or self.root / "inference.log"

    @property
    def control(self) -> PurePosixPath:
        """What may be turned while the run goes."""
        return self.root / "control.json"

    @property
    def status(self) -> PurePosixPath:
        return self.root / "status.json"
