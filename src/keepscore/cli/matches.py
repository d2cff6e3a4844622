"""`keepscore match`: matches on boards with a rating, on the ledger itself or over a service."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from keepscore.cli.options import At, BoardName, Config, Json, PlayerArgument, Url, cell, err, new_table, number_of, out, print_json, reach
from keepscore.domain.nouns import counted
from keepscore.domain.results.matches import MatchBatch, MatchReceipt, PlayedMatch
from keepscore.errors import ConfigError

__all__ = ["app"]

app = typer.Typer(help="Record matches, and look back at them.", no_args_is_help=True)

#: Matches that are sent at a time, and bad lines that are printed.
CHUNK_MATCHES, MAX_BAD_LINES = 1000, 100

Opponent = Annotated[str, typer.Argument(metavar="OPPONENT", help="Id of the other player.")]
Limit = Annotated[int, typer.Option(metavar="N", help="How many, up to 1,000.")]


@app.command()
def record(
    board: BoardName,
    a: Annotated[str, typer.Argument(metavar="A", help="Id of the first player.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Id of the second player.")],
    result: Annotated[str, typer.Argument(metavar="RESULT", help="1: A won. 0.5: a draw. 0: B won.")],
    match: Annotated[str | None, typer.Option("--id", metavar="ID", help="Id of the match. It counts once.")] = None,
    at: At = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Record a match of two players."""
    number = number_of(result)
    with reach(url, config) as boards:
        receipt = boards.matches.record(board, a, b, number, match_id=match, at=at)
    return _print_receipt(receipt, json)


@app.command(name="teams")
def record_teams(
    board: BoardName,
    teams: Annotated[list[str], typer.Argument(metavar="TEAM…", help="Ids of the players of each team, with commas: 'ada,bruno' carla.")],
    ranks: Annotated[str | None, typer.Option(metavar="N,N…", help="Place of each team, as in 1,2. Without: in their order.")] = None,
    match: Annotated[str | None, typer.Option("--id", metavar="ID", help="Id of the match. It counts once.")] = None,
    at: At = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Record a match of teams, on a board rated by openskill."""
    places = None if ranks is None else [_place(text) for text in ranks.split(",")]
    with reach(url, config) as boards:
        receipt = boards.matches.record_teams(board, [team.split(",") for team in teams], places, match_id=match, at=at)
    return _print_receipt(receipt, json)


@app.command(name="import")
def import_matches(
    board: BoardName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .jsonl file: a match a line.")],
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Record the matches of a file, in their order. You can repeat it where they have ids.

    A line has a, b and result, or teams and ranks; and match_id and at, where they are known.
    """
    if not file.is_file():
        raise ConfigError(f"{file} is not a file: name a .jsonl file")
    answer, first = MatchBatch(board, 0, 0, [], []), 1
    with reach(url, config) as boards, file.open(encoding="utf-8", errors="replace") as lines:
        while some := [_match(line) for line in islice(lines, CHUNK_MATCHES)]:
            found = boards.matches.record_many(board, some)
            answer.accepted += found.accepted
            answer.duplicates += found.duplicates
            for rejection in found.rejected:
                rejection.index += first
                answer.rejected.append(rejection)
            first += len(some)
    if json:
        print_json(answer)
    else:
        for rejection in answer.rejected[:MAX_BAD_LINES]:
            err.print(f"line {rejection.index}: {rejection.detail}", style="yellow")
        recorded = counted(answer.accepted, "match", "matches")
        out.print(f"{recorded} recorded, {answer.duplicates} of them before, {len(answer.rejected)} rejected.")
    if answer.rejected:
        raise typer.Exit(1)


@app.command(name="list")
def list_matches(
    board: BoardName,
    player: PlayerArgument,
    opponent: Annotated[str | None, typer.Option(metavar="ID", help="Only matches against this player.")] = None,
    limit: Limit = 20,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List a player's matches, the newest first."""
    with reach(url, config) as boards:
        found = boards.matches.of_player(board, player, opponent_id=opponent, limit=limit)
    if json:
        return print_json(found)
    _print(found.matches)
    return out.print(f"{len(found.matches)} of {found.total}")


@app.command(name="versus")
def versus(
    board: BoardName, player: PlayerArgument, opponent: Opponent, url: Url = None, config: Config = None, json: Json = False
) -> None:
    """Compare two players head to head."""
    with reach(url, config) as boards:
        found = boards.matches.head_to_head(board, player, opponent)
    if json:
        return print_json(found)
    _print(found.matches)
    return out.print(f"{player}: {found.wins} won, {found.draws} drawn, {found.losses} lost against {opponent}; change {found.change}")


@app.command()
def ratings(
    board: BoardName, player: PlayerArgument, limit: Limit = 20, url: Url = None, config: Config = None, json: Json = False
) -> None:
    """Show a player's rating after each match, the newest first."""
    with reach(url, config) as boards:
        found = boards.matches.ratings(board, player, limit=limit)
    if json:
        return print_json(found)
    table = new_table("at", "match", "rating", "change")
    for point in found.points:
        table.add_row(*map(cell, (point.at, point.match_id, point.rating, point.change)))
    out.print(table)
    if found.rating is not None:
        certain = "" if found.deviation is None else f", deviation {found.deviation:g}"
        out.print(f"now: {found.rating}{certain}{', provisional' if found.provisional else ''}")
    return out.print("no matches" if found.peak is None else f"highest: {found.peak.rating}, on {found.peak.at:%Y-%m-%d}")


def _match(line: str) -> Any:
    """Return a line's match. What is none is passed on as it is, and rejected."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        return line.strip()


def _place(text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is no place: write numbers with commas, as in 1,2", param_hint="--ranks")
    return int(text[:9])


def _print_receipt(receipt: MatchReceipt, json: bool) -> None:
    if json:
        return print_json(receipt)
    table = new_table("player", "rating", "change", "rank")
    for player in receipt.players:
        rank = "provisional" if player.provisional is True else player.rank
        table.add_row(*map(cell, (player.player_id, player.rating, player.change, rank)))
    out.print(table)
    again = " It was recorded before." if receipt.replayed else ""
    return out.print(f"match {receipt.match_id} on board {receipt.board}.{again}")


def _print(matches: list[PlayedMatch]) -> None:
    table = new_table("at", "match", "against", "result", "rating", "change")
    for one in matches:
        result = "void" if one.void else f"{one.result:g}"
        table.add_row(*map(cell, (one.at, one.match_id, ", ".join(one.against), result, one.rating, one.change)))
    out.print(table)
