"""Imports: scores that are taken once, for as long as the ledger exists."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import msgspec

from keepscore.domain.imports import DIGEST_BYTES, KEY_PATTERN, ImportReceipt, NewPart, Part
from keepscore.domain.inputs import Entry
from keepscore.domain.key_places import RankingPlace
from keepscore.domain.results.standings import BatchReceipt, Rejection, encode
from keepscore.errors import InvalidField, KeepscoreError
from keepscore.projection.live_boards import LiveBoard
from keepscore.projection.stores import Stores
from keepscore.storage.ledgers.claims import IMPORT, Claim
from keepscore.storage.pace import Turns
from keepscore.writing.batches import EntryTerms, check_entry, check_size, merged_answer
from keepscore.writing.dry_run import DryRunTerms, dry_run
from keepscore.writing.groups import PendingRequest
from keepscore.writing.idempotency import fingerprint
from keepscore.writing.opening_balances import OpeningBalances
from keepscore.writing.writer import Writer

__all__ = ["Imports"]

#: Parts returned at a time.
MAX_PARTS = 1000

_receipt = msgspec.json.Decoder(ImportReceipt)


class Imports:
    """Takes the imports of one process."""

    def __init__(self, stores: Stores, writer: Writer) -> None:
        self._stores = stores
        self._catalog, self._ledger, _, self._clock = stores
        self._writer = writer

    async def take(
        self,
        board: str,
        entries: Sequence[Entry | KeepscoreError],
        part: NewPart | None,
        keys: Sequence[str],
        into: RankingPlace | None = None,
    ) -> ImportReceipt:
        """Import up to 10,000 entries: a part of a file, or entries with their own keys, which are never forgotten.

        With `into`, they are opening balances of that ranking, and count in no other.
        """
        check_size(entries)
        live, writer, now = self._catalog[board], self._writer, self._clock()
        _check(part, keys, len(entries))
        terms, opening = EntryTerms(now, backfill=True), None if into is None else OpeningBalances(live, into, now)
        claim = None if part is None else _claim(live, part.key, part.key)

        def record(rejected: list[Rejection]) -> bytes:
            assert part is not None
            return encode(ImportReceipt(len(entries) - len(rejected), rejected, part=part.recorded(rejected)))

        whole = PendingRequest([], [], claim, False, True, writer.answer(), patient=False, record=None if part is None else record)
        requests = [whole]
        turns = Turns()
        for index, entry in enumerate(entries):
            if turns.is_over():
                await turns.pass_on()
            try:
                if isinstance(entry, KeepscoreError):
                    raise entry
                checked = check_entry(live, entry, terms) if opening is None else opening.check(entry)
                submission = (index, checked)
                if part is not None:
                    whole.submissions.append(submission)
                else:
                    own = _claim(live, keys[index], entry)
                    requests.append(PendingRequest([submission], [], own, False, True, writer.answer(), patient=False))
            except KeepscoreError as exc:
                whole.rejected.append(Rejection(index, exc.type, exc.detail))
        await asyncio.gather(*[writer.submit(request) for request in requests], return_exceptions=True)
        merged = merged_answer(requests, results=False)
        known = None if claim is None else await self._ledger.claims.find(claim)
        recorded = None if known is None or known.answer is None else _receipt.decode(known.answer).part
        return ImportReceipt(**msgspec.structs.asdict(merged), part=recorded)

    async def check(self, board: str, entries: Sequence[Entry | KeepscoreError], into: RankingPlace) -> BatchReceipt:
        """Return how many entries would be taken as opening balances of a ranking, and which not. Nothing is recorded."""
        check_size(entries)
        return await dry_run(self._stores, self._catalog[board], entries, DryRunTerms(into=into))

    async def parts(self, board: str, after: str) -> list[Part]:
        """Return imported parts of files, by key, after a key; an empty list after the last."""
        live = self._catalog[board]
        found: list[Part] = []
        rows = await self._ledger.claims.imported(live.id, after, MAX_PARTS)
        while rows:
            found += [part for _, answer in rows if (part := _receipt.decode(answer).part) is not None]
            if found:
                break
            # These were fixed rows.
            rows = await self._ledger.claims.imported(live.id, rows[-1][0], MAX_PARTS)
        return found


def _claim(live: LiveBoard, key: str, content: object) -> Claim:
    return Claim(IMPORT, str(live.id), key, fingerprint(content))


def _check(part: NewPart | None, keys: Sequence[str], entries: int) -> None:
    digests = keys if part is None else [part.after, part.before, *part.digests]
    for digest in digests:
        if not re.fullmatch(KEY_PATTERN, digest):
            raise InvalidField(f"{digest[:40]!r} is not a digest: give {2 * DIGEST_BYTES} digits from 0 to f")
    if len(digests if part is None else part.digests) != entries:
        raise InvalidField(f"there are {entries} scores: give as many digests with part, or as many keys")
    if part is not None:
        rows = range(part.rows - entries - len(part.bad) + 1, part.rows + 1)
        if rows.start < 1 or len(set(part.bad)) != len(part.bad) or not set(part.bad) <= set(rows):
            raise InvalidField(f"rows = {part.rows} cannot be the last of {entries} scores and {len(part.bad)} bad rows")
