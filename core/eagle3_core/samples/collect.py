"""Items of a prompt set -> samples, with an account of every row."""

from __future__ import annotations

from collections.abc import Iterable

from eagle3_core.errors import UserError
from eagle3_core.records import Sample
from eagle3_core.samples.columns import no_question_column
from eagle3_core.samples.conversation import Messages, question
from eagle3_core.samples.keys import key_of, own_id
from eagle3_core.samples.report import Report
from eagle3_core.samples.rows import Cut, Item, Malformed, Row
from eagle3_core.samples.skips import Reason, Skipped


class Collector:
    """Takes in the items of one set, file after file."""

    def __init__(self, report: Report, turns: str, limit: int | None) -> None:
        self.samples: list[Sample] = []
        self.report = report
        self._turns = turns
        self._limit = limit
        self._keys: set[str] = set()
        self._ids: dict[str, tuple[int | str, str]] = {}
        """Own id as text -> as it was written, and where."""
        self._names: list[object] = []
        """Columns of the first row without a question."""

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return self._limit is not None and len(self.samples) >= self._limit

    def take(self, items: Iterable[Item], place: str) -> None:
        """Count every item; stop at the limit.

        Args:
            items: from one reader.
            place: how to name one of them, with ``{:,}`` for its number.
        """
        for item in items:
            if isinstance(item, Cut):
                self.report.cuts.append((place.format(item.number), item))
            else:
                self._count(item, place.format(item.number))
            if self.full:
                self.report.limited = True
                return

    def check(self) -> None:
        """Raise ``UserError`` when nothing can be asked."""
        report = self.report
        if self.samples:
            return
        lacking = report.skipped.get(Reason.NO_COLUMN)
        if lacking and lacking.count == report.rows:
            raise no_question_column(report.source, self._names)
        if report.rows and report.malformed.count == report.rows:
            raise UserError(
                f"{report.source} holds no row that is JSON: {report.malformed}",
                "write one object a line, or one list of objects",
            )
        account = "; ".join(report.summary().split("\n")[1:]) or "it has no rows"
        raise UserError(f"{report.source} gives no question ({account})", "give another prompt set")

    def _count(self, item: Row | Malformed, place: str) -> None:
        self.report.rows += 1
        if isinstance(item, Malformed):
            self.report.malformed.add(place, item.problem)
            return
        messages = question(item.value, self._turns)
        if isinstance(messages, Skipped):
            if messages.reason is Reason.NO_COLUMN:
                self._names = self._names or list(item.value)
            self.report.skip(messages.reason, place, messages.detail)
        else:
            self._keep(messages, own_id(item.value), place)

    def _keep(self, messages: Messages, own: int | str | None, place: str) -> None:
        key = key_of(messages, own)
        repeated = own is not None and self._seen(own, place)
        if key in self._keys:
            self.report.duplicates.add(place)
            return
        if repeated:
            self.report.duplicate_ids.add(place, str(own))
        self._keys.add(key)
        self.samples.append(Sample(key, messages, None if own is None else str(own)))
        self.report.samples += 1

    def _seen(self, own: int | str, place: str) -> bool:
        """Whether an earlier row has this id. Raises ``UserError`` for 7 here and "7" there."""
        first, first_place = self._ids.setdefault(str(own), (own, place))
        if type(first) is not type(own):
            raise UserError(
                f"{self.report.source} has the id {first!r} in {first_place} and {own!r} in "
                f"{place}, which would be one key",
                "write the id as a number everywhere, or as text everywhere",
            )
        return first_place != place
