"""The routes of `/v1`."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from keepscore import answers
from keepscore.boards import board_from_dict
from keepscore.entries import Entry
from keepscore.errors import InvalidBoard, InvalidPage, KeepscoreError
from keepscore.leaderboards import MAX_BATCH, BoardInfo, Leaderboards
from keepscore.views import View
from keepscore.web.bodies import (
    AmountBody,
    AroundQuery,
    BatchBody,
    BatchQuery,
    CountQuery,
    EntryBody,
    LookupBody,
    NameBody,
    PlayerQuery,
    ReviseBody,
    RunBody,
    ScoreBody,
    TopQuery,
    VerifyQuery,
    ViewQuery,
    number,
)
from keepscore.web.http import Answer, NoBody, NoQuery, Prepared, Request, Route, decoded, start_of
from keepscore.web.once import Once
from keepscore.web.problems import Problem

__all__ = ["NO_STORE", "Api"]

#: Encoded pages that are kept.
MAX_PAGES = 10_000
#: Bytes of a batch.
MAX_BATCH_BODY = 8 << 20

Headers = tuple[tuple[bytes, bytes], ...]


def _cached(seconds: int) -> Headers:
    return (b"cache-control", b"public, max-age=%d" % seconds), (b"surrogate-control", b"max-age=%d" % seconds)


NO_STORE: Headers = (b"cache-control", b"no-store"), (b"surrogate-control", b"no-store")
FOR_TOP = _cached(60)
FOR_PLAYER = _cached(10)

_entry = msgspec.json.Decoder(EntryBody)


class Status(msgspec.Struct):
    """Whether the service is up."""

    status: str


class Boards(msgspec.Struct):
    """All boards."""

    boards: list[Any]


class Api:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards) -> None:
        self._lb = leaderboards
        #: Encoded pages, each good for the version of its ranking that its tag tells.
        self._pages: dict[tuple[str, bytes], Prepared] = {}
        #: How answers of a ranking's version begin.
        self._starts: dict[tuple[bytes, int], dict[str, Any]] = {}

    def routes(self) -> list[Route]:
        """All routes of `/v1`, and what load balancers ask."""
        board = "/v1/boards/{board}"
        receipt = {200: answers.Receipt, 202: answers.Receipt}
        once = Once(self._lb.ledger)
        return [
            Route("GET", "/v1/boards", self.boards, "All boards", answers={200: Boards}),
            Route("GET", board, self.board, "A board's definition", answers={200: dict}),
            Route("PUT", board, once(self.put_board), "Define or change a board", body=dict[str, Any], answers={200: dict, 201: dict}),
            Route("DELETE", board, once(self.delete_board), "Delete a board", answers={204: None}),
            Route("POST", board + "/scores", self.submit, "Submit a score", body=ScoreBody, answers=receipt),
            Route("POST", board + "/increments", self.increment, "Add to a score", body=AmountBody, answers=receipt),
            Route(
                "POST",
                board + "/scores/batch",
                self.submit_batch,
                "Submit up to 10,000 scores or amounts",
                query=BatchQuery,
                body=BatchBody,
                answers={200: answers.BatchReceipt, 202: answers.BatchReceipt},
                max_body=MAX_BATCH_BODY,
            ),
            Route("GET", board + "/top", self.top, "A page of a ranking", query=TopQuery, answers={200: answers.Top}),
            Route(
                "GET",
                board + "/players/{player_id}",
                self.player,
                "Where a player stands",
                query=PlayerQuery,
                answers={200: answers.PlayerPlace},
            ),
            Route(
                "GET",
                board + "/ranks/{rank}",
                self.around,
                "Players around a rank",
                query=AroundQuery,
                answers={200: answers.Around},
            ),
            Route(
                "POST",
                board + "/players/lookup",
                self.lookup,
                "Up to 1,000 players in rank order",
                query=ViewQuery,
                body=LookupBody,
                answers={200: answers.Lookup},
            ),
            Route("GET", board + "/count", self.count, "How many players", query=CountQuery, answers={200: answers.Count}),
            Route(
                "POST",
                board + "/verify",
                self.verify,
                "Compare with the ledger, and put right what differs if asked to",
                query=VerifyQuery,
                answers={200: answers.Verification},
            ),
            Route("POST", board + "/rebuild", self.rebuild, "Make rankings anew from the ledger", answers={200: answers.Rebuild}),
            Route(
                "POST",
                board + "/windows/{window}/{window_id}/revise",
                once(self.revise),
                "Correct the final standings of a window",
                body=ReviseBody,
                answers={200: answers.Revision},
            ),
            Route("GET", "/v1/keeper", self.keeper, "The keeper's jobs", answers={200: answers.KeeperStatus}),
            Route("POST", "/v1/keeper/run", self.run_keeper, "Do the keeper's jobs now", body=RunBody, answers={200: answers.KeeperRun}),
            Route("GET", "/v1/players/{player_id}", self.profile, "A player's profile", answers={200: answers.Profile}),
            Route("PUT", "/v1/players/{player_id}", once(self.rename), "Name a player", body=NameBody, answers={200: answers.Profile}),
            Route("GET", "/healthz", self.healthz, "Is the process alive?", answers={200: Status}),
            Route("GET", "/readyz", self.readyz, "Do ledger and engine work?", answers={200: Status, 503: Problem}),
        ]

    # -- boards ---------------------------------------------------------------------------------------------------------

    def _definition(self, info: BoardInfo) -> dict[str, Any]:
        definition = {**info.board.to_dict(), "version": info.version}
        layouts = self._lb.layouts(info.board)
        if layouts:
            definition["layouts"] = {window: {"layout": layout, "why": why} for window, (layout, why) in layouts.items()}
        return definition

    async def boards(self, request: Request[NoQuery, NoBody]) -> Answer:
        """All boards."""
        return Answer(Boards([self._definition(info) for info in await self._lb.boards()]))

    async def board(self, request: Request[NoQuery, NoBody]) -> Answer:
        """One board."""
        return Answer(self._definition(await self._lb.board(request.path[0])))

    async def put_board(self, request: Request[NoQuery, dict[str, Any]]) -> Answer:
        """Define or change a board. A `version` in the body is the one that the change is meant for."""
        name, data = request.path[0], dict(request.body)
        version = data.pop("version", None)
        # What GET tells beside the definition.
        data.pop("layouts", None)
        if version is not None and type(version) is not int:
            raise InvalidBoard(f"version = {version!r} cannot be used; write the number that GET gave, or leave it out")
        if data.setdefault("name", name) != name:
            raise InvalidBoard(f"name = {data['name']!r} is not the name in the address, {name!r}")
        await self._lb.refresh()
        known = any(info.board.name == name for info in await self._lb.boards())
        info = await self._lb.put_board(board_from_dict(data), version=version)
        return Answer(self._definition(info), 200 if known else 201)

    async def delete_board(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Delete a board."""
        await self._lb.refresh()
        await self._lb.delete_board(request.path[0])
        return Answer(None, 204)

    # -- submissions ----------------------------------------------------------------------------------------------------

    async def submit(self, request: Request[NoQuery, ScoreBody]) -> Answer:
        """Submit a score."""
        body = request.body
        receipt = await self._lb.submit(
            request.path[0],
            body.player_id,
            number("score", body.score),
            at=body.at,
            segments=body.segments,
            game_id=body.game_id,
            metadata=body.metadata,
            idempotency_key=idempotency_key(request, body.idempotency_key),
        )
        return Answer(receipt, status_of(receipt))

    async def increment(self, request: Request[NoQuery, AmountBody]) -> Answer:
        """Add an amount."""
        body = request.body
        receipt = await self._lb.increment(
            request.path[0],
            body.player_id,
            number("amount", body.amount),
            at=body.at,
            segments=body.segments,
            game_id=body.game_id,
            metadata=body.metadata,
            idempotency_key=idempotency_key(request, body.idempotency_key),
        )
        return Answer(receipt, status_of(receipt))

    async def submit_batch(self, request: Request[BatchQuery, BatchBody]) -> Answer:
        """Submit many; the bad ones are rejected one by one."""
        entries: list[Entry | KeepscoreError] = []
        for raw in request.body.scores[: MAX_BATCH + 1]:
            try:
                entries.append(decoded(_entry, raw).entry())
            except KeepscoreError as exc:
                entries.append(exc)
        query, key = request.query, idempotency_key(request)
        if query.dry_run:
            return Answer(await self._lb.check_many(request.path[0], entries, backfill=query.backfill))
        answer = await self._lb.submit_many(request.path[0], entries, results=query.results, backfill=query.backfill, idempotency_key=key)
        return Answer(answer, status_of(answer))

    # -- reads ----------------------------------------------------------------------------------------------------------

    def _view(self, request: Request[Any, Any]) -> View:
        query: ViewQuery = request.query
        return self._lb.reader.view(request.path[0], query.window, query.window_id, query.segment, query.rank)

    async def top(self, request: Request[TopQuery, NoBody]) -> Answer | Prepared:
        """A page of a ranking; it is kept encoded until the ranking changes."""
        view, query = self._view(request), request.query
        etag = self._lb.reader.tag(view.ranking)
        key = request.path[0], request.query_string
        known = self._pages.get(key)
        if known is not None and known.etag == etag and not view.ended:
            return known

        async def page() -> Answer | Prepared:
            made = await self._lb.reader.top(view, query.limit, query.offset, query.cursor)
            return self._cacheable(view, made, FOR_TOP, etag)

        if view.strong:
            return await page()
        ready = await self._lb.reader.shared(key, view.ranking, page)
        if len(self._pages) >= MAX_PAGES:
            self._pages.clear()
        if isinstance(ready, Prepared) and not view.ended:
            self._pages[key] = ready
        return ready

    def _cacheable(self, view: View, content: object, headers: Headers, etag: bytes) -> Answer | Prepared:
        """An answer that may be kept, unless the board is strong or the answer stale."""
        if headers_for(view, content, headers) is NO_STORE:
            return Answer(content, headers=NO_STORE)
        body = answers.encode(content)
        if getattr(content, "archived", None) is True:
            # Archives, and their revisions, change nothing in the engine: the tag is that of the answer itself.
            etag = b'"%s"' % hashlib.blake2b(body, digest_size=12).hexdigest().encode()
            return Prepared(etag, start_of(etag, headers), {"type": "http.response.body", "body": body})
        return self._prepared(etag, headers, body)

    def _prepared(self, etag: bytes, headers: Headers, body: bytes) -> Prepared:
        """An answer with the tag of a ranking, which many answers have: how it begins is kept. `headers` are one of a few constants."""
        start = self._starts.get((etag, id(headers)))
        if start is None:
            if len(self._starts) >= MAX_PAGES:
                self._starts.clear()
            start = self._starts[etag, id(headers)] = start_of(etag, headers)
        return Prepared(etag, start, {"type": "http.response.body", "body": body})

    async def player(self, request: Request[PlayerQuery, NoBody]) -> Answer | Prepared:
        """Where a player stands."""
        query, reader = request.query, self._lb.reader
        view = reader.view(request.path[0], query.window, query.window_id, query.segment, query.rank)
        etag = reader.tag(view.ranking)
        place = None if query.around or view.strong else reader.player_now(view, request.path[1])
        if place is not None:
            return self._prepared(etag, FOR_PLAYER, answers.encode(place))
        return self._cacheable(view, await reader.player(view, request.path[1], query.around), FOR_PLAYER, etag)

    async def around(self, request: Request[AroundQuery, NoBody]) -> Answer | Prepared:
        """The players around a rank."""
        rank = whole_number("rank", request.path[1])
        view = self._view(request)
        etag = self._lb.reader.tag(view.ranking)
        return self._cacheable(view, await self._lb.reader.around(view, rank, request.query.around), FOR_TOP, etag)

    async def lookup(self, request: Request[ViewQuery, LookupBody]) -> Answer:
        """Some players in rank order."""
        return Answer(await self._lb.reader.lookup(self._view(request), request.body.player_ids))

    async def count(self, request: Request[CountQuery, NoBody]) -> Answer | Prepared:
        """How many players."""
        view = self._view(request)
        etag = self._lb.reader.tag(view.ranking)
        return self._cacheable(view, await self._lb.reader.count(view, request.query.min, request.query.max), FOR_PLAYER, etag)

    async def verify(self, request: Request[VerifyQuery, NoBody]) -> Answer:
        """Compare a board with the ledger."""
        return Answer(await self._lb.verify(request.path[0], repair=request.query.repair))

    async def rebuild(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Make a board's rankings anew."""
        return Answer(await self._lb.rebuild(request.path[0]))

    async def revise(self, request: Request[NoQuery, ReviseBody]) -> Answer:
        """Correct the final standings of a window."""
        board, window, window_id = request.path
        return Answer(await self._lb.revise(board, window, window_id, request.body.reason))

    async def keeper(self, request: Request[NoQuery, NoBody]) -> Answer:
        """The keeper's jobs."""
        return Answer(await self._lb.keeper_status(), headers=NO_STORE)

    async def run_keeper(self, request: Request[NoQuery, RunBody]) -> Answer:
        """Do the keeper's jobs now."""
        return Answer(await self._lb.run_keeper(request.body.now))

    # -- players, health ------------------------------------------------------------------------------------------------

    async def profile(self, request: Request[NoQuery, NoBody]) -> Answer:
        """A player's profile."""
        return Answer(await self._lb.profile(request.path[0]))

    async def rename(self, request: Request[NoQuery, NameBody]) -> Answer:
        """Name a player."""
        return Answer(await self._lb.name_player(request.path[0], request.body.name))

    async def healthz(self, request: Request[NoQuery, NoBody]) -> Answer:
        """The process is alive."""
        return Answer(Status("live"), headers=NO_STORE)

    async def readyz(self, request: Request[NoQuery, NoBody]) -> Answer:
        """A ledger write and an engine call work."""
        await self._lb.ready()
        return Answer(Status("ready"), headers=NO_STORE)


def status_of(receipt: answers.Receipt | answers.BatchReceipt) -> int:
    """202 for what is recorded and not ranked yet."""
    return 202 if receipt.pending is True else 200


def headers_for(view: View, content: object, headers: Headers) -> Headers:
    """Caching headers of an answer; those of a strong board, and stale ones, are never kept."""
    return NO_STORE if view.strong or getattr(content, "stale", None) is True else headers


def idempotency_key(request: Request[Any, Any], in_body: str | None = None) -> str | None:
    """The Idempotency-Key header, or the field of the body where there is no header."""
    header = request.header(b"idempotency-key")
    return in_body if header is None else header


def whole_number(field: str, text: str) -> int:
    """A whole number in an address."""
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 18:
        raise InvalidPage(f"{field} = {text[:40]!r} is not a whole number")
    return int(text)
