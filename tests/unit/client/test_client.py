"""The client without a service: its methods are the library's, and its rules what to do after each outcome."""

from __future__ import annotations

import inspect
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from typing import Any, get_type_hints

import msgspec
import pytest

from keepscore import Entry, KeepscoreError, Leaderboards, errors, sync
from keepscore.access.keys import Keys
from keepscore.client import (
    Client,
    SyncClient,
    namespaces,
    sync_audit,
    sync_explanations,
    sync_friends,
    sync_groups,
    sync_keys,
    sync_leagues,
    sync_moderation,
    sync_namespaces,
    sync_prizes,
    sync_webhooks,
)
from keepscore.client import audit as client_audit
from keepscore.client import explanations as client_explanations
from keepscore.client import friends as client_friends
from keepscore.client import groups as client_groups
from keepscore.client import keys as client_keys
from keepscore.client import leagues as client_leagues
from keepscore.client import moderation as client_moderation
from keepscore.client import prizes as client_prizes
from keepscore.client import webhooks as client_webhooks
from keepscore.client.batches import BatchCall
from keepscore.client.calls import NO_KEY, Call, RequestKey, change, decoder, read
from keepscore.client.outcomes import HttpAnswer, Patience, Pause, Tries, error_of
from keepscore.domain.results.standings import Receipt
from keepscore.errors import AnswerLost, ConfigError, InvalidField, InvalidScore, LedgerAway, ServiceError, ServiceUnreachable
from keepscore.fairplay.audit import Audit
from keepscore.fairplay.moderation import Moderation
from keepscore.fairplay.prizes import Prizes
from keepscore.fairplay.webhooks import Webhooks
from keepscore.lifecycle.administration import Administration
from keepscore.players.friends import Friends
from keepscore.players.groups import Groups
from keepscore.players.leagues import Leagues
from keepscore.players.profiles import Players
from keepscore.reading.explanations import Explanations
from keepscore.reading.history import History
from keepscore.service.http.problems import problem_of

#: What only a process that has boards itself can do.
NOT_OVER_HTTP = {"open", "configured", "refresh", "token_signed_by"}

PATIENCE = Patience(attempts=4, timeout_s=10, deadline_s=30, long_deadline_s=600)
RECEIPT = msgspec.json.encode(Receipt("b", "p", 5, True, 1, None, 0, 100.0, 1, {}))
JSON = {"content-type": "application/json"}


def public(cls: type) -> dict[str, Any]:
    return {name: function for name, function in inspect.getmembers(cls, inspect.isroutine) if not name.startswith("_")}


def vocabulary(client: type[Client | SyncClient]) -> dict[str, Any]:
    """All calls of a client, those of its namespaces included, by what a program writes."""
    found = public(client)
    for name, namespace in inspect.getmembers(client, lambda member: isinstance(member, property)):
        found |= {f"{name}.{method}": function for method, function in public(get_type_hints(namespace.fget)["return"]).items()}
    return found


