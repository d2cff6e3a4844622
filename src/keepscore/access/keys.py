"""`lb.keys`: create, list, revoke and rotate API keys, and sign player tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from keepscore.access.api_keys import hash_of, new_key
from keepscore.access.player_tokens import DEFAULT_TTL, TokenClaims, signed_token, ttl_ms_of
from keepscore.access.principals import ALL_BOARDS, LEVELS, check_patterns, check_scope, matches
from keepscore.domain.actors import current_actor
from keepscore.domain.durations import duration_ms, time_of
from keepscore.domain.results.access import ApiKey, KeyState, NewKey, PlayerToken
from keepscore.domain.values import check_player, check_text, moment_of
from keepscore.errors import InvalidField, InvalidTime, KeyEnded, UnknownKey
from keepscore.projection.stores import Stores
from keepscore.storage.ledgers.audit import AuditNote
from keepscore.storage.ledgers.keys import KeyRecord

__all__ = ["DEFAULT_OVERLAP", "Keys", "state_of"]

#: How long a key can be used beside the one that replaces it, where nobody says, and at most, in milliseconds.
DEFAULT_OVERLAP, MAX_OVERLAP_MS = "24h", 90 * 86_400_000
#: The most that a key lives where it expires, in milliseconds.
MAX_LIFE_MS = 3650 * 86_400_000


def state_of(key: KeyRecord, now: int) -> KeyState:
    """Return whether a key can be used: active, expired or revoked."""
    return "revoked" if key.revoked is not None else "expired" if key.expires is not None and key.expires <= now else "active"


class _Grant(NamedTuple):
    """What a new key may do, on which boards, and until when (milliseconds; None: without end)."""

    name: str
    scope: str
    boards: tuple[str, ...]
    expires: int | None


class Keys:
    """The API keys of a ledger."""

    def __init__(self, stores: Stores, environment: str) -> None:
        self._catalog, self._ledger, _, self._clock = stores
        self._environment = environment

    async def create(
        self, name: str, scope: str = "read", *, boards: Sequence[str] | None = None, expires: datetime | str | None = None
    ) -> NewKey:
        """Create an API key. Its text is only in the answer, and stored nowhere.

        `scope` is `read`, `submit`, `moderate` or `admin`; each includes the ones before it. `boards` are patterns such as
        `season-*`, by default all boards; `expires` is a time, or a duration such as `90d`.
        """
        now = self._clock()
        check_text("name", name, InvalidField)
        return await self._add(_Grant(name, check_scope(scope), check_patterns(boards), _expiry(expires, now)), now)

    async def all(self) -> list[ApiKey]:
        """Return all API keys, without their secrets, oldest first."""
        now = self._clock()
        return [_shown(key, now) for key in await self._ledger.keys.all()]

    async def revoke(self, key_id: str) -> None:
        """End an API key, and all player tokens that it signed, within a second on every worker."""
        now = self._clock()
        note = AuditNote(now, "revoke_key", "", {"key": key_id}, by=current_actor())
        if not await self._ledger.keys.revoke(key_id, now, note):
            raise _unknown(key_id)

    async def rotate(self, key_id: str, *, overlap: str = DEFAULT_OVERLAP) -> NewKey:
        """Replace a key by a new one. The old one stays valid for the `overlap`."""
        now = self._clock()
        old = await self._active(key_id, now)
        try:
            ends = now + duration_ms(overlap)
        except ValueError as exc:
            raise InvalidField(f"overlap: {exc}") from None
        if ends > now + MAX_OVERLAP_MS:
            raise InvalidField(f"overlap = {overlap!r} is longer than 90d, the longest time that both keys can be valid")
        expires = None if old.expires is None else now + (old.expires - old.created)
        return await self._add(_Grant(old.name, old.scope, old.boards, expires), now, old, ends)

    async def token(self, player_id: str, *, boards: Sequence[str] | None = None, ttl: str = DEFAULT_TTL) -> PlayerToken:
        """Return a token for a player, signed with the latest key that can submit."""
        return await self.token_signed_by(None, player_id, boards=boards, ttl=ttl)

    async def token_signed_by(
        self, key_id: str | None, player_id: str, *, boards: Sequence[str] | None = None, ttl: str = DEFAULT_TTL
    ) -> PlayerToken:
        """Return a token for a player, signed with a key; None: the latest that can submit."""
        now = self._clock()
        claims = TokenClaims(check_player(player_id), check_patterns(boards), now + ttl_ms_of(ttl))
        key = await self._active(key_id, now) if key_id is not None else await self._signer(now)
        # In whole seconds, as the token has it.
        expires = claims.expires_ms // 1000 * 1000
        return PlayerToken(signed_token(claims, key.id, key.hash, self._environment, now), time_of(expires))

    async def _signer(self, now: int) -> KeyRecord:
        keys = [key for key in await self._ledger.keys.all() if LEVELS[key.scope] >= LEVELS["submit"] and state_of(key, now) == "active"]
        if not keys:
            raise UnknownKey("there is no key to sign tokens with: create one with 'keepscore keys create NAME --scope submit'")
        return keys[-1]

    async def _active(self, key_id: str, now: int) -> KeyRecord:
        key = next((key for key in await self._ledger.keys.all() if key.id == key_id), None)
        if key is None:
            raise _unknown(key_id)
        if (state := state_of(key, now)) != "active":
            raise KeyEnded(f"key {key_id} is {state}: create another one")
        return key

    async def _add(self, grant: _Grant, now: int, old: KeyRecord | None = None, ends: int | None = None) -> NewKey:
        name, scope, boards, expires = grant
        key = new_key(self._environment)
        record = KeyRecord(key.id, name, scope, boards, hash_of(key.text), now, expires, replaces=None if old is None else old.id)
        detail = {"key": key.id, "name": name, "scope": scope, "boards": list(boards)}
        detail |= {} if old is None else {"replaces": old.id}
        note = AuditNote(now, "create_key" if old is None else "rotate_key", "", detail, by=current_actor())
        await self._ledger.keys.add(record, ends, note)
        new = NewKey(key.id, name, scope, list(boards), _time(expires), key.text)
        if old is not None and ends is not None:
            new.replaces = old.id
            new.replaced_expires = time_of(ends if old.expires is None else min(ends, old.expires))
        if boards != ALL_BOARDS and (unmatched := self._unmatched(boards)):
            new.warnings = [f"the pattern {pattern!r} matches no board now" for pattern in unmatched]
        return new

    def _unmatched(self, patterns: tuple[str, ...]) -> list[str]:
        names = [live.name for live in self._catalog]
        return [pattern for pattern in patterns if not any(matches([pattern], name) for name in names)]


def _expiry(expires: datetime | str | None, now: int) -> int | None:
    if expires is None:
        return None
    try:
        moment = now + duration_ms(expires) if isinstance(expires, str) and expires[-1:].isalpha() and "T" not in expires else None
        moment = moment_of(expires) if moment is None else moment
    except (ValueError, InvalidTime):
        raise InvalidField(
            f"expires = {str(expires)[:40]!r} cannot be used: write a duration such as '90d', or a time such as '2027-01-31T00:00:00Z'"
        ) from None
    if not now < moment <= now + MAX_LIFE_MS:
        raise InvalidField(f"expires = {str(expires)[:40]!r} is not within the next ten years")
    return moment


def _unknown(key_id: str) -> UnknownKey:
    return UnknownKey(f"there is no key {key_id[:40]!r}: 'keepscore keys list' shows them all")


def _time(moment: int | None) -> datetime | None:
    return None if moment is None else time_of(moment)


def _shown(key: KeyRecord, now: int) -> ApiKey:
    times = time_of(key.created), _time(key.expires), _time(key.last_used)
    return ApiKey(key.id, key.name, key.scope, list(key.boards), *times, state_of(key, now), key.replaces)
