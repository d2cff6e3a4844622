"""`keepscore players`: profiles, on the ledger itself or over a service."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

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
    err,
    new_table,
    out,
    print_json,
    reach,
)
from keepscore.cli.rankings import print_standings
from keepscore.domain.nouns import counted
from keepscore.domain.profiles import PROFILE_FIELDS
from keepscore.domain.results.players import Profile, ProfileBatch
from keepscore.errors import ConfigError

__all__ = ["app"]

app = typer.Typer(help="Show and set players' profiles, and search players.", no_args_is_help=True)

#: Profiles that are sent at a time, and bad lines that are printed.
CHUNK_PROFILES, MAX_BAD_LINES = 5000, 100
#: Columns of a file whose values are numbers.
_NUMBERS = {"level"}


@app.command()
def show(player: PlayerArgument, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Show a player's profile."""
    with reach(url, config) as boards:
        _print(boards.players.profile(player), json)


@app.command()
def export(player: PlayerArgument, url: Url = None, config: Config = None) -> None:
    """Print everything that is stored about a player, as JSON."""
    with reach(url, config) as boards:
        print_json(boards.moderation.export(player))


@app.command("set")
def set_(
    player: PlayerArgument,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name to show.")] = None,
    avatar_url: Annotated[str | None, typer.Option(metavar="URL", help="Address of the player's picture.")] = None,
    region: Annotated[str | None, typer.Option(metavar="TEXT", help="Region.")] = None,
    country: Annotated[str | None, typer.Option(metavar="TEXT", help="Country, such as BR.")] = None,
    level: Annotated[int | None, typer.Option(metavar="N", help="Level.")] = None,
    team: Annotated[str | None, typer.Option(metavar="TEXT", help="Team.")] = None,
    attribute: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Attribute of your own. Repeatable.")] = None,
    visibility: Annotated[str | None, typer.Option(metavar="WHO", help="public, friends, pseudonym or hidden.")] = None,
    clear: Annotated[list[str] | None, typer.Option(metavar="FIELD", help="Field to remove, such as avatar_url. Repeatable.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Change some fields of a player's profile."""
    given = {"name": name, "avatar_url": avatar_url, "region": region, "country": country, "level": level, "team": team}
    fields: dict[str, Any] = {field: value for field, value in {**given, "visibility": visibility}.items() if value is not None}
    if attribute:
        fields["attributes"] = dict(map(_attribute, attribute))
    fields |= dict.fromkeys(clear or ())
    if not fields:
        raise ConfigError("nothing to change: give some of --name, --country, --level and the others")
    with reach(url, config) as boards:
        _print(boards.players.change(player, fields), json)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .jsonl file.")],
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Import profiles from a file. You can repeat it.

    A file has the column player_id (or player) and some of name, avatar_url, region, country, level, team, visibility. Other columns
    are attributes. What a line leaves empty stays as it is.
    """
    if not file.is_file():
        raise ConfigError(f"{file} is not a file: name a .csv or .jsonl file")
    answer = ProfileBatch(0, [])
    with reach(url, config) as boards:
        lines = _lines(file)
        first = 1
        while some := list(islice(lines, CHUNK_PROFILES)):
            found = boards.players.change_many(some)
            answer.accepted += found.accepted
            for rejection in found.rejected:
                rejection.index += first
                answer.rejected.append(rejection)
            first += len(some)
    if json:
        print_json(answer)
    else:
        for rejection in answer.rejected[:MAX_BAD_LINES]:
            err.print(f"row {rejection.index}: {rejection.detail}", style="yellow")
        out.print(f"{counted(answer.accepted, 'profile')} imported, {len(answer.rejected)} rejected.")
    if answer.rejected:
        raise typer.Exit(1)


@app.command()
def search(
    board: BoardName,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The letters that names begin with.")],
    limit: Annotated[int, typer.Option(metavar="N", help="Number of players to show.")] = 20,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Search the players of a ranking whose names begin with some letters."""
    with reach(url, config) as boards:
        found = boards.players.search(board, name, limit=limit, window=window, window_id=window_id, segment=segment, rank=rank)
    if json:
        return print_json(found)
    print_standings(found.standings)
    return out.print(counted(len(found.standings), "player") + (": there may be more, give more letters" if found.more else ""))


@app.command()
def segments(
    board: BoardName,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of this segment, such as country.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="How many to show.")] = 100,
    offset: Annotated[int, typer.Option(metavar="N", help="How many to skip.")] = 0,
    window: WindowOption = None,
    window_id: WindowId = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List the segments of a board with their numbers of players."""
    with reach(url, config) as boards:
        found = boards.players.segments(board, name=name, window=window, window_id=window_id, limit=limit, offset=offset)
    if json:
        return print_json(found)
    table = new_table("segment", "players")
    for one in found.segments:
        table.add_row(*map(cell, (one.segment, one.total_players)))
    out.print(table)
    return out.print(f"{len(found.segments)} of {found.total}")


def _attribute(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--attribute {text!r} has no value: write it as in clan=owls")
    return name, value


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the profiles of a file. What is no profile is passed on as it is, and rejected."""
    if file.suffix == ".jsonl":
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.strip():
                    yield _decoded(line)
        return
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        for row in csv.DictReader(lines):
            yield _profile({name: value for name, value in row.items() if name and isinstance(value, str) and value != ""})


def _decoded(line: str) -> dict[str, Any]:
    try:
        return _profile(msgspec.json.decode(line, type=dict[str, Any]))
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}


def _profile(row: dict[str, Any]) -> dict[str, Any]:
    if "player" in row:
        row["player_id"] = row.pop("player")
    own = {name: row.pop(name) for name in list(row) if name not in (*PROFILE_FIELDS, "player_id")}
    if own:
        row["attributes"] = {**row.get("attributes", {}), **own}
    for name in _NUMBERS & row.keys():
        text = str(row[name])
        row[name] = int(text) if text.isascii() and text.isdecimal() and len(text) <= 16 else row[name]
    return row


def _print(profile: Profile, json: bool) -> None:
    if json:
        print_json(profile)
        return
    table = new_table("field", "value")
    for name, value in profile.to_dict().items():
        shown = ", ".join(f"{key} = {own}" for key, own in value.items()) if isinstance(value, dict) else value
        table.add_row(cell(name), cell(shown))
    out.print(table)
