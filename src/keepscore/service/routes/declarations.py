"""What routes of boards declare alike."""

from __future__ import annotations

from functools import partial

from keepscore.service.http.layer import Route

__all__ = ["BOARD", "board_read"]

#: The address of a board.
BOARD = "/v1/boards/{board}"

#: Declares a read of a board, which players may do, too: path, handler, summary, and what differs.
board_read = partial(Route, "GET", scope="read", players=True)
