-- The states of players in several rankings.
--
-- KEYS     list of rankings, watermarks; then for each ranking: key, times, dense
-- ARGV[1]  msgpack: {epoch, now, rankings}; a ranking is {form, field, players}
-- Answers  msgpack: for each ranking a list of {score, since} or false, or in its place what `opened` tells
-- Cost     O(1) for each player.

local epoch, now, rankings = unpack(cmsgpack.unpack(ARGV[1]))
local answers = {}
for i, wanted in ipairs(rankings) do
  local form, field, players = unpack(wanted)
  local r = ranking(KEYS, 3 * i, form)
  local total, problem = opened(r, KEYS[1], KEYS[2], {epoch, field, now})
  local states = problem
  if total then
    local scores, sinces = read_all(r, players)
    states = {}
    for p = 1, #players do states[p] = scores[p] and {scores[p], sinces[p]} or false end
  end
  answers[i] = states
end
return cmsgpack.pack(answers)
