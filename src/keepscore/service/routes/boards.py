"""The handlers of `/v1`."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import msgspec

from keepscore.access.principals import ANONYMOUS
from keepscore.domain.board_checks import brief
from keepscore.domain.boards import board_from_dict
from keepscore.domain.inputs import Entry
from keepscore.domain.results import standings as answers
from keepscore.domain.values import check_key, check_player
from keepscore.errors import InvalidBoard, InvalidField, InvalidPage, KeepscoreError, Unauthenticated
from keepscore.leaderboards import Leaderboards
from keepscore.projection.viewers import is_shadowed
from keepscore.reading.distribution import distribution
from keepscore.reading.score_range import ShownScores
from keepscore.reading.view import View
from keepscore.service.http.layer import NO_STORE, Answer, NoBody, NoQuery, Prepared, Request, decoded
from keepscore.service.routes.bodies import (
    AmountBody,
    AroundQuery,
    BatchBody,
    BatchQuery,
    ChangeQuery,
    CountQuery,
    DistributionQuery,
    EntryBody,
    ExplainQuery,
    LookupBody,
    PlayerQuery,
    ReviseBody,
    RunBody,
    ScoreBody,
    TopQuery,
    VerifyQuery,
    ViewQuery,
    number,
)
from keepscore.service.routes.page_cache import FOR_PLAYER, FOR_TOP, CdnTime, Headers, Made, PageCache
from keepscore.storage.pace import Turns
from keepscore.writing.batches import MAX_BATCH

__all__ = [
    "Api",
    "Boards",
    "ReadinessAnswer",
    "Status",
    "entries_of",
    "idempotency_key",
    "replay_headers",
    "status_of",
    "viewer_of",
    "whole_number",
]

REPLAYED: Headers = ((b"idempotency-replayed", b"true"),)

_entry = msgspec.json.Decoder(EntryBody)

#: What a read finds.
Found = answers.Top | answers.PlayerPlace | answers.Around | answers.Count


class Status(msgspec.Struct):
    """Whether the service is up."""

    status: str


class ReadinessAnswer(msgspec.Struct):
    """Whether all works (`ready`), or something does not and the rest is served (`degraded`), for these reasons."""

    status: Literal["ready", "degraded"]
    reasons: list[str]


class Boards(msgspec.Struct):
    """All boards."""

    boards: list[Any]


class Api:
    """Handlers of one service."""

    def __init__(self, leaderboards: Leaderboards, pages: PageCache) -> None:
        self._lb = leaderboards
        self._reader = leaderboards.runtime.reader
        self._pages = pages

    # -- boards ---------------------------------------------------------------------------------------------------------

    async def boards(self, request: Request[NoQuery, NoBody]) -> Answer:
        """List all boards."""
        may_use = request.principal.may_use if request.principal is not ANONYMOUS else _none
        infos = [info for info in await self._lb.admin.boards() if may_use(info.board.name) or info.board.read == "public"]
        return Answer(Boards([info.to_dict() for info in infos]))

    async def board(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return one board."""
        info = await self._lb.admin.board(request.path[0])
        return Answer(info.to_dict(), headers=_version_tag(info))

    async def put_board(self, request: Request[ChangeQuery, dict[str, Any]]) -> Answer:
        """Define or replace a board. If-Match, or a `version` in the body, is the one that the change is meant for."""
        name = request.path[0]
        fields, version = _definition(request)
        if fields.setdefault("name", name) != name:
            raise InvalidBoard(f"name = {brief(fields['name'])} is not the name in the address, {name!r}")
        await self._lb.admin.refresh()
        info = await self._lb.admin.put_board(
            board_from_dict(fields), version=version, confirm=request.query.confirm, idempotency_key=idempotency_key(request)
        )
        return Answer(info.to_dict(), 201 if info.created else 200, (*replay_headers(info), *_version_tag(info)))

    async def change_board(self, request: Request[ChangeQuery, dict[str, Any]]) -> Answer:
        """Change some fields of a board."""
        fields, version = _definition(request)
        await self._lb.admin.refresh()
        info = await self._lb.admin.change_board(
            request.path[0], fields, version=version, confirm=request.query.confirm, idempotency_key=idempotency_key(request)
        )
        return Answer(info.to_dict(), headers=(*replay_headers(info), *_version_tag(info)))

    async def delete_board(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Delete a board."""
        await self._lb.admin.refresh()
        deleted = await self._lb.admin.delete_board(request.path[0], idempotency_key=idempotency_key(request))
        return Answer(None, 204, replay_headers(deleted))

    # -- submissions ----------------------------------------------------------------------------------------------------

    async def submit(self, request: Request[ExplainQuery, ScoreBody]) -> Answer:
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
            windows=body.windows,
            idempotency_key=idempotency_key(request, body.idempotency_key),
            play_token=body.play_token,
            name=body.name,
            avatar_url=body.avatar_url,
            explain=request.query.explain,
        )
        return Answer(receipt, status_of(receipt), replay_headers(receipt))

    async def increment(self, request: Request[ExplainQuery, AmountBody]) -> Answer:
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
            play_token=body.play_token,
            name=body.name,
            avatar_url=body.avatar_url,
            explain=request.query.explain,
        )
        return Answer(receipt, status_of(receipt), replay_headers(receipt))

    async def submit_batch(self, request: Request[BatchQuery, BatchBody]) -> Answer:
        """Submit many; the bad ones are rejected one by one."""
        entries = await entries_of(request.body.scores)
        query, key = request.query, idempotency_key(request)
        if query.dry_run:
            return Answer(await self._lb.check_many(request.path[0], entries, backfill=query.backfill))
        answer = await self._lb.submit_many(request.path[0], entries, results=query.results, backfill=query.backfill, idempotency_key=key)
        return Answer(answer, status_of(answer), replay_headers(answer))

    # -- reads ----------------------------------------------------------------------------------------------------------

    def _view(self, request: Request[Any, Any]) -> View:
        query: ViewQuery = request.query
        view = self._reader.view(request.path[0], query.window, query.window_id, query.segment, query.rank)
        viewer = viewer_of(request)
        return view if viewer is None else view._replace(viewer=viewer)

    async def _is_own(self, view: View, player: str | None = None) -> bool:
        """Return whether the viewer, or else the player whom a read is about, sees what nobody else does: that is kept by nobody."""
        return await is_shadowed(self._lb.runtime.ledger, view.live, view.viewer or player)

    async def _answer(self, view: View, found: Found, time: CdnTime, player: str | None = None) -> Answer | Prepared:
        if await self._is_own(view, player):
            return Answer(found, headers=NO_STORE)
        return self._pages.answer(view, found, found.position, time)

    async def top(self, request: Request[TopQuery, NoBody]) -> Answer | Prepared:
        """Return a page of a ranking; it is kept encoded until the ranking changes."""
        view, query = self._view(request), request.query
        key, scores = (request.path[0], request.query_string), ShownScores(query.min, query.max)
        read = partial(self._reader.top, view, query.limit, query.offset, query.cursor, scores)

        async def made() -> Made:
            top = await read()
            return top, top.position

        # What one player sees is kept for nobody.
        is_own = view.viewer is not None and (self._reader.cards.has_secrets or await self._is_own(view))
        if query.min_seq is None and not is_own:
            known = self._pages.known(key, view)
            return known if known is not None else await self._pages.page(key, view, made)
        found = await self._reader.at_least(view, query.min_seq, read)
        return await self._answer(view, found, FOR_TOP)

    async def player(self, request: Request[PlayerQuery, NoBody]) -> Answer | Prepared:
        """Return where a player stands."""
        query, reader = request.query, self._reader
        view = self._view(request)
        place = None if query.around or view.strong or query.min_seq is not None else reader.player_now(view, request.path[1])
        if place is not None and type(place.position) is str:
            return self._pages.prepared(view, place.position, FOR_PLAYER, answers.encode(place))
        place = await self._reader.at_least(view, query.min_seq, lambda: reader.player(view, request.path[1], query.around))
        return await self._answer(view, place, FOR_PLAYER, request.path[1])

    async def around(self, request: Request[AroundQuery, NoBody]) -> Answer | Prepared:
        """Return the players around a rank."""
        rank = whole_number("rank", request.path[1])
        view, query = self._view(request), request.query
        around = await self._reader.at_least(view, query.min_seq, lambda: self._reader.around(view, rank, query.around))
        return await self._answer(view, around, FOR_TOP)

    async def lookup(self, request: Request[ViewQuery, LookupBody]) -> Answer:
        """Return some players in rank order."""
        view = self._view(request)
        return Answer(await self._reader.at_least(view, request.query.min_seq, lambda: self._reader.lookup(view, request.body.player_ids)))

    async def count(self, request: Request[CountQuery, NoBody]) -> Answer | Prepared:
        """Count players."""
        view, query = self._view(request), request.query
        count = await self._reader.at_least(view, query.min_seq, lambda: self._reader.count(view, query.min, query.max))
        return await self._answer(view, count, FOR_PLAYER)

    async def distribution(self, request: Request[DistributionQuery, NoBody]) -> Answer | Prepared:
        """Return how scores are distributed."""
        view, bins = self._view(request), request.query.bins
        key = f"{request.path[0]}/distribution", request.query_string

        async def made() -> Made:
            found = await self._reader.at_least(view, request.query.min_seq, lambda: distribution(self._reader, view, bins))
            return found, found.position

        if await self._is_own(view):
            return Answer((await made())[0], headers=NO_STORE)
        return self._pages.known(key, view) or await self._pages.page(key, view, made)

    async def verify(self, request: Request[VerifyQuery, NoBody]) -> Answer:
        """Compare a board with the ledger."""
        return Answer(await self._lb.admin.verify(request.path[0], repair=request.query.repair))

    async def rebuild(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Rebuild a board's rankings."""
        return Answer(await self._lb.admin.rebuild(request.path[0]))

    async def revise(self, request: Request[NoQuery, ReviseBody]) -> Answer:
        """Correct the final standings of a window."""
        board, window, window_id = request.path
        key = idempotency_key(request)
        revision = await self._lb.admin.revise(board, window, window_id, request.body.reason, idempotency_key=key)
        return Answer(revision, headers=replay_headers(revision))

    async def keeper(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Return the keeper's jobs."""
        return Answer(await self._lb.admin.keeper_status(), headers=NO_STORE)

    async def run_keeper(self, request: Request[NoQuery, RunBody]) -> Answer:
        """Do the keeper's jobs now."""
        return Answer(await self._lb.admin.run_keeper(request.body.now))

    # -- health ---------------------------------------------------------------------------------------------------------

    async def healthz(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Say that the process is alive."""
        return Answer(Status("live"), headers=NO_STORE)

    async def readyz(self, request: Request[NoQuery, NoBody]) -> Answer:
        """Say whether some board takes scores: a ledger write or the engine's own script works. What does not is listed."""
        reasons = await self._lb.ready()
        return Answer(ReadinessAnswer("degraded" if reasons else "ready", reasons), headers=NO_STORE)


def _definition(request: Request[ChangeQuery, dict[str, Any]]) -> tuple[dict[str, Any], int | None]:
    """Return the fields of a definition, and the version that the change is meant for, from If-Match or the body."""
    data = dict(request.body)
    in_body = data.pop("version", None)
    for told in ("layouts", "replayed"):
        # What answers tell beside the definition.
        data.pop(told, None)
    if in_body is not None and type(in_body) is not int:
        raise InvalidBoard(f"version = {brief(in_body)} cannot be used; write the number that GET gave, or leave it out")
    tag = request.header(b"if-match")
    if tag is None:
        return data, in_body
    text = tag.strip().strip('"')
    if not text.isdecimal() or not text.isascii() or len(text) > 18:
        raise InvalidField(f'If-Match = {brief(tag)} cannot be used; write the version that GET gave, such as "3"')
    if in_body not in (None, int(text)):
        raise InvalidField(f"If-Match = {brief(tag)} and version = {in_body} differ: give one of them")
    return data, int(text)


def _version_tag(info: answers.BoardInfo) -> Headers:
    return ((b"etag", b'"%d"' % info.version),)


async def entries_of(scores: list[msgspec.Raw]) -> list[Entry | KeepscoreError]:
    """Return the entries of a batch, with an error in the place of each that is not an entry."""
    entries: list[Entry | KeepscoreError] = []
    turns = Turns()
    for raw in scores[: MAX_BATCH + 1]:
        if turns.is_over():
            await turns.pass_on()
        try:
            entries.append(decoded(_entry, raw).entry())
        except KeepscoreError as exc:
            entries.append(exc)
    return entries


def viewer_of(request: Request[Any, Any]) -> str | None:
    """Return the player who looks: of the token, or as the query says."""
    viewer: str | None = request.query.viewer
    if viewer is not None:
        if request.principal is ANONYMOUS:
            raise Unauthenticated(f"viewer = {viewer!r} needs a key, or the player's token: send it as 'Authorization: Bearer …'")
        request.principal.check_player(check_player(viewer))
    return request.principal.player or viewer


def _none(board: str) -> bool:
    return False


def status_of(receipt: answers.Receipt | answers.BatchReceipt) -> int:
    """Return 202 for what is recorded and not ranked yet, else 200."""
    return 202 if receipt.pending is True else 200


def replay_headers(answer: Any) -> Headers:
    """Return the headers that mark an answer as given before, also where there is no body to say it."""
    return REPLAYED if answer.replayed is True else ()


def idempotency_key(request: Request[Any, Any], in_body: str | None = None) -> str | None:
    """Return the Idempotency-Key header, or the field of the body where there is no header."""
    header = request.header(b"idempotency-key")
    return check_key(in_body if header is None else header)


def whole_number(field: str, text: str) -> int:
    """Read a whole number in an address."""
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 18:
        raise InvalidPage(f"{field} = {text[:40]!r} is not a whole number")
    return int(text)
