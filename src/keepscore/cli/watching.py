"""`keepscore watch`: a live table in the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from keepscore.cli.common_options import api_key
from keepscore.cli.options import (
    BoardName,
    Config,
    Json,
    RankOption,
    Segment,
    Url,
    WindowOption,
    cell,
    err,
    new_table,
    out,
    print_json,
)
from keepscore.config import load_settings
from keepscore.domain.nouns import counted
from keepscore.domain.results.live import LiveChange, LiveMessage, LiveState, Overtaken, WindowChange
from keepscore.domain.results.standings import Standing
from keepscore.errors import ConfigError, LedgerInUse
from keepscore.leaderboards import Leaderboards

__all__ = ["app"]

app = typer.Typer()


@app.command()
def watch(
    board: BoardName,
    top: Annotated[int, typer.Option(metavar="N", help="Number of players to show.")] = 10,
    player: Annotated[str | None, typer.Option(metavar="PLAYER", help="Watch the players around this one.")] = None,
    around: Annotated[int, typer.Option(metavar="N", help="With --player: number of players above and below.")] = 5,
    window: WindowOption = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Watch a board live: the top, or who is around a player. Ctrl+C ends it.

    With --json, each message is a line.
    """
    rows: dict[str, Any] = {"top": top} if player is None else {"player_id": player, "around": around}
    request = {"board": board, "window": window, "segment": segment, "rank": rank, **rows}
    try:
        asyncio.run(_watch(request, url, config, json))
    except KeyboardInterrupt:
        return


async def _watch(request: dict[str, Any], url: str | None, config: str | None, json: bool) -> None:
    """Follow a board of the service at a URL; without one, of the configuration's ledger, or of the service that has it open."""
    try:
        if url is None:
            async with Leaderboards.configured(load_settings(config)) as boards:
                await _show(boards.live(**request), json)
    except LedgerInUse as exc:
        if exc.url is None:
            raise
        url = exc.url
        err.print(f"Using the service at {url}, which has the ledger open.", style="dim")
    if url is not None:
        try:
            from keepscore.client import Client
        except ImportError as exc:
            raise ConfigError(str(exc)) from None
        async with Client(url, key=api_key()) as client:
            await _show(client.live(**request), json)


async def _show(messages: AsyncIterator[LiveMessage], json: bool) -> None:
    if json:
        async for message in messages:
            print_json(message)
        return
    shown = _Table()
    with Live(console=out, auto_refresh=False) as live:
        async for message in messages:
            shown.take(message)
            live.update(shown.drawn(), refresh=True)


class _Table:
    """What has been shown so far."""

    def __init__(self) -> None:
        self._rows: dict[str, Standing] = {}
        self._head, self._news = "", ""

    def take(self, message: LiveMessage) -> None:
        """Put a message into the table."""
        if isinstance(message, Overtaken):
            self._news = f"{message.by} has passed {message.player_id}, who is {message.rank} now"
        elif isinstance(message, WindowChange):
            self._news = f"{message.window} {message.window_id}: {message.event}"
        else:
            if isinstance(message, LiveState):
                self._rows = {}
            for player in message.removed if isinstance(message, LiveChange) else ():
                self._rows.pop(player, None)
            self._rows |= {one.player_id: one for one in message.standings}
            where = message.window if message.window == message.window_id else f"{message.window} {message.window_id}"
            self._head = f"{message.board}  {where}  {counted(message.total_players, 'player')}  at {message.position}"

    def drawn(self) -> Group:
        """Return it as it is drawn."""
        table = new_table("rank", "player", "name", "score", "since")
        for one in sorted(self._rows.values(), key=lambda one: one.rank):
            table.add_row(*map(cell, (one.rank, one.player_id, one.name, one.score, one.since)))
        return Group(Text(self._head, style="bold"), table, Text(self._news, style="dim"))
