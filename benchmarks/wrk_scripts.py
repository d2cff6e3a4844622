"""Scripts for wrk that send random requests."""

from __future__ import annotations

#: Requests are made before the load begins, so that wrk has little to do between two.
POOL = """
math.randomseed({seed})
local pool, n = {{}}, 0
local json = {{["content-type"] = "application/json"}}
init = function() for i = 1, {size} do pool[i] = {request} end end
request = function() n = n % #pool + 1 return pool[n] end
"""
SCORE = """'{{"player_id":"p' .. math.random(0, {last}) .. '","score":' .. math.random({low}, {low} + 9999999) .. '}}'"""
RANK = 'wrk.format("GET", "/v1/boards/{board}/players/p" .. math.random(0, {last}))'
WRITE = 'wrk.format("POST", "/v1/boards/large/scores", json, ' + SCORE + ")"
ROWS = "(function() local rows = {{}} for i = 1, 100 do rows[i] = " + SCORE + ' end return table.concat(rows, ",") end)()'
BATCHES = 'wrk.format("POST", "/v1/boards/large/scores/batch", json, \'{{"scores":[\' .. ' + ROWS + " .. ']}}')"


def lua(request: str, size: int = 50_000, seed: int = 7, low: int = 0, **names: object) -> str:
    """Write a script for wrk that sends random requests of a kind. Scores are from `low` on."""
    return POOL.format(size=size, seed=seed, request=request.format(low=low, **names))
