"""The command line. Commands speak to a running service, or work on the ledger that the configuration names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from keepscore import __version__
from keepscore.answers import encode
from keepscore.config import boards_from_file, load_settings
from keepscore.errors import KeepscoreError, LedgerInUse
from keepscore.transfer import BadLine, Line, read_lines, write_standings
from keepscore.transports import LocalTransport, ServiceTransport, Transport

__all__ = ["main"]

#: Entries that an import sends at a time.
IMPORT_BATCH = 1000
#: Bad lines that are told one by one.
MAX_BAD_LINES = 1000

app = typer.Typer(
    help="Real-time leaderboards. Start with [bold]keepscore serve[/bold], then open the page that it names.",
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
boards_app = typer.Typer(help="Show and define boards.", no_args_is_help=True)
app.add_typer(boards_app, name="boards")
out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)

# Scores may be negative: -5 is an argument, not an option.
NUMBERS = {"ignore_unknown_options": True}

Url = Annotated[str | None, typer.Option(envvar="KEEPSCORE_URL", help="A running service, such as http://127.0.0.1:8080.")]
Config = Annotated[str | None, typer.Option(help="The configuration file. Default: keepscore.toml, if there is one.")]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, for programs.")]
BoardName = Annotated[str, typer.Argument(metavar="BOARD", help="The board's name.")]
Player = Annotated[str, typer.Argument(metavar="PLAYER", help="The player's id.")]
WindowOption = Annotated[str | None, typer.Option("--window", help="daily, weekly, monthly, yearly, all_time or season.")]
WindowId = Annotated[str | None, typer.Option(help="Which one, such as 2026-W46. Default: the present one.")]
Segment = Annotated[str | None, typer.Option(help="A slice of the board, such as region:eu.")]
RankOption = Annotated[str | None, typer.Option("--rank", help="How to number ranks: unique, standard or dense.")]
At = Annotated[str | None, typer.Option(help="When it happened, such as 2026-11-15T19:30:00Z. Default: now.")]
Segments = Annotated[list[str] | None, typer.Option("--segment", help="A segment of the player, such as region:eu. Repeatable.")]
GameId = Annotated[str | None, typer.Option(help="The game that it comes from.")]
Key = Annotated[str | None, typer.Option("--key", help="An idempotency key: sent again, it counts once.")]


@contextmanager
def _reach(url: str | None, config: str | None) -> Iterator[Transport]:
    """The service at a URL; without one, the ledger of the configuration, or the service that has it open."""
    if url is not None:
        yield ServiceTransport(url)
        return
    try:
        transport: Transport = LocalTransport(load_settings(config))
    except LedgerInUse as exc:
        if exc.url is None:
            raise
        err.print(f"The ledger is in use by the service at {exc.url}: asking that.", style="dim")
        transport = ServiceTransport(exc.url)
    with transport:
        yield transport


def _print_json(answer: object) -> None:
    sys.stdout.write(encode(answer).decode() + "\n")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in NUMERIC else "left")
    return table


NUMERIC = {"rank", "score", "change", "percentile", "players", "events", "rankings", "differences", "version"}


def _cell(value: object) -> Text:
    return Text("–" if value is None else str(value))


@app.command()
def serve(
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. Default: 8080.")] = None,
    engine: Annotated[str | None, typer.Option(metavar="URL", help="Where rankings are kept. Default: embedded://.")] = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="URL", help="Where events are kept. Default: sqlite:///data/keepscore.db.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="How many processes serve. Default: 1.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Listen on other addresses than this machine's own.")] = False,
) -> None:
    """Run the service: the page, the HTTP API and its reference at /docs."""
    from keepscore.web.serve import run_service

    flags = {"server.host": host, "server.port": port, "server.workers": workers, "engine.url": engine, "ledger.url": ledger}
    settings = load_settings(config, {**flags, "server.insecure": True if insecure else None})

    def started(url: str) -> None:
        err.print(f"[bold]Keepscore {__version__}[/bold] is ready at [bold]{url}[/bold]  (API reference: {url}/docs)")
        if settings.insecure:
            err.print("[yellow]--insecure: everybody who reaches this machine can read and write.[/yellow]")

    run_service(settings, started)


@boards_app.command("list")
def boards_list(url: Url = None, config: Config = None, json: Json = False) -> None:
    """List all boards."""
    with _reach(url, config) as transport:
        answer = transport.call("GET", "boards")
    if json:
        return _print_json(answer)
    table = _table("board", "operator", "order", "ties", "windows", "segments", "version")
    for board in answer["boards"]:
        lists = [", ".join(board["windows"]), ", ".join(board["segments"])]
        table.add_row(*(_cell(board[key]) for key in ("name", "operator", "order", "ties")), *map(_cell, lists), _cell(board["version"]))
    return out.print(table)


@boards_app.command("show")
def boards_show(board: BoardName, url: Url = None, config: Config = None, json: Json = False) -> None:
    """Show a board's definition."""
    with _reach(url, config) as transport:
        answer = transport.call("GET", "boards", board)
    if json:
        return _print_json(answer)
    table = _table("field", "value")
    for field, value in answer.items():
        table.add_row(field, _cell(value if isinstance(value, str) else encode(value).decode()))
    return out.print(table)


