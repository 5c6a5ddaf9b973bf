"""What became of every row of a prompt set."""

from __future__ import annotations

from dataclasses import dataclass, field

from eagle3_core.samples.rows import Cut
from eagle3_core.samples.skips import Reason

_SHOWN = 3


@dataclass
class Tally:
    """A count, with the first few places it counts."""

    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str, detail: str = "") -> None:
        self.count += 1
        if len(self.places) < _SHOWN:
            self.places.append(f"{place}: {detail}" if detail else place)

    def __str__(self) -> str:
        more = "; …" if self.count > len(self.places) else ""
        return f"{self.count:,} ({'; '.join(self.places)}{more})"


@dataclass
class Report:
    """Every row is a sample, a duplicate, malformed or skipped: the four add up to ``rows``."""

    source: str
    format: str = ""
    files: int = 1
    rows: int = 0
    """Complete rows read, bad ones included."""
    samples: int = 0
    duplicates: Tally = field(default_factory=Tally)
    """Rows with the key of an earlier one: same messages, same id. Kept once."""
    malformed: Tally = field(default_factory=Tally)
    """Rows that are no JSON."""
    skipped: dict[Reason, Tally] = field(default_factory=dict)
    duplicate_ids: Tally = field(default_factory=Tally)
    """Samples whose id stands for other messages in an earlier row. All are kept: their keys
    differ."""
    cuts: list[tuple[str, Cut]] = field(default_factory=list)
    """Files that end too early, with the place."""
    limited: bool = False
    """Reading stopped at the limit; what follows was not looked at."""

    @property
    def cut_at(self) -> int | None:
        """Byte offset where the first file that is cut off breaks off."""
        return self.cuts[0][1].at if self.cuts else None

    def skip(self, reason: Reason, place: str, detail: str = "") -> None:
        """Count a row that gives no question."""
        self.skipped.setdefault(reason, Tally()).add(place, detail)

    def summary(self) -> str:
        """A few lines for people; only what happened is mentioned."""
        files = f", {self.files} files" if self.files > 1 else ""
        rows = f"{'the first ' if self.limited else ''}{self.rows:,} rows"
        lines = [f"{self.samples:,} questions from {rows} of {self.source} ({self.format}{files})"]
        for reason in sorted(self.skipped, key=list(Reason).index):
            lines += [f"skipped, {reason.value}: {self.skipped[reason]}"]
        if self.malformed.count:
            lines.append(f"skipped, not JSON: {self.malformed}")
        if self.duplicates.count:
            lines.append(f"asked once, though repeated: {self.duplicates}")
        if self.duplicate_ids.count:
            lines.append(f"one id for different questions, all kept: {self.duplicate_ids}")
        lines += [_cut_line(place, cut) for place, cut in self.cuts]
        return "\n".join(lines)


def _cut_line(place: str, cut: Cut) -> str:
    end = f"cut off at byte {cut.at:,}"
    if cut.row_at == cut.at:
        return f"{end}, before {place}: all that stands before it is used"
    return f"{end}, within {place}, which begins at byte {cut.row_at:,}: all before it is used"
