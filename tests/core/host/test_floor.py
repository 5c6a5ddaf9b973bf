"""The host brings its own Python: the agent runs on 3.8 with the standard library alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import eagle3_core

CORE = Path(eagle3_core.__file__).parent
AGENT = sorted((CORE / "host" / "agent").glob("*.py"))


@pytest.mark.parametrize("path", AGENT, ids=lambda path: path.name)
def test_the_agent_imports_nothing_but_the_standard_library(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
        for name in names:
            ours = name.startswith("eagle3_core.host.agent")
            assert ours or name.split(".")[0] in sys.stdlib_module_names, f"{path}: {name}"


def test_the_agent_needs_no_more_than_python_3_8() -> None:
    """Beside every module, the packages above it are imported on the host too."""
    above = [CORE / "__init__.py", CORE / "host" / "__init__.py"]
    tool = Path(sys.executable).with_name("vermin")
    command = [str(tool), "--target=3.8-", "--violations", "--no-tips"]
    done = subprocess.run(
        [*command, *map(str, [*AGENT, *above])], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "Minimum required versions" in done.stdout
