-- Consecutive rows of a ranking: those after the first `offset`, or those behind a row, whether or not it is still there.
--
-- KEYS     key, times and dense of a ranking, list of rankings, watermarks, positions
-- ARGV[1]  msgpack: {form, {epoch, field, now}, desc, offset, limit, dense}, or with {player, score, since} of the row in the place of the offset; dense: dense
--          ranks are needed
-- Answers  msgpack: {rows, offset, standard and dense rank of the first row (0: there is no index), rows in all, hidden, life and seq of the position}; a row is {player, score, since};
--          or what `opened` tells; or 'dense': the index is not there
-- Cost     O(log N + limit); behind a row that others are equal to, O(log N) for each halving of those.
-- Needs    changes.lua

local form, given, desc, from, limit, needed = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local total, upto, pruned = opened(r, KEYS[4], KEYS[5], given)
if not total then return upto end
if needed and total > 0 and upto ~= math.huge then return 'dense' end
local is_indexed = total == 0 or upto == math.huge
local range = desc and 'ZREVRANGE' or 'ZRANGE'

local offset = type(from) == 'table' and 0 or from
if type(from) == 'table' and total > 0 then offset = offset_of(r, desc, from[1], from[2], from[3]) end
local rows = {}
if limit > 0 and total > 0 then
  local found = call(range, r.key, offset, offset + limit - 1, 'WITHSCORES')
  for i = 1, #found, 2 do rows[#rows + 1] = {row_of(r, found[i], found[i + 1])} end
end
local standard, dense = total + 1, is_indexed and call('ZCARD', r.dense) + 1 or 0
if rows[1] then
  standard, dense = standard_rank(r, desc, rows[1][2]), is_indexed and dense_rank(r, desc, rows[1][2]) or 0
end
return cmsgpack.pack({rows, offset, standard, dense, total, hidden_of(pruned), position_of(KEYS[6], given[2])})
