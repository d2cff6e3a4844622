"""Play tokens: that a game began, when, for whom and on which board, so that a score for it counts once. Pure.

A token is made of `board, player, started, build, id` and a MAC with a secret of the ledger; nothing is recorded until it is redeemed,
together with the score.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets

import msgspec

from keepscore.domain.plays import Play
from keepscore.errors import InvalidPlayToken

__all__ = ["MAX_PLAY_MS", "PlayTokens"]

#: How long a game may take, in milliseconds. Idempotency keys, and so redeemed tokens, are remembered for as long at least.
MAX_PLAY_MS = 86_400_000
#: Bytes of the MAC, of the random id, and characters of a token.
MAC_BYTES, ID_BYTES, MAX_TOKEN_CHARS = 16, 12, 1024
PREFIX = "kp_"

_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(tuple[int, str, int, str | None, bytes])


class PlayTokens:
    """Opens plays and reads tokens, with a secret. `life_ms` is how long a token can be redeemed."""

    def __init__(self, secret: bytes, life_ms: int) -> None:
        self._secret = hmac.digest(secret, b"keepscore play tokens", "sha256")
        self._life_ms = min(life_ms, MAX_PLAY_MS)

    def begin(self, board_id: int, player: str, build: str | None, now: int) -> str:
        """Return the token of a play that begins now."""
        content = _encode((board_id, player, now, build, secrets.token_bytes(ID_BYTES)))
        return PREFIX + _text(self._mac(content) + content)

    def read(self, token: str, board_id: int, player: str, now: int) -> Play:
        """Return the play of a token that a player may redeem on a board now, or say why not."""
        content = self._content(token)
        if content is None:
            raise InvalidPlayToken("play_token is malformed or forged: send it as POST …/plays returned it")
        board, whose, started, build, play_id = content
        if board != board_id:
            raise InvalidPlayToken("play_token was given for another board, or before this one was deleted and defined again")
        if whose != player:
            raise InvalidPlayToken(f"play_token was given for another player than player_id = {player[:40]!r}")
        if not started - 60_000 <= now < started + self._life_ms:
            raise InvalidPlayToken(f"play_token has expired: it can be redeemed for {self._life_ms // 60_000} minutes")
        return Play(play_id.hex(), started, build)

    def _content(self, token: str) -> tuple[int, str, int, str | None, bytes] | None:
        if not token.startswith(PREFIX) or len(token) > MAX_TOKEN_CHARS:
            return None
        text = token[len(PREFIX) :]
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        # A token has one way to be written: the decoder takes others, too.
        if _text(raw) != text or not hmac.compare_digest(raw[:MAC_BYTES], self._mac(raw[MAC_BYTES:])):
            return None
        return _decoder.decode(raw[MAC_BYTES:])

    def _mac(self, content: bytes) -> bytes:
        return hmac.digest(self._secret, content, "sha256")[:MAC_BYTES]


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
