-- Put a shadow into the place of a board, in one step.
--
-- KEYS     watermarks, list of rankings of the board; the same of its shadow; then for each ranking of the shadow its three keys and
--          the three that they become; then the keys of what there is no more; then those under which followed sets are kept; the last one: positions
-- ARGV[1]  msgpack: {the board's epoch before (false: it has none), the one that it gets, which windows are live then, how many rankings
--          its list has, rankings}; a ranking is {field, name of the key, milliseconds until it
--          expires (0: never), players that the key must have for it to be replaced (false: whatever it holds is the board's; -1: what
--          it holds is not, and stays), whether times are kept beside it}; then for each ranking the place in KEYS under which the set in
--          its place is kept (0: it is not); and how many keys there are no more; and the life of the board in which changes are counted from now on
-- Answers  1, 0 where the epoch, the list or a key has changed, -1 where there is no such shadow, or not all of it, or -2 where a set
--          cannot be kept
-- Cost     O(rankings)
-- Needs    changes.lua

local before, epoch, live, listed, rankings, aside, gone, life = unpack(cmsgpack.unpack(ARGV[1]))
if call('EXISTS', KEYS[3]) == 0 then return -1 end
if call('HGET', KEYS[1], 'epoch') ~= before then return 0 end
if call('HLEN', KEYS[2]) - call('HEXISTS', KEYS[2], '') ~= listed then return 0 end
-- A full Redis may have dropped something of the shadow since it was filled.
if call('HEXISTS', KEYS[4], '') == 0 or call('HLEN', KEYS[4]) - 1 ~= #rankings then return -1 end
for n, given in ipairs(rankings) do
  local at = 6 * n - 1
  local _, _, _, _, players = entry(KEYS[4], given[1])
  if players and (size_of({key = KEYS[at]}) < players or (given[5] and call('HLEN', KEYS[at + 1]) < players)) then return -1 end
end
for n, given in ipairs(rankings) do
  local size = given[4]
  local kept = aside[n]
  if kept > 0 and call('EXISTS', KEYS[6 * n + 2]) == 1 and call('EXISTS', KEYS[kept]) == 1 then return -2 end
  if size and size ~= TAKEN and size_of({key = KEYS[6 * n + 2]}) ~= size then return 0 end
end
break_up(KEYS[1])
for n, given in ipairs(rankings) do
  local field, name, rest, size = unpack(given)
  local at = 6 * n - 1
  local expiry, upto, _, pruned = entry(KEYS[4], field)
  if size == TAKEN then
    call('UNLINK', KEYS[at], KEYS[at + 1], KEYS[at + 2])
    list_entry(KEYS[4], field, expiry, nil, name, nil, TAKEN)
  else
    list_entry(KEYS[4], field, expiry, upto, name, pruned, call('ZCARD', KEYS[at]))
    if aside[n] > 0 and call('EXISTS', KEYS[at + 3]) == 1 then call('RENAME', KEYS[at + 3], KEYS[aside[n]]) end
    for i = at, at + 2 do
      call('UNLINK', KEYS[i + 3])
      if call('EXISTS', KEYS[i]) == 1 then
        call('RENAME', KEYS[i], KEYS[i + 3])
        if rest > 0 then call('PEXPIRE', KEYS[i + 3], rest) else call('PERSIST', KEYS[i + 3]) end
      end
    end
  end
end
for i = 5 + 6 * #rankings, 4 + 6 * #rankings + gone do call('UNLINK', KEYS[i]) end
call('DEL', KEYS[#KEYS])
call('HSET', KEYS[#KEYS], '', life)
call('HSET', KEYS[4], '', '')
call('HSET', KEYS[3], 'epoch', epoch)
if live ~= '' then call('HSET', KEYS[3], 'live', live) end
for i = 2, 1, -1 do
  call('RENAME', KEYS[i + 2], KEYS[i])
  call('PERSIST', KEYS[i])
end
return 1
