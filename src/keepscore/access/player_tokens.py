"""Player tokens: what a game's client has in the place of a key. Pure.

A JWT (HS256, no other algorithm) with `kid`, the id of the key whose derived secret signs it, and the claims `player_id`, `exp`,
`env` and maybe `boards`. It is worth as long as it says, at most a day, and as long as its key is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from keepscore.access.api_keys import derived_secret, hash_of, parse_key
from keepscore.access.principals import ALL_BOARDS, check_patterns
from keepscore.domain.durations import duration_ms
from keepscore.domain.values import check_player
from keepscore.errors import BadInput, InvalidField, Unauthenticated

__all__ = ["DEFAULT_TTL", "MAX_TTL_MS", "TokenClaims", "key_id_of", "sign_player_token", "signed_token", "ttl_ms_of", "verified_claims"]

ALGORITHM = "HS256"
#: How long a token is worth something where nobody says.
DEFAULT_TTL = "15m"
#: The most that a token is worth something, in milliseconds, whoever signed it.
MAX_TTL_MS = 86_400_000
#: By how much clocks may differ, in milliseconds.
LEEWAY_MS = 60_000
#: Characters of a token.
MAX_TOKEN_CHARS = 4096
PURPOSE = "player tokens"
CLAIMS = ("player_id", "boards", "exp", "iat", "env")


class TokenClaims(NamedTuple):
    """What a token says."""

    player: str
    boards: tuple[str, ...]
    expires_ms: int


def sign_player_token(
    key: str, player_id: str, *, boards: Sequence[str] | None = None, ttl: str = DEFAULT_TTL, now_ms: int | None = None
) -> str:
    """Return a token for a player, signed with an API key: a game's own server needs no request for it."""
    parsed = parse_key(key)
    if parsed is None:
        raise InvalidField("the key is malformed: give it as 'keepscore keys create' printed it")
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    claims = TokenClaims(check_player(player_id), check_patterns(boards), now + ttl_ms_of(ttl))
    return signed_token(claims, parsed.id, hash_of(key), parsed.environment, now)


def ttl_ms_of(ttl: str) -> int:
    """Return how long a token is to be worth something, in milliseconds."""
    try:
        found = duration_ms(ttl)
    except ValueError:
        found = 0
    if not 1000 <= found <= MAX_TTL_MS:
        raise InvalidField(f"ttl = {ttl[:40]!r} cannot be used: write a duration from 1s to 24h, such as '15m'")
    return found


def signed_token(claims: TokenClaims, key_id: str, key_hash: bytes, environment: str, now: int) -> str:
    """Return the text of a token."""
    import jwt  # Not where the program starts: most need none, and it takes a tenth of a second.

    payload: dict[str, object] = {"player_id": claims.player, "exp": claims.expires_ms // 1000, "iat": now // 1000, "env": environment}
    if claims.boards != ALL_BOARDS:
        payload["boards"] = list(claims.boards)
    return jwt.encode(payload, derived_secret(key_hash, PURPOSE), ALGORITHM, headers={"kid": key_id})


def key_id_of(token: str) -> str | None:
    """Return the id of the key that a token says to be signed with; None where it is no token. Nothing is verified."""
    if len(token) > MAX_TOKEN_CHARS or token.count(".") != 2:
        return None
    import jwt

    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        return None
    key_id = header.get("kid")
    # Whatever else the header says, the algorithm is pinned.
    return key_id if isinstance(key_id, str) and header.get("alg") == ALGORITHM else None


def verified_claims(token: str, key_hash: bytes, environment: str, now: int) -> TokenClaims:
    """Return what a token says that is signed with a key's secret, or say what is wrong with it."""
    import jwt

    try:
        options = {
            "verify_exp": False,
            "verify_iat": False,
            "verify_nbf": False,
            "verify_aud": False,
            "require": ["exp", "player_id", "env"],
        }
        found = jwt.decode(token, derived_secret(key_hash, PURPOSE), [ALGORITHM], options)  # type: ignore[arg-type]
    except jwt.MissingRequiredClaimError as exc:
        raise Unauthenticated(f"the player token lacks the claim {exc.claim!r}: it needs player_id, exp and env") from None
    except jwt.PyJWTError:
        raise Unauthenticated("the player token is not signed with the secret of the key that its kid names") from None
    try:
        return _checked(found, environment, now)
    except BadInput as exc:
        raise Unauthenticated(f"the player token cannot be used: {exc}") from None


def _checked(found: dict[str, object], environment: str, now: int) -> TokenClaims:
    unknown = [name for name in found if name not in CLAIMS]
    if unknown:
        raise InvalidField(f"unknown claim {unknown[0][:40]!r}; allowed: {', '.join(CLAIMS)}")
    expires, boards = found["exp"], found.get("boards")
    if type(expires) is not int or not 0 < expires < 1 << 40:
        raise InvalidField("exp is not a time in whole seconds since 1970")
    if expires * 1000 <= now:
        raise Unauthenticated("the player token has expired: ask for another")
    if expires * 1000 > now + MAX_TTL_MS + LEEWAY_MS:
        raise InvalidField("exp is more than a day ahead: a player token is short-lived")
    if found["env"] != environment:
        raise Unauthenticated(
            f"the player token is for the environment {str(found['env'])[:16]!r}, and this service serves {environment!r}"
        )
    if boards is not None and not isinstance(boards, list):
        raise InvalidField("boards is not a list of patterns")
    return TokenClaims(check_player(found["player_id"]), check_patterns(boards), expires * 1000)
