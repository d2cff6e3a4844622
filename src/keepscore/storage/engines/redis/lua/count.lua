-- How many players have a score in a range.
--
-- KEYS     key, times and dense of a ranking, list of rankings, watermarks
-- ARGV[1]  msgpack: {form, {epoch, field, now}, desc, lowest, highest}, each bound a number or false
-- Answers  msgpack: the number; or what `opened` tells
-- Cost     O(log N)

local form, given, _, low, high = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local total, problem = opened(r, KEYS[4], KEYS[5], given)
if not total then return problem end
local from, to = '-inf', '+inf'
if low then from = string.format('%.17g', low * r.unit) end
if high then to = string.format('%.17g', high * r.unit + r.unit - 1) end
return cmsgpack.pack(call('ZCOUNT', r.key, from, to))
