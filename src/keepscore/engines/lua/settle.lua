-- Set the states of many players of a board, and how far that board is, if it is still where the states were worked out.
--
-- KEYS     watermarks, list of rankings; then for each ranking: key, times, dense
-- ARGV[1]  msgpack: {epoch, marks, advanced, rankings}: marks are the {writer, applied} pairs that must be all there are, advanced
--          those that are set; a ranking is {form, field, name of the key, {player, score, since, player, …}}
-- Answers  1 · 0 where the board has gone on · -1 where a key holds players that the list does not know, or no ranking
-- Cost     O(log N) for each player, and O(writers)
-- Needs    changes.lua

local epoch, marks, advanced, rankings = unpack(cmsgpack.unpack(ARGV[1]))
if call('HGET', KEYS[1], 'epoch') ~= epoch then return 0 end
if not is_at(KEYS[1], marks) then return 0 end
local found = {}
for i, given in ipairs(rankings) do
  local r = ranking(KEYS, 3 * i, given[1])
  local kind = call('TYPE', r.key).ok
  if kind ~= 'zset' and kind ~= 'none' then return -1 end
  local listed
  r.expiry, r.upto, listed = entry(KEYS[2], given[2])
  if not listed and kind == 'zset' then return -1 end
  r.listed = listed
  found[i] = r
end
for i, given in ipairs(rankings) do
  local r, rows = found[i], given[4]
  for at = 1, #rows, 3 do
    local old, _, member = read(r, rows[at])
    write(r, rows[at], rows[at + 1], rows[at + 2], old, member)
  end
  if not r.listed then list_entry(KEYS[2], given[2], r.expiry, r.upto, given[3]) end
end
for _, pair in ipairs(advanced) do call('HSET', KEYS[1], pair[1], pair[2]) end
return 1
