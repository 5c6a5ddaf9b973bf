"""Opening the console on a run: connect first, on the plain terminal, then draw."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from eagle3_console.app import ConsoleApp
from eagle3_console.ask import prompts
from eagle3_console.config import config_dir
from eagle3_console.screens.ask import DialogPrompts
from eagle3_console.target import RunTarget
from eagle3_core.host.answers import Answers
from eagle3_core.host.connect import connect
from eagle3_core.monitor.watch import RunWatch


@dataclass(frozen=True)
class Look:
    """How the console looks and what it may do."""

    theme: str | None
    read_only: bool
    confirm: str


async def open_console(target: RunTarget, look: Look, *, say_farewell: bool = True) -> int:
    """Show one run until the user leaves. The run goes on.

    Raises:
        UserError: the host cannot be reached, or does not let us in.
    """
    sys.stderr.write(f"connecting to {target.host.name} …\r")
    answers = Answers(prompts())
    link = await connect(target.host, answers)
    watch = RunWatch(
        target.host,
        target.run_dir,
        settings=target.settings,
        python=target.python,
        foreign=target.foreign,
        env=target.env,
        read_only=look.read_only,
        note=target.commands().note,
        link=link,
        prompts=answers,
    )
    app = ConsoleApp(
        watch,
        theme=look.theme,
        read_only=look.read_only,
        confirm=look.confirm,
        come_back=target.come_back,
        theme_folder=config_dir() / "themes",
    )
    answers.person = DialogPrompts(app)  # the terminal is the app's now
    await app.run_async()
    sys.stderr.write("\x1b[K")
    if say_farewell and app.farewell:
        sys.stdout.write(app.farewell + "\n")
    return app.return_code or 0
