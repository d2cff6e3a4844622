-- What all scripts share: how players' states and ranks are read from a ranking.
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

-- Score and time of a sorted set's number. One beyond the bounds, which somebody else has written, is cut to them.
local function decoded(r, number)
  if number > LARGEST then number = LARGEST elseif number < -LARGEST then number = -LARGEST end
  if r.kind ~= 'composite' then return number, NO_TIME end
  local score = floor(number / r.unit)
  local steps = number - score * r.unit
  if r.reversed then steps = r.unit - 1 - steps end
  return score, r.start + steps * r.step
end

-- Scores (false: not ranked), times and members of players, each at the place of its player. Two calls, however many there are.
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

local function label(score)
  return string.format('%.0f', score)
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

-- What the list of rankings says of one: when it may be dropped (0: never), how far its index of scores is, whether it is listed,
-- what is known of rows that were removed (nil: none were): {hidden, removed, kept, mark, floor {player, score, since}, watermarks}, and
-- how many players it has (nil: nobody has counted; TAKEN: its key holds what Keepscore has not made).
local TAKEN = -1
local function entry(list, field)
  local text = call('HGET', list, field)
  if not text then return 0, nil, false, nil, nil end
  local found = cmsgpack.unpack(text)
  return found[1], found[2] or nil, true, found[4] or nil, found[5] or nil
end

-- Where a ranking is: the life of its board, and how often the ranking has changed in that. Nothing is known: '' and 0.
local function position_of(positions, field)
  local found = call('HMGET', positions, '', 'first', field)
  return found[1] or '', math.max(tonumber(found[2]) or 0, tonumber(found[3]) or 0)
end

-- Milliseconds before the end of a ranking's time in which its key may be gone already: clocks differ.
local SLACK_MS = 5000

-- How many players a ranking's key has; nothing where it is of another type.
local function size_of(r)
  local size = redis.pcall('ZCARD', r.key)
  if type(size) == 'number' then return size end
  if not string.find(size.err, 'WRONGTYPE', 1, true) then return call('ZCARD', r.key) end
end

-- Whether something of a ranking is gone that its entry in the list tells of, or there that it does not tell of.
local function is_lost(r, size, expiry, listed, players, now)
  if not size or (size > 0 and not listed) then return true end
  if players == TAKEN then return size == 0 end
  if not players or (expiry > 0 and expiry <= now + SLACK_MS) then return false end
  return size < players or (r.keeps and players > 0 and call('HLEN', r.times) < players)
end

-- Whether a board's list of rankings is there. It has an entry without a name, so that it is there without rankings, too.
local function is_there(list)
  return call('EXISTS', list) == 1
end

-- Begin to read a ranking: {epoch, field, now} say for what it must be made, its name in the list, and when it is read. Answers how many
-- players it has and what `entry` tells of its index and its removed rows; or nothing, and 'lost' or 'taken'.
local function opened(r, list, marks, given)
  if call('HGET', marks, 'epoch') ~= given[1] then return nil, 'lost' end
  local expiry, upto, listed, pruned, players = entry(list, given[2])
  local size = size_of(r)
  if players == TAKEN and size ~= 0 then return nil, 'taken' end
  if is_lost(r, size, expiry, listed, players, given[3]) or not (listed or is_there(list)) then return nil, 'lost' end
  if upto and size > 0 and call('EXISTS', r.dense) == 0 then upto = nil end
  return size, upto, pruned
end

-- How many players of a ranking are not kept.
local function hidden_of(pruned)
  return pruned and pruned[1] or 0
end