@pytest.mark.parametrize(
    ("library", "client"),
    [
        (Leaderboards, Client),
        (History, namespaces.History),
        (Players, namespaces.Players),
        (Friends, client_friends.Friends),
        (Groups, client_groups.Groups),
        (Leagues, client_leagues.Leagues),
        (Explanations, client_explanations.Explanations),
        (Administration, namespaces.Administration),
        (Keys, client_keys.Keys),
        (Moderation, client_moderation.Moderation),
        (Prizes, client_prizes.Prizes),
        (Webhooks, client_webhooks.Webhooks),
        (Audit, client_audit.Audit),
        (sync.Leaderboards, SyncClient),
        (sync.History, sync_namespaces.SyncHistory),
        (sync.Players, sync_namespaces.SyncPlayers),
        (sync.Friends, sync_friends.SyncFriends),
        (sync.Groups, sync_groups.SyncGroups),
        (sync.Leagues, sync_leagues.SyncLeagues),
        (sync.Explanations, sync_explanations.SyncExplanations),
        (sync.Administration, sync_namespaces.SyncAdministration),
        (sync.Keys, sync_keys.SyncKeys),
        (sync.Moderation, sync_moderation.SyncModeration),
        (sync.Prizes, sync_prizes.SyncPrizes),
        (sync.Webhooks, sync_webhooks.SyncWebhooks),
        (sync.Audit, sync_audit.SyncAudit),
    ],
)
def test_the_client_has_the_methods_of_the_library(library: type, client: type) -> None:
    here, there = public(library), public(client)
    assert here
    assert set(there) == set(here) - NOT_OVER_HTTP
    for name in set(here) & set(there):
        assert inspect.signature(there[name]) == inspect.signature(here[name]), name
        assert get_type_hints(there[name]) == get_type_hints(here[name]), name
        assert inspect.iscoroutinefunction(there[name]) == inspect.iscoroutinefunction(here[name]), name


def submission(**fields: Any) -> Call[Receipt]:
    return change(decoder(Receipt), "POST", "boards", "b", "scores", body={"player_id": "p"}, key=RequestKey(**fields))


def problem(error: KeepscoreError, **headers: str) -> HttpAnswer:
    told = problem_of(error, "")
    return HttpAnswer(told.status, {"content-type": "application/problem+json", **headers}, msgspec.json.encode(told))


def tree(cls: type[KeepscoreError]) -> list[type[KeepscoreError]]:
    return [cls, *(below for child in cls.__subclasses__() for below in tree(child))]


@pytest.mark.parametrize("kind", tree(KeepscoreError), ids=lambda kind: kind.__name__)
def test_errors_of_the_library_come_back_as_they_were(kind: type[KeepscoreError]) -> None:
    error = kind("no board 'x'", "GET, PUT") if kind is errors.MethodNotAllowed else kind("no board 'x'")
    found = error_of(problem(error, allow="GET, PUT"))
    assert type(found) is (ServiceError if kind is KeepscoreError else kind)
    assert (found.detail, found.type) == (error.detail, error.type)
    assert getattr(found, "allowed", None) == getattr(error, "allowed", None)


def test_an_error_that_this_version_does_not_know_keeps_its_type_and_status() -> None:
    body = msgspec.json.encode({"type": "urn:keepscore:too-many-requests", "title": "…", "status": 429, "detail": "slow down"})
    found = error_of(HttpAnswer(429, {}, body))
    assert (type(found), str(found), found.type) == (ServiceError, "slow down", "urn:keepscore:too-many-requests")
    assert isinstance(found, ServiceError)
    assert found.status == 429


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (HttpAnswer(500, {"content-type": "text/html"}, b"<html>\n <h1>Bad</h1>" + b"x" * 1000), ["500", "<html> <h1>Bad</h1>", "…"]),
        (HttpAnswer(404, {}, b""), ["404", "empty"]),
        (HttpAnswer(418, {}, b"[1]"), ["418", "[1]"]),
        (HttpAnswer(400, {}, b'{"error": "odd"}'), ["400"]),
        (HttpAnswer(301, {"location": "https://elsewhere/"}, b""), ["301", "redirect", "https://elsewhere/"]),
        (HttpAnswer(304, {}, b""), ["304"]),
        (HttpAnswer(200, {"content-type": "text/html"}, b"<html>log in</html>"), ["not JSON", "log in"]),
        (HttpAnswer(200, JSON, b'{"board": "b"}'), ["cannot be read", "version"]),
    ],
    ids=lambda value: str(value[0]),
)
def test_answers_that_are_not_the_services_become_one_clear_error(answer: HttpAnswer, words: list[str]) -> None:
    with pytest.raises(ServiceError) as found:
        Tries(submission(), PATIENCE, 0).judge(answer, 1)
    assert found.value.status == answer.status
    assert all(word in str(found.value) for word in words), str(found.value)
    assert len(str(found.value)) < 250


