"""The one table of what the keys do: bindings, footer, help, palette and README come from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.binding import Binding, BindingType

from eagle3_core.monitor.snapshot import LinkState, ProcessState, Snapshot

Reason = str
"""Why an action cannot be done now, for people; empty when it can."""


def _connected(snapshot: Snapshot | None) -> Reason:
    if snapshot is None or snapshot.link.state is not LinkState.CONNECTED:
        return "not connected to the host"
    return ""


def _can_start(snapshot: Snapshot | None) -> Reason:
    if snapshot is not None and snapshot.process.alive:
        return f"the run goes on already (pid {snapshot.process.pid})"
    return _connected(snapshot)


def _can_stop(snapshot: Snapshot | None) -> Reason:
    reason = _connected(snapshot)
    if not reason and snapshot is not None and not snapshot.process.alive:
        return "nothing is running"
    return reason


def _can_sweep(snapshot: Snapshot | None) -> Reason:
    if snapshot is not None and snapshot.process.state is ProcessState.LEFTOVERS:
        return _connected(snapshot)
    return _can_stop(snapshot)


def _always(snapshot: Snapshot | None) -> Reason:
    return ""


@dataclass(frozen=True)
class Action:
    """One thing that a key does."""

    id: str
    keys: str
    """Textual's key names, comma-separated; the first is shown."""
    label: str
    help: str
    group: str
    call: str
    """The app's action with its arguments."""
    footer: int = 0
    """Place in the footer's order of importance, 1 first; 0: not in the footer."""
    dangerous: bool = False
    """Changes the run: not there in read-only mode."""
    when: Callable[[Snapshot | None], Reason] = _always

    @property
    def key_names(self) -> str:
        """The keys as they are written: ``?``, ``0 escape``."""
        return " ".join(KEY_NAMES.get(key, key) for key in self.keys.split(","))


KEY_NAMES = {
    "question_mark": "?",
    "exclamation_mark": "!",
    "slash": "/",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "escape": "esc",
}

ACTIONS: tuple[Action, ...] = (
    Action(
        "start",
        "s",
        "start",
        "start the run, or go on where it ended",
        "Run",
        "app.command('start')",
        footer=1,
        dangerous=True,
        when=_can_start,
    ),
    Action(
        "drain",
        "d",
        "drain",
        "send no new requests, wait for those in flight, then end",
        "Run",
        "app.command('drain')",
        footer=2,
        dangerous=True,
        when=_can_stop,
    ),
    Action(
        "kill",
        "k",
        "kill",
        "end the run now (TERM); nothing finished is lost; no question",
        "Run",
        "app.command('kill')",
        footer=3,
        dangerous=True,
        when=_can_stop,
    ),
    Action(
        "restart",
        "r",
        "restart",
        "kill, then start again with what is done kept",
        "Run",
        "app.command('restart')",
        footer=4,
        dangerous=True,
        when=_connected,
    ),
    Action(
        "kill_hard",
        "K",
        "hard kill",
        "end the run's whole process group with SIGKILL; asks first",
        "Run",
        "app.command('kill_hard')",
        dangerous=True,
        when=_can_sweep,
    ),
    Action(
        "concurrency",
        "c",
        "concurrency",
        "change how many requests are in flight while the run goes",
        "Run",
        "app.concurrency",
        dangerous=True,
        when=_can_stop,
    ),
    Action(
        "throughput", "1", "throughput", "throughput alone, large", "Panels", "solo('throughput')"
    ),
    Action("log", "2", "log", "log alone, large", "Panels", "solo('log')"),
    Action("sample", "3", "sample", "sample alone, large", "Panels", "solo('sample')"),
    Action("findings", "4", "findings", "findings alone, large", "Panels", "solo('findings')"),
    Action(
        "overview",
        "0,escape",
        "overview",
        "back: close the search, then show all panels",
        "Panels",
        "overview",
    ),
    Action("next_panel", "tab", "next panel", "move to the next panel", "Panels", "next_panel"),
    Action("search", "slash", "search", "search the log", "Log", "search", footer=7),
    Action("next_match", "n", "next match", "next match in the log", "Log", "match(1)"),
    Action(
        "previous_match", "N", "previous match", "previous match in the log", "Log", "match(-1)"
    ),
    Action(
        "follow", "f", "follow", "go to the log's end and stay there", "Log", "follow", footer=8
    ),
    Action("top", "g", "top", "to the top of the panel", "Log", "go_top"),
    Action("bottom", "G", "bottom", "to the end of the panel", "Log", "go_bottom"),
    Action("wrap", "w", "wrap", "wrap long log lines, or not", "Log", "wrap"),
    Action(
        "previous_sample",
        "left_square_bracket",
        "previous",
        "previous sample",
        "Sample",
        "sample_step(-1)",
        footer=9,
    ),
    Action(
        "next_sample",
        "right_square_bracket",
        "next",
        "next sample",
        "Sample",
        "sample_step(1)",
        footer=10,
    ),
    Action("latest", "l", "latest", "newest sample, and follow it", "Sample", "latest", footer=12),
    Action(
        "random",
        "x",
        "random",
        "a sample from anywhere",
        "Sample",
        "app.random",
        footer=13,
        when=_connected,
    ),
    Action(
        "flagged",
        "exclamation_mark",
        "flagged",
        "only samples that need a look, or all again",
        "Sample",
        "flagged",
        footer=14,
    ),
    Action(
        "copy", "y", "copy", "copy the selection, the log's screen or the sample", "Sample", "copy"
    ),
    Action("save", "o", "save", "save the sample to a file here", "Sample", "save"),
    Action(
        "freeze", "p", "freeze", "freeze the picture, or go on", "Console", "app.freeze", footer=11
    ),
    Action(
        "reconnect",
        "R",
        "reconnect",
        "connect to the host anew, at once",
        "Console",
        "app.reconnect",
    ),
    Action("theme", "T", "theme", "next theme", "Console", "app.next_theme"),
    Action("help", "question_mark", "help", "this page", "Console", "app.help", footer=5),
    Action(
        "palette", "ctrl+p", "palette", "find any command by name", "Console", "app.command_palette"
    ),
    Action(
        "leave",
        "q",
        "leave",
        "leave the console; the run on the host goes on",
        "Console",
        "app.quit",
        footer=6,
    ),
)


def available(*, read_only: bool = False) -> tuple[Action, ...]:
    """The actions there are; in read-only mode none that changes the run."""
    return tuple(action for action in ACTIONS if not (read_only and action.dangerous))


def bindings() -> list[BindingType]:
    """Key bindings of all actions, each under the action's id."""
    return [
        Binding(
            action.keys,
            action.call,
            action.label,
            show=bool(action.footer),
            id=action.id,
            tooltip=action.help,
        )
        for action in ACTIONS
    ]


def markdown_table() -> str:
    """The key table of the README."""
    rows = ["| Key | Name | What it does |", "| --- | --- | --- |"]
    for action in ACTIONS:
        keys = " ".join(f"`{key}`" for key in action.key_names.split(" "))
        rows.append(f"| {keys} | {action.label} | {action.help} |")
    return "\n".join(rows) + "\n"
