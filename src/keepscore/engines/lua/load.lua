-- Put states into a ranking that nobody reads yet.
--
-- KEYS     watermarks, list of rankings; key, times and dense of a ranking
-- ARGV[1]  msgpack: {form, field, name of the key, expiry, numbers, times, again, keep}: numbers are a flat list of the sorted set's
--          numbers and players; times the players' times in the same order or, where the sorted set does not hold them, a flat list of
--          players and times; again says whether a player may be there already, with a state that this one replaces; keep is how many
--          milliseconds all of it stays if nobody goes on
-- Cost     O(log N) for each row.

local form, field, name, expiry, numbers, times, again, keep = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 3, form)
local was = entry(KEYS[2], field)
list_entry(KEYS[2], field, math.max(was, expiry), nil, name)
if r.kind == 'timed' then
  local sinces, players = times, {}
  times = {}
  for i = 1, #sinces do
    local player, prefix = numbers[2 * i], prefix_of(r, sinces[i])
    players[i], times[2 * i - 1], times[2 * i], numbers[2 * i] = player, player, prefix, prefix .. player
  end
  for first = 1, again and #players or 0, 1000 do
    local last = math.min(first + 999, #players)
    for i, prefix in ipairs(call('HMGET', r.times, unpack(players, first, last))) do
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
