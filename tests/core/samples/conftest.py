"""Prompt sets on disk, written as the field writes them."""

import json

import pytest
from hypothesis import settings

# A busy machine is no failure: examples here write and read files.
settings.register_profile("files", deadline=None)
settings.load_profile("files")


@pytest.fixture
def write(tmp_path):
    """Write bytes, JSON Lines (a list of rows) or JSON (anything else) and give the path."""

    def write_(name, content, *, as_json=False):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list) and not as_json:
            content = b"".join(json.dumps(row).encode() + b"\n" for row in content)
        elif not isinstance(content, bytes):
            content = json.dumps(content, indent=2).encode()
        path.write_bytes(content)
        return str(path)

    return write_
