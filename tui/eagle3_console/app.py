"""The console as an application: one watch in, one dashboard out, the terminal always given back."""

from __future__ import annotations

import asyncio
import shlex
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from textual.app import App, SystemCommand
from textual.screen import Screen

from eagle3_console import themes
from eagle3_console.actions import available
from eagle3_console.bridge import Bridge
from eagle3_console.commands import carry_out, question, told
from eagle3_console.messages import LogArrived, PictureArrived, RecordsArrived, WatchEnded
from eagle3_console.screens.concurrency import ConcurrencyScreen
from eagle3_console.screens.confirm import ConfirmScreen
from eagle3_console.screens.dashboard import Dashboard
from eagle3_console.screens.help import HelpScreen
from eagle3_core.errors import UserError
from eagle3_core.monitor.events import Watch
from eagle3_core.monitor.snapshot import LinkState, Progress, Snapshot
from eagle3_core.text import printable

BACKLOG = 50
"""Records read from the journal's end when the console comes to a run."""

END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""Left to themselves they would leave the terminal in the alternate screen."""


class ConsoleApp(App[None]):
    """Shows a run and takes commands for it; the run never depends on it.

    Args:
        watch: the run; closed when the app ends.
        theme: name of a theme, ``None`` for the default.
        read_only: leave out everything that changes the run.
        confirm: ``"always"`` to ask before every command.
        come_back: command line that opens this run again, told on leaving.
        theme_folder: the user's own theme files.
        clock: epoch seconds; a test's clock makes the picture repeatable.
    """

    TITLE = "eagle3-console"
    CSS_PATH = Path(__file__).parent / "console.tcss"
    ENABLE_COMMAND_PALETTE = True

    def __init__(
        self,
        watch: Watch,
        *,
        theme: str | None = None,
        read_only: bool = False,
        confirm: str = "",
        come_back: str | None = None,
        theme_folder: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._actions = available(read_only=read_only)
        super().__init__()
        self._source = watch
        self._wanted_theme = theme
        self._read_only = read_only
        self._confirm = confirm
        self._come_back = come_back
        self._theme_folder = theme_folder
        self._clock = clock
        self._bridge = Bridge(watch, self.post_message)
        self._asked_backlog = False
        self._under_way: set[str] = set()
        self.dashboard = Dashboard(self._actions, clock, read_only=read_only)
        self.theme_names: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.variable_defaults(self.current_theme.to_color_system().generate())

    def get_default_screen(self) -> Screen[None]:
        return self.dashboard

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in END_SIGNALS:
            loop.add_signal_handler(number, self._leave_by_signal, number)
        self._load_themes()

    def on_ready(self) -> None:
        self.run_worker(self._bridge.run(), group="watch", exit_on_error=False)

    async def on_unmount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in END_SIGNALS:
            loop.remove_signal_handler(number)
        await self._source.close()

    def _leave_by_signal(self, number: int) -> None:
        self.exit(return_code=128 + number)

    # what arrives; nothing is drawn any more once the screen is being taken down

    def on_picture_arrived(self, message: PictureArrived) -> None:
        if not self.is_running:
            return
        self.dashboard.picture(message.snapshot)
        connected = message.snapshot.link.state is LinkState.CONNECTED
        if connected and message.snapshot.lines and not self._asked_backlog:
            self._asked_backlog = True
            self.run_worker(self._fetch_backlog(), group="records", exit_on_error=False)

    def on_log_arrived(self, message: LogArrived) -> None:
        if self.is_running:
            self.dashboard.log_lines(message)

    def on_records_arrived(self, message: RecordsArrived) -> None:
        if self.is_running:
            self.dashboard.records(message)

    def on_watch_ended(self, message: WatchEnded) -> None:
        if self.is_running:
            self.dashboard.watch_ended(message.reason)

    async def _fetch_backlog(self) -> None:
        try:
            self.dashboard.older_records(await self._source.last_records(BACKLOG))
        except (UserError, OSError) as error:
            self.say(f"older samples were not read: {error}", "warning")

    # what is asked for

    def action_command(self, name: str) -> None:
        """Send a command to the run, after a question where one is due."""
        action = next((action for action in self._actions if action.id == name), None)
        if action is None:
            return
        if reason := action.when(self.snapshot):
            self.say(f"{action.label}: {reason}", "warning")
            return
        self.run_worker(self._command(name), group="command", exit_on_error=False)

    async def _command(self, name: str) -> None:
        ask = question(name, self.snapshot, always=self._confirm == "always")
        if ask is not None:
            screen = ConfirmScreen(ask.question, ask.effect, ask.yes)
            if not await self.push_screen_wait(screen):
                return
        if name in self._under_way:
            self.say(f"{name} is already under way", "warning")
            return
        self._under_way.add(name)
        try:
            outcome = await carry_out(self._source, name)
        finally:
            self._under_way.discard(name)
        text = "\n".join(filter(None, (outcome.message, outcome.command)))
        self.say(text, "information" if outcome.ok else "error")

    def action_concurrency(self) -> None:
        """Ask for the requests in flight and hand them to the run."""
        snapshot = self.snapshot
        if snapshot is None or self._read_only:
            return
        if not snapshot.process.alive:
            self.say("concurrency: nothing is running", "warning")
            return
        self.run_worker(self._turn(snapshot.progress), group="command", exit_on_error=False)

    async def _turn(self, progress: Progress) -> None:
        now = progress.concurrency_word or str(progress.concurrency)
        setting = await self.push_screen_wait(ConcurrencyScreen(now))
        if setting is not None:
            outcome = await told(self._source.set_concurrency(setting), "concurrency")
            self.say(outcome.message, "information" if outcome.ok else "error")

    def action_random(self) -> None:
        """Show a record from anywhere in the journal."""
        self.run_worker(self._fetch_random(), group="records", exit_on_error=False)

    async def _fetch_random(self) -> None:
        try:
            records = await self._source.random_records(1)
        except (UserError, OSError) as error:
            self.say(f"no random sample: {error}", "warning")
            return
        if not records:
            self.say("no random sample: the journal is empty", "warning")
            return
        self.dashboard.store.show_random(records[0])
        self.dashboard.show_sample()

    def action_reconnect(self) -> None:
        """Do not wait for the next try, or for a link that hangs."""
        self._source.reconnect()
        self.say("connecting anew", "information")

    def action_freeze(self) -> None:
        """Hold the picture still, or bring it up to now."""
        frozen = not self._bridge.frozen
        self.dashboard.frozen_since = self._clock() if frozen else None
        self._bridge.freeze(frozen)
        self.dashboard.tick()

    def action_next_theme(self) -> None:
        names = self.theme_names
        at = names.index(self.theme) + 1 if self.theme in names else 0
        self.theme = names[at % len(names)]
        self.say(f"theme {self.theme}", "information")

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self._actions))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every action of the table, and the list of themes."""
        for action in self._actions:
            if action.id != "palette":
                run = self._palette_call(action.call)
                yield SystemCommand(f"{action.label} ({action.key_names})", action.help, run)
        yield SystemCommand("themes", "choose a theme by name", self.action_change_theme)

    def _palette_call(self, call: str) -> Callable[[], object]:
        return lambda: self.call_later(self.run_action, call, self.dashboard)

    # themes

    def _load_themes(self) -> None:
        folders = [themes.theme_dir(), *filter(None, (self._theme_folder,))]
        loaded = themes.load_themes(*folders)
        for theme in loaded.themes.values():
            self.register_theme(theme)
        self.theme_names = list(loaded.themes)
        wanted = self._wanted_theme or themes.DEFAULT
        if wanted in self.available_themes:
            self.theme = wanted
        else:
            names = ", ".join(sorted(self.available_themes))
            loaded.problems.append(f"no theme is called {wanted!r}; there are {names}")
            if themes.DEFAULT in self.available_themes:
                self.theme = themes.DEFAULT
        if loaded.problems:
            self.say("\n".join(loaded.problems), "warning")

    # words

    @property
    def snapshot(self) -> Snapshot | None:
        return self.dashboard.snapshot

    @property
    def farewell(self) -> str:
        """What to print once the terminal is given back: what became of the run."""
        snapshot = self.snapshot
        if snapshot is None:
            return "Left before anything was heard of the run."
        here = f"--host {shlex.quote(snapshot.host)} --run {shlex.quote(snapshot.run)}"
        back = f"{self._come_back or f'eagle3-console {here}'} to come back"
        process = snapshot.process
        if process.alive and snapshot.link.state is LinkState.CONNECTED:
            where = f"pid {process.pid} on {snapshot.host}"
            return printable(f"The run goes on ({where}): {back}")
        if process.alive:
            where = f"pid {process.pid} on {snapshot.host}"
            return printable(f"The run was going on ({where}) when the link was lost: {back}")
        return printable(f"Nothing is running on {snapshot.host}: {back}")

    def say(self, text: str, severity: Literal["information", "warning", "error"]) -> None:
        """A passing note; never markup."""
        self.notify(printable(text), severity=severity, markup=False)
