"""Errors that a person can mend."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can put right; shown as one line, never as a traceback.

    Args:
        problem: what is wrong, naming the file, line, key, host or URL.
        mend: what to do about it.
        exit_code: exit status of a command that ends with this error (sysexits.h where one fits).
    """

    def __init__(self, problem: str, mend: str, *, exit_code: int = 2) -> None:
        super().__init__(f"{problem}: {mend}")
        self.problem = problem
        self.mend = mend
        self.exit_code = exit_code
