"""Appending: one write a line, counted only when it is written, synced to disk in batches."""

from __future__ import annotations

import os
from types import TracebackType

from eagle3_core.errors import UserError
from eagle3_core.journal.lock import JournalLock
from eagle3_core.journal.tail import Mended, mend_tail, write_all
from eagle3_core.rundir import RunDir


class AppendFile:
    """An append-only file of lines, mended at the end before the first append."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self.mended: Mended = mend_tail(self._fd, path)
        except BaseException:
            os.close(self._fd)
            raise
        self._dirty = False

    def append(self, line: bytes) -> None:
        """Write one line with its newline. On ``OSError`` the file is as it was before."""
        before = os.fstat(self._fd).st_size
        try:
            write_all(self._fd, line)
        except OSError:
            # Half a line must not stay: the next append would be glued to it.
            os.ftruncate(self._fd, before)
            raise
        self._dirty = True

    def sync(self) -> None:
        """Force what was appended to disk (fdatasync); cheap when nothing was."""
        if not self._dirty:
            return
        self._dirty = False  # before: what is appended meanwhile by another thread is not synced
        try:
            os.fdatasync(self._fd) if hasattr(os, "fdatasync") else os.fsync(self._fd)
        except OSError:
            self._dirty = True
            raise

    def close(self) -> None:
        try:
            self.sync()
        finally:
            os.close(self._fd)


class Journal:
    """Both files of a run, under one lock.

    Raises:
        UserError: another writer holds the lock, or the folder cannot be written.
    """

    def __init__(self, run: RunDir) -> None:
        self.run = run
        self._lock = JournalLock(str(run.journal))

    def __enter__(self) -> Journal:
        folder = str(self.run.journal.parent)
        try:
            os.makedirs(folder, exist_ok=True)
            self._lock.__enter__()
        except OSError as error:
            raise UserError(
                f"{error.filename or folder} cannot be written ({error.strerror})",
                "choose an --output folder that you may write",
            ) from None
        try:
            self.records = AppendFile(str(self.run.journal))
            self.failures = AppendFile(str(self.run.failures))
        except OSError as error:
            self._lock.__exit__(None, None, None)
            raise UserError(
                f"{error.filename} cannot be written ({error.strerror})",
                "mend its permissions, or choose another --output",
            ) from None
        return self

    def sync(self) -> None:
        """Force both files to disk."""
        self.records.sync()
        self.failures.sync()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.records.close()
        self.failures.close()
        self._lock.__exit__(kind, error, trace)
