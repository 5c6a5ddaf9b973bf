"""Connect as ``ssh`` would: every hop of the way verified and authenticated by us."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eagle3_core.host import ssh_config, ssh_trouble, ssh_trust
from eagle3_core.host.answers import Answers
from eagle3_core.host.known_hosts import KnownHosts
from eagle3_core.host.prompts import Prompts
from eagle3_core.host.ssh_config import Hop
from eagle3_core.host.target import HostTarget

if TYPE_CHECKING:
    import asyncssh

    from eagle3_core.host.ssh_client import Client

LOGIN_TIMEOUT = 300.0
"""Seconds; a person may have to find a telephone with a code on it."""

Value = TypeVar("Value")


async def open_connection(target: HostTarget, prompts: Prompts) -> asyncssh.SSHClientConnection:
    """Connect to ``target`` through its jump hosts.

    Raises:
        UserError: in one line what failed, at which machine, and what to do.
    """
    answers = Answers.of(prompts)
    configs = ssh_config.config_files(target)
    connection: asyncssh.SSHClientConnection | None = None
    try:
        for hop in ssh_config.route(target, configs):
            connection = await _open_hop(hop, target, configs, answers, connection)
    except BaseException:
        if connection is not None:
            connection.close()
        raise
    assert connection is not None
    return connection


async def _open_hop(
    hop: Hop,
    target: HostTarget,
    configs: Sequence[Path],
    answers: Answers,
    tunnel: asyncssh.SSHClientConnection | None,
) -> asyncssh.SSHClientConnection:
    """Open one hop; learns an unknown key and then connects again."""
    import asyncssh

    from eagle3_core.host import ssh_keys
    from eagle3_core.host.ssh_client import Client

    known = KnownHosts(ssh_config.known_hosts_files(hop, target))
    options = _options(hop, target, configs, known)
    if tunnel is not None:
        options["tunnel"] = tunnel
    while True:
        client = Client(hop, answers)
        files = ssh_config.identity_files(hop, target)
        files = ssh_keys.default_files() if files is None else files
        options["client_keys"] = await ssh_keys.offered(files, client.passphrase)
        attempt = asyncssh.create_connection(
            partial(_same, client), hop.alias, passphrase=client.passphrase, **options
        )
        try:
            connection, _ = await _in_time(attempt, hop.connect_timeout, answers)
        except asyncssh.HostKeyNotVerifiable as error:
            if client.shown is None:
                raise ssh_trouble.translate(hop, error) from None
            # Once it is on file it is shown no more, and a second one has changed.
            await ssh_trust.learn(hop, target, answers, known, *client.shown)
        except (asyncssh.Error, OSError, ValueError, asyncio.TimeoutError) as error:
            if client.unanswered:
                raise ssh_trouble.unanswered(hop, client.unanswered) from None
            raise ssh_trouble.translate(hop, error) from None
        else:
            if tunnel is not None:
                connection.set_tunnel(tunnel)  # the hop before ends with this one
            ssh_trust.refuse_revoked(hop, known, connection)
            return connection


def _options(
    hop: Hop, target: HostTarget, configs: Sequence[Path], known: KnownHosts
) -> dict[str, Any]:
    interval, misses = hop.keepalive
    return dict(
        hop.overrides,
        config=[str(path) for path in configs],
        known_hosts=known.database,  # None would switch the check off
        server_host_key_algs=ssh_trust.key_types(hop, known),
        keepalive_interval=interval,
        keepalive_count_max=misses,
        connect_timeout=None,  # it would run while a person looks for a password
        login_timeout=LOGIN_TIMEOUT,
        command=None,  # a RemoteCommand of the config is not for us
    )


def _same(client: Client) -> Client:
    return client


async def _in_time(attempt: Coroutine[Any, Any, Value], seconds: float, answers: Answers) -> Value:
    """The result of ``attempt``; ``TimeoutError`` after so many seconds in which nobody is asked."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    task = loop.create_task(attempt)
    try:
        while True:
            left = seconds - min(loop.time() - began, answers.idle())
            if left <= 0:
                raise asyncio.TimeoutError
            await asyncio.wait({task}, timeout=left)
            if task.done():
                return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
