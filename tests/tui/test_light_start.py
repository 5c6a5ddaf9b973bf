"""The first picture comes quickly: the console's widgets pull in nothing heavy."""

import subprocess
import sys

HEAVY = ("asyncssh", "openai", "aiohttp", "transformers", "pyarrow", "numpy")


def test_the_app_imports_nothing_heavy() -> None:
    code = "import sys, eagle3_console.app; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "eagle3_console.screens.dashboard" in loaded
    assert loaded.isdisjoint(HEAVY)
