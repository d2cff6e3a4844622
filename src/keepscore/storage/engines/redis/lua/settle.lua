-- Set the states of many players of a board, and how far that board is, if it is still where the states were worked out.
--
-- KEYS     watermarks, list of rankings, positions; then for each ranking: key, times, dense
-- ARGV[1]  msgpack: {epoch, marks, advanced, rankings, place}: place is that of apply.lua, marks are the {writer, applied} pairs that must be all there are, advanced
--          those that are set; a ranking is {form, field, name of the key, {player, score, since, player, …}}; a score of false:
--          the player is removed
-- Answers  1 · 0 where the board has gone on, or has lost something, and is rebuilt · -1 where a key holds what Keepscore has not made
-- Cost     O(log N) for each player, and O(writers)
-- Needs    changes.lua

local epoch, marks, advanced, rankings, place = unpack(cmsgpack.unpack(ARGV[1]))
if call('HGET', KEYS[1], 'epoch') ~= epoch then return 0 end
if not is_at(KEYS[1], marks) then return 0 end
local found = {}
for i, given in ipairs(rankings) do
  local r = ranking(KEYS, 3 * i + 1, given[1])
  local listed
  r.expiry, r.indexed, listed, r.pruned, r.players = entry(KEYS[2], given[2])
  r.size = size_of(r)
  if r.players == TAKEN and r.size ~= 0 then return -1 end
  -- Whether its time is over is not for this to say.
  if is_lost(r, r.size, r.expiry, listed, r.size ~= 0 and r.players or nil, 0) then
    break_up(KEYS[1])
    return 0
  end
  r.upto = indexed(r, r.indexed, r.size)
  found[i] = r
end
break_up(KEYS[1])
local fields = {}
for i, given in ipairs(rankings) do
  local r, rows = found[i], given[4]
  if rows[1] then fields[#fields + 1] = given[2] end
  for at = 1, #rows, 3 do
    local old, _, member = read(r, rows[at])
    if rows[at + 1] then
      write(r, rows[at], rows[at + 1], rows[at + 2], old, member)
    elseif old then
      remove(r, rows[at], old, member)
    end
  end
  local players = (r.players or r.size) + call('ZCARD', r.key) - r.size
  if players ~= r.players or r.upto ~= r.indexed then list_entry(KEYS[2], given[2], r.expiry, r.upto, given[3], r.pruned, players) end
end
for _, pair in ipairs(advanced) do call('HSET', KEYS[1], pair[1], pair[2]) end
move(KEYS[3], place, fields)
call('HSET', KEYS[1], 'epoch', epoch)
return 1
