"""A link that is kept: found again whenever it is lost, for as long as it is worth trying."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from eagle3_core.errors import UserError
from eagle3_core.host.connect import connect
from eagle3_core.host.link import Link
from eagle3_core.host.prompts import Prompts
from eagle3_core.host.ssh_trouble import UNREACHABLE, UnansweredError
from eagle3_core.host.target import HostTarget
from eagle3_core.monitor import snapshot as shown
from eagle3_core.monitor.wakeup import slept

FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 30.0


class LinkKeeper:
    """Connects, hands the link to ``work``, and begins anew when that ends.

    Args:
        target: the host.
        prompts: whom to ask while connecting.
        first: a link that is there already.
        work: uses a link until it is lost, and returns why it was.
        told: takes how the link is, whenever that changes.
        clock: epoch seconds of this machine.
    """

    def __init__(
        self,
        target: HostTarget,
        prompts: Prompts | None,
        first: Link | None,
        work: Callable[[Link], Awaitable[str]],
        told: Callable[[shown.Link], None],
        clock: Callable[[], float],
    ) -> None:
        self._target = target
        self._prompts = prompts
        self._first = first
        self._work = work
        self._told = told
        self._clock = clock
        self._lost_at: float | None = None
        self._at_once = asyncio.Event()
        """Set when the next try need not wait."""
        self.link: Link | None = None
        """The link while there is one."""

    async def run(self) -> None:
        """Until it is cancelled."""
        sleep = asyncio.create_task(self._notice_sleep())
        try:
            await self._keep()
        finally:
            sleep.cancel()

    async def close(self) -> None:
        """Close a link that was never used."""
        if self._first:
            await self._first.close()

    def drop(self, reason: str) -> None:
        """Connect anew at once; a link that is there counts as lost."""
        self._at_once.set()
        if self.link:
            self.link.drop(reason)

    async def _notice_sleep(self) -> None:
        """What was connected before a sleep is dead after it; to find that out takes too long."""
        while True:
            seconds = await slept(self._clock)
            self.drop(f"this machine slept for {seconds:.0f} s")

    async def _keep(self) -> None:
        delay = FIRST_RETRY_S
        been_there = False
        while True:
            self._tell(shown.LinkState.CONNECTING, f"to {self._target.name}")
            try:
                link, self._first = self._first or await self._connect(), None
            except UserError as error:
                final = not been_there and error.exit_code != UNREACHABLE
                if final or isinstance(error, UnansweredError):
                    # Trying again by ourselves would only ask the same question again.
                    self._tell(shown.LinkState.FAILED, str(error))
                    await self._pause(None)
                    continue
                reason = str(error)
            else:
                been_there, delay = True, FIRST_RETRY_S
                reason = await self._use(link)
            self._tell(shown.LinkState.LOST, reason, retry_at=self._clock() + delay)
            await self._pause(delay)
            delay = min(delay * 2, LONGEST_RETRY_S)

    async def _connect(self) -> Link:
        return await connect(self._target, self._prompts)

    async def _use(self, link: Link) -> str:
        self._tell(shown.LinkState.CONNECTED, link.hello.words)
        self._at_once.clear()
        self.link = link
        try:
            return await self._work(link)
        finally:
            self.link = None
            await link.close()

    async def _pause(self, seconds: float | None) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._at_once.wait(), seconds)
        self._at_once.clear()

    def _tell(self, state: shown.LinkState, detail: str, *, retry_at: float | None = None) -> None:
        now = since = self._clock()
        if state is shown.LinkState.CONNECTED:
            self._lost_at = None
        elif state is shown.LinkState.LOST:
            # Tries that fail do not begin the loss anew.
            since = self._lost_at = self._lost_at or now
        self._told(shown.Link(state, since, detail, retry_at))
