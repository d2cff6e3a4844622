-- How many players have a score in a range.
--
-- KEYS     key, times and dense of a ranking, list of rankings, watermarks
-- ARGV[1]  msgpack: {form, field, desc, lowest, highest}, each bound a number or false
-- Answers  msgpack: the number; or 'lost': nothing of the board is there
-- Cost     O(log N)

local form, field, _, low, high = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local _, _, listed = entry(KEYS[4], field)
if not listed then return call('EXISTS', KEYS[5]) == 0 and 'lost' or cmsgpack.pack(0) end
local from, to = '-inf', '+inf'
if low then from = string.format('%.17g', low * r.unit) end
if high then to = string.format('%.17g', high * r.unit + r.unit - 1) end
return cmsgpack.pack(call('ZCOUNT', r.key, from, to))
