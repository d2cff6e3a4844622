-- The states of players.
--
-- KEYS     key, times and dense of a ranking
-- ARGV[1]  msgpack: {form, players}
-- Answers  msgpack: a list of {score, since} or false
-- Cost     O(1) for each player.

local form, players = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local scores, sinces = read_all(r, players)
local states = {}
for i = 1, #players do states[i] = scores[i] and {scores[i], sinces[i]} or false end
return cmsgpack.pack(states)
