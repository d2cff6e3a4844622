-- The first path of apply.lua: Redis itself keeps the better number of each player. One ZADD for hundreds of updates, and no reads.

-- When the last update of a batch came.
local function last_received(batch)
  if not batch.last_received then
    batch.last_received = 0
    for _, received in ipairs(batch.receiveds) do batch.last_received = math.max(batch.last_received, received) end
  end
  return batch.last_received
end

-- Whether the updates of a ranking can take this path: the number that is ahead has to be the fold. Where the time is in the number, the
-- earlier one has to be ahead. A ranking that begins again on the way needs its updates in order, as does one with an index of
-- scores, or with players who are not kept.
local function can_add_best(batch, r)
  if not batch.operator.keeps_best or r.upto or r.pruned then return false end
  if r.kind == 'timed' or (r.kind == 'plain' and r.keeps) or (r.kind == 'composite' and r.reversed ~= batch.desc) then return false end
  if r.due > 0 and r.due <= last_received(batch) then return false end
  for _, expiry in pairs(r.expiries) do
    if expiry > 0 and expiry <= last_received(batch) then return false end
  end
  return true
end

local function apply_best(batch, r)
  local numbers, unit, time, rest = {}, r.kind == 'composite' and r.unit or 1, nil, 0
  for i, u in ipairs(r.own) do
    if batch.ats[u] ~= time then
      time = batch.ats[u]
      rest = encoded(r, 0, time)
    end
    numbers[2 * i - 1], numbers[2 * i] = batch.amounts[u] * unit + rest, batch.players[u]
  end
  for first = 1, #numbers, 1000 do
    r.is_changed = call('ZADD', r.key, batch.desc and 'GT' or 'LT', 'CH', unpack(numbers, first, math.min(first + 999, #numbers))) > 0 or r.is_changed
  end
  for _, expiry in pairs(r.expiries) do r.expiry = math.max(r.expiry, expiry) end
  r.total = call('ZCARD', r.key)
end
