-- Look for what Keepscore has not made under the keys of a board, before the board is put there.
--
-- KEYS     the board's own: watermarks, list of rankings, spool, late players, lock; then the keys of rankings
-- ARGV[1]  nothing
-- Answers  msgpack: {key, type} of the first that is of another type; false: there is none
-- Cost     O(keys)
-- Needs    changes.lua

local own = #BOARD_TYPES
local key, kind = misfit({unpack(KEYS, 1, own)}, BOARD_TYPES)
for i = own + 1, #KEYS do
  if not key then key, kind = misfit({KEYS[i]}, RANKING_TYPES) end
end
return cmsgpack.pack(key and {key, kind} or false)
