"""The command `keepscore`. Without the packages that it needs, it says which."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        from keepscore.cli import main as run
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.startswith("keepscore"):
            raise
        sys.exit(f"Error: the command needs the package {exc.name.partition('.')[0]}: install it with pip install 'keepscore[service]'")
    run()
