-- Put states into a ranking that nobody reads yet; a later row of a player replaces an earlier one.
--
-- KEYS     watermarks, list of rankings; key, times and dense of a ranking
-- ARGV[1]  msgpack: {form, field, name of the key, expiry, rows, keep}: rows are a flat list of player, score, since; keep is how many
--          milliseconds all of it stays if nobody goes on
-- Cost     O(log N) for each row.

local form, field, name, expiry, rows, keep = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 3, form)
local was = entry(KEYS[2], field)
list_entry(KEYS[2], field, math.max(was, expiry), nil, name)
for first = 1, #rows, 1500 do
  local numbers, times, players = {}, {}, {}
  for i = first, math.min(first + 1499, #rows), 3 do
    local player, score, since = rows[i], rows[i + 1], rows[i + 2]
    local member = player
    if r.kind == 'timed' then
      local prefix = prefix_of(r, since)
      member = prefix .. player
      times[#times + 1] = player
      times[#times + 1] = prefix
    elseif r.keeps then
      times[#times + 1] = player
      times[#times + 1] = label(since)
    end
    numbers[#numbers + 1] = encoded(r, score, since)
    numbers[#numbers + 1] = member
    players[#players + 1] = player
  end
  if r.kind == 'timed' then
    for i, prefix in ipairs(call('HMGET', r.times, unpack(players))) do
      if prefix then call('ZREM', r.key, prefix .. players[i]) end
    end
  end
  call('ZADD', r.key, unpack(numbers))
  if #times > 0 then call('HSET', r.times, unpack(times)) end
end
expire(r, keep)
call('PEXPIRE', KEYS[1], keep)
call('PEXPIRE', KEYS[2], keep)
