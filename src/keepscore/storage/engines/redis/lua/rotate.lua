-- Rename rankings whose windows have ended, and those whose windows have begun, in one step.
--
-- KEYS     watermarks, list of rankings, positions; then for each ranking that is renamed, those that leave live keys first: its three keys, and
--          the three that they become
-- ARGV[1]  msgpack: {epoch, the epoch that it becomes, which windows are live then, how many rankings the list has, rankings, place}; place is that of apply.lua, a ranking
--          {field, name that its key gets}
-- Answers  1 · 0 where the board has another epoch, or the list other rankings · -1 where the list is lost. What Keepscore has not made stays where it is, and the
--          ranking that should be there is noted as taken.
-- Cost     O(rankings)
-- Needs    changes.lua

local epoch, next_epoch, live, listed, rankings, place = unpack(cmsgpack.unpack(ARGV[1]))
local marks, list = KEYS[1], KEYS[2]
if call('HGET', marks, 'epoch') ~= epoch then return 0 end
if not is_there(list) then return -1 end
if call('HLEN', list) - call('HEXISTS', list, '') ~= listed then return 0 end
break_up(marks)
local left, gone = {}, {}
-- The list is written first: if this fails midway, it has all keys that are, or were to be, the board's.
for n, given in ipairs(rankings) do
  local field, name = unpack(given)
  local at = 6 * n - 2
  local expiry, upto, _, pruned, players = entry(list, field)
  given.is_ours = players ~= TAKEN
  given.is_free = call('EXISTS', KEYS[at + 3]) == 0 or left[KEYS[at + 3]]
  left[KEYS[at]] = given.is_ours
  if given.is_ours and given.is_free then
    list_entry(list, field, expiry, upto, name, pruned, players)
  else
    gone[#gone + 1] = field
    list_entry(list, field, expiry, nil, name, nil, TAKEN)
  end
end
for n, given in ipairs(rankings) do
  for i = 6 * n - 2, 6 * n do
    if given.is_ours and given.is_free then
      call('UNLINK', KEYS[i + 3])
      if call('EXISTS', KEYS[i]) == 1 then call('RENAME', KEYS[i], KEYS[i + 3]) end
    elseif given.is_ours then
      call('UNLINK', KEYS[i])
    end
  end
end
move(KEYS[3], place, gone)
call('HSET', marks, 'live', live, 'epoch', next_epoch)
return 1
