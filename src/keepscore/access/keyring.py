"""The keys as one process knows them: what is presented becomes a principal, mostly by a look into a dict.

Another process may create or revoke a key: the ledger is asked twice a second whether something has changed. While it cannot be asked,
what is known goes on to count.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from keepscore.access.api_keys import hash_of, is_same_hash, parse_key
from keepscore.access.keys import state_of
from keepscore.access.player_tokens import key_id_of, verified_claims
from keepscore.access.principals import LEVELS, NEVER_MS, Principal
from keepscore.access.sessions import SESSION_MS, expires_of, signed_session
from keepscore.caches import ByteCache
from keepscore.domain.durations import text_of
from keepscore.domain.signatures import SCHEME, parse_signature, signature_of, signing_secret
from keepscore.errors import KeepscoreError, Unauthenticated
from keepscore.storage.ledgers.base import Ledger
from keepscore.storage.ledgers.keys import KeyRecord

__all__ = ["SIGNATURE_WINDOW_MS", "Keyring", "SignedRequest"]

#: Seconds between two looks at whether keys have changed: a revocation takes effect within a second everywhere.
LOOK_EVERY_S = 0.5
#: Seconds after which an unknown key is worth another look, and between two notes of when keys were used.
LOOK_AGAIN_S, NOTE_EVERY_S = 0.05, 60.0
#: By how much the time of a signature may differ from this clock, in milliseconds.
SIGNATURE_WINDOW_MS = 300_000
#: Credentials that are remembered, and about what each takes, in bytes.
KNOWN_BYTES, PRINCIPAL_BYTES = 64 << 20, 1000

UNKNOWN = "the key is not known: check it, or create one with 'keepscore keys create NAME --scope …'"

log = logging.getLogger(__name__)


class SignedRequest(NamedTuple):
    """What a signature covers beside time and request id."""

    method: str
    #: The path, and the query as it was sent.
    target: str
    body: bytes


class Keyring:
    """The keys of a ledger in one process."""

    def __init__(self, ledger: Ledger, environment: str, clock: Callable[[], int]) -> None:
        self._ledger = ledger
        self._environment = environment
        self._clock = clock
        self._version = b""
        self._keys: dict[str, KeyRecord] = {}
        #: Principals by a digest of what was presented. The text itself is kept nowhere.
        self._known: ByteCache[bytes, Principal] = ByteCache(KNOWN_BYTES)
        #: The keys that were used since that was recorded.
        self._used: set[str] = set()
        self._looked_s = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def has_keys(self) -> bool:
        """Whether a key was ever created: one that has ended counts, so that ending the last does not open the service."""
        return bool(self._keys)

    # -- life -----------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Learn the keys, and go on to."""
        await self.refresh()
        self._task = asyncio.get_running_loop().create_task(self._watch(), name="keepscore-keys")

    async def stop(self) -> None:
        """Stop looking, and record what was used."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            with suppress(KeepscoreError):
                await self._note_uses()

    async def refresh(self) -> None:
        """Take up what has changed."""
        self._looked_s = asyncio.get_running_loop().time()
        version = await self._ledger.keys.version()
        if version != self._version:
            keys = {key.id: key for key in await self._ledger.keys.all()}
            await self._note_uses()
            self._keys, self._version = keys, version
            self._known.clear()

    async def _watch(self) -> None:
        time = asyncio.get_running_loop().time
        noted = time()
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await self.refresh()
                if time() - noted >= NOTE_EVERY_S:
                    noted = time()
                    await self._note_uses()
            except Exception as exc:
                # What is known counts until the ledger is back.
                log.debug("cannot check whether keys have changed: %s", exc)

    async def _note_uses(self) -> None:
        now = self._clock()
        used, self._used = self._used, set()
        if used:
            await self._ledger.keys.note_uses(dict.fromkeys(used, now))

    # -- credentials ----------------------------------------------------------------------------------------------------

    def known(self, presented: bytes) -> Principal | None:
        """Return whoever has presented the same before; an error where it has expired since."""
        principal = self._known.get(hashlib.sha256(presented).digest())
        if principal is None:
            return None
        self._check_time(principal)
        if principal.key_id is not None:
            self._used.add(principal.key_id)
        return principal

    async def principal_of(self, presented: bytes) -> Principal:
        """Return whoever presents a key or a player token as an Authorization header, or say what is wrong with it."""
        principal = self.known(presented)
        if principal is not None:
            return principal
        scheme, _, text = presented.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise Unauthenticated(f"the Authorization header cannot be used: write 'Bearer ks_…', or '{SCHEME} …' for a signed request")
        principal = await (self._key(text) if text.startswith("ks_") else self._token(text))
        if principal.key_id is not None:
            self._used.add(principal.key_id)
        return self._known.put(hashlib.sha256(presented).digest(), principal, PRINCIPAL_BYTES)

    async def _key(self, text: str) -> Principal:
        parsed = parse_key(text)
        if parsed is None:
            raise Unauthenticated("the key is malformed: send all of it, as it was shown when it was created")
        if parsed.environment != self._environment:
            raise Unauthenticated(
                f"the key is for the environment {parsed.environment!r}, and this service serves {self._environment!r}: use one of its keys"
            )
        key = await self._find(parsed.id)
        if key is None or not is_same_hash(key.hash, hash_of(text)):
            raise Unauthenticated(UNKNOWN)
        return self._principal(key)

    async def _token(self, text: str) -> Principal:
        key_id = key_id_of(text)
        if key_id is None:
            raise Unauthenticated("the credentials are neither an API key (ks_…) nor a player token (a JWT with HS256 and a kid)")
        key = await self._find(key_id)
        if key is None:
            raise Unauthenticated("the player token is not signed with the secret of the key that its kid names")
        claims = verified_claims(text, key.hash, self._environment, self._clock())
        of_key = self._principal(key)
        scope = of_key.scope if of_key.level < LEVELS["submit"] else "submit"
        expires = min(claims.expires_ms, of_key.expires_ms)
        return Principal(scope, (key.boards, claims.boards), key.id, claims.player, expires, key.name)

    def begin_session(self, principal: Principal) -> tuple[str, int]:
        """Return the text of a new session of a key, and until when it lasts."""
        expires = min(self._clock() + SESSION_MS, principal.expires_ms)
        key = self._keys[str(principal.key_id)]
        return signed_session(key.id, key.hash, self._environment, expires), expires

    async def session_principal(self, session: bytes) -> Principal:
        """Return whoever presents a session of the console in a cookie, or say what is wrong with it."""
        presented = b"session " + session
        return self.known(presented) or self._known.put(
            hashlib.sha256(presented).digest(), await self._session(session.decode("latin-1")), PRINCIPAL_BYTES
        )

    async def _session(self, text: str) -> Principal:
        key = await self._find(key_id_of(text) or "")
        if key is None:
            raise Unauthenticated("the session is not one of this service: sign in again")
        of_key = self._principal(key)
        expires = min(of_key.expires_ms, expires_of(text, key.hash, self._environment, self._clock()))
        self._used.add(key.id)
        return Principal(key.scope, (key.boards,), key.id, None, expires, key.name)

    async def _find(self, key_id: str) -> KeyRecord | None:
        if key_id not in self._keys and asyncio.get_running_loop().time() - self._looked_s > LOOK_AGAIN_S:
            # Another process may have created it a moment ago.
            await self.refresh()
        return self._keys.get(key_id)

    def _principal(self, key: KeyRecord) -> Principal:
        """Return whoever has shown to have a key."""
        state = state_of(key, self._clock())
        if state == "revoked":
            raise Unauthenticated(f"the key {key.id} was revoked at {text_of(key.revoked or 0)}")
        if state == "expired":
            raise Unauthenticated(f"the key {key.id} expired at {text_of(key.expires or 0)}")
        return Principal(key.scope, (key.boards,), key.id, None, NEVER_MS if key.expires is None else key.expires, key.name)

    def _check_time(self, principal: Principal) -> None:
        if principal.expires_ms <= self._clock():
            what = "key" if principal.player is None else "player token"
            raise Unauthenticated(f"the {what} has expired: {'create another' if principal.player is None else 'ask for another'}")

    def check_still(self, principal: Principal) -> None:
        """Refuse somebody who was known, and whose key or token has ended since."""
        self._check_time(principal)
        if principal.key_id is not None:
            key = self._keys.get(principal.key_id)
            if key is None:
                raise Unauthenticated(UNKNOWN)
            self._principal(key)

    async def signer_of(self, header: str, request: SignedRequest) -> Principal:
        """Return whoever has signed a request, whose id is spent with this."""
        signature = parse_signature(header)
        if signature is None:
            raise Unauthenticated(f"the signature is malformed: write '{SCHEME} key=KEY_ID,time=SECONDS,id=REQUEST_ID,signature=HEX'")
        now = self._clock()
        if abs(signature.time_s * 1000 - now) > SIGNATURE_WINDOW_MS:
            raise Unauthenticated(
                f"time = {signature.time_s} of the signature is more than {SIGNATURE_WINDOW_MS // 1000} s away from this service's clock, "
                f"{now // 1000}: set the clock, and sign the request again"
            )
        key = await self._find(signature.key_id)
        secret = signing_secret(key.hash if key is not None else b"")
        right = signature_of(secret, signature.time_s, request.method, request.target, request.body, signature.request_id)
        if key is None or not is_same_hash(right.encode(), signature.digest.encode()):
            raise Unauthenticated(
                "the signature does not match the request: sign time, method, path with query, body and id with the key's secret"
            )
        principal = self._principal(key)
        # Forgotten when no clock that differs by as much lets it pass any more.
        if not await self._ledger.keys.spend(key.id, signature.request_id, signature.time_s * 1000 + 2 * SIGNATURE_WINDOW_MS):
            raise Unauthenticated(f"id = {signature.request_id!r} of the signature was used before: give each request its own")
        self._used.add(key.id)
        return principal
