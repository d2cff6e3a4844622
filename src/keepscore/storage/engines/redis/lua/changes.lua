-- What scripts share, after ranking.lua, that change a ranking or look for a place in it. Going through it takes Redis time: who needs it
-- says so.

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

-- How many players have a score.
local function holders(r, score)
  local low = score * r.unit
  return call('ZCOUNT', r.key, low, low + r.unit - 1)
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
  local more = call('HLEN', key) - 1 - call('HEXISTS', key, 'order') - call('HEXISTS', key, 'live') - #wanted
  if more <= 0 then return more == 0 end
  local found = call('HGETALL', key)
  for i = 1, #found, 2 do
    local is_ours = found[i] == 'epoch' or found[i] == 'order' or found[i] == 'live'
    if not (is_ours or (mark_of(found[i]) and mark_of(found[i + 1]))) then more = more - 1 end
  end
  return more == 0
end

-- What has come so far to a board on which the order of events matters, kept beside its watermarks: the highest of the ledger's numbers,
-- and a time than which no client has given a later one.
local function order_of(text)
  local seq, told = string.match(text or '', '^(%d+) (%d+)$')
  if not seq then return 0, LAST_TIME end
  return tonumber(seq), tonumber(told)
end
local function set_order(marks, seq, told)
  call('HSET', marks, 'order', string.format('%.0f %.0f', seq, told))
end

local function list_entry(list, field, expiry, upto, key, pruned, players)
  call('HSET', list, field, cmsgpack.pack({expiry, upto or false, key, pruned or false, players or false}))
end

-- Say that a board is being changed, or that something of it is lost: while this stands in the place of its epoch, nobody takes its
-- rankings for whole, and they are rebuilt. Redis does not undo what a script has done before it fails.
local function break_up(marks)
  call('HSET', marks, 'epoch', '')
end

-- The life of a board that counts changes: it is another one where nothing is known of it, or another server has it by now, which may
-- have less than the last one had. `given` is {a life that never was, the server}.
local function life_of(known, given)
  local life, server = string.match(known or '', '^(%x+)%-(%x*)$')
  if not life then return given[1] .. '-' .. given[2] end
  if server ~= given[2] and given[2] ~= '' then return life .. '-' .. given[2] end
  return known
end

-- Count a change of some rankings, by their fields. Answers the board's life and what each has come to. In a shadow, for which nothing is
-- given, nobody counts.
local function move(positions, given, fields)
  if not given or #fields == 0 then return '', {} end
  local life, seqs = '', {}
  for first = 1, #fields, 1000 do
    local last, moved = math.min(first + 999, #fields), {}
    local found = call('HMGET', positions, '', 'first', unpack(fields, first, last))
    life = life_of(found[1], given)
    for i = first, last do
      seqs[i] = math.max(tonumber(found[2]) or 0, tonumber(found[i - first + 3]) or 0) + 1
      moved[#moved + 1], moved[#moved + 2] = fields[i], seqs[i]
    end
    if life ~= found[1] then moved[#moved + 1], moved[#moved + 2] = '', life end
    call('HSET', positions, unpack(moved))
  end
  return life, seqs
end

-- How far the index of scores is of a ranking with so many players; nothing where the index is lost.
local function indexed(r, upto, size)
  if upto and size > 0 and call('EXISTS', r.dense) == 0 then return nil end
  return upto
end

-- The types of a board's own keys, in the order in which scripts get them (watermarks, list, spool, late players, lock, positions), and
-- of a ranking's.
local BOARD_TYPES, RANKING_TYPES = {'hash', 'hash', 'stream', 'set', 'string', 'hash'}, {'zset', 'hash', 'zset'}

-- The first of some keys, from a place on, that is of another type than it should be, and its type. Before anything is written.
local function misfit(keys, types, from)
  for i = from or 1, #keys do
    local kind = call('TYPE', keys[i]).ok
    if kind ~= types[i] and kind ~= 'none' then return keys[i], kind end
  end
end

-- Let the keys of a ranking expire in some milliseconds (nil: never), or at once.
local function expire(r, ms)
  for _, key in ipairs({r.key, r.times, r.dense}) do
    if not ms then call('PERSIST', key)
    elseif ms <= 0 then call('DEL', key)
    else call('PEXPIRE', key, ms) end
  end
end
