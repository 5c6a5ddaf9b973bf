"""Turn a run while it goes: ``control.json``, which the generator looks at every second."""

from __future__ import annotations

import os
from typing import Any

from eagle3_core.host.agent import record, run
from eagle3_core.host.agent.wire import Refused


def control(run_dir: str, values: dict[str, Any]) -> dict[str, Any]:
    """Write ``values``. Raises ``Refused`` when no run is going there to take them."""
    run_dir = record.absolute(run_dir)
    entry = record.load(run_dir)
    if entry is None or run.find_leader(entry) != "running":
        raise Refused("none", f"no run is going in {run_dir}", "start it first")
    path = os.path.join(run_dir, "control.json")
    try:
        record.save_json(path, values)
    except OSError as error:
        raise Refused(
            "folder", f"{path} cannot be written ({error.strerror})", "mend its permissions"
        ) from None
    return {}
