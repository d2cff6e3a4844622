"""Keepscore: real-time leaderboards, durable, exact and fast."""

import sys

if sys.platform == "win32":
    raise ImportError("Keepscore runs on Linux and macOS, whose way to lock files it uses: on Windows, run it in WSL or in a container")

from keepscore.domain.boards import Board, Decay, Window
from keepscore.domain.inputs import Entry
from keepscore.errors import KeepscoreError
from keepscore.leaderboards import Leaderboards

__all__ = ["Board", "Decay", "Entry", "KeepscoreError", "Leaderboards", "Window", "__version__"]

__version__ = "0.1.0"
