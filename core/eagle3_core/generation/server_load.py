"""The servers' own ``/metrics``, read while the run goes: how full they are, and that they work."""

from __future__ import annotations

import asyncio

from eagle3_core.generation.client import Client
from eagle3_core.generation.endpoints import Endpoints
from eagle3_core.metrics import ServerNumbers, add, parse

EVERY_S = 1.0
_PATIENCE_S = 5.0


class ServerLoad:
    """What the servers of a run say together; empty while one of them says nothing."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints
        self.numbers = ServerNumbers()
        self.grew_at: float | None = None
        """When the token counter last moved, of the loop's clock; ``None`` where there is none."""

    async def keep_reading(self) -> None:
        """Ask all of them again and again."""
        while True:
            await self.read()
            await asyncio.sleep(EVERY_S)

    async def read(self) -> None:
        """Ask all of them once."""
        pages = await asyncio.gather(*(_page(endpoint.client) for endpoint in self._endpoints.all))
        texts = [page for page in pages if page]
        before = self.numbers.generation_tokens
        self.numbers = (
            add(parse(text) for text in texts) if len(texts) == len(pages) else ServerNumbers()
        )
        now = self.numbers.generation_tokens
        if now is None:
            self.grew_at = None
        elif now != before:
            self.grew_at = asyncio.get_running_loop().time()


async def _page(client: Client) -> str:
    try:
        status, body = await asyncio.wait_for(client.get("/metrics"), _PATIENCE_S)
    except Exception:  # whatever it is: there are no numbers now
        return ""
    return body.decode(errors="replace") if status == 200 else ""
