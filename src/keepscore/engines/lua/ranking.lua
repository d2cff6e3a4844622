-- What all scripts share: how a player's state is read from a ranking and written to it.
--
-- A ranking r is a table: key, times, dense (its keys), kind, unit (2^bits), start, step, reversed, keeps (its layout),
-- and upto: all scores up to this one are in the index of distinct scores (nil: there is no index; math.huge: all are).

local call, floor = redis.call, math.floor
-- The time of a state whose time is not kept, not there or not readable, before all others; and the last one that is a time: in 9999.
local NO_TIME, LAST_TIME = -1, 253402300799999
-- The largest number that is exact, and the bound of all scores.
local LARGEST = 9007199254740991

local function ranking(keys, at, form)
  return {
    key = keys[at], times = keys[at + 1], dense = keys[at + 2],
    kind = form[1], unit = form[2], start = form[3], step = form[4], reversed = form[5], keeps = form[6],
  }
end

-- The time in 6 bytes, the first the most significant.
local function time_of(r, prefix)
  local a, b, c, d, e, f = string.byte(prefix, 1, 6)
  if not f then return NO_TIME end
  local time = ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f
  if r.reversed then time = 281474976710655 - time end
  return time <= LAST_TIME and time or NO_TIME
end

-- The time that is written beside a plain ranking, or false.
local function time_in(text)
  local time = tonumber(text)
  if time and time >= 0 and time <= LAST_TIME and time % 1 == 0 then return time end
  return NO_TIME
end

-- The first three bytes of a time, which many times have in common.
local heads = {}

local function three_bytes(number)
  local a = floor(number / 65536)
  local b = floor(number / 256)
  return string.char(a, b - a * 256, number - b * 256)
end

local function prefix_of(r, time)
  if r.reversed then time = 281474976710655 - time end
  local high = floor(time / 16777216)
  local head = heads[high]
  if not head then
    head = three_bytes(high)
    heads[high] = head
  end
  return head .. three_bytes(time - high * 16777216)
end

-- The member of a player in a sorted set. The last one is remembered: nearly always, a player has the same in several rankings.
local last_time, last_reversed, last_player, last_member
local function member_of(r, player, time)
  if r.kind ~= 'timed' then return player end
  if time ~= last_time or player ~= last_player or r.reversed ~= last_reversed then
    last_time, last_reversed, last_player, last_member = time, r.reversed, player, prefix_of(r, time) .. player
  end
  return last_member
end

-- Score and time of a sorted set's number. One beyond the bounds, which somebody else has written, is cut to them.
local function decoded(r, number)
  if number > LARGEST then number = LARGEST elseif number < -LARGEST then number = -LARGEST end
  if r.kind ~= 'composite' then return number, NO_TIME end
  local score = floor(number / r.unit)
  local steps = number - score * r.unit
  if r.reversed then steps = r.unit - 1 - steps end
  return score, r.start + steps * r.step
end

-- The sorted set's number of a score and time.
local function encoded(r, score, since)
  if r.kind ~= 'composite' then return score end
  local steps = floor((since - r.start) / r.step)
  if r.reversed then steps = r.unit - 1 - steps end
  return score * r.unit + steps
end

-- Score, time, member and number of a player; nothing where the player is not ranked.
local function read(r, player)
  local member = player
  local since = nil
  if r.kind == 'timed' then
    local prefix = call('HGET', r.times, player)
    if not prefix then return nil end
    member = prefix .. player
    since = time_of(r, prefix)
  end
  local number = call('ZSCORE', r.key, member)
  if not number then return nil end
  number = tonumber(number)
  local score, time = decoded(r, number)
  if r.kind == 'plain' and r.keeps then since = time_in(call('HGET', r.times, player)) end
  return score, since or time, member, number
end

