"""Private groups: create, join, leave, and rank their members."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from keepscore.cli.friends import FriendLimit, print_among
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
    Yes,
    cell,
    confirm,
    new_table,
    out,
    print_json,
    reach,
)
from keepscore.domain.nouns import counted
from keepscore.domain.results.groups import PlayerGroup

__all__ = ["app"]

app = typer.Typer(help="Private groups: join, leave, and rank members.", no_args_is_help=True)

GroupId = Annotated[str, typer.Argument(metavar="GROUP", help="Id of the group, such as g_5f0c2a91d7e3b846.")]


def _print_group(group: PlayerGroup) -> None:
    out.print(Text(f"{group.name} · {group.group_id} · code {group.invite_code} · {counted(len(group.members), 'member')}"))
    for member in group.members:
        out.print(Text(f"{member} (owner)" if member == group.owner else member))


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the group.")],
    owner: PlayerArgument,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Create a group; the player owns it."""
    with reach(url, config) as boards:
        group = boards.groups.create(name, owner)
    print_json(group) if json else out.print(Text(f"Group {group.group_id} has the invite code {group.invite_code}."))


@app.command()
def show(group: GroupId, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Show a group with its code and members."""
    with reach(url, config) as boards:
        found = boards.groups.get(group)
    print_json(found) if json else _print_group(found)


@app.command("list")
def list_(player: PlayerArgument, url: Url = None, config: Config = None, json: Json = False) -> None:
    """List a player's groups."""
    with reach(url, config) as boards:
        found = boards.groups.of(player)
    if json:
        return print_json(found)
    table = new_table("group", "name", "owner", "members")
    for one in found.groups:
        table.add_row(*map(cell, (one.group_id, one.name, one.owner, one.total_members)))
    out.print(table)
    return None


@app.command()
def join(
    player: PlayerArgument,
    code: Annotated[str, typer.Argument(metavar="CODE", help="Invite code of the group.")],
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Let a player join the group of an invite code."""
    with reach(url, config) as boards:
        group = boards.groups.join(player, code)
    print_json(group) if json else _print_group(group)


@app.command()
def leave(group: GroupId, player: PlayerArgument, url: Url = None, config: Config = None) -> None:
    """Remove a player from a group."""
    with reach(url, config) as boards:
        boards.groups.remove(group, player)
    out.print(Text(f"{player} is not a member of {group} any more."))


@app.command()
def rotate(group: GroupId, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Replace a group's invite code."""
    with reach(url, config) as boards:
        code = boards.groups.rotate(group)
    print_json(code) if json else out.print(Text(f"Group {group} has the invite code {code.invite_code} now."))


@app.command()
def delete(group: GroupId, yes: Yes = False, url: Url = None, config: Config = None) -> None:
    """Delete a group. Players and scores stay."""
    confirm(f"Delete the group {group}?", yes)
    with reach(url, config) as boards:
        boards.groups.delete(group)
    out.print(Text(f"Group {group} is deleted."))


@app.command()
def rank(
    board: BoardName,
    group: GroupId,
    limit: FriendLimit = None,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Rank the members of a group."""
    with reach(url, config) as boards:
        answer = boards.groups.ranking(board, group, limit=limit, window=window, window_id=window_id, segment=segment, rank=rank)
    print_json(answer) if json else print_among(answer, "member")