@pytest.mark.parametrize("status", [200, 201, 202])
def test_good_answers_become_results(status: int) -> None:
    result = Tries(submission(), PATIENCE, 0).judge(HttpAnswer(status, JSON, RECEIPT), 1)
    assert isinstance(result, Receipt)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_pauses_grow_and_tries_end(status: int) -> None:
    tries, pauses = Tries(submission(), PATIENCE, 0), []
    for _ in range(PATIENCE.attempts - 1):
        pause = tries.judge(HttpAnswer(status, {}, b""), 1)
        assert isinstance(pause, Pause)
        pauses.append(pause.seconds)
    assert [0.05 <= pauses[0] <= 0.1, 0.1 <= pauses[1] <= 0.2, 0.2 <= pauses[2] <= 0.4] == [True] * 3
    with pytest.raises(AnswerLost if status in (502, 504) else ServiceError, match=str(status)):
        tries.judge(HttpAnswer(status, {}, b""), 1)


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_the_service_says_how_long_to_wait(form: str) -> None:
    def after(seconds: int) -> HttpAnswer:
        text = str(seconds) if form == "seconds" else format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
        return HttpAnswer(429, {"retry-after": text}, b"")

    pause = Tries(submission(), PATIENCE, 0).judge(after(8), 1)
    assert isinstance(pause, Pause)
    assert 6 < pause.seconds <= 8
    with pytest.raises(ServiceError, match="429"):
        Tries(submission(), PATIENCE, 0).judge(after(40), 1)


def test_nothing_is_tried_past_the_deadline() -> None:
    tries = Tries(submission(), PATIENCE, 100)
    assert [tries.timeout(100), tries.timeout(125)] == [10, 5]
    with pytest.raises(ServiceUnreachable):
        tries.judge(ServiceUnreachable("refused"), 129.99)


def test_where_one_try_may_have_been_done_the_last_error_says_so() -> None:
    tries = Tries(submission(), PATIENCE, 0)
    assert isinstance(tries.judge(AnswerLost("no answer"), 1), Pause)
    with pytest.raises(AnswerLost, match="refused") as found:
        tries.judge(ServiceUnreachable("refused"), 31)
    assert found.value.idempotency_key == tries.header_key
    assert found.value.idempotency_key is not None
    failing = Tries(submission(), PATIENCE, 0)
    failing.judge(AnswerLost("no answer"), 1)
    with pytest.raises(AnswerLost, match="500"):
        failing.judge(HttpAnswer(500, {}, b""), 1)
    reading = Tries(read(decoder(Receipt), "boards"), PATIENCE, 0)
    reading.judge(AnswerLost("no answer"), 1)
    with pytest.raises(ServiceUnreachable):
        reading.judge(ServiceUnreachable("refused"), 31)


def test_what_is_long_and_has_no_key_is_not_sent_again_while_it_may_be_under_way() -> None:
    rebuild = change(decoder(Receipt), "POST", "boards", "b", "rebuild", key=NO_KEY, is_long=True)
    for outcome in (AnswerLost("cut"), HttpAnswer(504, {}, b""), HttpAnswer(502, {}, b"")):
        with pytest.raises(AnswerLost, match="not known") as found:
            Tries(rebuild, PATIENCE, 0).judge(outcome, 1)
        assert found.value.idempotency_key is None
    assert isinstance(Tries(rebuild, PATIENCE, 0).judge(ServiceUnreachable("refused"), 1), Pause)
    assert isinstance(Tries(rebuild, PATIENCE, 0).judge(HttpAnswer(503, {}, b""), 1), Pause)


