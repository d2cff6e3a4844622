-- Set when a ranking may be dropped.
--
-- KEYS     watermarks, list of rankings; key, times and dense of a ranking
-- ARGV[1]  msgpack: {epoch, field, name of the key, expiry (0: never), now}
-- Answers  1, or 0 where the board has another epoch
-- Cost     O(1)
-- Needs    changes.lua

local epoch, field, name, expiry, now = unpack(cmsgpack.unpack(ARGV[1]))
if call('HGET', KEYS[1], 'epoch') ~= epoch then return 0 end
local _, upto, listed, pruned, players = entry(KEYS[2], field)
if listed and players ~= TAKEN then
  list_entry(KEYS[2], field, expiry, upto, name, pruned, players)
  expire({key = KEYS[3], times = KEYS[4], dense = KEYS[5]}, expiry > 0 and math.max(1, expiry - now) or nil)
end
return 1
