-- Consecutive rows of a ranking: those after the first `offset`, or those behind a row, whether or not it is still there.
--
-- KEYS     key, times and dense of a ranking, list of rankings, watermarks
-- ARGV[1]  msgpack: {form, field, desc, offset, limit}, or with {player, score, since} of the row in the place of the offset
-- Answers  msgpack: {rows, offset, standard and dense rank of the first row, rows in all, hidden}; a row is {player, score, since};
--          or 'dense': the index is not there; or 'lost': nothing of the board is
-- Cost     O(log N + limit); behind a row that others are equal to, O(log N) for each halving of those.
-- Needs    changes.lua

local form, field, desc, from, limit = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local _, upto, listed, pruned = entry(KEYS[4], field)
if not listed and call('EXISTS', KEYS[5]) == 0 then return 'lost' end
local total = listed and call('ZCARD', r.key) or 0
if total > 0 and upto ~= math.huge then return 'dense' end
local range = desc and 'ZREVRANGE' or 'ZRANGE'

local offset = type(from) == 'table' and 0 or from
if type(from) == 'table' and total > 0 then offset = offset_of(r, desc, from[1], from[2], from[3]) end
local rows = {}
if limit > 0 and total > 0 then
  local found = call(range, r.key, offset, offset + limit - 1, 'WITHSCORES')
  for i = 1, #found, 2 do rows[#rows + 1] = {row_of(r, found[i], found[i + 1])} end
end
local standard, dense = total + 1, call('ZCARD', r.dense) + 1
if rows[1] then
  standard, dense = standard_rank(r, desc, rows[1][2]), dense_rank(r, desc, rows[1][2])
end
return cmsgpack.pack({rows, offset, standard, dense, total, hidden_of(pruned)})
