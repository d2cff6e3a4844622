-- How many players there are under each key.
--
-- KEYS     the keys of rankings
-- ARGV[1]  nothing
-- Answers  a list of numbers; -1 where the key is no sorted set
-- Cost     O(keys)

local sizes = {}
for i, key in ipairs(KEYS) do sizes[i] = size_of({key = key}) or -1 end
return sizes
