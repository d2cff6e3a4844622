-- Consecutive rows of a ranking: those after the first `offset`, or those behind a row, whether or not it is still there.
--
-- KEYS     key, times and dense of a ranking, list of rankings, watermarks
-- ARGV[1]  msgpack: {form, field, desc, offset, limit}, or with {player, score, since} of the row in the place of the offset
-- Answers  msgpack: {rows, offset, standard and dense rank of the first row, total}; a row is {player, score, since};
--          or 'dense': the index is not there; or 'lost': nothing of the board is
-- Cost     O(log N + limit); behind a row that others are equal to, O(log N) for each halving of those.

local form, field, desc, from, limit = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local _, upto, listed = entry(KEYS[4], field)
if not listed and call('EXISTS', KEYS[5]) == 0 then return 'lost' end
local total = listed and call('ZCARD', r.key) or 0
if total > 0 and upto ~= math.huge then return 'dense' end
local range = desc and 'ZREVRANGE' or 'ZRANGE'

local function smaller(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- How many rows are not behind one.
local function offset_of(player, score, since)
  local number = encoded(r, score, since)
  local member = r.kind == 'timed' and prefix_of(r, since) .. player or player
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
    local middle = math.floor((low + high) / 2)
    local other = call(range, r.key, middle, middle)[1]
    local behind = desc and smaller(other, member) or (not desc and smaller(member, other))
    if behind then high = middle else low = middle + 1 end
  end
  return low
end

local offset = type(from) == 'table' and 0 or from
if type(from) == 'table' and total > 0 then offset = offset_of(from[1], from[2], from[3]) end
local rows = {}
if limit > 0 and total > 0 then
  local found = call(range, r.key, offset, offset + limit - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    local player = found[i]
    local score, since = decoded(r, tonumber(found[i + 1]))
    if r.kind == 'timed' then
      since = time_of(r, player)
      player = string.sub(player, 7)
    elseif r.kind == 'plain' and r.keeps then
      since = tonumber(call('HGET', r.times, player))
    end
    rows[#rows + 1] = {player, score, since}
  end
end
local standard, dense = total + 1, call('ZCARD', r.dense) + 1
if rows[1] then
  standard, dense = standard_rank(r, desc, rows[1][2]), dense_rank(r, desc, rows[1][2])
end
return cmsgpack.pack({rows, offset, standard, dense, total})
