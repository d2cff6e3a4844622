-- Set a player's state, or remove the player, if the board is still where the state was worked out.
--
-- KEYS     watermarks, list of rankings, late players; key, times and dense of a ranking
-- ARGV[1]  msgpack: {epoch, form, field, name of the key, player, state, marks, returned}: state is {score, since} or false, marks are
--          {writer, applied} pairs that must be all there are, or false where that does not matter; returned: the player, if not
--          kept, is one of the hidden
-- Answers  1, or 0 where the board has gone on
-- Cost     O(log N + writers)
-- Needs    changes.lua

local epoch, form, field, name, player, state, marks, returned = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 4, form)
if call('HGET', KEYS[1], 'epoch') ~= epoch then return 0 end
if marks and not is_at(KEYS[1], marks) then return 0 end
local expiry, upto, listed, pruned = entry(KEYS[2], field)
r.upto = upto
local old, _, member = read(r, player)
if state then
  write(r, player, state[1], state[2], old, member)
  local back = returned and pruned and not old
  if back then pruned[1] = pruned[1] - 1 end
  if back or not listed then list_entry(KEYS[2], field, expiry, upto, name, pruned) end
elseif old then
  remove(r, player, old, member)
end
call('SREM', KEYS[3], field .. '\0' .. player)
return 1
