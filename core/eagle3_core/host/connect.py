"""From a host's name to a link with the agent on it."""

from __future__ import annotations

import asyncio
import sys

from eagle3_core.errors import UserError
from eagle3_core.host.frames import EndOfStreamError, Frames
from eagle3_core.host.handshake import (
    PYTHONS,
    READ_PROGRAM,
    START_TIMEOUT,
    NoPythonError,
    bare_shell,
    command_line,
    shell_program,
    start_agent,
)
from eagle3_core.host.link import Link
from eagle3_core.host.prompts import Headless, Prompts
from eagle3_core.host.target import HostTarget
from eagle3_core.host.transport import LocalTransport, SshTransport, Transport


async def connect(target: HostTarget, prompts: Prompts | None = None) -> Link:
    """Reach a host and start the agent there.

    Args:
        target: which host, and how.
        prompts: whom to ask; ``None``: nobody, every question is refused.

    Raises:
        UserError: one line that names the host and the mend.
    """
    transport = await (_local(target) if target.is_local else _ssh(target, prompts or Headless()))
    try:
        hello, frames = await start_agent(transport, target.name)
    except NoPythonError as error:
        return await _without_python(transport, target, error)
    except BaseException:
        await transport.close()
        raise
    return Link(transport, frames, hello)


async def _without_python(transport: Transport, target: HostTarget, error: UserError) -> Link:
    """A link that can only read, where the profile names no Python that should have been there."""
    import asyncssh

    from eagle3_core.host.shell_fallback import ShellAgent

    try:
        if target.python or not isinstance(transport, SshTransport):
            raise error
        shell = await transport.next(bare_shell(target.prefix))
        agent = ShellAgent(shell, target.name)
        hello = await asyncio.wait_for(agent.hello(), START_TIMEOUT)
        if hello is None:
            raise error
        return Link(agent, Frames(agent.read), hello)
    except (asyncssh.Error, OSError, EndOfStreamError, asyncio.TimeoutError, UserError):
        await transport.close()
        raise error from None


async def _local(target: HostTarget) -> Transport:
    if target.prefix:
        pythons = (target.python,) if target.python else PYTHONS
        argv = [*target.prefix, "/bin/sh", "-c", shell_program(pythons)]
    else:
        argv = [target.python or sys.executable, "-I", "-c", READ_PROGRAM, "eagle3-agent"]
    try:
        return await LocalTransport.start(argv)
    except OSError as error:
        raise UserError(
            f"{argv[0]} cannot be run ({error.strerror})",
            "check python and prefix of the profile",
        ) from None


async def _ssh(target: HostTarget, prompts: Prompts) -> Transport:
    from eagle3_core.host import ssh

    pythons = (target.python,) if target.python else PYTHONS
    command = command_line(pythons, target.prefix)
    connection = await ssh.open_connection(target, prompts)
    try:
        return await SshTransport.start(connection, command)
    except BaseException as error:
        connection.close()
        import asyncssh

        if isinstance(error, (asyncssh.Error, OSError)):
            raise UserError(
                f"{target.name} opens no session ({error})",
                "check MaxSessions and the shell of that user",
            ) from None
        raise
