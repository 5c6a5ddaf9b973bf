"""The inference servers of a run, asked from its host: they often listen to nobody else."""

from __future__ import annotations

from eagle3_core.host.link import AgentError, Link
from eagle3_core.metrics import NAMES, add, parse
from eagle3_core.monitor.state import RunView


async def ask_servers(link: Link, view: RunView) -> None:
    """Tell ``view`` how the servers of its run are. Raises ``LinkLost``."""
    try:
        pages = [await _page(link, url) for url in view.server_urls()]
    except AgentError as error:
        view.no_server(error.message)
        return
    if pages:
        view.take_server(add(parse(page) for page in pages))


async def _page(link: Link, url: str) -> str:
    status, body = await link.call_bytes("http", url=url, keep=list(NAMES))
    if status != 200:
        raise AgentError("http", f"{url} answers HTTP {status}")
    return str(body.decode(errors="replace"))
