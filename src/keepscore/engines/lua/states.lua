-- The states of players.
--
-- KEYS     key, times and dense of a ranking
-- ARGV[1]  msgpack: {form, players}
-- Answers  msgpack: a list of {score, since} or false
-- Cost     O(1) for each player.

local form, players = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local states = {}
local known = read_all(r, players)
for i, player in ipairs(players) do
  local state = known[player]
  states[i] = state and {state[1], state[2]}
end
return cmsgpack.pack(states)
