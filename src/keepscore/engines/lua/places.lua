-- Where players stand.
--
-- KEYS     key, times and dense of a ranking, list of rankings
-- ARGV[1]  msgpack: {form, field, desc, players}
-- Answers  msgpack: {total, places}; a place is {score, since, unique, standard, dense} or false; or 'dense': the index is not there
-- Cost     O(log N) for each player.

local form, field, desc, players = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local _, upto, listed = entry(KEYS[4], field)
local total = listed and call('ZCARD', r.key) or 0
if total > 0 and upto ~= math.huge then return 'dense' end
local places = {}
for i, player in ipairs(players) do
  local score, since, member
  if total > 0 then score, since, member = read(r, player) end
  places[i] = false
  if score then
    places[i] = {score, since, unique_rank(r, desc, member), standard_rank(r, desc, score), dense_rank(r, desc, score)}
  end
end
return cmsgpack.pack({total, places})
