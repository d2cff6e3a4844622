"""Who may do what: every route, with keys of every scope, for own and foreign boards, with player tokens, and with nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from keepscore.access.principals import LEVELS, SCOPES
from tests.service.access_rig import KeyedService, bearer, problem
from tests.service.running import JSON

OWN, FOREIGN = "season-1", "other"
PLAYER = "ada"


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedService]:
    service = KeyedService(tmp_path_factory.mktemp("keyed"))
    for scope in SCOPES:
        service.make(f"{scope}-all", scope)
        service.make(f"{scope}-own", scope, boards=["season-*"])
    for board in (OWN, FOREIGN, "open", "global", "prize"):
        path = "increments" if board in (OWN, FOREIGN) else "scores"
        body = {"player_id": PLAYER, "amount" if path == "increments" else "score": 10}
        assert service.admin.post(f"/v1/boards/{board}/{path}", json=body).status_code == 200
    yield service
    service.stop()


@pytest.fixture(scope="module")
def routes(keyed: KeyedService) -> list[dict[str, Any]]:
    """Every route of the service, as its description has it: a new one is here by itself."""
    description = keyed.client.get("/openapi.json").json()

    def resolved(part: dict[str, Any]) -> dict[str, Any]:
        return description["components"]["parameters"][part["$ref"].split("/")[-1]] if "$ref" in part else part

    found = []
    # A live stream has no end: it has tests of its own.
    for path, methods in ((path, methods) for path, methods in description["paths"].items() if path != "/v1/live"):
        for method, operation in methods.items():
            parameters = [resolved(parameter) for parameter in operation["parameters"]]
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            examples = {parameter["name"]: parameter["example"] for parameter in parameters if "example" in parameter}
            found.append({"method": method, "path": path, "scope": operation["x-scope"], "body": body, "examples": examples, **operation})
    assert len(found) > 35
    return found


def sent(client: httpx.Client, route: dict[str, Any], board: str, headers: dict[str, str]) -> httpx.Response:
    """Ask for a route on a board, with its own example as far as possible; nothing that is allowed may destroy what others need."""
    examples = {**route["examples"], "board": board, "key_id": "000000000000", "window": "weekly", "window_id": "1999-W01"}
    path = re.sub(r"{(\w+)}", lambda match: str(examples[match[1]]), route["path"])
    query = {name: str(value) for name, value in route["examples"].items() if f"{{{name}}}" not in route["path"]}
    body = route["body"]
    if route["method"] in ("put", "post") and isinstance(body, dict):
        # What is allowed shall not change anything here: unknown fields are refused only after access is checked.
        body = {**body, "no such field": 1}
    return client.request(route["method"], path, params=query, json=body, headers=headers)


def is_denied(answer: httpx.Response) -> bool:
    return answer.status_code in (401, 403)


def harmless(route: dict[str, Any]) -> bool:
    """Whether a route can be used by somebody who is allowed to, and the other tests do not notice."""
    return (route["method"], route["path"]) not in {
        ("delete", "/v1/boards/{board}"),
        ("delete", "/v1/boards/{board}/players/{player_id}"),
        ("post", "/v1/boards/{board}/reset"),
        ("post", "/v1/boards/{board}/reset/undo"),
        ("post", "/v1/boards/{board}/rebuild"),
    }


@pytest.mark.parametrize("scope", SCOPES)
def test_every_route_with_every_scope_on_own_and_foreign_boards(keyed: KeyedService, routes: list[dict[str, Any]], scope: str) -> None:
    wrong = []
    for route in routes:
        has_board = "{board}" in route["path"] or route["path"].startswith("/api/v1/leaderboard")
        enough = route["scope"] == "open" or LEVELS[scope] >= LEVELS[route["scope"]]
        for key, board in ((f"{scope}-all", OWN), (f"{scope}-all", FOREIGN), (f"{scope}-own", OWN), (f"{scope}-own", FOREIGN)):
            limited, own = key.endswith("-own"), board == OWN
            # The default board of these routes is not among those of the limited key.
            own = own and "{board}" in route["path"]
            # Its board is a parameter, and by default one that limited keys do not have.
            by_name = route["path"] == "/leaderboard/friends"
            seen = route["scope"] == "open" or (route["x-boards"] == "visible" and not by_name)
            allowed = enough and (not limited or own or (not has_board and seen))
            if limited and route["method"] != "get" and route["path"] == "/v1/players/{player_id}":
                allowed = False
            if allowed and not harmless(route):
                continue
            answer = sent(keyed.client, route, board, bearer(keyed.keys[key]))
            if is_denied(answer) == allowed or answer.status_code >= 500:
                wrong.append((key, board, route["method"], route["path"], answer.status_code, answer.text[:200]))
            elif not allowed:
                problem(answer, 403, "forbidden")
    assert "\n".join(map(str, wrong)) == ""


#: What is about one person is told to nobody without credentials, whoever may read the board.
PERSONAL = {"/v1/boards/{board}/friends/{player_id}", "/v1/boards/{board}/view", "/v1/boards/{board}/groups/{group_id}"}
PERSONAL |= {"/v1/boards/{board}/leagues/{player_id}", "/v1/boards/{board}/leagues/{player_id}/history"}
PERSONAL |= {f"/v1/boards/{{board}}/players/{{player_id}}/{what}" for what in ("needs", "why")}


def test_every_route_without_credentials(keyed: KeyedService, routes: list[dict[str, Any]]) -> None:
    for route in routes:
        for board in (OWN, "open", "unknown"):
            answer = sent(keyed.client, route, board, {})
            is_public = (route["scope"] == "read" and route["path"] not in PERSONAL) and (
                ("{board}" in route["path"] and board == "open") or (route["method"], route["path"]) == ("get", "/v1/boards")
            )
            if route["scope"] == "open" or is_public:
                assert not is_denied(answer), f"{route['method']} {route['path']}: {answer.text}"
            else:
                problem(answer, 401, "unauthenticated")
                assert answer.headers["www-authenticate"] == 'Bearer realm="keepscore"'


CLAIM = "/v1/boards/{board}/windows/{window}/{window_id}/winners/{player_id}/claim"


def test_every_route_with_a_player_token(keyed: KeyedService, routes: list[dict[str, Any]]) -> None:
    mine = bearer(keyed.token(PLAYER, boards=["season-*", "global", "prize"]))
    wrong = []
    for route in routes:
        if not harmless(route):
            continue
        place = route["method"], route["path"]
        for board in (OWN, FOREIGN, "prize"):
            is_write = route["scope"] not in ("read", "open")
            fits = "{board}" not in route["path"] or board == OWN or (board == "prize" and (not is_write or place[1] == CLAIM))
            allowed = route["scope"] == "open" or (route["x-player-tokens"] and fits)
            if "{player_id}" in route["path"] and route["path"].startswith("/api"):
                route = {**route, "examples": {**route["examples"], "player_id": PLAYER}}
            answer = sent(keyed.client, route, board, mine)
            if is_denied(answer) == allowed or answer.status_code >= 500:
                wrong.append((board, *place, answer.status_code, answer.text[:200]))
    assert "\n".join(map(str, wrong)) == ""


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/boards/season-1/players/eve", None),
        ("GET", "/v1/boards/season-1/history/eve", None),
        ("GET", "/v1/players/eve", None),
        ("GET", "/v1/me/standings?player_id=eve", None),
        ("GET", "/api/v1/leaderboard/rank/eve", None),
        ("POST", "/v1/boards/season-1/increments", {"player_id": "eve", "amount": 1}),
        ("POST", "/v1/boards/global/scores", {"player_id": "eve", "score": 1}),
        ("POST", "/v1/boards/season-1/plays", {"player_id": "eve"}),
        ("POST", "/v1/boards/season-1/scores/batch", {"scores": [{"player_id": PLAYER, "amount": 1}, {"player_id": "eve", "amount": 1}]}),
        ("POST", "/v1/boards/season-1/scores/batch?dry_run=true", {"scores": [{"player_id": "eve", "amount": 1}]}),
        ("POST", "/api/v1/leaderboard/score", {"player_id": "eve", "score": 1}),
        ("POST", "/api/v1/leaderboard/score/increment", {"player_id": 7, "score_delta": 1}),
        ("PUT", "/v1/players/eve", {"name": "Boss"}),
        ("PATCH", "/v1/players/eve", {"name": "Boss"}),
        ("DELETE", "/v1/players/eve", None),
        ("POST", "/v1/players/batch", {"players": [{"player_id": PLAYER, "name": "Boss"}]}),
        ("POST", "/v1/tokens", {"player_id": PLAYER}),
        ("POST", "/v1/boards/prize/windows/all_time/all_time/winners/eve/claim", None),
    ],
)
def test_a_player_token_acts_as_its_player_only(keyed: KeyedService, method: str, path: str, body: Any) -> None:
    mine = bearer(keyed.token(PLAYER))
    before = keyed.admin.get(f"/v1/boards/{OWN}/events").json()
    problem(keyed.client.request(method, path, json=body, headers=mine), 403, "forbidden")
    assert keyed.admin.get(f"/v1/boards/{OWN}/events").json() == before
    # A doubled field does not get by.
    if body is not None and "player_id" in body and "scores" in path:
        text = '{"player_id": "ada", "score": 1, "player_id": "eve"}'
        problem(keyed.client.post(path, content=text, headers={**mine, **JSON}), 403, "forbidden")


def test_a_player_submits_and_reads_their_own(keyed: KeyedService) -> None:
    mine = bearer(keyed.token("zoe", boards=["season-*", "open"]))
    for _ in range(2):
        assert keyed.client.post(f"/v1/boards/{OWN}/increments", json={"player_id": "zoe", "amount": 5}, headers=mine).status_code == 200
    assert keyed.client.get(f"/v1/boards/{OWN}/players/zoe", headers=mine).json()["score"] == 10
    keyed.admin.post("/v1/boards/other/increments", json={"player_id": "zoe", "amount": 99})
    keyed.admin.post("/v1/boards/open/scores", json={"player_id": "zoe", "score": 7})
    found = keyed.client.get("/v1/me/standings", headers=mine).json()
    assert (found["player_id"], found["next_cursor"]) == ("zoe", None)
    assert [(place["board"], place["score"]) for place in found["standings"]] == [("open", 7), (OWN, 10)]
    first = keyed.client.get("/v1/me/standings?limit=1", headers=mine).json()
    rest = keyed.client.get(f"/v1/me/standings?cursor={first['next_cursor']}", headers=mine).json()
    assert first["standings"] + rest["standings"] == found["standings"]
    listed = keyed.client.get("/v1/boards", headers=mine).json()["boards"]
    assert [board["name"] for board in listed] == ["open", OWN]


def test_standings_with_a_key_need_a_player(keyed: KeyedService) -> None:
    assert "player_id" in problem(keyed.admin.get("/v1/me/standings"), 422, "invalid-field")
    found = keyed.admin.get("/v1/me/standings", params={"player_id": PLAYER}).json()
    assert {place["board"] for place in found["standings"]} >= {OWN, FOREIGN, "open", "prize"}
    limited = keyed.client.get("/v1/me/standings", params={"player_id": PLAYER}, headers=bearer(keyed.keys["read-own"])).json()
    assert {place["board"] for place in limited["standings"]} == {OWN, "open"}


@pytest.mark.parametrize("board", ["prize", "linked"])
def test_players_cannot_write_to_boards_for_servers_nor_by_way_of_others(keyed: KeyedService, board: str) -> None:
    mine = bearer(keyed.token(PLAYER))
    for path, body in (("scores", {"player_id": PLAYER, "score": 10**6}), ("plays", {"player_id": PLAYER})):
        detail = problem(keyed.client.post(f"/v1/boards/{board}/{path}", json=body, headers=mine), 403, "forbidden")
        assert "submit = 'server'" in detail
    server = bearer(keyed.keys["submit-all"])
    assert keyed.client.post(f"/v1/boards/{board}/scores", json={"player_id": PLAYER, "score": 11}, headers=server).status_code == 200


def test_a_strong_board_may_take_players_where_it_says_so(keyed: KeyedService) -> None:
    keyed.admin.put("/v1/boards/casual", json={"consistency": "strong", "submit": "players"})
    mine = bearer(keyed.token(PLAYER))
    assert keyed.client.post("/v1/boards/casual/scores", json={"player_id": PLAYER, "score": 1}, headers=mine).status_code == 200


@pytest.mark.parametrize("fields", [{"also": ["other"]}, {"rollup": {"of": ["other"], "window": "daily", "into": "weekly"}}])
def test_a_limited_admin_cannot_reach_other_boards_by_a_definition(keyed: KeyedService, fields: dict[str, Any]) -> None:
    mine = bearer(keyed.keys["admin-own"])
    answer = keyed.client.put("/v1/boards/season-x", json={"operator": "sum", **fields}, headers=mine)
    assert "'other'" in problem(answer, 403, "forbidden")
    assert keyed.admin.get("/v1/boards/season-x").status_code == 404
    assert keyed.client.put("/v1/boards/season-y?confirm=true", json={"operator": "sum"}, headers=mine).is_success
    assert "'other'" in problem(keyed.client.patch("/v1/boards/season-y", json=fields, headers=mine), 403, "forbidden")
    assert keyed.client.patch("/v1/boards/season-y", json={"grace": "10m"}, headers=mine).status_code == 200
    assert "'other'" in problem(keyed.client.patch("/v1/boards/other", json={"grace": "10m"}, headers=mine), 403, "forbidden")


def test_a_limited_admin_cannot_make_keys(keyed: KeyedService) -> None:
    mine = bearer(keyed.keys["admin-own"])
    problem(keyed.client.post("/v1/keys", json={"name": "more", "scope": "admin"}, headers=mine), 403, "forbidden")
    problem(keyed.client.get("/v1/keys", headers=mine), 403, "forbidden")


def test_lists_of_boards_show_what_a_key_may_read(keyed: KeyedService) -> None:
    names = {board["name"] for board in keyed.client.get("/v1/boards", headers=bearer(keyed.keys["read-own"])).json()["boards"]}
    assert OWN in names
    assert "open" in names
    assert not names & {"other", "prize", "global", "linked"}
    assert [board["name"] for board in keyed.client.get("/v1/boards").json()["boards"]] == ["open"]


def test_caches_that_many_share_keep_public_boards_only(keyed: KeyedService) -> None:
    for path in ("top", f"players/{PLAYER}", "count"):
        public = keyed.client.get(f"/v1/boards/open/{path}").headers
        private = keyed.admin.get(f"/v1/boards/{OWN}/{path}").headers
        assert public["cache-control"].startswith("public")
        assert private["cache-control"].startswith("private")
        assert private["surrogate-control"] == "no-store"
    assert keyed.admin.get("/api/v1/leaderboard/top").headers["cache-control"].startswith("private")


def test_an_unknown_address_is_unknown_to_everybody(keyed: KeyedService) -> None:
    problem(keyed.client.get("/v1/nothing"), 404, "unknown-route")
    problem(keyed.client.get("/v1/boards/nothing/top"), 401, "unauthenticated")
    problem(keyed.client.get("/v1/boards/nothing/top", headers=bearer(keyed.keys["read-own"])), 403, "forbidden")
    problem(keyed.admin.get("/v1/boards/nothing/top"), 404, "unknown-board")


def test_a_player_token_reads_its_own_league(keyed: KeyedService) -> None:
    league = {"tiers": ["bronze", "silver"], "promote": [1]}
    assert keyed.admin.put("/v1/boards/season-league", json={"windows": ["yearly"], "league": league}).status_code in (200, 201)
    mine = bearer(keyed.token(PLAYER, boards=["season-*"]))
    for what in ("", "/history"):
        assert keyed.client.get(f"/v1/boards/season-league/leagues/{PLAYER}{what}", headers=mine).status_code == 200
        problem(keyed.client.get(f"/v1/boards/season-league/leagues/noa{what}", headers=mine), 403, "forbidden")
    proposed = {"league": league}
    for bearing in (mine, bearer(keyed.keys["submit-all"])):
        problem(keyed.client.post("/v1/boards/season-league/leagues/simulate", json=proposed, headers=bearing), 403, "forbidden")
