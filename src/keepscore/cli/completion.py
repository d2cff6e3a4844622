"""Completion of board names in a shell: those of the service and of the configuration file. Nothing is opened or written."""

from __future__ import annotations

import os

import typer

from keepscore.cli.common_options import api_key
from keepscore.config import load_settings
from keepscore.errors import KeepscoreError

__all__ = ["complete_board"]

#: Seconds that a shell waits for a service.
TIMEOUT_S = 2.0


def complete_board(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of boards that begin like this. Where nothing can be read, there are none: a shell shows no errors."""
    names: set[str] = set()
    url, config = context.params.get("url") or os.environ.get("KEEPSCORE_URL"), context.params.get("config")
    if url is None:
        try:
            settings = load_settings(config)
        except KeepscoreError:
            return []
        names |= {board.name for board in settings.boards}
        url = f"http://{settings.host}:{settings.port}"
    return sorted(name for name in names | _served(url) if name.startswith(incomplete))


def _served(url: str) -> set[str]:
    """Return the names of a service's boards, if it answers."""
    try:
        from keepscore.client import SyncClient

        with SyncClient(url, key=api_key(), timeout=TIMEOUT_S, deadline=TIMEOUT_S, attempts=1) as boards:
            return {info.board.name for info in boards.admin.boards()}
    except (ImportError, KeepscoreError):
        return set()
