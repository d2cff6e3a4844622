-- Where players stand.
--
-- KEYS     key, times and dense of a ranking, list of rankings, watermarks
-- ARGV[1]  msgpack: {form, field, desc, players, standard, dense}: the last two say which ranks are wanted beside the unique one
-- Answers  msgpack: {total, scores (false: not ranked), times, unique, standard, dense ranks}, each of these a list by player, or false
--          where it is not wanted or not kept; or 'dense': the index is not there; or 'lost': nothing of the board is
-- Cost     O(log N) for each player.

local form, field, desc, players, standard, dense = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local _, upto, listed, pruned = entry(KEYS[4], field)
if not listed and call('EXISTS', KEYS[5]) == 0 then return 'lost' end
local total = listed and call('ZCARD', r.key) or 0
if dense and total > 0 and upto ~= math.huge then return 'dense' end
if total == 0 then players = {} end

local scores, sinces, members = read_all(r, players)
local key, rank = r.key, desc and 'ZREVRANK' or 'ZRANK'
local uniques, standards, denses = {}, standard and {}, dense and {}
for i, score in ipairs(scores) do
  uniques[i] = score and call(rank, key, members[i]) + 1
  if standard then standards[i] = score and standard_rank(r, desc, score) end
  if dense then denses[i] = score and dense_rank(r, desc, score) end
end
return cmsgpack.pack({total + hidden_of(pruned), scores, (r.keeps or r.kind == 'composite') and sinces, uniques, standards, denses})
