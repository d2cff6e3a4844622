-- Remove some of the last rows of a ranking that keeps only the first ones.
--
-- KEYS     watermarks, list of rankings, late players, positions; key, times and dense of a ranking
-- ARGV[1]  msgpack: {epoch, form, field, name of the key, desc, keep, how many at once, mark, place}; place is that of apply.lua
-- Answers  how many rows were removed; -1 where somebody has to be restated first
-- Cost     O(log N) for each row, and O(writers).
-- Needs    changes.lua

local epoch, form, field, name, desc, keep, limit, mark, place = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 5, form)
if call('HGET', KEYS[1], 'epoch') ~= epoch then return 0 end
if call('SCARD', KEYS[3]) > 0 then return -1 end
local expiry, upto, listed, old, players = entry(KEYS[2], field)
local size = listed and players ~= TAKEN and size_of(r) or 0
local gone = math.min(limit, math.max(0, size - keep))
local left = size - gone
if left == 0 or (gone == 0 and (not old or old[4] ~= '')) then return 0 end
local exact = left
if old then exact = offset_of(r, desc, old[5][1], old[5][2], old[5][3]) end
r.upto = indexed(r, upto, size)

break_up(KEYS[1])
if gone > 0 then
  local found = call(desc and 'ZRANGE' or 'ZREVRANGE', r.key, 0, gone - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    local player, score = row_of(r, found[i], found[i + 1])
    remove(r, player, score, found[i])
  end
end
local floor = old and old[5]
if left <= exact then
  local last = call(desc and 'ZREVRANGE' or 'ZRANGE', r.key, left - 1, left - 1, 'WITHSCORES')
  floor = {row_of(r, last[1], last[2])}
end
local marks = {}
local found = call('HGETALL', KEYS[1])
for i = 1, #found, 2 do
  if mark_of(found[i]) and mark_of(found[i + 1]) then marks[#marks + 1] = found[i] .. ':' .. found[i + 1] end
end
local hidden = gone + hidden_of(old)
local done = left <= keep and left <= exact
local pruned = {hidden, hidden, left, done and mark or '', floor, table.concat(marks, ' ')}
list_entry(KEYS[2], field, expiry, r.upto, name, pruned, (players or size) - gone)
move(KEYS[4], place, {field})
call('HSET', KEYS[1], 'epoch', epoch)
return gone
