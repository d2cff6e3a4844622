-- Forget a ranking whose time is over. One that comes in its place counts its changes on from there.
--
-- KEYS     list of rankings, positions
-- ARGV[1]  msgpack: the ranking's field
-- Answers  nothing
-- Cost     O(1)

local field = cmsgpack.unpack(ARGV[1])
call('HDEL', KEYS[1], field)
local found = call('HMGET', KEYS[2], 'first', field)
if found[2] then
  call('HSET', KEYS[2], 'first', math.max(tonumber(found[1]) or 0, (tonumber(found[2]) or 0) + 1))
  call('HDEL', KEYS[2], field)
end
