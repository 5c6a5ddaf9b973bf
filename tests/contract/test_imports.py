"""Who may import whom: the core runs without a screen, the agent without anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CORE = Path(__file__).parents[2] / "core"

EVERY_MODULE = """
import importlib, pkgutil, sys
import eagle3_core
for module in pkgutil.walk_packages(eagle3_core.__path__, "eagle3_core."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(*sorted(name.partition(".")[0] for name in sys.modules), sep="\\n")
"""


def test_the_core_never_imports_the_console_or_its_toolkit() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", EVERY_MODULE], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "eagle3_core" in loaded
    assert not {"textual", "rich", "eagle3_console"} & set(loaded)


def test_the_agent_imports_the_standard_library_alone() -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path.insert(0, {str(CORE)!r}); import eagle3_core.host.agent.main, sys;"
            "print(*sys.modules, sep='\\n')",
        ],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    ours = [name for name in run.stdout.split() if name.startswith("eagle3_core.")]
    assert "eagle3_core.host.agent.main" in ours
    assert all(
        name.startswith("eagle3_core.host.agent") or name == "eagle3_core.host" for name in ours
    )
