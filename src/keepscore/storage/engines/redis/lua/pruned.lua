-- What is known of the rows that were removed from a ranking.
--
-- KEYS     key, times and dense of a ranking, list of rankings, watermarks
-- ARGV[1]  msgpack: {form, {epoch, field, now}, desc}
-- Answers  msgpack: {hidden, removed, kept, mark, floor {player, score, since}, watermarks, exact}, or false where none were;
--          or what `opened` tells
-- Cost     O(log N)
-- Needs    changes.lua

local form, given, desc = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local total, problem, pruned = opened(r, KEYS[4], KEYS[5], given)
if not total then return problem end
if not pruned then return cmsgpack.pack(false) end
pruned[7] = offset_of(r, desc, pruned[5][1], pruned[5][2], pruned[5][3])
return cmsgpack.pack(pruned)
