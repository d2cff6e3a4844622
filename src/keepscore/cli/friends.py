"""Friends: their lists, rankings among them, and everything that one screen shows."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from keepscore.cli.options import (
    BoardName,
    Config,
    Json,
    PlayerArgument,
    RankOption,
    Segment,
    Url,
    WindowId,
    WindowOption,
    cell,
    new_table,
    out,
    percent,
    print_json,
    reach,
)
from keepscore.cli.rankings import print_standings
from keepscore.domain.nouns import counted
from keepscore.domain.results.friends import FriendList, FriendsBoard, FriendStanding

__all__ = ["FriendLimit", "app", "print_among", "view"]

app = typer.Typer(help="Friends: change lists, and rank players among them.", no_args_is_help=True)

FriendArguments = Annotated[list[str], typer.Argument(metavar="FRIEND", help="Ids of the friends.")]
FriendLimit = Annotated[int | None, typer.Option("--limit", metavar="N", help="Number of players to show. Default: all.")]


def _print_list(friends: FriendList, json: bool) -> None:
    if json:
        return print_json(friends)
    out.print(Text(f"{friends.player_id} · {counted(friends.total_friends, 'friend')}"))
    for friend in friends.friend_ids:
        out.print(Text(friend))
    return None


@app.command()
def show(player: PlayerArgument, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Show a player's friends."""
    with reach(url, config) as boards:
        friends = boards.friends.of(player)
    _print_list(friends, json)


@app.command("set")
def set_(player: PlayerArgument, friends: FriendArguments, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Replace a player's friends."""
    with reach(url, config) as boards:
        answer = boards.friends.replace(player, friends)
    _print_list(answer, json)


@app.command()
def add(player: PlayerArgument, friends: FriendArguments, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Add friends to a player's list."""
    with reach(url, config) as boards:
        answer = boards.friends.add(player, friends)
    _print_list(answer, json)


@app.command()
def remove(
    player: PlayerArgument,
    friend: Annotated[str, typer.Argument(metavar="FRIEND", help="Id of the friend.")],
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Remove a friend from a player's list."""
    with reach(url, config) as boards:
        answer = boards.friends.remove(player, friend)
    _print_list(answer, json)


@app.command()
def rank(
    board: BoardName,
    player: PlayerArgument,
    limit: FriendLimit = None,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Rank a player among friends."""
    with reach(url, config) as boards:
        answer = boards.friends.ranking(board, player, limit=limit, window=window, window_id=window_id, segment=segment, rank=rank)
    print_json(answer) if json else print_among(answer, "friend")


def print_among(answer: FriendsBoard, noun: str) -> None:
    """Print which ranking it is, those who are ranked, and who is not."""
    slice_ = f" · {answer.segment}" if answer.segment else ""
    players = f"{counted(answer.total_friends, noun)} of {counted(answer.total_players, 'player')}"
    out.print(Text(f"{answer.board} · {answer.window} {answer.window_id}{slice_} · {players}"))
    _print_friends(answer.standings)
    if answer.missing:
        out.print(Text(f"Not ranked: {', '.join(answer.missing)}", style="dim"))
    if answer.stale:
        out.print(Text(f"As of {cell(answer.as_of)}: later scores may be missing.", style="yellow"))


def _print_friends(standings: list[FriendStanding]) -> None:
    table = new_table("rank", "global rank", "player", "name", "score")
    for one in standings:
        cells = one.rank, one.global_rank, one.player_id, one.name, one.score
        table.add_row(*map(cell, cells), style="bold" if one.is_current_player else None)
    out.print(table)


def view(
    board: BoardName,
    player: Annotated[str | None, typer.Argument(metavar="PLAYER", help="Id of the player who looks.")] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Number of first players to show.")] = 10,
    around: Annotated[int, typer.Option(metavar="N", help="Number of players to show above and below.")] = 5,
    friends: Annotated[int, typer.Option(metavar="N", help="Number of friends to show.")] = 10,
    window: Annotated[list[str] | None, typer.Option(metavar="WINDOW", help="Window to show. Repeatable. Default: all.")] = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the top, a player, those around, and friends."""
    with reach(url, config) as boards:
        answer = boards.view(board, player, top=top, around=around, friends=friends, windows=window, segment=segment, rank=rank)
    if json:
        return print_json(answer)
    for name, seen in answer.windows.items():
        slice_ = f" · {answer.segment}" if answer.segment else ""
        out.print(Text(f"{answer.board} · {name} {seen.window_id}{slice_} · {counted(seen.total_players, 'player')}"))
        if seen.me is not None:
            out.print(Text(f"{player}: rank {seen.me.rank}, score {seen.me.score} (percentile {percent(seen.me.percentile)})"))
        print_standings(seen.top, player)
        if seen.around:
            out.print(Text("Around", style="bold"))
            print_standings(seen.around, player)
        if seen.friends:
            out.print(Text("Friends", style="bold"))
            _print_friends(seen.friends)
    return None
