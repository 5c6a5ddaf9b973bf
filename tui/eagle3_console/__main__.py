"""``python -m eagle3_console``."""

from __future__ import annotations

import sys

from eagle3_console.cli import main

if __name__ == "__main__":
    sys.exit(main())
