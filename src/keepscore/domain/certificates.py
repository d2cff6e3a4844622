"""Signed statements that anyone can verify without asking the service: certificates, receipts, and final lists of winners.

Each is a JWS in its compact form (RFC 7515) with an Ed25519 signature (`EdDSA`). Its header says what it is (`typ`), so that none can pass
for another. Signing and verifying need the package cryptography.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from keepscore.errors import InvalidField, NotInstalled

__all__ = ["PublicKey", "Signer", "StatementKind", "unverified", "verified"]

StatementKind = Literal["certificate", "receipt", "winners"]

#: What stands before the 32 bytes of an Ed25519 key in its DER form (RFC 8410).
_PRIVATE, _PUBLIC = bytes.fromhex("302e020100300506032b657004220420"), bytes.fromhex("302a300506032b6570032100")
_ALGORITHM = "EdDSA"
#: Characters of a statement that is looked at.
MAX_STATEMENT = 20_000


class PublicKey(msgspec.Struct):
    """The key that verifies what a service signs, as a JWK (RFC 8037) and as PEM."""

    kid: str
    jwk: dict[str, str]
    pem: str


class Signer:
    """Signs statements with a key that is derived from the ledger's secret: all processes on one ledger have the same."""

    def __init__(self, secret: bytes) -> None:
        self._seed = hashlib.blake2b(b"keepscore certificates", key=secret[:64], digest_size=32).digest()
        self._public: PublicKey | None = None
        self._key: Any = None

    @property
    def is_able(self) -> bool:
        """Whether what it needs is installed."""
        return importlib.util.find_spec("cryptography") is not None

    def public_key(self) -> PublicKey:
        """Return the public key."""
        if self._public is None:
            algorithm = _algorithm()
            self._key = algorithm.prepare_key(_pem(_PRIVATE, self._seed, "PRIVATE"))
            x = str(algorithm.to_jwk(self._key, as_dict=True)["x"])
            kid = hashlib.sha256(_raw(x)).hexdigest()[:16]
            jwk = {"kty": "OKP", "crv": "Ed25519", "alg": _ALGORITHM, "use": "sig", "kid": kid, "x": x}
            self._public = PublicKey(kid, jwk, _pem(_PUBLIC, _raw(x), "PUBLIC").decode())
        return self._public

    def sign(self, kind: StatementKind, claims: Mapping[str, Any]) -> str:
        """Return a signed statement."""
        import jwt  # Not where the program starts: most need none, and it takes a tenth of a second.

        headers = {"typ": _type(kind), "kid": self.public_key().kid}
        return jwt.encode(dict(claims), self._key, algorithm=_ALGORITHM, headers=headers)


def verified(statement: str, key: str, kind: StatementKind | None = None) -> tuple[StatementKind, dict[str, Any]]:
    """Return what a statement is and says, or raise InvalidField that says why it cannot be trusted.

    `key` is the public key: PEM, a JWK, or what the service gives at `/v1/certificates/key`.
    """
    import jwt

    _algorithm()
    given = statement.strip()
    if len(given) > MAX_STATEMENT or given.count(".") != 2:
        raise InvalidField("this is no signed statement: it has three parts with dots between them")
    pem = _public_pem(key)
    try:
        header = jwt.get_unverified_header(given)
        claims = jwt.decode(given, pem, algorithms=[_ALGORITHM], options={"verify_aud": False, "verify_iat": False})
    except (jwt.PyJWTError, ValueError):
        raise InvalidField("the signature does not fit: the statement was changed, cut short, or signed with another key") from None
    for known in ("certificate", "receipt", "winners"):
        if header.get("typ") == _type(known) and kind in (None, known):
            return known, claims
    raise InvalidField(f"this is signed, and no {kind or 'statement of this service'}: its type is {str(header.get('typ'))[:60]!r}")


def unverified(statement: str) -> dict[str, Any]:
    """Return what a statement says that comes from the ledger, and need not be verified."""
    import jwt

    return jwt.decode(statement, options={"verify_signature": False})


def _type(kind: str) -> str:
    return f"keepscore-{kind}+jwt"


def _algorithm() -> Any:
    from jwt.algorithms import get_default_algorithms

    found = get_default_algorithms().get(_ALGORITHM)
    if found is None:
        raise NotInstalled("signed statements need the package cryptography: install it with pip install 'keepscore[prizes]'")
    return found


def _pem(prefix: bytes, raw: bytes, kind: str) -> bytes:
    return b"-----BEGIN %b KEY-----\n%b\n-----END %b KEY-----\n" % (kind.encode(), base64.b64encode(prefix + raw), kind.encode())


def _raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _public_pem(key: str) -> bytes:
    wrong = InvalidField("this is no Ed25519 public key: give PEM, a JWK, or what GET /v1/certificates/key answers")
    text = key.strip()
    try:
        if text.startswith("{"):
            found = msgspec.json.decode(text, type=dict[str, Any])
            found = found.get("jwk", found)
            if not isinstance(found, dict) or (found.get("kty"), found.get("crv")) != ("OKP", "Ed25519"):
                raise wrong
            raw = _raw(str(found["x"]))
        elif text.startswith("-----BEGIN PUBLIC KEY-----"):
            der = base64.b64decode("".join(text.splitlines()[1:-1]), validate=True)
            if not der.startswith(_PUBLIC):
                raise wrong
            raw = der[len(_PUBLIC) :]
        else:
            raw = _raw(text)
    except (ValueError, KeyError, msgspec.DecodeError):
        raise wrong from None
    if len(raw) != 32:
        raise wrong
    return _pem(_PUBLIC, raw, "PUBLIC")
