-- Give up a board that has lost something, so that it is rebuilt.
--
-- KEYS     key, times and dense of a ranking, list of rankings, watermarks
-- ARGV[1]  msgpack: {form, {epoch, field, now}}
-- Answers  1, or 0 where nothing is lost any more
-- Cost     O(1)
-- Needs    changes.lua

local form, given = unpack(cmsgpack.unpack(ARGV[1]))
local _, problem = opened(ranking(KEYS, 1, form), KEYS[4], KEYS[5], given)
if problem ~= 'lost' or call('HGET', KEYS[5], 'epoch') ~= given[1] then return 0 end
break_up(KEYS[5])
return 1