-- The same for many players at once: scores (false: not ranked), times and members, each at the place of its player. Two calls,
-- however many there are.
local function read_all(r, players)
  local scores, sinces, members = {}, {}, players
  local timed, plain = r.kind == 'timed', r.kind == 'plain'
  if timed then members = {} end
  for first = 1, #players, 1000 do
    local last = math.min(first + 999, #players)
    local times = r.keeps and call('HMGET', r.times, unpack(players, first, last))
    if timed then
      for i = first, last do members[i] = (times[i - first + 1] or '') .. players[i] end
    end
    local found = call('ZMSCORE', r.key, unpack(members, first, last))
    for i = first, last do
      local number, time = tonumber(found[i - first + 1]), times and times[i - first + 1]
      if not number or (timed and not time) then
        scores[i], sinces[i] = false, NO_TIME
      elseif plain and number <= LARGEST and number >= -LARGEST then
        scores[i], sinces[i] = number, times and time_in(time) or NO_TIME
      else
        scores[i], sinces[i] = decoded(r, number)
        if timed then sinces[i] = time_of(r, time) elseif times then sinces[i] = time_in(time) end
      end
    end
  end
  return scores, sinces, members
end

-- Player, score and time of a row. A member that no event can have made is taken for the player, without a time.
local function row_of(r, member, number)
  local score, since = decoded(r, tonumber(number))
  if r.kind == 'timed' then
    since = #member > 6 and time_of(r, member) or NO_TIME
    if since ~= NO_TIME then member = string.sub(member, 7) end
  elseif r.kind == 'plain' and r.keeps then
    since = time_in(call('HGET', r.times, member))
  end
  return member, score, since
end

-- How many players have a score.
local function holders(r, score)
  local low = score * r.unit
  return call('ZCOUNT', r.key, low, low + r.unit - 1)
end

local function label(score)
  return string.format('%.0f', score)
end

-- Keep the index of distinct scores: a player has left one score (or nil) and come to another (or nil).
local function index(r, left, come)
  if not r.upto or left == come then return end
  if left and left <= r.upto and holders(r, left) == 0 then call('ZREM', r.dense, label(left)) end
  if come and come <= r.upto then call('ZADD', r.dense, come, label(come)) end
end

-- Set a player's state; `old` and `old_member` are what `read` told. Answers member and number.
local function write(r, player, score, since, old, old_member)
  local number = encoded(r, score, since)
  local member = member_of(r, player, since)
  if r.kind == 'timed' then
    if old_member and old_member ~= member then call('ZREM', r.key, old_member) end
    if old_member ~= member then call('HSET', r.times, player, string.sub(member, 1, 6)) end
  elseif r.keeps then
    call('HSET', r.times, player, label(since))
  end
  call('ZADD', r.key, number, member)
  index(r, old, score)
  return member, number
end

local function remove(r, player, old, old_member)
  call('ZREM', r.key, old_member)
  if r.keeps then call('HDEL', r.times, player) end
  index(r, old, nil)
end

-- The rank numbers of a player with that score, member and number.
local function unique_rank(r, desc, member)
  return call(desc and 'ZREVRANK' or 'ZRANK', r.key, member) + 1
end

local function standard_rank(r, desc, score)
  if desc then return call('ZCOUNT', r.key, (score + 1) * r.unit, '+inf') + 1 end
  return call('ZCOUNT', r.key, '-inf', score * r.unit - 1) + 1
end

-- 0 where the index has lost the score: that is for a verification to tell, and no reason to show nothing.
local function dense_rank(r, desc, score)
  return (call(desc and 'ZREVRANK' or 'ZRANK', r.dense, label(score)) or -1) + 1
end

local function smaller(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- How many rows are not behind one.
local function offset_of(r, desc, player, score, since)
  local range = desc and 'ZREVRANGE' or 'ZRANGE'
  local number = encoded(r, score, since)
  local member = since == NO_TIME and player or member_of(r, player, since)
  local found = call('ZSCORE', r.key, member)
  if found and encoded(r, decoded(r, tonumber(found))) == number then
    return call(desc and 'ZREVRANK' or 'ZRANK', r.key, member) + 1
  end
  local low, high
  local text = string.format('%.17g', number)
  if desc then
    low = call('ZCOUNT', r.key, '(' .. text, '+inf')
  else
    low = call('ZCOUNT', r.key, '-inf', '(' .. text)
  end
  high = low + call('ZCOUNT', r.key, text, text)
  -- The rows from low to high have that number. The first that is behind the member is looked for.
  while low < high do
    local middle = floor((low + high) / 2)
    local other = call(range, r.key, middle, middle)[1]
    local behind = desc and smaller(other, member) or (not desc and smaller(member, other))
    if behind then high = middle else low = middle + 1 end
  end
  return low
end

-- How far a writer's events are applied, as the watermarks have it; nothing where no writer can have written that.
local function mark_of(text)
  return text and string.match(text, '^%d+$') and tonumber(text)
end

-- Whether the watermarks are these {writer, applied} pairs and no others. Fields that are no writer's are passed over.
local function is_at(key, wanted)
  for _, pair in ipairs(wanted) do
    if (mark_of(call('HGET', key, pair[1])) or 0) ~= pair[2] then return false end
  end
  local more = call('HLEN', key) - 1 - #wanted
  if more <= 0 then return more == 0 end
  local found = call('HGETALL', key)
  for i = 1, #found, 2 do
    if not (mark_of(found[i]) and mark_of(found[i + 1])) and found[i] ~= 'epoch' then more = more - 1 end
  end
  return more == 0
end

-- What the list of rankings says of one: when it may be dropped (0: never), how far its index of scores is, whether it is listed, and
-- what is known of rows that were removed (nil: none were): {hidden, removed, kept, mark, floor {player, score, since}, watermarks}.
local function entry(list, field)
  local text = call('HGET', list, field)
  if not text then return 0, nil, false, nil end
  local found = cmsgpack.unpack(text)
  return found[1], found[2] or nil, true, found[4] or nil
end

local function list_entry(list, field, expiry, upto, key, pruned)
  call('HSET', list, field, cmsgpack.pack({expiry, upto or false, key, pruned or false}))
end

-- How many players of a ranking are not kept.
local function hidden_of(pruned)
  return pruned and pruned[1] or 0
end

-- Let the keys of a ranking expire in some milliseconds (nil: never), or at once.
local function expire(r, ms)
  for _, key in ipairs({r.key, r.times, r.dense}) do
    if not ms then call('PERSIST', key)
    elseif ms <= 0 then call('DEL', key)
    else call('PEXPIRE', key, ms) end
  end
end
