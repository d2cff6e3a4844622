"""`lb.keys`, and what a process makes of keys that others change."""

import pytest

from keepscore.access.keyring import LOOK_AGAIN_S, Keyring
from keepscore.access.player_tokens import sign_player_token
from keepscore.errors import InvalidField, KeyEnded, Unauthenticated, UnknownKey
from tests.contract.opened import DAY, HOUR


def header(text):
    return f"Bearer {text}".encode()


async def test_keys_are_created_listed_rotated_and_revoked(run, clock):
    async with run() as lb:
        made = await lb.keys.create("server", "submit", boards=["season-*"], expires="90d")
        assert made.expires.timestamp() * 1000 == clock.now + 90 * DAY
        clock.now += DAY
        new = await lb.keys.rotate(made.id, overlap="2h")
        assert (new.scope, new.boards, new.replaces) == ("submit", ["season-*"], made.id)
        # It lives as long as the one before was to.
        assert new.expires.timestamp() * 1000 == clock.now + 90 * DAY
        clock.now += 3 * HOUR
        await lb.keys.revoke(new.id)
        assert [(key.id, key.state) for key in await lb.keys.all()] == [(made.id, "expired"), (new.id, "revoked")]
        for ended in (made.id, new.id):
            with pytest.raises(KeyEnded):
                await lb.keys.rotate(ended)
            with pytest.raises(KeyEnded):
                await lb.keys.token_signed_by(ended, "ada")
        with pytest.raises(UnknownKey):
            await lb.keys.revoke("nothing")
        with pytest.raises(UnknownKey, match="keepscore keys create"):
            await lb.keys.token("ada")
        with pytest.raises(InvalidField):
            await lb.keys.create("x", "write")


async def test_a_process_takes_up_what_another_changes(run, clock, monkeypatch):
    async with run() as lb:
        here = Keyring(lb.runtime.ledger, "live", clock)
        await here.refresh()
        assert not here.has_keys
        key = await lb.keys.create("server", "submit")
        monkeypatch.setattr("keepscore.access.keyring.LOOK_AGAIN_S", 0)
        assert LOOK_AGAIN_S > 0
        principal = await here.principal_of(header(key.key))
        assert (principal.key_id, principal.scope) == (key.id, "submit")
        assert await here.principal_of(header(key.key)) is principal
        token = (await lb.keys.token("ada", boards=["b"])).token
        assert (await here.principal_of(header(token))).player == "ada"
        await lb.keys.revoke(key.id)
        await here.refresh()
        for text in (key.key, token):
            with pytest.raises(Unauthenticated, match="revoked"):
                await here.principal_of(header(text))
        assert here.has_keys
        (listed,) = await lb.keys.all()
        assert listed.last_used is not None


async def test_what_is_known_expires_by_the_clock(run, clock):
    async with run() as lb:
        key = await lb.keys.create("server", "submit", expires="1h")
        here = Keyring(lb.runtime.ledger, "live", clock)
        await here.refresh()
        token = sign_player_token(key.key, "ada", ttl="10m", now_ms=clock.now)
        for text in (key.key, token):
            await here.principal_of(header(text))
        clock.now += 11 * 60_000
        with pytest.raises(Unauthenticated, match="expired"):
            await here.principal_of(header(token))
        await here.principal_of(header(key.key))
        clock.now += HOUR
        with pytest.raises(Unauthenticated, match="expired"):
            await here.principal_of(header(key.key))


async def test_who_did_what_to_keys_is_noted(run):
    async with run() as lb:
        key = await lb.keys.create("server", "submit")
        new = await lb.keys.rotate(key.id)
        await lb.keys.revoke(new.id)
        rows = await lb.runtime.ledger.identity.on_writer(
            lambda connection: connection.execute("SELECT action, detail FROM audit").fetchall()
        )
        assert [action for action, _ in rows] == ["create_key", "rotate_key", "revoke_key"]
        assert not any(key.key.rpartition("_")[2] in detail for _, detail in rows)
