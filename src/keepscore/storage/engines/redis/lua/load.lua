-- Put states into a ranking that nobody reads yet.
--
-- KEYS     watermarks, list of rankings; key, times and dense of a ranking
-- ARGV[1]  msgpack: {form, field, name of the key, expiry, numbers, times, again, keep}: numbers are a flat list of the sorted set's
--          numbers and members; times one of players and their times where the members do not tell these and they are kept; again says
--          whether a player may be there already, with a state that this one replaces; keep is how many milliseconds all of it stays
--          if nobody goes on
-- Cost     O(log N) for each row.
-- Needs    changes.lua

local form, field, name, expiry, numbers, times, again, keep = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 3, form)
local was = entry(KEYS[2], field)
list_entry(KEYS[2], field, math.max(was, expiry), nil, name)
if r.kind == 'timed' then
  for i = 2, #numbers, 2 do times[i - 1], times[i] = string.sub(numbers[i], 7), string.sub(numbers[i], 1, 6) end
end
if r.kind == 'timed' and again then
  local players = {}
  for i = 1, #times, 2 do players[#players + 1] = times[i] end
  for first = 1, #players, 1000 do
    for i, prefix in ipairs(call('HMGET', r.times, unpack(players, first, math.min(first + 999, #players)))) do
      if prefix then call('ZREM', r.key, prefix .. players[first + i - 1]) end
    end
  end
end
for first = 1, #numbers, 1000 do
  call('ZADD', r.key, unpack(numbers, first, math.min(first + 999, #numbers)))
end
for first = 1, #times, 1000 do
  call('HSET', r.times, unpack(times, first, math.min(first + 999, #times)))
end
expire(r, keep)
call('PEXPIRE', KEYS[1], keep)
call('PEXPIRE', KEYS[2], keep)
