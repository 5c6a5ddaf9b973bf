"""What a server says of itself: whether it is there, what it serves, how long its context is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from eagle3_core import codec
from eagle3_core.errors import UserError
from eagle3_core.generation.client import Client
from eagle3_core.generation.failure import body_message, word_of
from eagle3_core.settings import RunSettings

_PATIENCE_S = 15.0


@dataclass(frozen=True)
class ServerFacts:
    """What a server says of itself."""

    url: str
    model: str
    max_model_len: int | None
    version: str | None


async def look_at(client: Client, settings: RunSettings) -> ServerFacts:
    """Ask one server whether it is there and serves the model.

    Raises:
        UserError: it cannot be reached, refuses us, or serves another model.
    """
    url = client.base_url
    try:
        status, body = await asyncio.wait_for(client.get("/models", under_v1=True), _PATIENCE_S)
    except Exception as error:
        raise UserError(
            f"{url} cannot be reached ({_word(error)})", "start the server, or mend --base-url"
        ) from None
    if status in (401, 403):
        raise UserError(
            f"{url} refuses us (HTTP {status}: {body_message(body)})",
            f"put the API key into the environment variable {settings.api_key_env}",
        )
    if status != 200:
        raise UserError(
            f"{url}/models answers HTTP {status} ({body_message(body)})",
            "mend --base-url; it usually ends with /v1",
        )
    try:
        models = {row["id"]: row for row in codec.loads(body)["data"]}
    except (ValueError, KeyError, TypeError):
        raise UserError(
            f"{url}/models is no list of models", "mend --base-url; it usually ends with /v1"
        ) from None
    if settings.model not in models:
        raise UserError(
            f"{url} does not serve the model {settings.model!r}",
            f"give --model one of: {', '.join(sorted(models)) or 'none is loaded'}",
        )
    length = models[settings.model].get("max_model_len")
    return ServerFacts(url, settings.model, length, await _version(client))


async def _version(client: Client) -> str | None:
    try:
        status, body = await asyncio.wait_for(client.get("/version"), _PATIENCE_S)
        return str(codec.loads(body)["version"]) if status == 200 else None
    except Exception:
        return None


def _word(error: BaseException) -> str:
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        return f"no answer in {_PATIENCE_S:.0f} s"
    return word_of(error)
