-- Let go of a lock, unless it is somebody else's by now.
--
-- KEYS[1]  the lock
-- ARGV[1]  msgpack: the token under which it was taken
-- Answers  1, or 0 where it was lost meanwhile
-- Cost     O(1)

if call('GET', KEYS[1]) ~= cmsgpack.unpack(ARGV[1]) then return 0 end
return call('DEL', KEYS[1])