def test_while_the_ledger_is_away_a_submission_goes_once_without_a_key() -> None:
    tries = Tries(submission(may_spool=True), PATIENCE, 0)
    assert tries.header_key is not None
    assert tries.judge(problem(LedgerAway("away")), 1) == Pause(0)
    assert tries.header_key is None
    with pytest.raises(AnswerLost) as found:
        tries.judge(AnswerLost("cut"), 1)
    assert found.value.idempotency_key is None

    with pytest.raises(LedgerAway):
        Tries(submission(may_spool=True), PATIENCE, 0).judge(problem(LedgerAway("away")), 29.99)

    # One that may have been recorded keeps its key, and so does one whose key the caller gave.
    doubtful = Tries(submission(may_spool=True), PATIENCE, 0)
    for error in (errors.LedgerUnavailable("unknown"), LedgerAway("away")):
        assert doubtful.judge(problem(error), 1) != Pause(0)
        assert doubtful.header_key is not None
    given = Tries(submission(text="mine", may_spool=True), PATIENCE, 0)
    assert given.judge(problem(LedgerAway("away")), 1) != Pause(0)
    assert given.header_key == "mine"


def test_a_batch_has_a_key_or_its_entries_have() -> None:
    assert not BatchCall([Entry(player_id="a", score=1), Entry(player_id="b", score=2)]).has_keys
    mixed = BatchCall([Entry(player_id="a", score=1, idempotency_key="k"), Entry(player_id="b", amount=2.5), InvalidScore("mine")])
    assert mixed.has_keys
    first, second, third = (msgspec.json.decode(raw) for raw in mixed.body["scores"])
    assert (first["idempotency_key"], len(second.pop("idempotency_key")), third) == ("k", 32, None)
    assert second == {"player_id": "b", "amount": 2.5}


@pytest.mark.parametrize("score", [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_what_json_cannot_tell_is_refused_before_it_is_sent(score: Any) -> None:
    batch = BatchCall([Entry(player_id="a", score=score), Entry(player_id="b", score=1, metadata=object()), Entry(player_id="c", score=1)])
    assert [bytes(raw) == b"null" for raw in batch.body["scores"]] == [True, True, False]
    with pytest.raises(InvalidField, match="JSON"):
        change(decoder(Receipt), "POST", "boards", body={"metadata": object()})
    for call in ({"body": {"player_id": "\ud800"}}, {"query": {"window": "\ud800"}}):
        with pytest.raises(InvalidField, match="surrogate"):
            change(decoder(Receipt), "POST", "boards", **call)
    for key in ("", "ü", "a\nb", " a"):
        with pytest.raises(InvalidField, match="idempotency_key"):
            change(decoder(Receipt), "POST", "boards", key=RequestKey(key))


@pytest.mark.parametrize(
    "url", ["", "nonsense", "ftp://host", "http://", "http://host:x", "http://host:99999", " http://host", "http://h?a=b"]
)
def test_an_address_that_cannot_be_one(url: str) -> None:
    with pytest.raises(ConfigError, match="http://127"):
        SyncClient(url)


def test_secrets_are_never_shown() -> None:
    for url, key in (("http://user:s3cret@host", None), ("nonsense://user:s3cret@host", None), ("http://host", "s3cret\n")):
        with pytest.raises(ConfigError) as found:
            SyncClient(url, key=key)
        assert "s3cret" not in str(found.value)
    with SyncClient("http://host/base/", key="s3cret") as client:
        assert repr(client) == "SyncClient('http://host/base')"
        assert "s3cret" not in repr(vars(client))


def test_without_httpx_the_library_works_and_the_client_says_what_is_missing() -> None:
    code = """
import sys
sys.modules["httpx"] = None
import keepscore
from keepscore.cli import main
sys.argv = ["keepscore", "top", "b", "--url", "http://127.0.0.1:1"]
try:
    import keepscore.client
except ImportError as exc:
    print(exc)
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    missing = "keepscore.client needs the package httpx: install it with pip install 'keepscore[client]'"
    assert (done.stdout.strip(), " ".join(done.stderr.split()), done.returncode) == (missing, f"Error: {missing}", 2)
