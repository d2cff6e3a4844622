-- The states of players.
--
-- KEYS     key, times and dense of a ranking
-- ARGV[1]  msgpack: {form, players}
-- Answers  msgpack: a list of {score, since} or false
-- Cost     O(1) for each player.

local form, players = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local states = {}
for i, player in ipairs(players) do
  local score, since = read(r, player)
  states[i] = score and {score, since} or false
end
return cmsgpack.pack(states)
