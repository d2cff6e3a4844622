-- Set the states of players, or remove players, if the board is still where the states were worked out.
--
-- KEYS     watermarks, list of rankings, late players, positions; then for each ranking: key, times, dense
-- ARGV[1]  msgpack: {epoch, marks, rankings, place}: place is that of apply.lua, marks are {writer, applied} pairs that must be all there are, or false where that does not
--          matter; a ranking is {form, field, name of the key, rows}, a row {player, state, returned}: state is {score, since} or false,
--          returned: the player, if not kept, is one of the hidden
-- Answers  1, or 0 where the board has gone on. Where a key holds what Keepscore has not made, nothing is set there.
-- Cost     O(log N) for each row, and O(writers)
-- Needs    changes.lua

local epoch, marks, rankings, place = unpack(cmsgpack.unpack(ARGV[1]))
if call('HGET', KEYS[1], 'epoch') ~= epoch then return 0 end
if marks and not is_at(KEYS[1], marks) then return 0 end
break_up(KEYS[1])
local fields = {}
for i, given in ipairs(rankings) do
  local form, field, name, rows = unpack(given)
  local r = ranking(KEYS, 3 * i + 2, form)
  local expiry, upto, _, pruned, players = entry(KEYS[2], field)
  local size = players ~= TAKEN and size_of(r)
  local returning = false
  if size then r.upto = indexed(r, upto, size) end
  for _, row in ipairs(rows) do
    local player, state, returned = unpack(row)
    if size then
      local old, _, member = read(r, player)
      if state then
        write(r, player, state[1], state[2], old, member)
        if returned and pruned and not old then
          pruned[1] = pruned[1] - 1
          returning = true
        end
      elseif old then
        remove(r, player, old, member)
      end
    end
    call('SREM', KEYS[3], field .. '\0' .. player)
  end
  if size then
    fields[#fields + 1] = field
    local counted = (players or size) + call('ZCARD', r.key) - size
    if returning or counted ~= players or r.upto ~= upto then list_entry(KEYS[2], field, expiry, r.upto, name, pruned, counted) end
  end
end
move(KEYS[4], place, fields)
call('HSET', KEYS[1], 'epoch', epoch)
return 1