@boards_app.command("apply")
def boards_apply(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A TOML file with [[board]] tables, or a JSON file.")],
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Define or change the boards of a file."""
    boards = boards_from_file(file)
    with _reach(url, config) as transport:
        # Boards that others link to come first.
        for board in sorted(boards, key=lambda board: bool(isinstance(board, dict) and board.get("also"))):
            name = str(board.get("name", "")) if isinstance(board, dict) else ""
            answer = transport.call("PUT", "boards", name or "-", body=board)
            if json:
                _print_json(answer)
            else:
                out.print(f"board {answer['name']}: version {answer['version']}")


@app.command(context_settings=NUMBERS)
def submit(
    board: BoardName,
    player: Player,
    score: Annotated[str, typer.Argument(metavar="SCORE", help="The score.")],
    at: At = None,
    segment: Segments = None,
    game_id: GameId = None,
    key: Key = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Submit a score."""
    _submit("scores", "score", board, player, score, at, segment, game_id, key, url, config, json)


@app.command(context_settings=NUMBERS)
def increment(
    board: BoardName,
    player: Player,
    amount: Annotated[str, typer.Argument(metavar="AMOUNT", help="What to add.")],
    at: At = None,
    segment: Segments = None,
    game_id: GameId = None,
    key: Key = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Add to a score, on a board with the operator sum or last."""
    _submit("increments", "amount", board, player, amount, at, segment, game_id, key, url, config, json)


def _submit(
    route: str,
    field: str,
    board: str,
    player: str,
    value: str,
    at: str | None,
    segment: list[str] | None,
    game_id: str | None,
    key: str | None,
    url: str | None,
    config: str | None,
    json: bool,
) -> None:
    from decimal import Decimal, InvalidOperation

    try:
        number = Decimal(value)
    except InvalidOperation:
        raise typer.BadParameter(f"{value!r} is not a number") from None
    body: dict[str, Any] = {"player_id": player, field: number}
    segments = {name: rest for name, _, rest in (text.partition(":") for text in segment or [])}
    extra = {"at": at, "segments": segments or None, "game_id": game_id, "idempotency_key": key}
    body |= {name: value for name, value in extra.items() if value is not None}
    with _reach(url, config) as transport:
        answer = transport.call("POST", "boards", board, route, body=body)
    if json:
        return _print_json(answer)
    table = _table("window", "id", "score", "rank", "change", "percentile", "players")
    for window, state in answer["windows"].items():
        change = state["rank_change"]
        moved = "new" if state["previous_rank"] is None else f"↑{change}" if change > 0 else f"↓{-change}" if change < 0 else "="
        share = f"{float(state['percentile']):.2f}"
        cells = (window, state["id"], state["score"], state["rank"], moved, share, state["total_players"])
        table.add_row(*map(_cell, cells))
    return out.print(table)


def _print_standings(standings: list[dict[str, Any]], marked: str | None = None) -> None:
    table = _table("rank", "player", "name", "score", "since")
    for standing in standings:
        style = "bold" if standing["player_id"] == marked else None
        cells = (standing[key] for key in ("rank", "player_id", "name", "score", "since"))
        table.add_row(*map(_cell, cells), style=style)
    out.print(table)


@app.command()
def top(
    board: BoardName,
    limit: Annotated[int, typer.Option(help="How many players.")] = 10,
    offset: Annotated[int, typer.Option(help="How many to pass over.")] = 0,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the top of a board."""
    query = {"limit": limit, "offset": offset, "window": window, "window_id": window_id, "segment": segment, "rank": rank}
    with _reach(url, config) as transport:
        answer = transport.call("GET", "boards", board, "top", query=query)
    if json:
        return _print_json(answer)
    return _print_ranking(answer)


def _print_ranking(answer: dict[str, Any], marked: str | None = None) -> None:
    slice_ = f" · {answer['segment']}" if answer["segment"] else ""
    out.print(Text(f"{answer['board']} · {answer['window']} {answer['window_id']}{slice_} · {answer['total_players']} players"))
    _print_standings(answer["standings"], marked)


@app.command()
def rank(
    board: BoardName,
    player: Player,
    around: Annotated[int, typer.Option(help="How many players above and below.")] = 2,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show where a player stands, and who is around."""
    query = {"around": around, "window": window, "window_id": window_id, "segment": segment, "rank": rank}
    with _reach(url, config) as transport:
        answer = transport.call("GET", "boards", board, "players", player, query=query)
    if json:
        return _print_json(answer)
    out.print(Text(f"rank {answer['rank']} of {answer['total_players']}, better than or equal to {float(answer['percentile']):.2f} %"))
    return _print_ranking({**answer, "standings": answer["around"]}, player)


@app.command()
def around(
    board: BoardName,
    center: Annotated[int, typer.Argument(metavar="RANK", help="The rank in the middle.")],
    around: Annotated[int, typer.Option(help="How many players above and below.")] = 5,
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the players around a rank."""
    query = {"around": around, "window": window, "window_id": window_id, "segment": segment, "rank": rank}
    with _reach(url, config) as transport:
        answer = transport.call("GET", "boards", board, "ranks", str(center), query=query)
    return _print_json(answer) if json else _print_ranking(answer)


@app.command()
def verify(
    board: Annotated[str | None, typer.Argument(metavar="[BOARD]", help="The board. Default: all.")] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Compare what boards show with what the ledger says. Exit code 1 where something differs."""
    with _reach(url, config) as transport:
        names = [board] if board else [found["name"] for found in transport.call("GET", "boards")["boards"]]
        found = [transport.call("POST", "boards", name, "verify") for name in names]
    if json:
        _print_json(found)
    else:
        table = _table("board", "events", "rankings", "players", "differences")
        for answer in found:
            table.add_row(*(_cell(answer[key]) for key in ("board", "events", "rankings", "players")), _cell(len(answer["differences"])))
        out.print(table)
        for answer in found:
            for d in answer["differences"]:
                where = f"{answer['board']} {d['window']} {d['window_id']} {d['segment'] or ''}"
                out.print(Text(f"{where}: {d['player_id']}: ledger {d['ledger']}, engine {d['engine']}"))
    if any(answer["differences"] for answer in found):
        raise typer.Exit(1)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A .csv or .jsonl file.")],
    board: Annotated[str, typer.Option(help="The board that the scores are for.")],
    source: Annotated[
        str | None, typer.Option(help="What the scores come from. Equal lines of one source count once. Default: the file's name.")
    ] = None,
    url: Url = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Import scores: columns player, score (or amount), and optionally at, segments (region:eu;country:BR) and game_id.

    It can be run again, with a file that has grown or was mended, too: no line counts twice.
    """
    bad: list[BadLine] = []
    accepted = duplicates = 0
    with _reach(url, config) as transport, _progress(file, quiet=json) as advance:
        lines = read_lines(file, source or file.name)
        while chunk := list(islice(lines, IMPORT_BATCH)):
            good = [line for line in chunk if isinstance(line, Line)]
            bad += [line for line in chunk if isinstance(line, BadLine)]
            if good:
                body = {"scores": [line.entry for line in good]}
                answer = transport.call("POST", "boards", board, "scores", "batch", query={"backfill": "true"}, body=body)
                accepted += answer["accepted"]
                duplicates += answer.get("duplicates", 0)
                bad += [BadLine(good[r["index"]].number, r["detail"], 0) for r in answer["rejected"]]
            advance(chunk[-1].read)
    bad.sort(key=lambda line: line.number)
    if json:
        rejected = [{"line": line.number, "detail": line.problem} for line in bad]
        _print_json({"imported": accepted - duplicates, "already_imported": duplicates, "rejected": rejected})
    else:
        out.print(f"{accepted - duplicates} imported, {duplicates} imported before, {len(bad)} bad lines")
        for line in bad[:MAX_BAD_LINES]:
            err.print(Text(f"{file.name}, line {line.number}: {line.problem}", style="red"))
        if len(bad) > MAX_BAD_LINES:
            err.print(f"… and {len(bad) - MAX_BAD_LINES} more")
    if bad:
        raise typer.Exit(1)


@contextmanager
def _progress(file: Path, quiet: bool) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=quiet) as progress:
        task = progress.add_task(file.name, total=file.stat().st_size)
        yield lambda read: progress.update(task, completed=read)


@app.command()
def export(
    board: BoardName,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write. Default: to the terminal.")] = None,
    format: Annotated[Literal["csv", "jsonl"], typer.Option(help="csv or jsonl.")] = "csv",
    window: WindowOption = None,
    window_id: WindowId = None,
    segment: Segment = None,
    rank: RankOption = None,
    url: Url = None,
    config: Config = None,
) -> None:
    """Export all standings of a ranking."""
    query: dict[str, Any] = {"limit": 1000, "window": window, "window_id": window_id, "segment": segment, "rank": rank}
    columns = (TextColumn(board), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with _reach(url, config) as transport, Progress(*columns, console=err, disable=output is None) as progress:
        task = progress.add_task(board)

        def standings() -> Iterator[dict[str, Any]]:
            while True:
                page = transport.call("GET", "boards", board, "top", query=query)
                progress.update(task, total=page["total_players"], advance=len(page["standings"]))
                yield from page["standings"]
                query.update(cursor=page["next_cursor"], window_id=page["window_id"])
                if page["next_cursor"] is None:
                    return

        if output is None:
            write_standings(standings(), sys.stdout, format)
        else:
            with output.open("w", encoding="utf-8", newline="") as stream:
                write_standings(standings(), stream, format)


@app.command()
def version() -> None:
    """Print the version."""
    out.print(f"keepscore {__version__}")


def main() -> None:
    """Run the command line; errors are told in a sentence, with exit code 2."""
    try:
        app()
    except KeepscoreError as exc:
        err.print(Text(f"Error: {exc}", style="red"))
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)
