-- Where rankings of a board are. Where nothing is known of that, or another server has it by now, a new life begins.
--
-- KEYS     positions
-- ARGV[1]  msgpack: {place, fields}: place is that of apply.lua
-- Answers  msgpack: {life, seqs}
-- Cost     O(rankings)
-- Needs    changes.lua

local place, fields = unpack(cmsgpack.unpack(ARGV[1]))
local known = call('HGET', KEYS[1], '')
local life = life_of(known, place)
if life ~= known then call('HSET', KEYS[1], '', life) end
local seqs = {}
for i, field in ipairs(fields) do
  local _, seq = position_of(KEYS[1], field)
  seqs[i] = seq
end
return cmsgpack.pack({life, seqs})
