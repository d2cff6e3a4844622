"""Boards in a Flask program. Run it with `flask --app flask_app run`, or with gunicorn: each process opens the boards with its first call.

Several processes need rankings in Redis (`KEEPSCORE_ENGINE_URL`); with rankings in the process, run one, with threads.
"""

import atexit
from typing import Any

from flask import Flask, request

from keepscore import Board
from keepscore.sync import Leaderboards

# Nothing is opened yet: the first call does that, after gunicorn has forked.
boards = Leaderboards.open(boards=[Board("global")])
atexit.register(boards.close)
app = Flask(__name__)


@app.post("/scores/<player>/<int:score>")
def submit(player: str, score: int) -> dict[str, Any]:
    """Submit a score."""
    return boards.submit("global", player, score).to_dict()


@app.get("/top")
def top() -> dict[str, Any]:
    """Show the first players."""
    return boards.top("global", limit=request.args.get("limit", 10, int)).to_dict()
