-- Replace a sorted set that other services read, for some time.
--
-- KEYS[1]  the sorted set
-- ARGV[1]  msgpack: the milliseconds that it is kept, and its rows, {member, score as text} each
-- Answers  how many rows it has; -1 where the key is something else, and stays
-- Cost     O(n log n)

local given = cmsgpack.unpack(ARGV[1])
local kind = call('TYPE', KEYS[1])
if type(kind) == 'table' then kind = kind.ok end
if kind ~= 'none' and kind ~= 'zset' then return -1 end
call('DEL', KEYS[1])
for _, row in ipairs(given[2]) do call('ZADD', KEYS[1], row[2], row[1]) end
if #given[2] > 0 then call('PEXPIRE', KEYS[1], tonumber(given[1])) end
return #given[2]
