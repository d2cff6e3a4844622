-- Where players stand.
--
-- KEYS     key, times and dense of a ranking, list of rankings, watermarks, positions
-- ARGV[1]  msgpack: {form, {epoch, field, now}, desc, players, standard, dense}: whether standard ranks are wanted, and dense ones (0: no, 1: if the index is there,
--          2: yes)
-- Answers  msgpack: {total, scores (false: not ranked), times, unique, standard, dense ranks, life and seq of the position}, each of the ranks a list by player, or false
--          where it is not wanted or not kept; or what `opened` tells; or 'dense': the index is not there
-- Cost     O(log N) for each player.

local form, given, desc, players, standard, dense = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local total, upto, pruned = opened(r, KEYS[4], KEYS[5], given)
if not total then return upto end
if dense == 2 and total > 0 and upto ~= math.huge then return 'dense' end
dense = dense > 0 and upto == math.huge
if total == 0 then players = {} end

local life, seq = position_of(KEYS[6], given[2])
local scores, sinces, members = read_all(r, players)
local key, rank = r.key, desc and 'ZREVRANK' or 'ZRANK'
local uniques, standards, denses = {}, standard and {}, dense and {}
for i, score in ipairs(scores) do
  uniques[i] = score and call(rank, key, members[i]) + 1
  if standard then standards[i] = score and standard_rank(r, desc, score) end
  if dense then denses[i] = score and dense_rank(r, desc, score) end
end
return cmsgpack.pack({total + hidden_of(pruned), scores, (r.keeps or r.kind == 'composite') and sinces, uniques, standards, denses, life, seq})
