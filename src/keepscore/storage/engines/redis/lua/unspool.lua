-- Drop entries of a spool that the ledger has by now, and note what has become of the order of events with that.
--
-- KEYS     spool, watermarks, late players
-- ARGV[1]  msgpack: {names of the entries, players who have to be restated, the ledger's highest number of an event in them}; a player
--          is the ranking's field and the name, as in the set of late players
-- Answers  nothing
-- Cost     O(1) for each entry and player. The entries go last: where this fails midway, it is run again, and does no harm.
-- Needs    changes.lua

local names, late, seq = unpack(cmsgpack.unpack(ARGV[1]))
for first = 1, #late, 1000 do call('SADD', KEYS[3], unpack(late, first, math.min(first + 999, #late))) end
local order = call('HGET', KEYS[2], 'order')
if order then
  local known, told = order_of(order)
  set_order(KEYS[2], math.max(known, seq), told)
end
call('XDEL', KEYS[1], unpack(names))
