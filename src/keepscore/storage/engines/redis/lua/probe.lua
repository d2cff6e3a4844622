-- Try out what applying scores and rebuilding a board need of Redis, on a small board under its own keys, which are removed afterwards.
--
-- KEYS     as in apply.lua, for one batch and one ranking
-- ARGV[1]  as in apply.lua
-- Answers  as apply.lua does; where the user may not run a command, the error names it
-- Cost     O(1)
-- Needs    changes.lua
-- Before   apply.lua

call = function(command, ...)
  local answer = redis.pcall(command, ...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if string.find(answer.err, 'The user executing the script', 1, true) then
    redis.pcall('DEL', unpack(KEYS))
    error(answer.err .. ': ' .. command, 0)
  end
  return redis.call(command, ...)
end

do
  local marks, list, spool, late = unpack(KEYS, 1, 4)
  -- A full Redis refuses the first write of a script, if that may take memory, and no other.
  break_up(marks)
  call('DEL', unpack(KEYS))

  local now, batches = unpack(cmsgpack.unpack(ARGV[1]))
  local epoch, form, field, name = batches[1][1], unpack(batches[1][8][1])
  local r = ranking(KEYS, 6, form)
  r.upto = math.huge
  -- Where members have their times, the score that comes then is another member.
  write(r, 'probe', 0, r.kind == 'timed' and now - r.step or now)
  list_entry(list, field, 0, r.upto, name, nil, 1)
  call('HSET', list, '', '')
  call('HSET', marks, 'epoch', epoch)

  -- Not every board comes to all of these by itself.
  local others = {
    {'EXISTS', r.dense}, {'HDEL', r.times, ''}, {'HEXISTS', marks, ''}, {'HGETALL', marks}, {'HLEN', r.times}, {'HMGET', r.times, ''},
    {'PERSIST', r.key}, {'PTTL', r.key}, {'RENAME', list, late}, {'RENAME', late, list}, {'SADD', late, ''}, {'SREM', late, ''},
    {'UNLINK', spool}, {'XADD', spool, '*', 'events', ''}, {'ZCOUNT', r.key, 0, 0}, {'ZMSCORE', r.key, ''}, {'ZRANGE', r.key, 0, 0},
    {'ZRANGEBYSCORE', r.key, 0, 0}, {'ZREM', r.key, ''}, {'ZSCORE', r.key, ''},
  }
  for _, command in ipairs(others) do call(unpack(command)) end
end

