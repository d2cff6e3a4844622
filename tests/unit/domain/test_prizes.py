"""Prizes of boards: which definitions are taken, what ranks get; and what is signed."""

import base64
import json

import jwt
import pytest

from keepscore import Board
from keepscore.domain.board_changes import merged
from keepscore.domain.boards import board_from_dict
from keepscore.domain.certificates import Signer, verified
from keepscore.domain.prizes import reward_id
from keepscore.errors import InvalidBoard, InvalidField

SIGNER = Signer(b"s" * 32)


def board(**prize):
    return board_from_dict({"name": "cup", "consistency": "strong", "prize": {"winners": 10, **prize}})


def rewards(*ranks):
    return {"rewards": [{"ranks": one, "give": f"for {one}"} for one in ranks]}


def test_ranks_get_what_their_range_gives():
    found = board(**rewards("2-4", "1", "5-10")).rewards
    assert [found.at(rank) for rank in (1, 2, 4, 5, 10, 11)] == ["for 1", "for 2-4", "for 2-4", "for 5-10", "for 5-10", None]
    assert board().rewards.at(1) is None
    # The tail of the winners may get nothing.
    assert board(**rewards("1", "2-3")).rewards.last == 3


@pytest.mark.parametrize(
    ("prize", "words"),
    [
        (rewards("1-5", "5-10"), "rank 5 would get two"),
        (rewards("1-5", "2-4"), "ranks 2-4 would get two"),
        (rewards("1", "3"), "rank 2 would get nothing"),
        (rewards("3-5"), "ranks 1-2 would get nothing"),
        (rewards("1-12"), "ranks 11-12 would get something and not win"),
        (rewards("0-3"), "'0-3' is not a range"),
        (rewards("3-1"), "ends before it begins"),
        (rewards("one"), "'one' is not a range"),
        ({"rewards": [{"ranks": "1"}]}, "each is a table with ranks and give"),
        ({"rewards": [{"ranks": "1", "give": ""}]}, "give = ''"),
        ({"rewards": [{"ranks": "1", "give": "x" * 257}]}, "1 to 256 bytes"),
        ({"rewards": "gold"}, "give a list of tables"),
        ({"winners": 0}, "allowed are 1 to 1,000,000"),
        ({"winners": "ten"}, "winners"),
        ({"review": "soon"}, "not a duration"),
        ({"review": "367d"}, "up to 366d"),
        ({"who": 1}, "allowed: winners, review, rewards"),
    ],
)
def test_a_prize_that_cannot_be_used_is_refused_with_its_ranks(prize, words):
    with pytest.raises(InvalidBoard, match="prize = ") as caught:
        board(**prize)
    assert words in str(caught.value)


def test_only_strong_boards_have_prizes():
    with pytest.raises(InvalidBoard, match="it needs consistency = 'strong'"):
        Board("cup", prize={"winners": 1})
    with pytest.raises(InvalidBoard, match="prize"):
        merged(board(), {"consistency": "eventual"})
    rollup = {"of": ["daily"], "window": "daily", "into": "weekly"}
    with pytest.raises(InvalidBoard, match="a roll-up has none"):
        Board("week", windows=["weekly"], consistency="strong", rollup=rollup, prize={"winners": 1})
    assert board_from_dict(board(**rewards("1")).to_dict()) == board(**rewards("1"))


def test_reward_ids_differ_and_never_change():
    ids = {reward_id(1, "daily", "2026-11-15", rank) for rank in range(1, 100)}
    assert len(ids) == 99
    assert reward_id(1, "daily", "2026-11-15", 1) == "rw_ae6b7c5c1382dd13803d0761"


def test_statements_are_verified_with_every_form_of_the_key():
    key, text = SIGNER.public_key(), SIGNER.sign("certificate", {"rank": 1})
    for form in (key.pem, json.dumps(key.jwk), json.dumps({"jwk": key.jwk}), key.jwk["x"]):
        assert verified(text, form) == ("certificate", {"rank": 1})


def forged(text):
    head, body, signature = text.split(".")
    other = base64.urlsafe_b64encode(b'{"rank":2}').rstrip(b"=").decode()
    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"keepscore-certificate+jwt"}').rstrip(b"=").decode()
    yield f"{head}.{other}.{signature}"
    yield f"{none}.{body}."
    yield text[:-4]
    yield "x"
    yield "a.b.c"
    # The public key, used as the secret of another algorithm.
    raw = base64.urlsafe_b64decode(SIGNER.public_key().jwk["x"] + "=")
    yield jwt.encode({"rank": 1}, raw, algorithm="HS256", headers={"typ": "keepscore-certificate+jwt"})


def test_what_was_not_signed_is_refused():
    text = SIGNER.sign("certificate", {"rank": 1})
    for wrong in forged(text):
        with pytest.raises(InvalidField):
            verified(wrong, SIGNER.public_key().pem)
    with pytest.raises(InvalidField, match="signed with another key"):
        verified(text, Signer(b"t" * 32).public_key().pem)
    with pytest.raises(InvalidField, match="no receipt"):
        verified(text, SIGNER.public_key().pem, "receipt")
    for key in ("", "{}", '{"kty":"RSA"}', "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"):
        with pytest.raises(InvalidField, match="no Ed25519 public key"):
            verified(text, key)
