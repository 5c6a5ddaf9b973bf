"""A run by another command than the generator: what starts it, and which files are its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from eagle3_core.monitor.log_numbers import Patterns
from eagle3_core.rundir import RunDir


@dataclass(frozen=True)
class ForeignRun:
    """Paths are of the host; relative ones start at ``cwd``, and that at the run directory.

    Args:
        command: the words of the command; empty: it is watched, not started, from here.
        log: where its output goes and is read; empty: ``inference.log``.
        journal: its JSONL of answers; empty: ``prepared/raw_responses.jsonl``.
        cwd: where it is started; empty: the run directory.
        patterns: what its log lines say.
    """

    command: tuple[str, ...] = ()
    log: str = ""
    journal: str = ""
    cwd: str = ""
    patterns: Patterns = Patterns()

    def folder(self, run_dir: str) -> str:
        """Where the command is started."""
        return _under(run_dir, self.cwd)

    def files(self, run_dir: str) -> RunDir:
        """The run's files."""
        folder = self.folder(run_dir)
        return RunDir(
            PurePosixPath(run_dir),
            PurePosixPath(_under(folder, self.journal)) if self.journal else None,
            PurePosixPath(_under(folder, self.log)) if self.log else None,
        )


def _under(folder: str, path: str) -> str:
    return path if path.startswith("~") else str(PurePosixPath(folder) / path)
